#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No name in the headers is a macro of a common C header: they compile behind those, in gnu++20.

    c_macros.py COMPILER HEADER... -- FLAG...    compiles HEADERs in one translation unit, behind C's headers and the
                                                 macros of windows.h
    c_macros.py COMPILER --self                  plants names that are macros and checks that they are found

What the headers include of others comes first, for those cannot do with such macros either.
"""
import pathlib
import re
import sys
import tempfile

import planted
from running import told

C_HEADERS = """assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h
               stdarg.h stdio.h stdlib.h string.h tgmath.h time.h wchar.h sys/mman.h sys/param.h sys/stat.h
               sys/sysmacros.h sys/types.h fcntl.h syslog.h termios.h unistd.h""".split()
# Of windows.h, X.h and math.h of old; what their headers make of them does not matter here.
MACROS = {
    "min(a, b)": "(((a) < (b)) ? (a) : (b))",
    "max(a, b)": "(((a) > (b)) ? (a) : (b))",
    **{name: "" for name in "near far pascal cdecl IN OUT OPTIONAL CALLBACK".split()},
    **{name: "~" for name in """small hyper interface ERROR NO_ERROR DELETE DIFFERENCE DOMAIN SING OVERFLOW UNDERFLOW
                                HUGE PLOSS TLOSS STRICT TRUE FALSE BOOL None Bool Status Success Always Never Unsorted
                                True False linux unix major minor makedev""".split()},
    # Of programs: `#define N 100`. T and U are customary in templates, and nobody can define them.
    **{name: "~" for name in "ABCDEFGHIJKLMNOPQRSVWXYZ"},
}
INCLUDE = re.compile(r"^#include <([^> ]+)>", re.M)  # a name with a space is no header: language.hpp stops there


def compile_behind(compiler, headers, flags):
    """Of the headers that the compiler reads for these, those of others come first."""
    seen, left, others = set(), list(headers), set()
    while left:
        header = left.pop().resolve()
        if header in seen:
            continue
        seen.add(header)
        for name in INCLUDE.findall(header.read_text()):
            if name.startswith("cairn/"):
                left += [folder / name for folder in header.parents if folder.name == "include"]
            else:
                others.add(name)
    unit = [line for name in sorted(others) + C_HEADERS  # Windows has headers of its own
            for line in (f"#if __has_include(<{name}>)", f"#include <{name}>", "#endif")]
    for macro, value in MACROS.items():
        unit += [f"#undef {macro.split('(')[0]}", f"#define {macro} {value}"]
    unit += [f'#include "{header.resolve()}"' for header in headers]
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "behind_c.cpp")
        source.write_text("\n".join(unit) + "\n")
        return told(compiler, "-std=gnu++20", "-fsyntax-only", "-fmax-errors=20", *flags, source)


def self_test(compiler):
    def faults(root):
        status, said = compile_behind(compiler, [root / "x.hpp"], [])
        return [said] * (status != 0)
    texts = ("template <class... I> struct x {};", "inline int small = 1;", "template <class N> struct y {};",
             "#include <algorithm>\ninline int f() { return std::max(1, 2); }")
    return planted.self_test(faults, {"x.hpp": "template <class T> struct fine {};\n"},
                             [("x.hpp", "", text, "error: ") for text in texts])


def main():
    compiler, *rest = sys.argv[1:]
    if rest == ["--self"]:
        return self_test(compiler)
    at = rest.index("--")
    status, said = compile_behind(compiler, [pathlib.Path(name) for name in rest[:at]], rest[at + 1:])
    print(said or f"{at} headers compile behind {len(C_HEADERS)} headers of C and {len(MACROS)} macros more")
    return status


sys.exit(main())
