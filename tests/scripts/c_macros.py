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
import subprocess
import sys
import tempfile

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
}
INCLUDE = re.compile(r"^#include <([^> ]+)>", re.M)  # a name with a space is no header: language.hpp stops there


def with_included(headers):
    """The text of each header, and of those of cairn that they include, by its path."""
    texts, left = {}, [header.resolve() for header in headers]
    while left:
        header = left.pop()
        if header in texts:
            continue
        texts[header] = header.read_text()
        root = next((folder for folder in header.parents if folder.name == "include"), None)
        if root:
            left += [root / name for name in INCLUDE.findall(texts[header]) if name.startswith("cairn/")]
    return texts


def compile_behind(compiler, headers, flags):
    texts = with_included(headers)
    others = sorted({name for text in texts.values() for name in INCLUDE.findall(text)
                     if not name.startswith("cairn/")})
    unit = [line for name in others + C_HEADERS  # Windows has headers of its own
            for line in (f"#if __has_include(<{name}>)", f"#include <{name}>", "#endif")]
    for macro, value in MACROS.items():
        unit += [f"#undef {macro.split('(')[0]}", f"#define {macro} {value}"]
    unit += [f'#include "{header.resolve()}"' for header in headers]
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "behind_c.cpp")
        source.write_text("\n".join(unit) + "\n")
        return subprocess.run([compiler, "-std=gnu++20", "-fsyntax-only", "-fmax-errors=20", *flags, source], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def self_test(compiler):
    wrong = 0
    for planted in ["template <class... I> struct x {};", "inline int f(int major) { return major; }",
                    "enum class e { OVERFLOW };",
                    "#include <algorithm>\ninline int f() { return std::max(1, 2); }", "inline int small = 1;"]:
        with tempfile.TemporaryDirectory() as scratch:
            header = pathlib.Path(scratch, "planted.hpp")
            header.write_text(f"#pragma once\n{planted}\n")
            found = compile_behind(compiler, [header], []).returncode != 0
        if not found:
            wrong += 1
            print(f"not found: {planted}")
    print(f"{wrong} planted names were not found")
    return bool(wrong)


def main():
    compiler, *rest = sys.argv[1:]
    if rest == ["--self"]:
        return self_test(compiler)
    at = rest.index("--")
    done = compile_behind(compiler, [pathlib.Path(name) for name in rest[:at]], rest[at + 1:])
    print(done.stdout or f"{at} headers compile behind {len(C_HEADERS)} headers of C and {len(MACROS)} macros more")
    return done.returncode


sys.exit(main())
