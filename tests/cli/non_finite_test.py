#!/usr/bin/env python3
"""A state that is not finite ends the run with exit code 3, naming object, channel and frame; the state before is in a checkpoint."""
import re
import resource
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


MORE = """  - air_drag: air
  - attractor: center
  - collider: block
    shape: {kind: box, center: [0, -2, 0]}
  - lifespan: span
"""
ABSURD = {
    "slow frames": ["timeline.fps=1e-300"],
    "tiny voxels": ["drops.voxel_size=1e-300"],
    "small voxels": ["drops.voxel_size=1e-9"],
    "huge voxels": ["drops.voxel_size=1e300"],
    "tiny radius": ["nozzle.radius=[1e-300, 1e-300]"],
    "huge radius": ["nozzle.radius=[1e300, 1e300]"],
    "heavy": ["nozzle.density=1e300"],
    "light": ["nozzle.density=1e-300"],
    "thick air": ["air.air_viscosity=1e300"],
    "far attractor": ["center.center=[1e300, 1e300, 1e300]"],
    "strong attractor": ["center.strength=1e300", "center.softening=0"],
    "soft attractor": ["center.softening=1e300"],
    "far collider": ["block.translate=[1e308, -1e308, 0]"],
    "fast collider": ["block.translate={keys: {1: [-1e308, 0, 0], 3: [1e308, 0, 0]}}"],
    "rough collider": ["block.friction=1e300"],
    "far emitter": ["nozzle.translate=[1e300, 0, 0]"],
    "spread": ["nozzle.spread=1e300"],
    "old": ["span.span=1e300"],
    "short": ["span.span=1e-300"],
    "far apart keys": ["block.translate={keys: {1: [0, 0, 0], 1000000000: [1, 0, 0]}}"],
    "far apart smooth keys": ["block.translate={keys: {1: [0, 0, 0], 1000000000: [1, 0, 0]}, interpolation: smooth}"],
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

    def test_absurd_numbers(self):
        """Whatever numbers pass the ranges of their parameters, the run ends in words."""
        limits = {resource.RLIMIT_CPU: 30} if support.has_sanitizer() else {resource.RLIMIT_CPU: 30, resource.RLIMIT_AS: 8 << 30}
        for name, words in ABSURD.items():
            with self.subTest(absurd=name):
                setup = self.write("setup.yaml", support.rain().replace("outputs:", MORE + "outputs:"))
                out = self.folder / name.replace(" ", "_")
                done = self.run_setup(setup, *(w for word in words for w in ("--set", word)), "--frames", "1:3", out=out, code=None,
                                      preexec_fn=lambda: [resource.setrlimit(which, (most, most)) for which, most in limits.items()])
                self.assertIn(done.returncode, (0, 2, 3, 5), done.stderr)
                self.assertNotIn("bug in Aegir", done.stderr)
                self.assertEqual(self.leftovers(out) if out.exists() else [], [])

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
