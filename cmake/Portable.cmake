# The parts of a relocatable archive (scripts/tarball), which runs with glibc 2.31 and later:
#   - libraries that come into other programs are linked against the names that glibc 2.31 has (cmake/glibc), as
#     lagwatch_use_old_glibc() says;
#   - `lagwatch` is static, and starts the commands and the collector with the loader and the libraries that lie beside
#     them (base/process/own_command.h).
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  message(FATAL_ERROR "LAGWATCH_PORTABLE is for x86_64")
endif()

set(old_glibc ${PROJECT_BINARY_DIR}/old_glibc)
set(old_glibc_libraries)
foreach(library libc.so.6 libpthread.so.0 libdl.so.2 ld-linux-x86-64.so.2)
  set(map ${PROJECT_SOURCE_DIR}/cmake/glibc/${library}.map)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${map})
  file(READ ${map} names)
  string(REGEX MATCHALL "[a-zA-Z0-9_]+;" names "${names}")
  list(REMOVE_ITEM names "")
  list(TRANSFORM names REPLACE "(.+)" ".globl \\1\n.type \\1,@function\n\\1:")
  list(JOIN names "\n" names)
  file(CONFIGURE OUTPUT ${old_glibc}/${library}.s CONTENT "${names}\n" @ONLY)
  add_custom_command(OUTPUT ${old_glibc}/${library}
    COMMAND ${CMAKE_C_COMPILER} -shared -nostdlib -Wl,-soname=${library} -Wl,--version-script=${map}
            ${old_glibc}/${library}.s -o ${old_glibc}/${library}
    DEPENDS ${old_glibc}/${library}.s ${map} VERBATIM)
  list(APPEND old_glibc_libraries ${old_glibc}/${library})
endforeach()
# The linker takes it for the C library. Functions that were libpthread's until 2.34 are that's here, too.
file(CONFIGURE OUTPUT ${old_glibc}/libc.so CONTENT "GROUP(AS_NEEDED(${old_glibc}/libpthread.so.0 ${old_glibc}/libdl.so.2) \
${old_glibc}/libc.so.6 libc_nonshared.a AS_NEEDED(${old_glibc}/ld-linux-x86-64.so.2))\n" @ONLY)
add_custom_target(lagwatch_old_glibc DEPENDS ${old_glibc_libraries})

# lagwatch_use_old_glibc(TARGET file…): links it against the C library of 2.31, and with what that lacks. The files, in
# sdk/preload, are those of the preloaded library that others need for that.
function(lagwatch_use_old_glibc TARGET)
  add_dependencies(${TARGET} lagwatch_old_glibc)
  target_link_options(${TARGET} PRIVATE -L${PROJECT_BINARY_DIR}/old_glibc)
  foreach(file glibc_compat_2_31.cc ${ARGN})
    target_sources(${TARGET} PRIVATE ${PROJECT_SOURCE_DIR}/sdk/preload/${file})
  endforeach()
endfunction()
