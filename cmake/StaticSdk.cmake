# liblagwatch.a, for programs that take no other file along: one object that has all that liblagwatch.so has, its C++
# runtime, too, so a program in C links it with the C library alone. Only the names of lagwatch.map stay global.

# lagwatch_static_parts(VARIABLE TARGET…): appends the archives of these targets, and of all targets that they link.
function(lagwatch_static_parts VARIABLE)
  set(parts ${${VARIABLE}})
  set(waiting ${ARGN})
  set(seen)
  while(waiting)
    list(POP_FRONT waiting item)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(item IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${item})
    if(item MATCHES "\\.a$")
      list(APPEND parts ${item})
    elseif(TARGET ${item})
      get_target_property(type ${item} TYPE)
      get_target_property(is_imported ${item} IMPORTED)
      if(is_imported)
        continue()  # its functions are loaded late
      elseif(type STREQUAL STATIC_LIBRARY)
        list(APPEND parts $<TARGET_FILE:${item}>)
      elseif(type STREQUAL OBJECT_LIBRARY)
        list(APPEND parts $<TARGET_OBJECTS:${item}>)
      endif()
      foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
        get_target_property(linked ${item} ${property})
        if(linked)
          list(APPEND waiting ${linked})
        endif()
      endforeach()
    endif()
  endwhile()
  set(${VARIABLE} ${parts} PARENT_SCOPE)
endfunction()

# lagwatch_runtime_archives(VARIABLE): the compiler's own archives.
function(lagwatch_runtime_archives VARIABLE)
  set(archives)
  foreach(name libstdc++.a libgcc_eh.a libgcc.a)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name}
                    OUTPUT_VARIABLE archive OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND archives ${archive})
  endforeach()
  set(${VARIABLE} ${archives} PARENT_SCOPE)
endfunction()

set(parts $<TARGET_OBJECTS:lagwatch>)
lagwatch_static_parts(parts lagwatch)
lagwatch_runtime_archives(runtime)
set(object ${CMAKE_CURRENT_BINARY_DIR}/lagwatch.o)
# The hooks of -finstrument-functions are weak, since a program may define them itself.
add_custom_command(OUTPUT ${object}
  COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,--force-group-allocation -o ${object}.all
          -Wl,--start-group ${parts} ${runtime} -Wl,--end-group
  # Unique names can be made local only once they are weak.
  COMMAND ${CMAKE_OBJCOPY} --wildcard --weaken-symbol=_Z* --weaken-symbol=__cyg_profile_func_* ${object}.all
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=lw_* --keep-global-symbol=__cyg_profile_func_*
          $<$<BOOL:${LAGWATCH_STRIP}>:--strip-unneeded> ${object}.all ${object}
  COMMAND ${CMAKE_COMMAND} -E rm ${object}.all
  DEPENDS ${parts} COMMAND_EXPAND_LISTS VERBATIM
  COMMENT "Linking liblagwatch.a's object")
add_library(lagwatch_static STATIC ${object})
add_library(lagwatch::lagwatch_static ALIAS lagwatch_static)
set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
set_target_properties(lagwatch_static PROPERTIES OUTPUT_NAME lagwatch LINKER_LANGUAGE C)
target_include_directories(lagwatch_static
  PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(lagwatch_static INTERFACE -pthread ${CMAKE_DL_LIBS})
