#!/usr/bin/env python3
"""Liquid ⇄ droplets from outside: same bits for any threads, ranks and resumes; a second pass on a cached run; mistakes."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import support  # noqa: E402

SPLASH = """aegir: 1
note: a ball of water splashes over a post; droplets leave two liquids, rejoin one of them, and bounce off the post
timeline: {frames: [1, %(last)d], substeps: {cfl: 2, max: 16}, checkpoint: {every: 3, keep: 100}}
setup:
  - gravity: earth
  - domain: tray
    box: {min: [-0.48, 0, -0.48], max: [0.48, 1.2, 0.48]}
    limits: {sides: wall, bottom: wall, top: open}
  - collider: post
    shape: {kind: cylinder, center: [0.2, 0.1, 0], radius: 6 cm, height: 30 cm}
  - group: bulk
    behaviors:
      - hybrid: water
        voxel_size: 4 cm
        fill: {below: 12 cm, in: tray}
        attributes: {dye: 0.5}
      - source: ball
        shape: {kind: sphere, center: [0.1, 0.32, 0], radius: 12 cm}
        velocity: [0.5, -5, 0]
      - pressure: incompressible
  - group: jet
    behaviors:
      - hybrid: ink
        voxel_size: 3 cm
        transfer: apic
        fill: {shape: {kind: sphere, center: [-0.25, 0.7, 0.2], radius: 5 cm}}
        velocity: [1, 0, 0]
      - pressure: incompressible
  - group: spray
    behaviors:
      - particles: drops
        voxel_size: 5 cm
      - droplet_collisions: meet
  - transition: breakaway
    from: bulk/water
    to: spray/drops
    delay: 0.02
    speed: [0.5, 1]
    neighbours: [18, 8]
    threshold: {keys: {1: 0.3, 9: 0.4}}
    split: {radius: [2 mm, 8 mm], spread: {keys: {1: 0.2, 9: 0.8}}, amount: 1.1}
  - transition: drip
    from: ink
    to: drops
    delay: 0.02
    neighbours: [30, 20]
    split: {distribution: uniform, radius: [3 mm, 6 mm], amount: 0.8, weighting: 0.5}
  - transition: rejoin
    from: drops
    to: water
    delay: 0.02
    depth: 0.3
outputs:
  - points: points
    attributes: [v, id, pscale, mass, surface_distance, neighbours]
"""


def mass_of(line, *objects):
    return sum(line["objects"][name]["mass"] for name in objects)


class SameBits(support.SameBits, support.AegirTest):
    FRAME_FILE = "spray/drops/drops.points.{frame:04d}.vdb"

    def setUp(self):
        super().setUp()
        self.setup_file = self.write("splash.yaml", SPLASH % {"last": 9})
        self.reference = self.folder / "reference"
        self.run_setup(self.setup_file, "--threads", 1, out=self.reference)

    def test_the_setup_is_worth_comparing(self):
        """Droplets come from both liquids and go back, and the statistics tell how much."""
        lines = self.stats(self.reference)
        last = lines[-1]["objects"]
        drops, water, ink = last["spray/drops"], last["bulk/water"], last["jet/ink"]
        self.assertGreater(max(line["objects"]["spray/drops"]["particles"] for line in lines), 1000)
        for way in (drops["added"]["breakaway"], drops["added"]["drip"], drops["removed"]["rejoin"]):
            self.assertGreater(way, 0.01)
        for one, other in [(drops["added"]["breakaway"], water["removed"]["breakaway"]), (drops["added"]["drip"], ink["removed"]["drip"]),
                           (drops["removed"]["rejoin"], water["added"]["rejoin"])]:
            self.assertAlmostEqual(one / other, 1, delta=1e-6)
        for name in ("breakaway", "drip", "rejoin"):
            self.assertLess(drops[f"{name}:momentum_error"], 1e-6)
        whole = mass_of(lines[0], "bulk/water", "jet/ink", "spray/drops")
        for line in lines:
            self.assertAlmostEqual(mass_of(line, "bulk/water", "jet/ink", "spray/drops") / whole, 1, delta=1e-6)
        hashes = self.hashes(self.reference)
        self.assertEqual(len(hashes), 27)


FIRST = """aegir: 1
timeline: {frames: [1, 12], substeps: {cfl: 2, max: 16}}
setup:
  - gravity: earth
  - domain: tray
    box: {min: [-0.4, 0, -0.4], max: [0.4, 1, 0.4]}
    limits: {sides: wall, bottom: wall, top: open}
  - hybrid: water
    voxel_size: 4 cm
    fill: {below: 12 cm, in: tray}
  - source: ball
    shape: {kind: sphere, center: [0, 0.3, 0], radius: 10 cm}
    velocity: [0, -5, 0]
  - pressure: incompressible
outputs:
  - points: points
    attributes: [v, id, pscale, age, pressure_gradient]
"""
SECOND = """aegir: 1
timeline: {frames: [1, 12], substeps: 2, checkpoint: {every: 2, keep: 100}}
setup:
  - gravity: earth
  - cached: water
    from: first
    voxel_size: 4 cm
  - particles: drops
    voxel_size: 4 cm
  - transition: breakaway
    from: water
    to: drops
    neighbours: [14, 5]
    pressure_gradient: [5000, 1000]
    split: {radius: [2 mm, 8 mm]}
  - transition: sink_in
    from: drops
    to: water
    delay: 0.02
outputs:
  - points: points
    objects: drops
"""


class SecondPass(support.AegirTest):
    def setUp(self):
        super().setUp()
        self.run_setup(self.write("first.yaml", FIRST), out=self.folder / "first")
        self.cache = self.hashes(self.folder / "first")

    def test_droplets_of_a_finished_run(self):
        """Each particle makes its droplets once, nothing is taken from the cache, and the program says so."""
        setup = self.write("second.yaml", SECOND)
        reference = self.folder / "reference"
        done = self.run_setup(setup, "--threads", 1, out=reference)
        for said in ["'water' is a cached run: droplets are made beside its particles, and nothing is taken from it",
                     "'water' is a cached run: droplets that fall into it are taken away, and it is given nothing"]:
            self.assertIn(said, done.stdout + done.stderr)
        explained = self.aegir("explain", setup).stdout
        for said in ["cached: nothing is taken from it", "cached: it is given nothing"]:
            self.assertIn(said, explained)
        lines = self.stats(reference)
        drops = [line["objects"]["drops"] for line in lines]
        self.assertGreater(drops[-1]["particles"], 50)
        made, taken = drops[-1]["added"]["breakaway"], drops[-1]["removed"]["sink_in"]
        self.assertGreater(taken, 0.02 * made)
        self.assertAlmostEqual((drops[-1]["mass"] + taken) / made, 1, delta=1e-6)
        self.assertEqual(list(lines[-1]["objects"]), ["drops"])
        water = (0.8 * 0.8 * 0.12 + 4.19 * 0.1 ** 3) * 1000
        self.assertLess(made, 0.5 * water, "particles make droplets again and again")
        self.assertEqual(self.hashes(self.folder / "first"), self.cache)
        self.run_setup(setup, "--frames", "1:5", "--threads", 2)
        self.run_setup(setup, "--resume", "--threads", 2, ranks=2 if support.has_mpirun() else 0)
        self.assert_same_run(reference, self.out)

    def test_a_cache_without_what_is_asked_for(self):
        setup = self.write("second.yaml", SECOND.replace("pressure_gradient: [5000, 1000]", "surface_distance: [-0.01, 0]"))
        done = self.run_setup(setup, code=2)
        self.assertIn("the cached run 'water' has no 'surface_distance'", done.stderr)
        self.assertIn("(points: attributes)", done.stderr)


HEAD = """aegir: 1
setup:
  - hybrid: water
    voxel_size: 4 cm
    fill: {shape: {kind: sphere}}
  - pressure: incompressible
  - particles: drops
  - transition: t
"""


class Mistakes(support.AegirTest):
    def test_each_has_its_place(self):
        """Line 9 is the first parameter of the transition."""
        cases = [
            ("    from: water\n", "8:5", "'transition' needs 'to'"),
            ("    from: water\n    to: dropz\n", "10:9", "'to' names 'dropz', but there is no Object with particles of that name"),
            ("    from: watr\n    to: drops\n", "9:11", "did you mean 'water'"),
            ("    from: water\n    to: water\n", "10:9", "'water' and 'water' are both liquids"),
            ("    from: drops\n    to: drops\n", "10:9", "'drops' and 'drops' are both particles"),
            ("    from: water\n    to: drops\n    neighbours: [5, 5]\n", "8:5", "the two numbers of 'neighbours' must differ"),
            ("    from: water\n    to: drops\n    speed: [2 m, 3 m]\n", "11:13", "m/s"),
            ("    from: water\n    to: drops\n    threshold: 0\n", "11:16", "threshold"),
            ("    from: water\n    to: drops\n    threshold: 1.5\n", "11:16", "threshold"),
            ("    from: water\n    to: drops\n    depth: 0.5\n", "8:5", "'depth' is for droplets that rejoin a liquid"),
            ("    from: drops\n    to: water\n    split: {amount: 1}\n", "8:5", "'split' is for liquid that breaks away"),
            ("    from: water\n    to: drops\n    split: {radius: [5 mm, 1 mm]}\n", "11:12", "'radius' gives the smallest first"),
            ("    from: water\n    to: drops\n    split: {radius: [0, 1 mm]}\n", "11:22", "radius"),
            ("    from: water\n    to: drops\n    split: {radius: [-1 mm, 1 mm]}\n", "11:22", "radius"),
            ("    from: water\n    to: drops\n    split: {most: 0}\n", "11:19", "most"),
            ("    from: water\n    to: drops\n    split: {distribution: cubic}\n", "11:27", "inverse_cubic"),
        ]
        for text, place, says in cases:
            with self.subTest(text=text.strip().splitlines()[-1]):
                done = self.aegir("check", self.write("wrong.yaml", HEAD + text), code=2)
                self.assertIn(says, done.stderr)
                self.assertIn(f"wrong.yaml:{place}:", done.stderr)
                self.run_setup("wrong.yaml", code=2)
                self.assertFalse(self.out.exists(), "something is written")


if __name__ == "__main__":
    support.main()
