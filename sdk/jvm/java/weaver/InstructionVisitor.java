// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Says of each instruction that it comes next, behind the labels, lines and frames of its place, and which ones are in a
 * handler that is its own handler: javac writes those for `synchronized` blocks. An exception there, as of a call that finds no
 * stack left, would come back for ever.
 */
abstract class InstructionVisitor extends MethodVisitor {
  private static final int NO_SLOT = -1;

  private int slot = NO_SLOT;
  private final List<TryBlock> blocks = new ArrayList<>();
  private final Set<Label> seen = new HashSet<>();

  private static final class TryBlock {
    final Label start;
    final Label end;
    final Label handler;

    TryBlock(Label start, Label end, Label handler) {
      this.start = start;
      this.end = end;
      this.handler = handler;
    }
  }

  InstructionVisitor(MethodVisitor next) {
    super(Opcodes.ASM9, next);
  }

  abstract void beforeInstruction(int opcode);

  /** The local variable that the last instruction has loaded from or stored to; -1 if it has done something else. */
  final int lastSlot() {
    return slot;
  }

  final boolean isInOwnHandler() {
    return blocks.stream()
        .anyMatch(block -> seen.contains(block.start) && seen.contains(block.handler) && !seen.contains(block.end));
  }

  @Override
  public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
    super.visitTryCatchBlock(start, end, handler, type);
    blocks.add(new TryBlock(start, end, handler));
  }

  @Override
  public void visitLabel(Label label) {
    super.visitLabel(label);
    seen.add(label);
  }

  private void begin(int opcode) {
    beforeInstruction(opcode);
    slot = NO_SLOT;
  }

  @Override
  public void visitInsn(int opcode) {
    begin(opcode);
    super.visitInsn(opcode);
  }

  @Override
  public void visitIntInsn(int opcode, int operand) {
    begin(opcode);
    super.visitIntInsn(opcode, operand);
  }

  @Override
  public void visitVarInsn(int opcode, int local) {
    begin(opcode);
    super.visitVarInsn(opcode, local);
    slot = local;
  }

  @Override
  public void visitTypeInsn(int opcode, String type) {
    begin(opcode);
    super.visitTypeInsn(opcode, type);
  }

  @Override
  public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
    begin(opcode);
    super.visitFieldInsn(opcode, owner, name, descriptor);
  }

  @Override
  public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
    begin(opcode);
    super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
  }

  @Override
  public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
    begin(Opcodes.INVOKEDYNAMIC);
    super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
  }

  @Override
  public void visitJumpInsn(int opcode, Label label) {
    begin(opcode);
    super.visitJumpInsn(opcode, label);
  }

  @Override
  public void visitLdcInsn(Object value) {
    begin(Opcodes.LDC);
    super.visitLdcInsn(value);
  }

  @Override
  public void visitIincInsn(int local, int increment) {
    begin(Opcodes.IINC);
    super.visitIincInsn(local, increment);
  }

  @Override
  public void visitTableSwitchInsn(int least, int most, Label otherwise, Label... labels) {
    begin(Opcodes.TABLESWITCH);
    super.visitTableSwitchInsn(least, most, otherwise, labels);
  }

  @Override
  public void visitLookupSwitchInsn(Label otherwise, int[] keys, Label[] labels) {
    begin(Opcodes.LOOKUPSWITCH);
    super.visitLookupSwitchInsn(otherwise, keys, labels);
  }

  @Override
  public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
    begin(Opcodes.MULTIANEWARRAY);
    super.visitMultiANewArrayInsn(descriptor, dimensions);
  }
}
