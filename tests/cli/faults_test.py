#!/usr/bin/env python3
"""Law: whatever happens to one rank of a job, the job says which rank and ends, and resumed it gives the bits of an undisturbed run."""
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

import droplets_test
import support

sys.path.insert(0, str(support.REPOSITORY / "setups/shots/farm"))
import farm  # noqa: E402

KILLS = int(os.environ.get("AEGIR_KILLS", "4"))
SEED = int(os.environ.get("AEGIR_TEST_SEED", "9"))

# Particles enough that every rank has some, and a limit on one rank's files that a checkpoint does not pass.
RAIN = support.rain(last=10, every="2", keep=100, rate=30000, count=6000)


@unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
class Killed(support.AegirTest):
    """kill -9 of any rank, or of all at once, at random moments."""

    def kill_and_compare(self, setup, *words, frames):
        command = [support.AEGIR, "run", setup, "--threads", 1, "--resume", "--checkpoint-every", 1, *words]
        whole = self.folder / "whole"
        self.assertEqual(farm.Job([*command, "-o", whole], 0).end()[0], 0)
        lines = []
        tried = farm.Farm([*command, "-o", self.out], self.out, max(1, frames // KILLS), random.Random(SEED), [2, 3], log=lines.append)
        kills = tried.run(KILLS)
        self.assertGreater(kills, KILLS // 2, lines)
        self.assertEqual(farm.differences(support.AEGIR, whole, self.out), [], lines)
        self.assertEqual(tried.silent, [], "a rank died and nobody said which")
        self.assertLess(tried.slowest_end, 20, "the job outlived its rank")
        self.assert_tidy(self.out)

    def test_liquid_and_droplets(self):
        last = 1001 + 4 * KILLS
        self.kill_and_compare(support.REPOSITORY / "setups/shots/farm/farm.yaml", "--set", "voxel=8cm", "--frames", f"1001:{last}", frames=last - 1000)

    def test_droplets(self):
        last = 4 * KILLS
        self.kill_and_compare(self.write("jets.yaml", droplets_test.JETS.replace("frames: [1, 9]", f"frames: [1, {last}]")), frames=last)


@unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
class Watched(support.AegirTest):
    def test_a_dead_rank_is_named_and_the_job_ends(self):
        setup = self.write("rain.yaml", support.rain(last=100000, every="2"))
        job = farm.Job([support.AEGIR, "run", setup, "-o", self.out, "--threads", 1], 2)
        self.addCleanup(job.kill_all)
        self.wait_until_running(job)
        process = job.kill_rank(1)
        begin = time.monotonic()
        code, said = job.end(60)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertNotEqual(code, 0)
        self.assertEqual(said.count("has died without a word"), 1, said)
        self.assertIn(f"rank 1 (process {process} on ", said)
        newest = [name for name in self.checkpoints(self.out)][-1]
        self.assertRegex(said, r"--resume the same command, on any number of ranks, goes on from checkpoint \d{4}")
        self.assertLessEqual(said.split("goes on from checkpoint ")[1][:4], newest)

    def test_a_rank_that_hangs_is_named_and_the_run_goes_on_when_it_does(self):
        setup = self.write("rain.yaml", support.rain(last=60, every="10"))
        self.run_setup(setup, out=self.folder / "whole")
        job = farm.Job([support.AEGIR, "run", setup, "-o", self.out, "--threads", 1, "--patience", 4], 2)
        self.addCleanup(job.kill_all)
        self.wait_until_running(job)
        process = job.rank_processes()[1]
        os.kill(process, signal.SIGSTOP)
        self.addCleanup(self.wake, process)
        deadline = time.monotonic() + 60
        while b"sign of life" not in self.said(job) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.wake(process)
        code, said = job.end()
        self.assertEqual(code, 0, said)
        self.assertRegex(said, rf"rank 0 has waited \S+ \S* ?for rank 1 \(process {process} on .*\), which has shown no sign of life for")
        self.assert_same_run(self.folder / "whole", self.out)
        self.assert_tidy(self.out)

    @staticmethod
    def wake(process):
        try:
            os.kill(process, signal.SIGCONT)
        except ProcessLookupError:
            pass

    @staticmethod
    def said(job):
        return os.pread(job.errors.fileno(), 1 << 20, 0)

    def wait_until_running(self, job):
        board = self.out / ".aegir_ranks"
        self.wait_until(job.process, lambda: board.exists() and board.stat().st_size == 256 * job.ranks and farm.newest_frame(self.out) >= 3, "frame 3")


@unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
class Checkpoints(support.AegirTest):
    """Pieces of checkpoints that one rank cannot write or read."""

    def setUp(self):
        super().setUp()
        self.setup_file = self.write("rain.yaml", RAIN)
        self.whole = self.folder / "whole"
        self.run_setup(self.setup_file, "--threads", 1, out=self.whole)

    def test_a_disk_that_is_full_for_one_rank(self):
        # Rank 1 may write as much as half of its part of the last checkpoint needs; rank 0 writes the frames and has no limit.
        kilobytes = max(p.stat().st_size for p in self.whole.glob("checkpoints/*/piece.0.h5")) // 4 // 1024
        wrapper = self.write("limited.sh", f'#!/bin/bash\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] || ulimit -f {kilobytes}\nexec "$@"\n')
        wrapper.chmod(0o755)
        command = ["mpirun", *support.MPI_FLAGS, "-n", "2", wrapper, support.AEGIR, "run", self.setup_file, "-o", self.out, "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=support.PATIENCE,
                              # The limit is not for the files that MPI would share its memory by.
                              env={**os.environ, **support.MPI_ENVIRONMENT, "OMPI_MCA_btl": "tcp,self", "PMIX_MCA_gds": "hash"})
        self.assertEqual(done.returncode, 4, done.stderr)
        for words in ["File too large", "piece.1.h5", "checkpoint", "--resume"]:
            self.assertIn(words, done.stderr)
        self.assertEqual(self.leftovers(self.out), [])
        kept = self.checkpoints(self.out)
        self.assertTrue(kept and len(kept) < len(self.checkpoints(self.whole)), kept)
        self.run_setup(self.setup_file, "--resume", "--threads", 1, ranks=3)
        self.assert_same_run(self.whole, self.out)

    def damage_and_resume(self, damage, reason):
        self.run_setup(self.setup_file, "--frames", "1:7", "--threads", 1, ranks=2)
        newest = self.checkpoints(self.out)[-1]
        self.assertEqual(newest, "0007")
        damage(self.out / "checkpoints" / newest)
        done = self.run_setup(self.setup_file, "--resume", "--threads", 1, ranks=3)
        self.assertRegex(done.stdout + done.stderr, rf"warning.*0007.*{reason}.*0007\.damaged")
        self.assertRegex(done.stdout, r"resuming\s+checkpoint 0005")
        self.assert_same_run(self.whole, self.out)

    def test_an_unreadable_piece_of_one_rank(self):
        self.damage_and_resume(lambda folder: os.truncate(folder / "piece.1.h5", (folder / "piece.1.h5").stat().st_size // 3), r"piece\.1")

    def test_another_version(self):
        def older(folder):
            index = json.loads((folder / "index.json").read_text())
            (folder / "index.json").write_text(json.dumps({**index, "aegir_checkpoint": 99}))
        self.damage_and_resume(older, "another version of Aegir")


if __name__ == "__main__":
    support.main()
