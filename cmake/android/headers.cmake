# Compiles for Android with the public headers of bionic and zig's clang and libc++, where there is no NDK; scripts/android
# --headers installs it. Objects are made, and no more: a shared library is an archive of its objects.
#   LAGWATCH_ANDROID_PROCESSOR   aarch64 or x86_64
#   LAGWATCH_ANDROID_API         the lowest API level that it is for
#   LAGWATCH_BIONIC              folder of bionic's sources, with libc/include and libc/kernel
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LAGWATCH_ANDROID_PROCESSOR LAGWATCH_ANDROID_API LAGWATCH_BIONIC)
set(zig_folder ${CMAKE_CURRENT_LIST_DIR}/../../build/zig)
get_filename_component(zig_library ${zig_folder}/zig REALPATH)
get_filename_component(zig_library ${zig_library} DIRECTORY)
set(zig_library ${zig_library}/lib)
set(kernel ${LAGWATCH_BIONIC}/libc/kernel)
set(kernel_processor arm64)
if(LAGWATCH_ANDROID_PROCESSOR STREQUAL x86_64)
  set(kernel_processor x86)
endif()

set(CMAKE_SYSTEM_NAME Android)
set(CMAKE_SYSTEM_VERSION 1)  # CMake looks for no NDK
set(CMAKE_SYSTEM_PROCESSOR ${LAGWATCH_ANDROID_PROCESSOR})
set(target --target=${LAGWATCH_ANDROID_PROCESSOR}-linux-android${LAGWATCH_ANDROID_API})
set(CMAKE_C_COMPILER ${zig_folder}/zig clang ${target})
set(CMAKE_CXX_COMPILER ${zig_folder}/zig clang ${target})
set(CMAKE_C_COMPILER_WORKS ON)
set(CMAKE_CXX_COMPILER_WORKS ON)
find_program(CMAKE_AR llvm-ar REQUIRED)
find_program(CMAKE_RANLIB llvm-ranlib REQUIRED)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

string(JOIN " " system_flags -nostdinc -isystem ${zig_library}/include -isystem ${LAGWATCH_BIONIC}/libc/include
  -isystem ${kernel}/uapi/asm-${kernel_processor} -isystem ${kernel}/uapi -isystem ${kernel}/android/uapi)
set(CMAKE_C_FLAGS_INIT "-D_GNU_SOURCE ${system_flags}")
string(JOIN " " CMAKE_CXX_FLAGS_INIT -D_GNU_SOURCE -nostdinc++ -D_LIBCPP_ABI_VERSION=1 -D_LIBCPP_ABI_NAMESPACE=__1
  -D_LIBCPP_HAS_NO_VENDOR_AVAILABILITY_ANNOTATIONS -D_LIBCPP_PSTL_CPU_BACKEND_THREAD
  -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE
  -isystem ${zig_library}/libcxx/include -isystem ${zig_library}/libcxxabi/include ${system_flags})

foreach(language C CXX)
  set(CMAKE_${language}_CREATE_SHARED_LIBRARY "<CMAKE_AR> qc <TARGET> <OBJECTS>")
endforeach()

# The headers of libraries, the host's, and empty archives in place of the libraries.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../../build/android-libraries)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
