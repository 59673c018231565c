#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutants of schedule/, store/ and run/: how many small changes of the code the entries of `./run test` find.

    mutants.py [COUNT] [--seed N] [--only REGEX] [--entries REGEX] [--numbers N,N...]

COUNT (200) changes are compiled into one copy of the sources, build/mutants/tree, where MUTANT in the environment
chooses one when a program runs. At most one a line, in equal shares, files by their lines of code: a statement is left
out, a comparison becomes its neighbour (< and <=, == and !=), + becomes - or 1 becomes 0, a condition is negated, a
constant that is returned is another. What does not compile is taken back and replaced. Each entry runs once to say
which changes it executes. A mutant is then given to the entries that execute it, those of like name first, then the
short ones, until one fails or takes 10 times as long as without (10 s at least). One that none executes may be one
that the compiler evaluates: it is killed if a test of like name no longer compiles with it. Left out are checks of
texts, pages, refusals and packages.

--only chooses files by their names below include/cairn, --entries those of CTest, --numbers mutants. What was found
is kept as long as the headers and the programs that found it are the same. Exits 1 if fewer than 90 % are killed.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
BUILD = TREE / "build" / "test"
NO_PROGRAMS = {"cairn_misuses", "cairn_umbrella", "cairn_headers"}  # targets of checks of texts and refusals
M = "::MUTANT(0)"  # in a change; 0 becomes its number
KINDS = ("statement", "comparison", "arithmetic", "condition", "constant")
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+"}
NAME = r"[A-Za-z_]\w*(?:::\w+)*"
OPERAND = rf"(?:\*?{NAME}(?:(?:\.|->)\w+|\[[\w.]*\]|\([\w.,:]*\))*|\d[\d']*)"
PAIR = re.compile(rf"(?<![\w.>)\]*:!&~-])(?P<left>{OPERAND}) (?P<by>[<>]=?|[=!]=|[+-]) "
                  rf"(?P<right>{OPERAND})(?![\w(\[.])")
ONE = re.compile(rf"{OPERAND} [+-] (?P<one>1)(?![\w.'])")
CONSTANT = re.compile(r"\breturn (?P<value>\d+|true|false);")
STATEMENT = re.compile(rf"\s*(?P<all>(?:\+\+|--)?\*?{NAME}(?:(?:\.|->){NAME}|\[[^\]]*\]|\([^;{{}}]*\)|<\w+>(?=\())*"
                       r"(?:(?<=\))|\+\+|--| (?:[-+*/|&]|<<|>>)?= [^;{}]+)?;)$")
KEYWORD = re.compile(r"(return|using|static_assert|case|assert|throw|delete|goto|break|continue|default|noexcept)\b|"
                     r".*= (default|delete|0);$")
HEAD = re.compile(r"((\} )?(else )?(if|for|while) (constexpr )?\(.*\)|(\} )?else|case .*:|default:)?$")
NEVER = re.compile(r"\b(static_assert|concept|requires|using|noexcept\(|explicit\(|decltype\(|if constexpr|enum|"
                   r"template|consteval)")
Site = collections.namedtuple("Site", "kind file line start end change")


def stands_alone(code, found):
    """Whether the neighbours of `a < b` or `a + b` bind weaker."""
    before, after = code[:found.start()].rstrip(), code[found.end():].lstrip()
    weaker, closing = r"\(|&&|\|\||\breturn|(?<![=<>!])=|[?,;]|(?<!:):", r"\)|;|&&|\|\||\?|,|:(?!:)|\}"
    if found["by"] in "+-":
        weaker, closing = weaker + r"|[\[{]| [<>]=?|[=!]=", closing + r"|\]|[<>]=? |[=!]="
    return re.search(rf"({weaker})$", before) and re.match(closing, after) and found["left"] not in ("return", "const")


def chooses(code, found):
    """Whether `a < b ? a : b` takes the larger or smaller of two: at a tie both are the same."""
    chosen = re.match(rf"\)? \? ({OPERAND}) : ({OPERAND})", code[found.end():])
    return chosen and {found["left"], found["right"]} == set(chosen.groups())


def changes(code, line, head):
    """(kind, start, end, what comes in) for all that can be changed in a line; head is what its statement has above."""
    whole = STATEMENT.match(code)
    if whole and not KEYWORD.match(whole["all"]) and re.search(r"[=)]|\+\+|--", code) and HEAD.match(head):
        yield "statement", *whole.span("all"), f"{{ if (!{M}) {line[slice(*whole.span('all'))]} }}"
    for found in PAIR.finditer(code):
        if stands_alone(code, found) and not chooses(code, found):
            other = f"{found['left']} {OTHER[found['by']]} {found['right']}"
            yield "arithmetic" if found["by"] in "+-" else "comparison", *found.span(), f"({M} ? {other} : {found[0]})"
    for found in ONE.finditer(code):
        yield "arithmetic", *found.span("one"), f"({M} ? 0 : 1)"
    for found in re.finditer(r"\bif \(", code):
        start = end = found.end()
        while end < len(code) and code.count("(", start, end) >= code.count(")", start, end):
            end += 1
        held = line[start:end - 1]
        if code[end - 1] == ")" and not re.search(r";|(?<![=<>!+*/-])=(?!=)|is_constant_evaluated", code[start:end]):
            yield "condition", start, end - 1, f"{M} ? !({held}) : bool({held})"
    for found in CONSTANT.finditer(code):
        value = found["value"]
        other = {"true": "false", "false": "true", "1": "0"}.get(value) or str(int(value) + 1)
        yield "constant", *found.span("value"), f"({M} ? {other} : {value})"


def code_of(line):
    """A line without its comment, and with blanks for what strings hold."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', lambda string: '"' + " " * (len(string[0]) - 2) + '"', line)
    return re.sub(r"//.*|/\*.*?\*/|'.'", lambda comment: " " * len(comment[0]), line).rstrip()


def sites_of(name, text):
    """How many lines of code a header has, and its sites, none in declarations that only the compiler evaluates."""
    count, found, head, directives = 0, [], "", 0
    for number, line in enumerate(text.splitlines(), 1):
        code = code_of(line)
        directives += len(re.findall(r"^#if", code)) - len(re.findall(r"^#endif", code))
        if not code.strip() or code.startswith("#"):
            continue
        count += 1
        statement = f"{head} {code.strip()}".strip()
        evaluated = re.search(r"\bconstexpr\b", statement) and not re.search(r"\{ \w", statement)
        if not directives and not evaluated and not NEVER.search(statement):
            found += [Site(kind, name, number, *rest) for kind, *rest in changes(code, line, head)
                      if not re.search(r"\w<[^<>()]*$", code[:rest[0]])]
        head = "" if re.search(r"[;{}:]$", code) else statement
    return count, found


def in_order(texts, seed):
    """All sites, one a line: the first N of them are in equal shares of kinds, and spread by lines of code."""
    lines, pools, order, taken, used = {}, collections.defaultdict(list), [], collections.Counter(), set()
    for name, text in texts.items():
        lines[name], found = sites_of(name, text)
        for site in found:
            pools[site.kind, name].append(site)
    draw = random.Random(seed)
    for pool in pools.values():
        draw.shuffle(pool)
    names = draw.sample(sorted(lines), len(lines))
    while kinds := [kind for kind in KINDS if any(pools[kind, name] for name in names)]:
        kind = min(kinds, key=lambda of: taken[of])
        name = max((name for name in names if pools[kind, name]), key=lambda of: lines[of] / (taken[of] + 1))
        site = pools[kind, name].pop()
        if (name, site.line) not in used:
            used.add((name, site.line))
            taken.update((kind, name))
            order.append(site)
    return order


def text_with(text, sites):
    """A header with its numbered sites. Lines keep their numbers: the first, a comment, becomes an include."""
    lines = text.splitlines()
    for number, site in sites:
        line = lines[site.line - 1]
        change = site.change.replace(M, M.replace("0", str(number)))
        lines[site.line - 1] = line[:site.start] + change + line[site.end:]
    return "\n".join(["#include <cairn/core/detail/mutant.hpp>", *lines[1:]]) + "\n"


def digest(*data):
    return hashlib.sha256(b"\0".join(data)).hexdigest()


def say(line):
    print(line, flush=True)


def write(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def tracked():
    """The files of the project that are there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if (ROOT / name).is_file()]


class Entry:
    """An entry of CTest, and what it says with a mutant."""
    def __init__(self, test):
        self.command = test["command"]
        if any("~[.]" in word for word in self.command):  # of Catch2: its first failure is enough
            self.command = [*self.command, "--abort"]
        self.has = {one["name"]: one["value"] for one in test["properties"]}
        self.environment = dict(one.split("=", 1) for one in self.has.get("ENVIRONMENT", []))

    def run(self, number, limit, **more):
        """(passed, skipped or how it failed with the first claim that does not hold, seconds)."""
        with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as output:
            since = time.monotonic()
            more |= {"MUTANT": str(number), "TMPDIR": scratch}
            code = subprocess.run(["timeout", "-s", "KILL", str(limit), *self.command], stdin=subprocess.DEVNULL,
                                  stdout=output, stderr=output, cwd=self.has.get("WORKING_DIRECTORY", BUILD),
                                  env=os.environ | self.environment | more).returncode
            seconds = time.monotonic() - since
            output.seek(0)
            text = output.read(4 << 20).decode(errors="replace")
        if seconds >= limit:
            return "too slow", seconds
        said = {kind: any(re.search(pattern, text) for pattern in self.has.get(f"{kind}_REGULAR_EXPRESSION", []))
                for kind in ("PASS", "FAIL", "SKIP")}
        if code == self.has.get("SKIP_RETURN_CODE") or said["SKIP"]:
            return "skipped", seconds
        passed = said["PASS"] if "PASS_REGULAR_EXPRESSION" in self.has else code == 0
        if passed and not said["FAIL"]:
            return "passed", seconds
        claim = re.search(r"^-{79}\n(.+)|^(?:FAIL|ERROR): (.+)", text, re.M)
        return f"code {code}" + (f", {claim[1] or claim[2]}" if claim else ""), seconds


class Campaign:
    def __init__(self, asked):
        self.asked = asked
        files = {name: (ROOT / name).read_bytes() for name in tracked()}
        self.texts = {name.removeprefix("include/cairn/"): data.decode() for name, data in files.items()
                      if re.match(r"include/cairn/(schedule|store|run)/.*\.[hi]pp$", name)}
        self.order = in_order({name: text for name, text in self.texts.items() if re.search(asked.only, name)}, asked.seed)
        # Entries are known by their programs, which do not hold what they read.
        of = [asked.count, asked.seed, asked.only, digest(*(name.encode() + data for name, data in files.items() if re.match(
            r"include/|tests/.*\.(?!cpp|cu|hpp|py|sh|cmake)\w+$", name)))]
        self.state = {"of": of, "refused": [], "upto": 0, "entries": {}, "verdicts": {}}
        kept = json.loads((WORK / "state.json").read_text()) if (WORK / "state.json").exists() else {}
        if kept.get("of") == of:
            self.state = kept
        mine = TREE / "include/cairn/core/detail/mutant.hpp"
        for path in [path for path in TREE.rglob("*") if path.is_file() and path != mine]:
            name = str(path.relative_to(TREE))
            if name not in files and not name.startswith("build/"):
                path.unlink()  # of another state of the project
        for name, data in files.items():
            if name.removeprefix("include/cairn/") not in self.texts:
                write(TREE / name, data)
                shutil.copymode(ROOT / name, TREE / name)
        write(mine, pathlib.Path(__file__).with_name("mutant.hpp").read_bytes())
        headers = (name for name in self.texts if name.endswith(".hpp"))
        write(WORK / "headers.cpp", "".join(f"#include <cairn/{name}>\n" for name in headers).encode())

    def save(self):
        (WORK / "state.new").write_text(json.dumps(self.state))
        (WORK / "state.new").replace(WORK / "state.json")

    def name_of(self, number):
        site = self.order[number - 1]
        return f"{number:4} {site.file}:{site.line} {site.kind}"

    def put_in(self):
        """The changes in the sources: COUNT and some to spare, without those that were refused."""
        refused, upto, most = self.state["refused"], self.state["upto"], len(self.order)
        if upto - len(refused) < min(self.asked.count, most - len(refused)):
            upto = self.state["upto"] = min(len(refused) + self.asked.count * 11 // 10, most)
        numbers = [number for number in range(1, upto + 1) if number not in refused]
        of_file = collections.defaultdict(list)
        for number in numbers:
            of_file[self.order[number - 1].file].append((number, self.order[number - 1]))
        for name, text in self.texts.items():
            write(TREE / "include/cairn" / name, text_with(text, of_file[name]).encode())
        self.save()
        return numbers

    def commands(self):
        """What must succeed: all headers together, bodies in them or not; the build of what the entries need."""
        headers = ["g++", "-std=c++20", "-fsyntax-only", "-w", f"-I{TREE / 'include'}", str(WORK / "headers.cpp")]
        yield headers
        yield [*headers, "-DCAIRN_SEPARATE_COMPILATION"]
        yield ["cmake", "--preset", "test", "-G", "Ninja", "-DCAIRN_WARNINGS_AS_ERRORS=OFF", "-DCMAKE_CXX_FLAGS=-w"]
        needs = collections.defaultdict(set)
        for name, *targets in map(str.split, (BUILD / "tests/needs.txt").read_text().splitlines()):
            needs[name].update(targets)
        texts = {name for name, of in needs.items() if not of or of & NO_PROGRAMS or name.startswith("consumer.")}
        self.left_out = {"no program of the tests": sorted(texts)}
        self.chosen = {name for name in needs if name not in texts and re.search(self.asked.entries, name)}
        targets = set().union(*map(needs.get, self.chosen))
        yield ["cmake", "--build", str(BUILD), "--target", *sorted(targets), "--", "-k0"]

    def compile(self):
        """The numbers of the mutants. Takes back what the compiler names, on lines of errors or else anywhere."""
        while True:
            numbers = self.put_in()
            at = {(self.order[number - 1].file, self.order[number - 1].line): number for number in numbers}
            for command in self.commands():
                done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if done.returncode:
                    break
            else:
                return numbers[:self.asked.count]
            for end in (r"\d+: (?:fatal )?error:", ""):
                lines = re.findall(rf"include/cairn/(\S+?):(\d+):{end}", done.stdout)
                named = sorted({at[name, int(line)] for name, line in lines if (name, int(line)) in at})
                if named:
                    break
            else:
                errors = re.findall(r"^.*(?:error|FAILED|stopped).*$", done.stdout, re.M) or [done.stdout[-4000:]]
                sys.exit("\n".join([*errors[:20], f"mutants.py: {command[0]} failed, and names no change"]))
            say("\n".join(f"{self.name_of(number)}: does not compile" for number in named))
            self.state["refused"] += named

    def entries(self):
        """The entries that pass, as CTest would run them. Notes their times and the changes that they execute."""
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=BUILD, capture_output=True, check=True).stdout
        found = {test["name"]: Entry(test) for test in json.loads(listed)["tests"] if test["name"] in self.chosen}
        for name, entry in found.items():
            of = digest(repr(entry.command).encode(), pathlib.Path(entry.command[0]).read_bytes())
            if self.state["entries"].get(name, {}).get("of") != of:
                log = WORK / "executed"
                log.write_bytes(bytes(len(self.order) + 1))
                said, seconds = entry.run(-1, 600, MUTANT_LOG=str(log))
                executes = [number for number, byte in enumerate(log.read_bytes()) if byte]
                self.state["entries"][name] = {"of": of, "said": said, "seconds": seconds, "executes": executes}
                self.save()
            if self.state["entries"][name]["said"] != "passed":
                self.left_out.setdefault(self.state["entries"][name]["said"] + " without a mutant", []).append(name)
        for why, names in self.left_out.items():
            say(f"left out, {why}: {' '.join(names)}")
        return {name: entry for name, entry in found.items() if self.state["entries"][name]["said"] == "passed"}

    def reach(self, number, entries):
        """The entries that execute a mutant, those first that are likely to find it soon."""
        path, known = pathlib.PurePath(self.order[number - 1].file), self.state["entries"]
        folder = "_".join(part for part in path.parts[:-1] if part not in ("detail", "impl"))
        return sorted((name for name in entries if number in known[name]["executes"]),
                      key=lambda name: (path.stem not in name, not name.startswith(folder), known[name]["seconds"]))

    def verdict(self, number, entries):
        """What becomes of a mutant: killed, survived or not reached; the words for it; the entries that say so."""
        known, since, ran = self.state["entries"], time.monotonic(), {}
        for name in self.reach(number, entries):
            ran[name] = known[name]["of"]
            said, _ = entries[name].run(number, max(10, 10 * known[name]["seconds"]))
            if said not in ("passed", "skipped"):
                return "killed", f"killed by {name} after {time.monotonic() - since:.1f} s: {said}", ran
        if not ran and (refused := self.compiled_in(number)):
            return "killed", f"killed by the compiler in {refused}", ran
        return ("survived", f"survived {len(ran)} entries", ran) if ran else ("not reached", "not reached", ran)

    def compiled_in(self, number):
        """The test that does not compile with a change of what the compiler evaluates, of three of like name."""
        path = self.order[number - 1].file
        words = set(re.split(r"\W|_", path))
        tests = sorted((ROOT / "tests" / path.split("/")[0]).glob("*_test.cpp"),
                       key=lambda test: (-len(words & set(re.split(r"\W|_", test.stem))), test.stem))
        for test in tests[:3]:
            flags = ["-std=c++20", "-w", "-fsyntax-only", f"-I{TREE / 'include'}", f"-I{TREE / 'tests'}"]
            if subprocess.run(["g++", *flags, f"-DMUTANT_WHERE_COMPILED={number}", test], capture_output=True).returncode:
                return test.name
        return ""

    def holds(self, number, entries):
        """Whether a verdict was found by the programs of today."""
        said, _, ran = self.state["verdicts"].get(str(number), ("", "", {}))
        same = all(self.state["entries"].get(name, {}).get("of") == of for name, of in ran.items())
        return same and (said == "killed" or said and set(ran) == set(self.reach(number, entries)))

    def run(self):
        mutants = [number for number in self.compile() if number in (self.asked.numbers or [number])]
        for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, 4 << 30), (resource.RLIMIT_FSIZE, 1 << 30)):
            resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))
        entries, verdicts = self.entries(), self.state["verdicts"]
        seconds = sum(self.state["entries"][name]["seconds"] for name in entries)
        say(f"{len(mutants)} mutants, {len(entries)} entries, which take {seconds:.0f} s")
        left = [number for number in mutants if not self.holds(number, entries)]
        for number in sorted(set(mutants) - set(left)):
            say(f"{self.name_of(number)}: {verdicts[str(number)][1]}")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = {pool.submit(self.verdict, number, entries): number for number in left}
            for run in concurrent.futures.as_completed(runs):
                verdicts[str(runs[run])] = run.result()
                self.save()
                say(f"{self.name_of(runs[run])}: {run.result()[1]}")
        return self.summary(mutants)

    def summary(self, mutants):
        verdicts, counts = self.state["verdicts"], collections.defaultdict(collections.Counter)
        for number in mutants:
            site = self.order[number - 1]
            said, words, _ = verdicts[str(number)]
            for group in ("all", site.kind, site.file.split("/")[0] + "/"):
                counts[group].update([said, "all"])
            if said != "killed":
                line = self.texts[site.file].splitlines()[site.line - 1]
                change = site.change.replace(M, "MUTANT")
                say(f"{self.name_of(number)}: {words}\n       {line.strip()}\n       {change}")
        for group, of in sorted(counts.items()):
            say(f"{group}: killed {of['killed']} of {of['all']}, not reached {of['not reached']}")
        return counts["all"]["killed"] < 0.9 * counts["all"]["all"]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a mutant that runs has its own limit
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--entries", default="", metavar="REGEX")
    parser.add_argument("--numbers", type=lambda words: [int(word) for word in words.split(",")])
    WORK.mkdir(parents=True, exist_ok=True)
    sys.exit(Campaign(parser.parse_args()).run())
