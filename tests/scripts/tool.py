#!/usr/bin/env python3
"""Checks the command `cairn` from outside: by reference numbers, big integers, and an interpreter of its own.

    tool.py CAIRN CHECKOUT PART     PART is a function below without its "check_"; all of them where it is "all"
"""
import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree

TOOL, ROOT = "", pathlib.Path()
MOST = 2**63 - 1
MOST_WALKED = 10**7


def expect(holds, *what):
    if not holds:
        raise AssertionError(" ".join(str(part) for part in what))


def run(*words, text=None):
    return subprocess.run([TOOL, *map(str, words)], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def output(*words):
    done = run(*words)
    expect(done.returncode == 0 and done.stderr == "", words, done.returncode, done.stderr)
    return done.stdout


def whole(value):
    """An integer of an answer: a number up to 2^53, digits above."""
    expect(type(value) is int and value <= 2**53 or type(value) is str and int(value) > 2**53, "not a whole number:", value)
    return int(value)


def batch(requests):
    """The answers to requests, each a dict or a line as it is; all in one process."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in requests]
    done = run("plan", "--batch", text="".join(line + "\n" for line in lines))
    expect(done.returncode == 0 and done.stderr == "", "batch:", done.returncode, done.stderr)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    expect(len(answers) == len(lines), len(lines), "lines,", len(answers), "answers")
    return answers


def answered(requests):
    answers = batch(requests)
    for request, answer in zip(requests, answers):
        expect("error" not in answer, request, answer)
    return answers


def refused(request, *words):
    (answer,) = batch([request])
    expect(list(answer) == ["error"] and all(word in answer["error"] for word in words), request, "->", answer, "lacks", words)
    return answer["error"]


def oracle(name):
    with open(ROOT / "tests" / "oracles" / name, newline="") as file:
        rows = list(csv.DictReader(file))
    expect(rows, "no rows in", name)
    return rows


def check_totals(answer):
    """What holds for any schedule here: the last step, or leaf, is run in the turn, every other one loaded and reversed."""
    n = whole(answer["steps"])
    leaf = answer.get("block", 1) if answer["schedule"] == "revolve" else 1
    leaves = -(-n // leaf)
    advances = whole(answer["advances"])
    expect(whole(answer["reversals"]) == n, answer)
    expect(whole(answer["step_calls"]) == advances + n - max(leaves - 1, 0) * leaf, answer)
    expect(whole(answer["forward_steps"]) == advances + n, answer)
    expect(whole(answer["loads"]) == max(leaves - 1, 0), answer)
    per_step = whole(answer["step_calls"]) / n if n else 0
    expect(math.isclose(answer["forward_evaluations_per_step"], per_step, rel_tol=1e-15), answer)
    expect(answer["counted"] == ("walk" if n <= MOST_WALKED else "closed_form"), answer)


def check_oracles():
    """Every row of every reference table, through one process."""
    asked = []
    for name in ("revolve_small.csv", "revolve_large.csv"):
        asked += [({"schedule": "revolve", "steps": int(row["n"]), "slots": int(row["s"])}, row) for row in oracle(name)]
    asked += [({"schedule": "uniform", "steps": int(row["n"]), "block": int(row["block"])}, row) for row in oracle("uniform_block.csv")]
    for request in asked:  # large numbers also as digits
        request[0]["steps"] = str(request[0]["steps"]) if request[0]["steps"] > 2**53 else request[0]["steps"]
    for (request, row), answer in zip(asked, answered([request for request, _ in asked])):
        same = {"steps": "n"}
        if request["schedule"] == "revolve":
            same |= {"slots": "s", "advances": "min_advances", "saves": "min_stores", "repetition_number": "repetition_number"}
            same |= {"first_split": "first_split_min_stores_rule"}
            if "first_split_min" in row:
                expect(int(row["first_split_min"]) <= whole(answer["first_split"]) <= int(row["first_split_max"]), row, answer)
        else:
            same |= {"blocks": "num_blocks", "advances": "advances_turns_excluded_last_block_kept"}
            reserved = int(row["peak_states_incl_initial"])
            expect(reserved - 2 <= whole(answer["peak_slots"]) <= reserved, row, answer)
        for key, column in same.items():
            if column in row:
                expect(whole(answer[key]) == int(row[column]), key, row, answer)
        check_totals(answer)


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
            expect([whole(answer[key]) for key in ("advances", "saves", "peak_slots", "repetition_number", "first_split")] ==
                   [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]][n], answer)
    for n in (MOST, MOST - 1, 2**53, 2**53 + 1, 10**18):
        for s in (1, 2, 3, 20, 1000):
            (answer,) = answered([{"steps": str(n), "slots": s}])
            check_totals(answer)
            expect((whole(answer["repetition_number"]), whole(answer["advances"])) == fewest(n, s), answer)
    as_number, as_digits = answered([{"steps": MOST, "slots": str(MOST)}, {"steps": str(MOST), "slots": MOST}])
    expect(as_number == as_digits and whole(as_number["advances"]) == MOST - 1, as_number)
    (answer,) = answered([{"schedule": "store_all", "steps": MOST}])
    expect(whole(answer["step_calls"]) == MOST, answer)
    for s in (3, 100):
        walked, counted = answered([{"steps": MOST_WALKED, "slots": s}, {"steps": MOST_WALKED + 1, "slots": s}])
        check_totals(walked), check_totals(counted)
        expect(whole(walked["advances"]) == fewest(MOST_WALKED, s)[1] and whole(counted["advances"]) == fewest(MOST_WALKED + 1, s)[1], walked)


def check_lines():
    """Lines that are wrong get an error that says what would work, and the rest goes on, in order."""
    good = {"steps": 10, "slots": 3}
    wrong = ["", " ", "x", "{", '{"steps":10,"slots":3', "[1]", "3", '"steps"', "null", '{"steps":10} x', '{"steps":1e3,"slots":3}',
             '{"steps":10.0,"slots":3}', '{"steps":true,"slots":3}', '{"steps":null}', '{"steps":[1]}', '{"steps":{"a":1}}', '{"steps":-1,"slots":3}',
             '{"steps":"ten","slots":3}', '{"steps":"","slots":3}', '{"steps":" 10","slots":3}', '{"steps":9223372036854775808,"slots":3}',
             '{"steps":1,"steps":1,"slots":1}', '{"steps":10}', '{"slots":3}', "{}", '{"steps":10,"slots":0}', '{"steps":10,"slots":3,"colour":1}',
             '{"steps":10,"slots":3,"schedule":"fastest"}', '{"steps":10,"slots":3,"memory":"1kB","state":8}', '{"steps":10,"memory":"1kB"}',
             '{"steps":10,"memory":"1K","state":8}', '{"steps":10,"memory":"1kB","state":0}', '{"steps":10,"slots":3,"state":-8}',
             '{"steps":10,"slots":3,"tape":8}', '{"steps":10,"slots":3,"block":0}', '{"steps":10,"block":2,"slots":20,"schedule":"uniform"}',
             '{"steps":1000,"slots":3,"schedule":"uniform"}', '{"steps":10,"slots":3,"schedule":"store_all"}', '{"steps":10,"slots":3,"id":1.5}',
             '{"steps":10,"slots":3,"id":[1]}', '{"steps":10,"slots":3,"out_of_place":1}', '{"steps":10,"slots":3,"json":true}',
             '{"steps":' + "1" * 70000 + "}", "[" * 60000, '{"steps":10,"slots":3,"id":"' + "\\ud800" + '"}']
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
    refused({"steps": 10, "slots": 3, "schedule": "fastest"}, "fastest", "revolve, uniform or store_all")

    many = [{"id": f"{k} \u00e9\"\\", "steps": k % 50, "slots": 1 + k % 7} for k in range(5000)]
    expect([answer["id"] for answer in answered(many)] == [request["id"] for request in many], "the order of answers")
    (answer,) = batch([{"id": 7, "steps": 10}])
    expect(answer["id"] == 7 and "error" in answer, answer)
    expect(run("plan", "--batch", text="").stdout == "", "no lines, no answers")


def check_budgets():
    """A budget gets the most slots that fit: these fit, one more does not; what is said to be the least fits, one byte less does not."""
    for schedule, extra in (("revolve", {}), ("revolve", {"block": 7, "tape": 5000}), ("revolve", {"out_of_place": True, "adjoint": 77}),
                            ("uniform", {})):
        for n in (1, 2, 50, 1000, 200_000, 10**12):
            base = {"schedule": schedule, "steps": n, "state": 1000} | extra
            error = refused(base | {"memory": 1}, "memory is 1 B", "at least")
            least = int(re.search(r"needs (\d+) B", error)[1])
            refused(base | {"memory": least - 1}, str(least))
            for memory in (least, least + 999, 2 * least + 12_345, 5_000_000_000):
                (answer,) = answered([base | {"memory": memory}])
                expect(whole(answer["peak_bytes"]) <= memory, n, memory, answer)
                check_totals(answer)
                chosen = whole(answer["slots"])
                (again,) = answered([base | {"slots": chosen}])
                expect(again == answer, "the same plan by its slots:", answer, again)
                for more in answered([base | {"slots": chosen + k} for k in (1, 2, 3)]):
                    expect(whole(more["peak_bytes"]) > memory or whole(more["peak_slots"]) == whole(answer["peak_slots"]), memory, answer, more)
    for schedule, extra in (("store_all", {}), ("uniform", {"block": 10})):
        base = {"schedule": schedule, "steps": 1000, "state": 1000} | extra
        least = int(re.search(r"needs (\d+) B", refused(base | {"memory": "10kB"}, "schedule revolve"))[1])
        refused(base | {"memory": least - 1})
        (answer,) = answered([base | {"memory": least}])
        expect(whole(answer["peak_bytes"]) == least, answer)


def check_memory():
    """100,000 lines take the memory of 1,000, and answers come before the input ends."""
    if not os.path.exists("/proc/self/status"):
        print("no /proc: passed over")
        return

    def peak(count):
        lines = "".join('{"steps":%d,"slots":%d,"id":%d}\n' % (k % 40, 1 + k % 9, k) if k % 10 else "wrong\n" for k in range(count))
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


def replay(text, n, leaf):
    """Obeys a list of actions on step numbers; the totals, in the words of an answer."""
    rows = list(csv.reader(text.splitlines()))
    expect(rows[0] == ["action", "from", "to", "slot"] and rows[-1] == ["done", "", "", ""], rows[0], rows[-1])
    live, left, turned, kept = 0, n, False, {}
    runs = [0] * n
    sums = dict.fromkeys(("advances", "saves", "loads", "reversals", "peak_slots", "first_split"), 0)
    for kind, *cells in rows[1:-1]:
        first, last, slot = (int(cell) if cell else None for cell in cells)
        if kind == "advance":
            expect(first == live and first < last <= left and slot is None, kind, cells, live, left)
            for step in range(first, last):
                runs[step] += 1
            if sums["advances"] == 0:
                sums["first_split"] = last
            sums["advances"] += last - first
            live = last
        elif kind == "save":
            expect(first == live and last is None and slot >= 0 and slot not in kept, kind, cells, live, kept)
            kept[slot] = live
            sums["saves"] += 1
            sums["peak_slots"] = max(sums["peak_slots"], len(kept))
        elif kind == "load":
            expect(kept.get(slot) == first and last is None, kind, cells, kept)
            live = first
            sums["loads"] += 1
        elif kind == "drop":
            expect(slot in kept and first is None and last is None, kind, cells, kept)
            del kept[slot]
        elif kind == "turn":
            expect(not turned and first == live and last == n and slot is None, kind, cells, live)
            turned = True
        elif kind == "reverse":
            expect(turned and last == left and first == live and 0 < last - first <= leaf and slot is None, kind, cells, live, left)
            sums["reversals"] += last - first
            left, live = first, None
        else:
            expect(False, "an unknown action", kind)
    expect(turned and left == 0 and not kept, "the end", turned, left, kept)
    return sums | {"repetition_number": max(runs, default=0)}


def check_actions():
    """--csv is a plan that an interpreter of another make can obey, with the totals of --json, which is the answer of --batch."""
    requests = [{"schedule": "revolve", "steps": n, "slots": s} for n in (0, 1, 2, 3, 10, 57, 400) for s in (1, 2, 5, 60)]
    leaves = ((0, 3), (1, 3), (40, 3), (40, 40), (40, 99))
    requests += [{"schedule": "revolve", "steps": n, "slots": s, "block": k} for n, k in leaves for s in (1, 4)]
    requests += [{"schedule": "uniform", "steps": n} | how for n in (0, 1, 2, 3, 10, 57, 400) for how in ({}, {"block": 7}, {"slots": 50})]
    requests += [{"schedule": "store_all", "steps": n} for n in (0, 1, 2, 57)]
    requests += [{"steps": 300, "memory": "20kB", "state": "1kB", "adjoint": 10, "tape": "2kB", "out_of_place": True}]
    for request, answer in zip(requests, answered(requests)):
        words = [f"--{key.replace('_', '-')}" + ("" if value is True else f"={value}") for key, value in request.items()]
        expect(output("plan", *words, "--json") == json.dumps(answer, separators=(",", ":")) + "\n", words, answer)
        leaf = request.get("block", 1) if answer["schedule"] == "revolve" else 1
        for key, value in replay(output("plan", *words, "--csv"), request["steps"], leaf).items():
            expect(whole(answer[key]) == value, key, value, answer)


def check_options():
    """What cannot be done as asked ends with status 2, a sentence on standard error and nothing on standard output."""
    scratch = tempfile.mkdtemp()
    for words, said in (
            ([], "--help"), (["frob"], "--help"), (["plan"], "steps is not given"), (["plan", "--stps", 4], "--stps"),
            (["plan", "--steps", -5, "--slots", 2], '"-5"'), (["plan", "--steps", 5], "revolve needs slots"),
            (["plan", "--steps", 5, "--slots"], "--slots"),
            (["plan", "--steps", 5, "--slots", 2, "--slots", 3], "--slots"), (["plan", "--steps", 5, "--slots", 2, 3], "3"),
            (["plan", "--steps", "5x", "--slots", 2], '"5x"'), (["plan", "--steps", 5, "--memory", "10G", "--state", 8], "10GiB"),
            (["plan", "--steps", 5, "--memory", 10, "--state", 8], "at least"), (["plan", "--batch", "--steps", 4], "standard input"),
            (["plan", "--batch", "--json"], "standard input"), (["plan", "--steps", 5, "--slots", 2, "--csv", "--json"], "one of them"),
            (["plan", "--steps", 1_000_001, "--slots", 9, "--csv"], "1000000"), (["plan", "--steps", 10**8, "--slots", 9, "--picture"], "picture"),
            (["plan", "--steps", 5, "--slots", 2, "--svg", scratch + "/no/x.svg"], "cannot be written"),
            (["plan", "--steps", 5, "--slots", 2, "--schedule", "best"], "store_all"), (["explain", "--steps", 5], "revolve needs slots"),
            (["explain", "--steps", 5, "--slots", 2, "--json"], "--json"), (["savings"], "N"), (["savings", "ten"], '"ten"'),
            (["savings", 10, "--checkpoints", 11], "checkpoints = 11"), (["version", "x"], "x")):
        done = run(*words)
        one_sentence = done.stderr.startswith("cairn: ") and done.stderr.count("\n") == 1
        expect(done.returncode == 2 and done.stdout == "" and one_sentence and said in done.stderr, words, done)
    for words in (["--help"], ["plan", "--help"], ["explain", "--help"], ["savings", "--help"], ["version", "--help"]):
        expect("Usage" in output(*words), words)
    version = re.search(r'CAIRN_VERSION_STRING "([^"]+)"', (ROOT / "include/cairn/version.hpp").read_text())[1]
    expect(output("version") == f"cairn {version}\n", "version")

    pictures = [os.path.join(scratch, name) for name in ("schedule.svg", "memory.svg")]
    output("plan", "--steps", 20, "--slots", 3, "--svg", pictures[0], "--memory-svg", pictures[1], "--json")
    for picture in pictures:
        expect(xml.etree.ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg", picture)
        os.remove(picture)
    os.rmdir(scratch)
    plain = output("plan", "--steps", 20, "--slots", 3)
    drawn = output("plan", "--steps", 20, "--slots", 3, "--picture")
    expect(drawn.startswith(plain) and drawn.count("\n") > plain.count("\n") + 10, drawn)


def check_words():
    """The numbers of `explain` and `savings` are those of the answers."""
    for n, s in ((1000, 10), (5000, 8), (10**15, 33)):
        text = output("explain", "--steps", n, "--slots", s)
        for label, slots in (("Half", s // 2), ("Twice", 2 * s), ("Least memory", 1)):
            (answer,) = answered([{"steps": n, "slots": slots}])
            said = re.search(rf"^{label}: revolve with ([\d,]+) slots?: ([\d,]+) step calls", text, re.M)
            expect(said, text)
            expect([int(part.replace(",", "")) for part in said.groups()] == [slots, whole(answer["step_calls"])], label, said, answer)
        t, advances = fewest(n, s)
        for said in (f"the least repetition number is {t:,}", f"= {advances:,} (Griewank & Walther 2000)",
                     f"beta({s}, {t}) = {beta(s, t):,} is not", f"beta({s}, {t - 1}) = {beta(s, t - 1):,} is too short"):
            expect(said in text, said, "is not in", text)
    (least,) = answered([{"steps": 1000, "slots": 1, "state": 4096}])
    for words in ([MOST, "--slots", 100, "--state", 8], [MOST, "--slots", MOST], [0, "--slots", 1], [1, "--schedule", "uniform"],
                  [9, "--schedule", "store_all"], [1000, "--schedule", "uniform", "--block", 40, "--state", 1], [100, "--slots", 3, "--block", 7]):
        expect("Least memory" in output("explain", "--steps", *words), words)
    text = output("explain", "--steps", 1000, "--slots", 9, "--state", 4096)
    expect(f"{whole(least['peak_bytes']):,} bytes" in text.split("Least memory")[1], text)

    lengths = (100, 500, 1000, 5000, 0, 1, 10**12)
    rows = [line.split() for line in output("savings", *lengths).splitlines()[1:-1]]
    answers = answered([{"schedule": "uniform", "steps": n} for n in lengths])
    for n, row, answer in zip(lengths, rows, answers):
        root, peak = math.isqrt(n), whole(answer["peak_slots"])
        saved = [f"{100 * (n - k) / n if n else 0:.1f}%" for k in (root, peak)]
        per_step = f"{answer['forward_evaluations_per_step']:.3f}"
        expect(row[:3] == [f"{n:,}", f"{root:,}", saved[0]] and row[4:] == [f"{peak:,}", saved[1], per_step], row, answer)
    seeds = [["100", "10", "90.0%"], ["500", "22", "95.6%"], ["1,000", "31", "96.9%"], ["5,000", "70", "98.6%"]]  # as users know them
    expect([row[:3] for row in rows[:4]] == seeds, rows)


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
                done = subprocess.run(command, shell=True, cwd=scratch, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      env=os.environ | {"PATH": scratch + os.pathsep + os.environ["PATH"]})
                expect(done.stdout == shown, f"$ {command}\nprints\n{done.stdout}but the page says\n{shown}")


def main():
    global TOOL, ROOT
    TOOL, ROOT, part = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    checks = ("oracles", "limits", "lines", "budgets", "memory", "actions", "options", "words", "page")
    for name in checks if part == "all" else [part]:
        globals()["check_" + name]()
        print(name, "ok")


main()
