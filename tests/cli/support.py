"""What the end-to-end tests share: calling the program, comparing runs, small meshes and setups.

The program under test is named by the environment variable AEGIR; each script also runs alone:

    AEGIR=build/release/apps/aegir/aegir python3 tests/cli/resume_test.py [unittest arguments]
"""
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

AEGIR = os.path.abspath(os.environ.get("AEGIR", "build/release/apps/aegir/aegir"))
REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 300  # seconds after which a program is taken to hang

MPI_FLAGS = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
# More ranks than cores must give way to each other, and containers often forbid reading another process's memory.
MPI_ENVIRONMENT = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}


def has_mpirun():
    return shutil.which("mpirun") is not None


def has_sanitizer():
    return any(name in Path(AEGIR).read_bytes() for name in (b"__asan_init", b"__tsan_init"))


class AegirTest(unittest.TestCase):
    """A test with a folder of its own and words for what users do with the program."""

    maxDiff = 4000

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="aegir_test_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out"

    # ---- calling ----

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def command(self, *words, ranks=0):
        launcher = ["mpirun", *MPI_FLAGS, "-n", str(ranks)] if ranks else []
        return [*launcher, AEGIR, *map(str, words)]

    def aegir(self, *words, ranks=0, code=0, **options):
        """Calls the program to its end and checks its exit code (None: any)."""
        options.setdefault("cwd", self.folder)
        done = subprocess.run(self.command(*words, ranks=ranks), capture_output=True, text=True, timeout=PATIENCE,
                              env={**os.environ, **MPI_ENVIRONMENT}, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
        return done

    def run_setup(self, setup, *words, out=None, **options):
        return self.aegir("run", setup, "-o", out or self.out, *words, **options)

    def start(self, setup, *words, out=None, ranks=0):
        """Starts a run and returns at once; the process ends with the test."""
        process = subprocess.Popen(self.command("run", setup, "-o", out or self.out, *words, ranks=ranks), cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **MPI_ENVIRONMENT})
        self.addCleanup(self.put_down, process)
        return process

    @staticmethod
    def put_down(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process, code):
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, code, output[-2000:] + errors[-3000:])
        return output, errors

    def wait_until(self, process, happened, what):
        """Looks again and again until something happens while a process is alive."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if process.poll() is not None:
                self.fail(f"the run ended before {what}: " + "".join(process.communicate())[-3000:])
            if time.monotonic() > deadline:
                self.fail(f"no sign of {what}")
            time.sleep(0.001)

    # ---- looking at a run directory ----

    @staticmethod
    def frames(out):
        """Every cache file, as paths inside the run directory."""
        return sorted(str(p.relative_to(out)) for p in Path(out).glob("**/*") if p.suffix in (".vdb", ".ply") and not p.name.startswith("."))

    @staticmethod
    def frame_number(name):
        return int(name.rsplit(".", 2)[1])

    def hashes(self, out):
        """{file: hash of what it means} of a run directory."""
        files = self.frames(out)
        self.assertTrue(files, f"no frames in {out}")
        lines = self.aegir("info", "--hash", *files, cwd=out).stdout.splitlines()
        found = {line[34:]: line[:32] for line in lines}
        self.assertEqual(sorted(found), files)
        return found

    @staticmethod
    def stats(out, times=False):
        """The lines of stats.jsonl; without what differs from machine to machine unless asked for."""
        lines = [json.loads(line) for line in (Path(out) / "stats.jsonl").read_text().splitlines()]
        for line in [] if times else lines:
            del line["memory_bytes"]
            line.pop("ranks", None)
            line["tasks"] = sorted(line["tasks"])
            for solve in line["solves"]:
                del solve["seconds"]
        return lines

    @staticmethod
    def checkpoints(out):
        folder = Path(out) / "checkpoints"
        return sorted(p.name for p in folder.iterdir() if not p.name.startswith(".")) if folder.is_dir() else []

    @staticmethod
    def leftovers(out):
        """Temporary files and unfinished checkpoints."""
        return [str(p.relative_to(out)) for p in Path(out).glob("**/.*") if p.name != ".lock"]

    def assert_same_run(self, one, other):
        self.assertEqual(self.hashes(one), self.hashes(other))
        for a, b in zip(self.stats(one), self.stats(other)):
            self.assertEqual(a, b)
        self.assertEqual(len(self.stats(one)), len(self.stats(other)))

    def assert_tidy(self, out):
        self.assertEqual(self.leftovers(out), [])
        self.assertFalse((Path(out) / ".lock").exists(), "the lock is still there")

    def lock_owner(self, out):
        """Process number of the run that is at work in a directory; 0 if none is."""
        try:
            return json.loads((Path(out) / ".lock").read_text())["process"]
        except (OSError, ValueError, KeyError):
            return 0


# ---- meshes ----

class SameBits:
    """The law that a run gives the same bits for any number of threads and ranks, and after it was stopped or killed. A test class
    that inherits it before AegirTest has, after setUp, `setup_file`, `reference` (its run on one thread), and says which file shows that a frame is there."""

    LAST_FRAME_OF_PART = [(3, 4), (2, 6), (0, 7)]  # ranks that go on, and until where
    ENDINGS = [(signal.SIGKILL, 2), (signal.SIGTERM, 4), (signal.SIGTERM, 6)]
    FRAME_FILE = ""  # of a frame, with {frame:04d}

    def test_threads(self):
        for threads in [2, 7]:
            with self.subTest(threads=threads):
                out = self.folder / f"threads{threads}"
                self.run_setup(self.setup_file, "--threads", threads, out=out)
                self.assert_same_run(self.reference, out)

    def test_ranks(self):
        if not has_mpirun():
            self.skipTest("mpirun is not there")
        for ranks, threads in [(1, 2), (2, 1), (4, 1)]:
            with self.subTest(ranks=ranks):
                out = self.folder / f"ranks{ranks}"
                self.run_setup(self.setup_file, "--threads", threads, out=out, ranks=ranks)
                self.assert_same_run(self.reference, out)
                self.assert_tidy(out)

    def test_resumed_on_other_threads_and_ranks(self):
        """What a substep starts from is kept."""
        self.run_setup(self.setup_file, "--frames", "1:2", "--threads", 2)
        for ranks, last in self.LAST_FRAME_OF_PART:
            self.run_setup(self.setup_file, "--resume", "--frames", f"1:{last}", "--threads", 1, ranks=ranks if has_mpirun() else 0)
        self.run_setup(self.setup_file, "--resume", "--threads", 7)
        self.assert_same_run(self.reference, self.out)
        self.assert_tidy(self.out)

    def test_killed_and_stopped(self):
        """SIGKILL goes on from the last checkpoint, SIGTERM in the middle of a frame."""
        for ending, frame in self.ENDINGS:
            process = self.start(self.setup_file, "--resume", "--threads", 1, "--checkpoint-every", 1)
            self.wait_until(process, lambda: (self.out / self.FRAME_FILE.format(frame=frame)).exists(), f"frame {frame}")
            process.send_signal(ending)
            process.communicate(timeout=PATIENCE)
            self.assertNotEqual(process.returncode, 0)
        self.run_setup(self.setup_file, "--resume")
        self.assert_same_run(self.reference, self.out)
        self.assert_tidy(self.out)


def ply(vertices, faces):
    """A binary PLY file of triangles or larger faces."""
    head = (f"ply\nformat binary_little_endian 1.0\nelement vertex {len(vertices)}\nproperty float x\nproperty float y\nproperty float z\n"
            f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n")
    return (head.encode() + b"".join(struct.pack("<3f", *v) for v in vertices) +
            b"".join(struct.pack(f"<B{len(f)}i", len(f), *f) for f in faces))


def box_ply(size, center=(0, 0, 0)):
    corners = [tuple(center[a] + size[a] * (0.5 if i >> a & 1 else -0.5) for a in range(3)) for i in range(8)]
    return ply(corners, [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)])


def bumpy_ground_ply(half=3.0, cells=16):
    """An open height field, wavy, facing up."""
    at = lambda i: -half + 2 * half * i / cells
    vertices = [(at(i), 0.15 * math.sin(3 * at(i)) * math.cos(2 * at(j)), at(j)) for j in range(cells + 1) for i in range(cells + 1)]
    index = lambda i, j: j * (cells + 1) + i
    faces = [t for j in range(cells) for i in range(cells)
             for t in [(index(i, j), index(i, j + 1), index(i + 1, j)), (index(i + 1, j), index(i, j + 1), index(i + 1, j + 1))]]
    return ply(vertices, faces)


# ---- setups ----

STORM = """aegir: 1
note: everything that moves particles, in several Objects, groups and buckets
timeline: {frames: [1, %(last)d], substeps: {cfl: 3, max: 6}, checkpoint: {every: 4, keep: 100}}
expose: {rate: %(rate)d}
inputs:
  ground: ground.ply
  paddle: {file: geo/paddle.ply}
setup:
  - gravity: earth
  - air_drag: air
  - wind_drag: gust
    law: newton
    velocity: {keys: {1: [0, 0, 0], 4: [6 m/s, 0, 1 m/s], 8: [-2 m/s, 1 m/s, 0]}, interpolation: smooth}
    turbulence: {speed: 2 m/s, size: 30 cm, lifetime: 0.1 s, octaves: 3}
  - collider: ground
    input: ground
    friction: 0.2
    restitution: 0.4
  - collider: paddle
    input: paddle
    translate: [0, 0.6, 0]
    rotate: {keys: {1: [0, 0, 0], 25: [0, 0, 360 deg]}}
    restitution: 0.7
  - collider: post
    shape: {kind: cylinder, center: [1, 0.5, 1], radius: 20 cm, height: 1}
  - group: rain
    behaviors:
      - particles: drops
        voxel_size: 6 cm
      - emitter: cloud
        shape: {kind: box, center: [0, 1.2, 0], size: [4, 1, 4]}
        count: %(count)d
        velocity: [0, -4, 0]
        spread: 1
        radius: [0.3 mm, 3 mm]
        sizes: {law: rosin_rammler, median: 2 mm}
      - emitter: hose
        shape: {kind: sphere, center: [-1, 0.6, 0], radius: 10 cm}
        from: surface
        rate: ${rate}
        velocity: {keys: {1: [6, 2, 0], %(last)d: [3, 5, 2]}}
        spread: 0.5
        noise: {speed: 0.5 m/s, size: 20 cm}
        seed: 7
      - lifespan: evaporate
        span: 0.4 s
        variation: 0.5
  - particles: dust
    voxel_size: 25 cm
  - emitter: puff
    into: dust
    shape: {kind: disc, center: [0, 1, 0], radius: 1}
    count: 1500
    normal_speed: 1
    spread: 2
    radius: [0.05 mm, 0.05 mm]
outputs:
  - points: cache
"""


def write_storm(test, last=10, count=14000, rate=24000):
    """A setup with emitters, drags, keyed wind, static and turning meshes and a lifespan, beside its meshes."""
    test.write("ground.ply", bumpy_ground_ply())
    test.write("geo/paddle.ply", box_ply((1.6, 0.15, 1.2)))
    return test.write("storm.yaml", STORM % {"last": last, "count": count, "rate": rate})


RAIN = """aegir: 1
timeline: {frames: [%(first)d, %(last)d], substeps: %(substeps)s, checkpoint: {every: %(every)s, keep: %(keep)d}}
expose: {rate: %(rate)d}
setup:
  - gravity: earth
  - particles: drops
    voxel_size: 10 cm
  - emitter: nozzle
    shape: {kind: sphere, center: [0, 1, 0], radius: 10 cm}
    count: %(count)d
    rate: ${rate}
    velocity: [0, 5, 1]
    spread: 1
outputs:
  - points: cache
"""


def rain(first=1, last=8, substeps="3", every="2", keep=3, rate=3000, count=100):
    """A fountain of one Object."""
    return RAIN % locals()


def main():
    if not os.access(AEGIR, os.X_OK):
        raise SystemExit(f"{AEGIR} is not a program; set AEGIR to the one to test")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
