// SPDX-License-Identifier: Apache-2.0
// Workers for a page that is opened from the disk, for which browsers start none: the script runs in a hidden frame.
"use strict";

// Types of messages: the index to the script, and what it found for a question.
const [kIndex, kFound] = [0, 3];

window.Worker = class extends EventTarget {
  constructor(address) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.srcdoc = "<!doctype html>";
    this.ready = new Promise((resolve) => {
      frame.onload = () => {
        const inside = frame.contentWindow;
        inside.postMessage = (data) => this.answer(data);
        const script = inside.document.createElement("script");
        script.src = new URL(address, location.href).href;
        script.onload = () => resolve(inside);
        inside.document.head.append(script);
      };
    });
    document.body.append(frame);
  }

  answer(data) {
    this.dispatchEvent(new MessageEvent("message", { data }));
  }

  // The page keeps back all but its last message until one is answered. So a question that comes before the index is answered
  // here, as the script would: else the next one, typed while the frame still loads, would take the index's place.
  postMessage(data) {
    this.hasIndex ||= data.type === kIndex;
    if (!this.hasIndex) return queueMicrotask(() => this.answer({ type: kFound, data: { items: [] } }));
    void this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
  }
};
