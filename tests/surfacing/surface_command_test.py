#!/usr/bin/env python3
"""`aegir surface` and the output `surface`: files that other programs read, sub-frames, ranks, bad input."""
import math
import random
import shutil
import struct
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import support  # noqa: E402


def point_ply(points, names=("x", "y", "z"), binary=True):
    """A PLY file of points; every point is a tuple of numbers, `id` is written as a whole number."""
    kind = "binary_little_endian" if binary else "ascii"
    head = f"ply\nformat {kind} 1.0\nelement vertex {len(points)}\n"
    head += "".join(f"property {'int' if n == 'id' else 'float'} {n}\n" for n in names) + "end_header\n"
    if not binary:
        return (head + "".join(" ".join(map(str, p)) + "\n" for p in points)).encode()
    form = "<" + "".join("i" if n == "id" else "f" for n in names)
    return head.encode() + b"".join(struct.pack(form, *p) for p in points)


ALL = ("x", "y", "z", "vx", "vy", "vz", "pscale", "id", "age")


def block(time=0.0, count=10, spacing=0.1):
    """A block of jittered particles that moves to the right and grows older."""
    rows, number = [], 0
    rng = random.Random(4)
    for i in range(count):
        for j in range(count):
            for k in range(count):
                x, y, z = ((c + rng.random()) * spacing for c in (i, j, k))
                rows.append((x + 2.4 * time, y, z, 2.4, 0, 0, 0.62 * spacing, number, time + x))
                number += 1
    return rows


class Surface(support.AegirTest):
    def setUp(self):
        super().setUp()
        for frame in range(1, 5):
            self.write(f"block.{frame:04}.ply", point_ply(block(frame / 24), ALL))

    def surface(self, *words, out=None, **options):
        return self.aegir("surface", *words, "-o", out or self.out, **options)

    def made(self, out=None):
        return sorted(p.name for p in (out or self.out).iterdir()) if (out or self.out).exists() else []

    def test_level_sets_and_meshes_of_a_sequence(self):
        done = self.surface("block.$F4.ply", "--mesh", "ply", "--attributes", "age", "--threads", 1)
        self.assertEqual(self.made(), [f"surface.{kind}.{f:04}.{e}" for kind, e in (("mesh", "ply"), ("volumes", "vdb")) for f in range(1, 5)])
        for word in ("frame", "particles", "eta", "done", "4 surfaces"):
            self.assertIn(word, done.stdout)
        info = self.aegir("info", self.out / "surface.volumes.0002.vdb").stdout
        for word in ("grid      surface: float, level set", "grid      vel: vec3s", "grid      age: float"):
            self.assertIn(word, info)
        header = (self.out / "surface.mesh.0002.ply").read_bytes()[:600].decode("latin1")
        for name in ("vx", "vy", "vz", "age"):
            self.assertIn(f"property float {name}\n", header)
        # The block is one metre wide; the mesh as `info` reads it agrees.
        self.assertIn("mesh", self.aegir("info", self.out / "surface.mesh.0002.ply").stdout)

    def test_every_grid_opens_in_vdb_print(self):
        if not shutil.which("vdb_print"):
            self.skipTest("vdb_print is not installed (Debian: libopenvdb-tools)")
        self.surface("block.0001.ply", "--attributes", "age", "--naming", "blender")
        done = subprocess.run(["vdb_print", "-l", self.out / "surface.volumes.0001.vdb"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("Name: phi", "Name: velocity", "Name: age", "class: level set", "aegir_location: cell", "voxel size:", "creator: Aegir"):
            self.assertIn(word, done.stdout)

    def test_methods_and_filters(self):
        sizes = set()
        for method in ("spheres", "zhu_bridson", "solenthaler", "ellipsoids"):
            out = self.folder / method
            self.surface("block.0001.ply", "--method", method, "--mesh", "obj", "--no-volumes", out=out)
            text = (out / "surface.mesh.0001.obj").read_text()
            self.assertIn("\n#v 2.4", text)
            self.assertGreater(text.count("\nf "), 1000)
            sizes.add(len(text))
        self.assertEqual(len(sizes), 4)
        self.surface("block.0001.ply", "--filter", "gaussian:width=2,never_raise", "--filter", "dilate:distance=1.5,attribute=age,full=1",
                     "--filter", "median", "--voxel-size", "4cm", "--band", 4, "--sphericity", 0.3, "--normalisation", "global",
                     "--droplet-neighbours", "2:8", "--smoothing", 0.9, "--half")
        self.assertEqual(self.made(), ["surface.volumes.0001.vdb"])

    def test_adaptive_meshes_are_smaller_and_say_what_they_lack(self):
        self.surface("block.0001.ply", "--mesh", "ply", "--no-volumes", out=self.folder / "even")
        self.surface("block.0001.ply", "--mesh", "ply", "--no-volumes", "--adaptivity", 0.6, out=self.folder / "coarse")
        size = [(self.folder / name / "surface.mesh.0001.ply").stat().st_size for name in ("even", "coarse")]
        self.assertLess(size[1], 0.7 * size[0])

    def test_sub_frames_by_id(self):
        self.surface("block.$F4.ply", "--frames", "2:3", "--shutter", "0,0.5", "--mesh", "ply", "--no-volumes")
        self.assertEqual(self.made(), ["surface.mesh.0002.ply", "surface.mesh.0002_500.ply", "surface.mesh.0003.ply", "surface.mesh.0003_500.ply"])
        left = [self.left_end(self.out / name) for name in self.made()]
        for i in range(3):  # 2.4 m/s at 24 frames per second: 5 cm per half frame
            self.assertAlmostEqual(left[i + 1] - left[i], 0.05, delta=0.012)
        done = self.surface("block.$F4.ply", "--shutter", "0:0.5", code=2)
        self.assertIn("OPEN:CLOSE:COUNT", done.stderr)
        self.write("bare.0001.ply", point_ply([p[:3] for p in block()]))
        self.write("bare.0002.ply", point_ply([p[:3] for p in block()]))
        self.assertIn("no 'id'", self.surface("bare.$F4.ply", "--shutter", "0.5", code=2).stderr)

    @staticmethod
    def left_end(path):
        data = path.read_bytes()
        head, body = data.split(b"end_header\n", 1)
        count = int(head.split(b"element vertex ")[1].split()[0])
        stride = 4 * head.count(b"property float")
        return min(struct.unpack_from("<f", body, i * stride)[0] for i in range(count))

    @unittest.skipUnless(support.has_mpirun(), "mpirun is not installed")
    def test_ranks_share_frames(self):
        one, three = self.folder / "one", self.folder / "three"
        self.surface("block.$F4.ply", "--mesh", "ply", "--shutter", "0,0.25", out=one)
        done = self.surface("block.$F4.ply", "--mesh", "ply", "--shutter", "0,0.25", out=three, ranks=3)
        self.assertIn("8 surfaces", done.stdout)
        self.assertEqual(self.made(one), self.made(three))
        for name in self.made(one):
            self.assertEqual(self.aegir("info", "--hash", one / name).stdout.split()[0], self.aegir("info", "--hash", three / name).stdout.split()[0], name)

    def test_threads_do_not_matter(self):
        for threads in (1, 2, 7):
            self.surface("block.0003.ply", "--mesh", "ply", "--threads", threads, out=self.folder / str(threads))
        for name in self.made(self.folder / "1"):
            hashes = {self.aegir("info", "--hash", self.folder / str(t) / name).stdout.split()[0] for t in (1, 2, 7)}
            self.assertEqual(len(hashes), 1, name)

    def test_progress_for_farms_and_programs(self):
        self.assertIn("ALF_PROGRESS 50%", self.surface("block.$F4.ply", "--progress", "alf").stdout)
        self.assertIn("openjd_progress: 100", self.surface("block.$F4.ply", "--progress", "openjd").stdout)
        self.assertIn('"event":"surface"', self.surface("block.$F4.ply", "--progress", "json").stdout)

    def test_points_that_cannot_be_used_are_skipped_and_said(self):
        rows = block()
        rows[5] = (math.nan, *rows[5][1:])
        rows[6] = (rows[6][0], math.inf, *rows[6][2:])
        rows[7] = (*rows[7][:6], 0.0, *rows[7][7:])
        self.write("bad.ply", point_ply(rows, ALL))
        out = self.surface("bad.ply").stdout
        self.assertIn("2 of 1000 particles are left out: position or radius is no finite number", out)
        self.assertIn("1 of 1000 particles are left out: their radius is zero", out)
        self.write("bare.ply", point_ply([p[:3] for p in rows[10:]]))
        self.assertIn("the particles have no radius (pscale); 0.0", self.surface("bare.ply").stdout)
        self.write("none.ply", point_ply([], ALL))
        self.assertIn("there are no particles; the surface is empty", self.surface("none.ply", "--mesh", "ply").stdout)

    def test_bad_input_ends_with_a_message_and_writes_nothing(self):
        rows = block()
        rows[7] = (*rows[7][:6], 1e9, *rows[7][7:])
        self.write("huge.ply", point_ply(rows, ALL))
        self.write("empty.vdb", b"")
        self.write("text.vdb", b"this is no VDB file at all, but long enough to look at")
        self.write("cut.ply", point_ply(block(), ALL)[:-100])
        self.write("odd.ply", point_ply([(0, 0, 0, 1)], ("x", "y", "q", "w")))
        for words, code, text in [
            (["huge.ply"], 4, "the largest particle has a radius of 1e+09 m"),
            (["empty.vdb"], 4, "it is empty"),
            (["text.vdb"], 4, "neither OpenVDB points nor a PLY file"),
            (["cut.ply"], 4, "cut.ply"),
            (["odd.ply"], 4, "vertices need the properties x, y and z"),
            (["missing.vdb"], 4, "missing.vdb: it does not exist"),
            (["missing.$F4.vdb"], 4, "no file for any frame"),
            (["block.$F4.ply", "--frames", "80:90"], 2, "no points between frames 80 and 90"),
            (["block.0001.ply", "--attributes", "agee"], 2, "no attribute 'agee'; did you mean 'age'?"),
            (["block.0001.ply", "--filter", "medain"], 2, "did you mean 'median'?"),
            (["block.0001.ply", "--filter", "mean:widht=2"], 2, "did you mean 'width'?"),
            (["block.0001.ply", "--filter", "mean:width=9"], 2, "it must be 1 to 4"),
            (["block.0001.ply", "--filter", "mean:attribute=nothing"], 2, "no attribute 'nothing'"),
            (["block.0001.ply", "--filter", "mean:volume=nothing.vdb"], 4, "nothing.vdb"),
            (["block.0001.ply", "--voxel-size", "3 kg"], 2, "--voxel-size"),
            (["block.0001.ply", "--sphericity", 0], 2, "sphericity is 0"),
            (["block.0001.ply", "--adaptivity", 2], 2, "adaptivity is 2"),
            (["block.0001.ply", "--method", "blobs"], 2, "--method"),
            (["block.0001.ply", "--no-volumes"], 2, "leaves nothing to write"),
        ]:
            with self.subTest(words=words):
                self.assertIn(text, self.surface(*words, code=code).stderr)
                self.assertEqual(self.made(), [])

    def test_a_full_name_and_several_objects(self):
        self.write("spray.0001.ply", point_ply([(2 + i, 0.5, 0.5, 0, 0, 0, 0.03, i, 0) for i in range(5)], ALL))
        done = self.surface("block.0001.ply", "spray.0001.ply", "--name", "skin", "--progress", "json")
        self.assertIn('"particles":1005', done.stdout)
        self.assertEqual(self.made(), ["skin.volumes.0001.vdb"])


SETUP = """aegir: 1
timeline: {fps: 24, frames: [1, 3], substeps: {cfl: 2, max: 64}}
setup:
  - gravity: earth
  - domain: box
    box: {min: [0, 0, 0], max: [1 m, 1 m, 1 m]}
    limits: {sides: wall, bottom: wall, top: wall}
  - hybrid: water
    voxel_size: 6 cm
    fill: {shape: {kind: box, center: [0.3 m, 0.3 m, 0.5 m], size: [0.6 m, 0.6 m, 1 m]}}
  - pressure: incompressible
outputs:
  - surface: skin
    mesh: ply
    attributes: [age]
"""


# Two Objects, and one surface for each kind of setting.
MANY = SETUP.split("outputs:")[0].replace("  - pressure: incompressible\n", """  - pressure: incompressible
  - group: spray
    behaviors:
      - particles: drops
        voxel_size: 6 cm
      - emitter: cloud
        shape: {kind: sphere, center: [60 cm, 60 cm, 50 cm], radius: 25 cm}
        count: 800
        spread: 1 m/s
        radius: [5 mm, 3 cm]
""") + """outputs:
  - surface: skin
    mesh: ply
    attributes: [age]
  - surface: drops_alone
    objects: spray/drops
    method: spheres
    filters: []
    half: true
  - surface: averages
    method: zhu_bridson
    mesh: obj
    filters: [{kind: gaussian, width: 2, iterations: 2, never_raise: true}, {kind: median}]
  - surface: slopes
    method: solenthaler
    naming: blender
    band: 5
    filters: [{kind: dilate, distance: 2.5}, {kind: mean_curvature, iterations: 10}, {kind: erode, distance: 2.5}]
  - surface: adaptive
    mesh: ply
    adaptivity: 0.5
    normalisation: 1
    attributes: [age, pscale]
  - surface: masked
    mesh: ply
    level_set: false
    voxel_size: 4 cm
    filters:
      - {kind: mean, width: 2, mask: {attribute: v, full: 2}}
      - {kind: gaussian, spare_droplets: true, iterations: 2, mask: {volume: mask.vdb, grid: surface}}
"""


class SurfaceOutput(support.AegirTest):
    def test_every_frame_of_a_run_has_its_surface(self):
        self.run_setup(self.write("s.yaml", SETUP))
        names = sorted(p.name for p in (self.out / "skin").iterdir())
        self.assertEqual(names, [f"skin.{kind}.{f:04}.{e}" for kind, e in (("mesh", "ply"), ("volumes", "vdb")) for f in (1, 2, 3)])
        self.assertRegex(self.aegir("explain", "s.yaml").stdout, r"output +surface +skin")

    @unittest.skipUnless(support.has_mpirun(), "mpirun is not installed")
    def test_the_same_surfaces_on_any_number_of_ranks(self):
        """Ranks make the surface together, and the files have the bytes that one process writes."""
        self.run_setup(self.write("mask.yaml", SETUP), "--set", "timeline.frames=[1,1]", out=self.folder / "mask")
        shutil.copy(self.folder / "mask/skin/skin.volumes.0001.vdb", self.folder / "mask.vdb")
        setup = self.write("s.yaml", MANY)
        surfaces = ["skin", "drops_alone", "averages", "slopes", "adaptive", "masked"]
        self.run_setup(setup, "--threads", 1, out=self.folder / "one")
        hashes = lambda out: {f"{s}/{f.name}": self.aegir("info", "--hash", f).stdout.split()[0] for s in surfaces for f in sorted((out / s).iterdir())}
        expected = hashes(self.folder / "one")
        self.assertEqual(len(expected), 3 * 9)
        for ranks in (2, 3, 4):
            out = self.folder / str(ranks)
            self.run_setup(setup, "--threads", 1, out=out, ranks=ranks)
            self.assertEqual(hashes(out), expected, f"{ranks} ranks")

    def test_mistakes_are_said_before_anything_runs(self):
        for change, text in [("mesh: ply", "mesh: stl"), ("attributes: [age]", "attributes: [agee]"), ("mesh: ply", "objects: wine"),
                             ("mesh: ply", "droplet_neighbours: [9, 3]"), ("mesh: ply", "level_set: false"), ("mesh: ply", "sphericity: 0")]:
            with self.subTest(text=text):
                self.write("bad.yaml", SETUP.replace(change, text))
                self.assertIn("bad.yaml:", self.aegir("check", "bad.yaml", code=2).stderr)


if __name__ == "__main__":
    support.main()
