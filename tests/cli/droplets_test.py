#!/usr/bin/env python3
"""Law: colliding droplets give the same bits for any number of threads and ranks, and after they were killed or stopped;
mass and momentum are kept."""

import support

JETS = """aegir: 1
note: two jets meet in the air above a moving ball; a third, of another group, bounces and does not see them
timeline: {frames: [1, 9], substeps: {cfl: 3, max: 32}, checkpoint: {every: 3, keep: 100}}
setup:
  - gravity: earth
  - air_drag: air
  - collider: ball
    shape: {kind: sphere, center: [0, 0, 0], radius: 6 cm}
    translate: {keys: {1: [0, -8 cm, 0], 9: [0, 8 cm, 0]}}
    restitution: 0.2
  - group: jets
    behaviors:
      - particles: drops
        voxel_size: 2 cm
      - emitter: left
        shape: {kind: disc, center: [-30 cm, 0, 0], axis: [1, 1, 0], radius: 3 cm}
        rate: 20000
        velocity: [2 m/s, 2 m/s, 0]
        spread: 0.5 m/s
        radius: [1 mm, 3 mm]
      - emitter: right
        shape: {kind: disc, center: [30 cm, 0, 0], axis: [-1, 1, 0], radius: 3 cm}
        rate: 20000
        velocity: [-2 m/s, 2 m/s, 0.1 m/s]
        spread: 0.5 m/s
        radius: [1 mm, 3 mm]
        seed: 2
      - droplet_collisions: meet
        surface_tension: {keys: {1: 0.072, 9: 0.02}}
        delay: 20 ms
  - group: other
    behaviors:
      - particles: oil
        voxel_size: 2 cm
      - emitter: cloud
        shape: {kind: sphere, center: [0, 30 cm, 0], radius: 10 cm}
        count: 3000
        spread: 0.4 m/s
        radius: [2 mm, 4 mm]
      - droplet_collisions: meet
        bounce: true
        neighbourhood: overlap
outputs:
  - points: points
    attributes: [v, id, pscale, mass]
"""


class SameBits(support.SameBits, support.AegirTest):
    FRAME_FILE = "jets/drops/drops.points.{frame:04d}.vdb"

    def setUp(self):
        super().setUp()
        self.setup_file = self.write("jets.yaml", JETS)
        self.reference = self.folder / "reference"
        self.run_setup(self.setup_file, "--threads", 1, out=self.reference)

    def test_the_setup_is_worth_comparing(self):
        last = self.stats(self.reference)[-1]["objects"]
        drops, oil = last["jets/drops"], last["other/oil"]
        for outcome in ("droplets_merged", "droplets_stretched", "droplets_reflexed"):
            self.assertGreater(drops[outcome], 20, outcome)
        self.assertGreater(drops["satellites"], 100)
        self.assertEqual(drops["droplets_bounced"], 0)
        self.assertGreater(oil["droplets_bounced"], 20)
        self.assertEqual(len(self.frames(self.reference)), 2 * 9)


CLOUD = """aegir: 1
timeline: {frames: [1, 13], substeps: {cfl: 3, max: 32}}
setup:
  - particles: drops
    voxel_size: 1 cm
  - emitter: cloud
    shape: {kind: sphere, center: [0, 0, 0], radius: 8 cm}
    count: 20000
    velocity: [1, 2, 3]
    spread: %s
    radius: [0.5 mm, 2 mm]
  - droplet_collisions: meet
    delay: 0
    surface_tension: %s
"""


class Conservation(support.AegirTest):
    def test_mass_and_momentum_of_a_cloud(self):
        """No forces: mass, momentum and the centre of mass's velocity stay; kinetic energy only falls."""
        for spread, tension in [("0.3 m/s", 0.072), ("5 m/s", 0.072), ("5 m/s", 0.72)]:
            with self.subTest(spread=spread, tension=tension):
                out = self.folder / f"cloud{spread[0]}{tension}"
                self.run_setup(self.write("cloud.yaml", CLOUD % (spread, tension)), out=out)
                lines = [line["objects"]["drops"] for line in self.stats(out)]
                first, last = lines[0], lines[-1]
                self.assertGreater(last["droplets_merged"] + last["droplets_stretched"] + last["droplets_reflexed"], 1000)
                self.assertAlmostEqual(last["mass"], first["mass"], delta=1e-6 * first["mass"])
                size = first["mass"] * (14**0.5 + float(spread.split()[0]))
                for a in range(3):
                    self.assertAlmostEqual(last["momentum"][a], first["momentum"][a], delta=1e-6 * size)
                for before, after in zip(lines, lines[1:]):
                    self.assertLessEqual(after["kinetic_energy"], before["kinetic_energy"] * (1 + 1e-6))


class Odd(support.AegirTest):
    def test_without_particles(self):
        setup = self.write("none.yaml", "aegir: 1\ntimeline: {frames: [1, 2]}\nsetup:\n  - droplet_collisions: meet\n")
        self.assertIn("meet (droplet_collisions): no particle Object in its group", self.aegir("check", setup).stdout)

    def test_droplets_that_are_too_fast_for_the_grid(self):
        fast = (CLOUD % ("60 m/s", 0.072)).replace("cfl: 3, max: 32", "cfl: 40, max: 4")
        done = self.run_setup(self.write("fast.yaml", fast))
        self.assertEqual((done.stdout + done.stderr).count("collisions beyond that are missed"), 1, done.stdout + done.stderr)

    def test_all_at_one_point(self):
        point = (CLOUD % ("1 m/s", 0.072)).replace("radius: 8 cm", "radius: 0.001 mm").replace("[1, 13]", "[1, 4]")
        done = self.run_setup(self.write("point.yaml", point))
        self.assertEqual((done.stdout + done.stderr).count("are so crowded that they are not compared"), 1, done.stdout + done.stderr)
        last = self.stats(self.out)[-1]["objects"]["drops"]
        self.assertGreater(last["droplets_merged"], 100)


if __name__ == "__main__":
    support.main()
