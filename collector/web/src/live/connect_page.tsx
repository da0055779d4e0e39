// SPDX-License-Identifier: Apache-2.0
import { useEffect } from "preact/hooks";
import { ConnectSteps } from "./connect_steps";

export function ConnectPage() {
  useEffect(() => {
    document.title = "Connect a program · lagwatch";
  }, []);
  return <ConnectSteps />;
}
