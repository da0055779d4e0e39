// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { App } from "./app";
import { applyTheme } from "./parts/theme";
import "./style/tokens.css";
import "./style/page.css";
import "./style/parts.css";

applyTheme();
render(<App />, document.getElementById("page")!);
