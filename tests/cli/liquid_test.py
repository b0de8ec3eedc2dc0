#!/usr/bin/env python3
"""Law: a liquid's run gives the same bits for any number of threads and ranks, and after it was killed or stopped."""
import json
import math
import os
import signal
import subprocess
import unittest

import support

TANK = """aegir: 1
note: everything that a liquid can meet, in two liquids that do not see each other
timeline: {frames: [1, %(last)d], substeps: {cfl: 1, max: 32}, checkpoint: {every: 2, keep: 100}}
inputs:
  paddle: paddle.ply
  flag: {file: geo/flag.$F4.ply, motion: deforming}
setup:
  - gravity: earth
  - domain: tank
    box: {min: [0, 0, 0], max: [1.03, 0.9, 0.62]}
    limits: {top: open}
  - collider: paddle
    input: paddle
    translate: [0.55, 0.25, 0.3]
    rotate: {keys: {1: [0, 0, 0], 13: [0, 0, 360 deg]}}
    friction: 0.2
  - collider: flag
    input: flag
  - collider: plate
    shape: {kind: rectangle, center: [0.8, 0.15, 0.31], size: [0.5, 1, 0.7], axis: [1, 0, 0]}
  - group: lively
    behaviors:
      - hybrid: water
        voxel_size: 4 cm
        fill: {below: 20 cm}
        reseed: {minimum: 6, maximum: 13}
        velocity: [0.5, 0, 0.2]
      - pressure: incompressible
        overrides: {plate: {solids: no_slip}, paddle: {solids: friction}}
      - viscosity: thin
        dynamic: 0.5
      - wind_drag: gust
        velocity: {keys: {1: [0, 0, 0], 4: [8 m/s, 0, 2 m/s]}}
        mask: {attribute: surface_distance, remap: [1, 0]}
        mask_shape: {kind: sphere, center: [0.4, 0.4, 0.3], radius: 0.3}
        mask_falloff: 20 cm
      - source: tap
        shape: {kind: cylinder, center: [0.2, 0.6, 0.3], radius: 6 cm, height: 0.1, axis: [1, 0.2, 0]}
        mode: continuous
        velocity: [1, 0.2, 0]
        flux: {keys: {1: 0.01, 6: 0.03}}
        translate: {keys: {1: [0, 0, 0], 9: [0, 0.1, 0.1]}}
      - source: spring
        shape: {kind: sphere, center: [0.5, 0.08, 0.3], radius: 8 cm}
        mode: continuous
        velocity: [0.1, 0.5, 0]
      - sink: drain
        shape: {kind: box, center: [0.95, 0.05, 0.3], size: [0.1, 0.1, 0.2]}
  - group: smooth
    behaviors:
      - hybrid: oil
        voxel_size: 5 cm
        transfer: apic
        density: 900
        reseed: {minimum: 7, maximum: 14}
        fill: {shape: {kind: sphere, center: [0.4, 0.4, 0.3], radius: 0.2}}
      - pressure: leaving
        solids: separating
      - source: blob
        shape: {kind: sphere, center: [0.9, 0.5, 0.3], radius: 8 cm}
outputs:
  - points: points
    attributes: [v, pscale, id, age, surface_distance, density, vorticity, pressure_gradient, neighbours, travelled]
  - volumes: volumes
    fields: [surface, vel, pressure, solid, vorticity, density, pressure_gradient]
"""


def flag_ply(phase, cells=6):
    """A waving open sheet that stands in the water."""
    at = lambda i: i / cells
    vertices = [(0.3 + 0.04 * math.sin(6 * at(j) + phase), 0.05 + 0.3 * at(i), 0.1 + 0.4 * at(j)) for j in range(cells + 1) for i in range(cells + 1)]
    index = lambda i, j: j * (cells + 1) + i
    return support.ply(vertices, [(index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1)) for j in range(cells) for i in range(cells)])


def write_tank(test, last=7):
    test.write("paddle.ply", support.box_ply((0.3, 0.06, 0.5)))
    for frame in range(1, 8):
        test.write(f"geo/flag.{frame:04d}.ply", flag_ply(0.5 * frame))
    return test.write("tank.yaml", TANK % {"last": last})


class SameBits(support.SameBits, support.AegirTest):
    LAST_FRAME_OF_PART = [(3, 4), (2, 5), (0, 6)]
    ENDINGS = [(signal.SIGKILL, 2), (signal.SIGTERM, 3), (signal.SIGTERM, 5)]
    FRAME_FILE = "lively/water/water.volumes.{frame:04d}.vdb"

    def setUp(self):
        super().setUp()
        self.setup_file = write_tank(self)
        self.reference = self.folder / "reference"
        self.run_setup(self.setup_file, "--threads", 1, out=self.reference)

    def test_the_setup_is_worth_comparing(self):
        lines = self.stats(self.reference)
        water = [line["objects"]["lively/water"] for line in lines]
        self.assertGreater(water[-1]["particles"], 12000)
        self.assertGreater(water[-1]["removed_particles"], 200, "the sink takes nothing")
        self.assertGreater(lines[-1]["objects"]["smooth/oil"]["particles"], 2000)
        self.assertGreater(len({round(line["dt"], 9) for line in lines}), 2, "the substeps do not adapt")
        self.assertEqual({solve["name"] for line in lines for solve in line["solves"]},
                         {"lively/water viscosity", "lively/water pressure", "smooth/oil pressure"})
        files = self.frames(self.reference)
        self.assertEqual(len(files), 4 * 7)
        hashes = self.hashes(self.reference)
        self.assertEqual(len(set(hashes.values())), len(hashes), "frames that differ have the same hash")
        about = self.aegir("info", self.reference / "lively/water/water.volumes.0007.vdb").stdout
        for grid in ("surface", "vel", "pressure", "solid", "vorticity", "density", "pressure_gradient"):
            self.assertRegex(about, rf"grid +{grid}: .* [1-9]\d* active voxels")
        first = self.aegir("info", self.reference / "smooth/oil/oil.volumes.0001.vdb").stdout
        for grid in ("surface", "solid"):  # it rests, and nothing has been solved yet
            self.assertRegex(first, rf"grid +{grid}: .* [1-9]\d* active voxels")


class Inputs(support.AegirTest):
    def test_changed_inputs_are_named(self):
        setup = write_tank(self, last=3)
        self.run_setup(setup, "--frames", "1:2")
        inputs = json.loads((self.out / "run.json").read_text())["inputs"]
        self.assertEqual(sorted(inputs), ["flag", "paddle"])
        self.assertEqual(len(inputs["flag"]), 7)
        for files in inputs.values():
            for hashed in files.values():
                self.assertRegex(hashed, "^[0-9a-f]{32}$")
        again = self.run_setup(setup, "--resume", "--frames", "1:2")
        self.assertNotIn("changed", again.stdout)
        self.write("geo/flag.0003.ply", flag_ply(9))
        self.write("geo/flag.0008.ply", flag_ply(10))
        done = self.run_setup(setup, "--resume")
        self.assertRegex(done.stdout, r"changed input 'flag': flag\.0003\.ply; new: flag\.0008\.ply\n")
        self.assertNotIn("paddle", done.stdout)
        self.assertNotEqual(inputs["flag"], json.loads((self.out / "run.json").read_text())["inputs"]["flag"])


POOL = """aegir: 1
timeline: {frames: [1, 4], substeps: {cfl: 2, max: %(max)d}}
setup:
  - gravity: earth
  - domain: box
    box: {min: [0, 0, 0], max: [1, 1, 0.5]}
    limits: {top: wall}
  - hybrid: water
    voxel_size: 5 cm
    fill: {below: 0.3}
    velocity: [%(speed)g, 0, 0]
  - pressure: p
  - collider: ball
    shape: {kind: sphere, center: [0.5, 0.3, 0.25], radius: 10 cm}
    translate: {keys: {1: [0, 0, 0], 2: [0, 0, 0], 3: [%(way)g, 0, 0]}}
outputs:
  - points: cache
"""


class FastThings(support.AegirTest):
    """Whatever is too fast for the substeps is named, and no liquid is lost."""

    def run_pool(self, **numbers):
        setup = self.write("pool.yaml", POOL % {"max": 64, "speed": 0, "way": 0, **numbers})
        done = self.run_setup(setup)
        lines = self.stats(self.out)
        self.assertEqual(len({line["objects"]["water"]["particles"] for line in lines}), 1, "liquid was lost")
        return done.stdout + done.stderr, lines

    def test_solid_within_the_cap(self):
        said, lines = self.run_pool(way=0.3)
        self.assertNotIn("per substep", said)
        self.assertGreaterEqual(sum(line["frame"] == 3 for line in lines), 3, "the solid's speed asks for no substeps")

    def test_solid_beyond_the_cap(self):
        said, lines = self.run_pool(way=0.3, max=1)
        self.assertEqual(said.count("collider 'ball' moves 6 cells of 'water' per substep"), 1, said)
        self.assertIn("timeline.substeps.max to 6", said)
        self.assertEqual(len(lines), 4)

    def test_liquid_beyond_the_cap(self):
        said, lines = self.run_pool(speed=20, max=2)
        self.assertRegex(said, r"the liquid moves [\d.]+ cells of 'water' per substep, more than timeline\.substeps\.cfl = 2")
        self.assertLessEqual(said.count("the liquid moves"), 3, "more than one warning in a frame")
        self.assertEqual(len(lines), 1 + 3 * 2)


class Odd(support.AegirTest):
    """Sources that bring nothing say so; a mesh that is inside out is taken as it was meant."""

    HEAD = """aegir: 1
timeline: {frames: [1, 3]}
inputs: {m: m.ply}
setup:
  - domain: d
    box: {min: [0, 0, 0], max: [1, 1, 1]}
  - collider: block
    shape: {kind: box, center: [0.5, 0.2, 0.5], size: [0.6, 0.3, 0.6]}
  - hybrid: w
    voxel_size: 10 cm
    fill: %(fill)s
  - pressure: p
"""

    def run_odd(self, rest="", fill="{shape: {kind: sphere, center: [0.5, 0.7, 0.5], radius: 0.2}}"):
        corners = [tuple(0.5 + (0.2 if i >> a & 1 else -0.2) for a in range(3)) for i in range(8)]
        self.write("m.ply", support.ply(corners, [(1, 3, 2, 0), (6, 7, 5, 4), (4, 5, 1, 0), (3, 7, 6, 2), (2, 6, 4, 0), (5, 7, 3, 1)]))
        setup = self.write("odd.yaml", self.HEAD % {"fill": fill} + rest)
        out = self.folder / str(len(list(self.folder.iterdir())))
        done = self.run_setup(setup, out=out)
        return done.stdout + done.stderr, [line["objects"]["w"]["particles"] for line in self.stats(out)]

    def test_sources_that_bring_nothing(self):
        _, still = self.run_odd()
        self.assertEqual(len(set(still)), 1)
        for where in ("center: [0.5, 0.2, 0.5], radius: 0.1", "center: [0.5, 0.9, 0.5], radius: 1 mm", "center: [5, 5, 5], radius: 0.2"):
            for mode in ("", "    mode: continuous\n    velocity: [1, 0, 0]\n    flux: 0.1\n"):
                with self.subTest(where=where, mode=mode):
                    said, counts = self.run_odd(f"  - source: s\n    shape: {{kind: sphere, {where}}}\n{mode}")
                    self.assertIn("source 's' holds no liquid: it is smaller than a particle, inside a solid, or outside the domain", said)
                    self.assertEqual(counts[0], still[0])

    def test_fill_that_is_empty(self):
        said, counts = self.run_odd(fill="{shape: {kind: sphere, center: [0.5, 0.2, 0.5], radius: 0.1}}")
        self.assertIn("'w': its 'fill' holds no liquid", said)
        self.assertEqual(set(counts), {0})

    def test_a_mesh_inside_out(self):
        said, counts = self.run_odd(fill="{input: m}")
        self.assertIn("mesh 'm.ply' is inside out", said)
        self.assertGreater(counts[0], 300)
        self.assertEqual(len(set(counts)), 1)


DAM = """aegir: 1
timeline: {frames: [1, 3], substeps: {cfl: 2}}
expose: {voxel: 20 cm, transfer: flip}
setup:
  - gravity: earth
  - domain: box
    box: {min: [0, 0, 0], max: [2, 1, 1]}
  - hybrid: water
    voxel_size: ${voxel}
    transfer: ${transfer}
    fill: {shape: {kind: box, center: [0.4, 0.375, 0.5], size: [0.8, 0.75, 1]}}
  - pressure: p
"""


class Memory(support.AegirTest):
    """What a run takes at most is told before it starts, within 30 %."""

    def measured(self, *words):
        """(forecast, resident at the end of frames, the most that was resident at a time) in bytes."""
        said = self.folder / "events"
        with said.open("w") as events:
            process = subprocess.Popen(self.command("run", self.write("dam.yaml", DAM), "--no-output", "--progress", "json", *words),
                                       cwd=self.folder, stdout=events)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        events = [json.loads(line) for line in said.read_text().splitlines()]
        needed = next(e["memory_needed"] for e in events if e["event"] == "forecast")
        return needed, max(e["memory_bytes"] for e in events if e["event"] == "frame"), usage.ru_maxrss * 1024

    @unittest.skipIf(support.has_sanitizer(), "sanitizers need more")
    def test_forecast(self):
        _, program, _ = self.measured()  # with a handful of particles
        for transfer in ("flip", "apic"):
            for voxel in ("2.2 cm", "1.6 cm"):
                with self.subTest(transfer=transfer, voxel=voxel):
                    needed, _, most = self.measured("--set", f"voxel={voxel}", "--set", f"transfer={transfer}", "--threads", 2)
                    self.assertLess(abs(needed / (most - program) - 1), 0.3, f"{needed} expected, {most - program} taken")

    def test_more_than_there_is(self):
        done = self.run_setup(self.write("dam.yaml", DAM), "--set", "voxel=0.3 mm", code=5)
        self.assertRegex(done.stderr, r"the run needs [\d.]+ TiB of memory .* available")
        self.assertFalse(self.out.exists())

    def test_a_flux_is_counted(self):
        """Also a keyed one; a domain holds no more than fits into it."""
        pour = ("  - source: tap\n    shape: {kind: sphere, center: [1, 0.8, 0.5], radius: 5 cm}\n    mode: continuous\n"
                "    velocity: [0, -1, 0]\n    flux: {keys: {1: 0, 3: 1}}\n")
        setup = self.write("pour.yaml", DAM + pour)
        needed = lambda *words: int(json.loads(next(l for l in self.aegir("run", setup, "--no-output", "--progress", "json", "--frames", "1:1", *words).stdout.splitlines()
                                                    if '"forecast"' in l))["memory_needed"])
        still, flowing = needed("--set", "tap.flux=0", "--set", "voxel=5 cm"), needed("--set", "voxel=5 cm")
        self.assertGreater(flowing, 1.05 * still)
        self.assertAlmostEqual(needed("--set", "voxel=5 cm", "--set", "tap.flux=1e9") / still, 2 / 0.6, delta=0.1)


if __name__ == "__main__":
    support.main()
