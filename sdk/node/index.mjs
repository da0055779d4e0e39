// SPDX-License-Identifier: Apache-2.0
import lagwatch from "./index.js";

export const {
  start,
  stop,
  watch,
  label,
  scope,
  isOn,
  whyOff,
  version,
  dump,
  ready,
  stats,
  setValue,
  setThresholds,
  eventLoopUtilization,
} = lagwatch;
export default lagwatch;
