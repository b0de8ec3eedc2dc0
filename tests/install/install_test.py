#!/usr/bin/env python3
"""`cmake --install` gives a program, a library and headers that a stranger's project can use.

install_test.py BUILD_DIRECTORY
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    place = pathlib.Path(folder)
    run("cmake", "--install", sys.argv[1], "--prefix", place / "prefix")
    assert run(place / "prefix/bin/aegir", "--version").startswith("aegir ")
    project = place / "project"
    project.mkdir()
    shutil.copy(here / "consumer.cpp", project)
    shutil.copy(here / "project.cmake.in", project / "CMakeLists.txt")
    run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_PREFIX_PATH={place / 'prefix'}")
    run("cmake", "--build", project / "build")
    assert "7 particles" in run(project / "build/consumer")
    # A plugin against the installed headers, loaded by the installed program.
    plugin = here.parents[1] / "examples/plugin"
    run("cmake", "-G", "Ninja", "-S", plugin, "-B", place / "plugin", "-DCMAKE_BUILD_TYPE=Debug", f"-DAEGIR={place / 'prefix'}")
    run("cmake", "--build", place / "plugin")
    assert "swirl" in run(place / "prefix/bin/aegir", "describe", "vortex", "--plugin", place / "plugin/libvortex.so")
print("1 passed, 0 failed")
