# lagwatch_library(NAME SRCS file… [DEPS target…] [PRIVATE_DEPS target…] [CAPTURE])
#
# One module as a static, position-independent library `lagwatch_NAME` with the alias `lagwatch::NAME`.
# Its sources are named from the repository's root ("base/status.h"), which is every module's include directory.
#   SRCS          sources, relative to the calling folder
#   DEPS          targets that its headers include; PRIVATE_DEPS targets that only its sources include
#   CAPTURE       the module runs in signal, hot or watchdog context: it throws nothing, and has no RTTI. Exceptions of the
#                 C++ library (out of memory) release locks and memory on their way through
function(lagwatch_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "CAPTURE" "" "SRCS;DEPS;PRIVATE_DEPS")
  set(target lagwatch_${NAME})
  add_library(${target} STATIC ${ARG_SRCS})
  add_library(lagwatch::${NAME} ALIAS ${target})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  lagwatch_compile_options(${target})
  if(ARG_CAPTURE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  endif()
endfunction()

# The warnings that all of lagwatch's own code is built with.
function(lagwatch_compile_options TARGET)
  separate_arguments(warnings UNIX_COMMAND "${LAGWATCH_WARNINGS}")
  target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${warnings}>)
endfunction()
