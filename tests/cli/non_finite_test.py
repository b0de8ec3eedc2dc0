#!/usr/bin/env python3
"""A state that is not finite ends the run with exit code 3, naming object, channel and frame; the state before is in a checkpoint."""
import re
import unittest

import support

SETUP = """aegir: 1
timeline: {frames: [1, 12], substeps: 2, checkpoint: {every: 2, keep: 10}}
setup:
  - particles: calm
    voxel_size: 10 cm
  - emitter: still
    into: calm
    shape: {kind: sphere, radius: 10 cm}
    count: 50
  - group: wild
    behaviors:
      - particles: sparks
        voxel_size: 10 cm
      - emitter: burst
        shape: {kind: sphere, center: [0, 1, 0], radius: 10 cm}
        count: 200
        %s
outputs:
  - points: cache
"""

# What goes wrong, and whether it happens only after some good frames.
CAUSES = {
    "sudden gravity": ("rate: 100\n      - gravity: jolt\n        acceleration: {keys: {1: [0, 0, 0], 6: [0, -1e39, 0]}, interpolation: step}", True),
    "growing gravity": ("rate: 100\n      - gravity: pull\n        acceleration: {keys: {1: [0, -10, 0], 4: [0, -10, 0], 8: [0, -1e300, 0]}}", True),
    "attractor": ("rate: 100\n      - attractor: hole\n        center: [0, 1, 0]\n        strength: {keys: {5: 0, 6: 1e300}, interpolation: step}", True),
    "fast emitter": ("velocity: [1e38, 1e38, 0]", False),
    "fast emitter later": ("rate: 1000\n        velocity: {keys: {1: [0, 0, 0], 5: [0, 3e38, 3e38]}, interpolation: step}", True),
    "beyond single precision": ("velocity: [1e300, 0, 0]", False),
    "wind": ("rate: 100\n      - wind_drag: storm\n        velocity: {keys: {1: [0, 0, 0], 6: [1e38, 1e38, 1e38]}, interpolation: step}", True),
}


class NonFinite(support.AegirTest):
    def check(self, cause, ranks=0):
        parameters, later = CAUSES[cause]
        setup = self.write("setup.yaml", SETUP % parameters)
        out = self.folder / f"{cause.replace(' ', '_')}_{ranks}"
        done = self.run_setup(setup, "--threads", 1, out=out, ranks=ranks, code=3)
        self.assertNotIn("bug in Aegir", done.stderr)
        said = re.search(r"object 'wild/sparks': .*channel '?(P|v|pscale|mass|age)\b.* not finite .*in frame (\d+)", done.stderr)
        self.assertTrue(said, done.stderr)
        frame = int(said.group(2))
        self.assertEqual(self.leftovers(out), [])
        written = {self.frame_number(name) for name in self.frames(out)}
        self.assertEqual(written, set(range(1, frame)), "frames up to the one that failed")
        for name in self.frames(out):
            self.aegir("info", name, cwd=out)
        if not later:
            return
        self.assertGreater(frame, 4)
        before = self.checkpoints(out)
        self.assertTrue(before)
        for checkpoint in before:
            self.assertLess(int(checkpoint.split(".")[0]), frame)
            text = self.aegir("info", out / "checkpoints" / checkpoint).stdout
            self.assertIn("wild/sparks", text)
        # Going on from there with the same setup comes to the same end.
        self.run_setup(setup, "--resume", out=out, code=3)

    def test_causes(self):
        for cause in CAUSES:
            with self.subTest(cause=cause):
                self.check(cause)

    @unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
    def test_all_ranks_end(self):
        self.check("sudden gravity", ranks=2)

    def test_the_remedy_works(self):
        """A run that failed goes on from its checkpoint once the setup is mended."""
        setup = self.write("setup.yaml", SETUP % CAUSES["sudden gravity"][0])
        self.run_setup(setup, code=3)
        setup.write_text(setup.read_text().replace("-1e39", "-100"))
        done = self.run_setup(setup, "--resume")
        self.assertIn("changed", done.stdout)
        self.assertEqual(len(self.frames(self.out)), 2 * 12)


if __name__ == "__main__":
    support.main()
