#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cairn_single.hpp does what the headers do: two files that include it, one of them twice, make one program, and the
program of README.md prints with it what README.md says.

    single_header.py COMPILER ROOT          compiles; prints each fault, exits 1 if there is one
    single_header.py COMPILER ROOT --text   looks only at the text: it has each header once, no adapter, standard
                                            headers at the top, and refuses what it cannot do
"""
import collections
import os
import pathlib
import re
import sys
import tempfile

from running import told

REFUSALS = {  # flags, what stands before it -> the sentence
    ("-std=c++17", ""): "cairn: C++20 is needed",
    ("-DCAIRN_SEPARATE_COMPILATION", ""): "cairn: cairn_single.hpp holds all bodies",
    ("", "#include <cairn/version.hpp>\n"): "cairn: cairn_single.hpp comes in place of the headers",
}
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def make(root, folder, *more):
    return told(sys.executable, root / "tools/single_header.py", "-o", folder / "cairn_single.hpp", *more)


def program_faults(compiler, root, folder):
    """Of README's first program, made to include the one file twice, and in the same program of what a consumer of the
    package calls."""
    include, one = "#include <cairn/cairn.hpp>\n", '#include "cairn_single.hpp"\n'
    found = re.search(r"^```cpp\n(.*?)^```\n^```text output\n(.*?)^```", (root / "README.md").read_text(), re.M | re.S)
    example, output, other = found[1], found[2], (root / "tests/consumers/main.cpp").read_text()
    if include not in example or include not in other:
        yield "the programs do not include <cairn/cairn.hpp>"
    (folder / "example.cpp").write_text(example.replace(include, one * 2))
    (folder / "other.cpp").write_text(other.replace(include, one).replace("int main()", "int other()"))
    for name in ("example", "other"):
        status, said = told(compiler, *FLAGS, "-O0", "-c", f"{name}.cpp", cwd=folder)
        if status != 0:
            yield f"{name}.cpp does not compile:\n{said[:3000]}"
            return
    status, said = told(compiler, "example.o", "other.o", "-o", "program", cwd=folder)
    if status == 0:
        status, said = told(folder / "program")
    if (status, said) != (0, output):
        yield f"README's program ends with {status} and prints\n{said[:3000]}but README.md says\n{output}"


def text_faults(compiler, root, folder):
    text = (folder / "cairn_single.hpp").read_text()
    if left := re.findall(r"#\s*include\s*[<\"](?:cairn/|[^>\"]*\.ipp).*", text):
        yield f"it includes headers of cairn: {left}"
    names = collections.Counter(re.findall(r"^// <(cairn/\S+)>$", text, re.M))
    if wrong := [name for name, times in names.items() if times > 1 or "/adapt/" in name]:
        yield f"it holds adapters, or headers twice: {wrong}"
    if re.search(r"^#include <\w+>$(?![^#]*#endif)", text[text.index("\nnamespace cairn"):], re.M):
        yield "standard headers stand below the top"
    for (flag, before), sentence in REFUSALS.items():
        (folder / "refused.cpp").write_text(before + '#include "cairn_single.hpp"\n')
        standard = [flag] if flag.startswith("-std") else ["-std=c++20", *filter(None, [flag])]
        status, said = told(compiler, *standard, "-E", "-o", os.devnull, f"-I{root / 'include'}",
                            folder / "refused.cpp", env=os.environ | {"LC_ALL": "C"})
        errors = [line for line in said.splitlines() if re.search(r"\berror:", line)]
        if status == 0 or not errors or sentence not in errors[0]:
            yield f"{flag or before.strip()}: not refused with '{sentence}':\n{said[:1000]}"
    for name in ("cairn/adapt/eigen.hpp", "cairn/no_such.hpp"):
        if make(root, folder, name)[0] == 0:
            yield f"{name} is taken"
    if make(root, folder, "cairn/plan/text/memory_curve.hpp")[0] != 0:
        yield "a header more is refused"
    elif "// <cairn/plan/text/memory_curve.hpp>\n" not in (folder / "cairn_single.hpp").read_text():
        yield "a header more is not there"


def main():
    compiler, root, *rest = sys.argv[1:]
    root = pathlib.Path(root).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        status, said = make(root, folder)
        assert status == 0, said
        found = list((text_faults if rest == ["--text"] else program_faults)(compiler, root, folder))
    print("\n".join(found) or "it does what the headers do")
    return bool(found)


sys.exit(main())
