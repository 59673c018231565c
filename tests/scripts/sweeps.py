# SPDX-License-Identifier: Apache-2.0
"""Interpreters of plans, of another make than cairn's: for loops, chains and graphs. Each obeys one plan, counts what
it takes, and refuses what cannot be done."""
import collections
import csv
import json
import re

TIERS = ("memory", "device", "host", "disk")


def expect(holds, *what):
    if not holds:
        raise AssertionError(" ".join(str(part) for part in what))


class LoopSweep:
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
        self.writes, self.reads, self.peaks = (dict.fromkeys(TIERS, 0) for _ in range(3))

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
            is_there = self.free_initial and first == 0 if slot is None else self.kept.get(slot) == (first, tier)
            expect(is_there, "a wrong load")
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
        sums = self.sums
        expect(self.turned and self.left == 0 and not self.kept and not self.taped, "the end", self.left, self.kept,
               self.taped)
        sums["disk_writes"], sums["disk_reads"] = self.writes["disk"], self.reads["disk"]
        sums["forward_steps"] = sums["advances"] + sums["recorded"] + sums["reversals"] - self.from_tapes
        at = most = 0
        for change in self.runs:
            at += change
            most = max(most, at)
        sums["repetition_number"] = most


def play_loop(text):
    """The sweep that a list of actions in CSV describes, played to its end."""
    head, columns, *rows = text.splitlines()
    expect(head.startswith("# cairn schedule: ") and columns == "action,from,to,slot,what,tier", head, columns)
    sweep = LoopSweep(**{name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", head)})
    for at, (kind, first, last, slot, what, tier) in enumerate(csv.reader(rows)):
        expect(kind in ("advance", "save", "load", "drop", "record", "turn", "reverse", "done")
               and tier in ("", *TIERS), at, rows[at])
        try:
            getattr(sweep, kind)(*(int(cell) if cell else None for cell in (first, last, slot)), what, tier or "memory")
        except (AssertionError, KeyError) as problem:
            raise AssertionError(f"action {at}, {rows[at]}: {problem}")
    expect(rows[-1].startswith("done") and sum(row.startswith("done") for row in rows) == 1, "the last action")
    return sweep


def csv_of(text):
    """A list of actions in JSON as its form in CSV."""
    plan = json.loads(text)
    actions = plan.pop("actions")
    columns = ("action", "from", "to", "slot", "what", "tier")
    rows = [",".join(str(action.get(key, "")) for key in columns) for action in actions]
    head = " ".join(f"{key}={int(value)}" for key, value in plan.items())
    return "\n".join(["# cairn schedule: " + head, ",".join(columns), *rows])


class ChainSweep:
    """Obeys the words of a plan for a chain, as the file beside the reference numbers defines them."""

    def __init__(self, chain):
        self.x, self.s, self.f, self.b, self.u, self.v = (chain[key] for key in ("x", "s", "f", "b", "uf", "ub"))
        self.last = len(self.x) - 1
        self.states, self.tapes, self.adjoint = {0}, set(), self.last + 1
        self.time = self.peak = self.runs = 0

    def reach(self, more=0):
        adjoint = self.x[self.adjoint] if 0 < self.adjoint <= self.last else 0
        held = sum(self.x[i] for i in self.states if i > 0) + sum(self.s[i] for i in self.tapes) + adjoint
        self.peak = max(self.peak, held + more)

    def forget(self, i):
        if i > 0:
            self.states.discard(i)

    def has(self, i):
        return i in self.states or i - 1 in self.tapes

    def run(self, word, i):
        expect(self.has(i) and (word != "Fall" or i not in self.tapes), "no state to run stage", i, "on")
        if word == "Fall":
            self.tapes.add(i)
        else:
            self.states.add(i + 1)
        self.reach(self.f[i])
        self.time += self.u[i]
        self.runs += 1
        if word == "Fall":
            self.forget(i + 1)
        elif word == "Fn":
            self.forget(i)

    def reverse(self, word, i):
        is_loss = word == "Loss"
        expect(self.adjoint == i + 1 and (i == self.last if is_loss else i in self.tapes) and self.has(i),
               "no adjoint of stage", i)
        self.reach(self.b[i])
        self.tapes.discard(i)
        self.forget(i + 1)
        self.adjoint = i
        if is_loss:
            self.reach()
        if word != "Bck":
            self.forget(i)
        self.reach()
        self.time += self.v[i]

    def obey(self, word, i):
        if word in ("Fck", "Fn", "Fall"):
            self.run(word, i)
        elif word in ("Loss", "B", "Bck"):
            self.reverse(word, i)
        else:
            held = {"Drop": self.states, "DropTape": self.tapes}.get(word, ())
            expect(i in held and (word, i) != ("Drop", 0), "no such word, or nothing to drop")
            held.discard(i)


def play_chain(chain, words):
    """The sweep of a plan for a chain, played to its end."""
    sweep = ChainSweep(chain)
    for at, word in enumerate(words.split()):
        try:
            kind, number = re.fullmatch(r"([A-Za-z]+)(\d+)", word).groups()
            sweep.obey(kind, int(number))
        except AssertionError as problem:
            raise AssertionError(f"word {at}, {word}: {problem}")
    expect(sweep.adjoint == 0, "the plan ends at adjoint", sweep.adjoint)
    return sweep


def play_graph(graph, words):
    """What a plan for a graph costs, by rules written down once more: peak, makespan and runs."""
    operations, n = graph["operations"], len(graph["operations"])
    reads = [sorted(set(one.get("inputs", []))) for one in operations]
    outputs = graph.get("outputs") or [v for v in range(n) if not any(v in one for one in reads)]
    values, tapes, bars = set(), set(), set()
    spent = collections.Counter(left=n + 1)

    def reach(more, time):
        held = sum(operations[v].get("bytes", 0) for v in values)
        held += sum(operations[v].get("tape_bytes", 0) for v in tapes)
        held += sum(operations[v].get("adjoint_bytes", operations[v].get("bytes", 0)) for v in bars)
        spent["peak"] = max(spent["peak"], held + more)
        spent["makespan"] += time

    for word in words.split():
        name, v = re.fullmatch(r"([A-Za-z]+)(\d+)", word).groups()
        v = int(v)
        if name in ("F", "R"):
            one = operations[v]
            expect(v < spent["left"] and set(reads[v]) <= values, word, "reads what is not there")
            expect(v not in (values if name == "F" else tapes), word, "makes what is there")
            values.add(v)
            if name == "R":
                tapes.add(v)
            spent["runs"] += 1
            reach(one.get("work", 0), one.get("time", 0))
        elif name in ("Drop", "DropTape"):
            (values if name == "Drop" else tapes).remove(v)
        elif name == "Loss":
            expect(v == n and spent["left"] == n + 1 and set(outputs) <= values, word)
            bars |= set(outputs)
            reach(graph.get("loss_work", 0), graph.get("loss_time", 0))
            spent["left"] = n
        else:
            one = operations[v]
            expect(name == "B" and spent["left"] == v + 1, word, "is no word, or out of order")
            inputs, flags = one.get("inputs", []), one.get("adjoint_needs_inputs", True)
            each = flags if isinstance(flags, list) else [flags] * len(inputs)
            needs = {read for read, flag in zip(inputs, each) if flag}
            needs |= {v} if one.get("adjoint_needs_output", True) else set()
            expect(needs <= values and (v in tapes or not one.get("tape_bytes", 0)), word, "reads what is not there")
            bars |= set(reads[v])
            reach(one.get("adjoint_work", 0), one.get("adjoint_time", 0))
            spent["left"] = v
            for held in (values, tapes, bars):
                held.discard(v)
    expect(spent["left"] == 0, "adjoints are left")
    return spent["peak"], spent["makespan"], spent["runs"]
