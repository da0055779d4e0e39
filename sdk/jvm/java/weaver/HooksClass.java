// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * The class that inserted code calls: the native methods of sdk/jvm/probes, and the counters. A thread counts in cells of its
 * own, by its id, in the agent's memory, without an atomic operation; threads whose ids are too large share atomic cells.
 */
final class HooksClass {
  static final String NAME = "java/lang/LagwatchProbes";
  static final String COUNT = "count";
  static final String COUNT_DESCRIPTOR = "(I)V";
  private static final String COUNTS = "java/util/concurrent/atomic/AtomicLongArray";
  private static final String UNSAFE = "jdk/internal/misc/Unsafe";
  private static final int ACC_CONSTANT = Opcodes.ACC_STATIC | Opcodes.ACC_FINAL;
  private static final int CELL_SHIFT = 3; // bytes of a long

  private HooksClass() {}

  /** `cells`: the address of (threads + 1) * counters longs; `threads` is a power of 2. */
  static byte[] make(int counters, int threads, long cells) {
    ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    int access = Opcodes.ACC_PUBLIC | Opcodes.ACC_FINAL | Opcodes.ACC_SUPER;
    writer.visit(Opcodes.V11, access, NAME, null, "java/lang/Object", null);
    for (Weaver.Hook hook : Weaver.Hook.values()) {
      int isNative = Opcodes.ACC_PUBLIC | Opcodes.ACC_STATIC | Opcodes.ACC_NATIVE;
      writer.visitMethod(isNative, hook.method, hook.descriptor, null, null).visitEnd();
    }
    writer.visitField(ACC_CONSTANT | Opcodes.ACC_PUBLIC, "counts", "L" + COUNTS + ";", null, null).visitEnd();
    writer.visitField(ACC_CONSTANT, "unsafe", "L" + UNSAFE + ";", null, null).visitEnd();
    writer.visitField(ACC_CONSTANT, "idOffset", "J", null, null).visitEnd();
    addStart(writer, counters);
    addCount(writer, counters, threads, cells);
    writer.visitEnd();
    return writer.toByteArray();
  }

  private static void addStart(ClassWriter writer, int counters) {
    MethodVisitor code = writer.visitMethod(Opcodes.ACC_STATIC, "<clinit>", "()V", null, null);
    code.visitCode();
    code.visitTypeInsn(Opcodes.NEW, COUNTS);
    code.visitInsn(Opcodes.DUP);
    code.visitLdcInsn(counters);
    code.visitMethodInsn(Opcodes.INVOKESPECIAL, COUNTS, "<init>", "(I)V", false);
    code.visitFieldInsn(Opcodes.PUTSTATIC, NAME, "counts", "L" + COUNTS + ";");
    code.visitMethodInsn(Opcodes.INVOKESTATIC, UNSAFE, "getUnsafe", "()L" + UNSAFE + ";", false);
    code.visitInsn(Opcodes.DUP);
    code.visitFieldInsn(Opcodes.PUTSTATIC, NAME, "unsafe", "L" + UNSAFE + ";");
    code.visitLdcInsn(org.objectweb.asm.Type.getObjectType("java/lang/Thread"));
    code.visitLdcInsn("tid");
    code.visitMethodInsn(
        Opcodes.INVOKEVIRTUAL, UNSAFE, "objectFieldOffset", "(Ljava/lang/Class;Ljava/lang/String;)J", false);
    code.visitFieldInsn(Opcodes.PUTSTATIC, NAME, "idOffset", "J");
    code.visitInsn(Opcodes.RETURN);
    code.visitMaxs(0, 0);
    code.visitEnd();
  }

  /** Adds one to counter `int` of the calling thread. */
  private static void addCount(ClassWriter writer, int counters, int threads, long cells) {
    int access = Opcodes.ACC_PUBLIC | Opcodes.ACC_STATIC;
    MethodVisitor code = writer.visitMethod(access, COUNT, COUNT_DESCRIPTOR, null, null);
    code.visitAnnotation("Ljdk/internal/vm/annotation/ForceInline;", true).visitEnd();
    code.visitCode();
    Label isShared = new Label();
    code.visitFieldInsn(Opcodes.GETSTATIC, NAME, "unsafe", "L" + UNSAFE + ";");
    code.visitMethodInsn(Opcodes.INVOKESTATIC, "java/lang/Thread", "currentThread", "()Ljava/lang/Thread;", false);
    code.visitFieldInsn(Opcodes.GETSTATIC, NAME, "idOffset", "J");
    code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, UNSAFE, "getLong", "(Ljava/lang/Object;J)J", false);
    code.visitInsn(Opcodes.DUP2);
    code.visitVarInsn(Opcodes.LSTORE, 1);
    // A thread that is being attached has no id yet: 0.
    code.visitInsn(Opcodes.LCONST_1);
    code.visitInsn(Opcodes.LSUB);
    code.visitLdcInsn(Integer.numberOfTrailingZeros(threads));
    code.visitInsn(Opcodes.LUSHR);
    code.visitInsn(Opcodes.LCONST_0);
    code.visitInsn(Opcodes.LCMP);
    code.visitJumpInsn(Opcodes.IFNE, isShared);
    code.visitLdcInsn(cells);
    code.visitVarInsn(Opcodes.LLOAD, 1);
    code.visitLdcInsn((long) counters << CELL_SHIFT);
    code.visitInsn(Opcodes.LMUL);
    code.visitInsn(Opcodes.LADD);
    code.visitVarInsn(Opcodes.ILOAD, 0);
    code.visitInsn(Opcodes.ICONST_3);
    code.visitInsn(Opcodes.ISHL);
    code.visitInsn(Opcodes.I2L);
    code.visitInsn(Opcodes.LADD);
    code.visitVarInsn(Opcodes.LSTORE, 3);
    code.visitFieldInsn(Opcodes.GETSTATIC, NAME, "unsafe", "L" + UNSAFE + ";");
    code.visitVarInsn(Opcodes.LLOAD, 3);
    code.visitFieldInsn(Opcodes.GETSTATIC, NAME, "unsafe", "L" + UNSAFE + ";");
    code.visitVarInsn(Opcodes.LLOAD, 3);
    code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, UNSAFE, "getLong", "(J)J", false);
    code.visitInsn(Opcodes.LCONST_1);
    code.visitInsn(Opcodes.LADD);
    code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, UNSAFE, "putLong", "(JJ)V", false);
    code.visitInsn(Opcodes.RETURN);
    code.visitLabel(isShared);
    code.visitFrame(Opcodes.F_NEW, 2, new Object[] {Opcodes.INTEGER, Opcodes.LONG}, 0, new Object[0]);
    code.visitFieldInsn(Opcodes.GETSTATIC, NAME, "counts", "L" + COUNTS + ";");
    code.visitVarInsn(Opcodes.ILOAD, 0);
    code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, COUNTS, "getAndIncrement", "(I)J", false);
    code.visitInsn(Opcodes.POP2);
    code.visitInsn(Opcodes.RETURN);
    code.visitMaxs(0, 0);
    code.visitEnd();
  }
}
