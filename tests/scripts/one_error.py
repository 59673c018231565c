#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles files that must be refused, in our words and briefly.

    one_error.py gcc|clang|nvcc|gcc-ended COMPILER FILE... [--refused FOLDER] [--fixed FOLDER] [--verdicts VERDICTS]
                 [FLAG...]

A file's first line is `// error: REGEX`; a line `// flags: ...` adds flags. Passes if the compiler stops with one
error, the sentence within the first 6 lines, and at most 10 lines in all (clang: 15), and if with -DCAIRN_FIXED the
same file compiles in silence, so that nothing else is wrong with it (not asked of nvcc, which takes 3 s for that).
Excerpts of the source with its line numbers are no lines here: g++ 14 prints them behind each "required from", too.

gcc-ended is for files whose headers leave g++ seconds of templates to instantiate behind the last line: it is ended
there, unless the first line is `// late error: REGEX`. With -DCAIRN_FIXED such files are compiled together, by another
test.

The first two folders have answers of `misuses_together.py`. They stand for a compilation that would pass; where there
is none, or it does not pass, the file is compiled alone, and that decides. With --verdicts, what is to be said of each
file goes to the file VERDICTS, after the word `right` or `wrong`, and the script itself does not fail.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MOST_LINES = {"gcc": 10, "gcc-ended": 10, "clang": 15, "nvcc": 10}
SENTENCE_WITHIN = 6
END = "cairn: the last line"
ERROR = re.compile(r"\berror(?: #[\w-]+)?:")
EXCERPT = re.compile(r" *(?:\d+ )?\|(?: |$)")


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
    lines = [line for line in output.splitlines() if not EXCERPT.match(line)]
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


def judged(kind, compiler, file, answers, flags):
    """Whether a file is refused as it should be, and what there is to say."""
    refused, fixed = (answers[one] / f"{file.stem}.txt" if one in answers else None for one in ("refused", "fixed"))
    text = file.read_text()
    first = re.match(r"// (late )?error: (.+)", text)
    if not first or "CAIRN_FIXED" not in text:
        return False, f"{file}: begins with `// error: REGEX` and holds a part for CAIRN_FIXED"
    flags = flags + [flag for line in re.findall(r"^// flags: (.+)", text, re.M) for flag in line.split()]

    sentence = first[2].replace("`", "[`?]")  # nvcc prints ? for a backtick
    wrong = ["no answer"]
    if refused and refused.exists():
        output = refused.read_text()
        if kind == "nvcc":
            output += f'\n\n1 error detected in the compilation of "{file}".\n'  # as nvcc ends for one file
        wrong, summary = faults(kind, sentence, 1, output)
        summary += ", compiled together with others"
    if wrong:
        if kind == "gcc-ended" and not first[1]:
            code, output = compile_until_end(compiler, file, flags)
        else:
            code, output = compile_file(kind, compiler, file, flags)
        wrong, summary = faults(kind, sentence, code, output)

    if kind in ("gcc", "clang") and not (fixed and fixed.exists()):
        code, fixed_output = compile_file(kind, compiler, file, [*flags, "-DCAIRN_FIXED"])
        if code != 0 or fixed_output:
            wrong.append("with -DCAIRN_FIXED it does not compile in silence")
            output += fixed_output
    said = "".join(f"{file}: {fault}\n" for fault in wrong) + (output if wrong else summary)
    return not wrong, said


def main():
    kind, compiler, *rest = sys.argv[1:]
    at = next((i for i, word in enumerate(rest) if word.startswith("-")), len(rest))
    files, flags = [pathlib.Path(file) for file in rest[:at]], rest[at:]
    folders = {}
    while flags[:1] in (["--refused"], ["--fixed"], ["--verdicts"]):
        folders[flags[0][2:]] = pathlib.Path(flags[1])
        flags = flags[2:]
    verdicts = [judged(kind, compiler, file, folders, flags) for file in files]
    lines = [f"{'right' if right else 'wrong'}: {file.stem}: {said}\n" for file, (right, said) in zip(files, verdicts)]
    if "verdicts" in folders:
        folders["verdicts"].write_text("".join(lines))
        return 0
    print("".join(lines))
    return not all(right for right, _ in verdicts)


sys.exit(main())
