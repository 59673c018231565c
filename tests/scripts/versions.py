#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The version stands in include/cairn/version.hpp; what must repeat it says the same.

    versions.py ROOT     prints each place that says another one, exits 1 if there is one
    versions.py --self   plants a wrong one in each kind of place and checks that it is found
"""
import json
import re
import sys

import planted

NUMBER = r"(\d+(?:\.\d+)+)"
# Where programs and texts name a version of cairn.
NAMED = [re.compile(pattern + NUMBER) for pattern in (
    r"find_package\(cairn ", r"GIT_TAG v", r"CPMAddPackage\(NAME cairn .*VERSION ", r"libcairn-dev_", r"`cairn/", r'version\("', r'tag="v')]
TEXTS = ("README.md", "docs/**/*.md", "tests/consumers/**/CMakeLists.txt", "packaging/**/CMakeLists.txt",
         "packaging/spack/**/package.py")
NOT_INSTALLED = "0.9"  # what tests/consumers/find_package must not find


def faults(root):
    header = (root / "include/cairn/version.hpp").read_text()
    parts = [re.search(rf"CAIRN_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    version = re.search(rf'CAIRN_VERSION_STRING "{NUMBER}"', header)[1]
    if version != ".".join(parts):
        yield f"include/cairn/version.hpp: {version}, and {'.'.join(parts)}"
    cited = re.search(rf"^version: {NUMBER}$", (root / "CITATION.cff").read_text(), re.M)
    if not cited or cited[1] != version:
        yield f"CITATION.cff: not {version}"
    port = "packaging/vcpkg/ports/cairn/vcpkg.json"
    if json.loads((root / port).read_text())["version"] != version:
        yield f"{port}: not {version}"
    for pattern in TEXTS:
        for file in sorted(root.glob(pattern)):
            for named in NAMED:
                for found in named.findall(file.read_text()):
                    if found not in (version, ".".join(parts[:2]), NOT_INSTALLED):
                        yield f"{file.relative_to(root)}: {found}, not {version}"


HEADER, PORT = "include/cairn/version.hpp", "packaging/vcpkg/ports/cairn/vcpkg.json"
SOUND = {
    HEADER: "#define CAIRN_VERSION_MAJOR 1\n#define CAIRN_VERSION_MINOR 2\n#define CAIRN_VERSION_PATCH 3\n"
            '#define CAIRN_VERSION_STRING "1.2.3"\n',
    "CITATION.cff": "version: 1.2.3\n", PORT: '{"version": "1.2.3"}',
    "README.md": "find_package(cairn 1.2 REQUIRED)\n",
    "docs/x.md": "GIT_TAG v1.2.3\nCPMAddPackage(NAME cairn GIT_REPOSITORY x VERSION 1.2.3)\n"
                 "libcairn-dev_1.2.3-1_all.deb `cairn/1.2.3`\n",
    "packaging/spack/x/package.py": 'version("main", branch="main")\nversion("1.2.3", tag="v1.2.3")\n',
}
PLANTED = [
    (HEADER, "PATCH 3", "PATCH 4", "1.2.3, and 1.2.4"), (HEADER, '"1.2.3"', '"1.2.4"', "1.2.4, and 1.2.3"),
    ("CITATION.cff", "1.2.3", "1.2.4", "CITATION.cff: not 1.2.3"), (PORT, "1.2.3", "1.2.4", "vcpkg.json: not 1.2.3"),
    ("README.md", "1.2", "1.1", "README.md: 1.1, not"), ("docs/x.md", "v1.2.3", "v1.2.2", "x.md: 1.2.2, not"),
    ("docs/x.md", "VERSION 1.2.3", "VERSION 1.3", "x.md: 1.3, not"),
    ("docs/x.md", "dev_1.2.3", "dev_1.2.30", "x.md: 1.2.30, not"),
    ("docs/x.md", "cairn/1.2.3", "cairn/1.3.2", "x.md: 1.3.2, not"),
    ("packaging/spack/x/package.py", '("1.2.3', '("1.3.2', "package.py: 1.3.2, not"),
    ("packaging/spack/x/package.py", "v1.2.3", "v1.3.2", "package.py: 1.3.2, not"),
]

sys.exit(planted.main(faults, SOUND, PLANTED, "one version"))
