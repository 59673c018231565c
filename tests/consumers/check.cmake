# cmake -D CASE=... -D SOURCE=<checkout> -D BUILD=<its build tree> -D WORK=<scratch folder> -D CXX=<compiler>
#       -D GENERATOR=<generator> -D PKG_CONFIG=<pkg-config> -P check.cmake
cmake_minimum_required(VERSION 3.25)
set(consumers "${CMAKE_CURRENT_LIST_DIR}")
set(prefix "${WORK}/moved here")  # not where it was installed; a space, because folders have them

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Configures, builds and runs the consumer in the folder of the case's name.
function(consume)
  set(build "${WORK}/${CASE}")
  file(REMOVE_RECURSE "${build}")
  run("${CMAKE_COMMAND}" -S "${consumers}/${CASE}" -B "${build}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
    -DCMAKE_BUILD_TYPE=Debug ${ARGN})
  run("${CMAKE_COMMAND}" --build "${build}")
  run("${build}/app")
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

elseif(CASE STREQUAL "find_package")
  consume("-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON)

elseif(CASE MATCHES "^find_package_(eigen|compiled)$")
  consume("-DCMAKE_PREFIX_PATH=${prefix}")

elseif(CASE STREQUAL "add_subdirectory")
  consume("-DCAIRN_CHECKOUT=${SOURCE}")

elseif(CASE STREQUAL "fetchcontent")
  # Only what a subproject needs is packed: it must not ask for tests or examples.
  file(MAKE_DIRECTORY "${WORK}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf "${WORK}/cairn.tar.gz" -- CMakeLists.txt LICENSE cmake include
    WORKING_DIRECTORY "${SOURCE}" COMMAND_ERROR_IS_FATAL ANY)
  consume("-DCAIRN_ARCHIVE=${WORK}/cairn.tar.gz")

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
