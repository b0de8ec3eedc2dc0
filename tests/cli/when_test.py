#!/usr/bin/env python3
"""Expressions that look at other Objects: `when` of transitions, sample() and distance(); the same bits, mass and momentum kept, messages with places."""
import re
import unittest

import support

# A ball falls into a tray; one expression says what breaks away, another what comes back.
SPLASH = """aegir: 1
timeline: {frames: [1, 9], substeps: {cfl: 2, max: 8}, checkpoint: {every: 2, keep: 100}}
setup:
  - gravity: earth
  - domain: tray
    box: {min: [-0.4, 0, -0.3], max: [0.4, 1.5, 0.3]}
    limits: {sides: wall, bottom: wall, top: open}
  - group: bulk
    behaviors:
      - hybrid: water
        voxel_size: 4 cm
        fill: {below: 12 cm, in: tray}
      - source: ball
        shape: {kind: sphere, center: [0, 30 cm, 0], radius: 10 cm}
        velocity: [0.5, -6 m/s, 0]
      - pressure: incompressible
  - group: spray
    behaviors:
      - particles: drops
        voxel_size: 6 cm
  - transition: breakaway
    from: bulk/water
    to: spray/drops
    when: "%(leaves)s"
    delay: 0.01
    split: {radius: [2 mm, 6 mm], most: 6}
  - transition: rejoin
    from: spray/drops
    to: bulk/water
    when: "%(rejoins)s"
    delay: 0.01
outputs:
  - points: cache
    attributes: [v, pscale, id]
"""

LEAVES = "@pressure_gradient < 0.15 * $density * $g && @neighbours < 12"
REJOINS = "distance('bulk/water') < 0"


def value_range(info, name):
    """The smallest and the greatest value of an attribute, as `aegir info` writes them."""
    return re.search(rf"\n +{name} +\S+ +(.*) … (.*)\n", info).groups()


class When(support.SameBits, support.AegirTest):
    FRAME_FILE = "bulk/water/water.points.{frame:04d}.vdb"

    def setUp(self):
        super().setUp()
        self.setup_file = self.write("splash.yaml", SPLASH % {"leaves": LEAVES, "rejoins": REJOINS})
        self.reference = self.folder / "reference"
        self.run_setup(self.setup_file, "--threads", 1, out=self.reference)

    def test_mass_and_momentum_are_kept(self):
        lines = self.stats(self.reference)
        water, drops = (lines[-1]["objects"][name] for name in ["bulk/water", "spray/drops"])
        left, back = drops["added"]["breakaway"], drops["removed"]["rejoin"]
        self.assertGreater(left, 0.02 * water["mass"])
        self.assertGreater(back, 0.02 * left)
        self.assertAlmostEqual(water["removed"]["breakaway"] / left, 1, delta=1e-6)
        self.assertAlmostEqual(water["added"]["rejoin"] / back, 1, delta=1e-6)
        whole = [line["objects"]["bulk/water"]["mass"] + line["objects"]["spray/drops"]["mass"] for line in lines]
        for line, mass in zip(lines, whole):
            gone = line["objects"]["bulk/water"].get("removed", {}).get("tray", 0)
            self.assertAlmostEqual((mass + gone) / whole[0], 1, delta=2e-6)
        for name in ["breakaway:momentum_error", "rejoin:momentum_error"]:
            self.assertLess(drops[name], 1e-6)


class Decisions(support.AegirTest):
    """What `when` says is what happens."""

    def run_with(self, leaves, rejoins=REJOINS, frames="1:5", *words):
        setup = self.write("s.yaml", SPLASH % {"leaves": leaves, "rejoins": rejoins})
        self.run_setup(setup, "--frames", frames, *words)
        return self.stats(self.out)[-1]["objects"]

    def test_false_takes_nobody_and_true_takes_all(self):
        none = self.run_with("false")
        self.assertEqual(none["spray/drops"]["particles"], 0)
        self.out = self.folder / "all"
        everything = self.run_with("true", "@age < 0")
        self.assertEqual(everything["bulk/water"]["particles"], 0)
        self.assertAlmostEqual(everything["spray/drops"]["mass"] / none["bulk/water"]["mass"], 1, delta=1e-5)

    def test_a_number_is_the_metric(self):
        """Beyond the threshold it says how finely particles split."""
        counts = {}
        for metric in ["0.45", "0.55", "1.0"]:
            self.out = self.folder / metric
            sizes = ["--set", "breakaway.split.most=40", "--set", "breakaway.split.radius=[5 mm, 12 mm]"]
            counts[metric] = self.run_with(metric, "false", "1:3", *sizes)["spray/drops"]["particles"]
        self.assertEqual(counts["0.45"], 0)
        self.assertGreater(counts["0.55"], 0)
        self.assertGreater(counts["1.0"], 1.4 * counts["0.55"])

    def test_distance_says_the_same_as_depth(self):
        """Half a cell below the surface is what `depth` asks for if nothing is said."""
        by_when = self.run_with(LEAVES, "@surface_distance < -0.02")
        text = SPLASH % {"leaves": LEAVES, "rejoins": ""}
        setup = self.write("t.yaml", text.replace('    when: ""\n', ""))
        self.out = self.folder / "depth"
        self.run_setup(setup, "--frames", "1:5")
        self.assertEqual(by_when["spray/drops"]["removed"], self.stats(self.out)[-1]["objects"]["spray/drops"]["removed"])


SECOND_PASS = """aegir: 1
timeline: {frames: [1, 8], substeps: 2, checkpoint: {every: 2, keep: 100}}
setup:
  - gravity: earth
  - cached: water
    from: first
    object: bulk/water
    voxel_size: 4 cm
  - particles: drops
    voxel_size: 6 cm
  - collider: ball
    shape: {kind: sphere, center: [0, 0.3, 0], radius: 20 cm}
  - transition: breakaway
    from: water
    to: drops
    when: "@neighbours < 8 && distance('ball') > -0.1"
    delay: 0.01
    split: {radius: [2 mm, 6 mm], most: 6}
  - transition: swallow
    from: drops
    to: water
    when: "@P.y < 0.12"
outputs:
  - points: cache
    objects: drops
"""


class SecondPass(support.AegirTest):
    def test_on_a_cached_liquid(self):
        self.run_setup(self.write("first.yaml", SPLASH % {"leaves": "false", "rejoins": "false"}), out=self.folder / "first")
        setup = self.write("second.yaml", SECOND_PASS)
        self.run_setup(setup, "--threads", 1)
        drops = self.stats(self.out)[-1]["objects"]["drops"]
        self.assertGreater(drops["particles"], 500)
        self.assertGreater(drops["removed"]["swallow"], 0)
        for ranks in [2, 4] if support.has_mpirun() else []:
            out = self.folder / f"ranks{ranks}"
            self.run_setup(setup, "--threads", 1, out=out, ranks=ranks)
            self.assert_same_run(self.out, out)
        out = self.folder / "parts"
        self.run_setup(setup, "--frames", "1:4", out=out)
        self.run_setup(setup, "--resume", out=out)
        self.assert_same_run(self.out, out)
        setup.write_text(SECOND_PASS.replace("@neighbours < 8", "f@heat > 8"))
        self.assertIn("second.yaml:16:13: 'when' knows P, v", self.aegir("check", setup, code=2).stderr)


SAMPLES = """aegir: 1
timeline: {frames: [1, 6], substeps: 2, checkpoint: {every: 2, keep: 100}}
setup:
  - gravity: earth
  - group: bulk
    behaviors:
      - pressure: p
      - hybrid: water
        voxel_size: 8 cm
      - source: fill
        shape: {kind: box, center: [-0.5, 0.4, 0], size: [1, 0.8, 1]}
      - domain: tank
        box: {min: [-1, 0, -0.5], max: [1, 2, 0.5]}
  - group: air
    behaviors:
      - particles: dust
        voxel_size: 11 cm
      - emitter: puff
        shape: {kind: box, center: [0, 0.6, 0], size: [2.4, 1.4, 1.2]}
        count: 4000
      - expression: carried
        fields: {ring: ring.vdb}
        code: |
          v@flow = sample("water", "vel", @P);
          f@depth = distance("bulk/water");
          f@p = sample("bulk/water", "pressure", {-@P.x, @P.y, @P.z});
          // Each place follows from the sample before it.
          vec3f x = v@P;
          for (int i = 0; i < 3; ++i) x -= 0.2 * normalize(sample("water", "vel", x) + {0.001, 0, 0});
          v@upstream = x;
          if (@depth < 0) v@v = v@flow;
          v@wind = sample("ring", "vel", 0.2 * @P);
          f@ball = distance("ball");
          if (@ball < 0) deletepoint();
  - expression: cells
    over: voxels
    code: f@ahead = sample("water", "pressure", @P + {0.5, 0, 0}) + distance("ball");
  - group: mask
    behaviors:
      - collider: ball
        shape: {kind: sphere, center: [0.3, 0.6, 0], radius: 20 cm}
outputs:
  - points: cache
    attributes: [v, id, flow, depth, p, upstream, wind, ball]
  - volumes: grids
    fields: [ahead]
"""


class Samples(support.SameBits, support.AegirTest):
    FRAME_FILE = "air/dust/dust.points.{frame:04d}.vdb"
    LAST_FRAME_OF_PART = [(3, 3), (2, 4), (0, 5)]
    ENDINGS = []

    def setUp(self):
        super().setUp()
        self.setup_file = self.write("samples.yaml", SAMPLES)
        self.write("ring.vdb", (support.REPOSITORY / "setups/geo/ring.vdb").read_bytes())
        self.reference = self.folder / "reference"
        self.run_setup(self.setup_file, "--threads", 1, out=self.reference)

    def test_it_is_worth_comparing(self):
        dust = self.stats(self.reference)[-1]["objects"]["air/dust"]
        self.assertGreater(dust["removed"]["air/carried"], 0)
        self.assertGreater(dust["max_speed"], 0.3)
        info = self.aegir("info", self.reference / "air/dust/dust.points.0006.vdb").stdout
        for name in ["flow", "depth", "p", "upstream", "wind", "ball"]:
            low, high = value_range(info, name)
            self.assertNotEqual(low, high, name)


POOL = """aegir: 1
timeline: {frames: [1, 4], substeps: 4}
setup:
  - group: bulk
    behaviors:
      - gravity: earth
      - pressure: p
      - hybrid: water
        voxel_size: 8 cm
        fill: {below: 80 cm, in: tank}
      - domain: tank
        box: {min: [-0.8, 0, -0.4], max: [0.8, 2, 0.4]}
  - group: probes
    behaviors:
      - particles: dust
      - emitter: puff
        shape: {kind: box, center: [0, 0.48, 0], size: [1.6, 0.96, 0.8]}
        count: 5000
      - expression: look
        stage: frame_end
        code: |
          float depth = 0.8 - @P.y;
          float d = distance("water");
          f@deep = d < -0.08;
          // Below the lowest cells' centres it is what they have.
          f@pressure_error = d < -0.08 && @P.y > 0.04 ? sample("water", "pressure", @P) - 1000 * 9.81 * depth : 0;
          f@distance_error = abs(depth) < 0.16 ? d + depth : 0;
          f@speed = length(sample("water", "vel", @P));
          f@ball_error = distance("ball") - (length(@P - {0.3, 0.6, 0}) - 0.2);
          v@far = sample("water", "vel", {1e30, 0, 0}) + sample("water", "vel", {0, 50, 0});
  - group: mask
    behaviors:
      - collider: ball
        shape: {kind: sphere, center: [0.3, 0.6, 0], radius: 20 cm}
outputs:
  - points: cache
    attributes: [deep, pressure_error, distance_error, speed, ball_error, far]
"""


class StillWater(support.AegirTest):
    """Hydrostatic rest, as probes in it see it: p = ρ g h, and the surface where it is."""

    def test_what_is_sampled_is_what_is_there(self):
        self.run_setup(self.write("pool.yaml", POOL))
        info = self.aegir("info", self.out / "probes/dust/dust.points.0004.vdb").stdout
        self.assertEqual(value_range(info, "deep"), ("0", "1"))
        for name, most in [("pressure_error", 0.25 * 0.08 * 9810), ("distance_error", 0.25 * 0.08), ("ball_error", 1e-6), ("speed", 0.05)]:
            for value in value_range(info, name):
                self.assertLess(abs(float(value)), most, name)
        self.assertEqual(value_range(info, "far"), ("(0, 0, 0)", "(0, 0, 0)"))


HEAD = """aegir: 1
setup:
- hybrid: water
- particles: drops
- transition: out
  from: water
  to: drops
"""  # seven lines


class Messages(support.AegirTest):
    def test_places(self):
        for node, says in [
            ('  when: "@neighbours < nothing(2)"\n', "s.yaml:8:24: "),
            ('  when: "@neighbours <"\n', "s.yaml:8:"),
            ("  when: |\n    @neighbours < 4 &&\n      nothing(2) > 1\n", "s.yaml:10:7: "),
            ("  when: \"@neighbours < 12; deletepoint()\"\n", "s.yaml:8:26: this is one expression"),
            ("  when: 1) + (2\n", "s.yaml:8:10: this is one expression"),
            ("  when: v@v\n", "s.yaml:8:"),
            ("  when: (f@age = 3) > 2\n", "s.yaml:8:11: 'when' only looks"),
            ("  when: \"@neigbours < 12\"\n", "did you mean 'neighbours'?"),
            ("  when: $height > 2\n", "s.yaml:8:9: there is no variable '$height'"),
            ("  when: neighbourcount(0.1) < 3\n", "s.yaml:8:9: neighbours cannot be searched here"),
            ("  when: distance('watr') < 0\n", "s.yaml:8:9: there is no Object 'watr' to sample; there is 'water'"),
            ("  when: sample('water', 'heat', @P) < 0\n", "s.yaml:8:9: there is no channel 'heat' of 'water'"),
        ]:
            with self.subTest(node=node):
                self.write("s.yaml", HEAD + node)
                self.assertIn(says, self.aegir("check", "s.yaml", code=2).stderr)

    def test_depth_and_when(self):
        self.write("s.yaml", HEAD.replace("from: water\n  to: drops", "from: drops\n  to: water") + "  depth: 0.5\n  when: 1\n")
        self.assertIn("give one of 'depth' and 'when'", self.aegir("check", "s.yaml", code=2).stderr)

    def test_stages_of_samples(self):
        for stage, code, says in [
            ("after_solve", 'f@d = distance("water");', "s.yaml:10:16: 'surface_distance' of 'water' can be sampled at 'after_move' and"),
            ("substep_begin", 'f@d = distance("ball");', "s.yaml:10:16: 'surface_distance' of 'ball' can be sampled after emission"),
        ]:
            with self.subTest(stage=stage):
                ball = "- collider: ball\n  shape: {kind: sphere}\n"
                self.write("s.yaml", HEAD[:HEAD.index("- transition")] + ball + f"- expression: x\n  stage: {stage}\n"
                           f"  objects: drops\n  code: '{code}'\n")
                self.assertIn(says, self.aegir("check", "s.yaml", code=2).stderr)


if __name__ == "__main__":
    support.main()
