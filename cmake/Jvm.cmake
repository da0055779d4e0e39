# A JDK, for the JVM agent (sdk/jvm) and its tests. Without one they are left out.
#   LAGWATCH_HAS_JVM  there is one: LAGWATCH_JVM_INCLUDES, LAGWATCH_JAVAC, LAGWATCH_JAVA
set(LAGWATCH_HAS_JVM OFF)
if(LAGWATCH_CAPTURE_ONLY OR LAGWATCH_BUILD_FUZZERS OR LAGWATCH_SANITIZE)
  return()  # a JVM under a sanitizer reports its own errors
endif()
find_program(LAGWATCH_JAVAC javac)
if(LAGWATCH_JAVAC)
  get_filename_component(java_home ${LAGWATCH_JAVAC} REALPATH)
  get_filename_component(java_home ${java_home}/../.. ABSOLUTE)
  find_path(LAGWATCH_JVMTI_INCLUDE jvmti.h PATHS ${java_home}/include NO_DEFAULT_PATH)
  find_program(LAGWATCH_JAVA java PATHS ${java_home}/bin NO_DEFAULT_PATH)
endif()
if(LAGWATCH_JVMTI_INCLUDE AND LAGWATCH_JAVA)
  set(LAGWATCH_HAS_JVM ON)
  set(LAGWATCH_JVM_INCLUDES ${LAGWATCH_JVMTI_INCLUDE} ${LAGWATCH_JVMTI_INCLUDE}/linux)
else()
  message(STATUS "The JVM agent is left out: there is no JDK")
endif()
