#!/usr/bin/env python3
"""Compiles many files that must be refused as one, for `one_error.py --together`, because most of such a compilation is
headers.

    misuses_together.py gcc|clang|nvcc|gcc-late COMPILER FOLDER FILE... -- [FLAG...]

Each file stands in a namespace of its own. Into FOLDER goes, for each file that is told apart, FILE's name and .txt:
for nvcc and gcc-late what it prints for that file without -DCAIRN_FIXED; for gcc and clang an empty file if all compile
in silence with -DCAIRN_FIXED. gcc-late is for errors that g++ finds at the end, in instantiations. A file that is not
told apart, or that cannot stand in a namespace, gets none, and `one_error.py` compiles it alone. So this check itself
never fails.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What cannot stand in a namespace, or has flags of its own.
ALONE = re.compile(r"^// flags:|^#define|^namespace cairn|^template <>", re.M)
ERROR = re.compile(r"\berror(?: #[\w-]+)?:")


def united(files):
    texts = {file: file.read_text() for file in files}
    included = dict.fromkeys(line for text in texts.values() for line in re.findall(r"^#include <.*>$", text, re.M))
    spaces = (f'namespace {file.stem} {{\n#include "{file}"\n}}\n' for file in files)
    return "\n".join(included) + "\n" + "".join(spaces)


def blocks_of(kind, output):
    """For nvcc what stands between empty lines, for g++ each error with the lines before it that say how it came to
    be."""
    if kind == "nvcc":
        return output.split("\n\n")
    blocks, complete = [""], False
    for line in output.splitlines(keepends=True):
        if re.search(r"/together\.cpp:\d+[:,]$", line):
            continue  # a file that is compiled alone has no such line
        begins = re.match(r"In file included from |\S+: In ", line) or ERROR.search(line)
        if begins and complete:
            blocks.append("")
            complete = False
        blocks[-1] += line
        complete = complete or bool(ERROR.search(line))
    return blocks


def told_apart(blocks_found, files):
    """What the compiler prints for each file: the blocks whose places name this file and no other."""
    blocks = {}
    for block in blocks_found:
        if ERROR.search(block):
            named = [file for file in files if str(file) in block]
            if len(named) != 1:
                return {}  # an error of nobody could be anybody's second one
            blocks.setdefault(named[0], []).append(block)
    return {file: "\n\n".join(found) for file, found in blocks.items()}


def main():
    kind, compiler, folder, *rest = sys.argv[1:]
    end = rest.index("--")
    files, flags = [pathlib.Path(file) for file in rest[:end]], rest[end + 1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / f"{file.stem}.txt").unlink(missing_ok=True)

    files = [file for file in files if not ALONE.search(file.read_text())]
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "together.cpp"
        source.write_text(united(files))
        how = ["-x", "cu", "-c", "-o", os.path.join(scratch, "out.o")]
        if kind != "nvcc":
            how = ["-fsyntax-only", "-Wno-return-type"]  # main() in a namespace is a function like others
        if kind in ("gcc", "clang"):
            how.append("-DCAIRN_FIXED")
        done = subprocess.run([compiler, "-std=c++20", *how, *flags, str(source)], text=True,
                              env={**os.environ, "LC_ALL": "C"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if kind in ("nvcc", "gcc-late"):
        answers = told_apart(blocks_of(kind, done.stdout), files)
    else:
        answers = dict.fromkeys(files, "") if done.returncode == 0 and not done.stdout else {}
    for file, answer in answers.items():
        (folder / f"{file.stem}.txt").write_text(answer)
    print(f"{len(answers)} of {len(files)} files are told apart")
    if kind in ("gcc", "clang"):
        print(done.stdout)
    return 0


sys.exit(main())
