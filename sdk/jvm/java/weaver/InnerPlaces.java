// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * A method with the calls of its inner sites. A call may fail for lack of stack, so none is where that would leave a lock
 * held, or come back for ever: the code behind a MONITORENTER has the block's own handler, a block's hit is behind its
 * MONITOREXIT, beyond the handler's reach, and no other hits are in handlers that are their own.
 */
final class InnerPlaces extends InstructionVisitor {
  private static final int NONE = -1;

  private final Weaver.MethodPlan plan;
  private final int firstLocal; // of two longs a lock: since when it is held, and how long it was waited for
  private final List<Integer> lockSlots;
  private final int callTicks; // the local variable; used from before a call to behind it, where no frame is
  private int tryBlocks;
  private int locks;
  private int line;
  private boolean isNewLine;
  private int unlocked = NONE; // the variable of the lock that the last instruction has given back
  private int unlockedLine;

  /** `firstLocal`: the number of the variables that the method has without the plan. */
  InnerPlaces(MethodVisitor next, Weaver.MethodPlan plan, int firstLocal) {
    super(next);
    this.plan = plan;
    this.firstLocal = firstLocal;
    lockSlots = timedLocks(plan);
    callTicks = firstLocal + 4 * lockSlots.size();
  }

  static int localsOf(Weaver.MethodPlan plan) {
    return 4 * timedLocks(plan).size() + 2;
  }

  private static List<Integer> timedLocks(Weaver.MethodPlan plan) {
    if (plan.inner.stream().noneMatch(site -> site.is(InnerSite.MONITOR) && site.is(InnerSite.WITH_TIMES))) {
      return List.of();
    }
    return plan.locks.stream().map(lock -> lock.slot).distinct().collect(Collectors.toList());
  }

  @Override
  public void visitCode() {
    super.visitCode();
    for (int i = 0; i < 2 * lockSlots.size(); ++i) {
      mv.visitInsn(Opcodes.LCONST_0);
      mv.visitVarInsn(Opcodes.LSTORE, firstLocal + 2 * i);
    }
  }

  @Override
  public void visitFrame(int type, int localCount, Object[] local, int stackCount, Object[] stack) {
    if (lockSlots.isEmpty()) {
      super.visitFrame(type, localCount, local, stackCount, stack);
      return;
    }
    List<Object> locals = new ArrayList<>();
    int slots = 0;
    for (int i = 0; i < localCount; ++i) {
      locals.add(local[i]);
      slots += local[i] == Opcodes.LONG || local[i] == Opcodes.DOUBLE ? 2 : 1;
    }
    for (; slots < firstLocal; ++slots) {
      locals.add(Opcodes.TOP);
    }
    for (int i = 0; i < 2 * lockSlots.size(); ++i) {
      locals.add(Opcodes.LONG);
    }
    super.visitFrame(Opcodes.F_NEW, locals.size(), locals.toArray(), stackCount, stack);
  }

  @Override
  public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
    for (Weaver.Lock lock : plan.locks) {
      if (lock.tryBlock == tryBlocks && !lockSlots.isEmpty()) {
        super.visitTryCatchBlock(lock.start, lock.end, handler, null); // before those around it
      }
    }
    ++tryBlocks;
    super.visitTryCatchBlock(start, end, handler, type);
  }

  @Override
  public void visitLineNumber(int number, Label start) {
    super.visitLineNumber(number, start);
    line = number;
    isNewLine = true;
  }

  /** Frames name an object that is not initialized by the label of its NEW: nothing may come between. */
  @Override
  void beforeInstruction(int opcode) {
    if (opcode != Opcodes.NEW) {
      hitPending();
    }
  }

  private List<InnerSite> sitesHere() {
    return isInOwnHandler() ? List.of() : plan.inner;
  }

  private void hitPending() {
    if (unlocked != NONE && !isInOwnHandler()) {
      hitUnlocked();
    }
    if (isNewLine) {
      isNewLine = false;
      for (InnerSite site : sitesHere()) {
        if (site.isAtLine(line)) {
          pushZeros(2);
          hit(site, null, line);
        }
      }
    }
  }

  private void hitUnlocked() {
    int slot = unlocked;
    unlocked = NONE;
    for (InnerSite site : sitesHere()) {
      if (!site.is(InnerSite.MONITOR)) {
        continue;
      }
      if (site.is(InnerSite.WITH_TIMES)) {
        mv.visitVarInsn(Opcodes.LLOAD, waitedAt(slot));
        mv.visitVarInsn(Opcodes.LLOAD, heldSinceAt(slot));
      } else {
        pushZeros(2);
      }
      pushClassName(site, slot);
      callHook(site, unlockedLine);
    }
  }

  @Override
  public void visitInsn(int opcode) {
    int slot = lastSlot();
    if (opcode == Opcodes.MONITORENTER && !lockSlots.isEmpty()) {
      enter(slot, plan.locks.get(locks++));
      return;
    }
    super.visitInsn(opcode);
    if (opcode == Opcodes.MONITOREXIT) {
      unlocked = slot;
      unlockedLine = line;
    }
  }

  private void enter(int slot, Weaver.Lock lock) {
    hitPending();
    ticks();
    mv.visitVarInsn(Opcodes.LSTORE, heldSinceAt(slot));
    super.visitInsn(Opcodes.MONITORENTER);
    mv.visitLabel(lock.start);
    ticks();
    mv.visitInsn(Opcodes.DUP2);
    mv.visitVarInsn(Opcodes.LLOAD, heldSinceAt(slot));
    mv.visitInsn(Opcodes.LSUB);
    mv.visitVarInsn(Opcodes.LSTORE, waitedAt(slot));
    mv.visitVarInsn(Opcodes.LSTORE, heldSinceAt(slot));
    mv.visitLabel(lock.end);
  }

  private int heldSinceAt(int slot) {
    return firstLocal + 4 * lockSlots.indexOf(slot);
  }

  private int waitedAt(int slot) {
    return heldSinceAt(slot) + 2;
  }

  @Override
  public void visitTypeInsn(int opcode, String type) {
    super.visitTypeInsn(opcode, type);
    if (opcode == Opcodes.NEW) {
      hitPending();
      hitCreation(InnerSite.className(type));
    } else if (opcode == Opcodes.ANEWARRAY) {
      hitCreation(InnerSite.className(type) + "[]");
    }
  }

  @Override
  public void visitIntInsn(int opcode, int operand) {
    super.visitIntInsn(opcode, operand);
    if (opcode == Opcodes.NEWARRAY) {
      hitCreation(InnerSite.arrayName(operand));
    }
  }

  @Override
  public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
    super.visitMultiANewArrayInsn(descriptor, dimensions);
    hitCreation(Type.getType(descriptor).getClassName());
  }

  private void hitCreation(String type) {
    for (InnerSite site : sitesHere()) {
      if (site.isAtCreation(type)) {
        pushZeros(2);
        hit(site, type, line);
      }
    }
  }

  @Override
  public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
    List<InnerSite> sites =
        sitesHere().stream().filter(site -> site.isAtMember(InnerSite.CALL, owner, name)).collect(Collectors.toList());
    hitPending();
    if (sites.stream().anyMatch(site -> site.is(InnerSite.WITH_TIMES))) {
      ticks();
      mv.visitVarInsn(Opcodes.LSTORE, callTicks);
    }
    super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
    for (InnerSite site : sites) {
      if (site.is(InnerSite.WITH_TIMES)) {
        mv.visitVarInsn(Opcodes.LLOAD, callTicks);
      }
      pushZeros(site.is(InnerSite.WITH_TIMES) ? 1 : 2);
      hit(site, InnerSite.memberName(owner, name), line);
    }
  }

  @Override
  public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
    hitPending();
    if (opcode == Opcodes.PUTFIELD || opcode == Opcodes.PUTSTATIC) {
      hitField(InnerSite.WRITE, owner, name, descriptor);
      super.visitFieldInsn(opcode, owner, name, descriptor);
    } else {
      super.visitFieldInsn(opcode, owner, name, descriptor);
      hitField(InnerSite.READ, owner, name, descriptor);
    }
  }

  /** The value is on the stack. */
  private void hitField(char kind, String owner, String name, String descriptor) {
    for (InnerSite site : sitesHere()) {
      if (!site.isAtField(kind, owner, name, descriptor)) {
        continue;
      }
      boolean hasValue = site.is(InnerSite.WITH_VALUE);
      if (hasValue && descriptor.equals("J")) {
        mv.visitInsn(Opcodes.DUP2);
      } else if (hasValue) {
        mv.visitInsn(Opcodes.DUP);
        mv.visitInsn(Opcodes.I2L);
      }
      pushZeros(hasValue ? 1 : 2);
      hit(site, InnerSite.memberName(owner, name), line);
    }
  }

  private void ticks() {
    mv.visitMethodInsn(Opcodes.INVOKESTATIC, HooksClass.NAME, Weaver.Hook.TICKS.method, Weaver.Hook.TICKS.descriptor, false);
  }

  private void pushZeros(int count) {
    for (int i = 0; i < count; ++i) {
      mv.visitInsn(Opcodes.LCONST_0);
    }
  }

  /** The hook's two numbers are on the stack. */
  private void hit(InnerSite site, String text, int atLine) {
    if (site.is(InnerSite.WITH_TEXT)) {
      mv.visitLdcInsn(text);
    } else {
      mv.visitInsn(Opcodes.ACONST_NULL);
    }
    callHook(site, atLine);
  }

  private void pushClassName(InnerSite site, int slot) {
    if (!site.is(InnerSite.WITH_TEXT)) {
      mv.visitInsn(Opcodes.ACONST_NULL);
      return;
    }
    mv.visitVarInsn(Opcodes.ALOAD, slot);
    mv.visitMethodInsn(Opcodes.INVOKEVIRTUAL, "java/lang/Object", "getClass", "()Ljava/lang/Class;", false);
    mv.visitMethodInsn(Opcodes.INVOKEVIRTUAL, "java/lang/Class", "getName", "()Ljava/lang/String;", false);
  }

  private void callHook(InnerSite site, int atLine) {
    mv.visitLdcInsn(atLine);
    mv.visitLdcInsn(site.id);
    mv.visitMethodInsn(Opcodes.INVOKESTATIC, HooksClass.NAME, Weaver.Hook.INSIDE.method, Weaver.Hook.INSIDE.descriptor, false);
  }
}
