# Of code that runs at hits of probes, amid the program's own: optimized also in debug builds, calling no memcpy or memset, on
# which there may be a probe, and without the vector registers, which hold the program's values. Sanitizers' runtimes use those:
# with them hits keep all registers.
set(LAGWATCH_HIT_OPTIONS -O2
  "$<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>$<$<CXX_COMPILER_ID:Clang>:-fno-builtin>")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND NOT LAGWATCH_SANITIZE)
  list(APPEND LAGWATCH_HIT_OPTIONS "$<IF:$<CXX_COMPILER_ID:Clang>,-mno-implicit-float,-mgeneral-regs-only>"
    "$<$<CXX_COMPILER_ID:GNU>:-mmemset-strategy=unrolled_loop:-1:noalign>"
    "$<$<CXX_COMPILER_ID:GNU>:-mmemcpy-strategy=unrolled_loop:-1:noalign>")
endif()

# lagwatch_library(NAME SRCS file… [LINUX_SRCS file…] [ANDROID_SRCS file…] [DARWIN_SRCS file…] [DEPS target…] [PRIVATE_DEPS target…] [CAPTURE])
#
# One module as a static, position-independent library `lagwatch_NAME` with the alias `lagwatch::NAME`.
# Its sources are named from the repository's root ("base/status.h"), which is every module's include directory.
#   SRCS          sources, relative to the calling folder
#   LINUX_SRCS, DARWIN_SRCS  sources for these systems only; so is each of SRCS whose name ends with _linux.cc
#   ANDROID_SRCS  sources for Android, which otherwise has Linux's: NAME_android.cc takes the place of NAME_linux.cc, or
#                 of NAME.cc if there is no such file
#   DEPS          targets that its headers include; PRIVATE_DEPS targets that only its sources include
#   CAPTURE       the module runs in signal, hot or watchdog context: it throws nothing, and has no RTTI. Exceptions of the
#                 C++ library (out of memory) release locks and memory on their way through
function(lagwatch_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "CAPTURE" "" "SRCS;LINUX_SRCS;ANDROID_SRCS;DARWIN_SRCS;DEPS;PRIVATE_DEPS")
  set(target lagwatch_${NAME})
  if(CMAKE_SYSTEM_NAME STREQUAL Darwin)
    list(FILTER ARG_SRCS EXCLUDE REGEX "_linux\\.cc$")
    list(APPEND ARG_SRCS ${ARG_DARWIN_SRCS})
    foreach(source IN LISTS LAGWATCH_LEFT_OUT_SOURCES)
      file(RELATIVE_PATH source ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${source})
      list(REMOVE_ITEM ARG_SRCS ${source})
    endforeach()
  else()
    list(APPEND ARG_SRCS ${ARG_LINUX_SRCS})
    lagwatch_android_sources(ARG_SRCS ${ARG_ANDROID_SRCS})
  endif()
  if(NOT ARG_SRCS)  # it has nothing for this system
    add_library(${target} INTERFACE)
    add_library(lagwatch::${NAME} ALIAS ${target})
    return()
  endif()
  add_library(${target} STATIC ${ARG_SRCS})
  add_library(lagwatch::${NAME} ALIAS ${target})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  lagwatch_compile_options(${target})
  if(ARG_CAPTURE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  endif()
endfunction()

# lagwatch_android_sources(LIST file…): puts the files, for Android, into the list in place of Linux's of the same names.
function(lagwatch_android_sources LIST)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL Android)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    string(REGEX REPLACE "^.*/|_android\\.cc$" "" name ${source})
    set(found ${${LIST}})
    list(FILTER found INCLUDE REGEX "(^|/)${name}_linux\\.cc$")
    if(NOT found)
      set(found ${${LIST}})
      list(FILTER found INCLUDE REGEX "(^|/)${name}\\.cc$")
    endif()
    list(REMOVE_ITEM ${LIST} ${found})
  endforeach()
  set(${LIST} ${${LIST}} ${ARGN} PARENT_SCOPE)
endfunction()

# The warnings that all of lagwatch's own code is built with.
function(lagwatch_compile_options TARGET)
  separate_arguments(warnings UNIX_COMMAND "${LAGWATCH_WARNINGS}")
  target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${warnings}>)
endfunction()
