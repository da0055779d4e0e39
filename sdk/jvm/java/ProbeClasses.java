// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * Loads the agent's classes that change bytecode, with ASM, apart from those of the program. The agent defines this class
 * in the boot class loader, from whose code a JVM lets native methods be bound without a warning.
 */
final class ProbeClasses extends ClassLoader {
  private final Map<String, byte[]> files = new HashMap<>();

  private ProbeClasses(byte[] archive) throws IOException {
    super(ClassLoader.getPlatformClassLoader());
    ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(archive));
    for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
      String name = entry.getName();
      if (name.endsWith(".class")) {
        files.put(name.substring(0, name.length() - ".class".length()).replace('/', '.'), zip.readAllBytes());
      }
    }
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    byte[] file = files.remove(name);
    if (file == null) {
      throw new ClassNotFoundException(name);
    }
    return defineClass(name, file, 0, file.length);
  }

  static Class<?> load(byte[] archive) throws IOException, ClassNotFoundException {
    return Class.forName("lagwatch.Weaver", true, new ProbeClasses(archive));
  }

  static void bind(Class<?> hooks) {
    bindHooks(hooks);
  }

  private static native void bindHooks(Class<?> hooks);
}
