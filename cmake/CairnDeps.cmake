# SPDX-License-Identifier: Apache-2.0
# Third parties: what is installed comes first, and what is missing is said.

# Eigen3::Eigen. GLOBAL, because cairn::eigen is linked outside of this directory too.
macro(cairn_find_eigen)
  if(CAIRN_WITH_EIGEN AND NOT TARGET Eigen3::Eigen)
    find_package(Eigen3 CONFIG QUIET GLOBAL)
    if(CAIRN_WITH_EIGEN STREQUAL "ON" AND NOT TARGET Eigen3::Eigen)
      message(FATAL_ERROR "cairn: CAIRN_WITH_EIGEN=ON, but Eigen 3 was not found (Debian: libeigen3-dev)")
    endif()
  endif()
endmacro()

# nlohmann_json::nlohmann_json. GLOBAL, because cairn::nlohmann_json is linked outside of this directory too.
macro(cairn_find_json)
  if(CAIRN_WITH_JSON AND NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json 3.9 CONFIG QUIET GLOBAL)
    if(CAIRN_WITH_JSON STREQUAL "ON" AND NOT TARGET nlohmann_json::nlohmann_json)
      message(FATAL_ERROR "cairn: CAIRN_WITH_JSON=ON, but nlohmann-json was not found (Debian: nlohmann-json3-dev)")
    endif()
  endif()
endmacro()

# cairn_<tool>_library for each tool for automatic differentiation that is here, and for the components kokkos, disk,
# which needs xxHash, and zstd: by its header, and by its library where it has one. GLOBAL, because they are linked outside of
# this directory too. ADOL-C's own users bring it by pkg-config, CppAD's by its folder (CAIRN_CPPAD_INCLUDE, or
# CMAKE_PREFIX_PATH).
macro(cairn_find_ad_tools)
  foreach(tool IN ITEMS
      "adolc|adolc/adolc.h|adolc|ADOL-C|libadolc-dev"
      "codipack|codi.hpp||CoDiPack|"
      "cppad|cppad/cppad.hpp|cppad_lib|CppAD|"
      "sacado|Sacado_trad.hpp||Sacado|libtrilinos-sacado-dev, libtrilinos-kokkos-dev"
      "kokkos|Kokkos_Core.hpp|kokkoscore|Kokkos|libtrilinos-kokkos-dev"
      "xad|XAD/XAD.hpp|xad|XAD|"
      "disk|xxhash.h|xxhash|xxHash|libxxhash-dev"
      "zstd|zstd.h|zstd|libzstd|libzstd-dev")
    string(REPLACE "|" ";" tool "${tool}")
    list(GET tool 0 name)
    list(GET tool 1 header)
    list(GET tool 2 library)
    list(GET tool 3 called)
    string(TOUPPER ${name} party)
    if(NOT CAIRN_WITH_${party})
      continue()
    endif()
    find_path(CAIRN_${party}_INCLUDE ${header} PATH_SUFFIXES trilinos)
    mark_as_advanced(CAIRN_${party}_INCLUDE)
    set(found ${CAIRN_${party}_INCLUDE})
    if(library)
      find_library(CAIRN_${party}_LIBRARY NAMES ${library} trilinos_${library} HINTS "${CAIRN_${party}_INCLUDE}/../lib")
      mark_as_advanced(CAIRN_${party}_LIBRARY)
      if(NOT CAIRN_${party}_LIBRARY)
        set(found "")
      endif()
    endif()
    if(found AND name STREQUAL "sacado")  # Debian has what its header needs in another package
      find_path(CAIRN_SACADO_KOKKOS Kokkos_Macros.hpp PATH_SUFFIXES trilinos)
      mark_as_advanced(CAIRN_SACADO_KOKKOS)
      if(NOT CAIRN_SACADO_KOKKOS)
        set(found "")
      endif()
    endif()
    if(found)
      message(STATUS "cairn: ${called} (${CAIRN_${party}_INCLUDE})")
      add_library(cairn_${name}_library INTERFACE IMPORTED GLOBAL)
      target_include_directories(cairn_${name}_library INTERFACE "${CAIRN_${party}_INCLUDE}")
      if(library)
        target_link_libraries(cairn_${name}_library INTERFACE "${CAIRN_${party}_LIBRARY}")
      endif()
    elseif(CAIRN_WITH_${party} STREQUAL "ON")
      list(GET tool 4 package)
      message(FATAL_ERROR "cairn: CAIRN_WITH_${party}=ON, but ${called} was not found (Debian: ${package})")
    endif()
  endforeach()
endmacro()

# Threads::Threads, of CMake itself; looking for it writes to the cache, so that a project around this one does that
# itself where it wants cairn::threads. GLOBAL, because cairn::threads is linked outside of this directory too.
macro(cairn_find_threads)
  if(PROJECT_IS_TOP_LEVEL AND NOT TARGET Threads::Threads)
    find_package(Threads QUIET GLOBAL)
  endif()
endmacro()

# find_package(MPI QUIET), which where it finds none writes how it looked for mpi-cxx by pkg-config.
macro(cairn_find_mpi_quietly)
  set(cairn_log_level "${CMAKE_MESSAGE_LOG_LEVEL}")
  set(CMAKE_MESSAGE_LOG_LEVEL NOTICE)
  find_package(MPI QUIET COMPONENTS CXX ${ARGN})
  set(CMAKE_MESSAGE_LOG_LEVEL "${cairn_log_level}")
endmacro()

# MPI::MPI_CXX, of CMake itself, without the bindings of MPI-2 for C++. MPI_CXX_COMPILER chooses among several. GLOBAL,
# because cairn::mpi is linked outside of this directory too. FindMPI makes the target even where it finds no MPI, so
# cairn_no_mpi is ABSENT there.
macro(cairn_find_mpi)
  set(cairn_no_mpi "")
  if(CAIRN_WITH_MPI AND NOT TARGET MPI::MPI_CXX)
    set(MPI_CXX_SKIP_MPICXX ON)
    cairn_find_mpi_quietly(GLOBAL)
    if(MPI_CXX_FOUND)
      message(STATUS "cairn: MPI (${MPI_CXX_COMPILER})")
    elseif(CAIRN_WITH_MPI STREQUAL "ON")
      message(FATAL_ERROR "cairn: CAIRN_WITH_MPI=ON, but MPI was not found (Debian: libopenmpi-dev openmpi-bin, or libmpich-dev mpich)")
    else()
      set(cairn_no_mpi ABSENT)
    endif()
  endif()
endmacro()

# ZLIB::ZLIB. GLOBAL, because cairn::zlib is linked outside of this directory too.
macro(cairn_find_zlib)
  if(CAIRN_WITH_ZLIB AND NOT TARGET ZLIB::ZLIB)
    find_package(ZLIB QUIET GLOBAL)
    if(CAIRN_WITH_ZLIB STREQUAL "ON" AND NOT TARGET ZLIB::ZLIB)
      message(FATAL_ERROR "cairn: CAIRN_WITH_ZLIB=ON, but zlib was not found (Debian: zlib1g-dev)")
    endif()
  endif()
endmacro()

# CAIRN_NVCC (empty without one) and, for *.cu in CMake targets, the target cairn_nvcc.
macro(cairn_find_cuda)
  set(CAIRN_NVCC "")
  set(CAIRN_CUDA_ARCHITECTURES_ARE_FREE OFF)
  if(CAIRN_WITH_CUDA STREQUAL "ON" OR (CAIRN_WITH_CUDA AND CAIRN_BUILD_TESTS))
    find_package(CUDAToolkit 12 QUIET GLOBAL)  # the first to speak C++20
    include(CheckLanguage)
    if(CUDAToolkit_NVCC_EXECUTABLE)
      set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}" CACHE FILEPATH "CUDA compiler")
      check_language(CUDA)
    endif()
    if(CUDAToolkit_NVCC_EXECUTABLE AND CMAKE_CUDA_COMPILER)
      set(CAIRN_NVCC "${CUDAToolkit_NVCC_EXECUTABLE}")
      message(STATUS "cairn: nvcc ${CUDAToolkit_VERSION} (${CAIRN_NVCC})")
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90)  # each costs a third of a compilation; examples/cuda_diffusion.cu and the headers are compiled for 80, too
        set(CAIRN_CUDA_ARCHITECTURES_ARE_FREE ON)
      endif()
      enable_language(CUDA)
      if(CAIRN_CUDA_ARCHITECTURES_ARE_FREE AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
        set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})  # of the devices that are here
        set(CAIRN_CUDA_ARCHITECTURES_ARE_FREE OFF)
      endif()
      add_library(cairn_nvcc INTERFACE)
      target_compile_options(cairn_nvcc INTERFACE
        $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--extended-lambda>)
      # CMake 3.25 does not know that nvcc speaks C++20: CUDA_STANDARD 20 would stop it.
      if(DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
        target_compile_features(cairn_nvcc INTERFACE cuda_std_20)
      else()
        target_compile_options(cairn_nvcc INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
      endif()
      target_link_libraries(cairn_nvcc INTERFACE CUDA::cudart)
    elseif(CAIRN_WITH_CUDA STREQUAL "ON")
      message(FATAL_ERROR "cairn: CAIRN_WITH_CUDA=ON, but there is no working nvcc 12 or later")
    else()
      message(STATUS "cairn: no nvcc 12 or later, tests of CUDA code are skipped")
    endif()
  endif()
endmacro()

# cairn_thrust_headers: Thrust of the CUDA toolkit (13: within cccl/), else of Debian's libthrust-dev; and those of its
# device systems CPP, OMP and TBB that a host compiler can run here, each a target cairn_thrust_<system>. GLOBAL,
# because they are linked outside of this directory too.
macro(cairn_find_thrust)
  if(CAIRN_WITH_THRUST)
    find_package(CUDAToolkit QUIET)
    find_path(CAIRN_THRUST_INCLUDE thrust/device_vector.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES cccl)
    mark_as_advanced(CAIRN_THRUST_INCLUDE)
    if(CAIRN_THRUST_INCLUDE)
      message(STATUS "cairn: Thrust (${CAIRN_THRUST_INCLUDE})")
      add_library(cairn_thrust_headers INTERFACE IMPORTED GLOBAL)
      target_include_directories(cairn_thrust_headers INTERFACE "${CAIRN_THRUST_INCLUDE}")
    elseif(CAIRN_WITH_THRUST STREQUAL "ON")
      message(FATAL_ERROR "cairn: CAIRN_WITH_THRUST=ON, but Thrust was not found (the CUDA toolkit has it; Debian: libthrust-dev)")
    endif()
  endif()
  if(TARGET cairn_thrust_headers)
    find_package(OpenMP QUIET COMPONENTS CXX)
    find_package(TBB CONFIG QUIET)
    set(CPP_needs "")
    set(OMP_needs OpenMP::OpenMP_CXX)
    set(TBB_needs TBB::tbb)
    foreach(system IN ITEMS CPP OMP TBB)
      if(${system}_needs AND NOT TARGET ${${system}_needs})
        message(STATUS "cairn: no ${${system}_needs}, Thrust's ${system} system is left out")
        continue()
      endif()
      add_library(cairn_thrust_${system} INTERFACE IMPORTED GLOBAL)
      target_link_libraries(cairn_thrust_${system} INTERFACE cairn_thrust_headers ${${system}_needs})
      target_compile_definitions(cairn_thrust_${system} INTERFACE THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_${system})
    endforeach()
    # The headers of its CUDA system, for a test that brings a runtime of its own.
    if(CUDAToolkit_INCLUDE_DIRS)
      add_library(cairn_thrust_CUDA INTERFACE IMPORTED GLOBAL)
      target_link_libraries(cairn_thrust_CUDA INTERFACE cairn_thrust_headers)
      target_include_directories(cairn_thrust_CUDA INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
      target_compile_definitions(cairn_thrust_CUDA INTERFACE THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CUDA)
    endif()
  endif()
endmacro()

# cairn_torch_library: LibTorch of CAIRN_TORCH_WHEEL or of the system (Debian: libtorch-dev), for the processor. Its own
# find_package(Torch) asks for a CUDA toolkit where the library was built with one, and sets flags of the whole project;
# headers, two libraries and where they lie at run time are all that is needed. GLOBAL, because it is linked outside of
# this directory too.
macro(cairn_find_torch)
  if(CAIRN_WITH_TORCH)
    if(CAIRN_TORCH_WHEEL)
      set(from PATHS "${CAIRN_TORCH_WHEEL}/torch" NO_DEFAULT_PATH)
    else()
      set(from "")
    endif()
    find_path(CAIRN_TORCH_INCLUDE torch/csrc/api/include/torch/torch.h ${from} PATH_SUFFIXES include)
    find_library(CAIRN_TORCH_CPU torch_cpu ${from} PATH_SUFFIXES lib)
    find_library(CAIRN_TORCH_C10 c10 ${from} PATH_SUFFIXES lib)
    mark_as_advanced(CAIRN_TORCH_INCLUDE CAIRN_TORCH_CPU CAIRN_TORCH_C10)
    if(CAIRN_TORCH_INCLUDE AND CAIRN_TORCH_CPU AND CAIRN_TORCH_C10)
      message(STATUS "cairn: LibTorch (${CAIRN_TORCH_CPU})")
      add_library(cairn_torch_library INTERFACE IMPORTED GLOBAL)
      target_include_directories(cairn_torch_library INTERFACE "${CAIRN_TORCH_INCLUDE}" "${CAIRN_TORCH_INCLUDE}/torch/csrc/api/include")
      target_link_libraries(cairn_torch_library INTERFACE "${CAIRN_TORCH_CPU}" "${CAIRN_TORCH_C10}")
      # Where a wheel's libraries lie, and those of other wheels that they need.
      set(CAIRN_TORCH_FOLDERS "")
      if(CAIRN_TORCH_WHEEL)
        file(GLOB CAIRN_TORCH_FOLDERS "${CAIRN_TORCH_WHEEL}/torch/lib" "${CAIRN_TORCH_WHEEL}/nvidia/*/lib")
      endif()
      foreach(folder IN LISTS CAIRN_TORCH_FOLDERS)
        target_link_options(cairn_torch_library INTERFACE "LINKER:-rpath,${folder}" "LINKER:-rpath-link,${folder}")
      endforeach()
    elseif(CAIRN_WITH_TORCH STREQUAL "ON")
      message(FATAL_ERROR "cairn: CAIRN_WITH_TORCH=ON, but LibTorch was not found (Debian: libtorch-dev; or PyPI's torch with CAIRN_TORCH_WHEEL)")
    endif()
  endif()
endmacro()

# cairn_catch, a target that brings Catch2 (2.13 or later, 3.x too) and a main().
# CAIRN_CATCH_INCLUDE is for compilers of other machines: the header of Catch2 2 in a folder where this machine's own
# headers are not.
macro(cairn_find_catch)
  if(CAIRN_CATCH_INCLUDE)
    add_library(Catch2::Catch2 INTERFACE IMPORTED)
    target_include_directories(Catch2::Catch2 INTERFACE "${CAIRN_CATCH_INCLUDE}")
  else()
    find_package(Catch2 CONFIG QUIET)
  endif()
  if(Catch2_FOUND AND Catch2_VERSION VERSION_LESS 2.13)
    message(STATUS "cairn: Catch2 ${Catch2_VERSION} is too old, 2.13 or later is needed")
    set(Catch2_FOUND FALSE)
  endif()
  if(Catch2_FOUND)
    message(STATUS "cairn: Catch2 ${Catch2_VERSION} (${Catch2_DIR})")
  elseif(CAIRN_FETCH AND NOT CAIRN_CATCH_INCLUDE)
    message(STATUS "cairn: Catch2 is not installed and is downloaded (CAIRN_FETCH=ON)")
    include(FetchContent)
    FetchContent_Declare(catch2 SYSTEM
      URL https://github.com/catchorg/Catch2/archive/refs/tags/v3.7.1.tar.gz
      URL_HASH SHA256=c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c
      DOWNLOAD_EXTRACT_TIMESTAMP TRUE)
    FetchContent_MakeAvailable(catch2)
  endif()
  if(TARGET Catch2::Catch2WithMain)
    add_library(cairn_catch INTERFACE)
    target_link_libraries(cairn_catch INTERFACE Catch2::Catch2WithMain)
    target_compile_features(cairn_catch INTERFACE cxx_std_20)
  elseif(TARGET Catch2::Catch2)
    # Catch2 2 compiles all of itself with its main(): once here, at -O0, because -O2 takes it 19 s.
    add_library(cairn_catch OBJECT support/catch_main.cpp)
    target_link_libraries(cairn_catch PUBLIC Catch2::Catch2 PRIVATE cairn_sanitize)
    target_compile_features(cairn_catch PUBLIC cxx_std_20)
    target_compile_options(cairn_catch PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-O0;-g0>)
  endif()
  if(TARGET cairn_catch)
    target_compile_definitions(cairn_catch INTERFACE CATCH_CONFIG_FAST_COMPILE)  # no try block for each assertion
  endif()
  set(CAIRN_CATCH_ARGS -\#)  # CTest asks for the cases of a file by [#file]
  if(Catch2_VERSION VERSION_LESS 3)
    list(APPEND CAIRN_CATCH_ARGS -w NoTests)  # or a name that matches no test would pass
  endif()
endmacro()
