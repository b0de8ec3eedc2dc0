"""The header check passes on the project and fails, naming the header, when one does not compile alone."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("AEGIR_HEADER_CACHE") or tempfile.mkdtemp())
COMPILER = os.environ.get("AEGIR_COMPILER", "g++")


def check(root, cache):
    command = [sys.executable, ROOT / "tools" / "check_headers.py", root, "--cache", cache, "--compiler", COMPILER]
    return subprocess.run(command, text=True, capture_output=True)


class CheckHeaders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.on_project = check(ROOT, CACHE)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy, self.cache = Path(folder.name) / "copy", Path(folder.name) / "cache"
        shutil.copytree(ROOT / "src", self.copy / "src")
        shutil.copytree(CACHE, self.cache)  # so that only what a test breaks is compiled

    def test_project_is_clean(self):
        self.assertEqual((self.on_project.returncode, self.on_project.stdout), (0, ""), self.on_project.stderr)

    def test_missing_include(self):
        header = self.copy / "src/base/violation.h"
        header.write_text("#pragma once\nnamespace aegir {\nstd::string forgotten();\n}\n")
        result = check(self.copy, self.cache)
        self.assertEqual(result.returncode, 1)
        self.assertIn("src/base/violation.h: does not compile alone", result.stdout)
        again = check(self.copy, self.cache)
        self.assertEqual(again.returncode, 1, "a failure must not be remembered as good")
        header.write_text("#pragma once\n#include <string>\nnamespace aegir {\nstd::string forgotten();\n}\n")
        self.assertNotIn("violation.h", check(self.copy, self.cache).stdout)

    def test_missing_guard(self):
        (self.copy / "src/base/violation.h").write_text("namespace aegir {\nstruct Twice {};\n}\n")
        self.assertIn("src/base/violation.h", check(self.copy, self.cache).stdout)

    def test_change_below_is_seen(self):
        (self.copy / "src/base/lower.h").write_text("#pragma once\nusing Lower = int;\n")
        (self.copy / "src/base/upper.h").write_text('#pragma once\n#include "base/lower.h"\nLower function();\n')
        self.assertNotIn("upper.h", check(self.copy, self.cache).stdout)
        (self.copy / "src/base/lower.h").write_text("#pragma once\n")
        self.assertIn("src/base/upper.h: does not compile alone", check(self.copy, self.cache).stdout)


if __name__ == "__main__":
    unittest.main()
