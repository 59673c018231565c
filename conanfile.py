# SPDX-License-Identifier: Apache-2.0
"""cairn for Conan 2: `conan create . --build=missing` in this folder."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import load


class Cairn(ConanFile):
    name = "cairn"
    description = "Checkpointed reverse-mode differentiation of long loops, header-only C++20"
    license = "Apache-2.0"
    topics = ("checkpointing", "adjoint", "automatic-differentiation", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*"
    test_package_folder = os.path.join("packaging", "conan", "test_package")
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include", "cairn", "version.hpp"))
        self.version = re.search(r'CAIRN_VERSION_STRING "([^"]+)"', text)[1]

    def layout(self):
        self.folders.build = "build"
        self.folders.generators = "build/generators"

    def package_id(self):
        self.info.clear()  # one package for all compilers and machines

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(CAIRN_BUILD_TESTS=False, CAIRN_BUILD_EXAMPLES=False, CAIRN_INSTALL_ALL=True)
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # find_package finds cairn's own files, which have its components; Conan makes none.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "cairn")]
        self.cpp_info.set_property("pkg_config_name", "cairn")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
