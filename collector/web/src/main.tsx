// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { placeLinks } from "./api/base";
import { App } from "./app";
import { markAllText } from "./format/marks";
import { startTheme } from "./parts/theme";
import "./style/tokens.css";
import "./style/page.css";
import "./style/parts.css";

// The collector was updated since this page was loaded: its parts have other names now.
addEventListener("vite:preloadError", () => location.reload());

placeLinks();
markAllText();
startTheme();
render(<App />, document.getElementById("page")!);
