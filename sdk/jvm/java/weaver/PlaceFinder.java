// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.objectweb.asm.Label;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/** Finds the places of a method's inner sites, and its `synchronized` blocks, before the method is woven. */
final class PlaceFinder extends InstructionVisitor {
  private static final int MOST_NAMES = 5;

  private final Weaver.MethodPlan plan;
  private final boolean isSynchronized;
  private final Set<InnerSite> found = new HashSet<>();
  private final Map<Character, Set<String>> members = new HashMap<>(); // by the kind of place
  private final TreeSet<Integer> lines = new TreeSet<>();
  private final List<Label> protectedStarts = new ArrayList<>(); // a try block each; null if it is for some exceptions only
  private final Set<Label> targets = new HashSet<>(); // of jumps
  private final Set<Label> behindExits = new HashSet<>();
  private boolean isBehindEnter;
  private boolean isBehindExit;
  private boolean hasUnknownLocks;

  PlaceFinder(Weaver.MethodPlan plan, int access) {
    super(null);
    this.plan = plan;
    isSynchronized = (access & Opcodes.ACC_SYNCHRONIZED) != 0;
  }

  @Override
  void beforeInstruction(int opcode) {
    isBehindEnter = false;
    isBehindExit = false;
  }

  @Override
  public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
    super.visitTryCatchBlock(start, end, handler, type);
    protectedStarts.add(type == null ? start : null);
    targets.add(handler);
  }

  @Override
  public void visitLabel(Label label) {
    super.visitLabel(label);
    if (isBehindEnter) {
      // The block's own handler: those of blocks within are before it.
      plan.locks.get(plan.locks.size() - 1).tryBlock = protectedStarts.lastIndexOf(label);
    }
    if (isBehindExit) {
      behindExits.add(label);
    }
  }

  @Override
  public void visitLineNumber(int line, Label start) {
    lines.add(line);
    addIf(site -> site.isAtLine(line));
  }

  @Override
  public void visitInsn(int opcode) {
    int slot = lastSlot();
    super.visitInsn(opcode);
    if (opcode == Opcodes.MONITORENTER) {
      plan.locks.add(new Weaver.Lock(slot));
      hasUnknownLocks |= isInOwnHandler();
      isBehindEnter = true;
    } else if (opcode == Opcodes.MONITOREXIT) {
      hasUnknownLocks |= plan.locks.stream().noneMatch(lock -> lock.slot == slot);
      isBehindExit = true;
    }
  }

  @Override
  public void visitVarInsn(int opcode, int variable) {
    super.visitVarInsn(opcode, variable);
    plan.noteStore(opcode, variable);
  }

  @Override
  public void visitTypeInsn(int opcode, String type) {
    super.visitTypeInsn(opcode, type);
    if (opcode == Opcodes.NEW) {
      addCreation(InnerSite.className(type));
    } else if (opcode == Opcodes.ANEWARRAY) {
      addCreation(InnerSite.className(type) + "[]");
    }
  }

  @Override
  public void visitIntInsn(int opcode, int operand) {
    super.visitIntInsn(opcode, operand);
    if (opcode == Opcodes.NEWARRAY) {
      addCreation(InnerSite.arrayName(operand));
    }
  }

  @Override
  public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
    super.visitMultiANewArrayInsn(descriptor, dimensions);
    addCreation(Type.getType(descriptor).getClassName());
  }

  @Override
  public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
    super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
    addMember(InnerSite.CALL, InnerSite.memberName(owner, name));
    addIf(site -> site.isAtMember(InnerSite.CALL, owner, name));
  }

  @Override
  public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
    super.visitFieldInsn(opcode, owner, name, descriptor);
    char kind = opcode == Opcodes.PUTFIELD || opcode == Opcodes.PUTSTATIC ? InnerSite.WRITE : InnerSite.READ;
    addMember(kind, InnerSite.memberName(owner, name));
    addIf(site -> site.isAtField(kind, owner, name, descriptor));
  }

  @Override
  public void visitJumpInsn(int opcode, Label label) {
    super.visitJumpInsn(opcode, label);
    targets.add(label);
  }

  @Override
  public void visitTableSwitchInsn(int least, int most, Label otherwise, Label... labels) {
    super.visitTableSwitchInsn(least, most, otherwise, labels);
    targets.add(otherwise);
    targets.addAll(List.of(labels));
  }

  @Override
  public void visitLookupSwitchInsn(Label otherwise, int[] keys, Label[] labels) {
    super.visitLookupSwitchInsn(otherwise, keys, labels);
    targets.add(otherwise);
    targets.addAll(List.of(labels));
  }

  @Override
  public void visitMaxs(int stack, int locals) {
    plan.locals = locals;
    // A jump to behind a block's end would count as one.
    hasUnknownLocks |=
        plan.locks.stream().anyMatch(lock -> lock.slot < 0 || lock.tryBlock < 0) || behindExits.stream().anyMatch(targets::contains);
    if (!plan.locks.isEmpty() && !hasUnknownLocks) {
      addIf(site -> site.is(InnerSite.MONITOR));
    }
    for (InnerSite site : plan.inner) {
      site.whyNone = found.contains(site) ? "" : whyNone(site);
    }
  }

  private interface Condition {
    boolean holds(InnerSite site);
  }

  private void addIf(Condition condition) {
    for (InnerSite site : plan.inner) {
      if (!isInOwnHandler() && condition.holds(site)) {
        found.add(site);
      }
    }
  }

  private void addMember(char kind, String name) {
    members.computeIfAbsent(kind, key -> new TreeSet<>()).add(name);
  }

  private void addCreation(String type) {
    addMember(InnerSite.CREATION, type);
    addIf(site -> site.isAtCreation(type));
  }

  private String whyNone(InnerSite site) {
    if (site.is(InnerSite.LINE)) {
      return lines.isEmpty() ? "its class file has no line numbers" : "its lines are " + lines.first() + " to " + lines.last();
    }
    if (site.is(InnerSite.MONITOR)) {
      return hasUnknownLocks
          ? "its `synchronized` blocks have not the form that javac gives them"
          : "it has no `synchronized` block" + (isSynchronized ? ": all of it is synchronized" : "");
    }
    if (site.is(InnerSite.CALL)) {
      return "it calls " + namesOf(InnerSite.CALL);
    }
    if (site.is(InnerSite.CREATION)) {
      return "it makes " + namesOf(InnerSite.CREATION);
    }
    boolean reads = site.is(InnerSite.READ);
    return (reads ? "it reads " : "it sets ")
        + namesOf(reads ? InnerSite.READ : InnerSite.WRITE)
        + (site.is(InnerSite.WITH_VALUE) ? "; a `value` is a whole number" : "");
  }

  private String namesOf(char kind) {
    List<String> names = new ArrayList<>(members.getOrDefault(kind, Set.of()));
    if (names.isEmpty()) {
      return "nothing";
    }
    String first = String.join(", ", names.subList(0, Math.min(MOST_NAMES, names.size())));
    return "only " + first + (names.size() > MOST_NAMES ? " and " + (names.size() - MOST_NAMES) + " more" : "");
  }
}
