#!/usr/bin/env python3
"""Law: a run that was killed, stopped or moved to other threads and ranks ends with the same bits as one that was not."""
import json
import os
import random
import re
import signal
import socket
import subprocess
import time
import unittest

import support


class Resume(support.AegirTest):
    def check_visible_frames(self, out):
        """Whatever has the name of a frame is one."""
        files = self.frames(out)
        if files:
            self.aegir("info", *files, cwd=out)

    # ---- kill -9 ----

    def test_killed_at_random_moments(self):
        setup = support.write_storm(self, last=12, count=8000, rate=20000)
        whole = self.folder / "whole"
        started = time.monotonic()
        self.run_setup(setup, out=whole)
        length = time.monotonic() - started
        chance = random.Random(int(os.environ.get("AEGIR_TEST_SEED", "20")))
        kills = 0
        for _ in range(7):
            process = self.start(setup, "--resume", "--checkpoint-every", 1)
            try:
                process.wait(chance.uniform(0.05, 0.4) * length)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            process.communicate()
            self.check_visible_frames(self.out)
        self.assertGreater(kills, 0)
        self.run_setup(setup, "--resume", "--checkpoint-every", 1)
        self.assert_same_run(whole, self.out)
        self.assert_tidy(self.out)

    def test_killed_while_something_is_written(self):
        setup = support.write_storm(self, last=9, count=8000, rate=20000)
        whole = self.folder / "whole"
        self.run_setup(setup, out=whole)

        def unfinished(folder, frame):
            """Whether a checkpoint or cache of this frame is there under its temporary name."""
            try:
                return any(name.startswith(".") and ".tmp" in name and f"{frame:04d}" in name for name in os.listdir(folder))
            except FileNotFoundError:
                return False

        caught = 0
        for folder, frame in [("checkpoints", 2), ("rain/drops", 3), ("checkpoints", 5), ("dust", 6), ("checkpoints", 7)]:
            process = self.start(setup, "--resume", "--checkpoint-every", 1)
            while process.poll() is None and not unfinished(self.out / folder, frame):
                if (self.out / "dust" / f"dust.points.{frame + 2:04d}.vdb").exists():
                    break  # it was too quick this time
            process.kill()
            process.communicate()
            caught += bool(self.leftovers(self.out))
            self.check_visible_frames(self.out)
        self.assertGreater(caught, 0, "no kill hit a file that was being written")
        self.run_setup(setup, "--resume", "--checkpoint-every", 1)
        self.assert_same_run(whole, self.out)
        self.assert_tidy(self.out)

    def test_killed_before_the_first_checkpoint(self):
        setup = self.write("rain.yaml", support.rain(count=20000))
        process = self.start(setup)
        self.wait_until(process, lambda: (self.out / ".lock").exists(), "the lock")
        process.kill()
        process.communicate()
        self.run_setup(setup, "--resume")
        self.run_setup(setup, out=self.folder / "whole")
        self.assert_same_run(self.folder / "whole", self.out)

    # ---- other threads and ranks ----

    def test_other_threads_and_ranks(self):
        setup = support.write_storm(self, last=8, count=6000, rate=20000)
        whole = self.folder / "whole"
        self.run_setup(setup, "--threads", 2, out=whole)
        self.run_setup(setup, "--frames", "1:2", "--threads", 1)
        chain = [(3, 4), (2, 5), (0, 7)] if support.has_mpirun() else [(0, 7)]
        for ranks, last in chain:
            self.run_setup(setup, "--resume", "--frames", f"1:{last}", "--threads", 1, ranks=ranks)
        self.run_setup(setup, "--resume", "--threads", 7)
        self.assert_same_run(whole, self.out)
        self.assert_tidy(self.out)

    @unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
    def test_a_rank_dies_or_is_stopped(self):
        setup = self.write("rain.yaml", support.rain(last=40, every="2", rate=60000))
        whole = self.folder / "whole"
        self.run_setup(setup, out=whole)
        for ending, frame in [(signal.SIGKILL, 5), (signal.SIGTERM, 15)]:
            process = self.start(setup, "--resume", "--threads", 1, ranks=2)
            self.wait_until(process, lambda: (self.out / f"drops/drops.points.{frame:04d}.vdb").exists(), f"frame {frame}")
            os.kill(self.lock_owner(self.out), ending)
            output, errors = process.communicate(timeout=support.PATIENCE)
            if ending == signal.SIGTERM:
                self.assertEqual(process.returncode, 128 + ending, output + errors)
                self.assertFalse((self.out / ".lock").exists())
            self.assertNotEqual(process.returncode, 0)
        self.run_setup(setup, "--resume")
        self.assert_same_run(whole, self.out)
        self.assert_tidy(self.out)

    # ---- signals ----

    def test_sigterm_and_sigint_leave_a_checkpoint(self):
        setup = self.write("rain.yaml", support.rain(last=40, every="1 h", rate=60000))
        whole = self.folder / "whole"
        self.run_setup(setup, out=whole)
        for stop, frame in [(signal.SIGTERM, 6), (signal.SIGINT, 20)]:
            process = self.start(setup, "--resume")
            self.wait_until(process, lambda: (self.out / f"drops/drops.points.{frame:04d}.vdb").exists(), f"frame {frame}")
            process.send_signal(stop)
            output, _ = self.finish(process, 128 + stop)
            self.assertIn("stopped", output)
            newest = self.checkpoints(self.out)[-1]
            self.assertGreaterEqual(int(newest.split(".")[0]), frame)
            self.aegir("info", self.out / "checkpoints" / newest)
            self.assertIn("stopped", self.aegir("info", self.out).stdout)
            self.assert_tidy(self.out)
        self.run_setup(setup, "--resume")
        self.assert_same_run(whole, self.out)

    def test_sigusr1_writes_a_checkpoint_and_goes_on(self):
        setup = self.write("rain.yaml", support.rain(last=40, every="1 h", rate=60000))
        process = self.start(setup)
        self.wait_until(process, lambda: (self.out / "drops/drops.points.0005.vdb").exists(), "frame 5")
        before = self.checkpoints(self.out)
        process.send_signal(signal.SIGUSR1)
        self.finish(process, 0)
        self.assertEqual(before, ["0001"])
        after = self.checkpoints(self.out)
        self.assertEqual((after[0], after[-1], len(after)), ("0001", "0040", 3), after)
        self.assertGreaterEqual(int(after[1].split(".")[0]), 4)
        self.run_setup(setup, out=self.folder / "whole")
        self.assert_same_run(self.folder / "whole", self.out)

    # ---- the directory ----

    def test_resume_starts_fresh_where_nothing_is(self):
        setup = self.write("rain.yaml", support.rain())
        self.run_setup(setup, out=self.folder / "whole")
        self.run_setup(setup, "--resume")
        self.assert_same_run(self.folder / "whole", self.out)
        empty = self.folder / "empty"
        empty.mkdir()
        self.run_setup(setup, "--resume", out=empty)
        self.assert_same_run(self.folder / "whole", empty)

    def test_a_directory_with_frames_is_refused(self):
        setup = self.write("rain.yaml", support.rain())
        self.run_setup(setup)
        before = {p: p.read_bytes() for p in self.out.glob("**/*") if p.is_file()}
        done = self.run_setup(setup, code=2)
        self.assertIn("--resume", done.stderr)
        self.assertIn(str(self.out), done.stderr)
        self.assertEqual(before, {p: p.read_bytes() for p in self.out.glob("**/*") if p.is_file()})

    def test_resume_of_a_finished_run_changes_nothing(self):
        setup = self.write("rain.yaml", support.rain())
        self.run_setup(setup)
        hashes, stats = self.hashes(self.out), self.stats(self.out)
        self.run_setup(setup, "--resume")
        self.assertEqual((hashes, stats), (self.hashes(self.out), self.stats(self.out)))

    def test_branch_from_a_frame(self):
        setup = self.write("rain.yaml", support.rain(every="2", keep=10))
        self.run_setup(setup)
        self.run_setup(setup, out=self.folder / "whole")
        self.assertIn("0003", self.checkpoints(self.out))
        done = self.run_setup(setup, "--resume=3", "--set", "rate=9000")
        self.assertRegex(done.stdout, r"changed.*rate.*3000.*9000")
        here, there = self.hashes(self.out), self.hashes(self.folder / "whole")
        for name in here:
            (self.assertEqual if self.frame_number(name) <= 3 else self.assertNotEqual)(here[name], there[name], name)
        self.assertEqual(len(here), 8)
        done = self.run_setup(setup, "--resume=4", "--set", "rate=9000", code=2)
        self.assertIn("no checkpoint of that frame", done.stderr)
        self.assertEqual(here, self.hashes(self.out))

    def test_a_changed_setup_is_named(self):
        setup = self.write("rain.yaml", support.rain())
        self.run_setup(setup, "--frames", "1:4")
        setup.write_text(support.rain().replace("spread: 1", "spread: 2 m/s"))
        done = self.run_setup(setup, "--resume")
        self.assertRegex(done.stdout, r"changed.*nozzle.*spread.*1.*2")
        done = self.run_setup(setup, "--resume", "--frames", "1:8")
        self.assertNotIn("changed", done.stdout)

    def test_another_voxel_size_does_not_move_particles(self):
        """The cells of a checkpoint's Object are those it was written with, or the run is refused."""
        setup = self.write("rest.yaml", support.rain(rate=0).replace("- gravity: earth", "- lifespan: long\n    span: 99 s")
                           .replace("velocity: [0, 5, 1]", "velocity: [0, 0, 0]").replace("spread: 1", "spread: 0"))
        self.run_setup(setup, "--frames", "1:4")
        done = self.run_setup(setup, "--resume", "--set", "drops.voxel_size=1", code=None)
        if done.returncode == 0:
            bounds = [re.search("bounds.*", self.aegir("info", self.out / f"drops/drops.points.000{f}.vdb").stdout).group() for f in (4, 5)]
            self.assertEqual(bounds[0], bounds[1])
        else:
            self.assertEqual(done.returncode, 2)
            self.assertIn("voxel_size", done.stderr)

    def test_stats_are_cut_back(self):
        """Also when the last line was torn by a crash."""
        setup = self.write("rain.yaml", support.rain(every="1 h"))
        self.run_setup(setup, out=self.folder / "whole")
        self.run_setup(setup, "--frames", "1:5")
        lines = (self.folder / "whole/stats.jsonl").read_bytes().splitlines(keepends=True)
        further = [line for line in lines if json.loads(line)["frame"] <= 7]
        (self.out / "stats.jsonl").write_bytes(b"".join(further)[:-20])
        self.run_setup(setup, "--resume")
        self.assert_same_run(self.folder / "whole", self.out)

    # ---- damaged checkpoints ----

    def test_a_damaged_checkpoint_is_left_out(self):
        setup = self.write("rain.yaml", support.rain(every="2", keep=10))
        self.run_setup(setup, out=self.folder / "whole")
        damages = {
            "cut": lambda piece: os.truncate(piece, piece.stat().st_size // 2),
            "empty": lambda piece: os.truncate(piece, 0),
            "missing": lambda piece: piece.unlink(),
            "flipped": lambda piece: piece.write_bytes(bytes(b ^ 0xff if i % 64 == 0 else b for i, b in enumerate(piece.read_bytes()))),
            "no index": lambda piece: (piece.parent / "index.json").unlink(),
        }
        for name, damage in damages.items():
            with self.subTest(damage=name):
                out = self.folder / name
                self.run_setup(setup, "--frames", "1:5", out=out)
                newest = self.checkpoints(out)[-1]
                self.assertEqual(newest, "0005")
                piece = max((out / "checkpoints" / newest).iterdir(), key=lambda p: p.stat().st_size)
                damage(piece)
                wreck = {p.name: p.read_bytes() for p in piece.parent.iterdir()}
                done = self.run_setup(setup, "--resume", out=out)
                self.assertRegex(done.stdout + done.stderr, r"warning.*0005.*0005\.damaged")
                self.assertRegex(done.stdout, r"resuming\s+checkpoint 0003")
                self.assert_same_run(self.folder / "whole", out)
                kept = {p.name: p.read_bytes() for p in (out / "checkpoints/0005.damaged").iterdir()}
                self.assertEqual(kept, wreck, "a damaged checkpoint is kept as it was")

    def test_all_checkpoints_damaged(self):
        """Nothing begins again over finished frames: a disk that is away for a minute must not cost a week."""
        setup = self.write("rain.yaml", support.rain(every="2", keep=10))
        self.run_setup(setup, out=self.folder / "whole")
        self.run_setup(setup, "--frames", "1:5")
        good = {index: index.read_text() for index in self.out.glob("checkpoints/*/index.json")}
        self.assertEqual(len(good), 3)
        for index in good:
            index.write_text("{")
        before = {p: p.read_bytes() for p in self.out.glob("**/*") if p.is_file()}
        for ranks in [0, 0, 2] if support.has_mpirun() else [0, 0]:
            done = self.run_setup(setup, "--resume", ranks=ranks, code=4)
            for word in ["0001", "0003", "0005", "index.json", "move the folder away"]:
                self.assertIn(word, done.stderr)
            self.assertEqual(before, {p: p.read_bytes() for p in self.out.glob("**/*") if p.is_file()})
        for index, text in good.items():
            index.write_text(text)
        self.run_setup(setup, "--resume")
        self.assert_same_run(self.folder / "whole", self.out)

    def test_other_data_in_the_output_folder_is_left_alone(self):
        setup = self.write("rain.yaml", support.rain())
        others = [self.write(name, "precious") for name in
                  ["out/.notes.tmp-1-2", "out/.cache.tmp/data", "out/work/.1003.tmp/data", "out/work/.run.json.tmp-1-2"]]
        ours = [self.write(name, "torn") for name in ["out/.run.json.tmp-1-2", "out/drops/.drops.points.0003.vdb.tmp-1-2"]]
        self.run_setup(setup, "--resume", out=".", cwd=self.out)
        for path in others:
            self.assertEqual(path.read_text(), "precious")
        for path in ours:
            self.assertFalse(path.exists(), path)


class Lock(support.AegirTest):
    def setUp(self):
        super().setUp()
        self.setup_file = self.write("rain.yaml", support.rain())

    def forge(self, age, **content):
        self.out.mkdir(exist_ok=True)
        lock = self.write("out/.lock", json.dumps(content))
        os.utime(lock, (time.time() - age,) * 2)

    def test_a_second_run_is_refused(self):
        long = self.write("long.yaml", support.rain(last=100000, every="1 h"))
        process = self.start(long)
        self.wait_until(process, lambda: (self.out / "drops/drops.points.0002.vdb").exists(), "frame 2")
        for words in [[], ["--resume"], ["--resume=1"]]:
            done = self.run_setup(long, *words, code=2)
            self.assertIn(str(process.pid), done.stderr)
            self.assertIn(socket.gethostname(), done.stderr)
        self.assertIsNone(process.poll(), "the first run was disturbed")
        self.assertIn("running", self.aegir("info", self.out).stdout)

    def test_the_lock_of_a_killed_run_is_taken_over(self):
        long = self.write("long.yaml", support.rain(last=100000, every="1 h"))
        process = self.start(long)
        self.wait_until(process, lambda: (self.out / "drops/drops.points.0002.vdb").exists(), "frame 2")
        process.kill()
        process.communicate()
        self.assertTrue((self.out / ".lock").exists())
        self.run_setup(long, "--resume", "--frames", "1:6")
        self.assert_tidy(self.out)

    def test_locks_of_other_hosts_live_by_their_heartbeat(self):
        self.forge(age=5, host="elsewhere", process=4711, process_start="1", process_space="x", started="today")
        for words in [[], ["--resume"]]:
            done = self.run_setup(self.setup_file, *words, code=2)
            self.assertIn("elsewhere", done.stderr)
            self.assertIn("4711", done.stderr)
        self.assertEqual(os.listdir(self.out), [".lock"])
        self.forge(age=600, host="elsewhere", process=4711, process_start="1", process_space="x", started="today")
        self.run_setup(self.setup_file)
        self.assert_tidy(self.out)


if __name__ == "__main__":
    support.main()
