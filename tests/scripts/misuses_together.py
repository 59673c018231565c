#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles many files that must be refused as one, for `one_error.py`, because most of such a compilation is headers.

    misuses_together.py refused|fixed gcc|clang|nvcc COMPILER FOLDER FILE... -- [FLAG...]
    misuses_together.py --self    holds what it makes of known words of compilers against what they say of one file

Each file stands in a namespace of its own. Into FOLDER goes, for each file that is told apart, FILE's name and .txt:

    refused    what the compiler would print for that file alone
    fixed      nothing, if it compiles in silence with -DCAIRN_FIXED

A compiler says an error once where two files instantiate the same, and nvcc instantiates functions only where no other
error came before: files of which nothing is said are compiled together again, as long as that tells some of them apart.

A file that is not told apart, or that cannot stand in a namespace, or that has other flags than the first one, gets
none, and `one_error.py` compiles it alone. So this check itself never fails.
"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What cannot stand in a namespace.
ALONE = re.compile(r"^#define|^namespace cairn|^template <>", re.M)
FLAGS = re.compile(r"^// flags: (.+)", re.M)
ERROR = re.compile(r"\berror(?: #[\w-]+)?:")
INCLUDED = re.compile(r"^#include <([^>]+)>", re.M)
# How compilers say through which headers they came to a place: before its first error there, and not before the others.
CHAIN = re.compile(r"(?:In file included|\s+) from [^\n]*[:,]\n")
PLACE = re.compile(r"([^\s:]+):(?:\d+:)*(?= |\n)")


def united(files):
    texts = {file: file.read_text() for file in files}
    included = dict.fromkeys(line for text in texts.values() for line in re.findall(r"^#include <.*>$", text, re.M))
    spaces = (f'namespace {file.stem} {{\n#include "{file}"\n}}\n' for file in files)
    return "\n".join(included) + "\n" + "".join(spaces)


@functools.cache
def lines_included(path):
    text = path.read_text()
    return [(name, text.count("\n", 0, found.start()) + 1) for found in INCLUDED.finditer(text) for name in [found[1]]]


def first_includers(file, folders):
    """For each header of ours that a compiler reads for this file alone: which one includes it first, and on which
    line."""
    found = {file: None}

    def read(path):
        for name, line in lines_included(path):
            header = next((folder / name for folder in folders if (folder / name).is_file()), None)
            if header and header not in found:
                found[header] = (path, line)
                read(header)

    read(file)
    return found


def chain_to(kind, place, includers):
    """The words before an error at that place, where a file is compiled alone."""
    steps = []
    while includers.get(place):
        place, line = includers[place]
        steps.append((place, line))
    if kind == "clang":
        return "".join(f"In file included from {path}:{line}:\n" for path, line in reversed(steps))
    lines = [f"{path}:{line}" for path, line in steps]
    return ("In file included from " + ",\n                 from ".join(lines) + ":\n") if lines else ""


def blocks_of(kind, output):
    """For nvcc what stands between empty lines, for others each error with the lines that belong to it, without those
    of CHAIN: g++ says before an error how it came to be, clang++ behind it."""
    if kind == "nvcc":
        return output.split("\n\n")
    blocks, complete = [""], False
    for line in output.splitlines(keepends=True):
        if kind == "clang":
            begins = ERROR.search(line) or CHAIN.fullmatch(line)
        else:
            begins = re.match(r"In file included from |\S+: In ", line) or ERROR.search(line)
        if begins and complete:
            blocks.append("")
            complete = False
        if not CHAIN.fullmatch(line):
            blocks[-1] += line
        complete = complete or bool(ERROR.search(line))
    if kind == "clang":
        blocks[-1] = re.sub(r"^\d+ errors? generated\.\n", "", blocks[-1], flags=re.M)
    return blocks


def told_apart(kind, blocks_found, files, folders):
    """What the compiler prints for each file: the blocks whose places name this file and no other."""
    blocks = {}
    for block in blocks_found:
        if ERROR.search(block):
            named = [file for file in files if str(file) in block]
            if len(named) != 1:
                return {}  # an error of nobody could be anybody's second one
            place = PLACE.match(block)
            if kind != "nvcc" and place:
                block = chain_to(kind, pathlib.Path(place[1]), first_includers(named[0], folders)) + block
            blocks.setdefault(named[0], []).append(block)
    ending = "1 error generated.\n" if kind == "clang" else ""
    return {file: "\n\n".join(found) + ending for file, found in blocks.items()}


def folders_of(flags):
    return [pathlib.Path(flag[2:]) for flag in flags if flag.startswith("-I")]


def compiled(kind, compiler, files, flags):
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "together.cpp"
        source.write_text(united(files))
        how = ["-x", "cu", "-c", "-Xcudafe", "--error_limit=100000", "-o", os.path.join(scratch, "out.o")]
        if kind != "nvcc":
            how = ["-fsyntax-only", "-Wno-return-type"]  # main() in a namespace is a function like others
        if kind == "clang":
            how.append("-ferror-limit=0")
        done = subprocess.run([compiler, "-std=c++20", *how, *flags, str(source)], text=True,
                              env={**os.environ, "LC_ALL": "C"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def refusals(kind, compiler, files, flags):
    """What the compiler prints for each file that is told apart."""
    answers, left = {}, files
    while len(left) > 1:
        _, said = compiled(kind, compiler, left, flags)
        found = told_apart(kind, blocks_of(kind, said), left, folders_of(flags))
        answers |= found
        left = [file for file in left if file not in found]
        if not found:
            break
    return answers


def silent(kind, compiler, files, flags):
    """The files that compile in silence without those that the compiler names."""
    while files:
        status, said = compiled(kind, compiler, files, flags)
        if status == 0 and not said:
            return files
        print(said)
        others = [file for file in files if str(file) not in said]
        files = others if len(others) < len(files) else []
    return files


SAID = {
    "gcc": """In file included from /i/cairn/b.hpp:1,
                 from /i/cairn/all.hpp:1,
                 from /tmp/together.cpp:1:
/i/cairn/a.hpp: In instantiation of 'void f()':
/m/one.cpp:3:1:   required from here
/i/cairn/a.hpp:4:3: error: static assertion failed: cairn: one
/i/cairn/a.hpp: In instantiation of 'void f()':
/m/two.cpp:3:1:   required from here
/i/cairn/a.hpp:4:3: error: static assertion failed: cairn: two
In file included from /tmp/together.cpp:4:
/m/three.cpp: In function 'int main()':
/m/three.cpp:3:1: error: cairn: three
""",
    "clang": """In file included from /tmp/together.cpp:1:
In file included from /i/cairn/all.hpp:1:
In file included from /i/cairn/b.hpp:1:
/i/cairn/a.hpp:4:3: error: static assertion failed: cairn: one
/m/one.cpp:3:1: note: in instantiation of 'f' requested here
/i/cairn/a.hpp:4:3: error: static assertion failed: cairn: two
/m/two.cpp:3:1: note: in instantiation of 'f' requested here
In file included from /tmp/together.cpp:4:
/m/three.cpp:3:1: error: cairn: three
3 errors generated.
""",
}


def self_test():
    """Three files: one includes a.hpp itself, one through b.hpp, and in one the error stands in the file."""
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for name, text in {"i/cairn/a.hpp": "", "i/cairn/b.hpp": "#include <cairn/a.hpp>\n",
                           "i/cairn/all.hpp": "#include <cairn/b.hpp>\n", "m/one.cpp": "#include <cairn/a.hpp>\n",
                           "m/two.cpp": "#include <cairn/b.hpp>\n", "m/three.cpp": ""}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        files = [root / "m" / f"{name}.cpp" for name in ("one", "two", "three")]
        for kind, said in SAID.items():
            said = re.sub(r"/([im])/", rf"{root}/\1/", said)
            answers = told_apart(kind, blocks_of(kind, said), files, [root / "i"])
            for file, chain in zip(files, (1, 2, 0)):
                answer = answers.get(file, "")
                through = sum(bool(CHAIN.fullmatch(line)) for line in answer.splitlines(keepends=True))
                if len(ERROR.findall(answer)) != 1 or through != chain or f"cairn: {file.stem}" not in answer:
                    wrong += 1
                    print(f"{kind}: {through} lines through headers, not {chain}, in\n{answer}")
            stray = told_apart(kind, blocks_of(kind, said + f"{root}/i/cairn/a.hpp:9:9: error: of nobody\n"), files, [])
            if stray:
                wrong += 1
                print(f"{kind}: an error that names no file is taken for somebody's")
    print(f"{wrong} faults")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self"]:
        return self_test()
    what, kind, compiler, folder, *rest = sys.argv[1:]
    end = rest.index("--")
    files, flags = [pathlib.Path(file) for file in rest[:end]], rest[end + 1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / f"{file.stem}.txt").unlink(missing_ok=True)

    own_flags = {file: FLAGS.findall(file.read_text()) for file in files}
    together = [file for file in files if own_flags[file] == own_flags[files[0]] and not ALONE.search(file.read_text())]
    flags += " ".join(own_flags[files[0]]).split()
    if what == "refused":
        answers = refusals(kind, compiler, together, flags)
    else:
        answers = dict.fromkeys(silent(kind, compiler, together, [*flags, "-DCAIRN_FIXED"]), "")
    for file, answer in answers.items():
        (folder / f"{file.stem}.txt").write_text(answer)
    print(f"{len(answers)} of {len(files)} files are told apart")
    return 0


sys.exit(main())
