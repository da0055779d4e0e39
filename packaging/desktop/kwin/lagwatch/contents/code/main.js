// SPDX-License-Identifier: Apache-2.0
// Says to `lagwatch watch` which windows do not respond: KWin asks a window when it is activated or is to be
// closed.
function say(window, isAlive) {
  if (window.pid > 0)
    callDBus('org.lagwatch.Watch', '/org/lagwatch/Watch', 'org.lagwatch.Watch',
             isAlive ? 'Responding' : 'NotResponding', window.pid);
}

function add(window) {
  window.unresponsiveChanged.connect(() => say(window, !window.unresponsive));
}

// The first names are those of KWin 6, the others those of KWin 5.
const windows = workspace.windowList ? workspace.windowList() : workspace.clientList();
windows.forEach(add);
(workspace.windowAdded || workspace.clientAdded).connect(add);
(workspace.windowRemoved || workspace.clientRemoved).connect((window) => {
  if (window.unresponsive) say(window, true);
});
