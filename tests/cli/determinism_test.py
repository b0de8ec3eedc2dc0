#!/usr/bin/env python3
"""Law: a run gives the same bits for any number of threads and ranks."""
import unittest

import support


class Determinism(support.AegirTest):
    def setUp(self):
        super().setUp()
        self.setup_file = support.write_storm(self)
        self.reference = self.folder / "reference"
        self.run_setup(self.setup_file, "--threads", 1, out=self.reference)

    def test_the_setup_is_worth_comparing(self):
        lines = self.stats(self.reference)
        last = lines[-1]["objects"]
        self.assertGreater(last["rain/drops"]["particles"], 8000)
        self.assertGreater(max(line["objects"]["rain/drops"]["particles"] for line in lines), 12000)
        self.assertGreater(len(lines), 2 * 9, "the frames were not divided into substeps")
        self.assertGreater(len({round(line["dt"], 9) for line in lines}), 2, "the substeps do not adapt")
        self.assertEqual(len(self.frames(self.reference)), 2 * 10)
        hashes = self.hashes(self.reference)
        self.assertEqual(len(set(hashes.values())), len(hashes), "frames that differ have the same hash")

    def test_threads(self):
        for threads in [2, 7]:
            with self.subTest(threads=threads):
                out = self.folder / f"threads{threads}"
                self.run_setup(self.setup_file, "--threads", threads, out=out)
                self.assert_same_run(self.reference, out)
                # Bytes moved by a task do not depend on threads either.
                bytes_of = lambda run: [{name: task["bytes"] for name, task in line["tasks"].items()} for line in self.stats(run, times=True)]
                self.assertEqual(bytes_of(self.reference), bytes_of(out))

    @unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
    def test_ranks(self):
        for ranks, threads in [(1, 2), (2, 1), (4, 1)]:
            with self.subTest(ranks=ranks):
                out = self.folder / f"ranks{ranks}"
                done = self.run_setup(self.setup_file, "--threads", threads, out=out, ranks=ranks)
                self.assertEqual(done.stdout.count("\ndone "), 1, "more than one rank talks")
                self.assert_same_run(self.reference, out)
                self.assert_tidy(out)

    def test_another_seed_gives_other_bits(self):
        """The comparison can fail."""
        out = self.folder / "other"
        self.run_setup(self.setup_file, "--set", "rain/cloud.seed=2", "--frames", "1:2", out=out)
        here, there = self.hashes(self.reference), self.hashes(out)
        name = "rain/drops/drops.points.0002.vdb"
        self.assertNotEqual(here[name], there[name])
        self.assertEqual(here["dust/dust.points.0002.vdb"], there["dust/dust.points.0002.vdb"])


if __name__ == "__main__":
    support.main()
