# The parts of Android that exist on Debian: a JDK in place of ART, and AOSP's native Looper. Tests and a benchmark of
# the Android binding use them; without them these are left out.
#   LAGWATCH_HAS_LOOPER        libutils is there: LAGWATCH_LOOPER_INCLUDES, LAGWATCH_LOOPER_LIBRARY
#   LAGWATCH_HAS_ANDROID_HOST  a JDK, too: LAGWATCH_JAVAC, LAGWATCH_JAVA, LAGWATCH_JNI_INCLUDES
set(LAGWATCH_HAS_LOOPER OFF)
set(LAGWATCH_HAS_ANDROID_HOST OFF)
if(NOT LAGWATCH_DEVELOPER_MODE OR NOT LAGWATCH_BUILD_TESTS OR LAGWATCH_CAPTURE_ONLY OR LAGWATCH_BUILD_FUZZERS OR
   LAGWATCH_SANITIZE)
  return()  # a JVM under a sanitizer reports its own errors
endif()

find_path(LAGWATCH_LOOPER_INCLUDES utils/Looper.h PATHS /usr/include/android NO_DEFAULT_PATH)
find_library(LAGWATCH_LOOPER_LIBRARY utils PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/android NO_DEFAULT_PATH)
find_program(LAGWATCH_JAVAC javac)
if(LAGWATCH_JAVAC)
  get_filename_component(java_home ${LAGWATCH_JAVAC} REALPATH)
  get_filename_component(java_home ${java_home}/../.. ABSOLUTE)
  find_path(LAGWATCH_JNI_INCLUDE jni.h PATHS ${java_home}/include NO_DEFAULT_PATH)
  set(LAGWATCH_JNI_INCLUDES ${LAGWATCH_JNI_INCLUDE} ${LAGWATCH_JNI_INCLUDE}/linux)
  find_program(LAGWATCH_JAVA java PATHS ${java_home}/bin NO_DEFAULT_PATH)
endif()

if(LAGWATCH_LOOPER_INCLUDES AND LAGWATCH_LOOPER_LIBRARY)
  set(LAGWATCH_HAS_LOOPER ON)
else()
  message(STATUS "The tests of Android's Looper are left out: there is no android-libutils-dev")
endif()
if(LAGWATCH_HAS_LOOPER AND LAGWATCH_JNI_INCLUDE AND LAGWATCH_JAVA)
  set(LAGWATCH_HAS_ANDROID_HOST ON)
else()
  message(STATUS "The tests of the Android binding are left out: they need android-libutils-dev and a JDK")
endif()
