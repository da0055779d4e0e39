# The table of tests: which programs a test needs, and the folders of what it is made of. By it, `scripts/test --parts`
# builds and runs the tests of some parts only (tools/affected.py).

# lagwatch_test_row(NAME PROGRAMS target… [USES target…] [SRCS file…])
#
# A row for the ctests `NAME` and `NAME.…`.
#   PROGRAMS  what must be built to run them
#   USES      targets that they link or start, besides; SRCS their sources, relative to the calling folder
function(lagwatch_test_row NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "PROGRAMS;USES;SRCS")
  set(folders ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(source IN LISTS ARG_SRCS)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND folders ${folder})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY LAGWATCH_TEST_TABLE ${NAME})
  set_property(GLOBAL PROPERTY LAGWATCH_TEST_TABLE_${NAME}_PROGRAMS ${ARG_PROGRAMS})
  set_property(GLOBAL PROPERTY LAGWATCH_TEST_TABLE_${NAME}_USES ${ARG_USES})
  set_property(GLOBAL PROPERTY LAGWATCH_TEST_TABLE_${NAME}_FOLDERS ${folders})
endfunction()

# Writes test_table.txt, with a line "NAME PROGRAM,… FOLDER,…" for each row. To be called once all targets are known.
function(lagwatch_write_test_table)
  get_property(names GLOBAL PROPERTY LAGWATCH_TEST_TABLE)
  set(table "")
  foreach(name IN LISTS names)
    get_property(programs GLOBAL PROPERTY LAGWATCH_TEST_TABLE_${name}_PROGRAMS)
    get_property(uses GLOBAL PROPERTY LAGWATCH_TEST_TABLE_${name}_USES)
    get_property(folders GLOBAL PROPERTY LAGWATCH_TEST_TABLE_${name}_FOLDERS)
    foreach(target IN LISTS uses)
      if(TARGET ${target})
        get_target_property(is_imported ${target} IMPORTED)
        get_target_property(folder ${target} SOURCE_DIR)
        if(NOT is_imported)
          list(APPEND folders ${folder})
        endif()
      endif()
    endforeach()
    list(REMOVE_DUPLICATES folders)
    list(FILTER folders EXCLUDE REGEX "^${PROJECT_BINARY_DIR}")
    list(TRANSFORM folders REPLACE "^${PROJECT_SOURCE_DIR}/" "")
    list(JOIN programs "," programs)
    list(JOIN folders "," folders)
    string(APPEND table "${name} ${programs} ${folders}\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/test_table.txt "${table}")
endfunction()
