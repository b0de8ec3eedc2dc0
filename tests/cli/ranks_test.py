#!/usr/bin/env python3
"""Law: no rank stores or computes what is another's. Memory follows the buckets that a rank owns and the copies around them; a box that
grows with the number of ranks moves as many bytes per particle."""
import os
import re
import shutil
import subprocess
import unittest

import support

# A canal, half full: each stretch of it has the same share of surface and walls, and its ends are a small part.
TANK = """aegir: 1
timeline: {frames: [1, 2], substeps: 2}
expose: {length: 1, voxel: 0.04, width: 0.32, depth: 0.32}
setup:
  - gravity: earth
  - domain: tank
    box: {min: [0, 0, 0], max: ["${width}", 1.28, "${length}"]}
    limits: {sides: wall, bottom: wall, top: open}
  - hybrid: water
    voxel_size: ${voxel}
    fill: {below: "${depth}", in: tank}
  - pressure: incompressible
outputs:
  - points: cache
"""


@unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
class Ranks(support.AegirTest):
    def setUp(self):
        super().setUp()
        self.setup_file = self.write("tank.yaml", TANK)

    def last_line(self, ranks, *words):
        out = self.folder / f"ranks{ranks}"
        self.run_setup(self.setup_file, "--threads", 1, *words, out=out, ranks=ranks)
        return self.stats(out, times=True)[-1]

    def test_hosts_in_network_namespaces(self):
        """Two hosts that share nothing but the file system give the bits of one process."""
        words = ["run", self.setup_file, "--threads", "1", "-o"]
        self.aegir(*words, self.folder / "alone")
        done = subprocess.run([support.REPOSITORY / "tools/namespaces.sh", "2", support.AEGIR, *words, self.out], capture_output=True, text=True,
                              env={**os.environ, **support.MPI_ENVIRONMENT}, timeout=support.PATIENCE)
        if done.returncode == 77:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("host0", done.stdout)
        self.assertIn("2 ranks", done.stdout)
        self.assert_same_run(self.folder / "alone", self.out)

    def particles(self, run, frame):
        """Every particle of a frame as the bytes of its row, sorted; from one file or from pieces."""
        shutil.rmtree(run / "export", ignore_errors=True)
        self.aegir("export", run, "--frames", f"{frame}:{frame}")
        rows = []
        for path in (run / "export").glob(f"**/*.points.{frame:04d}.ply"):
            head, _, body = path.read_bytes().partition(b"end_header\n")
            count = int(re.search(rb"element vertex (\d+)", head).group(1))
            width = len(body) // max(1, count)
            rows += [body[i * width:(i + 1) * width] for i in range(count)]
        return sorted(rows)

    def pieces(self, frame):
        return sorted(p.parent.name for p in self.out.glob(f"**/*.points.{frame:04d}.vdb"))

    def test_split(self):
        """Pieces hold what the one file holds; a frame is there in one form only, also when other ranks write it again."""
        whole = self.folder / "whole"
        self.run_setup(self.setup_file, "--threads", 1, "--set", "timeline.frames=[1,4]", out=whole)
        run = lambda ranks, *words: self.run_setup(self.setup_file, "--threads", 1, "--set", "timeline.frames=[1,4]", "--checkpoint-every", 1, *words,
                                                   ranks=ranks)
        run(3, "--split", "--frames", "1:3")
        self.assertEqual(self.pieces(3), ["piece_1of3", "piece_2of3", "piece_3of3"])
        one = self.particles(whole, 3)
        self.assertGreater(len(one), 1000)
        self.assertEqual(self.particles(self.out, 3), one)
        shutil.rmtree(self.out / "checkpoints/0003")
        run(2, "--split", "--resume")
        self.assertEqual(self.pieces(2), ["piece_1of3", "piece_2of3", "piece_3of3"])
        for frame in [3, 4]:
            self.assertEqual(self.pieces(frame), ["piece_1of2", "piece_2of2"])
            self.assertEqual(self.particles(self.out, frame), self.particles(whole, frame))
        shutil.rmtree(self.out / "checkpoints/0004")
        run(2, "--resume")
        self.assertEqual(self.pieces(4), ["water"])
        self.assertEqual(self.particles(self.out, 4), self.particles(whole, 4))
        self.assert_tidy(self.out)

    def test_memory_falls_with_ranks(self):
        """Each rank holds its share of what one process would, by particles or buckets, whichever is more, with a tenth for memory that was
        once needed; and at most as much for every copy of a bucket as for one of its own."""
        words = ["--set", "length=2.56", "--set", "voxel=0.02", "--set", "width=0.64", "--set", "depth=0.64"]
        alone = self.last_line(0, *words)
        whole = alone["memory_bytes"]
        self.assertGreater(alone["objects"]["water"]["particles"], 500000)
        shares = {}
        for ranks in [2, 4]:
            line = self.last_line(ranks, *words)
            told = line["ranks"]
            buckets, particles = sum(told["buckets"]), sum(told["particles"])
            self.assertEqual(particles, alone["objects"]["water"]["particles"])
            self.assertEqual(line["memory_bytes"], sum(told["memory_bytes"]))
            for r in range(ranks):
                share = max(told["buckets"][r] / buckets, told["particles"][r] / particles)
                copies = told["ghost_buckets"][r] / buckets
                self.assertLess(told["memory_bytes"][r], (1.1 * share + copies) * whole, f"rank {r} of {ranks}: {told}")
            self.assertLess(max(told["particles"]) / particles, 1.3 / ranks, f"one of {ranks} ranks has too large a share: {told}")
            shares[ranks] = max(told["memory_bytes"]) / whole
            print(f"{ranks} ranks: {100 * shares[ranks]:.0f} % of the memory of one on the fullest, copies included")
        self.assertLess(shares[2], 0.65)
        self.assertLess(shares[4], 0.45)

    def test_weak_scaling_does_as_much_work_per_particle(self):
        moved, cells, particles = {}, {}, {}
        for ranks in [1, 2, 4]:
            line = self.last_line(ranks if ranks > 1 else 0, "--set", f"length={5.12 * ranks}")
            particles[ranks] = line["objects"]["water"]["particles"]
            kernels = sum(task["bytes"] for task in line["tasks"].values())
            iterations = [solve["iterations"] for solve in line["solves"]]
            moved[ranks] = kernels / particles[ranks]
            cells[ranks] = sum(task["cells"] for task in line["tasks"].values()) / particles[ranks]
            print(f"{ranks} ranks: {particles[ranks]} particles; per particle and step kernels move {moved[ranks]:.0f} bytes and run on "
                  f"{cells[ranks]:.2f} cells; iterations {iterations}")
        for ranks in [2, 4]:
            self.assertAlmostEqual(particles[ranks] / particles[1] / ranks, 1, delta=0.01)
            self.assertAlmostEqual(moved[ranks] / moved[1], 1, delta=0.1)
            self.assertAlmostEqual(cells[ranks] / cells[1], 1, delta=0.1)


if __name__ == "__main__":
    support.main()
