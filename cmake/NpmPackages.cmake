# lagwatch_npm_packages(TARGET)
#
# Installs what the calling folder's package-lock.json names into its node_modules, as part of every build.
find_program(NPM npm)
find_program(NODE node)

function(lagwatch_npm_packages TARGET)
  set(installed ${CMAKE_CURRENT_SOURCE_DIR}/node_modules/.package-lock.json)
  add_custom_command(OUTPUT ${installed}
    COMMAND ${NPM} ci --no-audit --no-fund --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${installed}
    DEPENDS package-lock.json
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "Installing npm packages for ${TARGET}" VERBATIM)
  add_custom_target(${TARGET} ALL DEPENDS ${installed})
endfunction()
