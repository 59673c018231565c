#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/install.md tells its readers, in a scratch folder and without a network.

    install_page.py ROOT COMPILER GENERATOR

A ```sh fence is run as it stands, where the checkout is called cairn; a program app that it makes must run. A ```cmake
fence stands in a project that is configured, built and run. The repository at example.org is one made of this checkout,
with the tag of its version. Stand-ins take the place of the compiler's name, of `sudo apt-get install`, which unpacks
instead, and of CPM.cmake. A fence that needs a program which is not here is passed over.
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile

from running import told

FENCE = re.compile(r"^```(sh|cmake)\n(.*?)^```[ \t]*$", re.M | re.S)
ADDRESS = "https://example.org/cairn.git"
NEEDS = {  # what a fence says: the program that it needs, and where that comes from
    "pkg-config": ("pkg-config", "Debian: pkg-config"), "cpack -G DEB": ("dpkg-deb", "Debian: dpkg"),
    "conan create": ("conan", "./run packages installs it"), "vcpkg install": ("vcpkg", "it is not in Debian"),
    "spack install": ("spack", "it is not in Debian"),
    ADDRESS: ("git", "Debian: git")}
CPM = """\
include(FetchContent)
function(CPMAddPackage)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;GIT_REPOSITORY;VERSION" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${arg_UNPARSED_ARGUMENTS}")
  endif()
  FetchContent_Declare(${arg_NAME} GIT_REPOSITORY "${arg_GIT_REPOSITORY}" GIT_TAG "v${arg_VERSION}")
  FetchContent_MakeAvailable(${arg_NAME})
endfunction()
"""
PROJECT = "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\nadd_executable(app app.cpp)\n"


class Reader:
    """A folder in which the page is followed, and what the commands in it see of the machine."""

    def __init__(self, scratch, root, compiler, generator):
        self.folder, self.root = scratch / "work", root
        programs, home, unpacked = scratch / "bin", scratch / "home", scratch / "unpacked"
        for folder in (self.folder, programs, home):
            folder.mkdir()
        (self.folder / "cairn").symlink_to(self.root)
        main = (self.root / "tests/consumers/main.cpp").read_text()
        (self.folder / "app.cpp").write_text(main)
        (self.folder / "app_single.cpp").write_text(main.replace("<cairn/cairn.hpp>", '"cairn_single.hpp"'))
        (self.folder / "CPM.cmake").write_text(CPM)
        for name, does in (("g++", f'exec "{compiler}" -idirafter "{unpacked}/usr/include" "$@"'),
                           ("sudo", f'[ "$1 $2" = "apt-get install" ] && exec dpkg-deb -x "$3" "{unpacked}"')):
            (programs / name).write_text(f"#!/bin/sh\n{does}\n")
            (programs / name).chmod(0o755)
        self.environment = {**os.environ, "LC_ALL": "C", "HOME": str(home), "CXX": compiler,
                            "CMAKE_GENERATOR": generator, "CMAKE_PREFIX_PATH": str(home / ".local"),
                            "CONAN_HOME": str(home / "conan"),
                            "PATH": f"{programs}:{os.environ['PATH']}:{self.root / 'build/conan/bin'}"}
        self.environment.pop("PKG_CONFIG_PATH", None)
        (home / "conan").mkdir()  # nothing is built within the checkout
        (home / "conan/global.conf").write_text(f"tools.cmake.cmake_layout:test_folder={home / 'conan_test'}\n")
        self.repository = scratch / "cairn.git"

    def run(self, *command, within=None):
        status, said = told(*command, cwd=within or self.folder, env=self.environment)
        return f"{command[-1]} ends with {status}\n{said[-3000:]}" if status else ""

    def make_repository(self):
        """What others would clone: what CMake needs of this checkout, and the tag of its version."""
        if self.repository.exists():
            return
        self.repository.mkdir()
        for name in ("CMakeLists.txt", "LICENSE", "cmake", "include", "packaging"):
            copy = shutil.copytree if (self.root / name).is_dir() else shutil.copy
            copy(self.root / name, self.repository / name)
        version = re.search(r'VERSION_STRING "([^"]+)"', (self.root / "include/cairn/version.hpp").read_text())[1]
        git = ("git", "-c", "user.name=tests", "-c", "user.email=tests@localhost", "-c", "init.defaultBranch=main")
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "."), ("tag", f"v{version}")):
            if said := self.run(*git, *words, within=self.repository):
                raise RuntimeError(said)

    def lacks(self, code):
        for words, (program, source) in NEEDS.items():
            if words in code and not shutil.which(program, path=self.environment["PATH"]):
                return f"no {program} ({source})"
        return ""

    def follow(self, language, code):
        """What goes wrong; nothing if all is well."""
        if ADDRESS in code:
            self.make_repository()
            code = code.replace(ADDRESS, self.repository.as_uri())
        app = self.folder / "app"
        app.unlink(missing_ok=True)
        if language == "sh":
            return self.run("sh", "-euc", code) or (self.run(str(app)) if " -o app" in code else "")
        with tempfile.TemporaryDirectory(dir=self.folder) as project:
            project = pathlib.Path(project)
            for name in ("cairn", "app.cpp", "CPM.cmake"):
                (project / name).symlink_to(self.folder / name)
            (project / "CMakeLists.txt").write_text(PROJECT + code)
            said = self.run("cmake", "-S", ".", "-B", "build", within=project)
            if said or "cairn::compiled" in code:  # consumer.find_package_compiled builds it: a quarter of a minute
                return said
            return (self.run("cmake", "--build", "build", within=project)
                    or self.run(str(project / "build/app"), within=project))


def main():
    root, compiler, generator = sys.argv[1:]
    page = pathlib.Path(root, "docs/install.md")
    text, followed, wrong = page.read_text(), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        person = Reader(pathlib.Path(scratch), pathlib.Path(root).resolve(), compiler, generator)
        for fence in FENCE.finditer(text):
            where = f"docs/install.md:{text.count(chr(10), 0, fence.start()) + 1}"
            if why := person.lacks(fence[2]):
                print(f"{where}: passed over, {why}")
                continue
            followed += 1
            if said := person.follow(*fence.groups()):
                wrong += 1
                print(f"{where}: {said}")
    print(f"{followed} snippets of {page}, {wrong} wrong")
    return bool(wrong) or not followed


sys.exit(main())
