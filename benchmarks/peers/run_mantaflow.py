#!/usr/bin/env python3
"""Runs the dam break in Blender's Mantaflow and prints one line of JSON on stdout; plain Python, no packages.

    benchmarks/peers/run_mantaflow.py --cells 128 --frames 6 10 --threads 2

Leaves with 0 and the figures, 2 for wrong arguments, 3 if Blender is missing, 4 if Blender failed or ran out of time.
Then stdout is empty and stderr says why.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

BLENDER_MISSING = 3
BLENDER_FAILED = 4


def parse_arguments():
    """Reads the command line; scene arguments are checked by mantaflow.py."""
    parser = argparse.ArgumentParser(description="dam break in Blender's Mantaflow, one line of JSON")
    parser.add_argument("--blender", default="blender", help="name or path of the program")
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--frames", type=int, nargs=2, default=(6, 10), metavar=("FIRST", "LAST"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--band", type=float, help="width of the narrow band in cells; left out, the band is off")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds")
    parsed = parser.parse_args()
    if not 1 <= parsed.threads <= 1024:
        parser.error("--threads must be 1 to 1024")
    if parsed.cells < 8:
        parser.error("--cells must be at least 8")
    if not 2 <= parsed.frames[0] <= parsed.frames[1]:
        parser.error("--frames must be FIRST LAST with 2 <= FIRST <= LAST")
    return parsed


def command_line(blender, arguments, figures):
    """Returns the command that makes Blender write its figures to the given file."""
    script = pathlib.Path(__file__).resolve().with_name("mantaflow.py")
    command = [blender, "-b", "--factory-startup", "-t", str(arguments.threads), "-P", str(script), "--"]
    command += ["--cells", str(arguments.cells), "--frames", *map(str, arguments.frames)]
    command += ["--threads", str(arguments.threads), "--json", str(figures)]
    if arguments.band is not None:
        command += ["--band", str(arguments.band)]
    return command


def run(blender, arguments, directory):
    """Runs Blender and returns its figures, or None and the reason."""
    figures = pathlib.Path(directory, "figures.json")
    load = os.getloadavg()[0]
    begin = time.monotonic()
    # Blender's temporary files and the cache go where the directory is, and so vanish with it.
    environment = dict(os.environ, TMPDIR=str(directory), TEMP=str(directory))
    try:
        child = subprocess.run(
            command_line(blender, arguments, figures),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=arguments.timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, "no result within %g s" % arguments.timeout
    except OSError as error:
        return None, str(error)
    if child.returncode != 0 or not figures.exists():
        last = child.stdout.decode(errors="replace").splitlines()[-15:]
        return None, "left with code %d:\n%s" % (child.returncode, "\n".join(last))
    report = json.loads(figures.read_text(encoding="utf-8"))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    report["load_average_before"] = load
    report["process_seconds"] = time.monotonic() - begin
    report["process_cpu_seconds"] = usage.ru_utime + usage.ru_stime
    report["process_peak_bytes"] = usage.ru_maxrss * 1024
    return report, ""


def main():
    """Returns the exit code."""
    arguments = parse_arguments()
    blender = shutil.which(arguments.blender)
    if not blender:
        print("%s not found: the comparison with Mantaflow is skipped (apt install blender)" % arguments.blender,
              file=sys.stderr)  # fmt: skip
        return BLENDER_MISSING
    with tempfile.TemporaryDirectory(prefix="aegir_mantaflow_") as directory:
        report, reason = run(blender, arguments, directory)
    if report is None:
        print("%s: %s" % (blender, reason), file=sys.stderr)
        return BLENDER_FAILED
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
