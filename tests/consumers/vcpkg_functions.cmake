# SPDX-License-Identifier: Apache-2.0
# What a port calls of vcpkg, as its manual describes it and as far as a port of headers needs it. What they are given
# beyond that is refused. Reads GENERATOR, CXX and what check.cmake sets for the port.

# The named arguments and OPTIONS, as arg_NAME where it is called.
function(read_arguments names)
  cmake_parse_arguments(arg "" "${names}" "OPTIONS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "the port asks for ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(name IN ITEMS ${names} OPTIONS)
    set(arg_${name} "${arg_${name}}" PARENT_SCOPE)
  endforeach()
endfunction()

function(vcpkg_cmake_configure)
  read_arguments("SOURCE_PATH" ${ARGN})
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${CURRENT_BUILDTREES_DIR}" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${CXX}" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  read_arguments("" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${CURRENT_BUILDTREES_DIR}" --target install)
endfunction()

# Moves the files of find_package to share/PORT, and corrects the way from there to the prefix.
function(vcpkg_cmake_config_fixup)
  read_arguments("CONFIG_PATH;PACKAGE_NAME" ${ARGN})
  if(NOT arg_PACKAGE_NAME)
    set(arg_PACKAGE_NAME "${PORT}")
  endif()
  set(share "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
  file(COPY ${files} DESTINATION "${share}")
  cmake_path(GET arg_CONFIG_PATH PARENT_PATH parent)
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/${parent}")
  file(GLOB files "${share}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    set(up [[get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)]])
    string(REPLACE "${up}\n${up}\n${up}\n" "${up}\n${up}\n" text "${text}")
    set(from [["${CMAKE_CURRENT_LIST_DIR}/../../]])
    string(REPLACE "${from}../\" ABSOLUTE" "${from}\" ABSOLUTE" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

# The file says by itself where it lies.
function(vcpkg_fixup_pkgconfig)
  read_arguments("" ${ARGN})
  file(READ "${CURRENT_PACKAGES_DIR}/share/pkgconfig/cairn.pc" text)
  if(text MATCHES "${CURRENT_PACKAGES_DIR}")
    message(FATAL_ERROR "cairn.pc names the folder where it was made")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
endfunction()
