#!/usr/bin/env python3
"""Law: sand's run gives the same bits for any number of threads and ranks, and after it was killed or stopped."""

import shutil
import tempfile
from pathlib import Path

import support

COLUMN = """aegir: 1
note: a column of sand falls over a ramp and a moving board; others, one that opens and one of Zhu's model, do not see it
timeline: {frames: [1, %(last)d], substeps: {cfl: 1, max: 32}, checkpoint: {every: 3, keep: 100}}
inputs:
  board: board.ply
setup:
  - gravity: earth
  - domain: tray
    box: {min: [-0.8, 0, -0.32], max: [0.8, 1, 0.32]}
    limits: {sides: wall, bottom: wall, top: open}
    friction: 0.5
  - collider: ramp
    shape: {kind: plane, center: [0.25, 0, 0], axis: [-0.4, 1, 0.1]}
    friction: 0.6
  - collider: board
    input: board
    translate: {keys: {1: [-0.4, 0.1, 0], 9: [-0.37, 0.1, 0]}}
    rotate: {keys: {1: [0, 0, 0], 9: [0, 0, 15 deg]}}
    friction: 0.3
  - group: damp
    behaviors:
      - hybrid: dune
        voxel_size: 4 cm
        density: 1600
        fill: {shape: {kind: box, center: [0, 0.2, 0], size: [0.7, 0.4, 0.6]}}
        attributes: {grip: 0.6}
        rest: true
      - pressure: incompressible
      - sand: grains
        friction_angle: {attribute: grip}
        cohesion: {keys: {1: 0 Pa, 5: 40 Pa}}
  - group: dry
    behaviors:
      - hybrid: heap
        voxel_size: 4 cm
        density: 1500
        fill: {shape: {kind: sphere, center: [-0.4, 0.5, 0], radius: 0.2}}
      - pressure: incompressible
      - sand: grains
        friction_angle: {keys: {1: 25 deg, 9: 40 deg}}
        tension: none
  - group: plain
    behaviors:
      - hybrid: lump
        voxel_size: 4 cm
        transfer: pic
        fill: {shape: {kind: box, center: [0.4, 0.5, 0], size: [0.24, 0.2, 0.24]}}
      - pressure: incompressible
      - sand: grains
        model: zhu
outputs:
  - points: points
    attributes: [v, id, rest]
  - volumes: volumes
    fields: [surface, vel, pressure]
"""


def write_column(test, last=9):
    test.write("board.ply", support.box_ply((0.12, 0.2, 0.5)))
    return test.write("column.yaml", COLUMN % {"last": last})


class OneReference(support.SameBits):
    """All tests of a class compare with one run, which the first of them makes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = Path(tempfile.mkdtemp(prefix="aegir_test_"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.setup_file = self.write_setup()
        self.reference = self.shared / "reference"
        if not self.reference.exists():
            self.run_setup(self.setup_file, "--threads", 1, out=self.reference)

    def assert_frames(self, count):
        self.assertEqual(len(self.frames(self.reference)), count)
        hashes = self.hashes(self.reference)
        self.assertEqual(len(set(hashes.values())), len(hashes), "frames that differ have the same hash")


class SameBits(OneReference, support.AegirTest):
    FRAME_FILE = "damp/dune/dune.volumes.{frame:04d}.vdb"

    def write_setup(self):
        return write_column(self)

    def test_the_setup_is_worth_comparing(self):
        lines = self.stats(self.reference)
        dune, heap = ([line["objects"][name] for line in lines] for name in ("damp/dune", "dry/heap"))
        self.assertGreater(dune[-1]["particles"], 15000)
        self.assertGreater(heap[-1]["particles"], 2000)
        for sand in (dune, heap):
            self.assertLess(sand[-1]["friction_work"], 0, "there is no friction")
            self.assertGreater(max(o["rigid_cells"] for o in sand), 8, "nothing is rigid")
            self.assertGreater(max(o["max_speed"] for o in sand), 0.5)
            for before, after in zip(sand, sand[1:]):
                self.assertLessEqual(after["friction_work"], before["friction_work"], "friction adds energy")
        self.assertGreater(len({o["rigid_cells"] for o in dune}), 4)
        self.assertGreater(len({line["objects"]["plain/lump"]["rigid_cells"] for line in lines}), 4)
        self.assertGreater(len({round(line["dt"], 9) for line in lines}), 2, "the substeps do not adapt")
        self.assert_frames(6 * 9)


PLANE = """aegir: 1
note: a block of damp sand slides down a plane that leans along two axes and moves, another of dry sand rests beside it
timeline: {frames: [1, 9], substeps: {cfl: 1, max: 16}, checkpoint: {every: 3, keep: 100}}
setup:
  - gravity: earth
  - collider: plane
    shape: {kind: plane, center: [0, 0, 0], axis: [0.5, 1, -0.3]}
    translate: {keys: {1: [0, 0, 0], 9: [0, 0.02, 0.01]}}
    friction: 0.3
  - group: damp
    behaviors:
      - hybrid: block
        voxel_size: 3 cm
        density: 1600
        fill: {shape: {kind: sphere, center: [0, 0.1, 0], radius: 0.3}}
      - pressure: incompressible
      - sand: grains
        cohesion: 2 kPa
  - group: dry
    behaviors:
      - hybrid: heap
        voxel_size: 3 cm
        density: 1600
        fill: {shape: {kind: sphere, center: [-0.6, 0.35, 0], radius: 0.15}}
      - pressure: incompressible
      - sand: grains
        friction_angle: 40 deg
        tension: none
outputs:
  - points: points
    attributes: [v, id]
  - volumes: volumes
    fields: [surface, vel, pressure]
"""


class SameBitsOnATiltedPlane(OneReference, support.AegirTest):
    """Contacts in the cells that a plane cuts, what they keep from substep to substep, and the turns of pressure and friction in the
    first."""

    FRAME_FILE = "damp/block/block.volumes.{frame:04d}.vdb"

    def write_setup(self):
        return self.write("plane.yaml", PLANE)

    def test_the_setup_is_worth_comparing(self):
        lines = self.stats(self.reference)
        block, heap = ([line["objects"][name] for line in lines] for name in ("damp/block", "dry/heap"))
        self.assertGreater(block[-1]["particles"], 10000)
        for sand in (block, heap):
            self.assertLess(sand[-1]["friction_work"], 0, "there is no friction")
            self.assertGreater(max(o["rigid_cells"] for o in sand), 8, "nothing is rigid")
        self.assertGreater(block[-1]["momentum"][0], 0.1 * block[-1]["mass"], "it does not slide")
        self.assert_frames(4 * 9)


BOX = """aegir: 1
timeline: {frames: [1, 5], substeps: {cfl: 1, max: 16}}
setup:
  - domain: box
    box: {min: [0, 0, 0], max: [2, 0.6, 0.6]}
    friction: 0.5
"""
SAND = """  - hybrid: dune
    voxel_size: 4 cm
    fill: {shape: {kind: box, center: [0.3, 0.1, 0.3], size: [0.2, 0.2, 0.2]}}
    velocity: [%s, 0, 0]
  - pressure: incompressible
  - sand: grains
"""


class Odd(support.AegirTest):
    """Setups that are not wrong but leave friction little to do."""

    def test_without_gravity(self):
        """Nothing presses it on the floor: at rest it rests, and moving it keeps what it has."""
        for speed in (0, 1):
            with self.subTest(speed=speed):
                out = self.folder / f"speed{speed}"
                # Without the correction of crowding, which presses grains apart and so on the floor.
                still = (BOX + SAND % speed).replace("incompressible\n", "incompressible\n    density_correction: false\n")
                self.run_setup(self.write("weightless.yaml", still), out=out)
                dunes = [line["objects"]["dune"] for line in self.stats(out)]
                self.assertEqual(len({o["particles"] for o in dunes}), 1)
                for before, after in zip(dunes, dunes[1:]):
                    self.assertLessEqual(after["friction_work"], before["friction_work"])
                self.assertAlmostEqual(dunes[-1]["max_speed"], speed, delta=1e-3)
                self.assertAlmostEqual(dunes[-1]["momentum"][0], speed * dunes[0]["mass"], delta=1e-4 * dunes[0]["mass"])
                self.assertAlmostEqual(dunes[-1]["friction_work"], 0, delta=1e-6)

    def test_without_a_pressure(self):
        """Nothing presses grains together: it says so once, and goes on."""
        done = self.run_setup(self.write("loose.yaml", (BOX + SAND % 0).replace("  - pressure: incompressible\n", "")))
        self.assertEqual((done.stdout + done.stderr).count("add a 'pressure' to its group"), 1, done.stdout + done.stderr)

    def test_without_a_hybrid(self):
        """It has nothing to act on, takes no part, and says why."""
        setup = self.write("none.yaml", BOX + "  - particles: p\n  - sand: grains\n")
        self.assertIn("grains (sand): no hybrid object in its group", self.aegir("check", setup).stdout)
        self.run_setup(setup)

    def test_an_attribute_that_is_not_there(self):
        setup = self.write("attribute.yaml", BOX + SAND % 0 + "    friction_angle: {attribute: grip}\n")
        done = self.aegir("check", setup)
        self.assertIn("'dune' has no attribute 'grip'; its default is used", done.stdout + done.stderr)


if __name__ == "__main__":
    support.main()
