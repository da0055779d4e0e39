// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * The arguments of a woven method that its sites read: on the way into native methods at its beginning, and, since a method may
 * change its parameters, from copies in new local variables at its end.
 */
final class WovenArguments {
  private static final int INT_ARGUMENTS = 6;
  private static final int FLOAT_ARGUMENTS = 8;
  /** The bits of a site's values, as probe/hit.h numbers them; the floating-point ones follow. */
  private static final int THIS = 2 * INT_ARGUMENTS;
  private static final int FLOATS = THIS + 2;
  /** The descriptor's part for what push() pushes. */
  static final String PUSHED = "J".repeat(INT_ARGUMENTS) + "D".repeat(FLOAT_ARGUMENTS) + "Ljava/lang/Object;".repeat(INT_ARGUMENTS + 1);

  private static final class Argument {
    final Type type;
    final int slot;
    int copy = -1; // a local variable, if it is read at the end

    Argument(Type type, int slot) {
      this.type = type;
      this.slot = slot;
    }
  }

  private final boolean isStatic;
  private final String owner;
  private final List<Argument> wholes = new ArrayList<>();
  private final List<Argument> reals = new ArrayList<>();
  private final List<Argument> copied = new ArrayList<>(); // in the order of their copies

  WovenArguments(int access, String owner, String descriptor) {
    isStatic = (access & Opcodes.ACC_STATIC) != 0;
    this.owner = owner;
    int slot = isStatic ? 0 : 1;
    for (Type type : Type.getArgumentTypes(descriptor)) {
      (isReal(type) ? reals : wholes).add(new Argument(type, slot));
      slot += type.getSize();
    }
  }

  static boolean readsThis(int values) {
    return (values >> THIS & 3) != 0;
  }

  /** Reserves local variables from `first` on for what is read at the end. Returns the next one. */
  int copyTo(int first, int values) {
    int next = first;
    for (List<Argument> kind : List.of(wholes, reals)) {
      for (int i = 0; i < kind.size(); ++i) {
        if (kind == wholes ? readsWhole(values, i) : readsReal(values, i)) {
          Argument argument = kind.get(i);
          argument.copy = next;
          copied.add(argument);
          next += argument.type.getSize();
        }
      }
    }
    return next;
  }

  void copy(MethodVisitor code) {
    for (Argument argument : copied) {
      code.visitVarInsn(argument.type.getOpcode(Opcodes.ILOAD), argument.slot);
      code.visitVarInsn(argument.type.getOpcode(Opcodes.ISTORE), argument.copy);
    }
  }

  /** Adds the types of the copies, as frames name them. */
  void addFrameTypes(List<Object> locals) {
    for (Argument argument : copied) {
      switch (argument.type.getSort()) {
        case Type.LONG:
          locals.add(Opcodes.LONG);
          break;
        case Type.DOUBLE:
          locals.add(Opcodes.DOUBLE);
          break;
        case Type.FLOAT:
          locals.add(Opcodes.FLOAT);
          break;
        case Type.ARRAY:
        case Type.OBJECT:
          locals.add(argument.type.getInternalName());
          break;
        default:
          locals.add(Opcodes.INTEGER);
      }
    }
  }

  /** The local variables that an exception handler needs, of the method's own ones. */
  Object[] handlerLocals(int values) {
    return !isStatic && readsThis(values) ? new Object[] {owner} : new Object[0];
  }

  /** Six numbers, eight floating-point numbers, six objects and `this`, as native methods take them; what is not read is 0. */
  void push(MethodVisitor code, int values, boolean isAtEnd) {
    for (int i = 0; i < INT_ARGUMENTS; ++i) {
      pushWhole(code, readsWhole(values, i) && i < wholes.size() ? wholes.get(i) : null, isAtEnd);
    }
    for (int i = 0; i < FLOAT_ARGUMENTS; ++i) {
      pushReal(code, readsReal(values, i) && i < reals.size() ? reals.get(i) : null, isAtEnd);
    }
    for (int i = 0; i < INT_ARGUMENTS; ++i) {
      boolean isObject = readsWhole(values, i) && i < wholes.size() && isObject(wholes.get(i).type);
      if (isObject) {
        load(code, wholes.get(i), isAtEnd);
      } else {
        code.visitInsn(Opcodes.ACONST_NULL);
      }
    }
    if (readsThis(values) && !isStatic) {
      code.visitVarInsn(Opcodes.ALOAD, 0);
    } else {
      code.visitInsn(Opcodes.ACONST_NULL);
    }
  }

  /** A probe reads a float as the low half of a double, where native code has it. */
  static void packFloat(MethodVisitor code) {
    code.visitMethodInsn(Opcodes.INVOKESTATIC, "java/lang/Float", "floatToRawIntBits", "(F)I", false);
    code.visitInsn(Opcodes.I2L);
    code.visitMethodInsn(Opcodes.INVOKESTATIC, "java/lang/Double", "longBitsToDouble", "(J)D", false);
  }

  private static boolean isReal(Type type) {
    return type.getSort() == Type.FLOAT || type.getSort() == Type.DOUBLE;
  }

  private static boolean isObject(Type type) {
    return type.getSort() == Type.OBJECT || type.getSort() == Type.ARRAY;
  }

  private static boolean readsWhole(int values, int index) {
    return index < INT_ARGUMENTS && ((values >> index | values >> INT_ARGUMENTS + index) & 1) != 0;
  }

  private static boolean readsReal(int values, int index) {
    return index < FLOAT_ARGUMENTS && (values >> FLOATS + index & 1) != 0;
  }

  private static void load(MethodVisitor code, Argument argument, boolean isAtEnd) {
    code.visitVarInsn(argument.type.getOpcode(Opcodes.ILOAD), isAtEnd ? argument.copy : argument.slot);
  }

  private static void pushWhole(MethodVisitor code, Argument argument, boolean isAtEnd) {
    if (argument == null || isObject(argument.type)) {
      code.visitInsn(Opcodes.LCONST_0);
      return;
    }
    load(code, argument, isAtEnd);
    if (argument.type.getSort() != Type.LONG) {
      code.visitInsn(Opcodes.I2L);
    }
  }

  private static void pushReal(MethodVisitor code, Argument argument, boolean isAtEnd) {
    if (argument == null) {
      code.visitInsn(Opcodes.DCONST_0);
      return;
    }
    load(code, argument, isAtEnd);
    if (argument.type.getSort() == Type.FLOAT) {
      packFloat(code);
    }
  }
}
