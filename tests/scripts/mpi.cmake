# SPDX-License-Identifier: Apache-2.0
# Those of MPI's adapter, which need its flags.
if(CAIRN_RUNS_MPI AND CAIRN_GXX)
  set(forward "")
  set(mpi_headers "")
  foreach(header IN LISTS adapter_headers)
    if(header MATCHES "/adapt/mpi[./]")
      list(APPEND mpi_headers "${header}")
      cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${include}" OUTPUT_VARIABLE name)
      string(APPEND forward "#include <${name}>\n")
      if(MPI_CXX_COMPILER MATCHES "mpich")  # the soak's
        string(MAKE_C_IDENTIFIER "${name}" alone)
        set(alone "${CMAKE_CURRENT_BINARY_DIR}/alone/${alone}.cpp")
        file(CONFIGURE OUTPUT "${alone}" CONTENT "#include <@name@>\n#include <@name@>\n" @ONLY)
        cairn_check("header.${name}.gcc" "${CAIRN_GXX}" -std=c++20 -fsyntax-only ${warnings} ${flags} ${mpi_flags} "${alone}")
      endif()
    endif()
  endforeach()
  set(all "${CMAKE_CURRENT_BINARY_DIR}/alone/adapt_mpi.cpp")
  file(CONFIGURE OUTPUT "${all}" CONTENT "${forward}" @ONLY)
  cairn_check(headers.cairn/adapt/mpi.gcc "${CAIRN_GXX}" -std=c++20 -fsyntax-only ${warnings} ${flags} ${mpi_flags} "${all}")
  if(compiler_of_clang)
    cairn_check(headers.cairn/adapt/mpi.clang "${compiler_of_clang}" -std=c++20 -fsyntax-only ${warnings} ${flags} ${mpi_flags} "${all}")
  endif()
  cairn_check_script(headers.behind_c.mpi c_macros.py "${CAIRN_GXX}" ${mpi_headers} -- ${flags} ${mpi_flags})
endif()

# Programs of MPI run as one rank where they are started by themselves.
if(CAIRN_RUNS_MPI)
  cairn_check_script(snippets.mpi.run snippets.py "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}/docs/mpi.md" --together ${flags} ${mpi_flags}
    -Wl,--no-as-needed ${MPI_CXX_LIBRARIES})
  set_tests_properties(snippets.mpi.run PROPERTIES ENVIRONMENT "${CAIRN_MPI_ENVIRONMENT}")
endif()

