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
def served(folder, own):
    """The address of a server of a folder. `own` says what is answered instead: the last word of a path -> type and
    bytes."""
    class handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            kind, body = own.get(self.path.split("?")[0].rsplit("/", 1)[-1], (None, None))
            if body is None:
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    class patient(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):
            """A browser that goes on to the next page leaves answers half read."""

    with patient(("127.0.0.1", 0), functools.partial(handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
