// SPDX-License-Identifier: Apache-2.0
// Says to `lagwatch watch` which windows do not respond: GNOME Shell asks a window when it is used, and waits
// five seconds for its answer.
'use strict';

const {Gio, GLib} = imports.gi;

function say(pid, isAlive) {
  if (pid <= 0) return;
  // Without lagwatch there is nothing to say; it is not to be started for that.
  Gio.DBus.session.call(
    'org.lagwatch.Watch', '/org/lagwatch/Watch', 'org.lagwatch.Watch',
    isAlive ? 'Responding' : 'NotResponding', new GLib.Variant('(u)', [pid]), null,
    Gio.DBusCallFlags.NO_AUTO_START, 1000, null,
    (bus, result) => {
      try {
        bus.call_finish(result);
      } catch (error) {
        // Nobody has asked for it.
      }
    });
}

class Extension {
  enable() {
    this._windows = new Map(); // of each window: its signals, and whether it responds
    this._isReadable = false;
    this._created = global.display.connect('window-created', (_display, window) => this._add(window, true));
    for (const actor of global.get_window_actors()) this._add(actor.meta_window, false);
  }

  disable() {
    global.display.disconnect(this._created);
    for (const [window, known] of this._windows) {
      for (const signal of known.signals) window.disconnect(signal);
      if (!known.isAlive) say(window.get_pid(), true);
    }
    this._windows = null;
  }

  _add(window, isNew) {
    if (this._windows.has(window)) return;
    this._isReadable ||= window.is_alive;
    const pid = window.get_pid();
    const known = {isAlive: true, signals: []};
    this._windows.set(window, known);
    known.signals = [
      window.connect('notify::is-alive', () => {
        // In GNOME 43 the property always reads false, though its changes are announced: there it is known
        // of windows that were seen from their start.
        this._isReadable ||= window.is_alive;
        if (!this._isReadable && !isNew) return;
        known.isAlive = this._isReadable ? window.is_alive : !known.isAlive;
        say(pid, known.isAlive);
      }),
      window.connect('unmanaged', () => {
        this._windows.delete(window);
        if (!known.isAlive) say(pid, true);
      }),
    ];
  }
}

function init() {
  return new Extension();
}
