# SPDX-License-Identifier: Apache-2.0
# What CPack does otherwise for one kind of package than for others.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # the description of each package begins with its own
else()
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
