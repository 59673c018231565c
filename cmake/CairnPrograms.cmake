# SPDX-License-Identifier: Apache-2.0
# What cairn's own programs are built with; none of it is exported.
add_library(cairn_sanitize INTERFACE)
if(CAIRN_SANITIZE)
  target_compile_options(cairn_sanitize INTERFACE
    -fsanitize=${CAIRN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # instrumented code makes g++ doubt what it does not doubt otherwise
  target_link_options(cairn_sanitize INTERFACE -fsanitize=${CAIRN_SANITIZE})
endif()

add_library(cairn_program INTERFACE)
target_link_libraries(cairn_program INTERFACE cairn::cairn cairn_sanitize)
target_compile_definitions(cairn_program INTERFACE CAIRN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow)
target_compile_options(cairn_program INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:${warnings};$<$<BOOL:${CAIRN_WARNINGS_AS_ERRORS}>:-Werror>>"
  "$<$<COMPILE_LANGUAGE:CUDA>:$<$<BOOL:${CAIRN_WARNINGS_AS_ERRORS}>:-Werror=all-warnings>>")

# Counts what a program's own code asks of the heap, by new and by malloc, which Eigen calls.
add_library(cairn_counting OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/examples/support/counting.cpp")
target_link_libraries(cairn_counting PUBLIC cairn_program)
target_link_options(cairn_counting INTERFACE "LINKER:--wrap=malloc,--wrap=free,--wrap=calloc,--wrap=realloc")

# cairn_name_of(<result> <source>): the name of a program made from one source, its path below the current folder.
function(cairn_name_of result source)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE name)
  string(REGEX REPLACE "\\.cu$" "_cu" name "${name}")
  string(REGEX REPLACE "\\.cpp$" "" name "${name}")
  string(REPLACE "/" "_" name "${name}")
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# cairn_find_petsc(): the target cairn_petsc, where PETSc and the MPI that it is built with are found. Each folder that
# uses it calls this, because what is found is known to a folder and those below it.
macro(cairn_find_petsc)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(CAIRN_PETSC QUIET IMPORTED_TARGET petsc>=3.18)
  endif()
  cairn_find_mpi_quietly()
  if(TARGET PkgConfig::CAIRN_PETSC AND TARGET MPI::MPI_CXX AND NOT TARGET cairn_petsc)
    add_library(cairn_petsc INTERFACE)
    target_link_libraries(cairn_petsc INTERFACE PkgConfig::CAIRN_PETSC MPI::MPI_CXX)
  endif()
endmacro()

# Which checks there are: each belongs to one of three tiers. `./run test` has TEST; `./run check` has what CHECK adds,
# and `./run soak` what SOAK adds.
set(CAIRN_TESTS TEST CACHE STRING "Which checks there are: a list of TEST, CHECK and SOAK")
set(CAIRN_TIER TEST)  # of what follows; a folder that has others says so
option(CAIRN_COMPILED "Planners are compiled once for cairn's own programs; else each has the bodies in its headers" OFF)
mark_as_advanced(CAIRN_TESTS CAIRN_COMPILED)
if(CAIRN_COMPILED)
  target_link_libraries(cairn_program INTERFACE cairn::compiled)
  target_compile_options(cairn_compiled PRIVATE -O2)  # long tests are of planners, none of texts; -O1 inlines no std::vector
  set_source_files_properties("${CMAKE_CURRENT_BINARY_DIR}/cairn_compiled_text.cpp" PROPERTIES COMPILE_OPTIONS -O0)
  target_compile_options(cairn_program INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)  # kB: g++ collects no garbage below
  # Of an inline function the linker takes the copy that it sees first: let that be the one of -O2, not a test's of -O0.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND UNIX AND NOT APPLE)
    set(program $<AND:$<LINK_LANGUAGE:CXX>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>)
    target_link_options(cairn_program INTERFACE
      "$<${program}:LINKER:--whole-archive,$<TARGET_FILE:cairn_compiled>,--no-whole-archive>")
    find_program(CAIRN_GOLD ld.gold)  # takes a third of ld's time, of each of 250 programs
    mark_as_advanced(CAIRN_GOLD)
    if(CAIRN_GOLD)
      target_link_options(cairn_program INTERFACE "$<${program}:-fuse-ld=gold>")
    endif()
  endif()
endif()

# cairn_entry(<name> <label> <command>...): a test of CTest in the tier CAIRN_TIER, whose name is a further label, or
# nothing where this tier is left out; tests/needs.txt says which targets it needs.
function(cairn_entry name label)
  if(NOT (CAIRN_BUILD_TESTS AND CAIRN_TIER IN_LIST CAIRN_TESTS))
    return()
  endif()
  add_test(NAME ${name} COMMAND ${ARGN})
  string(TOLOWER ${CAIRN_TIER} tier)
  set_tests_properties(${name} PROPERTIES LABELS "${label};${tier}" TIMEOUT 300)
  set(needs "")
  foreach(word IN LISTS ARGN)
    if(word MATCHES "\\$<TARGET_FILE:([^>]+)>")
      set(word "${CMAKE_MATCH_1}")
    endif()
    if(TARGET "${word}")
      string(APPEND needs " ${word}")
    endif()
  endforeach()
  set_property(GLOBAL APPEND_STRING PROPERTY CAIRN_NEEDS "${name}${needs}\n")
endfunction()
# cairn_entry_needs(<name> <target>...): targets that its command does not name, and that may be made later or not at all.
function(cairn_entry_needs name)
  if(TEST ${name})
    set(needs "")
    foreach(target IN LISTS ARGN)
      string(APPEND needs "$<$<TARGET_EXISTS:${target}>: ${target}>")
    endforeach()
    set_property(GLOBAL APPEND_STRING PROPERTY CAIRN_NEEDS "${name}${needs}\n")
  endif()
endfunction()

# cairn_left_out(<name> <label> <why>): in place of a test that this machine cannot run, one that CTest lists as
# skipped, with the reason.
function(cairn_left_out name label why)
  if(CAIRN_BUILD_TESTS)
    cairn_entry("${name}" "${label}" "${CMAKE_COMMAND}" -E echo "cairn: skipped: ${why}")
    if(TEST "${name}")
      set_tests_properties("${name}" PROPERTIES SKIP_REGULAR_EXPRESSION "cairn: skipped: ")
    endif()
  else()
    message(STATUS "cairn: ${why}, ${name} is left out")
  endif()
endfunction()

# cairn_why_missing(<result> <target>): why there is no such target, which is a third party's or a component.
function(cairn_why_missing result target)
  set(why "no ${target}")
  foreach(known IN ITEMS
      "EIGEN|eigen|no Eigen (Debian: libeigen3-dev)"
      "JSON|nlohmann_json|no nlohmann-json (Debian: nlohmann-json3-dev)"
      "ADOLC|adolc|no ADOL-C (Debian: libadolc-dev)"
      "CODIPACK|codipack|no CoDiPack (not in Debian)"
      "CPPAD|cppad|no CppAD (PyPI: cmeel-cppad, whose cmeel.prefix belongs into CMAKE_PREFIX_PATH)"
      "SACADO|sacado|no Sacado (Debian: libtrilinos-sacado-dev, libtrilinos-kokkos-dev)"
      "KOKKOS|kokkos|no Kokkos (Debian: libtrilinos-kokkos-dev)"
      "ARRAYS|boost|no Boost (Debian: libboost-dev)"
      "ARRAYS|armadillo|no Armadillo (Debian: libarmadillo-dev)"
      "ARRAYS|xtensor|no xtensor (Debian: libxtensor-dev)"
      "ARRAYS|opencv|no OpenCV (Debian: libopencv-core-dev)"
      "ARRAYS|blitz|no Blitz++ (Debian: libblitz0-dev)"
      "XAD|xad|no XAD (not in Debian)"
      "MPI|mpi|no MPI (Debian: libopenmpi-dev openmpi-bin)"
      "PETSC|petsc|no PETSc (Debian: petsc-dev)"
      "CUDA|nvcc|no nvcc 12 or later"
      "CUDA|cuda|no CUDA toolkit 12 or later"
      "CUDA|nvtx|no NVTX, which the CUDA toolkit 12 or later has"
      "CUDA|thrust_CUDA|no Thrust with the CUDA toolkit"
      "THRUST|thrust_OMP|no Thrust with OpenMP"
      "THRUST|thrust_TBB|no Thrust with TBB (Debian: libtbb-dev)"
      "THRUST|thrust|no Thrust (Debian: libthrust-dev)"
      "ZLIB|zlib|no zlib (Debian: zlib1g-dev)"
      "DISK|disk|no xxHash (Debian: libxxhash-dev)"
      "ZSTD|zstd|no libzstd (Debian: libzstd-dev)")
    string(REPLACE "|" ";" known "${known}")
    list(GET known 0 party)
    list(GET known 1 name)
    if(target MATCHES "^cairn(_|::)${name}")
      list(GET known 2 why)
      if(DEFINED CAIRN_WITH_${party} AND NOT CAIRN_WITH_${party})
        set(why "CAIRN_WITH_${party}=OFF")
      endif()
      break()
    endif()
  endforeach()
  set(${result} "${why}" PARENT_SCOPE)
endfunction()

# What `./run mpi` builds: the adapter's programs, whose tests have the label `mpi`. They are tests only where MPI was
# asked for by name, because each starts processes that wait busily for each other.
if(TARGET cairn::mpi AND CAIRN_WITH_MPI STREQUAL "ON")
  set(CAIRN_RUNS_MPI ON)
  add_custom_target(cairn_mpi_programs)
  execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version OUTPUT_VARIABLE told ERROR_VARIABLE told)
  set(CAIRN_MPIRUN "${MPIEXEC_EXECUTABLE}")
  if(told MATCHES "Open ?MPI|OpenRTE")
    list(APPEND CAIRN_MPIRUN --oversubscribe)
  endif()
  # As root too, in containers; and ranks that wait give way to others.
  set(CAIRN_MPI_ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_mpi_yield_when_idle=1;OMPI_MCA_hwloc_base_binding_policy=none;OMPI_MCA_btl_base_warn_component_unused=0")
else()
  set(CAIRN_RUNS_MPI OFF)
endif()
# cairn_mpi_test(<name> <program> <ranks> [ARGS...]): a test on so many ranks.
function(cairn_mpi_test name program ranks)
  add_test(NAME ${name} COMMAND ${CAIRN_MPIRUN} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${program}> ${ARGN})
  set(processors 2)
  if(ranks EQUAL 1)
    set(processors 1)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS mpi TIMEOUT 600 PROCESSORS ${processors} ENVIRONMENT "${CAIRN_MPI_ENVIRONMENT}")
endfunction()

# The few programs that need a device: `./run gpu` builds and runs these alone, and their tests have the label `device`.
add_custom_target(cairn_device_programs)
# cairn_needs_device(<result> <source>): whether it is one of these. benchmarks/gpu/gpu.sh builds its own program by
# itself.
function(cairn_needs_device result source)
  set(${result} OFF PARENT_SCOPE)
  if(source MATCHES "\\.cu$|/adapt/cuda/no_driver" AND NOT source MATCHES "/benchmarks/")
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

# cairn_needs_of(<result> <source>): what its name says it needs.
set(CAIRN_NEEDS
  "_eigen(_test|_bench)?\\.(cpp|cu)$|/adapt/eigen => cairn::eigen"
  "_json_test\\.cpp$ => cairn::nlohmann_json"
  "/adapt/cuda/(cuda_|no_driver|lost_context|graph_test\\.cu)|/examples/cuda_[^/]*\\.cu$ => cairn::cuda"
  "/adapt/nvtx => cairn::nvtx"
  "/adapt/thrust/cuda_ => cairn::thrust cairn_thrust_CUDA"
  "/ad/adolc[^/]*$ => cairn::adolc"
  "/ad/(adolc_and_)?cppad[^/]*$ => cairn::cppad"
  "/ad/sacado[^/]*$ => cairn::sacado"
  "/adapt/ad/[^/]*$ => cairn_ad_stand_ins"
  "/adapt/(threads|cuda/pinned_slots|disk/owners)|/behind_ => cairn::threads"
  "/adapt/zlib => cairn::zlib"
  "/adapt/(disk|arrays)|_disk_test\\.cpp$ => cairn::disk"
  "/arrays/eigen => cairn::eigen"
  "/arrays/kokkos => cairn::kokkos"
  "/arrays/boost => cairn_boost"
  "/arrays/armadillo => cairn_armadillo"
  "/arrays/xtensor => cairn_xtensor"
  "/arrays/opencv => cairn_opencv"
  "/arrays/blitz => cairn_blitz"
  "/adapt/disk/zstd => cairn::zstd"
  "/petsc_peer[^/]*$ => cairn_petsc"
  "/peers/(fisher|diffusion|wave|lstm)_peer => cairn::disk cairn::threads"
  "\\.cu$ => cairn_nvcc")
function(cairn_needs_of result source)
  set(needs "")
  foreach(rule IN LISTS CAIRN_NEEDS)
    string(REGEX MATCH "^(.*) => (.*)$" rule "${rule}")
    set(name "${CMAKE_MATCH_1}")
    string(REPLACE " " ";" its "${CMAKE_MATCH_2}")
    if(source MATCHES "${name}")
      list(APPEND needs ${its})
    endif()
  endforeach()
  set(${result} ${needs} PARENT_SCOPE)
endfunction()

# cairn_add_program(<name> <source>): an executable with what its source needs. Without it there is no such target, and
# <name>_lacks says what is missing. Further arguments are targets to link.
function(cairn_add_program name source)
  cairn_needs_of(needs "${source}")
  list(APPEND needs ${ARGN})
  foreach(need IN LISTS needs)
    if(NOT TARGET ${need})
      cairn_why_missing(why ${need})
      set(${name}_lacks "${why}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE cairn_program ${needs})
  if(CAIRN_CUDA_ARCHITECTURES_ARE_FREE AND source MATCHES "/examples/cuda_diffusion\\.cu$")
    set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "80;90")
  endif()
  cairn_needs_device(device "${source}")
  if(device)
    add_dependencies(cairn_device_programs ${name})
  endif()
endfunction()

# torch.h takes g++ half of most files that include it: it is compiled once for the programs of its adapter, which have equal flags.
if(TARGET cairn::torch AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  file(CONFIGURE OUTPUT torch_headers.cpp CONTENT "")
  add_library(cairn_torch_headers OBJECT "${PROJECT_BINARY_DIR}/torch_headers.cpp")
  target_link_libraries(cairn_torch_headers PRIVATE cairn_program cairn::torch)
  target_precompile_headers(cairn_torch_headers PRIVATE <torch/torch.h>)
endif()

# cairn_precompiled_torch(<name>): its sources begin with torch.h.
function(cairn_precompiled_torch name)
  if(TARGET cairn_torch_headers)
    target_precompile_headers(${name} REUSE_FROM cairn_torch_headers)
    target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)  # as for precompiled tests
  endif()
endfunction()
