# SPDX-License-Identifier: Apache-2.0
# cmake -D CASE=... -D SOURCE=<checkout> -D BUILD=<its build tree> -D WORK=<scratch folder> -D CXX=<compiler>
#       -D GENERATOR=<generator> -D PKG_CONFIG=<pkg-config> [-D TOOL=ON] -P check.cmake
cmake_minimum_required(VERSION 3.25)
set(consumers "${CMAKE_CURRENT_LIST_DIR}")
set(prefix "${WORK}/moved here")  # not where it was installed; a space, because folders have them

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Configures, builds and runs the consumer in a folder, for this case.
function(consume consumer)
  set(build "${WORK}/${CASE}_${consumer}")
  file(REMOVE_RECURSE "${build}")
  run("${CMAKE_COMMAND}" -S "${consumers}/${consumer}" -B "${build}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
    -DCMAKE_BUILD_TYPE=Debug ${ARGN})
  run("${CMAKE_COMMAND}" --build "${build}")
  run("${build}/app")
endfunction()

# files_of(<result> <folder>): the files below it, by their paths from there.
function(files_of result folder)
  file(GLOB_RECURSE files RELATIVE "${folder}" "${folder}/*")
  set(${result} "${files}" PARENT_SCOPE)
endfunction()

# Makes packages of the checkout, on a machine that has none of the third parties, in ${packages}.
macro(pack generator)
  set(packages "${WORK}/${CASE}")
  file(REMOVE_RECURSE "${packages}")
  run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${packages}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
    -DCAIRN_BUILD_TESTS=OFF -DCAIRN_BUILD_EXAMPLES=OFF -DCAIRN_INSTALL_ALL=ON)
  run("${CMAKE_CPACK_COMMAND}" --config "${packages}/build/CPackConfig.cmake" -G ${generator} -B "${packages}")
endmacro()

# A package of the library has every header, and what find_package and pkg-config look for.
function(check_library folder)
  foreach(file IN ITEMS include/cairn/adapt/torch.hpp include/cairn/impl/src.hpp include/cairn/plan/loop/impl/advise.ipp
      share/cmake/cairn/cairnConfig.cmake share/cmake/cairn/cairn-eigen.cmake share/cmake/cairn/cairn-mpi.cmake
      share/cmake/cairn/cairn-compiled.cmake share/cmake/cairn/cairn-c.cmake share/pkgconfig/cairn.pc)
    if(NOT EXISTS "${folder}/${file}")
      message(FATAL_ERROR "no ${file}")
    endif()
  endforeach()
  files_of(packed "${folder}/include")
  files_of(known "${SOURCE}/include")
  if(NOT packed STREQUAL known)
    list(REMOVE_ITEM known ${packed})
    message(FATAL_ERROR "its headers are not those of the checkout; it lacks ${known}")
  endif()
endfunction()

# skip(<why>): what CTest lists as skipped.
macro(skip why)
  message(STATUS "cairn: skipped: ${why}")
  return()
endmacro()

# What Debian's own check says of a package; nothing, but for what only an upload to Debian has.
function(lint deb)
  find_program(lintian lintian NO_CACHE)
  if(NOT lintian)
    message("lintian: passed over, no lintian (Debian: lintian)")
    return()
  endif()
  execute_process(COMMAND "${lintian}" --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "${deb}"
    OUTPUT_VARIABLE told RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "lintian says\n${told}")
  endif()
endfunction()

if(CASE STREQUAL "install")
  file(REMOVE_RECURSE "${WORK}/installed" "${prefix}")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed")
  file(RENAME "${WORK}/installed" "${prefix}")
  file(GLOB_RECURSE files "${prefix}/*.cmake" "${prefix}/*.pc")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    foreach(path IN ITEMS "${SOURCE}/include" "${BUILD}" "${WORK}/installed")
      string(FIND "${text}" "${path}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${file} names ${path}, which its users do not have")
      endif()
    endforeach()
  endforeach()

elseif(CASE STREQUAL "install_components")  # together they are what is installed without a word about them
  files_of(all "${prefix}")
  foreach(component IN ITEMS cairn_dev cairn_tool)
    file(REMOVE_RECURSE "${WORK}/${component}")
    run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/${component}" --component ${component})
    files_of(${component} "${WORK}/${component}")
  endforeach()
  set(both ${cairn_dev} ${cairn_tool})
  list(REMOVE_DUPLICATES both)
  list(SORT both)
  list(SORT all)
  if(NOT both STREQUAL all)
    list(REMOVE_ITEM all ${both})
    message(FATAL_ERROR "no component has ${all}")
  endif()
  set(tool share/doc/cairn/LICENSE)
  if(TOOL)
    list(PREPEND tool bin/cairn)
    run("${WORK}/cairn_tool/bin/cairn" version)
  else()
    set(tool "")
  endif()
  if(NOT cairn_tool STREQUAL tool OR cairn_dev MATCHES "bin/")
    message(FATAL_ERROR "the component of the command has ${cairn_tool}")
  endif()

elseif(CASE STREQUAL "tgz")
  pack(TGZ)
  file(GLOB archive "${packages}/*.tar.gz")
  if(NOT archive MATCHES "/cairn-[0-9.]+\\.tar\\.gz$")
    message(FATAL_ERROR "not one archive for all machines: ${archive}")
  endif()
  file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${packages}/unpacked")
  file(GLOB top "${packages}/unpacked/*")
  check_library("${top}")
  # Made where no third party was looked for, its components are those of a machine that has them.
  file(GLOB components RELATIVE "${prefix}/share/cmake/cairn" "${prefix}/share/cmake/cairn/cairn-*.cmake")
  foreach(component IN LISTS components)
    file(SHA256 "${prefix}/share/cmake/cairn/${component}" made_there)
    file(SHA256 "${top}/share/cmake/cairn/${component}" made_here)
    if(NOT made_here STREQUAL made_there)
      message(FATAL_ERROR "${component} differs between ${prefix} and ${top}")
    endif()
  endforeach()
  consume(find_package "-DCMAKE_PREFIX_PATH=${top}")

elseif(CASE STREQUAL "deb")
  pack(DEB)
  file(GLOB deb "${packages}/*.deb")
  if(NOT deb MATCHES "/libcairn-dev_[0-9.]+-1_all\\.deb$")
    message(FATAL_ERROR "not one package for all architectures: ${deb}")
  endif()
  set(deb_version "${deb}")
  string(REGEX REPLACE ".*/libcairn-dev_([0-9.]+-1)_all\\.deb$" "\\1" deb_version "${deb}")
  execute_process(COMMAND dpkg-deb -I "${deb}" OUTPUT_VARIABLE control COMMAND_ERROR_IS_FATAL ANY)
  foreach(field IN ITEMS "Package: libcairn-dev" "Version: ${deb_version}" "Architecture: all" "Section: libdevel"
      "Maintainer: The cairn authors" "Description: C++20 headers for differentiating long loops in bounded memory")
    string(FIND "${control}" " ${field}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "no '${field}' in\n${control}")
    endif()
  endforeach()
  if(control MATCHES "Depends:")
    message(FATAL_ERROR "headers depend on nothing, but\n${control}")
  endif()
  execute_process(COMMAND dpkg-deb -c "${deb}" OUTPUT_VARIABLE content COMMAND_ERROR_IS_FATAL ANY)
  foreach(wrong IN ITEMS "/usr/bin/" "/usr/lib/" "/usr/local/" "[^\n]r.xrwx[^\n]*" "doc/cairn/")
    if(content MATCHES "${wrong}")
      message(FATAL_ERROR "${CMAKE_MATCH_0} does not belong into\n${content}")
    endif()
  endforeach()
  foreach(line IN ITEMS "drwxr-xr-x root/root .* \\./usr/include/cairn/\n"
      "-rw-r--r-- root/root .* \\./usr/include/cairn/cairn\\.hpp\n"
      "-rw-r--r-- root/root .* \\./usr/share/doc/libcairn-dev/copyright\n"
      "-rw-r--r-- root/root .* \\./usr/share/doc/libcairn-dev/changelog\\.Debian\\.gz\n")
    if(NOT content MATCHES "${line}")
      message(FATAL_ERROR "no ${line} in\n${content}")
    endif()
  endforeach()
  run(dpkg-deb -x "${deb}" "${packages}/unpacked")
  check_library("${packages}/unpacked/usr")
  consume(find_package "-DCMAKE_PREFIX_PATH=${packages}/unpacked/usr")
  lint("${deb}")

elseif(CASE STREQUAL "deb_tool")
  set(packages "${WORK}/${CASE}")
  file(REMOVE_RECURSE "${packages}")
  run("${CMAKE_CPACK_COMMAND}" --config "${BUILD}/CPackConfig.cmake" -G DEB -B "${packages}"
    -D CPACK_COMPONENTS_ALL=cairn_tool -D CPACK_CMAKE_GENERATOR=Ninja)  # which builds nothing first
  file(GLOB deb "${packages}/*.deb")
  execute_process(COMMAND dpkg-deb -I "${deb}" OUTPUT_VARIABLE control COMMAND_ERROR_IS_FATAL ANY)
  if(NOT deb MATCHES "/cairn-tools_[^/]*\\.deb$" OR control MATCHES "Architecture: all"
      OR NOT control MATCHES "Depends: [^\n]*libc6")
    message(FATAL_ERROR "${deb}:\n${control}")
  endif()
  run(dpkg-deb -x "${deb}" "${packages}/unpacked")
  files_of(files "${packages}/unpacked/usr")
  list(SORT files)
  set(expected bin/cairn share/doc/cairn-tools/changelog.Debian.gz share/doc/cairn-tools/copyright share/man/man1/cairn.1.gz)
  if(NOT files STREQUAL expected)
    message(FATAL_ERROR "the package of the command has ${files}")
  endif()
  run("${packages}/unpacked/usr/bin/cairn" version)
  lint("${deb}")

elseif(CASE STREQUAL "conan")
  find_program(conan conan HINTS "${SOURCE}/build/conan/bin" NO_CACHE)
  if(NOT conan)
    skip("no conan (./run packages installs it)")
  endif()
  set(ENV{CONAN_HOME} "${WORK}/conan/home")
  set(ENV{CXX} "${CXX}")
  file(REMOVE_RECURSE "${WORK}/conan")
  run("${conan}" profile detect)
  run("${conan}" create "${SOURCE}" --build=missing --no-remote -c "tools.cmake.cmaketoolchain:generator=${GENERATOR}"
    -c "tools.cmake.cmake_layout:test_folder=${WORK}/conan/test")

elseif(CASE STREQUAL "vcpkg_port")  # without vcpkg: by stand-ins for its functions
  set(PORT cairn)
  set(CURRENT_PACKAGES_DIR "${WORK}/vcpkg_port/packages")
  set(CURRENT_BUILDTREES_DIR "${WORK}/vcpkg_port/build")
  file(REMOVE_RECURSE "${WORK}/vcpkg_port")
  include("${consumers}/vcpkg_functions.cmake")
  include("${SOURCE}/packaging/vcpkg/ports/cairn/portfile.cmake")
  files_of(files "${CURRENT_PACKAGES_DIR}")
  list(FILTER files EXCLUDE REGEX "^include/|^share/cairn/cairn.*\\.cmake$")
  list(SORT files)
  if(NOT files STREQUAL "share/cairn/copyright;share/cairn/usage;share/pkgconfig/cairn.pc")
    message(FATAL_ERROR "beside headers and CMake files the port installs ${files}")
  endif()
  consume(find_package "-DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR}")

elseif(CASE STREQUAL "spack_recipe")  # without Spack: by stand-ins for its functions
  find_program(python python3 NO_CACHE REQUIRED)
  execute_process(COMMAND "${python}" "${consumers}/spack_stand_ins.py" "${SOURCE}/packaging/spack/packages/cairn/package.py"
    OUTPUT_VARIABLE arguments OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" arguments "${arguments}")
  file(REMOVE_RECURSE "${WORK}/spack_recipe")
  run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/spack_recipe/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
    "-DCMAKE_INSTALL_PREFIX=${WORK}/spack_recipe/prefix" ${arguments})
  run("${CMAKE_COMMAND}" --build "${WORK}/spack_recipe/build" --target install)
  check_library("${WORK}/spack_recipe/prefix")
  consume(find_package "-DCMAKE_PREFIX_PATH=${WORK}/spack_recipe/prefix")

elseif(CASE STREQUAL "vcpkg")
  find_program(vcpkg vcpkg HINTS "$ENV{VCPKG_ROOT}" NO_CACHE)
  if(NOT vcpkg)
    skip("no vcpkg (it is not in Debian)")
  endif()
  file(REMOVE_RECURSE "${WORK}/vcpkg")
  run("${vcpkg}" install cairn --classic "--overlay-ports=${SOURCE}/packaging/vcpkg/ports"
    "--x-install-root=${WORK}/vcpkg/installed"
    "--x-buildtrees-root=${WORK}/vcpkg/build" "--x-packages-root=${WORK}/vcpkg/packages")
  file(GLOB triplet "${WORK}/vcpkg/installed/*/share/cairn/cairnConfig.cmake")
  cmake_path(GET triplet PARENT_PATH triplet)
  consume(find_package "-Dcairn_DIR=${triplet}")

elseif(CASE STREQUAL "find_package")
  consume(find_package "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON)

elseif(CASE MATCHES "^find_package_(c|eigen|compiled)$")
  consume(${CASE} "-DCMAKE_PREFIX_PATH=${prefix}")

elseif(CASE STREQUAL "add_subdirectory")
  consume(add_subdirectory "-DCAIRN_CHECKOUT=${SOURCE}")

elseif(CASE STREQUAL "fetchcontent")
  # Only what a subproject needs is packed: it must not ask for tests or examples.
  file(MAKE_DIRECTORY "${WORK}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf "${WORK}/cairn.tar.gz" -- CMakeLists.txt LICENSE cmake include
    WORKING_DIRECTORY "${SOURCE}" COMMAND_ERROR_IS_FATAL ANY)
  consume(fetchcontent "-DCAIRN_ARCHIVE=${WORK}/cairn.tar.gz")

elseif(CASE STREQUAL "pkg_config")
  set(ENV{PKG_CONFIG_PATH} "${prefix}/share/pkgconfig")
  execute_process(COMMAND "${PKG_CONFIG}" --cflags cairn
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run("${CXX}" -std=c++20 ${flags} "${consumers}/main.cpp" -o "${WORK}/pkg_config_app")
  run("${WORK}/pkg_config_app")

else()
  message(FATAL_ERROR "no such case: ${CASE}")
endif()
