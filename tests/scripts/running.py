# SPDX-License-Identifier: Apache-2.0
"""What scripts share that run programs."""
import contextlib
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def skip(why):
    print(f"cairn: skipped: {why}")
    sys.exit(77)


def needed(*names, package):
    """The path of a program under one of its names; without it the check is skipped."""
    found = next((path for path in map(shutil.which, names) if path), None)
    return found or skip(f"no {os.path.basename(names[0])} (Debian: {package})")


def told(*command, **more):
    """The exit status of a command, and all that it prints."""
    more = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | more
    done = subprocess.run([str(word) for word in command], **more)
    return done.returncode, done.stdout


def instructions(program, *words, folder):
    """Instructions that callgrind counts of one sweep of a program whose last word is a number of sweeps, and what the
    sweeps answered. Start-up cancels. It runs in `folder`."""
    counted, answers = [], []
    for times in ("1", "3"):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *words, times]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
        counted.append(int(re.search(r"Collected : (\d+)", done.stderr).group(1)))
        answers.append(done.stdout)
    return (counted[1] - counted[0]) / 2, answers


@contextlib.contextmanager
def served(folder):
    """The address of a server of a folder."""
    class quiet(http.server.SimpleHTTPRequestHandler):
        log_message = staticmethod(lambda *_: None)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=folder)) as server:
        server.handle_error = lambda *_: None  # a browser that goes on to the next page leaves answers half read
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
