// SPDX-License-Identifier: Apache-2.0
package lagwatch;

/**
 * Calls the agent from code of the boot class loader: a JVM prints a warning when native methods of its own classes are
 * bound from elsewhere. The agent defines this class when it is loaded into a JVM that runs already.
 */
final class Binding {
  private Binding() {}

  static void bind() {
    bindMethods();
  }

  private static native void bindMethods();
}
