#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the command `cairn` from outside: by reference numbers, big integers, and an interpreter of its own.

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

TOOL, ROOT = "", pathlib.Path()
MOST = 2**63 - 1
MOST_WALKED = 10**7


def expect(holds, *what):
    if not holds:
        raise AssertionError(" ".join(str(part) for part in what))


def run(*words, text=None):
    return subprocess.run([TOOL, *map(str, words)], input=text, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def complaints(text):
    """Standard error without the words of work that takes longer than two seconds."""
    return re.sub(r"^cairn: \d+ s(, [\d.]+ % of the table)?\n", "", text, flags=re.M)


def output(*words):
    done = run(*words)
    expect(done.returncode == 0 and complaints(done.stderr) == "", words, done.returncode, done.stderr)
    return done.stdout


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
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    expect(len(answers) == len(lines), len(lines), "lines,", len(answers), "answers")
    return answers


def answered(requests, command="plan"):
    answers = batch(requests, command)
    for request, answer in zip(requests, answers):
        expect("error" not in answer, request, answer)
    return answers


def refused(request, *words):
    (answer,) = batch([request])
    expect(list(answer) == ["error"] and all(word in answer["error"] for word in words), request, "->", answer, "lacks",
           words)
    return answer["error"]


def oracle(name):
    with open(ROOT / "tests" / "oracles" / name, newline="") as file:
        rows = list(csv.DictReader(file))
    expect(rows, "no rows in", name)
    return rows


TAPED = ("mixed", "bptt", "runge_kutta")


def check_totals(answer):
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


def number(text):
    """A cell of a table as it is asked for: above 2^53 as digits."""
    return int(text) if int(text) <= 2**53 else text


def cost(value):
    """A cost of an answer: a whole number of the usual form, or a fraction."""
    expect(type(value) is not float or value != int(value), "a whole cost with a point:", value)
    return value if type(value) is float else whole(value)


def requests_of(name, row):
    """What a row of a reference table asks for, and which member of the answer each of its columns is."""
    cell = {key: number(value) for key, value in row.items() if value.isdigit()}
    steps = {"steps": cell["n"]}
    if name.startswith("revolve"):
        same = {"min_advances": "advances", "min_stores": "saves", "repetition_number": "repetition_number",
                "first_split_min_stores_rule": "first_split"}
        return [({"schedule": "revolve", "slots": cell["s"]} | steps, same)]
    if name == "uniform_block":
        return [({"schedule": "uniform", "block": cell["block"]} | steps,
                 {"num_blocks": "blocks", "advances_turns_excluded_last_block_kept": "advances"})]
    if name == "two_level_periodic":
        asked = {"schedule": "two_level", "period": cell["period"], "extra_slots": cell["extra_binomial_slots"]}
        return [(asked | steps, {"advances_online_full_sweep": "advances"})]
    if name == "online":
        return [({"schedule": "online", "slots": cell["s"]} | steps, {})]
    if name == "multistage":
        asked = {"schedule": "multistage", "ram_slots": cell["ram_slots"], "disk_slots": cell["disk_slots"]}
        return [(asked | steps, {"min_advances": "advances"})]
    if name == "hrevolve2":
        tiers = [{part: cell[f"{place}_{part}"] for part in ("slots", "write", "read")} for place in ("ram", "disk")]
        asked = {"schedule": "hrevolve", "tiers": tiers, "advance_cost": cell["advance_cost"],
                 "turn_cost": cell["turn_cost"]}
        return [(asked | steps, {"min_cost_without_turns": "cost_without_turns", "min_cost_total": "cost"})]
    if name == "hrevolve3":
        tiers = [{"slots": cell[f"slots{k}"], "write": cell[f"w{k}"], "read": cell[f"r{k}"]} for k in range(3)]
        return [({"schedule": "hrevolve", "tiers": tiers} | steps, {"min_cost_without_turns": "cost_without_turns"})]
    if name == "diskrevolve":
        asked = {"schedule": "disk_revolve"}
        asked |= {key: cell[key] for key in ("ram_slots", "disk_write", "disk_read", "advance_cost")}
        return [(asked | steps, {"min_cost_unlimited_disk": "cost_without_turns"})]
    if name == "mixed":
        asked = {"schedule": "mixed", "units": cell["units"], "tape_units": cell["dep_units_alpha"],
                 "initial": "releasable"} | steps
        return [(asked | {"tape_restarts": restarts}, {f"min_forward_incl_recorded_dep_{column}": "forward_steps"})
                for restarts, column in ((False, "cannot_restart"), (True, "restarts"))]
    if name == "bptt_gruslys":
        asked = {"schedule": "bptt", "units": cell["units_besides_initial_state_and_live_tape"],
                 "tape_units": cell["internal_units_alpha"],
                 "initial": "pinned_free"} | steps
        return [(asked | {"keep": keep}, {column: "forward_steps"})
                for keep, column in (("states", "hidden_only"), ("tapes", "internal_only"),
                                     ("both", "mixed_true_optimum"))]
    asked = {"schedule": "runge_kutta", "units": cell["units_incl_initial"], "stages": cell["stages"],
             "stiffly_accurate": True}
    return [(asked | steps, {"min_extra_advances_recorded_excluded": "advances"})]


ORACLES = ("revolve_small", "revolve_large", "uniform_block", "two_level_periodic", "online", "multistage", "hrevolve2",
           "hrevolve3", "diskrevolve",
           "mixed", "bptt_gruslys", "cams_sa")


def check_row(name, row, answer):
    """What a row says beside one column, one member."""
    if "first_split_min" in row:
        expect(int(row["first_split_min"]) <= whole(answer["first_split"]) <= int(row["first_split_max"]), row, answer)
    if name == "uniform_block":
        reserved = int(row["peak_states_incl_initial"])
        expect(reserved - 2 <= whole(answer["peak_slots"]) <= reserved, row, answer)
    if name == "multistage":
        writes, reads = whole(answer["disk_writes"]), whole(answer["disk_reads"])
        expect(writes + reads == int(row["min_disk_writes_plus_reads_at_min_advances"]), row, answer)
        expect(writes >= int(row["min_disk_writes_alone_at_min_advances"]), row, answer)
    if name == "online":
        expect(whole(answer["advances"]) >= int(row["offline_min_advances"]), row, answer)


def check_oracles():
    """Every row of every reference table, through one process."""
    asked = [(name, row, *one) for name in ORACLES for row in oracle(name + ".csv") for one in requests_of(name, row)]
    answers = answered([request for _, _, request, _ in asked])
    for (name, row, _, same), answer in zip(asked, answers):
        for column, key in same.items():
            if column in row:
                expect((cost if key.startswith("cost") else whole)(answer[key]) == int(row[column]), key, row, answer)
        check_row(name, row, answer)
        check_totals(answer)
    ratios = [whole(answer["advances"]) / int(row["offline_min_advances"])
              for (name, row, _, _), answer in zip(asked, answers)
              if name == "online" and int(row["offline_min_advances"]) > 0]
    print(f"{len(asked)} answers; online over offline advances: mean {sum(ratios) / len(ratios):.4f}, worst "
          f"{max(ratios):.4f}")
    expect(sum(ratios) / len(ratios) <= 1.0095, "online is too far from the optimum")


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
    t = high
    return t, t * n - beta(s + 1, t - 1)


def check_limits():
    """The smallest and the largest loops; the walk and the closed form on both sides of where one takes over."""
    for schedule in ("revolve", "uniform", "store_all"):
        slots = {"slots": 1} if schedule == "revolve" else {}
        for n, answer in enumerate(answered([{"schedule": schedule, "steps": n} | slots for n in range(3)])):
            check_totals(answer)
            expect([whole(answer[key]) for key in ("advances", "saves", "peak_slots", "repetition_number",
                                                   "first_split")] ==
                   [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]][n], answer)
    for n in (MOST, MOST - 1, 2**53, 2**53 + 1, 10**18):
        for s in (1, 2, 3, 20, 1000):
            (answer,) = answered([{"steps": str(n), "slots": s}])
            check_totals(answer)
            expect((whole(answer["repetition_number"]), whole(answer["advances"])) == fewest(n, s), answer)
    # of the other schedules: a closed form, or an error at once that says what would do
    for n in (MOST, 2**53 + 1, 2**32 + 1, MOST_WALKED + 1):
        steps = {"steps": str(n)}
        for request in ({"schedule": "two_level", "period": str(n // 2), "extra_slots": 3},
                        {"schedule": "two_level", "period": 1, "extra_slots": 0},
                        {"schedule": "bptt", "units": 20, "tape_units": 2, "keep": "states"},
                        {"schedule": "mixed", "units": str(MOST), "initial": "pinned_free"}):
            check_totals(answered([steps | request])[0])
        for request in ({"schedule": "online", "slots": 3}, {"schedule": "multistage", "ram_slots": 9, "disk_slots": 9},
                        {"schedule": "hrevolve", "tiers": [{"slots": 9}, {"slots": 9, "write": 1}]},
                        {"schedule": "disk_revolve", "ram_slots": 9, "disk_write": 1, "disk_read": 1},
                        {"schedule": "mixed", "units": 100},
                        {"schedule": "runge_kutta", "units": 100, "stages": 2}):
            refused(steps | request, "does not fit" if request["schedule"] in TAPED
                    else f"walks over at most {MOST_WALKED}", "give")
    for largest in ({"schedule": "two_level", "steps": 57, "period": MOST, "extra_slots": MOST},
                    {"schedule": "online", "steps": 57, "slots": MOST},
                    {"schedule": "multistage", "steps": 57, "ram_slots": MOST, "disk_slots": MOST},
                    {"schedule": "mixed", "steps": 57, "units": MOST},
                    {"schedule": "runge_kutta", "steps": 57, "units": MOST},
                    {"schedule": "bptt", "steps": 57, "units": MOST, "tape_units": 3}):
        (answer,) = answered([largest])
        check_totals(answer)
        expect(whole(answer["forward_steps"]) <= 57 + 57 + 56, answer)
    as_number, as_digits = answered([{"steps": MOST, "slots": str(MOST)}, {"steps": str(MOST), "slots": MOST}])
    expect(as_number == as_digits and whole(as_number["advances"]) == MOST - 1, as_number)
    (answer,) = answered([{"schedule": "store_all", "steps": MOST}])
    expect(whole(answer["step_calls"]) == MOST, answer)
    for s in (3, 100):
        walked, counted = answered([{"steps": MOST_WALKED, "slots": s}, {"steps": MOST_WALKED + 1, "slots": s}])
        check_totals(walked), check_totals(counted)
        expect(whole(walked["advances"]) == fewest(MOST_WALKED, s)[1]
               and whole(counted["advances"]) == fewest(MOST_WALKED + 1, s)[1], walked)


def check_lines():
    """Lines that are wrong get an error that says what would work, and the rest goes on, in order."""
    good = {"steps": 10, "slots": 3}
    wrong = ["", " ", "x", "{", '{"steps":10,"slots":3', "[1]", "3", '"steps"', "null", '{"steps":10} x',
             '{"steps":1e3,"slots":3}',
             '{"steps":10.0,"slots":3}', '{"steps":true,"slots":3}', '{"steps":null}', '{"steps":[1]}',
             '{"steps":{"a":1}}', '{"steps":-1,"slots":3}',
             '{"steps":"ten","slots":3}', '{"steps":"","slots":3}', '{"steps":" 10","slots":3}',
             '{"steps":9223372036854775808,"slots":3}',
             '{"steps":1,"steps":1,"slots":1}', '{"steps":10}', '{"slots":3}', "{}", '{"steps":10,"slots":0}',
             '{"steps":10,"slots":3,"colour":1}',
             '{"steps":10,"slots":3,"schedule":"fastest"}', '{"steps":10,"slots":3,"memory":"1kB","state":8}',
             '{"steps":10,"memory":"1kB"}',
             '{"steps":10,"memory":"1K","state":8}', '{"steps":10,"memory":"1kB","state":0}',
             '{"steps":10,"slots":3,"state":-8}',
             '{"steps":10,"slots":3,"tape":8}', '{"steps":10,"slots":3,"block":0}',
             '{"steps":10,"block":2,"slots":20,"schedule":"uniform"}',
             '{"steps":1000,"slots":3,"schedule":"uniform"}', '{"steps":10,"slots":3,"schedule":"store_all"}',
             '{"steps":10,"slots":3,"id":1.5}',
             '{"steps":10,"slots":3,"id":[1]}', '{"steps":10,"slots":3,"out_of_place":1}',
             '{"steps":10,"slots":3,"json":true}',
             '{"steps":' + "1" * 70000 + "}", "[" * 60000, '{"steps":10,"slots":3,"id":"' + "\\ud800" + '"}']
    wrong += ['{"\\u0000c":3}', '{"\\u0000c":[3]}', '{"steps":3,"slots":"\\u00003"}', '{"steps":3,"slots":"3\\n"}']
    mixed = [line for bad in wrong for line in (bad, good)]
    for k, answer in enumerate(batch(mixed)):
        expect(("error" in answer) == (k % 2 == 0), mixed[k], "->", answer)
        expect("error" not in answer or 10 < len(answer["error"]) < 400, answer)
    raw = subprocess.run([TOOL, "plan", "--batch"], stdout=subprocess.PIPE,
                         input=b'{"\xff":1}\n\xff\xfe\n\0\n{"steps":10,"slots":3}\r\n{"steps":10,"slots":3}')
    answers = [json.loads(line) for line in raw.stdout.decode().splitlines()]
    expect(["error" in answer for answer in answers] == [True, True, True, False, False], answers)

    refused('{"steps":10,"slots":3,"colour":1}', "colour", "slots", "schedule")
    refused('{"steps":-1,"slots":3}', "steps", '"-1"', "from 0 to")
    refused('{"steps":10,"memory":"1K","state":8}', "memory", '"1K"', "1KB")
    refused('{"steps":1000,"slots":3,"schedule":"uniform"}', "slots = 3", "least slots = 61")
    refused({"steps": 10, "slots": 3, "schedule": "fastest"}, "fastest", "revolve, uniform, store_all",
            "or action_list")

    many = [{"id": f"{k} \u00e9\"\\", "steps": k % 50, "slots": 1 + k % 7} for k in range(5000)]
    expect([answer["id"] for answer in answered(many)] == [request["id"] for request in many], "the order of answers")
    (answer,) = batch([{"id": 7, "steps": 10}])
    expect(answer["id"] == 7 and "error" in answer, answer)
    expect(run("plan", "--batch", text="").stdout == "", "no lines, no answers")


def check_budgets():
    """A budget gets the most slots that fit: these fit, one more does not; what is said to be the least fits, one byte
    less does not."""
    for schedule, extra in (("revolve", {}), ("revolve", {"block": 7, "tape": 5000}),
                            ("revolve", {"out_of_place": True, "adjoint": 77}),
                            ("uniform", {})):
        for n in (1, 2, 50, 1000, 200_000, 10**12):
            base = {"schedule": schedule, "steps": n, "state": 1000} | extra
            error = refused(base | {"memory": 1}, "memory is 1 B", "at least")
            least = int(re.search(r"needs (\d+) B", error)[1])
            refused(base | {"memory": least - 1}, str(least))
            for memory in (least, least + 999, 2 * least + 12_345, 5_000_000_000):
                (answer,) = answered([base | {"memory": memory}])
                expect(whole(answer["memory_bytes"]) <= memory and answer["disk_bytes"] == 0, n, memory, answer)
                check_totals(answer)
                chosen = whole(answer["slots"])
                (again,) = answered([base | {"slots": chosen}])
                expect(again == answer, "the same plan by its slots:", answer, again)
                for more in answered([base | {"slots": chosen + k} for k in (1, 2, 3)]):
                    expect(whole(more["peak_bytes"]) > memory
                           or whole(more["peak_slots"]) == whole(answer["peak_slots"]), memory, answer, more)
    weights = {"disk_write": 5, "disk_read": 2.5}
    for schedule, own, extra, lengths in (("online", "slots", {}, (1, 2, 50, 1000, 200_000)),
                                          ("two_level", "extra_slots", {"period": 60},
                                           (1, 2, 50, 1000, 200_000, 10**9)),
                                          ("multistage", "ram_slots", {"disk_slots": 4}, (1, 2, 50, 300)),
                                          ("disk_revolve", "ram_slots", weights, (1, 2, 50, 300))):
        for n in lengths:
            base = {"schedule": schedule, "steps": n, "state": 10_000} | extra
            least = int(re.search(r"needs (\d+) B", refused(base | {"memory": 1}, "memory is 1 B", "at least"))[1])
            refused(base | {"memory": least - 1}, str(least))
            for memory in (least, least + 9_999, 2 * least + 12_345, 5_000_000_000):
                (answer,) = answered([base | {"memory": memory}])
                expect(whole(answer["memory_bytes"]) <= memory, n, memory, answer)
                check_totals(answer)
                chosen = whole(answer[own])
                expect(answered([base | {own: chosen}]) == [answer], "the same plan by its slots:", answer)
                (more,) = answered([base | {own: chosen + 1}])
                expect(whole(more["memory_bytes"]) > memory or whole(more["peak_slots"]) == whole(answer["peak_slots"]),
                       memory, answer, more)
    for schedule, extra in (("store_all", {}), ("uniform", {"block": 10})):
        base = {"schedule": schedule, "steps": 1000, "state": 1000} | extra
        least = int(re.search(r"needs (\d+) B", refused(base | {"memory": "10kB"}, "schedule revolve"))[1])
        refused(base | {"memory": least - 1})
        (answer,) = answered([base | {"memory": least}])
        expect(whole(answer["peak_bytes"]) == least, answer)


def chain_oracles():
    files = sorted((ROOT / "tests" / "oracles" / "chains").glob("*.json"))
    expect(files, "no chains in tests/oracles/chains")
    return [(file, json.loads(file.read_text())) for file in files]


class ChainSweep:
    """Obeys the words of a plan for a chain, as the file beside the reference numbers defines them."""

    def __init__(self, chain):
        self.x, self.s, self.f, self.b, self.u, self.v = (chain[key] for key in ("x", "s", "f", "b", "uf", "ub"))
        self.last = len(self.x) - 1
        self.states, self.tapes, self.adjoint = {0}, set(), self.last + 1
        self.time = self.peak = self.runs = 0

    def held(self):
        adjoint = self.x[self.adjoint] if 0 < self.adjoint <= self.last else 0
        return sum(self.x[i] for i in self.states if i > 0) + sum(self.s[i] for i in self.tapes) + adjoint

    def reach(self, more=0):
        self.peak = max(self.peak, self.held() + more)

    def forget(self, i):
        if i > 0:
            self.states.discard(i)

    def stage(self, i, forgets):
        expect(i in self.states or i - 1 in self.tapes, "no state to run stage", i, "on")
        self.states.add(i + 1)
        self.reach(self.f[i])
        self.time += self.u[i]
        self.runs += 1
        if forgets:
            self.forget(i)

    def obey(self, word, i):
        if word in ("Fck", "Fn"):
            self.stage(i, word == "Fn")
        elif word == "Fall":
            expect(i not in self.tapes and (i in self.states or i - 1 in self.tapes), "no state to record stage", i,
                   "on")
            self.tapes.add(i)
            self.reach(self.f[i])
            self.forget(i + 1)
            self.time += self.u[i]
            self.runs += 1
        elif word == "Loss":
            expect(i == self.last and self.adjoint == i + 1 and (i in self.states or i - 1 in self.tapes), "no loss")
            self.reach(self.b[i])
            self.adjoint = i
            self.reach()
            self.forget(i)
            self.time += self.v[i]
        elif word in ("B", "Bck"):
            expect(self.adjoint == i + 1 and i in self.tapes and (i in self.states or i - 1 in self.tapes),
                   "no adjoint of stage", i)
            self.reach(self.b[i])
            self.tapes.discard(i)
            self.forget(i + 1)
            self.adjoint = i
            if word == "B":
                self.forget(i)
            self.reach()
            self.time += self.v[i]
        elif word == "Drop":
            expect(i > 0 and i in self.states, "no state to drop", i)
            self.states.discard(i)
        else:
            expect(word == "DropTape" and i in self.tapes, "no such word, or no tape to drop", word, i)
            self.tapes.discard(i)


def replay_words(chain, words):
    """The sweep of a plan, played to its end."""
    sweep = ChainSweep(chain)
    for at, word in enumerate(words.split()):
        try:
            kind, number = re.fullmatch(r"([A-Za-z]+)(\d+)", word).groups()
            sweep.obey(kind, int(number))
        except AssertionError as problem:
            raise AssertionError(f"word {at}, {word}: {problem}")
    expect(sweep.adjoint == 0, "the plan ends at adjoint", sweep.adjoint)
    return sweep


def check_chain_answer(chain, memory, answer):
    """What holds for any plan of any chain."""
    numbers = {key: whole(answer[key]) for key in ("makespan", "extra_forward", "peak", "stage_runs",
                                                   "lower_bound_time", "lower_bound_peak", "bound_time",
                                                   "no_checkpoint_makespan", "store_all_peak", "stages")}
    sweep = replay_words(chain, answer["plan"])
    expect((sweep.time, sweep.peak, sweep.runs) == (numbers["makespan"], numbers["peak"], numbers["stage_runs"]),
           "the replay", sweep.time, sweep.peak, answer)
    expect(memory is None or sweep.peak <= memory, "over the budget", memory, answer)
    expect(numbers["makespan"] == numbers["no_checkpoint_makespan"] + numbers["extra_forward"]
           and numbers["stages"] == len(chain["s"]), answer)
    expect(numbers["lower_bound_time"] <= numbers["bound_time"] <= numbers["makespan"]
           and numbers["lower_bound_peak"] <= numbers["peak"], answer)
    expect(answer["bound"] == "every_schedule" or numbers["bound_time"] > numbers["lower_bound_time"], answer)
    gap = (numbers["makespan"] - numbers["bound_time"]) / numbers["bound_time"] if numbers["bound_time"] else 0
    expect(math.isclose(answer["gap"], gap, rel_tol=1e-12, abs_tol=1e-15)
           and answer["exact"] == (numbers["makespan"] <= numbers["bound_time"]), answer)


def check_chains():
    """Every row of the reference chains: the optimum of its class, within the budget, with bounds that hold, played by
    an interpreter of another make."""
    asked = [(file, known, row, planner) for file, known in chain_oracles() for row in known["result"]["budgets"]
             for planner in ("persistent", "auto", "non_persistent") if planner != "non_persistent"
             or known["chain"]["L"] <= 16]
    answers = answered([{"chain": known["chain"], "memory": row["M"], "planner": planner}
                        for _, known, row, planner in asked], "chain")
    closed = {"auto": [], "non_persistent": []}
    for (file, known, row, planner), answer in zip(asked, answers):
        result = known["result"]
        try:
            check_chain_answer(known["chain"], row["M"], answer)
            expect([whole(answer[key]) for key in ("no_checkpoint_makespan", "store_all_peak", "lower_bound_peak")] ==
                   [result[key] for key in ("no_checkpoint_makespan", "store_all_peak", "lb_peak_any_schedule")],
                   answer)
            makespan, bound = whole(answer["makespan"]), whole(answer["lower_bound_time"])
            least = result["no_checkpoint_makespan"] + row["lb_recompute_any"]
            expect(bound >= least - 1e-9 * least and bound <= row.get("opt_any_schedule", row["opt_persistent"]),
                   "the bound", least, bound, row)
            expect(row.get("opt_any_schedule", bound) <= makespan <= row["opt_persistent"], "the makespan", makespan,
                   row)
            if planner == "persistent":
                expect(makespan == row["opt_persistent"], "not the optimum", makespan, row["opt_persistent"])
            elif row.get("opt_any_schedule", row["opt_persistent"]) < row["opt_persistent"]:
                closed[planner].append(
                    (row["opt_persistent"] - makespan) / (row["opt_persistent"] - row["opt_any_schedule"]))
        except AssertionError as problem:
            raise AssertionError(f"{file.name}, {row['M']} bytes, {planner}: {problem}")
    below = [(file, known, planner) for file, known in chain_oracles() for planner in ("persistent", "auto")
             if known["result"]["min_peak_persistent"] > 0]
    requests = [{"chain": known["chain"], "memory": known["result"]["min_peak_persistent"] - 1, "planner": planner}
                for _, known, planner in below]
    for (file, known, planner), answer in zip(below, batch(requests, "chain")):
        least = known["result"]["min_peak_persistent"]
        if planner == "persistent" or "error" in answer:
            expect("error" in answer and str(least - 1) in answer["error"], file.name, planner, answer)
            needed = whole(answer["least_feasible_memory"])
            expect(needed == least if planner == "persistent"
                   else known["result"]["lb_peak_any_schedule"] <= needed <= least, file.name, planner, answer)
        else:
            check_chain_answer(known["chain"], least - 1, answer)
    rows = sum(planner == "persistent" for _, _, _, planner in asked)
    print(f"{rows} rows, {len(asked)} plans, {len(below)} budgets that are too small")
    for planner, shares in closed.items():
        if shares:
            print(f"{planner}: of the gap between the persistent optimum and that of all schedules "
                  f"{100 * sum(shares) / len(shares):.1f} % closed over {len(shares)} rows")


TINY_CHAIN = {"x": [4, 4, 4, 4], "s": [10, 10, 10], "f": [0, 1, 0], "b": [2, 2, 2, 4], "uf": [10, 10, 10],
              "ub": [20, 20, 20, 0]}


def check_chain_lines():
    """Lines that are wrong get an error that says what would work, and the rest goes on, in order; long lines are
    lines, too."""
    good = {"chain": TINY_CHAIN, "memory": 1000}
    chain = json.dumps(TINY_CHAIN)

    def with_list(key, value):
        return {"chain": TINY_CHAIN | {key: value}, "memory": 1000}

    wrong = ["", " ", "x", "[1]", "3", "null", "{}", chain, '{"chain":%s}' % chain, '{"memory":9}',
             '{"chain":3,"memory":9}', '{"chain":[],"memory":9}',
             '{"chain":{},"memory":9}', '{"chain":%s,"chain":%s,"memory":9}' % (chain, chain),
             '{"chain":%s,"memory":9,"memory":9}' % chain,
             '{"chain":%s,"memory":1000} x' % chain, '{"chain":%s,"memory":1000' % chain,
             good | {"memory": -1}, good | {"memory": 1.5}, good | {"memory": "1G"}, good | {"memory": None},
             good | {"memory": [9]}, good | {"memory": {}},
             good | {"planner": "best"}, good | {"planner": "tiers"}, good | {"planner": 3}, good | {"gap": -1},
             good | {"gap": "nan"}, good | {"slots": 0},
             good | {"time": 1000}, good | {"colour": 1}, good | {"id": 1.5}, good | {"id": [1]}, good | {"x": [1]},
             {"chain": TINY_CHAIN, "time": 89},
             good | {"memory": 3}, with_list("x", []), with_list("x", [4, 4]), with_list("s", [10, 10]),
             with_list("s", [3, 10, 10]), with_list("f", [0]),
             with_list("b", [0, 0, 0]), with_list("uf", [1, 2, -3]), with_list("ub", [1, 2, 3.5, 4]),
             with_list("g", [4, 4, 4]), with_list("L", 4),
             with_list("uf", [1, 2**63, 3]), with_list("x", [2**62, 2**62, 4, 4]), with_list("self_contained_tape", 1),
             with_list("u", [1, 2, 3]),
             "[" * 100_000, '{"more":' * 100_000]
    mixed = [line for bad in wrong for line in (bad, good)]
    for k, answer in enumerate(batch(mixed, "chain")):
        expect(("error" in answer) == (k % 2 == 0), mixed[k], "->", answer)
        expect("error" not in answer or 10 < len(answer["error"]) < 600, answer)

    def refused_chain(request, *words):
        (answer,) = batch([request], "chain")
        expect("error" in answer and all(word in answer["error"] for word in words), request, "->", answer, "lacks",
               words)
        return answer

    refused_chain(with_list("uf", [1, 2, -3]), "position in uf = 2", "value = -3")
    refused_chain(with_list("ub", [1, 2, 3.5, 4]), "position in ub = 2", "whole")
    refused_chain(good | {"planner": "best"}, '"best"', "auto, persistent, slots, non_persistent", "or single_level")
    refused_chain(good | {"planner": "tiers"}, "chain_options::tiers")
    refused_chain(good | {"colour": 1}, "colour", "memory, time, planner, gap, slots, time_limit", "id")
    refused_chain({"chain": TINY_CHAIN}, "memory is not given")
    least = refused_chain(good | {"memory": 3, "id": "a"}, "The budget is 3 bytes", "the least that would do is")
    expect(list(least) == ["id", "error", "least_feasible_memory"] and least["id"] == "a", least)
    needed = whole(least["least_feasible_memory"])
    refused_chain(good | {"memory": needed - 1}, f"the least that would do is {needed};")
    (answer,) = answered([good | {"memory": needed}], "chain")
    check_chain_answer(TINY_CHAIN, needed, answer)

    free = {key: TINY_CHAIN[key] for key in ("x", "s", "f", "b")} | {"u": TINY_CHAIN["uf"], "v": TINY_CHAIN["ub"],
                                                                     "g": TINY_CHAIN["x"], "L": 3, "name": "a",
                                                                     "more": [[{}]]}
    same = answered([good, {"id": 1, "memory": "1kB", "chain": free}, good | {"memory": "1000B"},
                     good | {"memory": 2**63},
                     {"chain": TINY_CHAIN, "time": 90}], "chain")
    expect(same[1].pop("id") == 1, same[1])
    for answer in same:
        expect(answer["makespan"] == 90 and answer["plan"] == "Fall0 Fall1 Fall2 Loss3 B2 B1 B0" and answer["exact"],
               answer)
    empty, = answered([{"chain": {"x": [5], "s": [], "uf": [], "b": [7]}, "memory": 7}], "chain")
    expect(empty["plan"] == "Loss0" and empty["peak"] == 7 and empty["makespan"] == 0 and empty["gap"] == 0, empty)
    large = {"x": [1, 1], "s": [2**61], "uf": [2**53 + 1]}
    exact, = answered([{"chain": large, "memory": str(2**62)}], "chain")
    expect(exact["makespan"] == str(2**53 + 1) and exact["peak"] == str(2**61 + 1), exact)
    released = {"chain": TINY_CHAIN | {"self_contained_tape": True}, "memory": needed}
    check = answered([released], "chain")[0]
    expect(whole(check["peak"]) <= needed, check)
    for planner in ("persistent", "auto", "slots", "non_persistent", "store_all", "own_tapes", "sqrt", "greedy",
                    "single_level"):
        (answer,) = answered([good | {"planner": planner}], "chain")
        check_chain_answer(TINY_CHAIN, 1000, answer)

    long_chain = {"x": [8] * 2001, "s": [8] * 2000, "uf": [1] * 2000, "name": "w" * 1_000_000}
    too_long = '{"chain":{"x":[' + "8," * (33 << 20) + "8]}}"
    answers = batch([{"chain": long_chain, "memory": 10**9}, too_long, good], "chain")
    expect(answers[0].get("makespan") == 2000 and "67108864 characters at most" in answers[1].get("error", "")
           and "makespan" in answers[2], [str(a)[:200] for a in answers])
    expect(run("chain", "--batch", text="").stdout == "", "no lines, no answers")


def check_chain_memory():
    """10,000 lines take the memory of 1,000, and answers come before the input ends."""
    if not os.path.exists("/proc/self/status"):
        print("no /proc: passed over")
        return

    def peak(count):
        kinds = [known["chain"] for _, known in chain_oracles() if known["chain"]["L"] in (3, 5, 7)][:8]
        planners = ("persistent", "auto", "non_persistent", "sqrt")
        lines = "".join(json.dumps({"chain": kinds[k % 8], "memory": 10**9, "planner": planners[k // 8 % 4], "id": k})
                        + "\n" if k % 10 else "wrong\n" for k in range(count))
        child = subprocess.Popen([TOOL, "chain", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        feeder = threading.Thread(target=lambda: (child.stdin.write(lines), child.stdin.flush()))
        feeder.start()
        for k in range(count):
            answer = child.stdout.readline()
            expect(answer.startswith('{"id":%d,"planner"' % k if k % 10 else '{"error":'), k, answer)
        feeder.join()
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
        child.stdin.close()
        expect(child.stdout.read() == "" and child.wait() == 0, "the end")
        return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1])

    few, many = peak(1_000), peak(10_000)
    print(f"peak resident memory: {few} kB after 1,000 lines, {many} kB after 10,000")
    expect(many <= few + 256, "memory grows with the lines")


def check_chain_command():
    """The command counts state 0 and answers as --batch does; tables, pictures and budgets of time belong to the same
    plans."""
    scratch = tempfile.mkdtemp()
    pictures = [os.path.join(scratch, name) for name in ("memory.svg", "pareto.svg")]
    for file, known in chain_oracles():
        chain, result = known["chain"], known["result"]
        if chain["L"] not in (5, 16, 64) or "1051" in file.name:
            continue
        row = result["budgets"][len(result["budgets"]) // 2]
        words = [file, "--memory", row["M"] + chain["x"][0]]
        (answer,) = answered([{"chain": chain, "memory": row["M"]}], "chain")
        expect(json.loads(output("chain", *words, "--json")) == answer, file.name, answer)
        expect(output("chain", *words, "--actions") == answer["plan"] + "\n", file.name)
        table = output("chain", *words, "--svg", pictures[0], "--pareto-svg", pictures[1])
        expect(f"{whole(answer['makespan']):,}" in table and f"{whole(answer['peak']) + chain['x'][0]:,} B" in table,
               file.name, table)
        for picture in pictures:
            expect(xml.etree.ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg", picture)
            os.remove(picture)
        short = run("chain", file, "--memory", result["lb_peak_any_schedule"] - 1 + chain["x"][0])
        expect(short.returncode == 2 and short.stdout == ""
               and f"The budget is {result['lb_peak_any_schedule'] - 1 + chain['x'][0]} bytes" in short.stderr,
               file.name, short)
        tiny = run("chain", file, "--memory", chain["x"][0] - 1)
        expect(tiny.returncode == 2 and f"state 0 alone takes {chain['x'][0]} B" in tiny.stderr, file.name, tiny)

        front = json.loads(output("chain", file, "--pareto", "--json", "--points", 12))
        rows = list(csv.DictReader(output("chain", file, "--pareto", "--csv", "--points", 12).splitlines()))
        expect(len(rows) == len(front) >= 2 or result["store_all_peak"] == whole(front[0]["peak"]), file.name, front)
        for small, large in zip(front, front[1:]):
            expect(whole(small["peak"]) < whole(large["peak"]) and whole(small["makespan"]) > whole(large["makespan"]),
                   file.name, small, large)
        for plan, line in zip(front, rows):
            check_chain_answer(chain, None, plan)
            expect([line["peak"], line["makespan"], line["planner"],
                    line["bound"]] == [str(plan["peak"]), str(plan["makespan"]), plan["planner"], plan["bound"]], line,
                   plan)
            expect(line["left_out"] == "0" and plan["left_out"] == 0, line, plan)
        expect(whole(front[-1]["makespan"]) == result["no_checkpoint_makespan"]
               and whole(front[0]["peak"]) <= result["min_peak_persistent"], file.name, front[0])
        table = output("chain", file)
        expect(f"{result['no_checkpoint_makespan']:,}" in table
               and f"{whole(front[0]['peak']) + chain['x'][0]}" in table, file.name, table)
        time = (result["no_checkpoint_makespan"] + row["opt_persistent"]) // 2
        plan = json.loads(output("chain", file, "--time", time, "--json"))
        check_chain_answer(chain, None, plan)
        expect(whole(plan["makespan"]) <= time and whole(plan["peak"]) <= result["store_all_peak"], file.name, plan)
        (less,) = batch([{"chain": chain, "memory": whole(plan["peak"]) - 1}], "chain")
        expect("error" in less or whole(less["makespan"]) > time or less["gap"] > 0 or plan["gap"] > 0,
               "not the least memory", file.name, plan, less)
    done = run("chain", "-", "--memory", "1kB", text=json.dumps(TINY_CHAIN))
    expect(done.returncode == 0 and "90" in done.stdout, done)
    done = run("chain", "-", text='{"x":[1],"s":[1],"uf":[]}')
    expect(done.returncode == 2 and done.stdout == ""
           and done.stderr.startswith("cairn: read_chain_json: the tapes' bytes s"), done)
    os.rmdir(scratch)


def played_graph(graph, words):
    """What a plan for a graph costs, by rules written down once more: peak, makespan and runs."""
    operations, n = graph["operations"], len(graph["operations"])
    reads = [sorted(set(one.get("inputs", []))) for one in operations]
    outputs = graph.get("outputs") or [v for v in range(n) if not any(v in one for one in reads)]
    size = lambda v: operations[v].get("bytes", 0)
    bar = lambda v: operations[v].get("adjoint_bytes", size(v))
    values, tapes, bars = set(), set(), set()
    peak = makespan = runs = 0
    left = n + 1
    held = lambda: sum(map(size, values)) + sum(operations[v].get("tape_bytes", 0) for v in tapes) + sum(map(bar, bars))
    for word in words.split():
        name, v = re.fullmatch(r"([A-Za-z]+)(\d+)", word).groups()
        v = int(v)
        if name in ("F", "R"):
            one = operations[v]
            expect(v < left and set(reads[v]) <= values, word, "reads what is not there")
            expect(v not in (values if name == "F" else tapes), word, "makes what is there")
            values.add(v)
            if name == "R":
                tapes.add(v)
            peak, makespan, runs = max(peak, held() + one.get("work", 0)), makespan + one.get("time", 0), runs + 1
        elif name == "Drop":
            values.remove(v)
        elif name == "DropTape":
            tapes.remove(v)
        elif name == "Loss":
            expect(v == n and left == n + 1 and set(outputs) <= values, word)
            bars |= set(outputs)
            peak, makespan, left = max(peak,
                                       held() + graph.get("loss_work", 0)), makespan + graph.get("loss_time", 0), n
        else:
            one = operations[v]
            expect(name == "B" and left == v + 1, word, "is no word, or out of order")
            flags = one.get("adjoint_needs_inputs", True)
            each = flags if isinstance(flags, list) else [flags] * len(one.get("inputs", []))
            needs = {read for read, flag in zip(one.get("inputs", []), each)
                     if flag} | ({v} if one.get("adjoint_needs_output", True) else set())
            expect(needs <= values and (v in tapes or not one.get("tape_bytes", 0)), word, "reads what is not there")
            bars |= set(reads[v])
            peak, makespan, left = max(peak,
                                       held() + one.get("adjoint_work", 0)), makespan + one.get("adjoint_time", 0), v
            values.discard(v), tapes.discard(v), bars.discard(v)
    expect(left == 0, "adjoints are left")
    return peak, makespan, runs


def check_graphs():
    """Plans for graphs are obeyed by an interpreter of its own, and cost what is said; tables and pictures belong to
    the same plans."""
    numbers = random.Random(20)
    scratch = tempfile.mkdtemp()
    file, picture = os.path.join(scratch, "graph.json"), os.path.join(scratch, "memory.svg")
    for size in (1, 2, 5, 9, 14, 30):
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
        graph = {"operations": operations, "loss_time": 3, "loss_work": 4}
        pathlib.Path(file).write_text(json.dumps({"graph": graph}))
        front = json.loads(output("graph", "plan", file, "--json", "--points", 5))
        for plan in front:
            expect(played_graph(graph, plan["plan"]) == (whole(plan["peak"]), whole(plan["makespan"]),
                                                         whole(plan["runs"])), graph, plan)
            expect(plan["lower_bound_peak"] <= plan["peak"] <= plan["budget"]
                   and plan["lower_bound_time"] <= plan["makespan"], plan)
        for small, large in zip(front, front[1:]):
            expect(small["budget"] < large["budget"] and small["makespan"] > large["makespan"], small, large)
        least, budget = front[0]["budget"], (front[0]["budget"] + front[-1]["budget"]) // 2
        plan = json.loads(output("graph", "plan", file, "--memory", budget, "--json"))
        expect(plan["budget"] == budget and played_graph(graph, plan["plan"])[0] == plan["peak"] <= budget, plan)
        expect(output("graph", "plan", file, "--memory", budget, "--actions") == plan["plan"] + "\n", plan)
        table = output("graph", "plan", file, "--memory", budget, "--svg", picture)
        expect(f"{plan['makespan']:,}" in table and f"{plan['peak']:,} B" in table, table)
        svg = "{http://www.w3.org/2000/svg}svg"
        expect(xml.etree.ElementTree.parse(picture).getroot().tag == svg, picture)
        expect(xml.etree.ElementTree.fromstring(output("graph", "svg", file)).tag == svg, file)
        expect(f"{size} operation" in output("graph", "explain", file), file)
        if least > 0:
            short = run("graph", "plan", file, "--memory", least - 1)
            expect(short.returncode == 2 and short.stdout == "" and f"is {least} B; give that much" in short.stderr,
                   short)
    for words in (("plan",), ("plan", file, "--json", "--actions", "--memory", "1"), ("plan", file, "--actions"),
                  ("plan", file, "--points", "1"),
                  ("plan", file, "--memory", "1GB", "--points", "4"), ("plan", scratch), ("explain",),
                  ("svg", file, "--memory", "x")):
        wrong = run("graph", *words)
        expect(wrong.returncode == 2 and wrong.stdout == "" and wrong.stderr.startswith("cairn: ")
               and wrong.stderr.count("\n") == 1, words, wrong)


def check_memory():
    """100,000 lines take the memory of 1,000, and answers come before the input ends."""
    if not os.path.exists("/proc/self/status"):
        print("no /proc: passed over")
        return

    def peak(count):
        kinds = ('"slots":%d', '"schedule":"mixed","units":%d',
                 '"schedule":"hrevolve","tiers":[{"slots":%d},{"slots":2,"write":1}]',
                 '"schedule":"two_level","period":5,"extra_slots":%d')
        lines = "".join(('{"steps":%d,' + kinds[k % 4] + ',"id":%d}\n') % (k % 40, 1 + k % 9, k) if k % 10
                        else "wrong\n" for k in range(count))
        child = subprocess.Popen([TOOL, "plan", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        feeder = threading.Thread(target=lambda: (child.stdin.write(lines), child.stdin.flush()))
        feeder.start()
        for k in range(count):
            answer = child.stdout.readline()
            expect(answer.startswith('{"id":%d,' % k if k % 10 else '{"error":'), k, answer)
        feeder.join()
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
        child.stdin.close()
        expect(child.stdout.read() == "" and child.wait() == 0, "the end")
        return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1])

    few, many = peak(1_000), peak(100_000)
    print(f"peak resident memory: {few} kB after 1,000 lines, {many} kB after 100,000")
    expect(many <= few + 256, "memory grows with the lines")


TIERS = ("memory", "device", "host", "disk")


class Sweep:
    """Obeys a list of actions on step numbers. Each action is a method; what it must not do is an assertion."""

    def __init__(self, steps, slots, leaf=1, tapes=0, free_initial=0, tapes_restart=0, units=None, tape_units=0):
        self.steps, self.slots, self.leaf, self.tape_slots = steps, slots, leaf, tapes
        self.free_initial, self.tapes_restart = free_initial, tapes_restart
        self.units, self.tape_units = units, tape_units
        self.live, self.left, self.turned = 0, steps, False
        self.kept, self.taped = {}, {}  # slot -> (state, tier), tape slot -> (first, last, tier)
        self.runs = [0] * (steps + 1)  # of steps that start at a state, less those that end there
        self.sums = dict.fromkeys(("advances", "recorded", "saves", "loads", "restarts", "reversals", "peak_slots",
                                   "peak_tapes", "first_split"), 0)
        self.from_tapes = 0
        self.writes, self.reads, self.peaks = ({tier: 0 for tier in TIERS} for _ in range(3))

    def weigh(self, tier):
        expect(self.units is None or len(self.kept) + len(self.taped) * self.tape_units <= self.units,
               "over the budget of units")
        self.sums["peak_slots"] = max(self.sums["peak_slots"], len(self.kept))
        self.sums["peak_tapes"] = max(self.sums["peak_tapes"], len(self.taped))
        self.peaks[tier] = max(self.peaks[tier], sum(where == tier for _, where in self.kept.values()))

    def advance(self, first, last, slot, what, tier):
        expect(first == self.live and first < last <= self.left and slot is None, "a wrong advance")
        self.runs[first] += 1
        self.runs[last] -= 1
        self.sums["first_split"] = self.sums["first_split"] or last
        self.sums["advances"] += last - first
        self.live = last

    def save(self, first, last, slot, what, tier):
        expect(first == self.live and last is None and 0 <= slot < self.slots and slot not in self.kept, "a wrong save")
        self.kept[slot] = (self.live, tier)
        self.sums["saves"] += 1
        self.writes[tier] += 1
        self.weigh(tier)

    def load(self, first, last, slot, what, tier):
        if what == "tape":
            expect(self.tapes_restart and self.taped[slot][1:] == (first, tier), "a wrong restart")
            self.sums["restarts"] += 1
        else:
            expect(self.kept.get(slot) == (first, tier) if slot is not None else self.free_initial and first == 0,
                   "a wrong load")
            self.sums["loads"] += 1
            self.reads[tier] += 1
        self.live = first

    def drop(self, first, last, slot, what, tier):
        held = self.taped if what == "tape" else self.kept
        expect(held[slot][-1] == tier and first is None and last is None, "a wrong drop")
        del held[slot]

    def record(self, first, last, slot, what, tier):
        expect(first == self.live and 0 < last - first <= self.leaf and last <= self.left, "a wrong record")
        expect(0 <= slot < self.tape_slots and slot not in self.taped, "a wrong tape slot")
        self.taped[slot] = (first, last, tier)
        self.sums["recorded"] += last - first
        self.live = last
        self.weigh(tier)

    def turn(self, first, last, slot, what, tier):
        expect(not self.turned and first == self.live and last == self.steps and slot is None, "a wrong turn")
        self.turned = True

    def reverse(self, first, last, slot, what, tier):
        expect(self.turned and last == self.left and 0 < last - first <= self.leaf, "a wrong reverse")
        if what == "tape":
            expect(self.taped[slot] == (first, last, tier), "a reverse from another tape")
            self.from_tapes += last - first
        else:
            expect(first == self.live and slot is None, "a reverse from another state")
            self.live = None
        self.sums["reversals"] += last - first
        self.left = first

    def done(self, *cells):
        expect(self.turned and self.left == 0 and not self.kept and not self.taped, "the end", self.left, self.kept,
               self.taped)
        self.sums["disk_writes"], self.sums["disk_reads"] = self.writes["disk"], self.reads["disk"]
        self.sums["forward_steps"] = self.sums["advances"] + self.sums["recorded"] + self.sums[
            "reversals"] - self.from_tapes
        self.sums["repetition_number"] = most = at = 0
        for change in self.runs:
            at += change
            most = max(most, at)
        self.sums["repetition_number"] = most


def replay(text):
    """The sweep that a list of actions describes, played to its end."""
    head, columns, *rows = text.splitlines()
    expect(head.startswith("# cairn schedule: ") and columns == "action,from,to,slot,what,tier", head, columns)
    sweep = Sweep(**{name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", head)})
    for at, (kind, first, last, slot, what, tier) in enumerate(csv.reader(rows)):
        expect(kind in ("advance", "save", "load", "drop", "record", "turn", "reverse", "done")
               and tier in ("", *TIERS), at, rows[at])
        try:
            getattr(sweep, kind)(*(int(cell) if cell else None for cell in (first, last, slot)), what, tier or "memory")
        except (AssertionError, KeyError) as problem:
            raise AssertionError(f"action {at}, {rows[at]}: {problem}")
    expect(rows[-1].startswith("done") and sum(row.startswith("done") for row in rows) == 1, "the last action")
    return sweep


def replay_json(text):
    """The same list as JSON, in the form of the other."""
    plan = json.loads(text)
    actions = plan.pop("actions")
    rows = [",".join(str(a.get(key, "")) for key in ("action", "from", "to", "slot", "what", "tier")) for a in actions]
    head = " ".join(f"{key}={int(value)}" for key, value in plan.items())
    return replay("\n".join(["# cairn schedule: " + head, "action,from,to,slot,what,tier", *rows]))


def words_for(request):
    """The options of the command line for a request."""
    def text(value):
        if isinstance(value, list):
            return ",".join(f"{one['slots']}:{one.get('write', 0)}:{one.get('read', 0)}" for one in value)
        return str(value).lower() if isinstance(value, bool) else str(value)
    return [f"--{key.replace('_', '-')}={text(value)}" for key, value in request.items()]


def check_against(request, answer, sweep):
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


def plans_to_replay():
    lengths = (0, 1, 2, 3, 10, 57, 400)
    some = (0, 1, 2, 3, 10, 41)
    yield from ({"schedule": "revolve", "steps": n, "slots": s} for n in lengths for s in (1, 2, 5, 60))
    leaves = ((0, 3), (1, 3), (40, 3), (40, 40), (40, 99))
    yield from ({"schedule": "revolve", "steps": n, "slots": s, "block": k} for n, k in leaves for s in (1, 4))
    yield from ({"schedule": "uniform", "steps": n} | how for n in lengths for how in ({}, {"block": 7}, {"slots": 50}))
    yield from ({"schedule": "store_all", "steps": n} for n in (0, 1, 2, 57))
    yield {"schedule": "revolve", "steps": 300, "memory": "20kB", "state": "1kB", "adjoint": 10, "tape": "2kB",
           "out_of_place": True}
    yield from ({"schedule": "two_level", "steps": n, "period": p, "extra_slots": x} for n in lengths for p,
                x in ((1, 0), (7, 2), (1000, 3)))
    yield from ({"schedule": "online", "steps": n, "slots": s} | how for n in lengths for s in (1, 2, 5, 60)
                for how in ({}, {"eager": True}))
    yield from ({"schedule": "multistage", "steps": n, "ram_slots": r} | disk for n in some for r in (1, 3)
                for disk in ({}, {"disk_slots": 2}))
    two = [{"slots": 2}, {"slots": 4, "write": 2.5, "read": 1.25}]
    three = [{"slots": 1}, {"slots": 2, "write": 1, "read": 0.5}, {"slots": 3, "write": 4, "read": 4}]
    yield from ({"schedule": "hrevolve", "steps": n, "tiers": tiers} for n in some for tiers in (two[:1], two, three))
    yield {"schedule": "hrevolve", "steps": 30, "tiers": two, "advance_cost": 0.75, "turn_cost": 1.5}
    yield from ({"schedule": "disk_revolve", "steps": n, "ram_slots": c, "disk_write": 3, "disk_read": 1.5}
                for n in some for c in (1, 3))
    yield from ({"schedule": "mixed", "steps": n, "units": m, "tape_units": a, "tape_restarts": restarts,
                 "initial": initial}
                for n in some for m, a in ((3, 1), (7, 3)) for restarts in (False, True)
                for initial in ("releasable", "pinned_free"))
    yield from ({"schedule": "bptt", "steps": n, "units": m, "tape_units": 2, "keep": keep}
                for n in some for m in (0, 5) for keep in ("states", "tapes", "both"))
    yield from ({"schedule": "runge_kutta", "steps": n, "units": m, "stages": 2, "stiffly_accurate": accurate}
                for n in some for m in (3, 9) for accurate in (False, True))


def check_actions():
    """--csv is a plan that an interpreter of another make can obey, with the totals of --json, which is the answer of
    --batch. As a file, in either form, it is a schedule with the same totals."""
    requests = list(plans_to_replay())
    with tempfile.TemporaryDirectory() as scratch:
        for at, (request, answer) in enumerate(zip(requests, answered(requests))):
            words = words_for(request)
            expect(output("plan", *words, "--json") == json.dumps(answer, separators=(",", ":")) + "\n", words, answer)
            check_totals(answer)
            text = output("plan", *words, "--csv")
            check_against(request, answer, replay(text))
            if at % 7:
                continue
            as_json = output("plan", *words, "--json-actions")
            check_against(request, answer, replay_json(as_json))
            for form, content in (("csv", text), ("json", as_json)):
                name = os.path.join(scratch, "plan." + form)
                pathlib.Path(name).write_text(content)
                expect(output("plan", "--actions", name, "--csv") == text, "another list came back", words)
                again = json.loads(output("plan", "--schedule", "action_list", "--actions", name, "--json"))
                for key in ("steps", "advances", "recorded", "forward_steps", "reversals", "saves", "loads",
                            "disk_writes", "disk_reads",
                            "peak_slots", "repetition_number", "first_split"):
                    expect(again[key] == answer[key], key, answer, again)


def check_action_list():
    """A list of actions that is no schedule is refused, with its action and line."""
    good = output("plan", "--steps", 6, "--slots", 3, "--csv").splitlines()

    def refused_list(rows, *words, form="csv"):
        with tempfile.TemporaryDirectory() as scratch:
            name = os.path.join(scratch, "plan." + form)
            pathlib.Path(name).write_text(rows if isinstance(rows, str) else "\n".join(rows) + "\n")
            done = run("plan", "--actions", name)
        expect(done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, rows, done)
        expect(all(word in done.stderr for word in words), done.stderr, "lacks", words)

    for cut in range(1, len(good)):
        refused_list(good[:cut])  # ends too soon
    for at in range(2, len(good) - 1):
        refused_list(good[:at] + good[at + 1:], "line ")  # one action is missing
    refused_list(good[:4] + ["# a word", "", "advance,7,8,,,"] + good[5:], "action 2 on line 7")
    refused_list(good[:2] + ["jump,0,1,,,"] + good[3:], "line = 3")
    refused_list(good[:2] + ["advance,0,99999999999999999999,,,"] + good[3:], "line = 3")
    refused_list("", "cairn schedule")
    refused_list("{", "byte", form="json")
    refused_list('{"steps":1,"slots":1,"actions":[{"action":"turn","from":0,"to":1},{"action":"done"}]}', "action 1",
                 form="json")
    refused_list(good, "neither .csv nor .json", form="txt")
    refused({"schedule": "action_list", "actions": "x.csv"}, "cairn plan --actions FILE")


def check_keys():
    """A key that a schedule knows nothing of is refused, saying which it knows; what a schedule needs is asked for."""
    refused({"steps": 9, "slots": 3, "units": 3}, "units does not go with revolve", "slots, memory, block")
    refused({"schedule": "store_all", "steps": 9, "slots": 3}, "slots does not go with store_all")
    refused({"schedule": "two_level", "steps": 9, "period": 3}, "two_level needs period and extra_slots")
    refused({"schedule": "two_level", "steps": 9, "period": 0, "extra_slots": 1}, "period", "from 1 to")
    refused({"schedule": "online", "steps": 9}, "online needs slots")
    refused({"schedule": "multistage", "steps": 9, "disk_slots": 3}, "multistage needs ram_slots")
    refused({"schedule": "hrevolve", "steps": 9}, "hrevolve needs tiers")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": []}, "tiers")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": 3}, "tiers got 3")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": [3]}, "tiers got 3")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": [[]]}, "tiers")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": {"slots": 3}}, "tiers")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": [{"write": 3}]}, "no slots")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": [{"slots": 3, "colour": 3}]}, "colour",
            "slots, write and read")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": [{"slots": 3, "write": -1}]}, "tiers write", '"-1"')
    refused({"schedule": "hrevolve", "steps": 9, "tiers": [{"slots": 3, "write": {"a": 1}}]}, "tiers")
    refused({"schedule": "hrevolve", "steps": 9, "tiers": [{"slots": "3:0:0,4", "write": 1}]}, "tiers")
    refused('{"schedule":"hrevolve","steps":9,"tiers":[{"slots":3,"slots":3}]}', "slots is given twice")
    refused({"schedule": "disk_revolve", "steps": 9, "ram_slots": 3, "disk_write": 3},
            "disk_revolve needs disk_write, disk_read and ram_slots")
    refused({"schedule": "disk_revolve", "steps": 9, "ram_slots": 3, "disk_write": 3, "disk_read": -1}, "disk_read",
            '"-1"')
    refused('{"schedule":"disk_revolve","steps":9,"ram_slots":3,"disk_write":3,"disk_read":1e999}', "character")
    refused({"schedule": "mixed", "steps": 9}, "mixed needs units")
    refused({"schedule": "mixed", "steps": 9, "units": 3, "initial": "somewhere"}, "releasable or pinned_free")
    refused({"schedule": "mixed", "steps": 9, "units": 3, "tape_restarts": 1}, "true or false")
    refused({"schedule": "bptt", "steps": 9, "units": 3, "keep": "all"}, "states, tapes or both")
    refused({"schedule": "bptt", "steps": 9, "units": 3, "initial": "releasable"}, "pinned_free")
    refused({"schedule": "runge_kutta", "steps": 9, "units": 3, "initial": "pinned_free"}, "releasable")
    refused({"schedule": "runge_kutta", "steps": 9, "units": 3, "stages": 0}, "stages", "from 1 to")
    for table in ({"schedule": "hrevolve", "tiers": [{"slots": 500}, {"slots": 50, "write": 1, "read": 1}]},
                  {"schedule": "mixed", "units": 1000}):
        refused(table | {"steps": 10**7}, "does not fit", "most table bytes")


SMALL_PLANS = (
    {"schedule": "revolve", "steps": 20, "slots": 3}, {"schedule": "uniform", "steps": 20},
               {"schedule": "store_all", "steps": 20},
    {"schedule": "two_level", "steps": 20, "period": 5, "extra_slots": 2},
               {"schedule": "online", "steps": 20, "slots": 3},
    {"schedule": "multistage", "steps": 20, "ram_slots": 1, "disk_slots": 2},
    {"schedule": "hrevolve", "steps": 20, "tiers": [{"slots": 1}, {"slots": 2, "write": 2.5, "read": 1}]},
    {"schedule": "disk_revolve", "steps": 20, "ram_slots": 1, "disk_write": 2, "disk_read": 0.5},
    {"schedule": "mixed", "steps": 20, "units": 5, "tape_units": 2},
               {"schedule": "bptt", "steps": 20, "units": 5, "tape_units": 2},
    {"schedule": "runge_kutta", "steps": 20, "units": 5, "stages": 2})


def check_options():
    """What cannot be done as asked ends with status 2, a sentence on standard error and nothing on standard output."""
    scratch = tempfile.mkdtemp()
    for words, said in (
            ([], "--help"), (["frob"], "--help"), (["plan"], "steps is not given"), (["plan", "--stps", 4], "--stps"),
            (["plan", "--steps", -5, "--slots", 2], '"-5"'), (["plan", "--steps", 5], "revolve needs slots"),
            (["plan", "--steps", 5, "--slots"], "--slots"),
            (["plan", "--steps", 5, "--slots", 2, "--slots", 3], "--slots"),
                        (["plan", "--steps", 5, "--slots", 2, 3], "3"),
            (["plan", "--steps", "5x", "--slots", 2], '"5x"'),
                        (["plan", "--steps", 5, "--memory", "10G", "--state", 8], "10GiB"),
            (["plan", "--steps", 5, "--memory", 10, "--state", 8], "at least"),
                        (["plan", "--batch", "--steps", 4], "standard input"),
            (["plan", "--batch", "--json"], "standard input"),
                        (["plan", "--steps", 5, "--slots", 2, "--csv", "--json"], "one of them"),
            (["plan", "--steps", 1_000_001, "--slots", 9, "--csv"], "1000000"),
                        (["plan", "--steps", 10**8, "--slots", 9, "--picture"], "picture"),
            (["plan", "--steps", 5, "--slots", 2, "--svg", scratch + "/no/x.svg"], "cannot be written"),
            (["plan", "--steps", 5, "--slots", 2, "--schedule", "best"], "store_all"),
                        (["explain", "--steps", 5], "revolve needs slots"),
            (["explain", "--steps", 5, "--slots", 2, "--json"], "--json"),
            (["plan", "--steps", 5, "--slots", 2, "--csv", "--json-actions"], "one of them"),
                        (["plan", "--batch", "--json-actions"], "standard input"),
            (["plan", "--steps", 100_001, "--slots", 9, "--json-actions"], "100000"),
                        (["plan", "--actions", scratch + "/no.csv"], "cannot be read"),
            (["plan", "--schedule", "hrevolve", "--steps", 9, "--tiers", "3:0"], "SLOTS:WRITE:READ"),
            (["advise", "--steps", 9, "--memory", "1MB"], "state is not given"),
                        (["advise", "--steps", 9, "--state", 8], "memory is not given"),
            (["advise", "--steps", 9, "--state", 8, "--memory", 9], "the least that any plan takes"),
            (["advise", "--steps", 9, "--state", 8, "--memory", "1MB", "--leaves", "--records"], "one of them"),
            (["advise", "--steps", 9, "--state", 8, "--memory", "1MB", "--disk-write", 2], "disk is not given"),
            (["advise", "--steps", 9, "--state", 8, "--memory", "1MB", "--schedule", "online"], "or mixed"),
            (["advise", "--steps", 9, "--state", 8, "--memory", "1MB", "--step-seconds", "nan"], '"nan"'),
            (["pareto", "--steps", 9, "--state", 8, "--memory", 9], "leave it out"),
                        (["pareto", "--steps", 9, "--state", 8, "--points", 0], "points"),
            (["pareto", "--steps", 9, "--state", 8, "--csv", "--json"], "one of them"),
                        (["slots", "--steps", 9], "--slowdown"),
            (["slots", "--steps", 9, "--slowdown", "1.5"], "2 or more"),
                        (["slots", "--steps", "x", "--slowdown", 2], '"x"'), (["savings"], "N"),
                        (["savings", "ten"], '"ten"'),
            (["savings", 10, "--checkpoints", 11], "checkpoints = 11"), (["chain"], "cairn chain FILE.json"),
                        (["chain", scratch + "/no.json"], "cannot be read"),
            (["chain", "--batch", "--memory", 9], "standard input"), (["chain", "x.json", "--batch"], "standard input"),
                        (["chain", "x.json", "--memory", 9, "--time", 9], "one of them"),
            (["chain", "x.json", "--memory", "9G"], "9GiB"),
                        (["chain", "x.json", "--planner", "best"], "or single_level"),
                        (["chain", "x.json", "--actions"], "give memory or time"),
            (["chain", "x.json", "--svg", "y.svg"], "give memory or time"),
                        (["chain", "x.json", "--memory", 9, "--pareto"], "leave memory and time out"),
            (["chain", "x.json", "--memory", 9, "--csv"], "leave memory and time out"),
                        (["chain", "x.json", "--json", "--csv"], "one of them"), (["chain", scratch], "cannot be read"),
            (["chain", ROOT / "tests/oracles/chains/tiny_L5_1050.json", "--points", 0], "points"),
                        (["chain", ROOT / "README.md"], "not JSON"), (["version", "x"], "x")):
        done = run(*words)
        one_sentence = done.stderr.startswith("cairn: ") and done.stderr.count("\n") == 1
        expect(done.returncode == 2 and done.stdout == "" and one_sentence and said in done.stderr, words, done)
    for words in (["--help"], ["plan", "--help"], ["explain", "--help"], ["advise", "--help"], ["pareto", "--help"],
                  ["slots", "--help"], ["chain", "--help"],
                  ["savings", "--help"], ["version", "--help"]):
        expect("Usage" in output(*words), words)
    version = re.search(r'CAIRN_VERSION_STRING "([^"]+)"', (ROOT / "include/cairn/version.hpp").read_text())[1]
    expect(output("version") == f"cairn {version}\n", "version")

    pictures = [os.path.join(scratch, name) for name in ("schedule.svg", "memory.svg")]
    for request in SMALL_PLANS:
        drawn = output("plan", *words_for(request), "--svg", pictures[0], "--memory-svg", pictures[1], "--picture")
        expect("action\n" in drawn and drawn.startswith(request["schedule"] + ", "), request, drawn)
        for picture in pictures:
            expect(xml.etree.ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg", request,
                   picture)
            os.remove(picture)
    os.rmdir(scratch)
    plain = output("plan", "--steps", 20, "--slots", 3)
    drawn = output("plan", "--steps", 20, "--slots", 3, "--picture")
    expect(drawn.startswith(plain) and drawn.count("\n") > plain.count("\n") + 10, drawn)


def check_planning():
    """advise, pareto and slots: within the budget, above the proven bounds, and with the numbers of --batch."""
    loop = ["--steps", 300, "--state", "10kB"]
    disk = ["--disk", "unlimited", "--disk-write", 0.02, "--disk-read", 0.01, "--step-seconds", 0.01,
            "--adjoint-seconds", 0.03]
    tapes = ["--records", "--tape", "25kB", "--tape-restarts"]
    for extra in ([], disk, tapes, ["--leaves", "--tape-step", "2kB"], ["--out-of-place"]):
        measure = "seconds" if extra is disk else "step_calls"
        for memory in (100_000, 400_000, 10**7):
            words = [*loop, *extra, "--memory", memory]
            advice = json.loads(output("advise", *words, "--json"))
            best, others = advice["best"], advice["runners_up"]
            expect(sorted(others, key=lambda plan: plan[measure]) == others, "the order of", words)
            for plan in (best, *others):
                expect(plan[measure] >= best[measure] and plan["memory_bytes"] <= memory, words, plan)
                expect(plan["step_calls"] >= plan["least_step_calls"]
                       and plan["seconds"] >= plan["least_seconds"] * (1 - 1e-12), words, plan)
                expect(plan["memory_bytes"] >= plan["least_bytes"], words, plan)
                expect(json.loads(output("advise", *words, "--schedule", plan["schedule"], "--json"))["best"] == plan,
                       words, plan)
                if plan["schedule"] == "mixed":
                    (answer,) = answered([{"schedule": "mixed", "steps": 300, "units": plan["units"],
                                           "tape_units": plan["tape_units"], "tape_restarts": True,
                                           "initial": "pinned_free"}])
                elif plan["schedule"] == "two_level":
                    (answer,) = answered([{"schedule": "two_level", "steps": 300, "period": plan["period"],
                                           "extra_slots": plan["slots"]}])
                elif plan["schedule"] == "revolve" and plan["leaf"] == 1:
                    (answer,) = answered([{"steps": 300, "slots": plan["slots"]}])
                else:
                    continue
                expect(answer["advances"] == plan["advances"] and answer["forward_steps"] == plan["forward_steps"],
                       plan, answer)
            said = output("advise", *words)
            expect(said.splitlines()[1].split("  ")[-1].startswith(best["schedule"]), said)

        with tempfile.TemporaryDirectory() as scratch:
            picture = os.path.join(scratch, "pareto.svg")
            front = json.loads(output("pareto", *loop, *extra, "--points", 12, "--json", "--svg", picture))
            expect(xml.etree.ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg", extra)
        rows = list(csv.DictReader(output("pareto", *loop, *extra, "--points", 12, "--csv").splitlines()))
        expect(len(front) == len(rows) > 2, extra, front)
        for small, large in zip(front, front[1:]):
            expect(small["memory_bytes"] < large["memory_bytes"] and small[measure] > large[measure], small, large)
        for plan, row in zip(front, rows):
            expect([plan["memory_bytes"], plan["step_calls"],
                    plan["schedule"]] == [int(row["bytes"]), int(row["step_calls"]), row["schedule"]], plan, row)
    json.loads(output("advise", "--steps", MOST, "--state", 8, "--memory", "1GB", "--json"))

    for n, slowdown in ((1000, 3), (10**6, 2.5), (10**15, 9), (2, 2), (10**6, 10**6)):
        lines = [line.split() for line in output("slots", "--steps", n, "--slowdown", slowdown).splitlines()[1:-1]]
        s = int(lines[0][-3].replace(",", ""))
        expect(int(lines[0][-2].replace(",", "")) == fewest(n, s)[1] + n <= slowdown * n, lines)
        expect(s == 1 or int(lines[1][-2].replace(",", "")) == fewest(n, s - 1)[1] + n > slowdown * n, lines)
    for request in SMALL_PLANS:
        text = output("explain", *words_for(request), "--state", "10kB",
                      *(["--tape", "20kB"] if request["schedule"] in TAPED else []))
        (answer,) = answered([request | {"state": "10kB"} | ({"tape": "20kB"} if request["schedule"] in TAPED else {})])
        expect(f"{whole(answer['step_calls']):,} step calls" in text
               and f"{whole(answer['memory_bytes']):,} bytes" in text, request, text)
        expect(request["schedule"] in text and "The fewest " in text, request, text)
        bound = re.search(r"no plan takes fewer than ([\d,]+) step calls", text)
        expect(bound is None or int(bound[1].replace(",", "")) <= whole(answer["step_calls"]), request, text)


def check_words():
    """The numbers of `explain` and `savings` are those of the answers."""
    for n, s in ((1000, 10), (5000, 8), (10**15, 33)):
        text = output("explain", "--steps", n, "--slots", s)
        for label, slots in (("Half the slots", s // 2), ("Twice the slots", 2 * s), ("The fewest slots", 1)):
            (answer,) = answered([{"steps": n, "slots": slots}])
            said = re.search(rf"^{label}: revolve with ([\d,]+) slots?: ([\d,]+) step calls", text, re.M)
            expect(said, text)
            expect([int(part.replace(",", "")) for part in said.groups()] == [slots, whole(answer["step_calls"])],
                   label, said, answer)
        t, advances = fewest(n, s)
        for said in (f"the least repetition number is {t:,}", f"= {advances:,} (Griewank & Walther 2000)",
                     f"beta({s}, {t}) = {beta(s, t):,} is not",
                     f"beta({s}, {t - 1}) = {beta(s, t - 1):,} is too short"):
            expect(said in text, said, "is not in", text)
    (least,) = answered([{"steps": 1000, "slots": 1, "state": 4096}])
    for words in ([MOST, "--slots", 100, "--state", 8], [MOST, "--slots", MOST], [0, "--slots", 1],
                  [1, "--schedule", "uniform"],
                  [9, "--schedule", "store_all"], [1000, "--schedule", "uniform", "--block", 40, "--state", 1],
                  [100, "--slots", 3, "--block", 7]):
        expect("The fewest slots" in output("explain", "--steps", *words), words)
    text = output("explain", "--steps", 1000, "--slots", 9, "--state", 4096)
    expect(f"{whole(least['peak_bytes']):,} bytes" in text.split("The fewest slots")[1], text)

    lengths = (100, 500, 1000, 5000, 0, 1, 10**12)
    rows = [line.split() for line in output("savings", *lengths).splitlines()[1:-1]]
    answers = answered([{"schedule": "uniform", "steps": n} for n in lengths])
    for n, row, answer in zip(lengths, rows, answers):
        root, peak = math.isqrt(n), whole(answer["peak_slots"])
        saved = [f"{100 * (n - k) / n if n else 0:.1f}%" for k in (root, peak)]
        per_step = f"{answer['forward_evaluations_per_step']:.3f}"
        expect(row[:3] == [f"{n:,}", f"{root:,}", saved[0]] and row[4:] == [f"{peak:,}", saved[1], per_step], row,
               answer)
    seeds = [["100", "10", "90.0%"], ["500", "22", "95.6%"], ["1,000", "31", "96.9%"],
             ["5,000", "70", "98.6%"]]  # as users know them
    expect([row[:3] for row in rows[:4]] == seeds, rows)


def check_time():
    """No request is worked on for longer than its limit, the next line is answered, and long work says how far it
    is."""
    endless = [{"schedule": "mixed", "steps": 8000, "units": 7000, "tape_units": 2},
               {"schedule": "multistage", "steps": 10**6, "ram_slots": 3, "disk_slots": 100},
               {"schedule": "hrevolve", "steps": 10**6, "tiers": [{"slots": 3}, {"slots": 100, "write": 2, "read": 1}]},
               {"schedule": "disk_revolve", "steps": 9 * 10**6, "ram_slots": 3, "disk_write": 2, "disk_read": 1},
               {"schedule": "multistage", "steps": 10**6, "memory": "40kB", "state": 8, "disk_slots": 100}]
    lines = [line for request in endless
             for line in (request | {"time_limit": 0.3}, {"steps": 10, "slots": 3, "time_limit": "unlimited"})]
    start = time.monotonic()
    answers = batch(lines)
    expect(time.monotonic() - start < 60, "the limits of all lines took", time.monotonic() - start)
    for request, answer in zip(lines, answers):
        expect(("error" in answer) == (request["time_limit"] == 0.3), request, answer)
        if "error" in answer:
            expect("time_limit is 0.300 s" in answer["error"] and "; give more, or fewer steps" in answer["error"],
                   request, answer)
    walk, = batch([{"steps": MOST_WALKED, "slots": 3, "time_limit": 0.001}])
    expect("time_limit is 0.001 s" in walk.get("error", ""), walk)
    done = run("plan", *words_for(endless[0]), "--time-limit", 5)
    expect(done.returncode == 2 and done.stdout == "", done)
    expect(re.match(r"cairn: \d s, [\d.]+ % of the table\n", done.stderr)
           and complaints(done.stderr).startswith("cairn: time_limit is 5"), done)
    for wrong in ("-1", "soon", "inf", "nan", ""):
        refused({"steps": 10, "slots": 3, "time_limit": wrong}, "time_limit")
    check_time_of_walks()
    check_time_of_explanations()
    check_time_of_chains()


def check_time_of_explanations():
    """The plans that are compared share one limit: that of twice the units takes longer than what the first one and
    that of half leave."""
    words = words_for({"schedule": "mixed", "steps": 6000, "units": 200, "tape_units": 2})
    start = time.monotonic()
    output("plan", *words)
    limit = 2 * (time.monotonic() - start)
    text = output("explain", *words, "--time-limit", limit)
    expect(re.search(r"\nTwice the units: mixed with 400 units: not planned, time_limit is [\d.]+ s for all plans\.\n",
                     text), limit, text)
    expect("not planned" not in output("explain", *words, "--time-limit", "unlimited"), words)


def check_time_of_walks():
    """Plans whose walk takes long, and searches that walk many of them, keep the limit, too."""
    for kind in ({"slots": 10**5}, {"memory": "100MB", "state": "1kB"}):
        start = time.monotonic()
        answer, = batch([{"schedule": "online", "steps": MOST_WALKED, "time_limit": 0.3} | kind])
        expect("time_limit is 0.300 s" in answer.get("error", ""), kind, answer)
        expect(time.monotonic() - start < 20, kind, "took", time.monotonic() - start)


def chain_that_differs(stages):
    state, numbers = 1, []
    for _ in range(4 * stages):
        state = state * 48271 % (2**31 - 1)
        numbers.append(state % 10**6 + 1)
    x, more, uf, ub = (numbers[k::4] for k in range(4))
    return {"x": [0] + x, "s": [a + b for a, b in zip(x, more)], "uf": uf, "ub": ub + [1]}


def check_time_of_chains():
    """Chains of stages that all differ: within the limit the best plan that is found with its gap, or the word that it
    takes longer; the next line is answered."""
    small = {"chain": TINY_CHAIN, "memory": 1000}
    for stages, planners in ((1000, ("auto", "persistent", "slots", "non_persistent", "own_tapes", "single_level",
                                     "greedy", "sqrt")),
                             (5000, ("auto", "single_level", "own_tapes", "slots", "non_persistent"))):
        work = chain_that_differs(stages)
        memory = sum(work["s"]) * 3 // 10
        lines = [line for by in planners
                 for line in ({"chain": work, "memory": memory, "planner": by, "time_limit": 0.3}, small)]
        start = time.monotonic()
        answers = batch(lines, "chain")
        expect(time.monotonic() - start < 60, "the limits of all lines took", time.monotonic() - start)
        for line, answer in zip(lines, answers):
            if line is small or line["planner"] in ("auto", "persistent", "greedy", "sqrt"):
                expect("error" not in answer and whole(answer["peak"]) <= line["memory"] and 0 <= answer["gap"] < 0.6,
                       answer)
            else:
                expect("time_limit is 0.300 s" in answer["error"] and "; give more" in answer["error"], line["planner"],
                       answer)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "chain.json"
        file.write_text(json.dumps(chain_that_differs(1000)))
        done = run("chain", file, "--memory", "300MB", "--planner", "single_level", "--time-limit", 4)
        expect(done.returncode == 2 and done.stdout == "" and re.match(r"cairn: [2-4] s", done.stderr)
               and complaints(done.stderr).startswith("cairn: time_limit is 4"), done)
        front = json.loads(output("chain", file, "--pareto", "--json", "--time-limit", 0.5))
        expect(len(front) >= 1 and sum(plan["left_out"] for plan in front) + len(front) <= 41
               and sum(plan["left_out"] for plan in front) > 0, front)
        expect(re.search(r"\n\d+ more budgets have no plan here: the limit of work was passed\n$",
                         output("chain", file, "--time-limit", 0.5)), file)
    for wrong in ("-1", "soon", "inf", "nan", ""):
        answer, = batch([small | {"time_limit": wrong}], "chain")
        expect("time_limit" in answer["error"], answer)


def strictly(text):
    """JSON without Infinity and NaN, which are none."""
    def none(word):
        raise AssertionError("no JSON: " + word)
    return json.loads(text, parse_constant=none)


def check_numbers():
    """Counts of 128 bits are printed whole, wherever they are, and JSON has no inf and no nan, whatever the times."""
    t, advances = fewest(MOST, 1)
    calls = advances + 1
    expect(calls > 2**124, calls)
    steps = ("--steps", MOST)
    for said in (output("plan", *steps, "--slots", 1), output("explain", *steps, "--slots", 1),
                 output("explain", *steps, "--slots", 1, "--state", 8)):
        expect(f"{calls:,}" in said and f"{advances:,}" in said, calls, said)
    expect(f"{advances + MOST:,}" in output("slots", *steps, "--slowdown", 2**62), advances)
    expect(strictly(output("plan", *steps, "--slots", 1, "--json"))["step_calls"] == str(calls), calls)
    loop = [*steps, "--state", 8]
    expect(f",{calls}," in output("pareto", *loop, "--points", 3, "--csv"), calls)
    expect(strictly(output("pareto", *loop, "--points", 3, "--json"))[0]["step_calls"] == str(calls), calls)
    expect(strictly(output("advise", *loop, "--memory", 216, "--json"))["best"]["advances"] == str(advances), advances)
    for words in (["advise", *loop, "--memory", "100kB"], ["pareto", *loop, "--points", 3],
                  ["advise", "--steps", 1000, "--state", 8, "--memory", 1000]):
        for times in (["--step-seconds", 1e308], ["--adjoint-seconds", 1e308],
                      ["--step-seconds", 1e300, "--disk-write", 1e308, "--disk", "unlimited"],
                      ["--step-seconds", 1e-320]):
            for form in (["--json"], []):
                done = run(*words, *times, *form)
                expect(not re.search(r"\b(inf|nan)\b", done.stdout + done.stderr), words, times, done)
                if done.returncode == 0:
                    form and strictly(done.stdout)
                else:
                    expect("a larger unit" in done.stderr or "budget" in done.stderr, words, times, done)
    costs = [0, 1e-320, 1e300, 1.7e308]
    requests = [{"schedule": "disk_revolve", "steps": n, "ram_slots": 2, "disk_write": a, "disk_read": b,
                 "turn_cost": c} for n in (1, 50) for a in costs for b in costs for c in costs]
    requests += [{"schedule": "hrevolve", "steps": 50, "tiers": [{"slots": 2, "write": a}, {"slots": 2, "read": b}],
                  "advance_cost": c} for a in costs for b in costs for c in costs]
    done = run("plan", "--batch", text="".join(json.dumps(request) + "\n" for request in requests))
    for request, line in zip(requests, done.stdout.splitlines()):
        answer = strictly(line)
        expect("larger unit" in answer["error"] if "error" in answer else answer["cost"] is not None, request, answer)


def check_convention():
    """A slot is the same everywhere: that of the initial state counts, and each output says so at its foot."""
    foot = "Slots count the initial state.\n"
    loop = ["--steps", 1000, "--state", "64KiB"]
    shown = {name: output(name, *loop, *more) for name,
             more in (("plan", ["--slots", 10]), ("explain", ["--slots", 10]), ("advise", ["--memory", "4MiB"]),
                      ("pareto", ["--points", 8]))}
    shown["slots"] = output("slots", "--steps", 1000, "--slowdown", 3)
    for name, text in shown.items():
        expect(text.endswith(foot) and text.count(foot) == 1, name, text)
    for name in ("advise", "pareto"):  # what they call slots gives the same step calls when it is asked for
        plans = re.findall(r"([\d.]+)  revolve with (\d+) slots? in memory", shown[name])
        expect(plans, shown[name])
        for per_step, slots in plans:
            (answer,) = answered([{"steps": 1000, "slots": int(slots)}])
            expect(f"{answer['forward_evaluations_per_step']:.4g}" == per_step, name, per_step, slots, answer)
    for row in csv.DictReader(output("pareto", *loop, "--csv").splitlines()):
        if row["schedule"] == "revolve":
            expect(str(whole(answered([{"steps": 1000, "slots": int(row["slots"])}])[0]["step_calls"])) == row[
                "step_calls"], row)
    starts = [line.split(":")[0] for line in shown["explain"].splitlines()
              if line.startswith(("Half", "Twice", "The fewest"))]
    expect(starts == ["Half the memory", "Twice the memory", "Half the slots", "Twice the slots", "The fewest slots"],
           starts)
    for words, said in ((["mixed", "--units", 9], "Units count the initial state."),
                        (["bptt", "--units", 9], "Units do not count the initial state, which is kept separately."),
                        (["mixed", "--units", 9, "--initial", "pinned_free"],
                         "Units do not count the initial state, which is kept separately.")):
        for command in ("plan", "explain"):
            expect(output(command, "--steps", 50, "--schedule", *words).splitlines()[-1] == said, words)
    swapped = ("--steps", 20, "--slots", 10**6)
    for command in ("plan", "explain"):
        expect("Note: more slots than the loop has states: are steps and slots swapped?" in output(command, *swapped),
               command)
    expect("swapped?" in strictly(output("plan", *swapped, "--json"))["remark"], "no remark")
    for request in ({"steps": 20, "slots": 20}, {"steps": 0, "slots": 1}, {"steps": 10**15, "slots": 10**14}):
        expect("remark" not in answered([request])[0], request)


def check_commands():
    """A command that is misspelt, or missing, is answered by those that there are."""
    commands = re.findall(r"^  (\w+) ", output("--help").split("Subcommands:")[1], re.M)
    expect("plan" in commands and "env" in commands, commands)
    for words in (["plam"], [], ["Plan", "--steps", 3], ["env2"], ["graph", "plam"], ["graph"]):
        done = run(*words)
        expect(done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, words, done)
        known = ["plan", "explain", "svg"] if words[:1] == ["graph"] else commands
        expect("; give one of " + ", ".join(known) + ";" in done.stderr, words, done.stderr)
        wrong = [word for word in words[:2] if word != "graph"][:1]
        expect((f'"{wrong[0]}" is not a command' if wrong else "no command") in done.stderr, words, done.stderr)
    for words in (["--help"], ["graph", "--help"], ["plan", "--help"], ["graph", "svg", "--help"]):
        output(*words)
    expect("not expected" in run("plan", "--steps", 3, "--slots", 2, "extra").stderr,
           "a word behind a command is not told from a command")


def in_environment(*words, **settings):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
    return subprocess.run([TOOL, *words], env=plain | settings, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def check_environment():
    """`env` tells what is set; only it reads the environment. Every variable that the scripts of the checkout read is
    known."""
    lines = in_environment("env").stdout.splitlines()
    names = [line.split()[0] for line in lines[1:]]
    expect(len(names) > 5 and len(set(names)) == len(names) and all("not set: " in line for line in lines[1:]), lines)
    page = (ROOT / "docs/observing.md").read_text()
    for line in lines[1:]:
        name, rest = line.split(None, 1)
        fallback, value, effect = re.split(r"  +", rest.removeprefix("not set: "))
        expect(f"| `{name}` | {value} | {fallback} | {effect} |" in page, "docs/observing.md lacks", line)
    done = in_environment("env", CAIRN_SLOTS="7", CAIRN_LOG="a\nb", CAIRN_ENABLE="off")
    expect(re.search(r"^CAIRN_SLOTS +7 ", done.stdout, re.M) and "a\\x0ab" in done.stdout
           and "no other variable has an effect." in done.stdout, done)
    for settings in ({"CAIRN_SLOTS": "0"}, {"CAIRN_SLOT": "3"}):
        done = in_environment("env", **settings)
        expect(done.returncode == 2 and done.stdout == "" and list(settings)[0] in done.stderr, settings, done)
        expect(in_environment("version", **settings).returncode == 0, "another command reads the environment")
    read = {}
    for file in [ROOT / "run",
                 *(path for folder in ("tests", "benchmarks", "examples", "tools")
                   for path in (ROOT / folder).rglob("*")
                   if path.suffix in (".sh", ".py", ".cpp", ".hpp", ".cmake"))]:
        for name in re.findall(
            r"""(?:\$\{|getenv\("|environ(?:\.get\(|\[)["']|\$ENV\{|number_in\(")(CAIRN_\w+)[}":\-']""",
                               file.read_text(errors="replace")):
            if file.suffix not in ("", ".sh") or re.search(rf"\$\{{{name}:", file.read_text(errors="replace")):
                read[name] = file
    expect({"CAIRN_APT_WAIT", "CAIRN_FUZZ_PROGRAM"} <= set(read), "this check finds nothing:", sorted(read))
    for name, file in read.items():
        if file.suffix != ".cmake":
            expect(in_environment("env", **{name: "1"}).returncode == 0, file, "reads", name,
                   "and cairn refuses it: see is_of_the_checkout in trace/impl/environment.ipp")


def check_traces():
    """`trace repair` keeps every complete event wherever a trace is torn, and `trace summarize` counts each."""
    def event(number, name, category, start, microseconds, more=""):
        return (f'{{"id":{number},"name":"{name}","cat":"{category}","pid":1,"tid":1,"ts":{start}.000,'
                f'"dur":{microseconds}.000,"ph":"X","args":{{"level":1{more}}}}},\n')
    events = ["[\n", event(1, "module.a", "forward", 0, 2000, ',"type":"module","target":"a"'),
              event(2, "advance", "forward", 2000, 3000), event(3, "advance", "recompute", 5000, 7000),
              event(4, "reverse", "reverse", 12000, 11000)]
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "run.pfw")
        for kept in range(1, 5):
            for torn in (0, 1, 50):
                file.write_text("".join(events[:kept + 1]) + "".join(events[kept + 1:])[:torn])
                said = output("trace", "repair", file)
                expect(said.startswith(f"repaired, {kept} event{'s' * (kept > 1)}; "), kept, torn, said)
                expect(len(json.loads(file.read_text())) == kept + 1, file.read_text())
                expect(output("trace", "repair", file).startswith("whole, "), "a second repair")
        rows = {line.split()[0]: line.split()[1:] for line in output("trace", "summarize", file).splitlines() if line}
        for name, figures in (("recompute", "1 7.000 7.000"), ("reverse", "1 11.000 11.000"), ("forward", "2 5.000"),
                              ("advance", "2 10.000"), ("a", "1 2.000")):
            expect(" ".join(rows[name]).startswith(figures + " "), name, rows)
        expect("2 more" in output("trace", "summarize", file, "--rows", 1), "--rows")
        file.write_text("".join(events)[:-9])
        expect("repair it first" in run("trace", "summarize", file).stderr, "a torn trace is summarized")
        file.write_text("no trace\n")
        for words in (["repair", file], ["summarize", file], ["summarize", "/no/such"], ["repair"], ["summarize"],
                      ["summarize", file, "--rows", 0]):
            done = run("trace", *words)
            expect(done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, words, done)
    expect(file.name in done.stderr or "rows" in done.stderr, done)


def check_profiles():
    """The tables of `profile` have all nodes of a chain and of a graph; `report` reads and `graph plan` plans them."""
    chain = {"x": [8, 16, 4], "s": [40, 20], "uf": [1000, 3000], "ub": [2000, 5000, 7]}
    graph = {"operations": [{"bytes": 8000, "time": 30, "adjoint_time": 60},
                            {"inputs": [0], "bytes": 4000, "time": 50, "adjoint_time": 100},
                            {"inputs": [0, 1], "bytes": 8, "time": 10, "adjoint_time": 10}]}
    with tempfile.TemporaryDirectory() as scratch:
        for name, model, nodes, forward in (("chain", chain, 6, 4000), ("graph", graph, 8, 90)):
            folder, file = pathlib.Path(scratch, name), pathlib.Path(scratch, name + ".json")
            file.write_text(json.dumps(model))
            said = output("profile", file, "--out", folder)
            rows = list(csv.DictReader((folder / "profiler_stats_node_stats.csv").read_text().splitlines()))
            expect(len(rows) == nodes and said.startswith(f"a profile of {nodes} nodes, "), name, len(rows), said)
            seconds = sum(float(row["median_run_time_s"]) for row in rows if row["gtype"] == "forward")
            expect(round(seconds * 1e9) == forward, rows)
            expect(len(list(folder.glob("*.svg"))) == 4, "pictures")
            for picture in folder.glob("*.svg"):
                xml.etree.ElementTree.parse(picture)
            again = output("report", folder / "profiler_stats_node_stats.csv")
            expect(again + f"\ntables and pictures: {folder}/profiler_stats_*\n" == said, said)
            most = max(int(row["median_peak_mem_bytes"]) for row in rows)
            ranks = [row["rank"] for row in rows if int(row["median_peak_mem_bytes"]) == most]
            expect(re.search(r"^most memory: [\d.]+ (B|KiB) at rank (\d+)", said, re.M).group(2) in ranks, said)
            table = folder / "profiler_stats_activation_stats.csv"
            names = [row["activation_name"] for row in csv.DictReader(table.read_text().splitlines())]
            told = output("report", table)
            expect(told.startswith(f"{len(names)} activation") and all(name in told for name in names), told)
        planned = output("graph", "plan", pathlib.Path(scratch, "graph", "profiler_stats_node_stats.csv"))
        expect(planned == output("graph", "plan", pathlib.Path(scratch, "graph.json")), planned)
        wrong = (folder / "profiler_stats_node_stats.csv").read_text().replace("forward", "nan", 1)
        pathlib.Path(scratch, "wrong.csv").write_text(wrong)
        for words in (["report", pathlib.Path(scratch, "wrong.csv")], ["profile"], ["profile", "/no/such"],
                      ["profile", pathlib.Path(scratch, "wrong.csv")]):
            done = run(*words)
            expect(done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, words, done)


def check_reports():
    """`report` shows each number of a file, and what is no file of cairn's is refused."""
    points = output("pareto", "--steps", 500, "--state", "64KiB", "--points", 6, "--csv", "--step-seconds", 1e-3)
    with tempfile.TemporaryDirectory() as scratch:
        def report(text, name):
            file = pathlib.Path(scratch, name)
            file.write_text(text)
            return output("report", file)
        said = report(points, "plans.csv").splitlines()
        rows = list(csv.DictReader(points.splitlines()))
        expect(said[0] == f"{len(rows)} rows" and said[1].split() == list(rows[0]), said)
        for row, line in zip(rows, said[2:]):
            expect(f" {int(row['step_calls']):,} " in line and f" {row['schedule']} " in line
                   and line.split()[1] in ("KiB", "MiB"), row, line)
        expect(said[-2].startswith("least memory: ") and said[-1].startswith("least time: "), said)
        expect(report(points.replace("\n", "\r\n"), "windows.csv").splitlines() == said, "line ends of Windows")
        plan = output("plan", "--steps", 9, "--slots", 3, "--csv")
        expect(report(plan, "plan.csv") == output("plan", "--actions", pathlib.Path(scratch, "plan.csv")), plan)
        expect(report(output("plan", "--steps", 9, "--slots", 3, "--json-actions"),
                      "plan.json").startswith("action_list, 9 steps, 3 slots\n"), "as JSON")
        expect("\nrunners_up:\n" in report(output("advise", "--steps", 1000, "--state", "64KiB", "--memory", "64MB",
                                                  "--json"), "advice.json"), "advice")
        quoted = report('name,peak,busy_s\n"a, ""b""\n",2048,0.0025\n# a remark\nc,-1,1e-9\n',
                        "quoted.csv").splitlines()
        expect(quoted[2:4] == ['a, "b"\\x0a  2.00 KiB  2.5 ms', "c                 -1    1 ns"], quoted)
        long = report("a,b\n" + "1,2\n" * 100, "long.csv").splitlines()
        expect(len(long) == 63 and long[-1] == "and 40 lines more", long)
        for text, words in (("", "is empty"), ("a,b\n1\n", "line 2: 1 cell below 2 columns"), ("a\n1\n", "not a table"),
                            ("[1]", "neither JSON"), ("{", "neither JSON"),
                            ('a,b\n"1,2\n', "line 2: a quotation mark"), ('a,b\n"1"x,2\n', "line 2: there is text"),
                            ("[{}, 3]", "neither JSON")):
            pathlib.Path(scratch, "wrong.csv").write_text(text)
            done = run("report", pathlib.Path(scratch, "wrong.csv"))
            expect(done.returncode == 2 and done.stdout == "" and words in done.stderr, text, done)
    expect("cannot be read" in run("report", "/no/such/file").stderr and "no file is given" in run("report").stderr,
           "no file")


def check_page():
    """docs/tool.md shows what the tool prints."""
    fences = re.findall(r"^```console\n(.*?)^```$", (ROOT / "docs/tool.md").read_text(), re.M | re.S)
    expect(len(fences) > 4, "docs/tool.md has too few examples")
    with tempfile.TemporaryDirectory() as scratch:
        os.symlink(os.path.abspath(TOOL), os.path.join(scratch, "cairn"))
        for fence in fences:
            commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", fence, re.M)
            expect(commands, "no command in", fence)
            for command, shown in commands:
                done = subprocess.run(command, shell=True, cwd=scratch, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT,
                                      env=os.environ | {"PATH": scratch + os.pathsep + os.environ["PATH"]})
                expect(done.stdout == shown, f"$ {command}\nprints\n{done.stdout}but the page says\n{shown}")


def main():
    global TOOL, ROOT
    TOOL, ROOT, part = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    checks = ("oracles", "limits", "lines", "keys", "budgets", "memory", "actions", "action_list", "options",
              "planning", "words", "chains", "chain_lines", "chain_memory",
              "chain_command", "graphs", "commands", "environment", "reports", "traces", "profiles",
              "time", "numbers", "convention", "page")
    for name in checks if part == "all" else [part]:
        globals()["check_" + name]()
        print(name, "ok")


main()
