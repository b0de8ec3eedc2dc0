"""The launcher, tried on a tiny project of the same shape in a folder whose name has a space."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES C)
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/*.c")
add_executable(aegir ${sources})
set_target_properties(aegir PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/apps/aegir")
add_executable(aegir_bench ${sources})
set_target_properties(aegir_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/benchmarks")
add_executable(tiny_fuzz ${sources})
enable_testing()
add_test(NAME good COMMAND aegir exit 0)
add_test(NAME bad COMMAND aegir exit 1)
add_test(NAME slow COMMAND aegir exit 1)
set_tests_properties(slow PROPERTIES LABELS long)
"""
PRESETS = """{"version": 6, "configurePresets": [
 {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"},
 {"name": "checked", "inherits": "release"}, {"name": "sanitize", "inherits": "release"},
 {"name": "thread", "inherits": "release"}, {"name": "fuzz", "inherits": "release"}]}"""
PROGRAM = r"""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) printf("[%s]", words[i]);
  printf("\n"); fflush(stdout);
  if (count > 1 && !strcmp(words[1], "wait")) sleep(60);
  if (count > 4 && !strcmp(words[1], "run")) return mkdir(words[4], 0777);
  return count > 2 && !strcmp(words[1], "exit") ? atoi(words[2]) : 0;
}
"""


class Launcher(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = Path(folder.name).resolve()
        self.root = self.base / "a project"
        self.root.mkdir()
        shutil.copy(ROOT / "aegir", self.root)
        (self.root / "packages.txt").write_text("# a comment\ncmake\nninja-build\n")
        (self.root / "CMakeLists.txt").write_text(CMAKE)
        (self.root / "CMakePresets.json").write_text(PRESETS)
        (self.root / "program.c").write_text(PROGRAM)
        self.environment = {"PATH": os.environ["PATH"], "AEGIR_SKIP_PACKAGES": "1"}  # no HOME

    def start(self, *words, **more):
        environment = {**self.environment, **more}
        return subprocess.Popen([self.root / "aegir", *words], text=True, cwd=self.base, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def aegir(self, *words, **more):
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def test_builds_once_then_says_nothing(self):
        status, out, err = self.aegir("some", "two words")
        self.assertEqual((status, out), (0, "[some][two words]\n"), err)
        self.assertIn("built     release", err)
        self.assertEqual(self.aegir("exit", "7"), (7, "[exit][7]\n", ""))
        (self.root / "program.c").write_text(PROGRAM.replace("[%s]", "<%s>"))
        status, out, err = self.aegir("again")
        self.assertEqual(out, "<again>\n")
        self.assertIn("building  release", err)

    def test_bench(self):
        self.assertEqual(self.aegir("bench", "domain", "--json", "x")[:2], (0, "[domain][--json][x]\n"))

    def test_broken_source_shows_the_compiler(self):
        (self.root / "program.c").write_text("int main(void) { return nonsense; }\n")
        status, out, err = self.aegir("x")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("nonsense", err)
        self.assertNotIn("built ", err)
        self.assertIn(str(self.root / "build/release/build.log"), err)

    def test_broken_cmake_shows_it(self):
        (self.root / "CMakeLists.txt").write_text("message(FATAL_ERROR broken_on_purpose)\n")
        status, _, err = self.aegir("x")
        self.assertEqual(status, 1)
        self.assertIn("broken_on_purpose", err)

    def test_signal_reaches_the_program(self):
        process = self.start("wait")
        self.assertEqual(process.stdout.readline(), "[wait]\n")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_ranks_do_not_build_at_once(self):
        ranks = [self.start("rank", OMPI_COMM_WORLD_SIZE="3", OMPI_COMM_WORLD_RANK=str(i)) for i in range(3)]
        answers = [(r.communicate(timeout=120), r.returncode) for r in ranks]
        self.assertEqual([(out, status) for (out, _), status in answers], [("[rank]\n", 0)] * 3, answers)
        self.assertEqual(sum("built" in err for (_, err), _ in answers), 1)

    def test_default_run_picks_a_fresh_folder(self):
        (self.root / "runs").mkdir()
        for name in ("dam_break", "dam_break.2"):
            status, out, err = self.aegir("run")
            self.assertEqual(status, 0, err)
            self.assertIn(f"caches    {self.root}/runs/{name}\n", out)
            self.assertTrue((self.root / "runs" / name).is_dir())
        self.assertEqual(self.aegir("run", OMPI_COMM_WORLD_SIZE="2")[0], 2)

    def test_totals_are_the_last_line(self):
        status, out, err = self.aegir("test")
        self.assertEqual((status, out.splitlines()[-1]), (1, "1 passed, 1 failed"), out + err)
        status, out, _ = self.aegir("test", "-R", "good")
        self.assertEqual((status, out.splitlines()[-1]), (0, "1 passed, 0 failed"))
        (self.root / "program.c").write_text("nonsense")
        status, out, _ = self.aegir("test")
        self.assertEqual((status, out.splitlines()[-1]), (1, "0 passed, 1 failed"))

    def test_long_adds_presets_and_fuzzing(self):
        status, out, err = self.aegir("test", "--long")
        # Good and bad in four presets, slow in one of them, and the fuzz target.
        self.assertEqual((status, out.splitlines()[-1]), (1, "5 passed, 5 failed"), out + err)
        self.assertIn("-max_total_time=60", (self.root / "build/fuzz/tiny_fuzz.log").read_text())

    def test_moved_project_builds_again(self):
        self.assertEqual(self.aegir("x")[0], 0)
        moved = self.root.with_name("moved")
        self.root.rename(moved)
        self.root = moved
        self.assertEqual(self.aegir("x")[:2], (0, "[x]\n"))
        self.assertEqual(self.aegir("x"), (0, "[x]\n", ""))

    @unittest.skipUnless(shutil.which("dpkg-query"), "no Debian")
    def test_missing_package_is_named(self):
        tools = self.base / "bin"  # a machine where nobody may install anything
        tools.mkdir()
        for name, text in (("id", "echo 1000"), ("sudo", "exit 1")):
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
        (self.root / "packages.txt").write_text("bash\nno-such-package\n")
        for words in (["run"], ["test"], ["x"]):
            status, _, err = self.aegir(*words, PATH=f"{tools}:{os.environ['PATH']}", AEGIR_SKIP_PACKAGES="")
            self.assertEqual(status, 2, err)
            self.assertIn("apt-get install --no-install-recommends no-such-package\n", err)


if __name__ == "__main__":
    unittest.main()
