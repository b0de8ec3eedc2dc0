#!/usr/bin/env python3
"""The example plugin is built outside of Aegir's own build, as a user does, and runs; wrong plugins are refused."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import support  # noqa: E402

EXAMPLE = support.REPOSITORY / "examples/plugin"

RING = """aegir: 1
timeline: {fps: 24, frames: [1, 4], substeps: 4}
setup:
  - particles: ring
    voxel_size: 1 m
  - emitter: start
    shape: {kind: cylinder, radius: 20 m, height: 10 cm}
    count: 2000
  - vortex: whirl
    swirl: 6
    core: 1 mm
outputs:
  - points: cache
    attributes: [v, id]
"""

# What another build of Aegir would give; PluginInfo's first members never change.
STRANGER = """#include <cstdint>
struct Info { std::int32_t number; std::uint32_t layout; const char* compiler; const char* name; const char* version; void (*add)(); };
extern "C" const Info* aegir_plugin() {
  static const Info info{NUMBER, LAYOUT, COMPILER, "stranger", "1", nullptr};
  return &info;
}
"""


def build(source, folder, *words):
    checked = os.environ.get("AEGIR_CHECKED", "OFF")
    for command in (["cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", f"-DAEGIR_CHECKED={checked}", *words],
                    ["cmake", "--build", folder]):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


class Plugin(support.AegirTest):
    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp(prefix="aegir_plugin_"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        build(EXAMPLE, cls.place / "vortex", f"-DAEGIR={support.REPOSITORY}")
        cls.library = cls.place / "vortex/libvortex.so"

    def compiled(self, text, name, *flags):
        source = self.write(name + ".cpp", text)
        library = self.folder / (name + ".so")
        subprocess.run(["g++", "-shared", "-fPIC", *flags, str(source), "-o", str(library)], check=True)
        return library

    def stats(self, out):
        return [json.loads(line) for line in (out / "stats.jsonl").read_text().splitlines()]

    def test_the_example_runs_and_drives_particles_around(self):
        setup = self.write("ring.yaml", RING)
        self.run_setup(setup, "--plugin", self.library, "--threads", 1)
        # a = 6 m/s² around the axis: after t = 3/24 s from rest each particle has v = a t, as long as its way
        # a t²/2 = 5 cm is short against its distance of some 13 m. E = m v²/2 over all particles.
        last = self.stats(self.out)[-1]["objects"]["ring"]
        speed = (2 * last["kinetic_energy"] / last["mass"]) ** 0.5
        self.assertAlmostEqual(speed, 6 * 3 / 24, delta=0.01 * 6 * 3 / 24)
        for axis in last["momentum"]:  # a ring around the axis has none
            self.assertLess(abs(axis), 0.05 * last["mass"] * speed)

    def test_same_bits_for_threads_and_ranks(self):
        setup = self.write("ring.yaml", RING)
        hashes = []
        for words, ranks in ((["--threads", 1], 0), (["--threads", 7], 0), (["--threads", 1], 2)):
            if ranks and not support.has_mpirun():
                continue
            out = self.folder / f"run{len(hashes)}"
            self.run_setup(setup, "--plugin", self.library, *words, out=out, ranks=ranks)
            done = self.aegir("info", "--hash", *sorted((out / "ring").glob("*.vdb")))
            hashes.append([line.split()[0] for line in done.stdout.splitlines()])
        self.assertEqual(len(hashes[0]), 4)
        for other in hashes[1:]:
            self.assertEqual(hashes[0], other)

    def test_the_setup_of_the_example(self):
        setup = EXAMPLE / "whirl.yaml"
        self.assertIn("ok", self.aegir("check", setup, "--plugin", self.library).stdout)
        self.assertIn("whirl", self.aegir("explain", setup, "--plugin", self.library).stdout)
        self.run_setup(setup, "--plugin", self.library, "--frames", "1:3")
        self.assertIn("'vortex'", self.aegir("check", setup, code=2).stderr)

    def test_describe(self):
        text = self.aegir("describe", "vortex", "--plugin", self.library).stdout
        for word in ("swirl", "m/s^2", "core", "Radius inside of which"):
            self.assertIn(word, text)
        self.assertIn("vortex", self.aegir("describe", "--plugin", self.library).stdout)
        self.assertIn("vortex", self.aegir("describe", "--json", "--plugin", self.library).stdout)
        self.assertIn("vortex", self.aegir("describe", "--schema", "--plugin", self.library).stdout)
        self.assertNotIn("vortex", self.aegir("describe").stdout)

    def test_a_mistake_in_its_parameters_has_a_place(self):
        setup = self.write("ring.yaml", RING.replace("swirl: 6", "swirrl: 6"))
        self.assertRegex(self.aegir("check", setup, "--plugin", self.library, code=2).stderr, r"ring.yaml:\d+:\d+: .*swirl")
        setup = self.write("ring.yaml", RING.replace("swirl: 6", "axis: [0, 0, 0]"))
        self.assertRegex(self.aegir("check", setup, "--plugin", self.library, code=2).stderr, r"ring.yaml:\d+:\d+: .*direction")

    def test_a_run_notes_its_plugins_and_a_resume_notices_another(self):
        setup = self.write("ring.yaml", RING)
        words = ("--plugin", self.library, "--checkpoint-every", 1, "--threads", 1)
        self.run_setup(setup, *words, "--frames", "1:2")
        recorded = json.loads((self.out / "run.json").read_text())["inputs"]["plugin vortex"]
        self.assertEqual(list(recorded), ["libvortex.so"])
        self.assertRegex(recorded["libvortex.so"], "^[0-9a-f]{32}$")
        self.assertNotIn("plugin", self.run_setup(setup, *words, "--frames", "1:3", "--resume").stdout)
        other = self.folder / "other/libvortex.so"
        other.parent.mkdir()
        other.write_bytes(self.library.read_bytes() + b"\0")
        done = self.run_setup(setup, "--plugin", other, "--threads", 1, "--resume")
        self.assertIn("plugin vortex", done.stdout)

    def test_wrong_plugins_are_refused(self):
        setup = self.write("ring.yaml", RING)

        def refused(library, *expected):
            done = self.run_setup(setup, "--plugin", library, code=2)
            for text in (str(library), *expected):
                self.assertIn(text, done.stderr)
            self.assertFalse(self.out.exists())

        refused(self.folder / "missing.so", "there is no plugin")
        refused(self.write("text.so", "no library"), "cannot load")
        refused(self.compiled("int nothing() { return 0; }", "plain"), "AEGIR_PLUGIN")
        refused(self.compiled(STRANGER, "old", "-DNUMBER=0", "-DLAYOUT=1", '-DCOMPILER=""'), "interface 0")
        refused(self.compiled(STRANGER, "foreign", "-DNUMBER=1", "-DLAYOUT=1", '-DCOMPILER="clang 3"'), "clang 3")
        refused(self.compiled(STRANGER, "stale", "-DNUMBER=1", "-DLAYOUT=1", "-DCOMPILER=__VERSION__"), "other headers")
        refused(self.compiled("void gone(); extern \"C\" void* aegir_plugin() { gone(); return 0; }", "undefined"), "undefined symbol")
        done = self.run_setup(setup, "--plugin", self.library, "--plugin", self.library, code=2)
        self.assertIn("'vortex', and there is one of that name", done.stderr)


if __name__ == "__main__":
    unittest.main()
