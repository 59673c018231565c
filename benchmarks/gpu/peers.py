#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other libraries on the same loop, and cairn in as much memory of the device and the host as each of them took.

    peers.py --program gpu_plan --out FILE [--commit HASH] [--seconds N] [--small]

A library that is not installed, or that fails, is a line with a note. --small: tiny states, without a device.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

here = pathlib.Path(__file__).parent
peers = [("torch", "torch_peers.py", "checkpoint"), ("torch", "torch_peers.py", "save_on_cpu"),
         ("torch", "torch_peers.py", "streams"),
         ("jax", "jax_peers.py", "nested"), ("jax", "jax_peers.py", "offload"), ("diffrax", "jax_peers.py", "diffrax")]


class Results:
    def __init__(self, path, head):
        self.path, self.head = path, head

    def add(self, bench, params, samples=(), floor=None, found=None, right=None, note=""):
        """A line as row.hpp writes it: at once, so that what is known stays when this is killed."""
        median = statistics.median(samples) if samples else None
        line = {**self.head, "bench": bench, "params": params, "unit": "s", "n": len(samples), "median": median,
                "min": min(samples, default=None), "max": max(samples, default=None), "floor": floor,
                "ratio_to_floor": median / floor if samples and floor else None, "predicted": None,
                "tolerance": None, "assumed_ratio": None, "found": found or {}, "right": right,
                "ok": None if right is not False else False, "note": note}
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")
        ratio = ""
        if samples and floor:
            ratio = f"  {median:.6g} s  {median / floor:.3f} x its own pure forward and backward"
        print(f"{bench:<22} {json.dumps(params)}{ratio}  {note}", flush=True)


def last_line(text):
    return next((line for line in reversed(text.strip().splitlines()) if line), "nothing was said")


def measure(peer, size, steps, arguments, results, left):
    library, script, method = peer
    bench, params = f"peer {library} {method}".replace("diffrax diffrax", "diffrax"), {"bytes": size, "steps": steps}
    command = [sys.executable, here / script, method, "--bytes", str(size), "--steps", str(steps), "--seconds",
               str(int(left() / 2) + 1)]
    given = left()
    # In a group of its own: compilers that a peer starts would keep its output open when it is ended.
    with subprocess.Popen(command + ["--cpu"] * arguments.small, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, start_new_session=True) as running:
        try:
            said, wrong = running.communicate(timeout=given)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return results.add(bench, params, note=f"skipped: not done after {given:.0f} s")
    if running.returncode != 0:
        return results.add(bench, params, note=f"failed: {last_line(wrong)}")
    told = json.loads(last_line(said))
    found = {"device_bytes": told["device_bytes"], "host_bytes": told["host_bytes"], "version": told["version"],
             "right_but_for_rounding": told["right"]}
    results.add(bench, params, told["samples"], told["pure"], found, told["right"])
    device_bytes = told["device_bytes"] or 8 * size  # without a device torch counts nothing
    equal = subprocess.run([arguments.program, "equal", "--steps", str(steps), "--bytes", str(size), "--device-bytes",
                            str(device_bytes), "--host-bytes", str(told["host_bytes"]), "--beside", bench, "--out",
                            arguments.out, "--commit", arguments.commit, "--seconds", str(int(left()))],
                           capture_output=True, text=True)
    print(equal.stdout, end="", flush=True)
    if equal.returncode != 0 and not equal.stdout:
        results.add("peer cairn", {**params, "device_bytes": device_bytes, "beside": bench},
                    note=f"failed: {last_line(equal.stderr)}")
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    head = subprocess.run([arguments.program, "head", "--commit", arguments.commit], check=True, capture_output=True,
                          text=True).stdout
    results = Results(arguments.out, json.loads(head))
    size, lengths = (8192, [12]) if arguments.small else (64 << 20, [200, 1000])
    for steps in lengths:
        for peer in peers:
            needed = [peer[0], *(["jax"] if peer[0] == "diffrax" else [])]
            missing = [name for name in needed if importlib.util.find_spec(name) is None]
            note = "skipped: no time left" if end - time.monotonic() < 5 else ""
            if missing:
                note = f"skipped: no {' and no '.join(missing)} here"
            if note:
                results.add(f"peer {peer[0]} {peer[2]}".replace("diffrax diffrax", "diffrax"),
                            {"bytes": size, "steps": steps}, note=note)
            else:
                measure(peer, size, steps, arguments, results, lambda: end - time.monotonic())
    return 0


if __name__ == "__main__":
    sys.exit(main())
