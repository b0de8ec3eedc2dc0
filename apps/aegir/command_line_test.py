#!/usr/bin/env python3
"""What the program promises on the command line: exit codes, signals, resume, lock, full disks, ranks.

    command_line_test.py PATH_TO_AEGIR [unittest arguments]
"""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

AEGIR = os.path.abspath(sys.argv.pop(1))

RAIN = """aegir: 1
timeline: {frames: [%d, %d], substeps: 3, checkpoint: {every: %s, keep: 3}}
expose: {rate: %d}
setup:
  - gravity: earth
  - particles: drops
    voxel_size: 10 cm
  - emitter: nozzle
    shape: {kind: sphere, center: [0, 1, 0], radius: 10 cm}
    count: 100
    rate: ${rate}
    velocity: [0, 5, 1]
    spread: 1
outputs:
  - points: cache
"""

DAM = """aegir: 1
timeline: {frames: [1, 2]}
setup:
  - gravity: earth
  - domain: box
    box: {min: [0, 0, 0], max: [0.8, 0.4, 0.4]}
  - hybrid: water
    voxel_size: 5 cm
    fill: {shape: {kind: box, center: [0.2, 0.15, 0.2], size: [0.4, 0.3, 0.4]}}
  - pressure: incompressible
  - collider: post
    shape: {kind: box, center: [0.6, 0.1, 0.2], size: [0.1, 0.2, 0.1]}
outputs:
  - points: cache
  - volumes: fields
  - surface: skin
    mesh: ply
"""


def setup_text(first=1, last=8, every="2", rate=3000):
    return RAIN % (first, last, every, rate)


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="aegir_cli_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.setup_file = self.folder / "rain.yaml"
        self.setup_file.write_text(setup_text())
        self.out = self.folder / "out"

    def aegir(self, *words, **options):
        return subprocess.run([AEGIR, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300, **options)

    def run_setup(self, *words, out=None, **options):
        return self.aegir("run", self.setup_file, "-o", out or self.out, *words, **options)

    def start(self, *words, out=None):
        return subprocess.Popen([AEGIR, "run", str(self.setup_file), "-o", str(out or self.out), *map(str, words)],
                                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_frame(self, process, frame):
        deadline = time.time() + 120
        while time.time() < deadline:
            if (self.out / "drops" / f"drops.points.{frame:04d}.vdb").exists():
                return
            if process.poll() is not None:
                self.fail("the run ended early: " + "".join(process.communicate()))
            time.sleep(0.01)
        self.fail(f"frame {frame} did not come")

    def hashes(self, out):
        files = sorted(str(p.relative_to(out)) for p in out.glob("**/*.vdb"))
        self.assertTrue(files)
        done = subprocess.run([AEGIR, "info", "--hash", *files], cwd=out, capture_output=True, text=True, check=True)
        return done.stdout

    def stats(self, out):
        lines = [json.loads(line) for line in (out / "stats.jsonl").read_text().splitlines()]
        return [(d["frame"], d["substep"], d["time"], d["dt"], d["objects"]) for d in lines]

    def leftovers(self, out):
        return [str(p) for p in out.glob("**/.*") if ".tmp" in p.name]

    def same(self, one, other):
        self.assertEqual(self.hashes(one), self.hashes(other))
        self.assertEqual(self.stats(one), self.stats(other))

    # ---- words ----

    def test_help_and_version(self):
        self.assertEqual(self.aegir("--version").stdout.split()[0], "aegir")
        for command in ["run", "wedge", "check", "explain", "describe", "info", "preview"]:
            done = self.aegir(command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example", done.stdout)

    def test_wrong_words_end_with_2(self):
        for words in [[], ["fly"], ["run"], ["run", "rain.yaml", "--frames", "5"], ["run", "rain.yaml", "--threads", "0"],
                      ["run", "rain.yaml", "--progress", "loud"], ["run", "rain.yaml", "--resume=x"], ["info"], ["info", "."], ["info", "--hash", "."],
                      ["run", "rain.yaml", "--checkpoint-every", "3 m"], ["describe", "gravty"], ["run", "nowhere.yaml"],
                      ["preview", "out", "--size", "big"], ["run", "rain.yaml", "--set", "nonsense=1"]]:
            done = self.aegir(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertTrue(done.stderr, words)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["rain.yaml"])

    def test_info_of_what_is_missing_or_damaged_ends_with_4(self):
        (self.folder / "empty.vdb").touch()
        for path in ["nowhere", "nowhere.vdb", "empty.vdb"]:
            for words in [["info"], ["info", "--hash"]]:
                done = self.aegir(*words, path)
                self.assertEqual(done.returncode, 4, done.stdout)
                self.assertIn(path, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_wrong_setup_is_located_and_writes_nothing(self):
        self.setup_file.write_text(setup_text().replace("rate: ${rate}", "raet: 3").replace("10 cm", "10 kg", 1))
        for command in ["run", "check", "explain"]:
            done = self.aegir(command, "rain.yaml")
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"rain\.yaml:\d+:\d+: .*raet.*rate")
            self.assertIn("2 errors", done.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["rain.yaml"])

    def test_check_explain_describe_info(self):
        self.assertRegex(self.aegir("check", "rain.yaml").stdout, "^ok ")
        self.assertIn("rebucket", self.aegir("explain", "rain.yaml").stdout)
        self.assertIn("$defs", json.loads(self.aegir("describe", "--schema").stdout))
        self.assertTrue(json.loads(self.aegir("describe", "--json").stdout)["types"])
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["rain.yaml"])
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertIn("finished", self.aegir("info", self.out).stdout)
        self.assertIn("pscale", self.aegir("info", self.out / "drops/drops.points.0004.vdb").stdout)
        self.assertIn("drops", self.aegir("info", self.out / "checkpoints/0008").stdout)
        self.assertRegex(self.hashes(self.out).splitlines()[0], r"^[0-9a-f]{32}  drops/drops\.points\.0001\.vdb$")

    def test_progress_styles(self):
        self.assertIn("ALF_PROGRESS 100%", self.run_setup("--progress", "alf", out=self.folder / "a").stdout)
        self.assertIn("openjd_progress: 100", self.run_setup("--progress", "openjd", out=self.folder / "b").stdout)
        events = [json.loads(line) for line in self.run_setup("--progress", "json", out=self.folder / "c").stdout.splitlines()]
        self.assertEqual(sum(e["event"] == "frame" for e in events), 8)
        self.assertNotIn("\r", self.run_setup(out=self.folder / "d").stdout)

    def test_preview(self):
        self.assertEqual(self.run_setup("--frames", "1:3").returncode, 0)
        done = self.aegir("preview", self.out, "--size", "160x90")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((self.out / "preview").glob("preview.*.png"))), 3)
        self.assertTrue((self.out / "preview/contact_sheet.png").exists())
        self.assertFalse((self.out / "preview/latest.png").exists())

    def test_preview_shows_surfaces_slices_and_cameras(self):
        self.setup_file.write_text(DAM)
        self.assertEqual(self.run_setup().returncode, 0)
        seen = {}
        for name, words in {"auto": [], "water": ["--look", "water"], "matte": ["--look", "matte"],
                            "particles": ["--look", "particles"], "eye": ["--eye", "2,1,2", "--target", "0.4,0.2,0.4"],
                            "side": ["--from", "90,20"], "slice": ["--slice", "vel", "--axis", "y", "--at", "0.1"],
                            "colour": ["--look", "particles", "--color", "pscale"]}.items():
            done = self.aegir("preview", self.out, "--frames", "2:2", "--size", "160x90", "-o", self.folder / name, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            seen[name] = (self.folder / name / "preview.0002.png").read_bytes()
        self.assertEqual(seen["auto"], seen["water"])
        self.assertEqual(len(set(seen.values())), len(seen) - 1)
        # A level set and a mesh by themselves; the picture does not depend on threads.
        for file in ["skin.volumes.0002.vdb", "skin.mesh.0002.ply"]:
            done = self.aegir("preview", self.out / "skin" / file, "--size", "160x90", "-o", self.folder / "single")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((self.folder / "single/preview.0002.png").exists())

    def test_preview_says_what_is_wrong(self):
        self.setup_file.write_text(DAM)
        self.assertEqual(self.run_setup().returncode, 0)
        for words, code, says in [(["--look", "shiny"], 2, "shiny"), (["--eye", "1,2,3"], 2, "--target"),
                                  (["--eye", "1,2", "--target", "0,0,0"], 2, "--eye"), (["--color", "mood"], 2, "mood"),
                                  (["--slice", "pressur"], 4, "there are 'surface', 'vel'"), (["--camera", "no.glb"], 4, "no.glb"),
                                  (["--frames", "7:9"], 2, "nothing to draw")]:
            if "--color" in words:
                words = [*words, "--look", "particles"]
            done = self.aegir("preview", self.out, "-o", self.folder / "never", *words)
            self.assertEqual(done.returncode, code, (words, done.stderr))
            self.assertIn(says, done.stderr)
            self.assertFalse((self.folder / "never").exists(), words)
        (self.folder / "text.vdb").write_text("nothing")
        self.assertEqual(self.aegir("preview", "text.vdb").returncode, 4)

    def test_run_with_preview_keeps_the_newest_picture(self):
        self.assertEqual(self.run_setup("--frames", "1:2", "--preview").returncode, 0)
        self.assertEqual([p.name for p in (self.out / "preview").iterdir()], ["latest.png"])
        other = self.folder / "plain"
        self.assertEqual(self.run_setup("--frames", "1:2", out=other).returncode, 0)
        self.same(self.out, other)

    def test_a_movie_is_made_where_there_is_ffmpeg(self):
        self.assertEqual(self.run_setup("--frames", "1:3").returncode, 0)
        tools = self.folder / "tools"
        tools.mkdir()
        without = self.aegir("preview", self.out, "--size", "64x36", env={**os.environ, "PATH": str(tools)})
        self.assertEqual(without.returncode, 0, without.stderr)
        self.assertIn("ffmpeg is not installed", without.stdout)
        # A stand-in that looks at what it is given: the list names every picture, and the last word is the file.
        program = tools / "ffmpeg"
        program.write_text("#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = -i ] && list=$2; shift; done\n"
                           "[ $(/bin/grep -c 'preview.000' \"$list\") = 3 ] && echo movie > \"$1\"\n")
        program.chmod(0o755)
        done = self.aegir("preview", self.out, "--size", "64x36", env={**os.environ, "PATH": str(tools)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.out / "preview/preview.mp4").read_text(), "movie\n")
        self.assertEqual(sorted(p.name for p in (self.out / "preview").glob("*.list")), [])
        program.write_text("#!/bin/sh\nexit 3\n")
        (self.out / "preview/preview.mp4").unlink()
        failed = self.aegir("preview", self.out, "--size", "64x36", env={**os.environ, "PATH": str(tools)})
        self.assertIn("no movie", failed.stdout)
        self.assertFalse((self.out / "preview/preview.mp4").exists())

    # ---- same bits ----

    def test_threads_and_ranks_give_the_same_bits(self):
        self.assertEqual(self.run_setup("--threads", "1").returncode, 0)
        for threads in [2, 7]:
            other = self.folder / f"threads{threads}"
            self.assertEqual(self.run_setup("--threads", threads, out=other).returncode, 0)
            self.same(self.out, other)
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        for ranks in [2, 4]:
            other = self.folder / f"ranks{ranks}"
            done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), AEGIR, "run", str(self.setup_file),
                                   "-o", str(other), "--threads", "1"], cwd=self.folder, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("done  "), 1)
            self.same(self.out, other)

    def test_kill_and_resume_give_the_same_bits(self):
        whole = self.folder / "whole"
        self.setup_file.write_text(setup_text(last=30, every="0.05 s", rate=30000))
        started = time.time()
        self.assertEqual(self.run_setup(out=whole).returncode, 0)
        length = time.time() - started
        chance = random.Random(7)
        kills = 0
        for _ in range(12):
            process = self.start("--resume")
            try:
                process.wait(chance.uniform(0.02, 0.8) * length)
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            _, errors = process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), errors)
            if process.returncode == 0:
                break
        done = self.run_setup("--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(kills, 0)
        self.same(whole, self.out)
        self.assertEqual(self.leftovers(self.out), [])

    # ---- signals, lock ----

    def test_stop_signals_checkpoint_and_end(self):
        whole = self.folder / "whole"
        self.setup_file.write_text(setup_text(last=40, every="1 h", rate=30000))
        self.assertEqual(self.run_setup(out=whole).returncode, 0)
        for number, frame in [(signal.SIGTERM, 3), (signal.SIGINT, 12)]:
            process = self.start("--resume")
            self.wait_for_frame(process, frame)
            process.send_signal(number)
            output, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + number, output + errors)
            self.assertIn("stopped", output)
            self.assertFalse((self.out / ".lock").exists())
        self.assertEqual(self.run_setup("--resume").returncode, 0)
        self.same(whole, self.out)

    def test_checkpoint_on_request(self):
        self.setup_file.write_text(setup_text(last=40, every="1 h", rate=30000))
        process = self.start()
        self.wait_for_frame(process, 4)
        process.send_signal(signal.SIGUSR1)
        output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("saved   checkpoint", output)

    def test_live_lock_is_respected(self):
        self.setup_file.write_text(setup_text(last=10000, every="1 h", rate=3000))
        process = self.start()
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.wait_for_frame(process, 2)
        for words in [[], ["--resume"]]:
            done = self.run_setup(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(str(process.pid), done.stderr)
        self.assertIn("running", self.aegir("info", self.out).stdout)

    def test_sleeper_notices_that_another_run_took_over(self):
        self.setup_file.write_text(setup_text(last=10000, every="1 h", rate=300))
        sleeper = self.start()
        self.addCleanup(sleeper.communicate)
        self.addCleanup(sleeper.kill)
        self.wait_for_frame(sleeper, 2)
        sleeper.send_signal(signal.SIGSTOP)
        time.sleep(16)  # longer than a heartbeat may pause
        os.utime(self.out / ".lock", (time.time() - 90, time.time() - 90))
        successor = self.start("--resume")
        self.addCleanup(successor.communicate)
        self.addCleanup(successor.kill)
        self.wait_for_frame(successor, 2)
        time.sleep(0.5)
        sleeper.send_signal(signal.SIGCONT)
        self.assertEqual(sleeper.wait(30), 4)
        self.assertIsNone(successor.poll())
        successor.send_signal(signal.SIGTERM)
        self.assertEqual(successor.wait(60), 128 + signal.SIGTERM)
        self.stats(self.out)

    # ---- failures ----

    def test_directory_with_frames_is_refused(self):
        self.assertEqual(self.run_setup().returncode, 0)
        before = self.hashes(self.out)
        done = self.run_setup()
        self.assertEqual(done.returncode, 2)
        self.assertIn("--resume", done.stderr)
        self.assertEqual(self.hashes(self.out), before)

    def test_file_size_limit_ends_with_4_and_resumes(self):
        whole = self.folder / "whole"
        self.setup_file.write_text(setup_text(last=12, every="2", rate=60000))
        self.assertEqual(self.run_setup(out=whole).returncode, 0)
        # The limit lets the first frames through and stops a later one.
        sizes = {int(p.name.split(".")[2]): p.stat().st_size for p in whole.glob("drops/*.vdb")}
        pieces = max(p.stat().st_size for p in whole.glob("checkpoints/*/*.h5"))
        limit = min(sizes[8], pieces)
        done = self.run_setup(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("resume", done.stderr)
        self.assertEqual(self.leftovers(self.out), [])
        frames = sorted(self.out.glob("drops/*.vdb"))
        self.assertTrue(frames)
        for frame in frames:
            self.assertEqual(self.aegir("info", frame).returncode, 0)
        done = self.run_setup("--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.same(whole, self.out)

    def test_a_rank_without_memory_says_so(self):
        program = Path(AEGIR).read_bytes()
        if not shutil.which("mpirun") or b"__asan_init" in program or b"__tsan_init" in program:
            self.skipTest("no mpirun, or a sanitizer that needs the address space itself")
        self.setup_file.write_text(setup_text(last=2).replace("count: 100", "count: 8000000"))
        words = [AEGIR, "run", str(self.setup_file), "-o", str(self.out), "--threads", "1"]
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "1", *words, ":",
                               "-n", "1", "sh", "-c", 'ulimit -v 900000; exec "$@"', "sh", *words],
                              cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertRegex(done.stderr, "rank 1: .*memory")

    def test_changed_setup_is_named(self):
        self.assertEqual(self.run_setup("--frames", "1:4").returncode, 0)
        done = self.run_setup("--resume", "--set", "rate=10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"changed .*rate.*3000.*10")


if __name__ == "__main__":
    unittest.main()
