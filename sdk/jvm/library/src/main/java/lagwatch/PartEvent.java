// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import jdk.jfr.Category;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A scope or a dispatch in a recording of the JVM's own flight recorder. */
@Name("lagwatch.Part")
@Label("Part of the work")
@Category("lagwatch")
final class PartEvent extends Event {
  @Label("Name")
  String name;

  /** Null while nothing records it. */
  static Object begin(String name) {
    PartEvent event = new PartEvent();
    if (!event.isEnabled()) return null;
    event.name = name;
    event.begin();
    return event;
  }

  static void end(Object event) {
    ((PartEvent) event).commit();
  }
}
