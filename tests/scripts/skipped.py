#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the last run of CTest skipped, grouped by the reason.

    skipped.py BUILD    of BUILD/Testing/Temporary/LastTest.log; prints nothing where nothing was skipped
    skipped.py --self   holds it against a log that is known
"""
import collections
import pathlib
import re
import sys

ENTRY = re.compile(r"^\d+/\d+ Testing: ([^\n]*)\n(.*?)(?=^\d+/\d+ Testing: |\Z)", re.M | re.S)


def reasons(log):
    """What was skipped, and what a check that passed left out of what it looks at: reason -> names."""
    found = collections.defaultdict(list)
    for name, text in ENTRY.findall(log):
        printed, _, verdict = text.partition("<end of output>")
        if re.search(r"^(Skip (regular expression|return code)|Test Skipped)", verdict, re.M):
            said = re.findall(r"cairn: skipped: (.*)", printed)
            last = printed.rpartition("-" * 58)[2].strip().splitlines()
            found[(said or last[-1:] or ["no reason given"])[-1].strip()].append(name)
        elif re.search(r"^Test Passed", verdict, re.M):  # some cases of a file
            for why in dict.fromkeys(re.findall(r"cairn: skipped: (.*)", printed)):
                found[why.strip()].append(f"{name}: some")
        for part, why in re.findall(r"^(\S+): passed over, (.*)$", printed, re.M):
            found[why].append(f"{name}: {part}")
    return found


def report(log):
    lines = []
    for why, names in sorted(reasons(log).items()):
        lines += [f"  {why}", *(f"    {name}" for name in names)]
    return "\n".join(["skipped or left out, and why:", *lines]) if lines else ""


def self_test():
    log, line = "Start testing: now\n", "-" * 58
    skip = "Test Pass Reason:\nSkip regular expression found in output. Regex=[cairn: skipped: ]"
    entries = [("a.one", "cairn: skipped: no GPU", skip), ("b", "fine", "Test Passed."),
               ("a.two words", "more\ncairn: skipped: no GPU", skip),
               ("c", "the driver is missing", "Test Pass Reason:\nSkip return code=77"),
               ("d", "1 passed\ncairn: skipped: no GPU", "Test Passed."),
               ("bad", "cairn: skipped: only said", "Test Failed."), ("mute", "", skip),
               ("texts", "docs/x.md:3: passed over, no CUDA\n2 snippets", "Test Passed.")]
    for name, printed, verdict in entries:
        log += (f'7/9 Testing: {name}\n7/9 Test: {name}\nCommand: "x"\nOutput:\n{line}\n{printed}\n<end of output>\n'
                f'Test time =   0.00 sec\n{line}\n{verdict}\n"{name}" end time: now\n{line}\n\n')
    wanted = ("skipped or left out, and why:  no CUDA    texts: docs/x.md:3  no GPU    a.one    a.two words    d: some"
              "  no reason given    mute  the driver is missing    c")
    wrong = report(log).replace("\n", "") != wanted or report("") != ""
    if wrong:
        print(report(log))
    return wrong


if sys.argv[1:] == ["--self"]:
    sys.exit(self_test())
last = pathlib.Path(sys.argv[1], "Testing", "Temporary", "LastTest.log")
if last.exists() and (said := report(last.read_text(errors="replace"))):
    print(said)
