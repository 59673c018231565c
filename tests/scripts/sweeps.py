# SPDX-License-Identifier: Apache-2.0
"""An interpreter of plans for loops, of another make than cairn's: it obeys a plan, counts what it takes, and refuses
what cannot be done."""
import csv
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
