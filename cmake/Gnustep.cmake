# SPDX-License-Identifier: Apache-2.0
# GNUstep, on which the binding of Apple's systems (sdk/apple) is built and tested: sets LAGWATCH_HAS_GNUSTEP, and makes
# the targets gnustep::base (Foundation) and gnustep::gui (AppKit). Needs clang, because gcc's Objective-C has no
# @autoreleasepool, and the headers of gcc's runtime.
#
# Sanitized builds leave it out: GNUstep's own start keeps memory that the address sanitizer reports as leaks, and its
# libraries are not built for the thread sanitizer.
set(LAGWATCH_HAS_GNUSTEP OFF)
if(LAGWATCH_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()
find_program(CLANG clang)
find_program(GNUSTEP_CONFIG gnustep-config)
file(GLOB gcc_runtime_headers /usr/lib/gcc/*/*/include/objc/runtime.h)
if(NOT (CLANG AND GNUSTEP_CONFIG AND gcc_runtime_headers))
  message(STATUS "The Apple binding is not built: clang, GNUstep or libobjc's headers are missing (scripts/bootstrap)")
  return()
endif()

# gnustep_flags(WHICH VARIABLE): what gnustep-config prints, as a list.
function(gnustep_flags WHICH VARIABLE)
  execute_process(COMMAND ${GNUSTEP_CONFIG} ${WHICH} OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(${VARIABLE} ${flags} PARENT_SCOPE)
endfunction()
gnustep_flags(--objc-flags gnustep_compile_flags)
# CMake tracks what a file includes, and sets optimization; the option for exceptions is for gcc.
list(FILTER gnustep_compile_flags EXCLUDE REGEX "^(-MMD|-MP|-fobjc-exceptions|-g|-O2|-Wall|-I\\.)$")
gnustep_flags(--base-libs gnustep_base_flags)
gnustep_flags(--gui-libs gnustep_gui_flags)
list(GET gcc_runtime_headers 0 gcc_headers)
cmake_path(GET gcc_headers PARENT_PATH gcc_headers)
cmake_path(GET gcc_headers PARENT_PATH gcc_headers)
list(TRANSFORM gnustep_compile_flags REPLACE "^-I" "-isystem")
list(APPEND gnustep_compile_flags -fobjc-runtime=gcc -isystem ${gcc_headers})

if(NOT CMAKE_OBJC_COMPILER)
  set(CMAKE_OBJC_COMPILER ${CLANG} CACHE FILEPATH "Objective-C compiler")
endif()
include(CheckLanguage)
check_language(OBJC)
if(NOT CMAKE_OBJC_COMPILER)
  message(STATUS "The Apple binding is not built: clang compiles no Objective-C")
  return()
endif()
enable_language(OBJC)
include(CMakePushCheckState)
include(CheckOBJCSourceCompiles)
cmake_push_check_state(RESET)
string(REPLACE ";" " " CMAKE_REQUIRED_FLAGS "${gnustep_compile_flags}")
set(CMAKE_REQUIRED_LIBRARIES ${gnustep_gui_flags})
check_objc_source_compiles("
  #import <AppKit/AppKit.h>
  int main(void) { @autoreleasepool { return [NSApplication sharedApplication] == nil; } }" LAGWATCH_GNUSTEP_COMPILES)
cmake_pop_check_state()
if(NOT LAGWATCH_GNUSTEP_COMPILES)
  message(STATUS "The Apple binding is not built: GNUstep's headers do not compile")
  return()
endif()
set(LAGWATCH_HAS_GNUSTEP ON)

foreach(part base gui)
  add_library(gnustep_${part} INTERFACE)
  add_library(gnustep::${part} ALIAS gnustep_${part})
  target_compile_options(gnustep_${part} INTERFACE $<$<COMPILE_LANGUAGE:OBJC>:${gnustep_compile_flags}>)
  target_link_options(gnustep_${part} INTERFACE -shared-libgcc)
  list(FILTER gnustep_${part}_flags INCLUDE REGEX "^-[lL]")
  target_link_libraries(gnustep_${part} INTERFACE ${gnustep_${part}_flags})
endforeach()
