# Records, before the first installation into a prefix, the prefix and what is directly in it, for Uninstall.cmake. Part of
# `cmake --install`.
#   RECORD  the file; its lines are the prefix, and the names
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
set(recorded)
if(EXISTS ${RECORD})
  file(STRINGS ${RECORD} recorded LIMIT_COUNT 1)
endif()
if(NOT recorded STREQUAL prefix)  # otherwise what is there may be of the installation before
  file(GLOB names LIST_DIRECTORIES true RELATIVE "${prefix}" "${prefix}/*")
  if(IS_DIRECTORY "${prefix}")
    list(PREPEND names .)
  endif()
  list(JOIN names "\n" lines)
  file(WRITE ${RECORD} "${prefix}\n${lines}\n")
endif()
