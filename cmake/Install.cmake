# Rules of `cmake --install`, and the files by which find_package(lagwatch) and pkg-config find the library.
include(CMakePackageConfigHelpers)

if(LAGWATCH_STRIP)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
endif()

install(TARGETS lagwatch EXPORT lagwatch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET lagwatch_preload)
  install(TARGETS lagwatch_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lagwatch)
endif()
if(LAGWATCH_HAS_JVM)
  install(TARGETS lagwatch_jvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lagwatch)
endif()
install(DIRECTORY sdk/include/lagwatch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT lagwatch NAMESPACE lagwatch:: FILE lagwatchTargets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lagwatch)

if(LAGWATCH_BUILD_COMMANDS)
  install(TARGETS lagwatch-cli RUNTIME)
  install(TARGETS lagwatch-commands RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/lagwatch)
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/lagwatchd DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY packaging/desktop/gnome-shell/ DESTINATION ${CMAKE_INSTALL_DATADIR}/gnome-shell/extensions)
  install(DIRECTORY packaging/desktop/kwin/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kwin/scripts)
endif()
if(LAGWATCH_BUILD_COLLECTOR)
  install(TARGETS lagwatch-collector RUNTIME)
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
