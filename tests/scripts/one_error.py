#!/usr/bin/env python3
"""Compiles a file that must be refused, in our words and briefly.

    one_error.py gcc|clang|nvcc|gcc-late|gcc-ended COMPILER FILE [--together FOLDER] [FLAG...]

The file's first line is `// error: REGEX`; a line `// flags: ...` adds flags. Passes if the compiler stops with one
error, the sentence within the first 6 lines, and at most 10 lines in all (clang: 15), and if with -DCAIRN_FIXED the
same file compiles in silence, so that nothing else is wrong with it (not asked of nvcc, which takes 3 s for that).

gcc-ended is for files whose headers leave g++ seconds of templates to instantiate behind the last line: it is ended
there, unless the first line is `// late error: REGEX`. With -DCAIRN_FIXED such files are compiled together, by another
test; those with late errors without it, too.

--together names the answers of `misuses_together.py`. They stand for a compilation that would pass; where there is
none, or it does not pass, the file is compiled alone, and that decides. For gcc and clang they tell of -DCAIRN_FIXED
only; gcc-late takes g++'s words from them, too.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MOST_LINES = {"gcc": 10, "gcc-late": 10, "gcc-ended": 10, "clang": 15, "nvcc": 10}
SENTENCE_WITHIN = 6
END = "cairn: the last line"
ERROR = re.compile(r"\berror(?: #[\w-]+)?:")


def compile_until_end(compiler, file, flags):
    """As `compile_file`; g++ ends at the error behind the second, and two more follow the last line."""
    text = f'# 1 "{file}"\n{pathlib.Path(file).read_text()}' + f'static_assert(false, "{END}");\n' * 2
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-fmax-errors=2", *flags, "-x", "c++", "-"],
                          text=True, input=text,
                          env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = done.stdout.splitlines(keepends=True)
    end = next((i for i, line in enumerate(lines) if END in line), len(lines))
    return done.returncode, "".join(lines[:end])


def compile_file(kind, compiler, file, flags):
    with tempfile.TemporaryDirectory() as scratch:
        how = ["-x", "cu", "-c", "-o", os.path.join(scratch, "out.o")] if kind == "nvcc" else ["-fsyntax-only"]
        done = subprocess.run([compiler, "-std=c++20", *how, *flags, file], text=True,
                              env={**os.environ, "LC_ALL": "C"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def faults(kind, sentence, code, output):
    """What is wrong with an answer, and on which line the sentence stands."""
    lines = output.splitlines()
    errors = sum(bool(ERROR.search(line)) for line in lines)
    said = next((i for i, line in enumerate(lines, 1) if re.search(sentence, line)), None)
    wrong = []
    if code == 0:
        wrong.append("it compiles")
    if errors != 1:
        wrong.append(f"{errors} errors, not 1")
    if len(lines) > MOST_LINES[kind]:
        wrong.append(f"{len(lines)} lines, at most {MOST_LINES[kind]}")
    if said is None or said > SENTENCE_WITHIN:
        wrong.append(f"/{sentence}/ is on line {said}, not within the first {SENTENCE_WITHIN}")
    return wrong, f"{len(lines)} lines, sentence on line {said}"


def main():
    kind, compiler, file, *flags = sys.argv[1:]
    together = None
    if flags[:1] == ["--together"]:
        together, flags = pathlib.Path(flags[1]) / f"{pathlib.Path(file).stem}.txt", flags[2:]
        if not together.exists():
            together = None
    text = pathlib.Path(file).read_text()
    first = re.match(r"// (late )?error: (.+)", text)
    if not first or "CAIRN_FIXED" not in text:
        print(f"{file}: begins with `// error: REGEX` and holds a part for CAIRN_FIXED")
        return 1
    for line in re.findall(r"^// flags: (.+)", text, re.M):
        flags += line.split()

    sentence = first[2].replace("`", "[`?]")  # nvcc prints ? for a backtick
    if together and kind in ("nvcc", "gcc-late", "gcc-ended"):
        output = together.read_text()
        if kind == "nvcc":
            output += f'\n\n1 error detected in the compilation of "{file}".\n'  # as nvcc ends for one file
        wrong, summary = faults(kind, sentence, 1, output)
        if not wrong:
            print(f"{summary}, compiled together with others")
            return 0
    if kind == "gcc-ended" and not first[1]:
        code, output = compile_until_end(compiler, file, flags)
    else:
        code, output = compile_file(kind, compiler, file, flags)
    wrong, summary = faults(kind, sentence, code, output)

    if kind in ("gcc", "gcc-late", "clang") and not together:
        code, fixed_output = compile_file(kind, compiler, file, [*flags, "-DCAIRN_FIXED"])
        if code != 0 or fixed_output:
            wrong.append("with -DCAIRN_FIXED it does not compile in silence")
            output += fixed_output
    for fault in wrong:
        print(f"{file}: {fault}")
    print(output if wrong else summary)
    return bool(wrong)


sys.exit(main())
