"""The layer check passes on the project and fails, naming file and line, when a layer is broken on purpose."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(root):
    return subprocess.run([sys.executable, ROOT / "tools" / "check_layers.py", root], text=True, capture_output=True)


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Path(folder.name)
        for top in ("src", "apps"):
            shutil.copytree(ROOT / top, self.copy / top)

    def broken(self, path, line):
        """Adds a file with one include to the copy; returns what the check says of it."""
        file = self.copy / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"// A violation.\n{line}\n")
        result = check(self.copy)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(f"{path}:2: ", result.stdout)
        return result.stdout

    def test_project_is_clean(self):
        result = check(ROOT)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_copy_is_clean(self):
        self.assertEqual(check(self.copy).returncode, 0)

    def test_upward_include(self):
        said = self.broken("src/domain/grid/violation.h", '#include "pipeline/schema/schema.h"')
        self.assertIn("domain may not include pipeline", said)

    def test_cycle_between_rooms(self):
        said = self.broken("src/base/violation.h", '#include "parallel/violation.h"')
        (self.copy / "src/parallel/violation.h").write_text('#include "base/violation.h"\n')
        self.assertIn("cycle between rooms: base -> parallel -> base", check(self.copy).stdout)
        self.assertIn("base may not include parallel (it may include nothing)", said)

    def test_sideways_include(self):
        self.assertIn("solvers may not include io", self.broken("src/solvers/linear/violation.cpp", '#include "io/vdb.h"'))

    def test_siblings(self):
        said = self.broken("src/phenomena/sand/violation.cpp", '#include "phenomena/liquid/viscosity.h"')
        self.assertIn("sibling phenomena/liquid", said)
        self.broken("src/phenomena/common/violation.cpp", '#include "phenomena/coupling/transition.h"')

    def test_allowed_in_phenomena(self):
        for path, include in (("sand/fine.cpp", "phenomena/common/gravity.h"), ("coupling/fine.cpp", "phenomena/sand/sand.h"),
                              ("fine.cpp", "phenomena/sand/sand.h"), ("sand/fine2.cpp", "solvers/linear/multigrid.h")):
            file = self.copy / "src/phenomena" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'#include "{include}"\n')
        result = check(self.copy)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_library_away_from_home(self):
        homes = {"domain": ("<openvdb/openvdb.h>", "OpenVDB"), "geometry": ("<mpi.h>", "MPI"), "pipeline": ("<hdf5.h>", "HDF5"),
                 "numerics": ("<tbb/parallel_for.h>", "oneTBB"), "io": ("<yaml-cpp/yaml.h>", "yaml-cpp"),
                 "engine": ("<CLI/CLI.hpp>", "CLI11"), "phenomena": ("<embree3/rtcore.h>", "Embree")}
        for room, (include, library) in homes.items():
            with self.subTest(room):
                self.assertIn(f"{library} is at home in", self.broken(f"src/{room}/violation.cpp", f"#include {include}"))

    def test_library_in_header(self):
        self.assertIn("not by a header", self.broken("src/io/violation.h", "#include <openvdb/openvdb.h>"))
        self.assertIn("not by a header", self.broken("src/parallel/violation.h", "  #  include <mpi.h>"))

    def test_relative_include(self):
        self.assertIn("relative include", self.broken("src/base/violation.h", '#include "../pipeline/schema/schema.h"'))

    def test_unknown_room(self):
        (self.copy / "src/attic").mkdir()
        (self.copy / "src/attic/old.h").write_text("\n")
        self.assertIn("src/attic/old.h:1: 'attic' is not a room", check(self.copy).stdout)

    def test_comment_is_no_include(self):
        file = self.copy / "src/base/fine.h"
        file.write_text('// #include "pipeline/schema/schema.h"\n/*\n#include "pipeline/schema/schema.h"\n*/\n')
        self.assertEqual(check(self.copy).returncode, 0)

    def test_empty_root_is_an_error(self):
        with tempfile.TemporaryDirectory() as nothing:
            self.assertEqual(check(nothing).returncode, 1)


if __name__ == "__main__":
    unittest.main()
