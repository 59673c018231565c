# SPDX-License-Identifier: Apache-2.0
# What the compiler alone checks of the library without its adapters, by g++, as steps of the build, so that it is done
# again only where a file changed; and what the texts and the package promise first of all.

# The headers together, with all bodies in them.
if(compiler_of_gcc)
  set(all "${CMAKE_CURRENT_BINARY_DIR}/parts/with_bodies.cpp")
  file(CONFIGURE OUTPUT "${all}" CONTENT "${in_part_cairn}" @ONLY)
  add_custom_command(OUTPUT "${all}.stamp" DEPENDS "${all}" DEPFILE "${all}.d"
    COMMAND "${compiler_of_gcc}" -std=c++20 -fsyntax-only ${warnings} -I "${include}" -MD -MF "${all}.d" -MT "${all}.stamp" "${all}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${all}.stamp"
    COMMENT "Headers" VERBATIM)
  add_custom_target(cairn_headers ALL DEPENDS "${all}.stamp")
endif()

# Misuse is refused in one short error; the build has asked the compiler.
if(compiler_of_gcc AND Python3_EXECUTABLE)
  set(files ${misuses})
  list(FILTER files EXCLUDE REGEX "_eigen\\.cpp$")
  set(verdicts "${CMAKE_CURRENT_BINARY_DIR}/misuses.txt")
  set(judge "${CMAKE_CURRENT_SOURCE_DIR}/misuses.py")
  file(GLOB preludes CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/compile_fail/preludes/*.hpp")
  add_custom_command(OUTPUT "${verdicts}" DEPENDS ${files} ${preludes} ${headers} ${impl} "${judge}"
    COMMAND "${Python3_EXECUTABLE}" "${judge}" gcc "${compiler_of_gcc}" ${files} --verdicts "${verdicts}"
      -- "-I${include}" -DCAIRN_SEPARATE_COMPILATION  # no sentence needs a body
    COMMENT "Misuses" VERBATIM)
  add_custom_target(cairn_misuses ALL DEPENDS "${verdicts}")
  cairn_check(compile_fail.gcc "${CMAKE_COMMAND}" -E cat "${verdicts}")
  set_tests_properties(compile_fail.gcc PROPERTIES PASS_REGULAR_EXPRESSION "right: " FAIL_REGULAR_EXPRESSION "wrong: ")
  cairn_entry_needs(compile_fail.gcc cairn_misuses)
else()
  cairn_left_out(compile_fail.gcc layout "no g++ or no python3 (Debian: g++, python3)")
endif()

cairn_check_script(layering layering.py "${PROJECT_SOURCE_DIR}")
cairn_check_script(versions versions.py "${PROJECT_SOURCE_DIR}")
cairn_check_script(spdx spdx.py "${PROJECT_SOURCE_DIR}")
cairn_check_script(docs.pages pages.py "${PROJECT_SOURCE_DIR}")
if(UNIX)
  cairn_check(soak.controls "${PROJECT_SOURCE_DIR}/tests/soak/faults.sh" there)  # after a move they would leave nothing out
endif()
cairn_check(system_includes "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" -P "${CMAKE_CURRENT_SOURCE_DIR}/system_includes.cmake")

# What an include costs, how deep a user's functions are, and the kinds of functions whose mistakes would give a number.
if(compiler_of_gcc)
  cairn_check_script(run_frames frames.py "${CAIRN_GXX}" "${PROJECT_SOURCE_DIR}")
  cairn_check_script(user_functions.some user_functions.py gcc "${CAIRN_GXX}" loss derivative members -- "-I${include}")
  cairn_check_script(include_cost.umbrella include_cost.py
    "${CAIRN_GXX}" "${include}" 18100 563000 cairn/cairn.hpp)
  cairn_check_script(include_cost.gradient include_cost.py
    "${CAIRN_GXX}" "${include}" 8300 361600 cairn/schedule/revolve.hpp cairn/run/gradient.hpp)
endif()

# The first programs that a user meets, and the package.
cairn_check_pages("README")
cairn_check_consumers(install find_package add_subdirectory)
