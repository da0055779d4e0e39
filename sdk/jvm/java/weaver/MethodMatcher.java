// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.lang.annotation.Annotation;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.regex.Pattern;
import org.objectweb.asm.Type;

/** Finds methods by annotations and regular expressions. */
final class MethodMatcher {
  /** Letters that a regular expression may look at in one name: some would look for ever. */
  private static final int MOST_LOOKS = 100_000;

  private MethodMatcher() {}

  /**
   * A letter a line of `names`: x if the expression is found in it, else a point. Throws a RuntimeException if the
   * expression cannot be read, or takes too long.
   */
  static String matching(String expression, String names) {
    Pattern pattern = Pattern.compile(expression);
    StringBuilder found = new StringBuilder();
    for (String name : names.split("\n")) {
      try {
        found.append(pattern.matcher(new CountedText(name)).find() ? 'x' : '.');
      } catch (StackOverflowError error) {
        throw new IllegalArgumentException("the regular expression is too deep", error);
      }
    }
    return found.toString();
  }

  /**
   * The annotations that are kept at run time, a line each: the name of one of the class, or NAME METHOD DESCRIPTOR. No
   * code of the program runs for that.
   */
  static String annotations(Class<?> type) {
    StringBuilder lines = new StringBuilder();
    for (Annotation each : type.getAnnotations()) {
      lines.append(nameOf(each)).append('\n');
    }
    for (Method method : type.getDeclaredMethods()) {
      for (Annotation each : method.getDeclaredAnnotations()) {
        String descriptor = Type.getMethodDescriptor(method);
        lines.append(nameOf(each)).append(' ').append(method.getName()).append(' ').append(descriptor).append('\n');
      }
    }
    for (Constructor<?> constructor : type.getDeclaredConstructors()) {
      for (Annotation each : constructor.getDeclaredAnnotations()) {
        lines.append(nameOf(each)).append(" <init> ").append(Type.getConstructorDescriptor(constructor)).append('\n');
      }
    }
    return lines.toString();
  }

  private static String nameOf(Annotation annotation) {
    return annotation.annotationType().getName();
  }

  private static final class CountedText implements CharSequence {
    private final String text;
    private int looks;

    CountedText(String text) {
      this.text = text;
    }

    @Override
    public char charAt(int index) {
      if (++looks > MOST_LOOKS) {
        throw new IllegalArgumentException("the regular expression takes too long");
      }
      return text.charAt(index);
    }

    @Override
    public int length() {
      return text.length();
    }

    @Override
    public CharSequence subSequence(int begin, int end) {
      return text.subSequence(begin, end);
    }
  }
}
