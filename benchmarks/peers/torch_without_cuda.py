#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets the torch wheel run on the processor only, without 2 GB of CUDA wheels.

    torch_without_cuda.py COMPILER TORCH_LIB_FOLDER

The wheel's libraries refuse to load without the CUDA libraries that they were linked to, also where nothing of CUDA is
ever used. Each of these becomes a stand-in here, whose functions all return 100: `cudaErrorNoDevice`, which is the
truth for these benchmarks.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

cuda_library = re.compile(r"lib(cu|nv|nccl)")
cuda_function = re.compile(r"_*(cu|nv|nccl)")


def read(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def missing(folder):
    """{CUDA library that is not there: {version of symbols: functions wanted of it}}; functions without a version stand
    in the first."""
    files = [path for path in folder.glob("lib*.so*") if path.is_file()]
    here, unversioned = {path.name for path in files}, set()
    wanted = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in files:
        for library in re.findall(r"\(NEEDED\).*\[(.*)\]", read("readelf", "-d", path)):
            if cuda_library.match(library) and library not in here:
                wanted[library]
        library_of, library = {}, None
        for kind, name in re.findall(r"\b(File|Name): (\S+)", read("readelf", "-VW", path)):
            if kind == "File":
                library = name
            elif library in wanted:
                library_of[name] = library
        for symbol in re.findall(r" [Uw] (\S+)", read("nm", "-D", "--undefined-only", path)):
            name, _, version = symbol.partition("@")
            if version in library_of:
                wanted[library_of[version]][version].add(name)
            elif not version and cuda_function.match(name):
                unversioned.add(name)
    if wanted:
        versioned = {name for of in wanted.values() for names in of.values() for name in names}
        wanted[min(wanted)][""] |= unversioned - versioned
    return wanted


def main():
    compiler, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        source, script = pathlib.Path(scratch, "none.c"), pathlib.Path(scratch, "none.map")
        for library, versions in missing(folder).items():
            source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for names in versions.values()
                                      for name in sorted(names)))
            nodes = [f"{version} {{ {' '.join(name + ';' for name in sorted(names))} }};\n"
                     for version, names in versions.items() if version]
            script.write_text("".join(nodes))
            versioned = [f"-Wl,--version-script={script}"] if nodes else []
            subprocess.run([compiler, "-x", "c", "-w", "-shared", "-fPIC", source, f"-Wl,-soname,{library}", *versioned,
                            "-o", folder / library], check=True)


if __name__ == "__main__":
    main()
