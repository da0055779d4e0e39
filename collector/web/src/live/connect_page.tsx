// SPDX-License-Identifier: Apache-2.0
import { useTitle } from "../parts/use_title";
import { ConnectSteps } from "./connect_steps";

export function ConnectPage() {
  useTitle("Connect a program");
  return <ConnectSteps />;
}
