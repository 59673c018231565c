#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that must be refused, in our words and briefly.

    misuses.py gcc|clang|nvcc COMPILER FILE... [--refused] [--verdicts VERDICTS] -- [FLAG...]
    misuses.py --self gcc|clang COMPILER    files with known faults, and what is said of them

A file's first line is `// error: REGEX`; a line `// flags: ...` adds flags. It passes if the compiler stops with one
error, the sentence within the first 5 lines, and at most 8 lines in all (clang: 13), and if with -DCAIRN_FIXED it
compiles in silence, so that nothing else is wrong with it. --refused leaves that out. No lines here are empty ones,
those that only say through which headers a place was included, and excerpts of the source with its line numbers, which
g++ 14 prints.

Most of a compilation is headers, so all files are compiled as one, each in a namespace of its own. A compiler says an
error once where two files instantiate the same, and nvcc instantiates functions only where no other error came before:
files of which nothing is said are compiled together again, as long as that tells some of them apart. What is not told
apart, does not pass, has flags of its own or cannot stand in a namespace is compiled alone, and that decides.

With --verdicts what is to be said of each file goes to VERDICTS, and the script itself does not fail.
"""
import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile

from running import told

MOST_LINES = {"gcc": 8, "clang": 13, "nvcc": 8}
SENTENCE_WITHIN = 5
FLAGS = re.compile(r"^// flags: (.+)", re.M)
ALONE = re.compile(r"^// flags: |^#define|^namespace cairn|^template <>", re.M)
ERROR = re.compile(r"\berror(?: #[\w-]+)?:")
NO_LINE = re.compile(r" *(?:\d+ )?\|(?: |$)|(?:In file included|\s+) from .*[:,]$|\d+ errors? (?:generated|detected)")


def compiled(kind, compiler, files, flags):
    """The status of a compilation, and what it prints without what is no line here."""
    how = ["-fsyntax-only", *(["-ferror-limit=0"] if kind == "clang" else [])]
    with tempfile.TemporaryDirectory() as scratch:
        source = files[0]
        if kind == "nvcc":
            how = ["-x", "cu", "-c", "-Xcudafe", "--error_limit=100000", "-o", os.path.join(scratch, "out.o")]
        if len(files) > 1:
            texts = [file.read_text() for file in files]
            lines = sorted({line for text in texts for line in re.findall("^#include <.*>$", text, re.M)})
            lines += [f'namespace {file.stem} {{\n#include "{file}"\n}}' for file in files]
            source = pathlib.Path(scratch, "together.cpp")
            source.write_text("\n".join(lines))
            how += [] if kind == "nvcc" else ["-Wno-return-type"]  # main() in a namespace is a function like others
        status, said = told(compiler, "-std=c++20", *how, *flags, source, env={**os.environ, "LC_ALL": "C"})
    return status, "".join(line for line in said.splitlines(keepends=True) if not NO_LINE.match(line))


def told_apart(kind, said, files):
    """What the compiler says of each file: the blocks that name this file and no other. Blocks of nvcc stand between
    empty lines, those of others hold one error: g++ says before it how it came to be, clang++ behind it."""
    blocks = said.split("\n\n") if kind == "nvcc" else [""]
    for line in [] if kind == "nvcc" else said.splitlines(keepends=True):
        if ERROR.search(blocks[-1]) and (ERROR.search(line) or (kind == "gcc" and re.match(r"\S+: In ", line))):
            blocks.append("")
        blocks[-1] += line
    answers = {}
    for block in filter(ERROR.search, blocks):
        named = [file for file in files if str(file) in block]
        if len(named) != 1:
            return {}  # an error of nobody could be anybody's second one
        answers[named[0]] = answers.get(named[0], "") + block
    return answers


def refusals(kind, compiler, files, flags):
    """What the compiler says of each file that is told apart."""
    answers, found = {}, True
    while found and len(files) > 1:
        found = told_apart(kind, compiled(kind, compiler, files, flags)[1], files)
        answers |= found
        files = [file for file in files if file not in found]
    return answers


def silent(kind, compiler, files, flags):
    """The files that compile in silence together, without those that the compiler names."""
    while len(files) > 1:
        status, said = compiled(kind, compiler, files, [*flags, "-DCAIRN_FIXED"])
        if status == 0 and not said:
            return files
        others = [file for file in files if str(file) not in said]
        files = others if len(others) < len(files) else []
    return []


def faults(kind, sentence, status, said):
    lines = [line for line in said.splitlines() if line]
    errors = sum(bool(ERROR.search(line)) for line in lines)
    at = next((number for number, line in enumerate(lines, 1) if re.search(sentence, line)), None)
    if status == 0:
        yield "it compiles"
    if errors != 1:
        yield f"{errors} errors, not 1"
    if len(lines) > MOST_LINES[kind]:
        yield f"{len(lines)} lines, at most {MOST_LINES[kind]}"
    if at is None or at > SENTENCE_WITHIN:
        yield f"/{sentence}/ is on line {at}, not within the first {SENTENCE_WITHIN}"


def judged(kind, compiler, file, answer, fixed, flags):
    """What is wrong with a file, whose answer may be known, and which may be known to be right if it is fixed."""
    text = file.read_text()
    first = re.match(r"// error: (.+)", text)
    if not first or "CAIRN_FIXED" not in text:
        return "begins with `// error: REGEX` and holds a part for CAIRN_FIXED"
    sentence = first[1].replace("`", "[`?]")  # nvcc prints ? for a backtick
    if answer and not list(faults(kind, sentence, 1, answer)):
        wrong = []
    else:
        flags = flags + [flag for line in FLAGS.findall(text) for flag in line.split()]
        status, answer = compiled(kind, compiler, [file], flags)
        wrong = list(faults(kind, sentence, status, answer))
    if not fixed:
        status, said = compiled(kind, compiler, [file], [*flags, "-DCAIRN_FIXED"])
        if status != 0 or said:
            wrong.append("with -DCAIRN_FIXED it does not compile in silence")
            answer += said
    return "; ".join(wrong) + f"\n{answer}" if wrong else ""


def verdicts(kind, compiler, files, flags, refused_only):
    """What is wrong with each file."""
    together = [file for file in files if not ALONE.search(file.read_text())]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        fixed = pool.submit(silent, kind, compiler, [] if refused_only else together, flags)
        answers = refusals(kind, compiler, together, flags)
        fixed = files if refused_only else fixed.result()
    print(f"{len(answers)} of {len(files)} files are told apart, {len(fixed)} are right if fixed")
    return {file: judged(kind, compiler, file, answers.get(file), file in fixed, flags) for file in files}


NO = 'static_assert(false, "cairn: no");\n'
DEEP = ('template <int n> constexpr int deep() {\n  static_assert(n != 0, "cairn: no");\n'
        "  if constexpr (n > 0) return deep<n - 1>(); else return 0;\n}\nint const y = deep<20>();\n")
SHARED = '#pragma once\ntemplate <class T> struct shared { static_assert(sizeof(T) == 0, "cairn: no"); };\n'
USE = "shared<int> const y{};\n"
KNOWN = {  # what is refused, what is always there, and what is to be said of the file
    "right": (NO, "", ""), "same": (USE, "", ""), "again": (USE, "", ""), "alone": (NO, "#define alone\n", ""),
    "compiles": ("int x;\n", "", "it compiles; 0 errors"), "twice": (NO + NO, "", "2 errors, not 1"),
    "other": (NO.replace("no", "yes"), "", "is on line None"), "deep_one": (DEEP, "", " lines, at most "),
    "never": ("int x;\n", NO, "with -DCAIRN_FIXED it does not"),
    "warns": (NO, "#ifdef CAIRN_FIXED\n#warning here\n#endif\n", "with -DCAIRN_FIXED it does not"),
}


def self_test(kind, compiler):
    one = pathlib.Path("x.cpp")
    wrong = len(told_apart(kind, "x.cpp:1:1: error: cairn: no\nx.hpp:1:1: error: of nobody\n", [one]))
    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch, "shared.hpp").write_text(SHARED)
        files = {pathlib.Path(scratch, f"{name}.cpp"): of for name, of in KNOWN.items()}
        for file, (refused, always, _) in files.items():
            file.write_text("// error: cairn: no\n#include <shared.hpp>\n"
                            f"#ifndef CAIRN_FIXED\n{refused}#endif\n{always}")
        said = verdicts(kind, compiler, list(files), [f"-I{scratch}"], False)
        for file, (_, _, expected) in files.items():
            if expected not in said[file] or bool(expected) != bool(said[file]):
                wrong += 1
                print(f"{file.stem}: not '{expected}' but {said[file]}")
    return bool(wrong)


def main():
    if sys.argv[1] == "--self":
        return self_test(*sys.argv[2:])
    end = sys.argv.index("--")
    kind, compiler, *words = sys.argv[1:end]
    report = None
    if "--verdicts" in words:
        *words, _, report = words
    files = [pathlib.Path(word) for word in words if word != "--refused"]
    wrong = verdicts(kind, compiler, files, sys.argv[end + 1:], "--refused" in words)
    lines = "".join(f"{'wrong' if said else 'right'}: {file.stem}: {said}\n" for file, said in wrong.items())
    if report:
        pathlib.Path(report).write_text(lines)
        return 0
    print(lines)
    return any(wrong.values())


if __name__ == "__main__":
    sys.exit(main())
