#!/usr/bin/env python3
"""What each command of the program promises: exit codes, words, files."""
import json
import re
import resource
import shutil
import struct
import unittest
import zlib

import json_schema
import small_yaml
import support

COMMANDS = ["run", "wedge", "check", "explain", "describe", "info", "preview", "report"]
STATS_FIELDS = ["frame", "substep", "time", "dt", "objects", "solves", "tasks", "memory_bytes"]
OBJECT_FIELDS = ["particles", "mass", "volume", "momentum", "angular_momentum", "kinetic_energy", "potential_energy", "max_speed"]


def example_setups(pattern="*.yaml"):
    """Setups to run stand in the folder itself, those to include below it."""
    return sorted((support.REPOSITORY / "setups").glob(pattern))


def png_size(data):
    """Width and height of a PNG; fails on anything else or a picture of one colour."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    at, pixels, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], kind
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            pixels += body
        at += 12 + length
    assert len(set(zlib.decompress(pixels))) > 8, "the picture is empty"
    return size


class Words(support.AegirTest):
    def test_help_everywhere_with_an_example(self):
        text = self.aegir("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, text)
            self.assertRegex(self.aegir(command, "--help").stdout, r"Examples?:\s+aegir " + command)
        self.assertRegex(self.aegir("--version").stdout, r"^aegir \d+\.\d+")

    def test_wrong_words_end_with_2(self):
        self.write("rain.yaml", support.rain())
        wrong = [[], ["fly"], ["run"], ["check"], ["explain"], ["info"], ["preview"], ["run", "rain.yaml", "more.yaml"], ["run", "rain.yaml", "--fast"],
                 ["run", "rain.yaml", "--frames", "5"], ["run", "rain.yaml", "--frames", "8:1"], ["run", "rain.yaml", "--frames", "a:b"],
                 ["run", "rain.yaml", "--frames", "-5:3"], ["run", "rain.yaml", "--frames", "1:99999999999"],
                 ["run", "rain.yaml", "--threads", "0"], ["run", "rain.yaml", "--threads", "-2"], ["run", "rain.yaml", "--threads", "many"],
                 ["run", "rain.yaml", "--progress", "loud"], ["run", "rain.yaml", "--resume=x"], ["run", "rain.yaml", "--resume=3"],
                 ["run", "rain.yaml", "--checkpoint-every", "3 m"], ["run", "rain.yaml", "--checkpoint-every", "-1"],
                 ["run", "rain.yaml", "--set"], ["describe", "gravty"],
                 ["preview", "nowhere"], ["report"], ["report", "nowhere"], ["report", "rain.yaml"], ["report", "."],
                 ["preview", ".", "--size", "big"], ["preview", ".", "--size", "0x0"], ["run", "rain.yaml", "-o", "rain.yaml"]]
        for words in wrong:
            with self.subTest(words=words):
                done = self.aegir(*words, code=2)
                self.assertTrue(done.stderr.strip())
                self.assertEqual([p.name for p in self.folder.iterdir()], ["rain.yaml"], "something was written")

    def test_a_misspelt_type_is_suggested(self):
        self.assertIn("did you mean 'gravity'", self.aegir("describe", "gravty", code=2).stderr)


class Looking(support.AegirTest):
    """check, explain and describe: they write nothing."""

    def tearDown(self):
        self.assertFalse(self.out.exists())
        self.assertFalse((self.folder / "runs").exists())

    def test_check(self):
        setup = support.write_storm(self)
        text = self.aegir("check", setup).stdout
        self.assertRegex(text, r"^ok .*storm\.yaml: 2 inputs, 1 group, \d+ behaviors, 1 output")
        self.write("rain.yaml", support.rain().replace("spread: 1", "spraed: 1").replace("10 cm", "10 kg", 1))
        done = self.aegir("check", "rain.yaml", code=2)
        self.assertIn("rain.yaml:7:17: 'voxel_size': '10 kg' is a mass (kg), but a length (m) is expected", done.stderr)
        self.assertIn("rain.yaml:13:5: 'spraed' is not a parameter of 'emitter'; did you mean 'spread'?", done.stderr)

    def test_json_setups_are_read(self):
        setup = self.write("rain.json", json.dumps(small_yaml.load(support.rain())))
        self.assertIn("ok", self.aegir("check", setup).stdout)

    def test_explain_lists_stages_tasks_and_channels(self):
        setup = support.write_storm(self)
        text = self.aegir("explain", setup).stdout
        for word in ["stage", "task", "reads", "writes", "emit", "substep", "rain/drops", "dust", "ground", "paddle", "evaporate", "gust", "earth"]:
            self.assertIn(word, text)
        row = next(line for line in text.splitlines() if "remove old of rain/drops" in line)
        self.assertIn("rain/evaporate", row)
        stages = ["emit", "remove", "output"]
        places = [re.search(rf"^  {stage}\b", text, re.M) for stage in stages]
        self.assertTrue(all(places), text)
        self.assertEqual(sorted(places, key=lambda m: m.start()), places, "stages are not in the order in which they run")

    def test_explain_says_what_is_off_and_why(self):
        self.write("rain.yaml", support.rain().replace("outputs:", """  - group: nothing
    behaviors:
      - gravity: moon
      - lifespan: short
  - group: later
    enabled: false
    behaviors:
      - particles: snow
  - air_drag: air
    enabled: false
outputs:"""))
        text = self.aegir("explain", "rain.yaml").stdout
        self.assertRegex(text, r"nothing/moon\s+gravity\s+no Object")
        self.assertRegex(text, r"nothing/short\s+lifespan\s+no Object")
        self.assertRegex(text, r"later/snow\s+particles\s+group 'later' is disabled")
        self.assertRegex(text, r"\bair\s+air_drag\s+disabled")
        check = self.aegir("check", "rain.yaml").stdout
        for path in ["nothing/moon", "nothing/short", "later/snow", "air "]:
            self.assertIn("off       " + path, check)
        # What is off needs nobody else: the rest works, and everything may be off.
        self.assertIn("4 off", self.aegir("run", "rain.yaml", "--no-output").stdout)
        self.aegir("check", "rain.yaml", "--set", "drops.enabled=false")

    def test_motion_of_an_input_is_never_ignored_in_silence(self):
        """A file without motion, or motion that this version cannot read, is an error or at least a warning."""
        self.write("block.ply", support.box_ply((1, 1, 1)))
        for motion in ["rigid", "deforming"]:
            with self.subTest(motion=motion):
                self.write("moving.yaml", f"aegir: 1\ninputs: {{m: {{file: block.ply, motion: {motion}}}}}\n"
                                          "setup:\n- particles: p\n- collider: c\n  input: m\n")
                self.assertIn("moving.yaml:", self.aegir("check", "moving.yaml", code=None).stderr)

    def test_describe(self):
        text = self.aegir("describe").stdout
        catalog = json.loads(self.aegir("describe", "--json").stdout)
        self.assertGreater(len(catalog["types"]), 9)
        for type_ in catalog["types"]:
            self.assertIn(type_["name"], text)
            page = self.aegir("describe", type_["name"]).stdout if type_["name"] in ("emitter", "collider", "points") else ""
            for field in type_["fields"]:
                self.assertTrue(field["doc"], f"{type_['name']}.{field['name']} has no description")
                if page:
                    self.assertIn(field["name"], page)
        types = {t["name"] for t in catalog["types"]}
        for type_ in catalog["types"]:
            self.assertFalse({f["name"] for f in type_["fields"]} & types, "a parameter is called like a type")
        for section in ["timeline", "scene", "inputs"]:
            self.assertTrue(self.aegir("describe", section).stdout)

    def test_schema_accepts_setups(self):
        schema = json.loads(self.aegir("describe", "--schema").stdout)
        documents = {path.name: path.read_text() for path in example_setups("**/*.yaml")}
        documents["rain"] = support.rain(first=-12)
        documents["documented"] = support.rain().replace("setup:", "doc: a fountain\nsetup:", 1)
        documents["storm"] = support.write_storm(self).read_text()
        for name, text in documents.items():
            with self.subTest(setup=name):
                self.assertEqual(json_schema.problems(small_yaml.load(text), schema), [])

    def test_schema_refuses_what_the_program_refuses(self):
        schema = json.loads(self.aegir("describe", "--schema").stdout)
        for what, instead in [("spread: 1", "spraed: 1"), ("count: 100", "count: -1"), ("gravity: earth", "gravty: earth"), ("aegir: 1", "aegir: 2"),
                              ("kind: sphere", "kind: ball"), ("velocity: [0, 5, 1]", "velocity: [0, 5]"), ("points: cache", "gravity: cache"),
                              ("setup:", "setups:"), ("substeps: 3", "substeps: {mx: 3}"), ("count: 100", "count: 1.5")]:
            with self.subTest(change=instead):
                text = support.rain().replace(what, instead)
                self.assertNotEqual(json_schema.problems(small_yaml.load(text), schema), [])
                self.write("wrong.yaml", text)
                self.aegir("check", "wrong.yaml", code=2)

    def test_examples_are_right(self):
        for path in example_setups():
            with self.subTest(setup=path.name):
                self.aegir("check", path)
                self.aegir("explain", path)

    def test_types_to_come_are_named(self):
        shutil.copy(support.REPOSITORY / "tests/cli/whole_language.yaml", self.folder)
        announced = {t["name"]: t["what"] for t in json.loads(self.aegir("describe", "--json").stdout)["announced"]}
        lines = (self.folder / "whole_language.yaml").read_text().splitlines()
        for command in ["check", "explain"]:
            done = self.aegir(command, "whole_language.yaml", code=2)
            named = 0
            for number, line in enumerate(lines, 1):
                start = re.match(r"( *- )(\w+):", line)
                if start and start.group(2) in announced:
                    type_ = start.group(2)
                    self.assertIn(f"whole_language.yaml:{number}:{len(start.group(1)) + 1}: '{type_}' ({announced[type_]}) is not part of this version yet", done.stderr)
                    named += 1
            self.assertEqual(done.stderr.count("not part of this version yet"), named)
            self.assertIn("whole_language.yaml:10:14: 'lib/house_water.yaml' cannot be included", done.stderr)


class Running(support.AegirTest):
    def test_files_and_stats(self):
        setup = support.write_storm(self, last=4, count=2000, rate=2000)
        done = self.run_setup(setup)
        for word in ["aegir ", "storm.yaml", "checked", "forecast", "4/4", "done", "open"]:
            self.assertIn(word, done.stdout)
        self.assertEqual(self.frames(self.out), [f"{where}.points.{f:04d}.vdb" for where in ("dust/dust", "rain/drops/drops") for f in range(1, 5)])
        self.assertEqual(sorted(p.name for p in self.out.iterdir()), ["checkpoints", "dust", "rain", "report.html", "run.json", "stats.jsonl"])
        record = json.loads((self.out / "run.json").read_text())
        self.assertIn("emitter", record["setup"]["text"])
        self.assertTrue(record["setup"]["hash"])
        self.check_stats(["rain/drops", "dust"])

    def check_stats(self, objects):
        lines = [json.loads(line) for line in (self.out / "stats.jsonl").read_text().splitlines()]
        time = -1.0
        for line in lines:
            self.assertEqual(list(line), STATS_FIELDS)
            self.assertEqual(sorted(line["objects"]), sorted(objects))
            for values in line["objects"].values():
                self.assertEqual(list(values), OBJECT_FIELDS)
                self.assertEqual((len(values["momentum"]), len(values["angular_momentum"])), (3, 3))
                self.assertIsInstance(values["particles"], int)
            for task in line["tasks"].values():
                self.assertEqual(list(task), ["seconds", "bytes", "cells"])
            for solve in line["solves"]:
                self.assertEqual(list(solve), ["name", "unknowns", "iterations", "residual", "seconds"])
            self.assertGreater(line["time"], time, "time does not increase")
            if line["dt"] > 0:
                self.assertAlmostEqual(line["time"] - time, line["dt"], places=12)
            time = line["time"]
            self.assertGreater(line["memory_bytes"], 0)
        self.assertEqual((lines[0]["time"], lines[0]["dt"], lines[0]["frame"]), (0, 0, 1))
        self.assertAlmostEqual(lines[-1]["time"], 3 / 24, places=12)
        return lines

    def test_names_of_frames(self):
        for first, last, names in [(-12, -10, ["-0012", "-0011", "-0010"]), (-1, 1, ["-0001", "0000", "0001"]), (9999, 10001, ["9999", "10000", "10001"])]:
            out = self.folder / f"from{first}"
            self.run_setup(self.write("rain.yaml", support.rain(first=first, last=last)), out=out)
            self.assertEqual(sorted(p.name for p in (out / "drops").iterdir()), sorted(f"drops.points.{name}.vdb" for name in names))

    def test_frames_are_inclusive_and_start_late(self):
        setup = self.write("rain.yaml", support.rain(first=1001, last=1010))
        self.run_setup(setup, out=self.folder / "whole")
        self.run_setup(setup, "--frames", "1003:1006")
        here, there = self.hashes(self.out), self.hashes(self.folder / "whole")
        self.assertEqual([self.frame_number(name) for name in here], [1003, 1004, 1005, 1006])
        self.assertEqual(here, {name: there[name] for name in here})

    def test_set_and_default_directory(self):
        self.write("rain.yaml", support.rain())
        self.aegir("run", "rain.yaml", "--set", "rate=0", "--set", "nozzle.count=7", "--set", "timeline.frames=[1, 2]", "--set", "drops.voxel_size=5cm")
        out = self.folder / "runs/rain"
        self.assertEqual(len(self.frames(out)), 2)
        self.assertEqual(self.stats(out)[-1]["objects"]["drops"]["particles"], 7)

    def test_paths_start_at_the_setup_file(self):
        support.write_storm(self, last=2, count=500, rate=500)
        self.aegir("run", "storm.yaml", "-o", "here")
        elsewhere = self.folder / "a/b"
        elsewhere.mkdir(parents=True)
        self.aegir("run", "../../storm.yaml", "-o", "there", cwd=elsewhere)
        self.assert_same_run(self.folder / "here", elsewhere / "there")
        lib = self.write("lib/house.yaml", "aegir: 1\ninputs: {block: geo/block.ply}\nsetup:\n- collider: block\n  input: block\n")
        shutil.copytree(self.folder / "geo", lib.parent / "geo")
        (lib.parent / "geo/paddle.ply").rename(lib.parent / "geo/block.ply")
        self.write("main.yaml", support.rain().replace("setup:\n", "setup:\n  - include: lib/house.yaml\n", 1))
        self.assertIn("1 input,", self.aegir("check", self.folder / "main.yaml", cwd=elsewhere).stdout)

    def test_nobody_listens(self):
        """A closed pipe ends what is said, not the run."""
        setup = self.write("rain.yaml", support.rain())
        process = self.start(setup)
        process.stdout.close()
        self.assertEqual(process.wait(support.PATIENCE), 0)
        process.stdout = None
        self.assertEqual(len(self.frames(self.out)), 8)

    def test_order_does_not_matter(self):
        """What happens follows from scope, not from the order in the file."""
        setup = self.write("rain.yaml", support.rain())
        document = small_yaml.load(setup.read_text())
        document["setup"].reverse()
        turned = self.write("turned.json", json.dumps(document))
        self.run_setup(setup)
        self.run_setup(turned, out=self.folder / "turned")
        self.assert_same_run(self.out, self.folder / "turned")

    def test_no_output_writes_nothing(self):
        self.write("rain.yaml", support.rain())
        self.aegir("run", "rain.yaml", "--no-output")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["rain.yaml"])

    def test_progress_styles(self):
        setup = self.write("rain.yaml", support.rain())
        say = lambda style: self.run_setup(setup, "--progress", style, out=self.folder / style).stdout
        plain = say("plain")
        self.assertEqual(re.findall(r"^ *(\d+)/8 ", plain, re.M), [str(f) for f in range(1, 9)])
        moving = "\x1b[K"  # what a line that is drawn again starts with
        self.assertNotIn(moving, plain)
        self.assertNotIn(moving, say("auto"))  # not a terminal
        self.assertIn(moving, say("bar"))
        alf = [int(n) for n in re.findall(r"^ALF_PROGRESS (\d+)%$", say("alf"), re.M)]
        openjd = [int(n) for n in re.findall(r"^openjd_progress: (\d+)$", say("openjd"), re.M)]
        for marks in (alf, openjd):
            self.assertEqual((len(marks), marks[-1], sorted(marks)), (8, 100, marks))
        events = [json.loads(line) for line in say("json").splitlines()]
        self.assertEqual([e["frame"] for e in events if e["event"] == "frame"], list(range(1, 9)))
        self.assertEqual((events[0]["event"], events[-1]["event"]), ("start", "done"))

    @unittest.skipIf(support.has_sanitizer(), "sanitizers need all addresses")
    def test_memory_that_is_not_there(self):
        gibibyte = 1 << 30
        setup = self.write("rain.yaml", support.rain(count=4000000000))
        done = self.run_setup(setup, code=5, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 * gibibyte, 8 * gibibyte)))
        self.assertIn("memory", done.stderr)
        self.assertEqual(self.frames(self.out), [])
        self.assert_tidy(self.out)
        self.run_setup(setup, "--set", "nozzle.count=10")

    def test_checkpoints_that_are_kept(self):
        setup = self.write("rain.yaml", support.rain(every="2", keep=2))
        self.run_setup(setup)
        self.assertEqual(self.checkpoints(self.out), ["0007", "0008"])
        self.run_setup(setup, "--checkpoint-every", "0", out=self.folder / "few")
        self.assertEqual(self.checkpoints(self.folder / "few"), ["0001", "0008"])


class Results(support.AegirTest):
    def setUp(self):
        super().setUp()
        self.setup_file = self.write("rain.yaml", support.rain(last=4))
        self.run_setup(self.setup_file)

    def test_info(self):
        text = self.aegir("info", "out").stdout
        for word in ["finished", "rain.yaml", "1–4", "checkpoint"]:
            self.assertIn(word, text)
        text = self.aegir("info", "out/drops/drops.points.0004.vdb").stdout
        for word in ["points", "v", "pscale", "id", "age", "drops"]:
            self.assertIn(word, text)
        count = self.stats(self.out)[-1]["objects"]["drops"]["particles"]
        self.assertIn(f"{count} points", text)
        text = self.aegir("info", "out/checkpoints/0004").stdout
        self.assertIn("frame 4", text)
        self.assertIn(f"drops: {count} particles", text)
        (self.out / "drops/drops.points.0002.vdb").unlink()
        self.assertIn("missing 2", self.aegir("info", "out").stdout)

    def test_hash_lines(self):
        files = self.frames(self.out)
        text = self.aegir("info", "--hash", *files, cwd=self.out).stdout
        for line, name in zip(text.splitlines(), files):
            self.assertRegex(line, "^[0-9a-f]{32}  " + re.escape(name) + "$")
        # Compression and metadata do not count.
        other = self.folder / "other"
        self.run_setup(self.setup_file, "--set", "outputs/cache.compression=none", out=other)
        self.assertNotEqual((other / files[-1]).read_bytes(), (self.out / files[-1]).read_bytes())
        self.assertEqual(self.hashes(self.out), self.hashes(other))

    def test_damaged_caches_are_refused(self):
        path = self.out / "drops/drops.points.0004.vdb"
        whole = path.read_bytes()
        half = len(whole) // 2
        flipped = whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1:]
        for damaged in [whole[:10], whole[:half], whole[:-1], flipped]:
            path.write_bytes(damaged)
            for words in [["info"], ["info", "--hash"], ["preview", "-o", "pictures"]]:
                done = self.aegir(*words, path, code=4)
                self.assertIn("damaged", done.stderr)
                self.assertIn(str(path), done.stderr)

    def test_a_moved_run_is_the_same_run(self):
        before = self.hashes(self.out)
        elsewhere = self.folder / "archive/shot 12"
        elsewhere.parent.mkdir()
        shutil.move(self.out, elsewhere)
        self.assertEqual(before, self.hashes(elsewhere))
        self.assertIn("finished", self.aegir("info", elsewhere).stdout)
        self.assertNotIn(str(self.out), (elsewhere / "stats.jsonl").read_text())
        self.run_setup(self.setup_file, "--resume", "--set", "timeline.frames=[1, 6]", out=elsewhere)
        self.run_setup(self.setup_file, "--set", "timeline.frames=[1, 6]")
        self.assert_same_run(self.out, elsewhere)

    def test_preview(self):
        done = self.aegir("preview", "out", "--size", "320x180", "--no-movie")
        pictures = sorted(p.name for p in (self.out / "preview").iterdir())
        self.assertEqual(pictures, ["contact_sheet.png"] + [f"preview.{f:04d}.png" for f in range(1, 5)])
        for name in pictures[1:]:
            data = (self.out / "preview" / name).read_bytes()
            self.assertEqual(png_size(data), (320, 180))
            self.assertTrue(1000 < len(data) < 320 * 180 * 4, len(data))
        png_size((self.out / "preview/contact_sheet.png").read_bytes())
        self.assertIn("4", done.stdout)
        self.aegir("preview", "out/drops/drops.points.0003.vdb", "-o", "pictures", "--size", "64x64")
        self.assertEqual(png_size((self.folder / "pictures/preview.0003.png").read_bytes()), (64, 64))
        self.aegir("preview", "out", "--frames", "2:3", "-o", "two", "--size", "64x64")
        self.assertEqual(len(list((self.folder / "two").glob("preview.*.png"))), 2)
        self.aegir("preview", "out", "--frames", "50:60", code=2)


if __name__ == "__main__":
    support.main()
