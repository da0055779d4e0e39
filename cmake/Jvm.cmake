# A JDK, for the JVM agent (sdk/jvm), its tests and those of the reader of Java frames. Without one they are left out.
#   LAGWATCH_HAS_JDK  there is one: LAGWATCH_JVM_INCLUDES, LAGWATCH_JAVAC, LAGWATCH_JAVA
#   LAGWATCH_HAS_JVM  the agent is built
set(LAGWATCH_HAS_JDK OFF)
set(LAGWATCH_HAS_JVM OFF)
if(NOT PROJECT_IS_TOP_LEVEL OR LAGWATCH_CAPTURE_ONLY OR LAGWATCH_BUILD_FUZZERS OR CMAKE_CROSSCOMPILING)
  return()
endif()
find_program(LAGWATCH_JAVAC javac)
if(LAGWATCH_JAVAC)
  get_filename_component(java_home ${LAGWATCH_JAVAC} REALPATH)
  get_filename_component(java_home ${java_home}/../.. ABSOLUTE)
  find_path(LAGWATCH_JVMTI_INCLUDE jvmti.h PATHS ${java_home}/include NO_DEFAULT_PATH)
  find_program(LAGWATCH_JAVA java PATHS ${java_home}/bin NO_DEFAULT_PATH)
endif()
if(NOT (LAGWATCH_JVMTI_INCLUDE AND LAGWATCH_JAVA))
  message(STATUS "The JVM agent is left out: there is no JDK")
  return()
endif()
set(LAGWATCH_HAS_JDK ON)
set(LAGWATCH_JVM_INCLUDES ${LAGWATCH_JVMTI_INCLUDE} ${LAGWATCH_JVMTI_INCLUDE}/linux)
if(NOT LAGWATCH_SANITIZE)
  set(LAGWATCH_HAS_JVM ON)  # a JVM under a sanitizer reports its own errors
endif()
