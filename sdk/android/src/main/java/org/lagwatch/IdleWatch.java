// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.os.MessageQueue;
import java.lang.reflect.Field;
import java.util.ArrayList;

/**
 * Marks the idle handlers of a queue, also those that are added later: the queue's list is replaced by one that
 * wraps what is added to it. Where the list cannot be replaced, idle handlers are not watched.
 */
final class IdleWatch {
  private final MessageQueue queue;
  private final long loop;
  private volatile boolean isStopped;

  IdleWatch(MessageQueue queue, long loop) {
    this.queue = queue;
    this.loop = loop;
  }

  void install() {
    try {
      Field field = MessageQueue.class.getDeclaredField("mIdleHandlers");
      field.setAccessible(true);
      synchronized (queue) { // its own lock for the list
        ArrayList<?> handlers = (ArrayList<?>) field.get(queue);
        WrappingList list = new WrappingList();
        for (Object handler : handlers) {
          // Those of a watch that was stopped have a wrapper.
          list.add(handler instanceof Wrapper ? ((Wrapper) handler).handler : (MessageQueue.IdleHandler) handler);
        }
        field.set(queue, list);
      }
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  void stop() {
    isStopped = true;
  }

  private final class Wrapper implements MessageQueue.IdleHandler {
    final MessageQueue.IdleHandler handler;

    Wrapper(MessageQueue.IdleHandler handler) {
      this.handler = handler;
    }

    @Override
    public boolean queueIdle() {
      if (isStopped) return handler.queueIdle();
      NativeLibrary.idleBegin(loop);
      try {
        return handler.queueIdle();
      } finally {
        NativeLibrary.idleEnd(loop);
      }
    }
  }

  /** Guarded by the queue, as the list that it replaces. */
  private final class WrappingList extends ArrayList<MessageQueue.IdleHandler> {
    private static final long serialVersionUID = 1;

    @Override
    public boolean add(MessageQueue.IdleHandler handler) {
      return super.add(new Wrapper(handler));
    }

    /** {@code removed} is the app's handler, or the wrapper that the queue has run. */
    @Override
    public boolean remove(Object removed) {
      for (int i = 0; i < size(); ++i) {
        MessageQueue.IdleHandler wrapper = get(i);
        if (wrapper == removed || ((Wrapper) wrapper).handler == removed) {
          remove(i);
          return true;
        }
      }
      return false;
    }
  }
}
