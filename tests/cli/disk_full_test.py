#!/usr/bin/env python3
"""A full disk during a frame: exit code 4, earlier frames whole, no partial frame, and --resume finishes as if nothing had been."""
import os
import resource
import subprocess
import unittest

import support

# Two Objects, so that of one frame one file may fit and the other not.
SETUP = """aegir: 1
timeline: {frames: [1, 10], substeps: 2, checkpoint: {every: %s, keep: 100}}
setup:
  - gravity: earth
  - particles: a_small
    voxel_size: 10 cm
  - particles: big
    voxel_size: 10 cm
  - emitter: few
    into: a_small
    shape: {kind: sphere, center: [0, 1, 0], radius: 10 cm}
    count: 100
    spread: 1
  - emitter: many
    into: big
    shape: {kind: sphere, center: [0, 1, 0], radius: 50 cm}
    rate: 60000
    spread: 1
outputs:
  - points: cache
    compression: none
"""


class DiskFull(support.AegirTest):
    def reference(self, every):
        self.setup_file = self.write("setup.yaml", SETUP % every)
        self.whole = self.folder / "whole"
        self.run_setup(self.setup_file, out=self.whole)

    def size(self, pattern):
        return sum(p.stat().st_size for p in self.whole.glob(pattern))

    def check_failed(self, done, out, reason):
        """The message names a path and the reason; what is there is whole."""
        self.assertIn(reason, done.stderr)
        self.assertIn(str(out), done.stderr)
        self.assertIn("resume", done.stderr)
        self.assertEqual(self.leftovers(out), [])
        reference, found = self.hashes(self.whole), self.hashes(out)
        self.assertTrue(set(found) < set(reference))
        for name, value in found.items():
            self.assertEqual(value, reference[name], name)
            self.aegir("info", out / name)
        count = {}
        for name in found:
            count[self.frame_number(name)] = count.get(self.frame_number(name), 0) + 1
        self.assertEqual(set(count.values()), {2}, f"a frame has some of its Objects only: {sorted(found)}")
        self.assertEqual(sorted(count), list(range(1, len(count) + 1)))
        for checkpoint in self.checkpoints(out):
            self.aegir("info", out / "checkpoints" / checkpoint)
        return max(count)

    def run_limited(self, limit):
        return self.run_setup(self.setup_file, code=4, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    def finish_and_compare(self, out):
        self.run_setup(self.setup_file, "--resume", out=out)
        self.assert_same_run(self.whole, out)
        self.assertEqual(self.leftovers(out), [])

    def test_file_size_limit_in_a_frame(self):
        self.reference(every="1 h")
        limit = self.size("big/*.0006.vdb")  # frame 6 fits, frame 7 does not
        self.assertGreater(self.size("big/*.0007.vdb"), limit)
        done = self.run_limited(limit)
        self.assertEqual(self.check_failed(done, self.out, "File too large"), 6)
        self.assertIn("big.points.0007.vdb", done.stderr)
        self.finish_and_compare(self.out)

    def test_file_size_limit_in_a_checkpoint(self):
        self.reference(every=3)
        limit = max(p.stat().st_size for p in self.whole.glob("checkpoints/0007/*")) - 1
        self.assertGreater(limit, self.size("big/*.0007.vdb"), "the frame is larger than its checkpoint; make another setup")
        done = self.run_limited(limit)
        self.check_failed(done, self.out, "File too large")
        self.assertIn("checkpoint", done.stderr)
        self.assertEqual(self.checkpoints(self.out), ["0001", "0004"])
        self.finish_and_compare(self.out)

    def test_small_disk(self):
        self.check_small_disk(ranks=0)

    @unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
    def test_small_disk_under_all_ranks(self):
        self.check_small_disk(ranks=2)

    def check_small_disk(self, ranks):
        self.reference(every=2)
        disk = self.folder / "disk"
        disk.mkdir()
        # Room for the first half of the run; what the file system itself needs rounds that up a little.
        room = int(0.5 * (self.size("**/*.vdb") + self.size("checkpoints/**/*.h5"))) // 4096 * 4
        mount = lambda *words: subprocess.run(["mount", *words], capture_output=True).returncode == 0
        if not mount("-t", "tmpfs", "-o", f"size={room}k", "aegir_test", str(disk)):
            self.skipTest("mounting a small disk is not permitted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], capture_output=True)
        out = disk / "run"
        done = self.run_setup(self.setup_file, out=out, ranks=ranks, code=4)
        last = self.check_failed(done, out, "No space left on device")
        self.assertGreater(last, 2)
        self.run_setup(self.setup_file, "--resume", out=out, code=4)  # still full: the same end, nothing lost
        self.assertTrue(mount("-o", f"remount,size={20 * room}k", str(disk)))
        self.finish_and_compare(out)

    def test_full_before_the_first_frame(self):
        self.reference(every=2)
        done = self.run_setup(self.setup_file, code=None, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        self.assertIn(done.returncode, (2, 4), done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(self.frames(self.out) if self.out.exists() else [], [])
        self.finish_and_compare(self.out)

    @unittest.skipIf(os.geteuid() == 0, "nothing is read-only for root")
    def test_read_only_folder(self):
        self.reference(every=2)
        closed = self.folder / "closed"
        closed.mkdir(mode=0o500)
        done = self.run_setup(self.setup_file, out=closed / "run", code=2)
        self.assertIn("Permission denied", done.stderr)


if __name__ == "__main__":
    support.main()
