# Rules of `cmake --install`, the files by which find_package(lagwatch) and pkg-config find the library, and the target
# `uninstall`.
include(CMakePackageConfigHelpers)

if(PROJECT_IS_TOP_LEVEL)
  # Before all other rules: the record of what the prefix had.
  install(CODE "set(RECORD \"${PROJECT_BINARY_DIR}/install_prefix.txt\")")
  install(SCRIPT cmake/RecordPrefix.cmake)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake VERBATIM)
endif()
if(LAGWATCH_STRIP)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
endif()

install(TARGETS lagwatch EXPORT lagwatch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET lagwatch_static)
  install(TARGETS lagwatch_static EXPORT lagwatch ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET lagwatch_preload)
  install(TARGETS lagwatch_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lagwatch)
endif()
if(LAGWATCH_HAS_JVM)
  install(TARGETS lagwatch_jvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lagwatch)
  install(FILES ${LAGWATCH_JVM_LIBRARY} DESTINATION ${CMAKE_INSTALL_DATADIR}/lagwatch)
endif()
install(DIRECTORY sdk/include/lagwatch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY sdk/adapters DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lagwatch FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT lagwatch NAMESPACE lagwatch:: FILE lagwatchTargets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lagwatch)

# lagwatch_install_unit(NAME): a service of systemd, with the prefix's paths. Systemd looks for units in lib/, also where
# libraries are in a folder for the processor.
function(lagwatch_install_unit NAME)
  install(CODE "
    cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE prefix)
    cmake_path(APPEND prefix \"${CMAKE_INSTALL_BINDIR}\" OUTPUT_VARIABLE BINDIR)
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/${NAME}.service.in\" \"${PROJECT_BINARY_DIR}/${NAME}.service\" @ONLY)
    file(INSTALL \"${PROJECT_BINARY_DIR}/${NAME}.service\" DESTINATION \"\${prefix}/lib/systemd/system\")")
endfunction()

if(LAGWATCH_BUILD_COMMANDS)
  install(TARGETS lagwatch-cli RUNTIME)
  install(TARGETS lagwatch-commands RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/lagwatch)
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/lagwatchd DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${LAGWATCH_MANUAL_DIRECTORY}/ DESTINATION ${CMAKE_INSTALL_MANDIR})
  foreach(program lagwatch lagwatchd lagwatch-collector)
    install(FILES packaging/completions/lagwatch.bash RENAME ${program}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES packaging/completions/lagwatch.fish RENAME ${program}.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endforeach()
  install(FILES packaging/completions/_lagwatch DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(DIRECTORY packaging/desktop/gnome-shell/ DESTINATION ${CMAKE_INSTALL_DATADIR}/gnome-shell/extensions)
  install(DIRECTORY packaging/desktop/kwin/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kwin/scripts)
  lagwatch_install_unit(lagwatchd)
endif()
if(LAGWATCH_BUILD_COLLECTOR)
  if(LAGWATCH_PORTABLE)
    install(TARGETS lagwatch-collector RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/lagwatch)
  else()
    install(TARGETS lagwatch-collector RUNTIME)
  endif()
  lagwatch_install_unit(lagwatch-collector)
  install(FILES packaging/lagwatch-collector.sysusers DESTINATION lib/sysusers.d RENAME lagwatch-collector.conf)
  install(FILES packaging/lagwatch-collector.tmpfiles DESTINATION lib/tmpfiles.d RENAME lagwatch-collector.conf)
  install(FILES packaging/collector.toml DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

configure_package_config_file(cmake/lagwatchConfig.cmake.in lagwatchConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lagwatch)
write_basic_package_version_file(lagwatchConfigVersion.cmake COMPATIBILITY SameMajorVersion)
# Relative, so that an installed tree can be moved.
file(RELATIVE_PATH LAGWATCH_PKGCONFIG_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/lagwatch.pc.in lagwatch.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lagwatchConfig.cmake ${PROJECT_BINARY_DIR}/lagwatchConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lagwatch)
install(FILES ${PROJECT_BINARY_DIR}/lagwatch.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
