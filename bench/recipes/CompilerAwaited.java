// SPDX-License-Identifier: Apache-2.0
// VERDICT jit
// OPTIONS -Xcomp -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,java.time*::*
import java.io.*;
import java.nio.channels.Selector;
import java.time.*;
import java.time.chrono.*;
import java.time.format.*;
import java.time.temporal.TemporalAdjusters;

public class CompilerAwaited {
  static int length;

  static void describe(String zone) {
    ZonedDateTime time = ZonedDateTime.of(2024, 2, 29, 12, 0, 0, 0, ZoneId.of(zone));
    for (FormatStyle style : FormatStyle.values()) {
      time = time.plusMonths(1).with(TemporalAdjusters.lastDayOfMonth());
      length += DateTimeFormatter.ofLocalizedDateTime(style).format(time).length();
    }
    length += DateTimeFormatter.ISO_ZONED_DATE_TIME.parse(time.toString()).toString().length();
    length += JapaneseDate.from(time).toString().length() + HijrahDate.from(time).toString().length();
    length += Duration.parse("PT20.345S").getNano() + Period.parse("P2Y3M").getMonths();
  }

  static void handle() throws Exception {
    for (String zone : new String[] {"Europe/Berlin", "Asia/Tokyo"}) describe(zone); // FREEZE handle
  }

  public static void main(String[] arguments) throws Exception {
    Selector selector = Selector.open();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = ""; !line.equals("freeze");) {
      selector.select(10);
      if (System.in.available() == 0 && !input.ready()) continue;
      line = input.readLine();
      if (line.equals("freeze")) handle();
    }
    selector.select(100);
  }
}
