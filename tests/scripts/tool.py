#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the command `cairn` from outside: by reference numbers, big integers, and an interpreter of another make. What
planners do beyond that, tests/plan and tests/schedule check.

    tool.py CAIRN CHECKOUT PART     PART is a function below without its "check_"; all of them where it is "all"
    tool.py CAIRN CHECKOUT runs MAKE_RUNS     needs tests/tool/make_runs.cpp
"""
import csv
import functools
import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

import planted
from sweeps import expect, play_loop

TOOL, ROOT = "", pathlib.Path()
MOST = 2**63 - 1
MOST_WALKED = 10**7
TAPED = ("mixed", "bptt", "runge_kutta")
TINY_CHAIN = {"x": [4, 4, 4, 4], "s": [10, 10, 10], "f": [0, 1, 0], "b": [2, 2, 2, 4], "uf": [10, 10, 10],
              "ub": [20, 20, 20, 0]}
GOOD = {"plan": {"steps": 10, "slots": 3}, "chain": {"chain": TINY_CHAIN, "memory": 1000}}


def run(*words, text=None, program=None, **settings):
    """A command in the scratch folder, in which all of this works."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
    return subprocess.run([program or TOOL, *map(str, words)], input=text, text=True, capture_output=True, env=plain | settings)


def written(name, text):
    """A file of the scratch folder, line ends as they are."""
    pathlib.Path(name).write_text(text, newline="")
    return name


def complaints(text):
    """Standard error without the words of work that takes longer than two seconds."""
    return re.sub(r"^cairn: \d+ s(, [\d.]+ % of the table)?\n", "", text, flags=re.M)


def output(*words):
    done = run(*words)
    expect(done.returncode == 0 and complaints(done.stderr) == "", words, done)
    return done.stdout


def strictly(text):
    """JSON without Infinity and NaN, which are none."""
    def none(word):
        raise AssertionError("no JSON: " + word)
    return json.loads(text, parse_constant=none)


def as_json(*words):
    return strictly(output(*words, "--json"))


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def are_svg(*names):
    return all(xml.etree.ElementTree.parse(name).getroot().tag == "{http://www.w3.org/2000/svg}svg" for name in names)


def whole(value):
    """An integer of an answer: a number up to 2^53, digits above."""
    expect(type(value) is int and value <= 2**53 or type(value) is str and int(value) > 2**53, "not a whole number:",
           value)
    return int(value)


def batch(requests, command="plan"):
    """The answers to requests, each a dict or a line as it is; all in one process."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in requests]
    done = run(command, "--batch", text="".join(line + "\n" for line in lines))
    expect(done.returncode == 0 and complaints(done.stderr) == "", "batch:", done.returncode, done.stderr)
    answers = [strictly(line) for line in done.stdout.splitlines()]
    expect(len(answers) == len(lines), len(lines), "lines,", len(answers), "answers")
    return answers


def answered(requests, command="plan"):
    answers = batch(requests, command)
    for request, answer in zip(requests, answers):
        expect("error" not in answer, request, answer)
    return answers


def expect_refusal(done, *words):
    """Of a command: status 2, a sentence with these words on standard error, nothing on standard output."""
    said = complaints(done.stderr)
    expect(done.returncode == 2 and done.stdout == "" and said.count("\n") == 1, done)
    expect(all(word in said for word in words), said, "lacks", words)
    expect_known_names(said)


@functools.cache
def help_of(*command):
    return output(*command, "--help")


@functools.cache
def commands():
    """All commands, those of commands included, each as a tuple of words."""
    found = [()]
    for command in found:
        _, _, below = help_of(*command).partition("Subcommands:")
        found += [(*command, word) for word in re.findall(r"^  (\w+) ", below, re.M)]
    return found


@functools.cache
def options_of(command):
    """The options of a command, and whether each takes a value."""
    return {name: bool(value) for name, value in re.findall(r"^  (?:-h,)?(--[\w-]+)( [A-Z]\S*)?", help_of(*command), re.M)}


def expect_known_names(said):
    """A message names options and commands that there are, and nothing of a program's."""
    said = re.sub(r'"[^"]*"', '""', said)  # what the user wrote
    known = {name for command in commands() for name in options_of(command)}
    expect(set(re.findall(r"--[a-z][\w-]*", said)) <= known, "an option that is none:", said)
    of_command = {" ".join(command) for command in commands()} | {"has", "COMMAND"}
    for words in re.findall(r"(?<!^)\bcairn ((?:[a-z]+ )?(?:plan|explain|svg|summarize|repair)|[a-z]+)", said):
        expect(words in of_command, "a command that is none:", words, said)
    expect(not re.search(r"::|`|\w\(\)|_options\b|most_table", said), "a name of the library's:", said)


def plan_of(**request):
    return answered([request])[0]


def refused(request, *words, command="plan"):
    (answer,) = batch([request], command)
    error = answer.get("error", "")
    expect_known_names(error)
    expect(error and all(word in error for word in words), request, "->", answer, "lacks", words)
    return error


def words_for(request):
    """The options of the command line for a request."""
    def text(value):
        if isinstance(value, list):
            return ",".join(f"{one['slots']}:{one.get('write', 0)}:{one.get('read', 0)}" for one in value)
        return str(value).lower() if isinstance(value, bool) else str(value)
    return [f"--{key.replace('_', '-')}={text(value)}" for key, value in request.items()]


def expect_totals(answer):
    """What holds for any schedule here."""
    n, advances = whole(answer["steps"]), whole(answer["advances"])
    expect(whole(answer["reversals"]) == n and whole(answer["disk_writes"]) <= whole(answer["saves"]), answer)
    expect(answer["schedule"] in TAPED or whole(answer["forward_steps"]) == advances + n, answer)
    expect(advances <= whole(answer["step_calls"]) <= whole(answer["forward_steps"]), answer)
    per_step = whole(answer["step_calls"]) / n if n else 0
    expect(math.isclose(answer["forward_evaluations_per_step"], per_step, rel_tol=1e-15), answer)
    expect(answer["counted"] == ("walk" if n <= MOST_WALKED else "closed_form"), answer)
    expect((answer["cost"] is None) == (answer["schedule"] not in ("hrevolve", "disk_revolve")), answer)


# Plans of every schedule: all that a loop's length does not say.
TIERS = [{"slots": 2}, {"slots": 4, "write": 2.5, "read": 1.25}]
WAYS = [{"schedule": "revolve", "slots": s} for s in (1, 5, 60)]
WAYS += [{"schedule": "revolve", "slots": 4, "block": k} for k in (3, 99)]
WAYS += [{"schedule": "uniform"}, {"schedule": "uniform", "block": 7}, {"schedule": "store_all"}]
WAYS += [{"schedule": "two_level", "period": p, "extra_slots": x} for p, x in ((1, 0), (7, 2))]
WAYS += [{"schedule": "online", "slots": 5, "eager": eager} for eager in (False, True)]
WAYS += [{"schedule": "multistage", "ram_slots": 3} | disk for disk in ({}, {"disk_slots": 2})]
WAYS += [{"schedule": "hrevolve", "tiers": TIERS, "advance_cost": 0.75, "turn_cost": 1.5},
         {"schedule": "disk_revolve", "ram_slots": 3, "disk_write": 3, "disk_read": 1.5}]
WAYS += [{"schedule": "mixed", "units": 7, "tape_units": 3, "tape_restarts": restarts, "initial": initial}
         for restarts, initial in ((False, "pinned_free"), (True, "releasable"))]
WAYS += [{"schedule": "bptt", "units": 5, "tape_units": 2, "keep": keep} for keep in ("states", "tapes", "both")]
WAYS += [{"schedule": "runge_kutta", "units": 9, "stages": 2, "stiffly_accurate": accurate}
         for accurate in (False, True)]
ONE_EACH = list({way["schedule"]: way for way in reversed(WAYS)}.values())[::-1]  # the first of each
REVOLVE = ({"schedule": "revolve", "steps": "n", "slots": "s"},
           {"advances": "min_advances", "saves": "min_stores", "repetition_number": "repetition_number",
            "first_split": "first_split_min_stores_rule"})
MIXED = {"schedule": "mixed", "steps": "n", "units": "units", "tape_units": "dep_units_alpha", "initial": "releasable"}
BPTT = {"schedule": "bptt", "steps": "n", "units": "units_besides_initial_state_and_live_tape",
        "tape_units": "internal_units_alpha", "initial": "pinned_free"}
# A file, what its rows ask for, where a text that is the name of a column stands for it, and which member of the answer
# is which column.
ORACLES = (
    ("revolve_small", *REVOLVE),
    ("revolve_large", *REVOLVE),
    ("uniform_block", {"schedule": "uniform", "steps": "n", "block": "block"},
     {"blocks": "num_blocks", "advances": "advances_turns_excluded_last_block_kept"}),
    ("two_level_periodic",
     {"schedule": "two_level", "steps": "n", "period": "period", "extra_slots": "extra_binomial_slots"},
     {"advances": "advances_online_full_sweep"}),
    ("online", {"schedule": "online", "steps": "n", "slots": "s"}, {}),
    ("multistage", {"schedule": "multistage", "steps": "n", "ram_slots": "ram_slots", "disk_slots": "disk_slots"},
     {"advances": "min_advances"}),
    ("hrevolve2", {"schedule": "hrevolve", "steps": "n", "advance_cost": "advance_cost", "turn_cost": "turn_cost",
                   "tiers": [{"slots": f"{place}_slots", "write": f"{place}_write", "read": f"{place}_read"}
                             for place in ("ram", "disk")]},
     {"cost_without_turns": "min_cost_without_turns", "cost": "min_cost_total"}),
    ("hrevolve3", {"schedule": "hrevolve", "steps": "n",
                   "tiers": [{"slots": f"slots{k}", "write": f"w{k}", "read": f"r{k}"} for k in range(3)]},
     {"cost_without_turns": "min_cost_without_turns"}),
    ("diskrevolve", {"schedule": "disk_revolve", "steps": "n", "ram_slots": "ram_slots", "disk_write": "disk_write",
                     "disk_read": "disk_read", "advance_cost": "advance_cost"},
     {"cost_without_turns": "min_cost_unlimited_disk"}),
    ("mixed", MIXED | {"tape_restarts": False}, {"forward_steps": "min_forward_incl_recorded_dep_cannot_restart"}),
    ("mixed", MIXED | {"tape_restarts": True}, {"forward_steps": "min_forward_incl_recorded_dep_restarts"}),
    ("bptt_gruslys", BPTT | {"keep": "states"}, {"forward_steps": "hidden_only"}),
    ("bptt_gruslys", BPTT | {"keep": "tapes"}, {"forward_steps": "internal_only"}),
    ("bptt_gruslys", BPTT | {"keep": "both"}, {"forward_steps": "mixed_true_optimum"}),
    ("cams_sa", {"schedule": "runge_kutta", "steps": "n", "units": "units_incl_initial", "stages": "stages",
                 "stiffly_accurate": True}, {"advances": "min_extra_advances_recorded_excluded"}),
)


def filled(asked, row):
    """A request of a row. Above 2^53 a number is given as digits."""
    if isinstance(asked, dict):
        return {key: filled(value, row) for key, value in asked.items()}
    if isinstance(asked, list):
        return [filled(value, row) for value in asked]
    if not isinstance(asked, str) or asked not in row:
        return asked
    return int(row[asked]) if int(row[asked]) <= 2**53 else row[asked]


def expect_row(name, row, answer):
    """What a row says beside one column, one member."""
    cell = {key: int(value) for key, value in row.items() if value.isdigit()}
    if "first_split_min" in row:
        expect(cell["first_split_min"] <= whole(answer["first_split"]) <= cell["first_split_max"], row, answer)
    if name == "multistage":
        moved = whole(answer["disk_writes"]) + whole(answer["disk_reads"])
        expect(moved == cell["min_disk_writes_plus_reads_at_min_advances"], row, answer)


def check_oracles():
    """Every row of every reference table, through one process."""
    asked = []
    for name, request, same in ORACLES:
        rows = rows_of((ROOT / "tests" / "oracles" / (name + ".csv")).read_text())
        expect(rows, "no rows in", name)
        asked += [(name, row, filled(request, row), same) for row in rows]
    ratios = []
    for (name, row, _, same), answer in zip(asked, answered([request for _, _, request, _ in asked])):
        for key, column in same.items():
            if column in row:
                found = answer[key] if key.startswith("cost") else whole(answer[key])
                expect(found == int(row[column]), key, row, answer)
        expect_row(name, row, answer)
        expect_totals(answer)
        if name == "online" and int(row["offline_min_advances"]) > 0:
            ratios.append(whole(answer["advances"]) / int(row["offline_min_advances"]))
    mean = sum(ratios) / len(ratios)
    print(f"{len(asked)} answers; online over offline advances: mean {mean:.4f}, worst {max(ratios):.4f}")
    expect(min(ratios) >= 1 and mean <= 1.0095, "online is no optimum, and not too far from it")


def fewest(n, s):
    """Repetition number and advances in big integers (Griewank & Walther 2000)."""
    if n < 2:
        return 0, 0
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        # beta(s, t) in full would be too long for large s and t: a factor at a time, at least doubling
        product, small, large = 1, min(s, middle), max(s, middle)
        for k in range(1, small + 1):
            product = product * (large + k) // k
            if product >= n:
                break
        low, high = (middle, high) if product < n else (low, middle)
    return high, high * n - math.comb(s + high, s + 1)


def check_limits():
    """The smallest and the largest loops; the walk and the closed form on both sides of where one takes over."""
    for request in ({"schedule": "revolve", "slots": 1}, {"schedule": "uniform"}, {"schedule": "store_all"}):
        for n, answer in enumerate(answered([request | {"steps": n} for n in range(3)])):
            expect_totals(answer)
            for key in ("advances", "saves", "peak_slots", "repetition_number", "first_split"):
                expect(answer[key] == int(n == 2), key, answer)
    cases = [(n, s) for n in (MOST, MOST - 1, 2**53, 2**53 + 1, 10**18) for s in (1, 2, 3, 20, 1000)]
    cases += [(n, s) for n in (MOST_WALKED, MOST_WALKED + 1) for s in (3, 100)]
    for (n, s), answer in zip(cases, answered([{"steps": str(n), "slots": s} for n, s in cases])):
        expect_totals(answer)
        expect((whole(answer["repetition_number"]), whole(answer["advances"])) == fewest(n, s), answer)
    # of the other schedules: a closed form, or an error at once that says what would do
    for n in (MOST, MOST_WALKED + 1):
        steps = {"steps": str(n)}
        for answer in answered([steps | {"schedule": "two_level", "period": str(n // 2), "extra_slots": 3},
                                steps | {"schedule": "mixed", "units": str(MOST), "initial": "pinned_free"}]):
            expect_totals(answer)
        for request in ONE_EACH[4:8]:
            refused(request | steps, f"walks over at most {MOST_WALKED}", "give")
        refused({"schedule": "runge_kutta", "units": 100, "stages": 2} | steps, "does not fit", "give")
    for largest in ({"schedule": "multistage", "ram_slots": MOST, "disk_slots": MOST},
                    {"schedule": "mixed", "units": MOST}, {"schedule": "runge_kutta", "units": str(MOST)}):
        expect_totals(plan_of(steps=57, **largest))


def pattern(shown):
    """Where `...` stands for anything."""
    return ".*".join(re.escape(part) for part in shown.split("..."))


def check_lines():
    """Lines that are wrong get an error that says what would work, and the rest goes on, in order: those of
    tests/tool/*_lines.txt, `line => what its error says`, and some that no text file holds."""
    endless = {"plan": ['{"steps":' + "1" * 70_000 + "}", "[" * 60_000, ""],
               "chain": ["[" * 100_000, '{"more":' * 100_000, '{"chain":{"x":[' + "8," * (33 << 20) + "8]}}"]}
    for command, good in GOOD.items():
        text = (ROOT / "tests" / "tool" / f"{command}_lines.txt").read_text()
        wrong = [line.split(" => ") for line in text.splitlines() if not line.startswith("#")]
        wrong = [(line.replace("CHAIN", json.dumps(TINY_CHAIN)), said) for line, said in wrong]
        wrong += [(line, "") for line in endless[command]]
        answers = batch([line for bad, _ in wrong for line in (bad, good)], command)
        expect(all("error" not in answer for answer in answers[1::2]), "a line after a wrong one is refused")
        for (line, said), answer in zip(wrong, answers[::2]):
            expect(10 < len(answer.get("error", "")) < 600, line[:300], "->", answer)
            expect(re.search(pattern(said), answer["error"]), line[:300], "->", answer, "lacks", said)
            expect_known_names(answer["error"])
    many = [{"id": f"{k} \u00e9\"\\", "steps": k % 50, "slots": 1 + k % 7} for k in range(5000)]
    expect([answer["id"] for answer in answered(many)] == [request["id"] for request in many], "the order of answers")


def check_memory():
    """100,000 lines take the memory of 1,000, and answers come before the input ends."""
    if not os.path.exists("/proc/self/status"):
        print("no /proc: passed over")
        return
    kinds = {"plan": [{"steps": 39, "slots": 2}, {"schedule": "mixed", "steps": 30, "units": 3},
                      {"steps": 20, "schedule": "hrevolve", "tiers": [{"slots": 4}, {"slots": 2, "write": 1}]}],
             "chain": [GOOD["chain"] | {"planner": planner} for planner in ("persistent", "non_persistent", "sqrt")]}

    def peak(command, count):
        lines = [json.dumps(kinds[command][k % 3] | {"id": k}) if k % 10 else "wrong" for k in range(count)]
        child = subprocess.Popen([TOOL, command, "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        feeder = threading.Thread(target=lambda: (child.stdin.write("\n".join(lines) + "\n"), child.stdin.flush()))
        feeder.start()
        for k in range(count):
            answer = child.stdout.readline()
            expect(answer.startswith(f'{{"id":{k},' if k % 10 else '{"error":'), k, answer)
            expect(k % 10 == 0 or "error" not in answer, k, answer)
        feeder.join()
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
        child.stdin.close()
        expect(child.stdout.read() == "" and child.wait() == 0, "the end")
        return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1])

    for command, largest in (("plan", 100_000), ("chain", 10_000)):
        few, many = peak(command, 1_000), peak(command, largest)
        print(f"{command}: peak resident memory {few} kB after 1,000 lines, {many} kB after {largest:,}")
        expect(many <= few + 1024, "memory grows with the lines")


def check_readers():
    """What is read takes memory by what it says, not by how deeply it is nested or what is passed over."""
    def most(words, text):
        written("x.json", text)
        child = subprocess.Popen([TOOL, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        expect(child.returncode in (0, 2), words, child.returncode)
        return used.ru_maxrss

    readers = ((["graph", "plan", "x.json"], '{"operations":[{"bytes":8}],"more":%s}'), (["chain", "x.json"], '{"x":[1],"s":[],"uf":[],"more":%s}'),
               (["profile", "x.json"], '{"more":%s,"operations":[]}'), (["plan", "--actions", "x.json"], '{"steps":0,"slots":0,"actions":%s}'),
               (["report", "x.json"], '{"more":%s}'))
    deep, size = 2_000_000, 1_000_000
    for words, form in readers:
        little = most(words, form % "[]")
        texts = ["[" * deep, form % ("[" * size + "]" * size), form % ('{"a":' * 400_000)]
        if words[0] != "report":  # which shows what it reads
            texts.append(form % ("[" + "[]," * 600_000 + "[]]"))
        for text in texts:
            found = most(words, text)
            print(*words, f"{found - little} kB for {len(text)} bytes of {text[:30]}...")
            expect(found - little < 24_000, words, text[:40], little, found)


def check_random():
    """Any words get an answer with status 0, or one sentence with status 2 that names what there is."""
    rng = random.Random(int(os.environ.get("CAIRN_FUZZ_SEED", 7)))
    values = (ROOT / "tests/tool/words.txt").read_text().split() + ["", " ", "\n", "\u00e9", "x" * 300]
    # what takes a while is asked for less often
    starts = {"plan": ["--steps", "20"], "explain": ["--steps", "20"], "advise": ["--steps", "20", "--state", "8", "--memory", "1kB"],
              "pareto": ["--steps", "20", "--state", "8"], "slots": ["--steps", "20", "--slowdown", "2"], "chain": ["chain.json"]}
    for name in ("folder", "folder.csv"):
        os.makedirs(name, exist_ok=True)
    files = {"chain.json": json.dumps(TINY_CHAIN), "empty.csv": "", "torn.json": '{"operations":[{',
             "graph.json": '{"operations":[{"bytes":8,"time":3},{"inputs":[0],"bytes":4}]}',
             "plan.csv": output("plan", "--steps", 5, "--slots", 2, "--csv"),
             "plan.json": output("plan", "--steps", 5, "--slots", 2, "--json-actions")}
    for name, text in files.items():
        written(name, text)
    said, refusals = set(), 0
    for _ in range(int(os.environ.get("CAIRN_FUZZ_PROGRAMS", 600))):
        command = rng.choice([command for command in commands() if command])
        words = list(command)
        if rng.random() < 0.7:
            words += starts.get(command[0], [])
        options = options_of(command)
        for name in rng.sample(list(options), min(len(options), rng.randrange(5))):
            if name != "--help" and name not in words:
                words += [name] + [rng.choice(values)] * (options[name] and rng.random() < 0.95)
        if rng.random() < 0.4:
            words.insert(rng.randrange(len(command), len(words) + 1), rng.choice(values))
        if "--time-limit" in options and "--time-limit" not in words:
            words.append("--time-limit=2")
        done = run(*words, text=rng.choice(["", "x", "[1]", json.dumps(TINY_CHAIN)]))
        complaint = complaints(done.stderr)
        if done.returncode == 0:
            expect(complaint == "", words, complaint)
            continue
        expect(done.returncode == 2 and done.stdout == "" and re.fullmatch(r"cairn: [^\n]{12,700}\n", complaint), words, done)
        expect_known_names(complaint)
        refusals += 1
        said.add(re.sub(r'"[^"]*"|\d+', "", complaint))
    print(f"{refusals} refusals, {len(said)} different ones")


def check_budgets():
    """A budget gets the most slots that fit: one more does not. What is said to be the least fits, one byte less does
    not."""
    for schedule, own, extra in (
            ("revolve", "slots", {"block": 7, "tape": 50_000}), ("online", "slots", {}),
            ("two_level", "extra_slots", {"period": 60}), ("multistage", "ram_slots", {"disk_slots": 4}),
            ("disk_revolve", "ram_slots", {"disk_write": 5, "disk_read": 2.5})):
        for n in (1, 50, 300):
            base = {"schedule": schedule, "steps": n, "state": 10_000} | extra
            least = int(re.search(r"needs (\d+) B", refused(base | {"memory": 1}, "memory is 1 B", "at least"))[1])
            refused(base | {"memory": least - 1}, str(least))
            budgets = (least, 2 * least + 12_345)
            for memory, answer in zip(budgets, answered([base | {"memory": memory} for memory in budgets])):
                same = base | {"initial": "pinned_free"} if schedule == "revolve" else base
                again, more = answered([same | {own: whole(answer[own]) + k} for k in range(2)])
                sizes = ("memory_bytes", "peak_bytes")  # an any_schedule, which plan_within gives, takes a little more
                expect(answer == again | {key: answer[key] for key in sizes}, answer, again)
                expect(all(0 <= answer[key] - again[key] < 200 for key in sizes), answer, again)
                expect(whole(answer["memory_bytes"]) <= memory < whole(more["memory_bytes"])
                       or whole(more["peak_slots"]) == whole(answer["peak_slots"]), memory, answer, more)


def check_one_choice():
    """A budget gets the same slots from plan and from the library's search, which advise shows."""
    for n in (2, 3, 77, 1000, 200_000, 10**12):
        for state, budget in ((8, 1000), (8, 4096), (65536, 10**6), (65536, 2**23), (10**9, 10**11)):
            loop = ["--steps", n, "--state", state, "--memory", budget]
            for schedule in ("revolve", "uniform", "store_all"):
                for block, leaf in (([], []), (["--block", 7], ["--leaves", "--leaf", 7])):
                    if block and (schedule != "revolve" or n < 8):
                        continue
                    plan = run("plan", *loop, "--schedule", schedule, *block, "--json")
                    advice = run("advise", *loop, "--schedule", schedule, *leaf, "--json")
                    if plan.returncode == 2:
                        expect_refusal(advice, "budget")
                        continue
                    plan, best = strictly(plan.stdout), strictly(advice.stdout)["best"]
                    for key in ("slots", "step_calls", "memory_bytes"):
                        expect(plan[key] == best[key], loop, schedule, block, plan, best)


def expect_same(request, answer, sweep):
    """What the replay counted is what the answer says, and no place held more than it may."""
    for key, value in sweep.sums.items():
        expect(whole(answer.get(key, 0)) == value, key, value, request, answer)
    if answer["cost"] is not None:
        tiers = request.get("tiers") or [{"slots": request["ram_slots"]},
                                         {"slots": MOST, "write": request["disk_write"], "read": request["disk_read"]}]
        cost = sweep.sums["advances"] * request.get("advance_cost", 1)
        for place, tier in zip(("memory", "disk"), tiers):
            cost += sweep.writes[place] * tier.get("write", 0) + sweep.reads[place] * tier.get("read", 0)
            expect(sweep.peaks[place] <= tier["slots"], place, request, answer)
        turns = request["steps"] * request.get("turn_cost", 0)
        expect(math.isclose(answer["cost_without_turns"], cost, rel_tol=1e-12)
               and math.isclose(answer["cost"], cost + turns, rel_tol=1e-12), cost, request, answer)
    if request["schedule"] == "multistage":
        expect(sweep.peaks["memory"] <= request["ram_slots"] and sweep.peaks["disk"] <= request.get("disk_slots", MOST),
               request, answer)
    if request["schedule"] in TAPED:
        expect(sweep.units is not None and sweep.units <= request["units"], "the budget of units", request)


def check_actions():
    """--csv is a plan that an interpreter of another make can obey, with the totals of --json, which is the answer of
    --batch. As a file, in either form, it is a schedule with the same totals."""
    requests = [way | {"steps": n} for way in WAYS for n in (0, 1, 2, 41)]
    for at, (request, answer) in enumerate(zip(requests, answered(requests))):
        words = words_for(request)
        expect_totals(answer)
        text = output("plan", *words, "--csv")
        expect_same(request, answer, play_loop(text))
        if at % 7:
            continue
        expect(output("plan", *words, "--json") == json.dumps(answer, separators=(",", ":")) + "\n", words, answer)
        for file in (written("plan.csv", text), written("plan.json", output("plan", *words, "--json-actions"))):
            expect(output("plan", "--actions", file, "--csv") == text, "another list came back", words)
            again = as_json("plan", "--schedule", "action_list", "--actions", file)
            for key in ("steps", "advances", "recorded", "forward_steps", "saves", "loads", "disk_reads",
                        "peak_slots", "repetition_number", "first_split"):
                expect(again[key] == answer[key], key, answer, again)


def chain_oracles():
    files = sorted((ROOT / "tests" / "oracles" / "chains").glob("*.json"))
    expect(files, "no chains in tests/oracles/chains")
    return [(file, json.loads(file.read_text())) for file in files]


def expect_chain(memory, answer):
    """What holds for any plan of any chain."""
    makespan, extra, store_all = (whole(answer[key]) for key in ("makespan", "extra_forward", "no_checkpoint_makespan"))
    bound, lowest, peak = (whole(answer[key]) for key in ("bound_time", "lower_bound_time", "peak"))
    expect(whole(answer["lower_bound_peak"]) <= peak <= memory, "over the budget", memory, answer)
    expect(lowest <= bound <= makespan == store_all + extra, answer)
    expect(answer["bound"] == "every_schedule" or bound > lowest, answer)
    gap = (makespan - bound) / bound if bound else 0
    expect(math.isclose(answer["gap"], gap, rel_tol=1e-12, abs_tol=1e-15)
           and answer["exact"] == (makespan <= bound), answer)


def check_chains():
    """Every row of the reference chains: the optimum of its class, within the budget, with bounds that hold; what is
    less than the least that is needed is refused, and the least is said."""
    asked = [(file, known["result"], row, planner) for file, known in chain_oracles()
             for row in known["result"]["budgets"] for planner in ("persistent", "auto")]
    chains = {file: known["chain"] for file, known in chain_oracles()}
    requests = [{"chain": chains[file], "memory": row["M"], "planner": planner} for file, _, row, planner in asked]
    for (file, result, row, planner), answer in zip(asked, answered(requests, "chain")):
        where = (file.name, row["M"], planner)
        expect_chain(row["M"], answer)
        expect([whole(answer[key]) for key in ("no_checkpoint_makespan", "store_all_peak", "lower_bound_peak")] ==
               [result[key] for key in ("no_checkpoint_makespan", "store_all_peak", "lb_peak_any_schedule")],
               where, answer)
        makespan, bound, best = whole(answer["makespan"]), whole(answer["lower_bound_time"]), row["opt_persistent"]
        expect(bound <= row.get("opt_any_schedule", best), "the bound", where, answer)
        expect(row.get("opt_any_schedule", bound) <= makespan <= best, "the makespan", where, answer)
        expect(planner != "persistent" or makespan == best, "not the optimum", where, answer)
    below = {file: known["result"]["min_peak_persistent"] for file, known in chain_oracles()
             if known["result"]["min_peak_persistent"] > 0}
    requests = [{"chain": chains[file], "memory": least - 1, "planner": "persistent"} for file, least in below.items()]
    for (file, least), answer in zip(below.items(), batch(requests, "chain")):
        expect(str(least - 1) in answer["error"] and whole(answer["least_feasible_memory"]) == least, file.name, answer)
    for planner in ("persistent", "auto", "slots", "non_persistent", "store_all", "sqrt", "greedy",
                    "single_level"):
        expect_chain(1000, answered([GOOD["chain"] | {"planner": planner}], "chain")[0])
    print(f"{len(asked)} plans, {len(below)} budgets that are too small")


def check_chain_command():
    """The command counts state 0 and answers as --batch does; tables, pictures and budgets of time belong to the same
    plans."""
    for file, known in chain_oracles():
        chain, result = known["chain"], known["result"]
        if chain["L"] not in (5, 16) or "1051" in file.name:
            continue
        row, initial = result["budgets"][len(result["budgets"]) // 2], chain["x"][0]
        words = ["chain", file, "--memory", row["M"] + initial]
        (answer,) = answered([{"chain": chain, "memory": row["M"]}], "chain")
        expect(as_json(*words) == answer, file.name, answer)
        expect(output(*words, "--actions") == answer["plan"] + "\n", file.name)
        table = output(*words, "--svg", "memory.svg", "--pareto-svg", "pareto.svg")
        expect(are_svg("memory.svg", "pareto.svg"), file)
        expect(f"{whole(answer['makespan']):,}" in table and f"{whole(answer['peak']) + initial:,} B" in table,
               file.name, table)
        short, tiny = result["lb_peak_any_schedule"] - 1 + initial, initial - 1
        for memory, said in ((short, f"The budget is {short} bytes"), (tiny, f"state 0 alone takes {initial} B")):
            expect_refusal(run("chain", file, "--memory", memory), said)

        words = ["chain", file, "--pareto", "--points", 12]
        front, rows = as_json(*words), rows_of(output(*words, "--csv"))
        for small, large in zip(front, front[1:]):
            expect(whole(small["peak"]) < whole(large["peak"]) and whole(small["makespan"]) > whole(large["makespan"]),
                   file.name, small, large)
        for plan, line in zip(front, rows, strict=True):
            for key in ("peak", "makespan", "planner", "bound", "left_out"):
                expect(line[key] == str(plan[key]), key, line, plan)
        most_time = (result["no_checkpoint_makespan"] + row["opt_persistent"]) // 2
        plan = as_json("chain", file, "--time", most_time)
        expect(whole(plan["makespan"]) <= most_time and whole(plan["peak"]) <= result["store_all_peak"], file, plan)


def check_graphs():
    """Tables, lists of actions and pictures of a graph belong to one plan, which is within its budget; curves rise."""
    operations = [{"bytes": 8 + v, "time": 10 + v, "adjoint_time": 20, "inputs": sorted({v - 1, v // 3} if v else {})}
                  for v in range(9)]
    file = written("graph.json", json.dumps({"graph": {"operations": operations, "loss_time": 3}}))
    words = ["graph", "plan", file]
    front = as_json(*words, "--points", 5)
    for small, large in zip(front, front[1:]):
        expect(small["budget"] < large["budget"] and small["makespan"] > large["makespan"], small, large)
    budget = (front[0]["budget"] + front[-1]["budget"]) // 2
    words += ["--memory", budget]
    plan = as_json(*words)
    expect(plan["lower_bound_peak"] <= plan["peak"] <= plan["budget"] == budget
           and plan["lower_bound_time"] <= plan["makespan"], plan)
    expect(output(*words, "--actions") == plan["plan"] + "\n", plan)
    table = output(*words, "--svg", "memory.svg")
    expect(f"{plan['makespan']:,}" in table and f"{plan['peak']:,} B" in table, table)
    expect(are_svg("memory.svg", written("graph.svg", output("graph", "svg", file))), table)
    expect("9 operations" in output("graph", "explain", file), file)


def check_pictures():
    """Every schedule can be drawn, behind its table and as SVG, and explained with the figures of its answer."""
    for request in ONE_EACH:
        request = request | {"steps": 20, "state": "10kB"}
        if request["schedule"] in TAPED:
            request["tape"] = "20kB"
        words, answer = words_for(request), plan_of(**request)
        plain = output("plan", *words)
        drawn = output("plan", *words, "--svg", "schedule.svg", "--memory-svg", "memory.svg", "--parts-svg",
                       "parts.svg", "--title", "A & B", "--picture", "--memory-picture")
        expect(plain.startswith(request["schedule"] + ", ") and drawn.startswith(plain)
               and drawn.count("\n") > plain.count("\n") + 10 and "action\n" in drawn, drawn)
        expect(are_svg("schedule.svg", "memory.svg", "parts.svg"), request)
        expect("A &amp; B" in pathlib.Path("parts.svg").read_text() and "all that is held" in drawn, drawn)
        text = output("explain", *words)
        for said in (request["schedule"], "The fewest ", f"{whole(answer['step_calls']):,} step calls",
                     f"{whole(answer['memory_bytes']):,} bytes"):
            expect(said in text, request, said, text)


def check_planning():
    """advise, pareto and slots: within the budget, above the proven bounds, in order, with the numbers of --batch."""
    loop = ["--steps", 300, "--state", "10kB"]
    disk = ["--disk", "unlimited", "--disk-write", 0.02, "--disk-read", 0.01, "--step-seconds", 0.01,
            "--adjoint-seconds", 0.03]
    back = ["--kept", 100, "--back-seconds", 0.008, "--step-seconds", 0.01]
    for extra in ([], disk, ["--records", "--tape", "25kB", "--tape-restarts"], back, back + ["--longest", 20]):
        measure = "seconds" if "--step-seconds" in extra else "step_calls"
        words = ["advise", *loop, *extra, "--memory", 400_000]
        advice = as_json(*words)
        plans = [advice["best"], *advice["runners_up"]]
        expect(sorted(plans, key=lambda plan: plan[measure]) == plans, "the order of", words)
        for plan in plans:
            expect(plan["least_bytes"] <= plan["memory_bytes"] <= 400_000 and plan["seconds"] >=
                   plan["least_seconds"] * (1 - 1e-12) and plan["step_calls"] >= plan["least_step_calls"], plan)
            if plan["schedule"] == "revolve" and plan["leaf"] == 1:
                answer = plan_of(steps=300, slots=plan["slots"])
                expect(all(answer[key] == plan[key] for key in ("advances", "forward_steps")), plan, answer)
        if "--kept" in extra:  # 30 kB for kept parts: one segment, or states between those of 20 steps
            (found,) = [plan for plan in plans if plan["schedule"] == "segments"]
            expect(found["steps_back"] == 300, found)
            expect((found["leaf"], found["steps_again"]) == ((20, 280) if "--longest" in extra else (300, 0)), found)
        words = ["pareto", *loop, *extra, "--points", 12]
        front, rows = as_json(*words), rows_of(output(*words, "--csv"))
        expect([[str(plan[key]) for key in ("memory_bytes", "step_calls", "schedule")] for plan in front] ==
               [[row[key] for key in ("bytes", "step_calls", "schedule")] for row in rows], extra, front)
        for small, large in zip(front, front[1:]):
            expect(small["memory_bytes"] < large["memory_bytes"] and small[measure] > large[measure], small, large)

    for n, slowdown in ((1000, 2), (1000, 1), (10**15, 8), (2, 1), (10**6, 10**6)):
        said = output("slots", "--steps", n, "--slowdown", slowdown).replace(",", "")
        enough, less = (line.split() for line in said.splitlines()[1:3])
        s = int(enough[-3])
        expect(int(enough[-2]) == whole(plan_of(steps=n, slots=s)["step_calls"]) <= slowdown * n, said)
        expect(s == 1 or int(less[-2]) == fewest(n, s - 1)[1] + 1 > slowdown * n, said)


def chain_that_differs(stages):
    state, numbers = 1, []
    for _ in range(4 * stages):
        state = state * 48271 % (2**31 - 1)
        numbers.append(state % 10**6 + 1)
    x, more, uf, ub = (numbers[k::4] for k in range(4))
    return {"x": [0] + x, "s": [a + b for a, b in zip(x, more)], "uf": uf, "ub": ub + [1]}


ENDLESS = (
    {"schedule": "mixed", "steps": 8000, "units": 7000, "tape_units": 2},
    {"schedule": "multistage", "steps": 10**6, "memory": "40kB", "state": 8, "disk_slots": 100},
    {"schedule": "hrevolve", "steps": 10**6, "tiers": [{"slots": 3}, {"slots": 100, "write": 2, "read": 1}]},
    {"schedule": "disk_revolve", "steps": 9 * 10**6, "ram_slots": 3, "disk_write": 2, "disk_read": 1},
    {"schedule": "online", "steps": MOST_WALKED, "memory": "100MB", "state": "1kB"})


def children_seconds():
    """What all commands took until now, of processors: it does not grow with what else the machine does."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def check_time():
    """No request is worked on for longer than its limit, the next line is answered, and long work says how far it is.
    Of a long chain some planners have the best plan that is found, with its gap."""
    chain = chain_that_differs(5000)
    request = {"chain": chain, "memory": sum(chain["s"]) * 3 // 10, "time_limit": 0.3}
    refusals = {"plan": [request | {"time_limit": 0.3} for request in ENDLESS],
                "chain": [request | {"planner": planner} for planner in ("single_level", "slots", "non_persistent")]}
    for command, good in GOOD.items():
        lines = [line for request in refusals[command] for line in (request, good | {"time_limit": "unlimited"})]
        for k, answer in enumerate(batch(lines, command)):
            error = answer.get("error", "")
            expect(not error if k % 2 else re.search("time_limit is 0.300 s.*; give more", error), k, answer)
        # a limit of all lines together: what comes later is refused, and a line's own limit is kept where it is shorter
        slow = refusals[command][0] | {"time_limit": 50}
        lines = [good, slow | {"time_limit": 0.2}, slow, slow, good]
        done = run(command, "--batch", "--time-limit", 1, text="".join(json.dumps(line) + "\n" for line in lines))
        errors = [strictly(line).get("error", "") for line in done.stdout.splitlines()]
        expect(done.returncode == 0 and errors[0] == "" and "time_limit is 0.200 s" in errors[1], done)
        expect(all("time_limit is 1.000 s" in error for error in errors[2:]) and len(errors) == 5, errors)
    (answer,) = answered([request], "chain")
    expect(whole(answer["peak"]) <= request["memory"] and 0 <= answer["gap"] < 0.6, answer)
    file = written("chain.json", json.dumps(chain_that_differs(1000)))
    for words, said in ((["plan", *words_for(ENDLESS[0])], r"cairn: \d s, [\d.]+ % of the table\n"),
                        (["chain", file, "--memory", "300MB", "--planner", "single_level"], r"cairn: \d s")):
        done = run(*words, "--time-limit", 3)
        expect_refusal(done, "cairn: --time-limit is 3")
        expect(re.match(said, done.stderr), "does not say how far it is", done)
    said = output("chain", file, "--time-limit", 0.1)
    expect(re.search(r"\n\d+ more budgets? ha(s|ve) no plan here: the limit of work was passed\n$", said), said)
    spent = children_seconds()
    expect(spent < 60, "the limits of all lines took", spent)


def check_numbers():
    """There is no inf and no nan in JSON, whatever the times."""
    loop = ["--steps", MOST, "--state", 8]
    for words in (["advise", *loop, "--memory", "100kB"], ["pareto", *loop, "--points", 3]):
        for times in (["--step-seconds", 1e308], ["--step-seconds", 1e-320],
                      ["--step-seconds", 1e300, "--disk-write", 1e308, "--disk", "unlimited"]):
            for form in (["--json"], []):
                done = run(*words, *times, *form)
                expect(not re.search(r"\b(inf|nan)\b", done.stdout + done.stderr), words, times, done)
                expect(done.returncode == 0 or "a larger unit" in done.stderr or "budget" in done.stderr, times, done)
    costs = [0, 1e-320, 1e300, 1.7e308]
    requests = [{"schedule": "disk_revolve", "steps": 50, "ram_slots": 2, "disk_write": a, "disk_read": b,
                 "turn_cost": c} for a in costs for b in costs for c in costs]
    for request, answer in zip(requests, batch(requests)):
        expect("larger unit" in answer["error"] if "error" in answer else answer["cost"] is not None, request, answer)


def check_environment():
    """`env` tells what docs/observing.md says, and refuses no variable that a script of the checkout reads."""
    lines = run("env").stdout.splitlines()[1:]
    expect(len(lines) > 5 and all("not set: " in line for line in lines), lines)
    page = (ROOT / "docs/observing.md").read_text()
    for line in lines:
        name, rest = line.split(None, 1)
        fallback, value, effect = re.split(r"  +", rest.removeprefix("not set: "))
        expect(f"| `{name}` | {value} | {fallback} | {effect} |" in page, "docs/observing.md lacks", line)
    expect(run("version", CAIRN_SLOTS="0").returncode == 0, "another command reads the environment")
    reads = re.compile(r"""(?:getenv\("|environ(?:\.get\(|\[)["']|number_in\("|\$\{)(CAIRN_\w+)[:"']""")
    files = [path for folder in ("tests", "benchmarks", "examples", "tools") for path in (ROOT / folder).rglob("*")]
    read = {name: file for file in [ROOT / "run", *files] if file.suffix in ("", ".sh", ".py", ".cpp", ".hpp")
            and file.is_file() for name in reads.findall(file.read_text(errors="replace"))}
    expect({"CAIRN_APT_WAIT", "CAIRN_FUZZ_PROGRAM"} <= set(read), "this check finds nothing:", sorted(read))
    for name, file in read.items():
        expect(run("env", **{name: "1"}).returncode == 0, file, "reads", name,
               "and cairn refuses it: see is_of_the_checkout in trace/impl/environment.ipp")


def check_reports():
    """`report` shows each number of a file, whatever ends its lines."""
    def report(text, name="plans.csv"):
        return output("report", written(name, text))
    points = output("pareto", "--steps", 500, "--state", "64KiB", "--points", 6, "--csv", "--step-seconds", 1e-3)
    said, rows = report(points).splitlines(), rows_of(points)
    expect(said[0] == f"{len(rows)} rows" and said[1].split() == list(rows[0]), said)
    for row, line in zip(rows, said[2:]):
        expect(f" {int(row['step_calls']):,} " in line and f" {row['schedule']} " in line, row, line)
    expect(report(points.replace("\n", "\r\n")).splitlines() == said, "line ends of Windows")
    for form, name in (("--csv", "plan.csv"), ("--json-actions", "plan.json")):
        shown = report(output("plan", "--steps", 9, "--slots", 3, form), name)
        expect(shown == output("plan", "--actions", name), shown)


def check_profiles():
    """`profile` has the times that it is given and `profile --check` passes it; in a sound profile it names the file of
    each fault that is planted there."""
    def said(folder):
        done = run("profile", "--check", folder)
        expect(done.returncode == (2 if done.stderr else 0) and bool(done.stderr) != bool(done.stdout), done)
        return done.stderr.splitlines()
    chain = written("chain.json", '{"x":[8,16,4],"s":[40,20],"uf":[1000,3000],"ub":[2000,5000,7]}')
    expect(output("profile", chain, "--out", "profile").startswith("a profile of 6 nodes, "), chain)
    nodes = rows_of(pathlib.Path("profile/profiler_stats_node_stats.csv").read_text())
    seconds = sum(float(row["median_run_time_s"]) for row in nodes if row["gtype"] == "forward")
    expect(round(seconds * 1e9) == 4000, nodes)
    sound = {file.name.replace("profiler_stats", "x"): file.read_text() for file in pathlib.Path("profile").iterdir()}
    pathlib.Path("drawn").mkdir()
    for name in (name for name in sound if name.endswith(".csv")):
        written(f"drawn/{name}", sound[name])
    output("profile", "--draw", "drawn")
    expect({file.name: file.read_text() for file in pathlib.Path("drawn").iterdir()} == sound, "the same pictures")
    sound |= {f"y_batch_{name}.svg": sound["x_memory.svg"] for name in ("peak_and_time", "breakdown", "memory")}
    sound["y_batches.csv"] = ("batch,counted_peak_bytes,param_bytes,act_bytes,grad_bytes,opt_state_bytes,other_bytes\n"
                              "4,16,0,8,8,0,0\n")
    expect(planted.found_in(said, sound) == [] and len(planted.found_in(said, {})) == 1, "a sound profile, and none")
    uses, at_end = sound["x_activation_stats.csv"].splitlines()[1].split(",", 5)[1:5], "x_activation_stats.csv"
    for path, old, new in (
            ("x_node_stats.csv", "rank,", "number,"), ("x_node_stats.csv", "1e-06", "nan"), ("x_node_stats.csv", "ACT", "ACTS"),
            ("x_node_stats.csv", "1e-06", "soon"), ("x_node_stats.csv", "\n0,", "\n1,"), ("x_node_stats.csv", "forward", "ward"),
            (at_end, "," + ",".join(uses), "," + ",".join(reversed(uses))), (at_end, "", None),
            ("y_batches.csv", ",8,8,", ",8,9,"), ("y_batches.csv", "param", "parameter"), ("y_batches.csv", ",8,8,", ",8,,"),
            ("x_memory.svg", "</svg>", ""), ("y_batch_memory.svg", "<svg", "<gvs")):
        found = planted.found_in(said, planted.changed(sound, path, old, new))
        expect(len(found) == 1 and path in found[0], path, old, new, found)


def check_runs():
    """How `inspect` and `gc` say what tests/adapt/disk/stored_runs_test.cpp knows, of runs that the program after PART
    makes; without it the command has no xxHash, and says so."""
    if len(sys.argv) < 5:
        for command in ("inspect", "gc"):
            expect_refusal(run(command, "run.d"), "built without xxHash")
        return
    maker, names = os.path.abspath(sys.argv[4]), []
    for start, how in enumerate(("forward", "reverse", "finished")):
        run("run.d", start / 8, how, program=maker)
        names += set(os.listdir("run.d")) - set(names)
    forward, back, finished = names
    with subprocess.Popen([maker, "run.d", "0.8", "held"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as live:
        expect(live.stdout.readline() == b"held\n", "held")
        for path, at in ((f"{finished}/record1", -1), (f"{back}/s0003", 8)):  # a byte of the content, the version
            text = bytearray(pathlib.Path("run.d", path).read_bytes())
            text[at] ^= 1
            pathlib.Path("run.d", path).write_bytes(text)
        written(f"run.d/{forward}/mine.txt", "mine")
        seen = {one.pop("run"): one for one in as_json("inspect", "run.d", "--check")["runs"]}
        held = (set(seen) - set(names)).pop()
        stands = {"steps": 30, "left": 0, "finished": True, "checkpoints": 0, "checkpoint_bytes": 0, "record_bytes": 8144,
                  "unwritten_bytes": 0, "held": False, "damaged": [], "unknown": [], "others": 0}
        four = {"finished": False, "checkpoints": 4, "checkpoint_bytes": 4 * 8136}
        for name, new in ((forward, four | {"left": None, "record_bytes": 0, "unwritten_bytes": 8136, "others": 1}),
                          (back, four | {"left": 21, "record_bytes": 2 * 8144, "unknown": ["s0003"]}),
                          (finished, {"damaged": ["record1"]})):
            more = {key: seen[name][key] for key in ("written", "owner", "known_by", "nearest", "differs")}
            expect(seen[name] == stands | new | more and 0 <= time.time() - more["written"] < 300, seen[name], new)
        expect(seen[held]["held"] and seen[held]["owner"].endswith(f" {live.pid}"), seen[held])
        table = output("inspect", "run.d", "--check")
        expect("x0" in seen[forward]["differs"] and seen[forward]["nearest"] in seen, seen[forward])
        expect("  key" not in table and "  x0         " in output("inspect", "run.d", "--parts"), "parts")
        for line in (rf"{finished}  finished +30 +0 +0 B +7.95 KiB  20\d\d-.*\n  damaged: record1",
                     rf"{forward}  not on its way back .*\n  room for .* not written yet: 7.95 KiB\n  1 file of others",
                     rf"{back}  steps \[0, 21\) are left .*\n  of another version, .* not to be read: s0003",
                     rf"{held}  .*\n  a process works on it: {seen[held]['owner']}"):
            expect(re.search(f"^{line}$", table, re.M), line, table)
        expect("damaged" not in output("inspect", "run.d"), "damage of contents is found without --check")
        shown = as_json("gc", "run.d", "--keep", 0)
        gone = {(one["run"], one["why"], one["files"], one["bytes"]) for one in shown["runs"]}
        expect(gone == {(forward, "left_over", 1, 8136), (finished, "finished", 2, 2 * 8144)}, shown)
        expect(not shown["removed"] and shown["files"] == 3 and shown["bytes"] == 8136 + 2 * 8144, shown)
        expect(as_json("gc", "run.d", "--keep", 1, "--older-than", 1)["files"] == 1, "rules")
        table = output("gc", "run.d", "--keep", 0)
        expect(f"{finished}  the run, which is finished      2  15.9 KiB\n" in table, table)
        expect(table.endswith("\nto be removed, by --yes: 3 files, 23.9 KiB\n"), table)
        expect(as_json("gc", "run.d", "--keep", 0, "--yes") == shown | {"removed": True}, "removed")
        expect(set(os.listdir("run.d")) == {forward, back, held}, "what stays")
        expect(output("gc", "run.d", "--yes") == "there is nothing to remove\n", "nothing is left over")
        age = (time.time() - 1e9) / 86400
        for path in pathlib.Path("run.d", back).iterdir():
            os.utime(path, (1e9, 1e9))
        expect("the run, which is not finished" in output("gc", "run.d", "--older-than", age - 1), "by days")
        expect(output("gc", "run.d", "--older-than", age + 1) == "there is nothing to remove\n", "by days")

    expect_refusal(run("inspect"), "no folder is given")
    expect_refusal(run("gc", "none.d"), "there is no such folder of runs", "none.d")
    expect_refusal(run("inspect", "run.d/" + back), "give the folder that this one is in")
    os.mkdir("empty.d")
    expect_refusal(run("gc", "empty.d"), '"empty.d" has no runs in it')
    expect_refusal(run("gc", "run.d", "--keep", -1), "--keep got")
    expect_refusal(run("gc", "run.d", "--older-than", "soon"), "--older-than got")


def check_transcripts():
    """What docs/tool.md and tests/tool/commands.txt show is what the tool prints, `...` for anything. What ends with a
    sentence of cairn's has status 2, one line on standard error and nothing on standard output."""
    texts = re.findall(r"^```console\n(.*?)^```$", (ROOT / "docs/tool.md").read_text(), re.M | re.S)
    expect(len(texts) > 4, "docs/tool.md has too few examples")
    texts += [(ROOT / "tests/tool/commands.txt").read_text()]
    os.symlink(TOOL, "cairn")
    for text in texts:
        shown_commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)
        expect(shown_commands, "no command in", text)
        for command, shown in shown_commands:
            done = run("-c", command, program="sh", PATH="." + os.pathsep + os.environ["PATH"])
            is_refusal = re.match(r"cairn: .*\n$", shown)
            wanted = (2, "", shown) if is_refusal else (0, shown, "")
            found = (done.returncode, done.stdout, complaints(done.stderr))
            holds = all(re.fullmatch(pattern(str(a)), str(b), re.S) for a, b in zip(wanted, found))
            expect(holds and not (is_refusal and done.stderr.count("\n") > 1),
                   f"$ {command}\n{found}, but what is written is\n{shown}")
            if is_refusal:
                expect_known_names(done.stderr)
    for words in commands():
        expect("Usage" in output(*words, "--help"), words)
    version = re.search(r'CAIRN_VERSION_STRING "([^"]+)"', (ROOT / "include/cairn/version.hpp").read_text())[1]
    expect(output("version") == f"cairn {version}\n", "version")


def main():
    global TOOL, ROOT
    TOOL, ROOT, part = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    checks = [name for name in globals() if name.startswith("check_")]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name in checks if part == "all" else ["check_" + part]:
            globals()[name]()
            print(name.removeprefix("check_"), "ok")


main()
