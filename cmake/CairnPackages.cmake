# SPDX-License-Identifier: Apache-2.0
# Packages: `cpack -G TGZ` and `cpack -G DEB` in the build folder, or `cmake --workflow --preset release`. One holds the
# headers and is the same on every machine; the command, where it is built, is another.
set(CAIRN_MAINTAINER "The cairn authors <cairn@cairn.invalid>" CACHE STRING "Who makes the packages: Name <address>")
mark_as_advanced(CAIRN_MAINTAINER)

set(CPACK_PACKAGE_NAME cairn)
set(CPACK_PACKAGE_VENDOR "The cairn authors")
set(CPACK_PACKAGE_CONTACT "${CAIRN_MAINTAINER}")
set(CPACK_PACKAGE_FILE_NAME "cairn-${PROJECT_VERSION}")
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/packaging/cpack.cmake")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_GENERATOR TGZ)
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_IGNORE_FILES "/build/;/\\\\.git/;/__pycache__/")

set(CPACK_COMPONENTS_ALL cairn_dev)
if(TARGET cairn_tool)
  list(APPEND CPACK_COMPONENTS_ALL cairn_tool)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENT_CAIRN_DEV_DESCRIPTION "C++20 headers for differentiating long loops in bounded memory
cairn differentiates a long loop in reverse within a memory budget: it keeps a
few states (checkpoints) and runs the other steps again in a cheapest order.
This package has its headers, with the files for CMake and pkg-config.")
set(CPACK_COMPONENT_CAIRN_TOOL_DESCRIPTION "planner of checkpoints for differentiating long loops
The command cairn chooses, explains and draws plans of checkpoints for a loop,
for a chain of stages or for a graph of operations. It needs no program that
uses the library.")

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_CAIRN_DEV_FILE_NAME "cairn-${PROJECT_VERSION}")
set(CPACK_ARCHIVE_CAIRN_TOOL_FILE_NAME "cairn-tools-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_CAIRN_DEV_PACKAGE_NAME libcairn-dev)
set(CPACK_DEBIAN_CAIRN_DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_CAIRN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_CAIRN_DEV_PACKAGE_SUGGESTS "libeigen3-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_DEBIAN_CAIRN_TOOL_PACKAGE_NAME cairn-tools)
set(CPACK_DEBIAN_CAIRN_TOOL_PACKAGE_SECTION math)
set(CPACK_DEBIAN_CAIRN_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/debian/files.cmake")

include(CPack)
