#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that is killed and started again with the same --disk DIR ends with the bits of one that was not, and says
what it used of the first one.

    go_on.py FINISHED WHAT PROGRAM [WORD...]     kills it once FINISHED sweeps have ended and another one has written WHAT:
                                                 state or record
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

BITS = re.compile(r"^disk .* the bits of the (?:model|weights) (?:are )?([0-9a-f]{16})$", re.M)
LIMIT = 200  # seconds


def written_by(run):
    """The names of its files in which there is something; room for states begins with zeros."""
    return {path.name for path in run.iterdir() if path.read_bytes()[:1] not in (b"", b"\0")}


def bits_of(words):
    done = subprocess.run(words, text=True, capture_output=True, timeout=LIMIT)
    found = BITS.search(done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return found[1], done.stdout


def main():
    finished, what, words = int(sys.argv[1]), sys.argv[2], [os.path.abspath(sys.argv[3]), *sys.argv[4:]]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        undisturbed, _ = bits_of([*words, "--disk", "undisturbed.d"])
        first = subprocess.Popen([*words, "--disk", "killed.d"], stdout=subprocess.DEVNULL)
        until, late = time.monotonic() + LIMIT, False
        while True:
            if first.poll() is not None or time.monotonic() > until:
                sys.exit("it ended before it could be killed; it has to be larger")
            first.send_signal(signal.SIGSTOP)  # so that it is killed where it is seen
            os.waitpid(first.pid, os.WUNTRACED)
            runs = [written_by(run) for run in pathlib.Path("killed.d").glob("*")]
            going = [names for names in runs if any(name[0] == "s" for name in names)]
            if len(runs) - len(going) >= finished and going:
                if any(name[0] == what[0] for name in going[0]):
                    break
                if not late:  # a record is due after a second
                    time.sleep(1.2)
                    late = True
            first.send_signal(signal.SIGCONT)
            time.sleep(0.002)
        first.kill()
        first.wait()
        bits, said = bits_of([*words, "--disk", "killed.d"])
        if bits != undisturbed:
            sys.exit(f"killed and started again: {bits}, undisturbed: {undisturbed}\n{said}")
        if not re.search("gone on with, steps" if what == "record" else "gone on with, steps|states of an earlier", said):
            sys.exit(f"no {what} of the killed sweep was used:\n{said}")
        if finished > 0 and not re.search(r"finished by an earlier|had finished [1-9]", said):
            sys.exit("no finished sweep was used:\n" + said)
        print(said)


main()
