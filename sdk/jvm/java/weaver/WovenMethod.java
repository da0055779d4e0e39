// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * A method with the calls of its sites. The time of the call's beginning is in a new local variable, so that recursion,
 * exceptions and threads that change their carrier need nothing else.
 */
final class WovenMethod extends MethodVisitor {
  /** Longer methods are never compiled (HugeMethodLimit of HotSpot). */
  private static final int MOST_CODE_BYTES = 8000;

  private final String name;
  private final String descriptor;
  private final Weaver.MethodPlan plan;
  private final int version;
  private final int ticks; // the local variable
  private final boolean hasTicks;
  private final boolean catches;
  private final WovenArguments arguments;
  private final List<Label> ranges = new ArrayList<>(); // begin and end in turn: what the handler is for
  private boolean isBeforeSuper; // of a constructor: its object cannot be in a handler's reach
  private int newObjects; // of these, whose constructors are still to come

  WovenMethod(MethodVisitor next, int access, String owner, String name, String descriptor,
      Weaver.MethodPlan plan, int version) {
    super(Opcodes.ASM9, next);
    this.name = name;
    this.descriptor = descriptor;
    this.plan = plan;
    this.version = version;
    ticks = plan.locals;
    hasTicks = plan.hasAny("RVXSY");
    catches = plan.hasAny("XY");
    arguments = new WovenArguments(access, owner, descriptor);
    int valuesAtEnd = plan.valuesOf("SY");
    arguments.copyTo(ticks + 2, valuesAtEnd);
    boolean isStatic = (access & Opcodes.ACC_STATIC) != 0;
    if (plan.reusesThis && !isStatic && WovenArguments.readsThis(valuesAtEnd)) {
      throw new IllegalArgumentException(name + descriptor + "\nits code does not keep `this` to its end");
    }
    isBeforeSuper = name.equals("<init>");
  }

  @Override
  public void visitCode() {
    super.visitCode();
    for (Weaver.Site site : plan.sites) {
      if (site.has('E')) {
        super.visitLdcInsn(site.id);
        call(Weaver.Hook.ENTER);
      } else if (site.has('A')) {
        arguments.push(mv, site.values, false);
        super.visitLdcInsn(site.id);
        call(Weaver.Hook.ENTER_WITH);
      } else if (site.has('C')) {
        count(site);
      }
    }
    if (hasTicks) {
      call(Weaver.Hook.TICKS);
      super.visitVarInsn(Opcodes.LSTORE, ticks);
    }
    arguments.copy(mv);
    if (!isBeforeSuper) {
      markRange();
    }
  }

  @Override
  public void visitFrame(int type, int localCount, Object[] local, int stackCount, Object[] stack) {
    if (!hasTicks) {
      super.visitFrame(type, localCount, local, stackCount, stack);
      return;
    }
    List<Object> locals = new ArrayList<>();
    int slots = 0;
    for (int i = 0; i < localCount; ++i) {
      locals.add(local[i]);
      slots += local[i] == Opcodes.LONG || local[i] == Opcodes.DOUBLE ? 2 : 1;
    }
    for (; slots < ticks; ++slots) {
      locals.add(Opcodes.TOP);
    }
    locals.add(Opcodes.LONG);
    arguments.addFrameTypes(locals);
    super.visitFrame(Opcodes.F_NEW, locals.size(), locals.toArray(), stackCount, stack);
  }

  @Override
  public void visitTypeInsn(int opcode, String type) {
    super.visitTypeInsn(opcode, type);
    if (isBeforeSuper && opcode == Opcodes.NEW) {
      ++newObjects;
    }
  }

  @Override
  public void visitMethodInsn(int opcode, String owner, String called, String ofCalled, boolean isInterface) {
    super.visitMethodInsn(opcode, owner, called, ofCalled, isInterface);
    if (!isBeforeSuper || opcode != Opcodes.INVOKESPECIAL || !called.equals("<init>")) {
      return;
    }
    if (newObjects > 0) {
      --newObjects;
    } else {
      isBeforeSuper = false;
      markRange();
    }
  }

  @Override
  public void visitInsn(int opcode) {
    boolean isReturn = opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN;
    if (isReturn) {
      // The handler is not for what is inserted here: an exception there would count a second time.
      boolean isInRange = ranges.size() % 2 == 1;
      if (isInRange) {
        markRange();
      }
      leave(opcode);
      super.visitInsn(opcode);
      if (isInRange) {
        markRange();
      }
    } else {
      super.visitInsn(opcode);
    }
  }

  @Override
  public void visitMaxs(int stack, int locals) {
    if (ranges.size() % 2 == 1) {
      markRange();
    }
    catchAll();
    Label end = new Label();
    super.visitLabel(end);
    if (end.getOffset() > MOST_CODE_BYTES && plan.codeBytes <= MOST_CODE_BYTES) {
      throw new IllegalArgumentException(
          name + descriptor + "\nit would have " + end.getOffset() + " bytes of bytecode, and the JVM compiles no method of more than "
              + MOST_CODE_BYTES);
    }
    super.visitMaxs(stack, locals);
  }

  private void markRange() {
    if (!catches) {
      return;
    }
    Label label = new Label();
    super.visitLabel(label);
    ranges.add(label);
  }

  private void catchAll() {
    Label handler = new Label();
    boolean isReached = false;
    for (int i = 0; i + 1 < ranges.size(); i += 2) {
      if (ranges.get(i).getOffset() < ranges.get(i + 1).getOffset()) {
        super.visitTryCatchBlock(ranges.get(i), ranges.get(i + 1), handler, null);
        isReached = true;
      }
    }
    if (!isReached) {
      return;
    }
    super.visitLabel(handler);
    if (version >= Opcodes.V1_6) {
      Object[] own = arguments.handlerLocals(plan.valuesOf("Y"));
      visitFrame(Opcodes.F_NEW, own.length, own, 1, new Object[] {"java/lang/Throwable"});
    }
    for (Weaver.Site site : plan.sites) {
      if (site.has('X')) {
        super.visitInsn(Opcodes.DUP);
        endCall(site, Weaver.Hook.FAIL);
      } else if (site.has('Y')) {
        super.visitInsn(Opcodes.DUP);
        super.visitInsn(Opcodes.LCONST_0);
        super.visitInsn(Opcodes.DUP2_X1);
        super.visitInsn(Opcodes.POP2);
        super.visitInsn(Opcodes.DCONST_0);
        super.visitInsn(Opcodes.DUP2_X1);
        super.visitInsn(Opcodes.POP2);
        super.visitInsn(Opcodes.ACONST_NULL);
        super.visitInsn(Opcodes.SWAP);
        arguments.push(mv, site.values, true);
        endCall(site, Weaver.Hook.LEAVE_WITH);
      }
    }
    super.visitInsn(Opcodes.ATHROW);
  }

  private void leave(int opcode) {
    for (Weaver.Site site : plan.sites) {
      if (site.has('R')) {
        endCall(site, Weaver.Hook.LEAVE);
      } else if (site.has('V')) {
        endCall(site, pushReturned(opcode));
      } else if (site.has('S')) {
        pushReturnedOfAnyKind(opcode);
        arguments.push(mv, site.values, true);
        endCall(site, Weaver.Hook.LEAVE_WITH);
      } else if (site.has('D')) {
        count(site);
      }
    }
  }

  private Weaver.Hook pushReturned(int opcode) {
    switch (opcode) {
      case Opcodes.IRETURN:
        super.visitInsn(Opcodes.DUP);
        super.visitInsn(Opcodes.I2L);
        return Weaver.Hook.LEAVE_INT;
      case Opcodes.LRETURN:
        super.visitInsn(Opcodes.DUP2);
        return Weaver.Hook.LEAVE_INT;
      case Opcodes.FRETURN:
        super.visitInsn(Opcodes.DUP);
        WovenArguments.packFloat(mv);
        return Weaver.Hook.LEAVE_FLOAT;
      case Opcodes.DRETURN:
        super.visitInsn(Opcodes.DUP2);
        return Weaver.Hook.LEAVE_FLOAT;
      case Opcodes.ARETURN:
        super.visitInsn(Opcodes.DUP);
        return Weaver.Hook.LEAVE_TEXT;
      default:
        return Weaver.Hook.LEAVE;
    }
  }

  /** A number, a floating-point number, an object and no exception, of which one is the returned value. */
  private void pushReturnedOfAnyKind(int opcode) {
    Weaver.Hook kind = pushReturned(opcode);
    switch (kind) {
      case LEAVE_INT:
        super.visitInsn(Opcodes.DCONST_0);
        super.visitInsn(Opcodes.ACONST_NULL);
        break;
      case LEAVE_FLOAT:
        super.visitInsn(Opcodes.LCONST_0);
        super.visitInsn(Opcodes.DUP2_X2);
        super.visitInsn(Opcodes.POP2);
        super.visitInsn(Opcodes.ACONST_NULL);
        break;
      case LEAVE_TEXT:
        super.visitInsn(Opcodes.LCONST_0);
        super.visitInsn(Opcodes.DUP2_X1);
        super.visitInsn(Opcodes.POP2);
        super.visitInsn(Opcodes.DCONST_0);
        super.visitInsn(Opcodes.DUP2_X1);
        super.visitInsn(Opcodes.POP2);
        break;
      default:
        super.visitInsn(Opcodes.LCONST_0);
        super.visitInsn(Opcodes.DCONST_0);
        super.visitInsn(Opcodes.ACONST_NULL);
    }
    super.visitInsn(Opcodes.ACONST_NULL);
  }

  private void endCall(Weaver.Site site, Weaver.Hook hook) {
    super.visitLdcInsn(site.id);
    super.visitVarInsn(Opcodes.LLOAD, ticks);
    call(hook);
  }

  private void count(Weaver.Site site) {
    super.visitLdcInsn(site.id);
    super.visitMethodInsn(
        Opcodes.INVOKESTATIC, HooksClass.NAME, HooksClass.COUNT, HooksClass.COUNT_DESCRIPTOR, false);
  }

  private void call(Weaver.Hook hook) {
    super.visitMethodInsn(Opcodes.INVOKESTATIC, HooksClass.NAME, hook.method, hook.descriptor, false);
  }
}
