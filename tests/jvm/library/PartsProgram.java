// SPDX-License-Identifier: Apache-2.0
import java.nio.file.Path;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import lagwatch.LagWatch;

/** Parts of its work have names; prints whether lagwatch watches, and the names in a recording of the JVM's own. */
class PartsProgram {
  static void importOrders(int ms) throws InterruptedException {
    Thread.sleep(ms);
  }

  public static void main(String[] arguments) throws Exception {
    System.out.println(LagWatch.isOn() + " " + LagWatch.setValue("tabs", "3"));
    try (Recording recording = new Recording()) {
      recording.enable("lagwatch.Part");
      recording.start();
      for (int i = 0; i < 3; ++i) {
        try (var quick = LagWatch.scope("quick", 3000)) {
          importOrders(10);
        }
      }
      try (var scope = LagWatch.scope("import", 200)) {
        importOrders(1500);
      }
      Path file = Path.of(arguments[0]);
      recording.stop();
      recording.dump(file);
      RecordingFile.readAllEvents(file).forEach(event -> System.out.println(event.getString("name")));
    }
    var pool = Executors.newFixedThreadPool(2);
    for (int i = 0; i < 4; ++i) {
      int ms = i == 2 ? 1200 : 20;
      pool.submit(() -> {
        try (var job = LagWatch.dispatch("job")) {
          importOrders(ms);
        }
        return null;
      });
    }
    pool.shutdown();
    System.out.println(pool.awaitTermination(20, TimeUnit.SECONDS));
    try (var scope = LagWatch.scope("face \uD83D\uDE00", 200)) {
      importOrders(700);
    }
    LagWatch.scope(null, 200).close();
    for (int i = 0; i < 10000; ++i) LagWatch.scope("name " + i, 3000).close();
    try (var scope = LagWatch.scope("one more", 200)) {
      importOrders(700);
    }
  }
}
