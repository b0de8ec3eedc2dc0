#!/usr/bin/env python3
"""The page of a run: written at the end of every run, true to stats.jsonl, whole in a browser, clear about what is missing."""
import base64
import html.parser
import json
import re
import shutil
import signal
import subprocess
import unittest

import support

CHROMIUM = next((p for p in map(shutil.which, ["chromium", "chromium-browser", "google-chrome"]) if p), None)

POOL = """aegir: 1
timeline: {frames: [1001, %(last)d], substeps: 2, checkpoint: {every: 2, keep: 3}}
setup:
  - gravity: earth
  - domain: pool
    box: {min: [0, 0, 0], max: [80 cm, 60 cm, 40 cm]}
    limits: {sides: wall, bottom: wall, top: open}
  - hybrid: water
    voxel_size: 5 cm
    fill: {below: 20 cm}
    velocity: [0.5, 0, 0]
  - pressure: incompressible
  - group: spray
    behaviors:
      - particles: drops
        voxel_size: 10 cm
      - emitter: nozzle
        shape: {kind: sphere, center: [0.4, 1, 0.2], radius: 10 cm}
        rate: 2000
        velocity: [0, 2, 0]
outputs:
  - points: cache
"""

LINE_PLOTS = ["volume", "volume_drift", "energy", "momentum", "particles", "mass", "max_speed", "time_step", "iterations", "memory"]
BAR_PLOTS = ["tasks", "substeps"]
NO_CONTENT = {"meta", "link", "img", "input", "br"}


class Page(html.parser.HTMLParser):
    """What a report holds, read as any program would read it; tags must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.text, self.open, self.charts, self.images, self.addresses = text, [], {}, [], []
        self.words = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        self.words = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in NO_CONTENT:
            self.open.append((tag, attributes))
        if tag == "figure" and "data-plot" in attributes:
            assert attributes["data-plot"] not in self.charts, "two plots of one name"
            self.charts[attributes["data-plot"]] = {"paths": [], "ticks": []}
        if tag == "img":
            self.images.append(attributes["src"])
        self.addresses += [v for k, v in attributes.items() if k in ("src", "href", "data", "action", "srcset")]
        if tag == "path" and self.chart() is not None and re.match("(line|bar) s", attributes.get("class", "")):
            self.chart()["paths"].append(attributes["d"])

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in NO_CONTENT:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> in {[t for t, _ in self.open]}"
        self.open.pop()

    def handle_data(self, data):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.chart().update(json.loads(data))
        elif tag == "text" and "tick" in attributes["class"]:
            self.chart()["ticks"].append(data)
        elif tag not in ("script", "style"):
            self.words.append(data)

    def chart(self):
        names = [a["data-plot"] for t, a in self.open if t == "figure" and "data-plot" in a]
        return self.charts[names[-1]] if names else None


def series(chart):
    return {s["name"]: list(zip(s["x"], s["y"])) for s in chart["series"]}


class ReportTest(support.AegirTest):
    def page(self, out=None):
        return Page(((out or self.out) / "report.html").read_text())

    def assert_near(self, found, expected, tolerance=2e-6):
        self.assertAlmostEqual(found, expected, delta=tolerance * max(1e-30, abs(expected), abs(found)))


class Contents(ReportTest):
    def setUp(self):
        super().setUp()
        self.setup_file = self.write("pool.yaml", POOL % {"last": 1006})
        self.done = self.run_setup(self.setup_file)
        self.lines = self.stats(self.out, times=True)

    def test_a_run_writes_its_page(self):
        self.assert_tidy(self.out)
        self.assertIn("report.html", self.done.stdout)
        page = self.page()
        self.assertEqual(sorted(page.charts), sorted(LINE_PLOTS + BAR_PLOTS))
        record = json.loads((self.out / "run.json").read_text())
        session = record["sessions"][0]
        for word in ["finished", "1001–1006", "pool.yaml", record["setup"]["hash"], session["host"], session["aegir"], session["cpu"],
                     "water:to grid", "spray/drops", "aegir preview"]:
            self.assertIn(word, page.words)
        for line in record["setup"]["text"].splitlines():
            self.assertIn(" ".join(line.split()).replace("- ", ""), re.sub(r" ?: ?", ": ", page.words).replace("- ", ""))
        self.assertGreater(session["seconds"], 0)
        self.assertGreater(session["peak_memory"], 0)

    def test_nothing_comes_from_outside(self):
        page = self.page()
        for address in page.addresses:
            self.assertRegex(address, "^data:")
        self.assertNotRegex(page.text, r"@import|url\(|fetch\(|XMLHttpRequest|\bimport\b")
        self.assertLess(len(page.text), 300000)

    def test_lines_show_the_statistics(self):
        charts = self.page().charts
        frame = lambda line: 1001 + 24 * line["time"]
        total = lambda line, key: sum(o[key] for o in line["objects"].values())
        expected = {
            ("volume", "water"): lambda l: l["objects"]["water"]["volume"],
            ("volume_drift", "water"): lambda l: 100 * l["objects"]["water"]["volume_drift"],
            ("energy", "kinetic"): lambda l: total(l, "kinetic_energy"),
            ("energy", "total"): lambda l: total(l, "kinetic_energy") + total(l, "potential_energy"),
            ("momentum", "y"): lambda l: sum(o["momentum"][1] for o in l["objects"].values()),
            ("particles", "spray/drops"): lambda l: l["objects"]["spray/drops"]["particles"],
            ("max_speed", "water"): lambda l: l["objects"]["water"]["max_speed"],
            ("iterations", "water pressure"): lambda l: sum(s["iterations"] for s in l["solves"]) if l["solves"] else None,
            ("memory", "memory"): lambda l: l["memory_bytes"],
        }
        for (plot, name), value in expected.items():
            with self.subTest(plot=plot, series=name):
                points = series(charts[plot])[name]
                self.assertEqual(len(points), len(self.lines))
                for (x, y), line in zip(points, self.lines):
                    self.assert_near(x, frame(line), 1e-7)
                    if value(line) is None:
                        self.assertIsNone(y)
                    else:
                        self.assert_near(y, value(line))

    def test_the_drawing_agrees_with_the_values(self):
        for name in LINE_PLOTS:
            chart = self.page().charts[name]
            left, top, width, height = chart["box"]
            self.assertGreaterEqual(len(chart["ticks"]), 4)
            for s, d in zip(chart["series"], chart["paths"], strict=True):
                drawn = [tuple(map(float, p.split())) for p in re.findall(r"[ML]([-\d.]+ [-\d.]+)", d)]
                known = [(x, y) for x, y in zip(s["x"], s["y"]) if y is not None]
                self.assertEqual(len(drawn), len(known))
                for (px, py), (x, y) in zip(drawn, known):
                    self.assertAlmostEqual(px, left + width * (x - chart["x"][0]) / (chart["x"][1] - chart["x"][0]), delta=0.06)
                    self.assertAlmostEqual(py, top + height * (chart["y"][1] - y) / (chart["y"][1] - chart["y"][0]), delta=0.06)
                    self.assertTrue(left <= px <= left + width and top <= py <= top + height, (name, px, py))

    def test_bars_show_the_statistics(self):
        charts = self.page().charts
        frames = sorted({line["frame"] for line in self.lines})
        substeps = [sum(line["frame"] == f and line["dt"] > 0 for line in self.lines) for f in frames]
        self.assertEqual(series(charts["substeps"])["substeps"], list(zip(frames, substeps)))
        work = {}
        for line in self.lines:
            for task, cost in line["tasks"].items():
                work.setdefault(task, dict.fromkeys(frames, 0.0))[line["frame"]] += cost["seconds"]
        shown = series(charts["tasks"])
        for name, points in shown.items():
            if not re.fullmatch(r"\d+ others", name):
                for frame, seconds in points:
                    self.assert_near(seconds, work[name][frame], 1e-5)
        totals = [sum(points[i][1] for points in shown.values()) for i in range(len(frames))]
        for frame, seconds in zip(frames, totals):
            self.assert_near(seconds, sum(w[frame] for w in work.values()), 1e-5)
        biggest = max(work, key=lambda t: sum(work[t].values()))
        self.assertEqual(charts["tasks"]["series"][0]["name"], biggest)

    def test_pictures_that_are_there(self):
        self.assertIn("aegir preview", self.page().words)
        self.aegir("preview", "out", "--size", "160x90")
        done = self.aegir("report", "out")
        self.assertIn("7 pictures", done.stdout)
        page = self.page()
        files = {p.read_bytes() for p in (self.out / "preview").glob("*.png")}
        self.assertEqual({base64.b64decode(i.removeprefix("data:image/png;base64,")) for i in page.images}, files)
        (self.out / "preview/preview.1003.png").write_bytes(b"torn")
        self.aegir("report", "out")
        self.assertEqual(len(self.page().images), 6)
        self.assertIn("One file is left out", self.page().words)

    def test_the_same_run_gives_the_same_page(self):
        before = (self.out / "report.html").read_bytes()
        done = self.aegir("report", "out")
        self.assertRegex(done.stdout, r"^report +out/report\.html · 6 frames, 10 substeps, 12 plots, 0 pictures\n$")
        self.assertEqual((self.out / "report.html").read_bytes(), before)
        self.aegir("report", "out", "-o", "elsewhere.html")
        self.assertEqual((self.folder / "elsewhere.html").read_bytes(), before)

    def test_damaged_statistics(self):
        stats = self.out / "stats.jsonl"
        lines = stats.read_bytes().splitlines(keepends=True)
        stats.write_bytes(b"".join([*lines[:3], b"\x00\xff garbage\n", lines[3][:50] + b"\n", *lines[4:7], b"{}\n", *lines[7:-1], lines[-1][:80]]))
        done = self.aegir("report", "out")
        said = "3 lines of stats.jsonl are damaged and left out; the first is line 4"
        self.assertIn(said, done.stderr)
        page = self.page()
        self.assertIn(said, page.words)
        self.assertEqual(len(series(page.charts["energy"])["kinetic"]), len(lines) - 2)

    def test_no_record(self):
        for content in [None, b"", b"{\"setup\": 3}", b"\xff\xfe"]:
            (self.out / "run.json").unlink(missing_ok=True)
            if content is not None:
                (self.out / "run.json").write_bytes(content)
            done = self.aegir("report", "out")
            self.assertIn("run.json is missing or damaged", done.stderr)
            page = self.page()
            self.assertIn("run.json is missing or damaged", page.words)
            points = series(page.charts["energy"])["kinetic"]
            self.assert_near(points[-1][0], 1006, 1e-6)

    def test_nothing_recorded_yet(self):
        (self.out / "stats.jsonl").write_bytes(b"")
        done = self.aegir("report", "out")
        self.assertIn("nothing to plot", done.stderr)
        self.assertIn("nothing to plot", self.page().words)
        self.assertEqual(self.page().charts, {})
        (self.out / "stats.jsonl").unlink()
        self.aegir("report", "out")

    def test_what_cannot_be_written(self):
        done = self.aegir("report", "out", "-o", "nowhere/report.html", code=4)
        self.assertIn("nowhere", done.stderr)
        (self.out / "stats.jsonl").unlink()
        (self.out / "stats.jsonl").mkdir()
        before = (self.out / "report.html").read_bytes()
        self.assertIn("stats.jsonl", self.aegir("report", "out", code=4).stderr)
        self.assertEqual((self.out / "report.html").read_bytes(), before)
        self.assertEqual(self.leftovers(self.out), [])

    def test_names_are_only_names(self):
        strange = self.folder / "<script>alert('1')&amp;"
        self.out.rename(strange)
        record = json.loads((strange / "run.json").read_text())
        record["setup"]["text"] += "# </pre><script>alert(2)</script>\n"
        (strange / "run.json").write_text(json.dumps(record))
        (strange / "stats.jsonl").write_text((strange / "stats.jsonl").read_text().replace('"water"', '"</script><b>water"'))
        self.aegir("report", strange)
        page = self.page(strange)
        self.assertIn("</script><b>water", series(page.charts["volume"]))
        self.assertIn(strange.name, page.words)
        self.assertIn("# </pre><script>alert(2)</script>", page.words)
        self.assertEqual(page.text.count("<script>"), 1)

    def test_no_run_directory(self):
        (self.folder / "empty").mkdir()
        for words, reason in [(["report", "nowhere"], "does not exist"), (["report", self.setup_file], "is a file"),
                              (["report", "empty"], "neither run.json nor stats.jsonl"), (["report"], "RUN_DIR"), (["report", "out", "more"], "more")]:
            with self.subTest(words=words):
                self.assertIn(reason, self.aegir(*words, code=2).stderr)
        self.assertEqual(list((self.folder / "empty").iterdir()), [])


class Endings(ReportTest):
    """However a run ends, its page says how."""

    def test_stopped_and_resumed(self):
        setup = self.write("rain.yaml", support.rain(last=4000, rate=30, every="1000"))
        process = self.start(setup)
        stats = self.out / "stats.jsonl"
        self.wait_until(process, lambda: stats.exists() and stats.read_bytes().count(b"\n") > 30, "some substeps")
        process.send_signal(signal.SIGTERM)
        self.finish(process, 128 + signal.SIGTERM)
        page = self.page()
        self.assertRegex(page.words, r"stopped .*goes on from its newest checkpoint with --resume")
        last = self.stats(self.out)[-1]["frame"] + 3
        self.run_setup(setup, "--resume", "--frames", f"1:{last}")
        page = self.page()
        self.assertIn(f"1–{last}", page.words)
        self.assertRegex(page.words, r"start .* stopped .* checkpoint \d+(\.\d+)? .* finished")
        points = series(page.charts["particles"])["drops"]
        self.assert_near(points[-1][0], last, 1e-6)
        self.assertEqual(points[-1][1], self.stats(self.out)[-1]["objects"]["drops"]["particles"])
        self.assertEqual([x for x, _ in points], sorted(x for x, _ in points))
        self.assert_tidy(self.out)

    def test_killed(self):
        setup = self.write("rain.yaml", support.rain(last=100000, rate=30, every="1000"))
        process = self.start(setup)
        stats = self.out / "stats.jsonl"
        self.wait_until(process, lambda: stats.exists() and stats.read_bytes().count(b"\n") > 30, "some substeps")
        self.assertIn("running", self.aegir("report", "out").stdout + self.page().words)
        self.assertIn("is at work", self.page().words)
        process.kill()
        process.wait()
        self.aegir("report", "out")
        self.assertIn("ended without a word", self.page().words)

    def test_failed(self):
        text = support.rain(last=12) .replace("  - particles: drops", "  - gravity: jolt\n    acceleration: {keys: {1: [0, 0, 0], 6: [0, -1e39, 0]}, "
                                              "interpolation: step}\n  - particles: drops")
        done = self.run_setup(self.write("rain.yaml", text), code=3)
        reason = re.search(r"aegir: (object 'drops'.*?frame \d+)", done.stderr).group(1)
        page = self.page()
        self.assertIn(reason, page.words)
        self.assertRegex(page.words, "failed .*once the cause is removed")
        self.assertIn("energy", page.charts)

    def test_warnings(self):
        text = (POOL % {"last": 1002}).replace("setup:\n", "expose: {unused: 3}\nsetup:\n", 1).replace("below: 20 cm", "below: -20 cm")
        done = self.run_setup(self.write("pool.yaml", text))
        self.assertIn("holds no liquid", done.stdout)
        page = self.page()
        self.assertRegex(page.words, "warning setup .*pool.yaml:.*'unused' is exposed, but nothing uses it")
        self.assertRegex(page.words, "warning frame 1001 'water': its 'fill' holds no liquid")
        warnings = json.loads((self.out / "run.json").read_text())["sessions"][0]["warnings"]
        self.assertEqual([w.get("frame") for w in warnings], [None, 1001])

    def test_no_output_no_page(self):
        self.run_setup(self.write("rain.yaml", support.rain(last=2)), "--no-output")
        self.assertFalse(self.out.exists())

    @unittest.skipUnless(support.has_mpirun(), "mpirun is not installed")
    def test_several_ranks_write_one_page(self):
        self.run_setup(self.write("rain.yaml", support.rain(last=3)), ranks=2)
        page = self.page()
        self.assertIn("2 ranks", page.words)
        self.assert_tidy(self.out)


class LongRuns(ReportTest):
    def write_statistics(self, frames):
        self.out.mkdir(exist_ok=True)
        with open(self.out / "stats.jsonl", "w") as file:
            for i in range(frames):
                energy = 1e6 if i == frames // 3 else 10 + i % 7
                water = {"particles": 1000, "mass": 1.0, "volume": 1e-3, "momentum": [0, 0, 0], "kinetic_energy": energy, "potential_energy": 1.0, "max_speed": 2.0}
                file.write(json.dumps({"frame": 1 + i, "substep": 0, "time": i / 24, "dt": 1 / 24 if i else 0, "objects": {"water": water},
                                       "solves": [], "tasks": {"a": {"seconds": 0.25, "bytes": 0}}, "memory_bytes": 5}) + "\n")

    def test_the_page_stays_small_and_keeps_its_peaks(self):
        sizes = []
        for frames in [3000, 30000]:
            self.write_statistics(frames)
            self.aegir("report", "out")
            page = self.page()
            kinetic = dict(series(page.charts["energy"])["kinetic"])
            self.assertEqual(max(kinetic.values()), 1e6)
            self.assert_near(max(kinetic, key=kinetic.get), 1 + frames // 3, 1e-6)
            seconds = series(page.charts["tasks"])["a"]
            self.assertTrue(all(abs(s - 0.25) < 1e-9 for _, s in seconds))
            self.assertLess(len(seconds), 700)
            sizes.append(len(page.text))
        self.assertLess(sizes[1], 1.3 * sizes[0])
        self.assertLess(sizes[1], 800000)


PROBE = """<script>
addEventListener('load', () => {
  const seen = {};
  for (const figure of document.querySelectorAll('figure.chart')) {
    const svg = figure.querySelector('svg'), box = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll('.line, .bar')].map(p => p.getBBox());
    const stroke = getComputedStyle(svg.querySelector('.line, .bar'));
    svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + 0.6 * box.width, clientY: box.top + 50, bubbles: true}));
    const tip = figure.querySelector('.tip');
    seen[figure.dataset.plot] = {width: box.width, height: box.height, drawn: Math.max(...drawn.map(b => b.width)),
      colour: figure.querySelector('.bar') ? stroke.fill : stroke.stroke, tip: tip.hidden ? '' : tip.textContent,
      tip_inside: tip.getBoundingClientRect().right <= innerWidth};
    svg.dispatchEvent(new PointerEvent('pointerleave'));
    seen[figure.dataset.plot].hidden = tip.hidden;
  }
  const slider = document.querySelector('.flip input'), shown = () => [...document.querySelectorAll('.flip img')].filter(p => p.offsetWidth > 0).map(p => p.alt);
  const flips = [];
  if (slider) for (const place of [0, 2]) { slider.value = place; slider.dispatchEvent(new Event('input')); flips.push(shown()); }
  const result = {charts: seen, flips, images: [...document.images].map(i => i.naturalWidth), background: getComputedStyle(document.body).backgroundColor,
    ready: document.documentElement.dataset.charts, too_wide: document.documentElement.scrollWidth > innerWidth};
  const place = document.createElement('script');
  place.id = 'result'; place.type = 'text/plain'; place.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(result))));
  document.body.append(place);
});
</script></body>"""


@unittest.skipUnless(CHROMIUM, "chromium is not installed (packages-long.txt): the page is not looked at in a browser")
class Browser(ReportTest):
    def look(self, text, *flags):
        """Opens a page; what its console says, and the document afterwards."""
        path = self.write("looked_at.html", text)
        done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self.folder}/profile",
                               "--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", *flags, path.as_uri()],
                              capture_output=True, text=True, errors="replace", timeout=support.PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return [line for line in done.stderr.splitlines() if ":CONSOLE" in line], done.stdout

    def probe(self, *flags):
        console, document = self.look((self.out / "report.html").read_text().replace("</body>", PROBE), *flags)
        self.assertEqual(console, [])
        found = re.search(r'<script id="result" type="text/plain">([^<]*)</script>', document)
        self.assertTrue(found, document[-2000:])
        return json.loads(base64.b64decode(found.group(1)))

    def test_errors_would_be_seen(self):
        for wrong in ["<script>nothing.here;</script>", "<script>console.error('x');</script>"]:
            self.assertNotEqual(self.look("<html><body>" + wrong + "</body></html>")[0], [])
        policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
        self.assertNotEqual(self.look(f"<html><head>{policy}</head><body><img src='https://example.invalid/a.png'></body></html>")[0], [])

    def test_everything_is_shown_and_nothing_goes_wrong(self):
        self.run_setup(self.write("pool.yaml", POOL % {"last": 1006}))
        self.aegir("preview", "out", "--size", "160x90")
        self.aegir("report", "out")
        result = self.probe("--window-size=1400,900")
        self.assertEqual(sorted(result["charts"]), sorted(LINE_PLOTS + BAR_PLOTS))
        self.assertEqual(int(result["ready"]), len(LINE_PLOTS + BAR_PLOTS))
        for name, chart in result["charts"].items():
            with self.subTest(plot=name):
                self.assertGreater(chart["width"], 400)
                self.assertGreater(chart["height"], 150)
                self.assertGreater(chart["drawn"], 300)
                self.assertRegex(chart["colour"], r"^rgb\((?!0, 0, 0\))")
                self.assertRegex(chart["tip"], r"^frame\d+")
                self.assertTrue(chart["tip_inside"] and chart["hidden"])
        self.assertIn("water pressure", result["charts"]["iterations"]["tip"])
        self.assertEqual(result["flips"], [["frame 1001"], ["frame 1003"]])
        self.assertEqual(len(result["images"]), 7)
        self.assertTrue(all(width > 100 for width in result["images"]))
        self.assertFalse(result["too_wide"])
        dark = self.probe("--blink-settings=preferredColorScheme=0", "--window-size=600,900")
        brightness = lambda r: sum(map(int, re.findall(r"\d+", r["background"])))
        self.assertLess(brightness(dark), 150)
        self.assertGreater(brightness(result), 600)
        self.assertFalse(dark["too_wide"])

    def test_a_page_without_plots(self):
        self.run_setup(self.write("rain.yaml", support.rain(last=2)))
        (self.out / "stats.jsonl").write_bytes(b"")
        self.aegir("report", "out")
        self.assertEqual(self.probe()["charts"], {})


if __name__ == "__main__":
    support.main()
