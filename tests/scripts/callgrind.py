# SPDX-License-Identifier: Apache-2.0
"""Instructions counted by callgrind, for scripts beside it."""
import re
import subprocess


def instructions(program, *words, folder=None):
    """Of one sweep of a program whose last word is a number of sweeps, and what the sweeps answered. Start-up cancels.
    It runs in `folder`."""
    counted, answers = [], []
    for times in ("1", "3"):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), *words, times]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
        counted.append(int(re.search(r"Collected : (\d+)", done.stderr).group(1)))
        answers.append(done.stdout)
    return (counted[1] - counted[0]) / 2, answers
