// SPDX-License-Identifier: Apache-2.0
// Workers for a page that is opened from the disk, for which browsers start none: the script runs in a hidden frame.
"use strict";

window.Worker = class extends EventTarget {
  constructor(address) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.srcdoc = "<!doctype html>";
    this.ready = new Promise((resolve) => {
      frame.onload = () => {
        const inside = frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = inside.document.createElement("script");
        script.src = new URL(address, location.href).href;
        script.onload = () => resolve(inside);
        inside.document.head.append(script);
      };
    });
    document.body.append(frame);
  }

  postMessage(data) {
    void this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
  }
};
