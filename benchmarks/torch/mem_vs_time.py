#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory against time of training steps: a model as it is, with its blocks checkpointed, and within a limit.

    mem_vs_time.py --program mem_vs_time [--model resnet50] [--modes naive,checkpoint,blocks,tiny,torch] [--trials 5]
                   [--batch 4] [--size N]
                   [--parts 2 3] [--of counted|kept] [--environment FOLDER] [--export FILE.json] [--picture FILE.svg]

Models are resnet18, resnet50 and resnet152 (pictures of 64x64, or of --size), and gpt, 12 blocks (texts of 128 tokens).
Modes:
    naive        the plain call, which the others are compared with
    checkpoint   the blocks in about sqrt(n) regions
    blocks       as few blocks in a region each as keep within the limit
    tiny         checkpoint_module within the limit
    torch        what blocks does, by torch.utils.checkpoint in Python; FOLDER is what tests/adapt/torch/wheel.sh and
                 environment.sh have made
`counted` is the most bytes of tensors at once in a step, beside the gradients of parameters, which are the caller's;
`resident` is the rise of resident memory in a step, these gradients included. The limits of the last three modes are
naive's counted bytes divided by each of --parts, or with --of kept what the plain call keeps from forward to backward:
less, because no operator works then. Every row is a process of its own, pinned to the same processor and set to
use one thread; times are taken in turn, one sample of each process a trial, and are of user CPU: the median, and the
median of each trial's ratio to naive. Fails where output, gradients or buffers of cairn's rows are not naive's, bit for
bit, where tiny counts more than its limit, and where a figure that is promised is not met. After a row of tiny:
operators, how many ran again, and the most bytes by its own count.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "peers"))
import compare  # noqa: E402

models = {"resnet18": 64, "resnet50": 64, "resnet152": 64, "gpt": 128}
modes = ("naive", "checkpoint", "blocks", "tiny", "torch")
of_limit = ("blocks", "tiny", "torch")
promised = {1: 1.02, 2: 1.20, 3: 1.35}  # of naive's time, at a part of its bytes
colours = {"naive": "#444444", "checkpoint": "#c9772b", "blocks": "#8a5fb0", "tiny": "#1f77b4", "torch": "#3d9140"}


def command(options, mode, limit):
    way = f"{mode}:{limit}" if mode in of_limit else mode
    if mode == "torch":
        folder = options.environment.resolve()
        return ["env", f"PYTHONPATH={folder / 'packages'}", f"LD_LIBRARY_PATH={folder / 'stand_ins'}",
                folder / "bin" / "python", here / "models.py",
                options.model, f"blocks:{limit}", "FILE", options.batch, options.size, folder / "allocation_log.so"]
    return [options.program, options.model, way, "FILE", options.batch, options.size]


def started(options, scratch):
    """A process for each row, naive first."""
    naive = compare.process("cairn", "naive", command(options, "naive", 0), scratch)
    if "failed" in naive.row:
        sys.exit("mem_vs_time.py: naive: " + naive.row["failed"])
    rows = [naive]
    for mode in options.modes:
        for part in options.parts if mode in of_limit else (None,):
            if mode == "naive":
                continue
            limit = naive.row[options.of] // part if part else None
            name = f"{mode} 1/{part}" if part else mode
            who = "torch" if mode == "torch" else "cairn"
            rows.append(compare.process(who, name, command(options, mode, limit), scratch))
            rows[-1].row |= {"limit": limit, "part": part}
    for process in rows:
        process.row["mode"] = process.row["method"].split()[0]
    return rows


def run(options):
    with tempfile.TemporaryDirectory() as scratch:
        processes = started(options, scratch)
        naive, timed = processes[0], [p for p in processes if "failed" not in p.row]
        wanted = naive.file.read_bytes()
        for p in timed[1:]:
            if p.row["who"] == "cairn":
                p.row["same_bits"] = p.file.read_bytes() == wanted
        for _ in range(options.trials):
            for p in timed:
                p.sample()
        for p in timed if options.trials else ():
            p.row |= {"ms_per_step": 1e3 * statistics.median(p.samples), "seconds": p.samples,
                      "to_naive": statistics.median(a / b for a, b in zip(p.samples, naive.samples))}
        for p in processes:
            p.end()
        return [p.row for p in processes]


def megabytes(bytes_):
    return "-" if bytes_ is None else f"{bytes_ / 1e6:.2f}"


def show(options, rows):
    kept = rows[0]["kept_bytes"]
    print(f"{options.model}, batch {options.batch}, size {options.size}: the plain call keeps {megabytes(kept)} MB "
          f"from forward to backward")
    print(f"{'mode':<16}{'limit MB':>10}{'counted MB':>12}{'x naive':>9}{'resident MB':>13}{'ms/step':>10}"
          f"{'x naive':>9}  {'bits':<6}")
    for row in rows:
        name = f"{row['method']:<16}{megabytes(row.get('limit')):>10}"
        if "failed" in row:
            print(name + "  " + row["failed"])
            continue
        times = f"{row['ms_per_step']:>10.1f}{row['to_naive']:>9.3f}" if "ms_per_step" in row else f"{'-':>10}{'-':>9}"
        bits = {True: "same", False: "OTHER", None: "-"}[row.get("same_bits")]
        print(f"{name}{megabytes(row['bytes']):>12}{row['bytes'] / rows[0]['bytes']:>9.2f}"
              f"{megabytes(row['rss_bytes']):>13}{times}  {bits:<6}{row['words']}")


def promises(options, rows):
    """(sentence, whether it holds)"""
    made = {row["method"]: row for row in rows if "failed" not in row}
    for row in made.values():
        if row.get("same_bits") is not None:
            yield f"{row['method']}: the bits of the plain call", row["same_bits"]
        if row["mode"] == "tiny":
            above = row["bytes"] - row["limit"]
            how_far = f", {megabytes(above)} MB above" if above > 0 else ""
            yield f"{row['method']}: counts at most its limit{how_far}", above <= 0
    for part, most in promised.items():
        row, theirs = made.get(f"tiny 1/{part}"), made.get(f"torch 1/{part}")
        if row is None or options.trials < 3 or options.model not in ("resnet50", "gpt"):
            continue
        words = f"tiny 1/{part}: at most {most:.2f} times the time of naive: {row['to_naive']:.3f}"
        yield words, row["to_naive"] <= most
        if theirs:
            yield f"tiny 1/{part}: faster than torch.utils.checkpoint", row["ms_per_step"] < theirs["ms_per_step"]


def picture(options, rows):
    """A point for each row: bytes to the right, time upward."""
    rows = [row for row in rows if "ms_per_step" in row]
    width, height, left, bottom = 640, 400, 64, 48
    most_x, most_y = 1.1 * max(row["bytes"] for row in rows), 1.15 * max(row["to_naive"] for row in rows)
    x = lambda bytes_: left + (width - left - 24) * bytes_ / most_x  # noqa: E731
    y = lambda ratio: height - bottom - (height - bottom - 40) * ratio / most_y  # noqa: E731
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             f'font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{left}" y="22" font-size="14">{options.model}, batch {options.batch}: memory and time of a '
             f'training step</text>']
    for k in range(6):
        bytes_, ratio = most_x * k / 5, most_y * k / 5
        lines += [f'<line x1="{x(bytes_):.1f}" y1="40" x2="{x(bytes_):.1f}" y2="{height - bottom}" stroke="#dddddd"/>',
                  f'<line x1="{left}" y1="{y(ratio):.1f}" x2="{width - 24}" y2="{y(ratio):.1f}" stroke="#dddddd"/>',
                  f'<text x="{x(bytes_):.1f}" y="{height - bottom + 16}" text-anchor="middle">'
                  f'{bytes_ / 1e6:.3g}</text>',
                  f'<text x="{left - 6}" y="{y(ratio) + 4:.1f}" text-anchor="end">{ratio:.2f}</text>']
    lines += [f'<text x="{(left + width) / 2}" y="{height - 10}" text-anchor="middle">most bytes of tensors, MB, '
              f'without gradients of parameters</text>',
              f'<text x="16" y="{height / 2}" text-anchor="middle" transform="rotate(-90 16 {height / 2})">time, times '
              f'naive</text>']
    for row in rows:
        at_x, at_y = x(row["bytes"]), y(row["to_naive"])
        end = row["bytes"] > 0.7 * most_x
        lines += [f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="5" fill="{colours[row["mode"]]}"/>',
                  f'<text x="{at_x + (-9 if end else 9):.1f}" y="{at_y + 4:.1f}" '
                  f'text-anchor="{"end" if end else "start"}">{row["method"]}</text>']
    return "\n".join(lines) + "\n</svg>\n"


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--model", choices=tuple(models), default="resnet50")
    parser.add_argument("--modes", nargs="*")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--size", type=int)
    parser.add_argument("--parts", type=int, nargs="*", default=(2, 3))
    parser.add_argument("--of", choices=("counted", "kept"), default="counted")
    parser.add_argument("--environment", type=pathlib.Path)
    parser.add_argument("--export", type=pathlib.Path)
    parser.add_argument("--picture", type=pathlib.Path)
    options = parser.parse_args(words)
    given = [mode for word in options.modes or () for mode in word.split(",") if mode]
    options.modes = given or [mode for mode in modes if mode != "torch" or options.environment]
    if wrong := [mode for mode in options.modes if mode not in modes]:
        parser.error(f"there is no mode {wrong[0]}; give some of {', '.join(modes)}")
    if "torch" in options.modes and options.environment is None:
        parser.error("the mode torch needs --environment")
    if min(options.batch, *options.parts, options.size or 1) < 1 or options.trials < 0:
        parser.error("batch, size and parts are 1 or more, trials 0 or more")
    options.of = {"counted": "bytes", "kept": "kept_bytes"}[options.of]
    options.size = options.size or models[options.model]
    return options


def main():
    options = options_of(None)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows = run(options)
    show(options, rows)
    good = all("failed" not in row for row in rows if row["mode"] in ("checkpoint", "tiny"))
    for sentence, holds in promises(options, rows):
        print(f"  {'ok' if holds else 'MISSED':<7}{sentence}")
        good &= holds
    versions = sorted({row["version"] for row in rows if "version" in row})
    print("; ".join(versions)
          + f"; user CPU, medians of {options.trials} interleaved trials, one thread on one processor")
    if options.export:
        about = {"model": options.model, "batch": options.batch, "size": options.size, "trials": options.trials,
                 "versions": versions}
        options.export.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
        print(f"written: {options.export}")
    if options.picture and options.trials:
        options.picture.write_text(picture(options, rows))
        print(f"written: {options.picture}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
