// SPDX-License-Identifier: Apache-2.0
// Prints the options that a JVM started by this one would get from the environment.
public final class Children {
  public static void main(String[] arguments) throws Exception {
    ProcessBuilder builder = new ProcessBuilder("/bin/sh", "-c", "echo \"$JAVA_TOOL_OPTIONS\"");
    builder.inheritIO().start().waitFor();
  }
}
