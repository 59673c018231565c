# SPDX-License-Identifier: Apache-2.0
"""spack_stand_ins.py RECIPE: the arguments for CMake of a recipe of Spack, a line each. Stand-ins take the place of what
it calls of Spack, as the packaging guide describes that; what they are given beyond that is refused."""
import runpy
import sys
import types


class CMakePackage:
    def define(self, name, value):
        return f"-D{name}:BOOL={'ON' if value else 'OFF'}"


def version(name, branch=None, tag=None):
    assert (branch or tag == f"v{name}") and not (branch and tag), (name, branch, tag)


def variant(name, default, description):
    known.add(name)


def depends_on(spec, when="", type=("build", "link")):
    assert not when or when[0] == "+" and when[1:] in known, f"{spec}: no variant {when}"


known = set()
stand_ins = {"license": lambda name: None, "version": version, "variant": variant, "depends_on": depends_on,
             "conflicts": lambda spec, msg="": None}
for name, has in (("spack", {}), ("spack.package", stand_ins), ("spack_repo", {}), ("spack_repo.builtin", {}),
                  ("spack_repo.builtin.build_systems", {}), ("spack_repo.builtin.build_systems.cmake", {
                      "CMakePackage": CMakePackage})):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(has)
print(*runpy.run_path(sys.argv[1])["Cairn"]().cmake_args(), sep="\n")
