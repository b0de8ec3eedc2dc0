#!/usr/bin/env python3
"""A run leaves Aegir: as PLY, and into Blender, where surface and droplets are there and what moves is blurred. The
latter is skipped where Blender is missing."""
import json
import os
import shutil
import struct
import subprocess
import unittest
import zlib

import support

SCRIPT = str(support.REPOSITORY / "blender" / "open_run.py")

FALL = """aegir: 1
timeline: {fps: 24, frames: [1, 3]}
setup:
  - gravity: earth
  - collider: shelf
    shape: {kind: box, center: [0, -1, 0], size: [1, 0.1, 1]}
  - hybrid: water
    voxel_size: 10 cm
    velocity: [6, 0, 0]
    fill: {shape: {kind: sphere, center: [0, 0.3, 0], radius: 0.4}}
  - pressure: incompressible
  - particles: drops
    voxel_size: 20 cm
  - emitter: spray
    into: [drops]
    shape: {kind: sphere, center: [0.2, 1, 0], radius: 0.3}
    count: 40
    radius: [2 cm, 2 cm]
    velocity: [-6, 0, 0]
outputs:
  - points: cache
"""


def grey_pixels(path):
    """Rows of grey values of an 8-bit RGB or RGBA PNG."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed, width, channels = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, _, depth, color = struct.unpack(">IIBB", chunk[:10])
            channels = {2: 3, 6: 4}[color]
            assert depth == 8
        elif kind == b"IDAT":
            packed += chunk
        at += 12 + size
    raw, stride, before, rows = zlib.decompress(packed), width * channels, bytes(width * channels), []
    for start in range(0, len(raw), stride + 1):
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride):
            left, up = (line[i - channels] if i >= channels else 0), before[i]
            corner = before[i - channels] if i >= channels else 0
            estimate = left + up - corner
            paeth = min((left, up, corner), key=lambda v, e=estimate: abs(e - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) % 256
        before = bytes(line)
        rows.append([sum(line[i:i + 3]) / 3 for i in range(0, stride, channels)])
    return rows


def sharpness(rows, together=5):
    """Mean square step from a pixel to the next along x. Blur spreads a step over pixels: their sum stays, their squares
    fall. Noise is lowered by averaging rows."""
    means = [[sum(column) / together for column in zip(*rows[i:i + together])] for i in range(0, len(rows), together)]
    return sum((b - a) ** 2 for row in means for a, b in zip(row, row[1:])) / len(means)


class ExportsAsPly(support.AegirTest):
    def test_points_and_colliders_of_a_frame(self):
        self.run_setup(self.write("fall.yaml", FALL))
        said = self.aegir("export", self.out, "--frames", "2:2").stdout
        self.assertIn("1 frames, 3 new files", said)
        data = (self.out / "export" / "drops.points.0002.ply").read_bytes()
        header, body = data.split(b"end_header\n", 1)
        names = [line.split()[-1].decode() for line in header.splitlines() if line.startswith(b"property float")]
        self.assertEqual(names[:6], ["x", "y", "z", "vx", "vy", "vz"])
        self.assertIn(b"element vertex 40\n", header)
        drops = [dict(zip(names, row)) for row in struct.iter_unpack(f"<{len(names)}f", body)]
        self.assertEqual(len(drops), 40)
        for drop in drops:  # they fly freely for one frame
            self.assertAlmostEqual(drop["radius"], 0.02, places=6)
            self.assertAlmostEqual(drop["vx"], -6, places=5)
            self.assertAlmostEqual(drop["vy"], -9.80665 / 24, places=4)
        with open(self.out / "export" / "scene.json", encoding="utf-8") as file:
            scene = json.load(file)
        self.assertEqual(sorted(p["name"] for p in scene["points"]), ["drops", "water"])
        self.assertEqual([c["name"] for c in scene["colliders"]], ["shelf"])
        again = self.aegir("export", self.out, "--frames", "2:2").stdout
        self.assertIn("1 frames, 0 new files", again, "files that are there are kept")

    def test_mistakes_are_said(self):
        self.assertIn("is no run directory", self.aegir("export", "nothing", code=2).stderr)
        self.run_setup(self.write("fall.yaml", FALL))
        self.assertIn("no frames", self.aegir("export", self.out, "--frames", "9:9", code=2).stderr)


@unittest.skipUnless(shutil.which("blender"), "Blender is not installed")
class OpensInBlender(support.AegirTest):
    def blender(self, *words):
        done = subprocess.run(["blender", "-b", "-P", SCRIPT, "--", *words, "--aegir", support.AEGIR], text=True,
                              capture_output=True, check=False, timeout=support.PATIENCE)
        said = [line for line in done.stdout.splitlines() if line.startswith("open_run: ")]
        return done, said[-1] if said else ""

    def test_a_moving_frame_is_blurred(self):
        self.run_setup(self.write("fall.yaml", FALL))
        run, skin = str(self.out), str(self.folder / "skin")
        self.aegir("surface", self.out / "water" / "water.points.$F4.vdb", "-o", skin, "--mesh", "ply", "--name", "water")
        pictures = {}
        for shutter in ("0", "0.8"):
            picture = str(self.folder / f"shutter_{shutter}.png")
            done, said = self.blender(run, "--surfaces", skin, "--points", "--frame", "2", "--size", "160x90", "--samples",
                                      "32", "--shutter", shutter, "--render", picture)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(picture), done.stdout + done.stderr)
            self.assertIn("drops points 40 vertices", said)
            self.assertRegex(said, r"water \d\d\d+ vertices")
            self.assertIn("shelf", said)
            pictures[shutter] = sharpness(grey_pixels(picture))
        self.assertLess(pictures["0.8"], 0.75 * pictures["0"], "the picture with an open shutter is as sharp")
        with open(os.path.join(run, "export", "scene.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["frames"], [1, 3])

    def test_a_frame_whose_neighbours_were_not_written_is_blurred(self):
        every_second = FALL.replace("- points: cache", "- points: cache\n    every: 2").replace("[1, 3]", "[1, 4]")
        self.run_setup(self.write("fall.yaml", every_second))
        picture = str(self.folder / "fourth.png")
        done, said = self.blender(str(self.out), "--frame", "4", "--size", "160x90", "--samples", "4", "--shutter", "0.8",
                                  "--render", picture)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(os.path.exists(picture), done.stdout + done.stderr)
        self.assertIn("drops points 40 vertices", said)

    def test_no_run_is_said(self):
        done, _ = self.blender(str(self.folder / "nothing"))
        self.assertIn("is no run directory", done.stderr)


if __name__ == "__main__":
    support.main()
