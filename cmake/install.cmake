# The package: library, headers, command line, and tandemConfig.cmake for find_package(tandem).
include(CMakePackageConfigHelpers)
set(TANDEM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)

install(TARGETS tandem EXPORT tandemTargets)
install(TARGETS tandem_cli)
install(DIRECTORY tandem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h"
        PATTERN "backend" EXCLUDE PATTERN "cli" EXCLUDE PATTERN "python" EXCLUDE)

install(DIRECTORY machines DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem)

install(EXPORT tandemTargets NAMESPACE tandem:: DESTINATION ${TANDEM_PACKAGE_DIR})
configure_package_config_file(cmake/tandemConfig.cmake.in tandemConfig.cmake INSTALL_DESTINATION ${TANDEM_PACKAGE_DIR})
write_basic_package_version_file(tandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tandemConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tandemConfigVersion.cmake
        DESTINATION ${TANDEM_PACKAGE_DIR})
