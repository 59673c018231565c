# SPDX-License-Identifier: Apache-2.0
# find_package and pkg-config files. Nothing in them depends on the machine's architecture or on the prefix. The command
# is a component of its own, cairn_tool; all else is cairn_dev.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CAIRN_CONFIG_DIR ${CMAKE_INSTALL_DATADIR}/cmake/cairn)

install(TARGETS cairn EXPORT cairn FILE_SET HEADERS COMPONENT cairn_dev FILE_SET impl COMPONENT cairn_dev)
install(EXPORT cairn NAMESPACE cairn:: FILE cairnTargets.cmake DESTINATION ${CAIRN_CONFIG_DIR} COMPONENT cairn_dev)
configure_package_config_file(cmake/cairnConfig.cmake.in cairnConfig.cmake INSTALL_DESTINATION ${CAIRN_CONFIG_DIR}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
install(FILES cmake/CairnCompiled.cmake DESTINATION ${CAIRN_CONFIG_DIR} COMPONENT cairn_dev RENAME cairn-compiled.cmake)
install(FILES cmake/CairnC.cmake DESTINATION ${CAIRN_CONFIG_DIR} COMPONENT cairn_dev RENAME cairn-c.cmake)
install(FILES cmake/CairnC.cmake DESTINATION ${CAIRN_CONFIG_DIR} COMPONENT cairn_dev RENAME cairn-fortran.cmake)
write_basic_package_version_file(cairnConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(cmake/cairn.pc.in cairn.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/cairnConfig.cmake" "${PROJECT_BINARY_DIR}/cairnConfigVersion.cmake"
  DESTINATION ${CAIRN_CONFIG_DIR} COMPONENT cairn_dev)
install(FILES "${PROJECT_BINARY_DIR}/cairn.pc" DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT cairn_dev)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT cairn_dev)
