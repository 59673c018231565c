#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the command `cairn` from outside: by reference numbers, big integers, and interpreters of another make.

    tool.py CAIRN CHECKOUT PART     PART is a function below without its "check_"; all of them where it is "all"
"""
import csv
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

from sweeps import TIERS, csv_of, expect, play_chain, play_graph, play_loop

TOOL, ROOT = "", pathlib.Path()
MOST = 2**63 - 1
MOST_WALKED = 10**7
TAPED = ("mixed", "bptt", "runge_kutta")
TINY_CHAIN = {"x": [4, 4, 4, 4], "s": [10, 10, 10], "f": [0, 1, 0], "b": [2, 2, 2, 4], "uf": [10, 10, 10],
              "ub": [20, 20, 20, 0]}
GOOD = {"plan": {"steps": 10, "slots": 3}, "chain": {"chain": TINY_CHAIN, "memory": 1000}}


def run(*words, text=None):
    return subprocess.run([TOOL, *map(str, words)], input=text, text=True, capture_output=True)


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


def is_svg(text):
    return xml.etree.ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


def whole(value):
    """An integer of an answer: a number up to 2^53, digits above."""
    expect(type(value) is int and value <= 2**53 or type(value) is str and int(value) > 2**53, "not a whole number:",
           value)
    return int(value)


def cost(value):
    """A cost of an answer: a whole number of the usual form, or a fraction."""
    expect(type(value) is not float or value != int(value), "a whole cost with a point:", value)
    return value if type(value) is float else whole(value)


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


def plan_of(**request):
    return answered([request])[0]


def refused(request, *words, command="plan"):
    (answer,) = batch([request], command)
    error = answer.get("error", "")
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
    n = whole(answer["steps"])
    advances, recorded = whole(answer["advances"]), whole(answer["recorded"])
    expect(whole(answer["reversals"]) == n and whole(answer["disk_writes"]) <= whole(answer["saves"]), answer)
    if answer["schedule"] in TAPED:
        expect(recorded <= n and whole(answer["step_calls"]) == whole(answer["forward_steps"]), answer)
        expect(advances + n <= whole(answer["forward_steps"]) <= advances + recorded + n, answer)
    else:
        leaf = answer.get("block", 1) if answer["schedule"] == "revolve" else 1
        leaves = -(-n // leaf)
        expect(recorded == 0 and whole(answer["forward_steps"]) == advances + n, answer)
        turned = whole(answer["step_calls"]) - advances  # 0 where the sweep runs the last step before it knows
        expect(turned == 0 and answer["schedule"] in ("two_level", "online") or turned == n - max(leaves - 1, 0) * leaf,
               answer)
        expect(whole(answer["loads"]) == max(leaves - 1, 0) + (turned == 0 and n > 0), answer)
    per_step = whole(answer["step_calls"]) / n if n else 0
    expect(math.isclose(answer["forward_evaluations_per_step"], per_step, rel_tol=1e-15), answer)
    expect(answer["counted"] == ("walk" if n <= MOST_WALKED else "closed_form"), answer)
    expect((answer["cost"] is None) == (answer["schedule"] not in ("hrevolve", "disk_revolve")), answer)


SMALL_PLANS = (
    {"schedule": "revolve", "slots": 3}, {"schedule": "uniform"}, {"schedule": "store_all"},
    {"schedule": "two_level", "period": 5, "extra_slots": 2}, {"schedule": "online", "slots": 3},
    {"schedule": "multistage", "ram_slots": 1, "disk_slots": 2},
    {"schedule": "hrevolve", "tiers": [{"slots": 1}, {"slots": 2, "write": 2.5, "read": 1}]},
    {"schedule": "disk_revolve", "ram_slots": 1, "disk_write": 2, "disk_read": 0.5},
    {"schedule": "mixed", "units": 5, "tape_units": 2}, {"schedule": "bptt", "units": 5, "tape_units": 2},
    {"schedule": "runge_kutta", "units": 5, "stages": 2})
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
    if name == "uniform_block":
        reserved = cell["peak_states_incl_initial"]
        expect(reserved - 2 <= whole(answer["peak_slots"]) <= reserved, row, answer)
    if name == "multistage":
        writes, reads = whole(answer["disk_writes"]), whole(answer["disk_reads"])
        expect(writes + reads == cell["min_disk_writes_plus_reads_at_min_advances"], row, answer)
        expect(writes >= cell["min_disk_writes_alone_at_min_advances"], row, answer)
    if name == "online":
        expect(whole(answer["advances"]) >= cell["offline_min_advances"], row, answer)


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
                expect((cost if key.startswith("cost") else whole)(answer[key]) == int(row[column]), key, row, answer)
        expect_row(name, row, answer)
        expect_totals(answer)
        if name == "online" and int(row["offline_min_advances"]) > 0:
            ratios.append(whole(answer["advances"]) / int(row["offline_min_advances"]))
    mean = sum(ratios) / len(ratios)
    print(f"{len(asked)} answers; online over offline advances: mean {mean:.4f}, worst {max(ratios):.4f}")
    expect(mean <= 1.0095, "online is too far from the optimum")


def beta(s, t):
    return math.comb(s + t, s) if t >= 0 else 0


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
    return high, high * n - beta(s + 1, high - 1)


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
    for n in (MOST, 2**53 + 1, MOST_WALKED + 1):
        steps = {"steps": str(n)}
        for answer in answered([steps | {"schedule": "two_level", "period": str(n // 2), "extra_slots": 3},
                                steps | {"schedule": "bptt", "units": 20, "tape_units": 2, "keep": "states"},
                                steps | {"schedule": "mixed", "units": str(MOST), "initial": "pinned_free"}]):
            expect_totals(answer)
        for request in SMALL_PLANS[4:8]:
            refused(request | steps, f"walks over at most {MOST_WALKED}", "give")
        for request in ({"schedule": "mixed", "units": 100}, {"schedule": "runge_kutta", "units": 100, "stages": 2}):
            refused(request | steps, "does not fit", "give")
    for largest in ({"schedule": "two_level", "period": MOST, "extra_slots": MOST},
                    {"schedule": "online", "slots": MOST}, {"schedule": "store_all"},
                    {"schedule": "multistage", "ram_slots": MOST, "disk_slots": MOST},
                    {"schedule": "mixed", "units": MOST}, {"schedule": "runge_kutta", "units": str(MOST)},
                    {"schedule": "bptt", "units": MOST, "tape_units": 3}):
        answer = plan_of(steps=57, **largest)
        expect_totals(answer)
        expect(whole(answer["forward_steps"]) <= 57 + 57 + 56, answer)


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
        expect(run(command, "--batch", text="").stdout == "", "no lines, no answers")
    raw = subprocess.run([TOOL, "plan", "--batch"], stdout=subprocess.PIPE,
                         input=b'{"\xff":1}\n\xff\xfe\n\0\n{"steps":10,"slots":3}\r\n{"steps":10,"slots":3}')
    answers = [json.loads(line) for line in raw.stdout.decode().splitlines()]
    expect(["error" in answer for answer in answers] == [True, True, True, False, False], answers)
    many = [{"id": f"{k} \u00e9\"\\", "steps": k % 50, "slots": 1 + k % 7} for k in range(5000)]
    expect([answer["id"] for answer in answered(many)] == [request["id"] for request in many], "the order of answers")
    (answer,) = batch([{"id": 7, "steps": 10}])
    expect(answer["id"] == 7 and "error" in answer, answer)


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


def check_budgets():
    """A budget gets the most slots that fit: these fit, one more does not; what is said to be the least fits, one byte
    less does not."""
    lengths = (1, 2, 50, 1000, 200_000, 10**9)
    for schedule, own, extra, lengths in (
            ("revolve", "slots", {}, lengths), ("revolve", "slots", {"block": 7, "tape": 50_000}, lengths),
            ("revolve", "slots", {"out_of_place": True, "adjoint": 777}, lengths), ("uniform", "slots", {}, lengths),
            ("online", "slots", {}, lengths[:5]), ("two_level", "extra_slots", {"period": 60}, lengths),
            ("multistage", "ram_slots", {"disk_slots": 4}, (1, 2, 50, 300)),
            ("disk_revolve", "ram_slots", {"disk_write": 5, "disk_read": 2.5}, (1, 2, 50, 300))):
        for n in lengths:
            base = {"schedule": schedule, "steps": n, "state": 10_000} | extra
            least = int(re.search(r"needs (\d+) B", refused(base | {"memory": 1}, "memory is 1 B", "at least"))[1])
            refused(base | {"memory": least - 1}, str(least))
            budgets = (least, least + 9_999, 2 * least + 12_345, 5_000_000_000)
            for memory, answer in zip(budgets, answered([base | {"memory": memory} for memory in budgets])):
                expect(whole(answer["memory_bytes"]) <= memory, n, memory, answer)
                expect_totals(answer)
                again, *larger = answered([base | {own: whole(answer[own]) + k} for k in range(4)])
                expect(again == answer, "the same plan by its slots:", answer, again)
                for more in larger:
                    expect(whole(more["memory_bytes"]) > memory
                           or whole(more["peak_slots"]) == whole(answer["peak_slots"]), memory, answer, more)
    for schedule, extra in (("store_all", {}), ("uniform", {"block": 10})):
        base = {"schedule": schedule, "steps": 1000, "state": 1000} | extra
        least = int(re.search(r"needs (\d+) B", refused(base | {"memory": "10kB"}, "schedule revolve"))[1])
        refused(base | {"memory": least - 1})
        expect(whole(plan_of(**base, memory=least)["peak_bytes"]) == least, schedule)


def plans_to_replay():
    lengths = (0, 1, 2, 3, 10, 57, 400)
    some = (0, 1, 2, 3, 10, 41)
    two = [{"slots": 2}, {"slots": 4, "write": 2.5, "read": 1.25}]
    three = [{"slots": 1}, {"slots": 2, "write": 1, "read": 0.5}, {"slots": 3, "write": 4, "read": 4}]
    kinds = {  # schedule -> lengths, ways
        "revolve": (lengths, [{"slots": s} for s in (1, 2, 5, 60)]),
        "uniform": (lengths, [{}, {"block": 7}, {"slots": 50}]),
        "store_all": ((0, 1, 2, 57), [{}]),
        "two_level": (lengths, [{"period": p, "extra_slots": x} for p, x in ((1, 0), (7, 2), (1000, 3))]),
        "online": (lengths, [{"slots": s} | how for s in (1, 2, 5, 60) for how in ({}, {"eager": True})]),
        "multistage": (some, [{"ram_slots": r} | disk for r in (1, 3) for disk in ({}, {"disk_slots": 2})]),
        "hrevolve": (some, [{"tiers": tiers} for tiers in (two[:1], two, three)]),
        "disk_revolve": (some, [{"ram_slots": c, "disk_write": 3, "disk_read": 1.5} for c in (1, 3)]),
        "mixed": (some, [{"units": m, "tape_units": a, "tape_restarts": restarts, "initial": initial}
                         for m, a in ((3, 1), (7, 3)) for restarts in (False, True)
                         for initial in ("releasable", "pinned_free")]),
        "bptt": (some, [{"units": m, "tape_units": 2, "keep": keep} for m in (0, 5)
                        for keep in ("states", "tapes", "both")]),
        "runge_kutta": (some, [{"units": m, "stages": 2, "stiffly_accurate": accurate} for m in (3, 9)
                               for accurate in (False, True)]),
    }
    for schedule, (of, ways) in kinds.items():
        yield from ({"schedule": schedule, "steps": n} | way for n in of for way in ways)
    leaves = ((0, 3), (1, 3), (40, 3), (40, 40), (40, 99))
    yield from ({"schedule": "revolve", "steps": n, "slots": s, "block": k} for n, k in leaves for s in (1, 4))
    yield {"schedule": "revolve", "steps": 300, "memory": "20kB", "state": "1kB", "adjoint": 10, "tape": "2kB",
           "out_of_place": True}
    yield {"schedule": "hrevolve", "steps": 30, "tiers": two, "advance_cost": 0.75, "turn_cost": 1.5}


def expect_same(request, answer, sweep):
    """What the replay counted is what the answer says, and no place held more than it may."""
    for key, value in sweep.sums.items():
        expect(whole(answer.get(key, 0)) == value, key, value, request, answer)
    if request["schedule"] in ("hrevolve", "disk_revolve"):
        places = {1: ("memory",), 2: ("memory", "disk"), 3: ("memory", "host", "disk"), 4: TIERS}
        tiers = request.get("tiers") or [{"slots": request["ram_slots"]},
                                         {"slots": MOST, "write": request["disk_write"], "read": request["disk_read"]}]
        sum_ = sweep.sums["advances"] * request.get("advance_cost", 1)
        for place, tier in zip(places[len(tiers)], tiers):
            sum_ += sweep.writes[place] * tier.get("write", 0) + sweep.reads[place] * tier.get("read", 0)
            expect(sweep.peaks[place] <= tier["slots"], place, request, answer)
        expect(math.isclose(cost(answer["cost_without_turns"]), sum_, rel_tol=1e-12), sum_, request, answer)
        sum_ += request["steps"] * request.get("turn_cost", 0)
        expect(math.isclose(cost(answer["cost"]), sum_, rel_tol=1e-12), sum_, request, answer)
    if request["schedule"] == "multistage":
        expect(sweep.peaks["memory"] <= request["ram_slots"] and sweep.peaks["disk"] <= request.get("disk_slots", MOST),
               request, answer)
        expect("disk_slots" in request or sweep.sums["advances"] == max(request["steps"] - 1, 0),
               "the disk is not unlimited", request, answer)
    if request["schedule"] in TAPED:
        expect(sweep.units is not None and sweep.units <= request["units"], "the budget of units", request)


def check_actions():
    """--csv is a plan that an interpreter of another make can obey, with the totals of --json, which is the answer of
    --batch. As a file, in either form, it is a schedule with the same totals."""
    requests = list(plans_to_replay())
    with tempfile.TemporaryDirectory() as scratch:
        for at, (request, answer) in enumerate(zip(requests, answered(requests))):
            words = words_for(request)
            expect_totals(answer)
            text = output("plan", *words, "--csv")
            expect_same(request, answer, play_loop(text))
            if at % 7:
                continue
            expect(output("plan", *words, "--json") == json.dumps(answer, separators=(",", ":")) + "\n", words, answer)
            in_json = output("plan", *words, "--json-actions")
            expect_same(request, answer, play_loop(csv_of(in_json)))
            for form, content in (("csv", text), ("json", in_json)):
                name = os.path.join(scratch, "plan." + form)
                pathlib.Path(name).write_text(content)
                expect(output("plan", "--actions", name, "--csv") == text, "another list came back", words)
                again = as_json("plan", "--schedule", "action_list", "--actions", name)
                for key in ("steps", "advances", "recorded", "forward_steps", "reversals", "saves", "loads",
                            "disk_writes", "disk_reads", "peak_slots", "repetition_number", "first_split"):
                    expect(again[key] == answer[key], key, answer, again)


def check_action_list():
    """A list of actions that is no schedule, as one that ends too soon or lacks one of them, is refused with its action
    and line."""
    good = output("plan", "--steps", 6, "--slots", 3, "--csv").splitlines()
    lists = [(good[:cut], "") for cut in range(1, len(good))]
    lists += [(good[:at] + good[at + 1:], "line ") for at in range(2, len(good) - 1)]
    lists += [(good[:4] + ["# a word", "", "advance,7,8,,,"] + good[5:], "action 2 on line 7"),
              (good[:2] + ["jump,0,1,,,"] + good[3:], "line = 3"),
              (good[:2] + ["advance,0,99999999999999999999,,,"] + good[3:], "line = 3")]
    with tempfile.TemporaryDirectory() as scratch:
        name = pathlib.Path(scratch, "plan.csv")
        for rows, said in lists:
            name.write_text("\n".join(rows) + "\n")
            expect_refusal(run("plan", "--actions", name), said)


def chain_oracles():
    files = sorted((ROOT / "tests" / "oracles" / "chains").glob("*.json"))
    expect(files, "no chains in tests/oracles/chains")
    return [(file, json.loads(file.read_text())) for file in files]


def expect_chain(chain, memory, answer):
    """What holds for any plan of any chain."""
    makespan, peak, runs, extra, store_all = (whole(answer[key]) for key in (
        "makespan", "peak", "stage_runs", "extra_forward", "no_checkpoint_makespan"))
    bound, lowest = whole(answer["bound_time"]), whole(answer["lower_bound_time"])
    sweep = play_chain(chain, answer["plan"])
    expect((sweep.time, sweep.peak, sweep.runs) == (makespan, peak, runs), "the replay", sweep.time, sweep.peak, answer)
    expect(memory is None or peak <= memory, "over the budget", memory, answer)
    expect(makespan == store_all + extra and answer["stages"] == len(chain["s"]), answer)
    expect(lowest <= bound <= makespan and whole(answer["lower_bound_peak"]) <= peak, answer)
    expect(answer["bound"] == "every_schedule" or bound > lowest, answer)
    gap = (makespan - bound) / bound if bound else 0
    expect(math.isclose(answer["gap"], gap, rel_tol=1e-12, abs_tol=1e-15)
           and answer["exact"] == (makespan <= bound), answer)


def check_chains():
    """Every row of the reference chains: the optimum of its class, within the budget, with bounds that hold, played by
    an interpreter of another make."""
    asked = [(file, known, row, planner) for file, known in chain_oracles() for row in known["result"]["budgets"]
             for planner in ("persistent", "auto", "non_persistent")
             if planner != "non_persistent" or known["chain"]["L"] <= 16]
    requests = [{"chain": known["chain"], "memory": row["M"], "planner": planner} for _, known, row, planner in asked]
    for (file, known, row, planner), answer in zip(asked, answered(requests, "chain")):
        result, where = known["result"], (file.name, row["M"], planner)
        try:
            expect_chain(known["chain"], row["M"], answer)
        except AssertionError as problem:
            raise AssertionError(f"{where}: {problem}")
        expect([whole(answer[key]) for key in ("no_checkpoint_makespan", "store_all_peak", "lower_bound_peak")] ==
               [result[key] for key in ("no_checkpoint_makespan", "store_all_peak", "lb_peak_any_schedule")],
               where, answer)
        makespan, bound = whole(answer["makespan"]), whole(answer["lower_bound_time"])
        least, best = result["no_checkpoint_makespan"] + row["lb_recompute_any"], row["opt_persistent"]
        expect(bound >= least - 1e-9 * least and bound <= row.get("opt_any_schedule", best), "the bound", where, answer)
        expect(row.get("opt_any_schedule", bound) <= makespan <= best, "the makespan", where, answer)
        expect(planner != "persistent" or makespan == best, "not the optimum", where, answer)
    below = [(file, known, planner) for file, known in chain_oracles() for planner in ("persistent", "auto")
             if known["result"]["min_peak_persistent"] > 0]
    requests = [{"chain": known["chain"], "memory": known["result"]["min_peak_persistent"] - 1, "planner": planner}
                for _, known, planner in below]
    for (file, known, planner), answer in zip(below, batch(requests, "chain")):
        least = known["result"]["min_peak_persistent"]
        if planner == "persistent" or "error" in answer:
            expect("error" in answer and str(least - 1) in answer["error"], file.name, planner, answer)
            needed = whole(answer["least_feasible_memory"])
            lowest = least if planner == "persistent" else known["result"]["lb_peak_any_schedule"]
            expect(lowest <= needed <= least, file.name, planner, answer)
        else:
            expect_chain(known["chain"], least - 1, answer)
    for planner in ("persistent", "auto", "slots", "non_persistent", "store_all", "own_tapes", "sqrt", "greedy",
                    "single_level"):
        expect_chain(TINY_CHAIN, 1000, answered([GOOD["chain"] | {"planner": planner}], "chain")[0])
    print(f"{len(asked)} plans, {len(below)} budgets that are too small")


def check_chain_forms():
    """The same chain in each of its forms has the same plan; figures above 2^53 are exact; the least that an error
    names is the least."""
    names = {key: TINY_CHAIN[key] for key in "xsfb"} | {"u": TINY_CHAIN["uf"], "v": TINY_CHAIN["ub"],
                                                        "g": TINY_CHAIN["x"], "L": 3, "name": "a", "more": [[{}]]}
    for answer in answered([GOOD["chain"], {"memory": "1kB", "chain": names}, {"chain": TINY_CHAIN, "memory": 2**63},
                            {"chain": TINY_CHAIN, "time": 90}], "chain"):
        expect(answer["makespan"] == 90 and answer["plan"] == "Fall0 Fall1 Fall2 Loss3 B2 B1 B0" and answer["exact"],
               answer)
    large, empty, long = answered([{"chain": {"x": [1, 1], "s": [2**61], "uf": [2**53 + 1]}, "memory": str(2**62)},
                                   {"chain": {"x": [5], "s": [], "uf": [], "b": [7]}, "memory": 7},
                                   {"chain": {"x": [8] * 2001, "s": [8] * 2000, "uf": [1] * 2000, "name": "w" * 10**6},
                                    "memory": 10**9}], "chain")
    expect(large["makespan"] == str(2**53 + 1) and large["peak"] == str(2**61 + 1), large)
    expect([empty[key] for key in ("plan", "peak", "makespan", "gap")] == ["Loss0", 7, 0, 0], empty)
    expect(long["makespan"] == 2000, "a long line")
    (answer,) = batch([GOOD["chain"] | {"memory": 3, "id": "a"}], "chain")
    expect(list(answer) == ["id", "error", "least_feasible_memory"] and answer["id"] == "a", answer)
    needed = whole(answer["least_feasible_memory"])
    refused(GOOD["chain"] | {"memory": needed - 1}, f"the least that would do is {needed};", command="chain")
    expect_chain(TINY_CHAIN, needed, answered([GOOD["chain"] | {"memory": needed}], "chain")[0])


def check_chain_command():
    """The command counts state 0 and answers as --batch does; tables, pictures and budgets of time belong to the same
    plans."""
    for file, known in chain_oracles():
        chain, result = known["chain"], known["result"]
        if chain["L"] not in (5, 16, 64) or "1051" in file.name:
            continue
        row, initial, slowest = result["budgets"][len(result["budgets"]) // 2], chain["x"][0], result["store_all_peak"]
        words = ["chain", file, "--memory", row["M"] + initial]
        (answer,) = answered([{"chain": chain, "memory": row["M"]}], "chain")
        expect(as_json(*words) == answer, file.name, answer)
        expect(output(*words, "--actions") == answer["plan"] + "\n", file.name)
        with tempfile.TemporaryDirectory() as scratch:
            pictures = [pathlib.Path(scratch, name) for name in ("memory.svg", "pareto.svg")]
            table = output(*words, "--svg", pictures[0], "--pareto-svg", pictures[1])
            expect(all(is_svg(picture.read_text()) for picture in pictures), pictures)
        expect(f"{whole(answer['makespan']):,}" in table and f"{whole(answer['peak']) + initial:,} B" in table,
               file.name, table)
        short, tiny = result["lb_peak_any_schedule"] - 1 + initial, initial - 1
        for memory, said in ((short, f"The budget is {short} bytes"), (tiny, f"state 0 alone takes {initial} B")):
            expect_refusal(run("chain", file, "--memory", memory), said)

        words = ["chain", file, "--pareto", "--points", 12]
        front, rows = as_json(*words), rows_of(output(*words, "--csv"))
        expect(len(rows) == len(front) >= 2 or slowest == whole(front[0]["peak"]), file.name, front)
        for small, large in zip(front, front[1:]):
            expect(whole(small["peak"]) < whole(large["peak"]) and whole(small["makespan"]) > whole(large["makespan"]),
                   file.name, small, large)
        for plan, line in zip(front, rows):
            expect_chain(chain, None, plan)
            for key in ("peak", "makespan", "planner", "bound", "left_out"):
                expect(line[key] == str(plan[key]), key, line, plan)
        expect(whole(front[-1]["makespan"]) == result["no_checkpoint_makespan"]
               and whole(front[0]["peak"]) <= result["min_peak_persistent"], file.name, front[0])
        most_time = (result["no_checkpoint_makespan"] + row["opt_persistent"]) // 2
        plan = as_json("chain", file, "--time", most_time)
        expect_chain(chain, None, plan)
        expect(whole(plan["makespan"]) <= most_time and whole(plan["peak"]) <= slowest, file.name, plan)
        (less,) = batch([{"chain": chain, "memory": whole(plan["peak"]) - 1}], "chain")
        expect("error" in less or whole(less["makespan"]) > most_time or less["gap"] > 0 or plan["gap"] > 0,
               "not the least memory", file.name, plan, less)


def invented_graph(numbers, size):
    operations = []
    for v in range(size):
        one = {"bytes": numbers.randrange(100), "time": numbers.randrange(1, 50),
               "adjoint_time": numbers.randrange(50), "name": f"operation {v}"}
        if v:
            one["inputs"] = sorted({v - 1, numbers.randrange(v)})
        for name, most in (("work", 9), ("tape_bytes", 30), ("adjoint_bytes", 90), ("adjoint_work", 9)):
            if numbers.random() < 0.4:
                one[name] = numbers.randrange(most)
        for name in ("adjoint_needs_inputs", "adjoint_needs_output"):
            one[name] = numbers.random() < 0.7
        if numbers.random() < 0.4:
            one["adjoint_needs_inputs"] = [numbers.random() < 0.5 for _ in one.get("inputs", [])]
        operations.append(one)
    return {"operations": operations, "loss_time": 3, "loss_work": 4}


def check_graphs():
    """Plans for graphs are obeyed by an interpreter of another make, and cost what is said; tables and pictures belong
    to the same plans. A profile of the graph is planned like the graph."""
    numbers = random.Random(20)
    for size in (1, 2, 5, 9, 14, 30):
        graph = invented_graph(numbers, size)
        with tempfile.TemporaryDirectory() as scratch:
            file, picture = pathlib.Path(scratch, "graph.json"), pathlib.Path(scratch, "memory.svg")
            file.write_text(json.dumps({"graph": graph}))
            words = ["graph", "plan", file]
            front = as_json(*words, "--points", 5)
            for plan in front:
                expect(play_graph(graph, plan["plan"]) == (whole(plan["peak"]), whole(plan["makespan"]),
                                                           whole(plan["runs"])), graph, plan)
                expect(plan["lower_bound_peak"] <= plan["peak"] <= plan["budget"]
                       and plan["lower_bound_time"] <= plan["makespan"], plan)
            for small, large in zip(front, front[1:]):
                expect(small["budget"] < large["budget"] and small["makespan"] > large["makespan"], small, large)
            least, budget = front[0]["budget"], (front[0]["budget"] + front[-1]["budget"]) // 2
            words += ["--memory", budget]
            plan = as_json(*words)
            expect(plan["budget"] == budget and play_graph(graph, plan["plan"])[0] == plan["peak"] <= budget, plan)
            expect(output(*words, "--actions") == plan["plan"] + "\n", plan)
            table = output(*words, "--svg", picture)
            expect(f"{plan['makespan']:,}" in table and f"{plan['peak']:,} B" in table, table)
            expect(is_svg(picture.read_text()) and is_svg(output("graph", "svg", file)), picture)
            expect(f"{size} operation" in output("graph", "explain", file), file)
            if least > 0:
                expect_refusal(run("graph", "plan", file, "--memory", least - 1), f"is {least} B; give that much")


def check_pictures():
    """Every schedule can be drawn, behind its table and as SVG, and explained with the figures of its answer."""
    with tempfile.TemporaryDirectory() as scratch:
        pictures = [pathlib.Path(scratch, name) for name in ("schedule.svg", "memory.svg")]
        for request in SMALL_PLANS:
            request = request | {"steps": 20, "state": "10kB"}
            if request["schedule"] in TAPED:
                request["tape"] = "20kB"
            words, answer = words_for(request), plan_of(**request)
            plain = output("plan", *words)
            drawn = output("plan", *words, "--svg", pictures[0], "--memory-svg", pictures[1], "--picture")
            expect(plain.startswith(request["schedule"] + ", ") and drawn.startswith(plain)
                   and drawn.count("\n") > plain.count("\n") + 10 and "action\n" in drawn, drawn)
            for picture in pictures:
                expect(is_svg(picture.read_text()), request, picture)
                picture.unlink()
            text = output("explain", *words)
            expect(request["schedule"] in text and "The fewest " in text, request, text)
            expect(f"{whole(answer['step_calls']):,} step calls" in text
                   and f"{whole(answer['memory_bytes']):,} bytes" in text, request, text)
            bound = re.search(r"no plan takes fewer than ([\d,]+) step calls", text)
            expect(bound is None or int(bound[1].replace(",", "")) <= whole(answer["step_calls"]), request, text)


def asked_for(plan):
    """What asks for a plan of `advise` by its numbers; nothing where it has more of them."""
    if plan["schedule"] == "mixed":
        return {"units": plan["units"], "tape_units": plan["tape_units"], "tape_restarts": True,
                "initial": "pinned_free"}
    if plan["schedule"] == "two_level":
        return {"period": plan["period"], "extra_slots": plan["slots"]}
    return {"slots": plan["slots"]} if plan["schedule"] == "revolve" and plan["leaf"] == 1 else None


def check_planning():
    """advise, pareto and slots: within the budget, above the proven bounds, and with the numbers of --batch."""
    loop = ["--steps", 300, "--state", "10kB"]
    disk = ["--disk", "unlimited", "--disk-write", 0.02, "--disk-read", 0.01, "--step-seconds", 0.01,
            "--adjoint-seconds", 0.03]
    tapes = ["--records", "--tape", "25kB", "--tape-restarts"]
    for extra in ([], disk, tapes, ["--leaves", "--tape-step", "2kB"], ["--out-of-place"]):
        measure = "seconds" if extra is disk else "step_calls"
        for memory in (100_000, 400_000, 10**7):
            words = ["advise", *loop, *extra, "--memory", memory]
            advice = as_json(*words)
            best, others = advice["best"], advice["runners_up"]
            expect(sorted([best, *others], key=lambda plan: plan[measure]) == [best, *others], "the order of", words)
            for plan in (best, *others):
                expect(plan["least_bytes"] <= plan["memory_bytes"] <= memory and plan["seconds"] >=
                       plan["least_seconds"] * (1 - 1e-12) and plan["step_calls"] >= plan["least_step_calls"], plan)
                expect(as_json(*words, "--schedule", plan["schedule"])["best"] == plan, words, plan)
                if request := asked_for(plan):
                    answer = plan_of(steps=300, schedule=plan["schedule"], **request)
                    for key in ("advances", "forward_steps"):
                        expect(answer[key] == plan[key], plan, answer)
            said = output(*words)
            expect(said.splitlines()[1].split("  ")[-1].startswith(best["schedule"]), said)
        words = ["pareto", *loop, *extra, "--points", 12]
        front, rows = as_json(*words), rows_of(output(*words, "--csv"))
        expect([[str(plan[key]) for key in ("memory_bytes", "step_calls", "schedule")] for plan in front] ==
               [[row[key] for key in ("bytes", "step_calls", "schedule")] for row in rows], extra, front)
        for small, large in zip(front, front[1:]):
            expect(small["memory_bytes"] < large["memory_bytes"] and small[measure] > large[measure], small, large)

    for n, slowdown in ((1000, 3), (10**6, 2.5), (10**15, 9), (2, 2), (10**6, 10**6)):
        said = output("slots", "--steps", n, "--slowdown", slowdown).replace(",", "")
        enough, less = (line.split() for line in said.splitlines()[1:3])
        s = int(enough[-3])
        expect(int(enough[-2]) == fewest(n, s)[1] + n <= slowdown * n, said)
        expect(s == 1 or int(less[-2]) == fewest(n, s - 1)[1] + n > slowdown * n, said)


def check_words():
    """The numbers of `explain` and `savings` are those of the answers."""
    for n, s in ((1000, 10), (5000, 8), (10**15, 33)):
        text = output("explain", "--steps", n, "--slots", s)
        for label, slots in (("Half the slots", s // 2), ("Twice the slots", 2 * s), ("The fewest slots", 1)):
            calls = whole(plan_of(steps=n, slots=slots)["step_calls"])
            expect(re.search(rf"^{label}: revolve with {slots:,} slots?: {calls:,} step calls", text, re.M), text)
        t, advances = fewest(n, s)
        for said in (f"the least repetition number is {t:,}", f"= {advances:,} (Griewank & Walther 2000)",
                     f"beta({s}, {t}) = {beta(s, t):,} is not",
                     f"beta({s}, {t - 1}) = {beta(s, t - 1):,} is too short"):
            expect(said in text, said, "is not in", text)
    for words in ([MOST, "--slots", 100, "--state", 8], [MOST, "--slots", MOST], [0, "--slots", 1],
                  [1, "--schedule", "uniform"], [100, "--slots", 3, "--block", 7]):
        expect("The fewest slots" in output("explain", "--steps", *words), words)

    lengths = (100, 500, 1000, 5000, 0, 1, 10**12)
    rows = [line.split() for line in output("savings", *lengths).splitlines()[1:-1]]
    for n, row, answer in zip(lengths, rows, answered([{"schedule": "uniform", "steps": n} for n in lengths])):
        root, peak = math.isqrt(n), whole(answer["peak_slots"])
        saved = [f"{100 * (n - k) / n if n else 0:.1f}%" for k in (root, peak)]
        per_step = f"{answer['forward_evaluations_per_step']:.3f}"
        expect(row[:3] == [f"{n:,}", f"{root:,}", saved[0]] and row[4:] == [f"{peak:,}", saved[1], per_step], row,
               answer)


def chain_that_differs(stages):
    state, numbers = 1, []
    for _ in range(4 * stages):
        state = state * 48271 % (2**31 - 1)
        numbers.append(state % 10**6 + 1)
    x, more, uf, ub = (numbers[k::4] for k in range(4))
    return {"x": [0] + x, "s": [a + b for a, b in zip(x, more)], "uf": uf, "ub": ub + [1]}


ENDLESS = (
    {"schedule": "mixed", "steps": 8000, "units": 7000, "tape_units": 2},
    {"schedule": "multistage", "steps": 10**6, "ram_slots": 3, "disk_slots": 100},
    {"schedule": "hrevolve", "steps": 10**6, "tiers": [{"slots": 3}, {"slots": 100, "write": 2, "read": 1}]},
    {"schedule": "disk_revolve", "steps": 9 * 10**6, "ram_slots": 3, "disk_write": 2, "disk_read": 1},
    {"schedule": "multistage", "steps": 10**6, "memory": "40kB", "state": 8, "disk_slots": 100},
    {"schedule": "online", "steps": MOST_WALKED, "slots": 10**5},
    {"schedule": "online", "steps": MOST_WALKED, "memory": "100MB", "state": "1kB"})


def check_time():
    """No request is worked on for longer than its limit, the next line is answered, and long work says how far it is.
    Of chains of stages that all differ some planners have the best plan that is found, with its gap."""
    found, refusals = [], {"plan": ENDLESS, "chain": []}
    for stages, planners in ((1000, ("auto", "persistent", "slots", "non_persistent", "own_tapes", "single_level",
                                     "greedy", "sqrt")),
                             (5000, ("auto", "single_level", "own_tapes", "slots", "non_persistent"))):
        chain = chain_that_differs(stages)
        for planner in planners:
            has_plan = planner in ("auto", "persistent", "greedy", "sqrt")
            (found if has_plan else refusals["chain"]).append(
                {"chain": chain, "memory": sum(chain["s"]) * 3 // 10, "planner": planner, "time_limit": 0.3})
    start = time.monotonic()
    for command, good in GOOD.items():
        lines = [line for request in refusals[command]
                 for line in (request | {"time_limit": 0.3}, good | {"time_limit": "unlimited"})]
        for k, answer in enumerate(batch(lines, command)):
            error = answer.get("error", "")
            expect(not error if k % 2 else re.search("time_limit is 0.300 s.*; give more", error), k, answer)
        for wrong in ("-1", "soon", "inf", "nan", ""):
            refused(good | {"time_limit": wrong}, "time_limit", command=command)
    for request, answer in zip(found, answered(found, "chain")):
        expect(whole(answer["peak"]) <= request["memory"] and 0 <= answer["gap"] < 0.6, answer)
    spent = time.monotonic() - start
    expect(spent < 120, "the limits of all lines took", spent)
    refused({"steps": MOST_WALKED, "slots": 3, "time_limit": 0.001}, "time_limit is 0.001 s")

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "chain.json")
        file.write_text(json.dumps(chain_that_differs(1000)))
        for words, said in ((["plan", *words_for(ENDLESS[0])], r"cairn: \d s, [\d.]+ % of the table\n"),
                            (["chain", file, "--memory", "300MB", "--planner", "single_level"], r"cairn: \d s")):
            done = run(*words, "--time-limit", 3)
            expect_refusal(done, "cairn: time_limit is 3")
            expect(re.match(said, done.stderr), "does not say how far it is", done)
        front = as_json("chain", file, "--pareto", "--time-limit", 0.5)
        expect(0 < sum(plan["left_out"] for plan in front) <= 41 - len(front), front)
        expect(re.search(r"\n\d+ more budgets have no plan here: the limit of work was passed\n$",
                         output("chain", file, "--time-limit", 0.5)), file)
    # The plans that are compared share one limit: that of twice the units takes longer than what the others leave.
    words = words_for({"schedule": "mixed", "steps": 6000, "units": 200, "tape_units": 2})
    start = time.monotonic()
    output("plan", *words)
    text = output("explain", *words, "--time-limit", 2 * (time.monotonic() - start))
    expect(re.search(r"\nTwice the units: mixed with 400 units: not planned, time_limit is [\d.]+ s for all plans\.\n",
                     text), text)


def check_numbers():
    """Counts of 128 bits are printed whole, wherever they are, and JSON has no inf and no nan, whatever the times."""
    advances = fewest(MOST, 1)[1]
    calls = advances + 1
    expect(calls > 2**124, calls)
    loop = ["--steps", MOST, "--state", 8]
    for words, said in ((["plan", *loop, "--slots", 1], f"{calls:,}"), (["explain", *loop, "--slots", 1], f"{calls:,}"),
                        (["slots", "--steps", MOST, "--slowdown", 2**62], f"{advances + MOST:,}"),
                        (["plan", *loop, "--slots", 1, "--json"], f'"step_calls":"{calls}"'),
                        (["pareto", *loop, "--points", 3, "--csv"], f",{calls},"),
                        (["pareto", *loop, "--points", 3, "--json"], f'"step_calls":"{calls}"'),
                        (["advise", *loop, "--memory", 216, "--json"], f'"advances":"{advances}"')):
        expect(said in output(*words), said, "is not in what is printed by", words)
    for words in (["advise", *loop, "--memory", "100kB"], ["pareto", *loop, "--points", 3],
                  ["advise", "--steps", 1000, "--state", 8, "--memory", 1000]):
        for times in (["--step-seconds", 1e308], ["--adjoint-seconds", 1e308], ["--step-seconds", 1e-320],
                      ["--step-seconds", 1e300, "--disk-write", 1e308, "--disk", "unlimited"]):
            for form in (["--json"], []):
                done = run(*words, *times, *form)
                expect(not re.search(r"\b(inf|nan)\b", done.stdout + done.stderr), words, times, done)
                expect(done.returncode == 0 or "a larger unit" in done.stderr or "budget" in done.stderr, times, done)
    costs = [0, 1e-320, 1e300, 1.7e308]
    requests = [request for a in costs for b in costs for c in costs for request in (
        {"schedule": "disk_revolve", "steps": 1, "ram_slots": 2, "disk_write": a, "disk_read": b, "turn_cost": c},
        {"schedule": "disk_revolve", "steps": 50, "ram_slots": 2, "disk_write": a, "disk_read": b, "turn_cost": c},
        {"schedule": "hrevolve", "steps": 50, "tiers": [{"slots": 2, "write": a}, {"slots": 2, "read": b}],
         "advance_cost": c})]
    for request, answer in zip(requests, batch(requests)):
        expect("larger unit" in answer["error"] if "error" in answer else answer["cost"] is not None, request, answer)


def check_convention():
    """A slot is the same everywhere: that of the initial state counts, and each output says so at its foot."""
    foot = "Slots count the initial state.\n"
    loop = ["--steps", 1000, "--state", "64KiB"]
    for words in (["plan", *loop, "--slots", 10], ["explain", *loop, "--slots", 10], ["pareto", *loop, "--points", 8],
                  ["advise", *loop, "--memory", "4MiB"], ["slots", "--steps", 1000, "--slowdown", 3]):
        text = output(*words)
        expect(text.endswith(foot) and text.count(foot) == 1, words, text)
        # what advise and pareto call slots gives the same step calls when it is asked for
        plans = re.findall(r"([\d.]+)  revolve with (\d+) slots? in memory", text)
        expect(plans or words[0] not in ("advise", "pareto"), text)
        for per_step, slots in plans:
            answer = plan_of(steps=1000, slots=int(slots))
            expect(f"{answer['forward_evaluations_per_step']:.4g}" == per_step, words, per_step, slots, answer)
    for row in rows_of(output("pareto", *loop, "--csv")):
        if row["schedule"] == "revolve":
            expect(str(plan_of(steps=1000, slots=int(row["slots"]))["step_calls"]) == row["step_calls"], row)
    separate = "Units do not count the initial state, which is kept separately."
    for command in ("plan", "explain"):
        for words, said in ((["mixed"], "Units count the initial state."), (["bptt"], separate),
                            (["mixed", "--initial", "pinned_free"], separate)):
            text = output(command, "--steps", 50, "--units", 9, "--schedule", *words)
            expect(text.splitlines()[-1] == said, words)
        expect("Note: more slots than the loop has states: are steps and slots swapped?"
               in output(command, "--steps", 20, "--slots", 10**6), command)
    expect("swapped?" in plan_of(steps=20, slots=10**6)["remark"], "no remark")
    for steps, slots in ((20, 20), (0, 1), (10**15, 10**14)):
        expect("remark" not in plan_of(steps=steps, slots=slots), steps, slots)


def plain_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}


def check_environment():
    """`env` tells what docs/observing.md says, and refuses no variable that a script of the checkout reads."""
    def told(*words, **settings):
        return subprocess.run([TOOL, *words], env=plain_environment() | settings, text=True, capture_output=True)
    lines = told("env").stdout.splitlines()[1:]
    expect(len(lines) > 5 and all("not set: " in line for line in lines), lines)
    page = (ROOT / "docs/observing.md").read_text()
    for line in lines:
        name, rest = line.split(None, 1)
        fallback, value, effect = re.split(r"  +", rest.removeprefix("not set: "))
        expect(f"| `{name}` | {value} | {fallback} | {effect} |" in page, "docs/observing.md lacks", line)
    expect(told("version", CAIRN_SLOTS="0").returncode == 0, "another command reads the environment")
    reads = re.compile(r"""(?:getenv\("|environ(?:\.get\(|\[)["']|number_in\("|\$\{)(CAIRN_\w+)[:"']""")
    files = [path for folder in ("tests", "benchmarks", "examples", "tools") for path in (ROOT / folder).rglob("*")]
    read = {name: file for file in [ROOT / "run", *files] if file.suffix in ("", ".sh", ".py", ".cpp", ".hpp")
            and file.is_file() for name in reads.findall(file.read_text(errors="replace"))}
    expect({"CAIRN_APT_WAIT", "CAIRN_FUZZ_PROGRAM"} <= set(read), "this check finds nothing:", sorted(read))
    for name, file in read.items():
        expect(told("env", **{name: "1"}).returncode == 0, file, "reads", name,
               "and cairn refuses it: see is_of_the_checkout in trace/impl/environment.ipp")


def check_reports():
    """`report` shows each number of a file, whatever ends its lines; all files of a profile are there."""
    with tempfile.TemporaryDirectory() as scratch:
        def report(text, name="plans.csv"):
            file = pathlib.Path(scratch, name)
            file.write_text(text, newline="")
            return output("report", file)
        points = output("pareto", "--steps", 500, "--state", "64KiB", "--points", 6, "--csv", "--step-seconds", 1e-3)
        said, rows = report(points).splitlines(), rows_of(points)
        expect(said[0] == f"{len(rows)} rows" and said[1].split() == list(rows[0]), said)
        for row, line in zip(rows, said[2:]):
            expect(f" {int(row['step_calls']):,} " in line and f" {row['schedule']} " in line, row, line)
        expect(report(points.replace("\n", "\r\n")).splitlines() == said, "line ends of Windows")
        for form, name in (("--csv", "plan.csv"), ("--json-actions", "plan.json")):
            told = report(output("plan", "--steps", 9, "--slots", 3, form), name)
            expect(told == output("plan", "--actions", pathlib.Path(scratch, name)), told)
        chain, folder = pathlib.Path(scratch, "chain.json"), pathlib.Path(scratch, "profile")
        chain.write_text('{"x":[8,16,4],"s":[40,20],"uf":[1000,3000],"ub":[2000,5000,7]}')
        expect(output("profile", chain, "--out", folder).startswith("a profile of 6 nodes, "), chain)
        found = subprocess.run([sys.executable, ROOT / "tests/scripts/profile_files.py", folder], capture_output=True,
                               text=True)
        expect(found.returncode == 0, found.stdout)
        nodes = rows_of((folder / "profiler_stats_node_stats.csv").read_text())
        seconds = sum(float(row["median_run_time_s"]) for row in nodes if row["gtype"] == "forward")
        expect(round(seconds * 1e9) == 4000, nodes)


def check_transcripts():
    """What docs/tool.md and tests/tool/commands.txt show is what the tool prints, `...` for anything. What ends with a
    sentence of cairn's has status 2, one line on standard error and nothing on standard output."""
    texts = re.findall(r"^```console\n(.*?)^```$", (ROOT / "docs/tool.md").read_text(), re.M | re.S)
    expect(len(texts) > 4, "docs/tool.md has too few examples")
    texts += [(ROOT / "tests/tool/commands.txt").read_text()]
    with tempfile.TemporaryDirectory() as scratch:
        os.symlink(os.path.abspath(TOOL), os.path.join(scratch, "cairn"))
        environment = plain_environment() | {"PATH": scratch + os.pathsep + os.environ["PATH"]}
        for text in texts:
            commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)
            expect(commands, "no command in", text)
            for command, shown in commands:
                done = subprocess.run(command, shell=True, cwd=scratch, text=True, capture_output=True, env=environment)
                is_refusal = re.match(r"cairn: .*\n$", shown)
                wanted = (2, "", shown) if is_refusal else (0, shown, "")
                found = (done.returncode, done.stdout, complaints(done.stderr))
                holds = all(re.fullmatch(pattern(str(a)), str(b), re.S) for a, b in zip(wanted, found))
                expect(holds and not (is_refusal and done.stderr.count("\n") > 1),
                       f"$ {command}\n{found}, but what is written is\n{shown}")
    commands = re.findall(r"^  (\w+) ", output("--help").split("Subcommands:")[1], re.M)
    for words in ([], *([command] for command in commands), ["graph", "svg"]):
        expect("Usage" in output(*words, "--help"), words)
    version = re.search(r'CAIRN_VERSION_STRING "([^"]+)"', (ROOT / "include/cairn/version.hpp").read_text())[1]
    expect(output("version") == f"cairn {version}\n", "version")


def main():
    global TOOL, ROOT
    TOOL, ROOT, part = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    checks = [name for name in globals() if name.startswith("check_")]
    for name in checks if part == "all" else ["check_" + part]:
        globals()[name]()
        print(name.removeprefix("check_"), "ok")


main()
