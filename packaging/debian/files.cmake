# SPDX-License-Identifier: Apache-2.0
# What Debian asks of a package beside the files that are installed: its copyright, its changelog, a page of the manual
# for each command. CPack runs this before it makes packages, of any kind.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
find_program(gzip gzip REQUIRED)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  set(share "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share")
  file(REMOVE_RECURSE "${share}/doc/cairn")  # the licence, which Debian has once for all packages
  configure_file("${CMAKE_CURRENT_LIST_DIR}/copyright.in" "${share}/doc/${package}/copyright" @ONLY)
  file(WRITE "${share}/doc/${package}/changelog.Debian" "\
cairn (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}; what is new stands in its CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
  set(compressed "${share}/doc/${package}/changelog.Debian")
  if(component STREQUAL "cairn_tool")
    file(COPY "${CMAKE_CURRENT_LIST_DIR}/cairn.1" DESTINATION "${share}/man/man1")
    list(APPEND compressed "${share}/man/man1/cairn.1")
  endif()
  execute_process(COMMAND "${gzip}" -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE files "${share}/doc/*" "${share}/man/*")
  file(CHMOD ${files} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(GLOB_RECURSE folders LIST_DIRECTORIES ON "${share}/*")
  foreach(folder IN LISTS folders)
    if(IS_DIRECTORY "${folder}")
      file(CHMOD "${folder}" DIRECTORY_PERMISSIONS ${CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
    endif()
  endforeach()
endforeach()
