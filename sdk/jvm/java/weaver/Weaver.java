// SPDX-License-Identifier: Apache-2.0
package lagwatch;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Inserts calls of the agent's native methods into methods. */
final class Weaver {
  /** The newest class files that ASM 9.4 reads; newer ones have had nothing so far that it does not copy. */
  private static final int NEWEST_READABLE = Opcodes.V20;

  private static final int MAJOR_VERSION_AT = 6;

  private Weaver() {}

  /**
   * Returns the class file with the calls. `plan` has a line a site and method: NAME DESCRIPTOR BYTES ID
   * VALUES KINDS, with the method's present size and letters: E entry, A entry with arguments, R return, V
   * return with the value, X exception, S return and Y exception with arguments; C entry and D return that
   * are only counted, by the counter ID. VALUES are the bits of the arguments that the site reads. For
   * places inside of the method KINDS is what InnerSite has, and TARGET follows: a glob, or a line's number,
   * or * for each line. If a method cannot have them, throws an IllegalArgumentException with its name and
   * descriptor on the first line, and the reason on the second.
   */
  static byte[] weave(byte[] file, String plan) {
    int version = majorVersion(file);
    Map<String, MethodPlan> plans = parse(plan, new ArrayList<>());
    ClassReader reader = new ClassReader(readable(file));
    reader.accept(new LocalsReader(plans), ClassReader.SKIP_FRAMES);
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    ClassVisitor weaving =
        new ClassVisitor(Opcodes.ASM9, writer) {
          @Override
          public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] thrown) {
            MethodVisitor next = super.visitMethod(access, name, descriptor, signature, thrown);
            MethodPlan ofMethod = plans.get(name + descriptor);
            if (ofMethod == null) {
              return next;
            }
            int firstLocal = ofMethod.locals;
            ofMethod.locals += ofMethod.inner.isEmpty() ? 0 : InnerPlaces.localsOf(ofMethod);
            MethodVisitor woven = new WovenMethod(next, access, reader.getClassName(), name, descriptor, ofMethod, version);
            return ofMethod.inner.isEmpty() ? woven : new InnerPlaces(woven, ofMethod, firstLocal);
          }
        };
    reader.accept(weaving, ClassReader.EXPAND_FRAMES);
    byte[] woven = writer.toByteArray();
    setMajorVersion(woven, version);
    return woven;
  }

  /** A line for each line of `plan`: the reason if its method has no place that the site is for, else nothing. */
  static String whyNoPlaces(byte[] file, String plan) {
    List<InnerSite> inOrder = new ArrayList<>();
    new ClassReader(readable(file)).accept(new LocalsReader(parse(plan, inOrder)), ClassReader.SKIP_FRAMES);
    return inOrder.stream().map(site -> site == null ? "" : site.whyNone).collect(Collectors.joining("\n"));
  }

  private static byte[] readable(byte[] file) {
    if (majorVersion(file) <= NEWEST_READABLE) {
      return file;
    }
    byte[] older = file.clone();
    setMajorVersion(older, NEWEST_READABLE);
    return older;
  }

  private static int majorVersion(byte[] file) {
    return (file[MAJOR_VERSION_AT] & 0xff) << 8 | file[MAJOR_VERSION_AT + 1] & 0xff;
  }

  private static void setMajorVersion(byte[] file, int version) {
    file[MAJOR_VERSION_AT] = (byte) (version >> 8);
    file[MAJOR_VERSION_AT + 1] = (byte) version;
  }

  /** `inOrder`: a member a line; null if it has no inner site. */
  private static Map<String, MethodPlan> parse(String text, List<InnerSite> inOrder) {
    Map<String, MethodPlan> plans = new HashMap<>();
    for (String line : text.split("\n")) {
      String[] parts = line.split(" ");
      MethodPlan plan = plans.computeIfAbsent(parts[0] + parts[1], key -> new MethodPlan(Integer.parseInt(parts[2])));
      int id = Integer.parseInt(parts[3]);
      inOrder.add(parts.length > 6 ? new InnerSite(id, parts[5], parts[6]) : null);
      if (parts.length > 6) {
        plan.inner.add(inOrder.get(inOrder.size() - 1));
      } else {
        plan.sites.add(new Site(id, parts[5], Integer.parseInt(parts[4])));
      }
    }
    return plans;
  }

  /** A native method of the agent. */
  enum Hook {
    TICKS("ticks", "()J"),
    ENTER("enter", "(I)V"),
    ENTER_WITH("enterWith", "(" + WovenArguments.PUSHED + "I)V"),
    LEAVE_WITH("leaveWith", "(JDLjava/lang/Object;Ljava/lang/Throwable;" + WovenArguments.PUSHED + "IJ)V"),
    LEAVE("leave", "(IJ)V"),
    LEAVE_INT("leaveInt", "(JIJ)V"),
    LEAVE_FLOAT("leaveFloat", "(DIJ)V"),
    LEAVE_TEXT("leaveText", "(Ljava/lang/Object;IJ)V"),
    FAIL("fail", "(Ljava/lang/Throwable;IJ)V"),
    /** Two numbers, a String, the line and the site, as OnInside (java_hits.cc) has them for each kind of place. */
    INSIDE("inside", "(JJLjava/lang/Object;II)V");

    final String method;
    final String descriptor;

    Hook(String method, String descriptor) {
      this.method = method;
      this.descriptor = descriptor;
    }
  }

  static final class Site {
    final int id;
    final String kinds;
    final int values;

    Site(int id, String kinds, int values) {
      this.id = id;
      this.kinds = kinds;
      this.values = values;
    }

    boolean has(char kind) {
      return kinds.indexOf(kind) >= 0;
    }
  }

  /** A MONITORENTER. */
  static final class Lock {
    final int slot; // the local variable
    final Label start = new Label(); // of code that InnerPlaces adds behind it
    final Label end = new Label();
    int tryBlock = -1; // that gives the lock back: its index

    Lock(int slot) {
      this.slot = slot;
    }
  }

  static final class MethodPlan {
    final int codeBytes;
    final List<Site> sites = new ArrayList<>();
    final List<InnerSite> inner = new ArrayList<>();
    final List<Lock> locks = new ArrayList<>(); // if there are inner sites
    int locals; // that the method has without the plan
    boolean reusesThis; // its first local variable becomes something else

    MethodPlan(int codeBytes) {
      this.codeBytes = codeBytes;
    }

    void noteStore(int opcode, int variable) {
      reusesThis |= opcode >= Opcodes.ISTORE && opcode <= Opcodes.ASTORE && variable == 0;
    }

    /** The values of the sites that have any of these letters. */
    int valuesOf(String kinds) {
      int values = 0;
      for (Site site : sites) {
        values |= kinds.chars().anyMatch(kind -> site.has((char) kind)) ? site.values : 0;
      }
      return values;
    }

    boolean hasAny(String kinds) {
      return sites.stream().anyMatch(site -> kinds.chars().anyMatch(kind -> site.has((char) kind)));
    }
  }

  private static final class LocalsReader extends ClassVisitor {
    private final Map<String, MethodPlan> plans;

    LocalsReader(Map<String, MethodPlan> plans) {
      super(Opcodes.ASM9);
      this.plans = plans;
    }

    @Override
    public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] thrown) {
      MethodPlan plan = plans.get(name + descriptor);
      if (plan == null) {
        return null;
      }
      if (!plan.inner.isEmpty()) {
        return new PlaceFinder(plan, access);
      }
      return new MethodVisitor(Opcodes.ASM9) {
        @Override
        public void visitVarInsn(int opcode, int variable) {
          plan.noteStore(opcode, variable);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
          plan.locals = locals;
        }
      };
    }
  }
}
