// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/** A probe at places inside of one method. */
final class InnerSite {
  // The kinds of places, and what the script reads there.
  static final char CALL = 'I';
  static final char LINE = 'L';
  static final char CREATION = 'N';
  static final char MONITOR = 'M';
  static final char READ = 'G';
  static final char WRITE = 'P';
  static final char WITH_TIMES = 'd';
  static final char WITH_TEXT = 't';
  static final char WITH_VALUE = 'v';

  private static final String[] ARRAYS = {"boolean", "char", "float", "double", "byte", "short", "int", "long"};

  final int id;
  private final String kinds;
  private final String target; // a glob, or a line's number
  String whyNone = ""; // the reason if the method has no such place

  InnerSite(int id, String kinds, String target) {
    this.id = id;
    this.kinds = kinds;
    this.target = target;
  }

  boolean is(char kind) {
    return kinds.indexOf(kind) >= 0;
  }

  boolean isAtLine(int line) {
    return is(LINE) && (target.equals("*") || target.equals(Integer.toString(line)));
  }

  /** Whether it is at this kind of use of a member; a target without "::" means members of all classes. */
  boolean isAtMember(char kind, String owner, String name) {
    return is(kind) && matches(target, target.contains("::") ? memberName(owner, name) : name);
  }

  boolean isAtField(char kind, String owner, String name, String descriptor) {
    return isAtMember(kind, owner, name) && (!is(WITH_VALUE) || isWhole(descriptor));
  }

  boolean isAtCreation(String type) {
    return is(CREATION) && matches(target, type);
  }

  /** "java.util.Map::put" of the internal name. */
  static String memberName(String owner, String name) {
    return className(owner) + "::" + name;
  }

  static String className(String internalName) {
    return Type.getObjectType(internalName).getClassName();
  }

  /** "int[]" of NEWARRAY's operand. */
  static String arrayName(int operand) {
    return ARRAYS[operand - Opcodes.T_BOOLEAN] + "[]";
  }

  static boolean isWhole(String descriptor) {
    return "ZBCSIJ".contains(descriptor);
  }

  /** `*` and `?` as in a shell. */
  private static boolean matches(String glob, String text) {
    int at = 0;
    int star = -1; // the last one, from which on it is tried again
    int retry = 0;
    for (int i = 0; i < text.length();) {
      if (at < glob.length() && glob.charAt(at) == '*') {
        star = at++;
        retry = i;
      } else if (at < glob.length() && (glob.charAt(at) == '?' || glob.charAt(at) == text.charAt(i))) {
        ++at;
        ++i;
      } else if (star >= 0) {
        at = star + 1;
        i = ++retry;
      } else {
        return false;
      }
    }
    while (at < glob.length() && glob.charAt(at) == '*') {
      ++at;
    }
    return at == glob.length();
  }
}
