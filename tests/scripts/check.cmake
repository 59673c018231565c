# SPDX-License-Identifier: Apache-2.0
# What CI checks beyond the tests: other compilers, all pages and packages, what checks cost.

# For clang++ and nvcc all of the library compile together, and all of the adapters; they have g++'s standard library, so
# that they find no include that is missing.
foreach(part IN ITEMS cairn cairn/adapt cairn/adapt/thrust)
  string(MAKE_C_IDENTIFIER "${part}" all)
  set(all "${CMAKE_CURRENT_BINARY_DIR}/parts/${all}.cpp")
  file(CONFIGURE OUTPUT "${all}" CONTENT "${in_part_${part}}" @ONLY)
  if(NOT in_part_${part})
    continue()
  endif()
  if(compiler_of_clang)
    cairn_check("headers.${part}.clang" "${compiler_of_clang}" -std=c++20 -fsyntax-only ${warnings} ${flags_of_part_${part}} "${all}")
  else()
    cairn_left_out("headers.${part}.clang" layout "${no_clang}")
  endif()
  if(CAIRN_NVCC)
    cairn_check("headers.${part}.nvcc" "${CAIRN_NVCC}" -std=c++20 -x cu ${architecture} ${flags} -c "${all}" -o "${all}.o")
  else()
    cairn_left_out("headers.${part}.nvcc" layout "${no_nvcc}")
  endif()
  if(compiler_of_gcc AND part STREQUAL "cairn")  # with their bodies they are a step of the build of the tests
    cairn_check("headers.${part}.separate" "${compiler_of_gcc}" -std=c++20 -fsyntax-only -DCAIRN_SEPARATE_COMPILATION ${warnings} ${flags_of_part_${part}} "${all}")
  elseif(compiler_of_gcc)
    cairn_check("headers.${part}.gcc" "${compiler_of_gcc}" -std=c++20 -fsyntax-only ${warnings} ${flags_of_part_${part}} "${all}")
  endif()
endforeach()

# No name in them is a macro of C or of windows.h, and none needs run-time type information: one compilation says both.
if(compiler_of_gcc)
  cairn_check_script(headers.behind_c c_macros.py "${compiler_of_gcc}" ${seen_by_c} -- ${flags} -fno-rtti)
else()
  cairn_left_out(headers.behind_c layout "${no_gcc}")
endif()
cairn_check_misuses(gcc)

# Every kind of function that users hand over, with every kind of mistake: 3 minutes.
if(compiler_of_gcc)
  cairn_check_script(user_functions.all user_functions.py gcc "${CAIRN_GXX}" -- "-I${include}")
  if(TEST user_functions.all)
    set_tests_properties(user_functions.all PROPERTIES TIMEOUT 1500)
  endif()
  if(TARGET cairn::disk)
    cairn_check_script(run_frames.disk frames.py "${CAIRN_GXX}" "${PROJECT_SOURCE_DIR}" disk)
  endif()
endif()

# The command. What `inspect` and `gc` look at is made by a program.
if(TARGET cairn_tool AND TARGET cairn::disk)
  add_executable(cairn_make_runs "${PROJECT_SOURCE_DIR}/tests/tool/make_runs.cpp")
  target_link_libraries(cairn_make_runs PRIVATE cairn_program cairn::disk)
  target_include_directories(cairn_make_runs PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  set(of_runs $<TARGET_FILE:cairn_make_runs>)
endif()
foreach(part IN ITEMS runs oracles chains memory readers random time limits lines budgets one_choice actions chain_command graphs pictures planning numbers environment reports profiles transcripts)
  if(TARGET cairn_tool)
    cairn_check_script(tool.${part} tool.py $<TARGET_FILE:cairn_tool> "${PROJECT_SOURCE_DIR}" ${part} ${of_${part}})
  else()
    cairn_left_out(tool.${part} layout "the command-line tool is not built: no CLI11 or nlohmann-json (Debian: libcli11-dev, nlohmann-json3-dev)")
  endif()
endforeach()
if(TARGET cairn_tool)
  cairn_check_script(pictures.examples pictures.py --commands $<TARGET_FILE:cairn_tool> "${PROJECT_SOURCE_DIR}/examples/README.md"
    "${PROJECT_SOURCE_DIR}/docs/pictures")
endif()

# The umbrellas, and the adapters' headers that people include, say which language they need before anything else of them is read.
file(GLOB entrances CONFIGURE_DEPENDS "${include}/cairn/*.hpp" "${include}/cairn/adapt/*.hpp" "${include}/cairn/adapt/torch/*.hpp"
  "${include}/cairn/adapt/torch/graph/*.hpp" "${include}/cairn/adapt/torch/profile/*.hpp" "${include}/cairn/adapt/torch/trace/*.hpp")
list(FILTER entrances EXCLUDE REGEX "/version\\.hpp$")
list(TRANSFORM entrances REPLACE "^.*/include/" "")
foreach(kind IN ITEMS gcc clang)
  if(compiler_of_${kind})
    cairn_check_script(older_language.${kind} older_language.py "${compiler_of_${kind}}" "${include}" ${entrances})
  else()
    cairn_left_out(older_language.${kind} layout "${no_${kind}}")
  endif()
endforeach()
file(GLOB_RECURSE public RELATIVE "${include}" CONFIGURE_DEPENDS "${include}/cairn/*.hpp")
list(FILTER public EXCLUDE REGEX "/(detail|impl|adapt)/|/version\\.hpp$")
if(compiler_of_gcc)
  cairn_check_script(older_language.every older_language.py --every "${compiler_of_gcc}" "${include}" ${public})
else()
  cairn_left_out(older_language.every layout "${no_gcc}")
endif()

# What checks, observers and traces cost.
if(compiler_of_gcc AND TARGET cairn::eigen)
  get_target_property(eigen Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
  list(GET eigen 0 eigen)
  cairn_check_script(replay_check.cost ../../benchmarks/instructions.py --compiler "${CAIRN_GXX}" --eigen "${eigen}" --most-replay 5)
else()
  cairn_left_out(replay_check.cost layout "no g++ or no Eigen (Debian: g++, libeigen3-dev)")
endif()
if(compiler_of_gcc)
  cairn_check_script(run_no_observer_cost no_cost.py "${CAIRN_GXX}" "${PROJECT_SOURCE_DIR}" observer)
  cairn_check_script(run_params_cost no_cost.py "${CAIRN_GXX}" "${PROJECT_SOURCE_DIR}" params)
  cairn_check_script(trace.no_trace_cost no_cost.py "${CAIRN_GXX}" "${PROJECT_SOURCE_DIR}" trace)
endif()

# Every public name has its sentence; the other pages, their programs and pictures; the site.
find_program(CAIRN_DOXYGEN doxygen)
mark_as_advanced(CAIRN_DOXYGEN)
cairn_check_script(docs.every_public_name public_names.py "${CAIRN_DOXYGEN}" "${PROJECT_SOURCE_DIR}")
cairn_check_pages("docs/")
find_program(CAIRN_SPHINX sphinx-build HINTS "${PROJECT_SOURCE_DIR}/build/docs-packages/bin")
mark_as_advanced(CAIRN_SPHINX)
cairn_check_script(docs.site site.py "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/site" --build "${CAIRN_DOXYGEN}" "${CAIRN_SPHINX}")
if(CAIRN_BUILD_EXAMPLES)
  cairn_check_script(pictures pictures.py "$<TARGET_FILE:cairn_example_draw_schedule>" "${PROJECT_SOURCE_DIR}/docs/pictures"
    "$<TARGET_FILE:cairn_example_gallery>" $<$<TARGET_EXISTS:cairn_chains>:$<TARGET_FILE:cairn_chains>>)
  cairn_entry_needs(pictures cairn_example_draw_schedule cairn_example_gallery cairn_chains)
endif()

cairn_check(run.verbs sh "${CMAKE_CURRENT_SOURCE_DIR}/run_verbs.sh" "${PROJECT_SOURCE_DIR}")

# A machine without MPI: nothing that is optional is said to be missing.
cairn_check(configure_without_mpi "${CMAKE_COMMAND}" -E env PKG_CONFIG_LIBDIR=none "${CMAKE_COMMAND}" --fresh -S "${PROJECT_SOURCE_DIR}"
  -B "${CMAKE_CURRENT_BINARY_DIR}/without_mpi" -G "${CMAKE_GENERATOR}" -D MPI_EXECUTABLE_SUFFIX=.none -D CAIRN_WITH_CUDA=OFF -D CAIRN_BUILD_TESTS=OFF)
if(TEST configure_without_mpi)
  set_tests_properties(configure_without_mpi PROPERTIES PASS_REGULAR_EXPRESSION "Generating done" FAIL_REGULAR_EXPRESSION "mpi-cxx|not found")
endif()

# The package as its users meet it, and those of others' package managers, each used by a program; `./run packages`
# installs what these checks need.
set(cairn_labels packages)
set(from_prefix install_components tgz find_package_compiled)
if(TARGET cairn::eigen)
  list(APPEND from_prefix find_package_eigen)
else()
  cairn_left_out(consumer.find_package_eigen layout "${no_eigen}")
endif()
if(CAIRN_PKG_CONFIG)
  list(APPEND from_prefix pkg_config)
else()
  cairn_left_out(consumer.pkg_config layout "no pkg-config (Debian: pkg-config)")
endif()
cairn_check_consumers(${from_prefix} fetchcontent conan vcpkg_port vcpkg)
find_program(CAIRN_DPKG_DEB dpkg-deb)
mark_as_advanced(CAIRN_DPKG_DEB)
if(CAIRN_DPKG_DEB)
  cairn_check_consumers(deb)
else()
  cairn_left_out(consumer.deb layout "no dpkg-deb (Debian: dpkg)")
endif()
# The package of the command says which libraries it needs; CPack asks these two programs.
find_program(CAIRN_DPKG_SHLIBDEPS dpkg-shlibdeps)
find_program(CAIRN_FILE file)
mark_as_advanced(CAIRN_DPKG_SHLIBDEPS CAIRN_FILE)
if(NOT (CAIRN_DPKG_DEB AND CAIRN_DPKG_SHLIBDEPS AND CAIRN_FILE))
  cairn_left_out(consumer.deb_tool layout "no dpkg-deb, dpkg-shlibdeps or file (Debian: dpkg-dev, file)")
elseif(CAIRN_INSTALL AND TARGET cairn_tool)
  cairn_check_consumers(deb_tool)
else()
  cairn_left_out(consumer.deb_tool layout "the command-line tool is not built (Debian: libcli11-dev, nlohmann-json3-dev)")
endif()
# What docs/install.md says, done.
cairn_check_script(install_page install_page.py "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}" "${CMAKE_GENERATOR}")

# The library as one file.
foreach(kind IN ITEMS gcc clang)
  if(compiler_of_${kind})
    cairn_check_script(single_header.${kind} single_header.py "${compiler_of_${kind}}" "${PROJECT_SOURCE_DIR}")
  else()
    cairn_left_out(single_header.${kind} layout "${no_${kind}}")
  endif()
endforeach()
if(compiler_of_gcc)
  cairn_check_script(single_header.text single_header.py "${compiler_of_gcc}" "${PROJECT_SOURCE_DIR}" --text)
endif()
set(cairn_labels "")

if(Python3_EXECUTABLE)
  cairn_check(benchmarks.python_parses "${Python3_EXECUTABLE}" -c
    "import ast, pathlib, sys; files = list(pathlib.Path(sys.argv[1]).rglob('*.py')); [ast.parse(f.read_text(), str(f)) for f in files]; sys.exit(not files)"
    "${PROJECT_SOURCE_DIR}/benchmarks")
else()
  cairn_left_out(benchmarks.python_parses layout "${no_python}")
endif()

# The glue of docs/adjoints.md by the Enzyme that `./run adoption --enzyme` fetches, or that Python finds.
set(cairn_labels adoption)
if(compiler_of_clang)
  cairn_check_script(adoption.enzyme ../adapt/ad/enzyme/enzyme.py "${compiler_of_clang}" "${include}" "${PROJECT_SOURCE_DIR}/build/enzyme-packages/packages")
else()
  cairn_left_out(adoption.enzyme layout "${no_clang}")
endif()
set(cairn_labels "")
