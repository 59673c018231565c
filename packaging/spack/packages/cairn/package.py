# SPDX-License-Identifier: Apache-2.0
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Cairn(CMakePackage):
    """Checkpointed reverse-mode differentiation of long loops, header-only C++20."""

    homepage = "https://example.org/cairn"
    git = "https://example.org/cairn.git"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")  # an index wants commit="...", too

    variant("eigen", default=False, description="States of Eigen: what the component eigen needs")
    variant("json", default=False, description="Files as JSON: what the component nlohmann_json needs")
    variant("mpi", default=False, description="Sweeps on ranks: what the component mpi needs")
    variant("zlib", default=False, description="Compressed checkpoints: what the component zlib needs")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("eigen@3.3:", when="+eigen")
    depends_on("nlohmann-json@3.9:", when="+json")
    depends_on("mpi", when="+mpi")
    depends_on("zlib-api", when="+zlib")

    conflicts("%gcc@:11")
    conflicts("%clang@:13")

    def cmake_args(self):
        off = [self.define(name, False) for name in ("CAIRN_BUILD_TESTS", "CAIRN_BUILD_EXAMPLES")]
        return [*off, self.define("CAIRN_INSTALL_ALL", True)]
