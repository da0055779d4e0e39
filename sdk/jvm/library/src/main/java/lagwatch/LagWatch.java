// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Names parts of a program's work for lagwatch, whose agent the JVM has loaded ({@code -agentpath}, {@code lagwatch run} or
 * {@code lagwatch attach}). Without the agent every function does nothing. Any thread; virtual threads are not watched.
 *
 * <pre>{@code
 * try (var scope = LagWatch.scope("import", 500)) {
 *   importOrders();
 * }
 * }</pre>
 */
public final class LagWatch {
  private static final int MOST_NAMES = 4096;
  private static final long RETRY_NS = 1_000_000_000L;
  private static final ConcurrentHashMap<String, Long> NAMES = new ConcurrentHashMap<>();
  private static final boolean HAS_JFR = hasJfr();

  private static volatile boolean isThere;
  private static volatile long nextTryNs = System.nanoTime();

  private LagWatch() {}

  /** The part that {@link #scope} or {@link #dispatch} has begun: to be closed on the same thread, the innermost first. */
  public static final class Part implements AutoCloseable {
    static final int NONE = 0;
    static final int SCOPE = 1;
    static final int DISPATCH = 2;

    private final int kind;
    private final Object event;
    private boolean isClosed;

    Part(int kind, Object event) {
      this.kind = kind;
      this.event = event;
    }

    @Override
    public void close() {
      if (isClosed) return;
      isClosed = true;
      if (kind == SCOPE) endScope();
      if (kind == DISPATCH) endDispatch();
      if (event != null) PartEvent.end(event);
    }
  }

  /** Whether the agent is loaded, and watches this JVM. */
  public static boolean isOn() {
    return isAgentThere() && isWatching();
  }

  /**
   * Begins a part of the thread's work that has a deadline of its own. One that takes longer is reported with stacks, kind
   * "scope". Scopes may be nested, up to 8. The name must be one of few: it is kept for as long as the JVM runs, and beyond
   * 4096 of them a name is "other". Null: the part is not watched.
   *
   * @param deadlineMs 16 to 3600000
   */
  public static Part scope(String name, int deadlineMs) {
    long text = textOf(name);
    if (text != 0) beginScope(text, deadlineMs);
    return new Part(text != 0 ? Part.SCOPE : Part.NONE, eventOf(name));
  }

  /** Begins the handling of one job of the thread, such as a pool's. One that takes longer than the threshold is a hang. */
  public static Part dispatch(String tag) {
    long text = textOf(tag);
    if (text != 0) beginDispatch(text);
    return new Part(text != 0 ? Part.DISPATCH : Part.NONE, eventOf(tag));
  }

  /** Requests a report with the stacks of all threads. False without the agent, or if one was made just now. */
  public static boolean dump(String reason) {
    return isAgentThere() && requestDump(utf8(reason));
  }

  /** Sets the fact "app.KEY" of later reports; null removes it. It is sent: it must not name a person. */
  public static boolean setValue(String key, String value) {
    return isAgentThere() && putValue(utf8(key), utf8(value));
  }

  private static long textOf(String name) {
    if (name == null || !isAgentThere() || isVirtual(Thread.currentThread())) return 0;
    Long known = NAMES.get(name);
    if (known != null) return known;
    long other = kept("other"); // at the first call: there is room
    return NAMES.size() < MOST_NAMES ? kept(name) : other;
  }

  private static long kept(String name) {
    return NAMES.computeIfAbsent(name, text -> keepText(utf8(text)));
  }

  private static byte[] utf8(String text) {
    return text == null ? new byte[0] : text.getBytes(StandardCharsets.UTF_8);
  }

  private static boolean isVirtual(Thread thread) {
    return thread.getClass().getName().startsWith("java.lang.VirtualThread");
  }

  /** The agent may come later, by lagwatch attach. */
  private static boolean isAgentThere() {
    if (isThere) return true;
    long now = System.nanoTime();
    if (now - nextTryNs < 0) return false;
    nextTryNs = now + RETRY_NS;
    try {
      isWatching();
      isThere = true;
    } catch (UnsatisfiedLinkError noAgent) {
      return false;
    }
    return true;
  }

  private static boolean hasJfr() {
    try {
      return Class.forName("jdk.jfr.Event") != null;
    } catch (ClassNotFoundException leftOut) {
      return false;
    }
  }

  private static Object eventOf(String name) {
    return HAS_JFR ? PartEvent.begin(name) : null;
  }

  private static native boolean isWatching();

  private static native long keepText(byte[] text);

  private static native void beginScope(long text, int deadlineMs);

  private static native void endScope();

  private static native void beginDispatch(long text);

  private static native void endDispatch();

  private static native boolean requestDump(byte[] reason);

  private static native boolean putValue(byte[] key, byte[] value);
}
