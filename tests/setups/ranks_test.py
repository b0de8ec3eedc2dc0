"""Law: every setup gives the same bits on 1, 2 and 4 ranks. Two frames of each, coarse where it has a voxel size to set.

    ranks_test.py PROGRAM ROOT [NAME…]      all setups if none is named; prints what the ranks cost
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Coarser than they stand, so that two frames take seconds.
COARSE = {"dam_break": "6.25cm", "column_drop": "5cm", "falling_mesh": "4cm", "fountain": "6cm", "filling_tank": "4cm", "animated_paddle": "6cm",
          "tilted_tank": "5cm", "honey_coiling": "4mm", "gust": "5cm", "spring": "4cm", "post": "8cm", "splash": "20cm", "blade": "8cm",
          "farm": "8cm", "splash_with_droplets": "4cm", "fountain_spray": "6cm"}
# Direct or external solves would be named here; no setup uses one while its solves converge.
EXEMPT = {}
FLAGS = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
ENVIRONMENT = {**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}


def first_frame(setup):
    found = re.search(r"frames:\s*\[\s*(-?\d+)", setup.read_text())
    return int(found.group(1)) if found else 1


def run(program, setup, out, ranks):
    first = first_frame(setup)
    words = [program, "run", setup, "-o", out, "--threads", "1", "--frames", f"{first}:{first + 2}"]
    if setup.stem in COARSE and re.search(r"^\s+voxel:|expose:.*\bvoxel:", setup.read_text(), re.M):
        words += ["--set", f"voxel={COARSE[setup.stem]}"]
    launcher = ["mpirun", *FLAGS, "-n", str(ranks)] if ranks > 1 else []
    started = time.monotonic()
    done = subprocess.run([*launcher, *words], capture_output=True, text=True, env=ENVIRONMENT, timeout=900)
    if done.returncode != 0:
        return f"ends with {done.returncode}: {done.stderr[-800:]}", 0
    files = sorted(str(p.relative_to(out)) for p in out.glob("**/*") if p.suffix in (".vdb", ".ply") and not p.name.startswith("."))
    hashes = subprocess.run([program, "info", "--hash", *files], cwd=out, capture_output=True, text=True).stdout if files else ""
    lines = [json.loads(line) for line in (out / "stats.jsonl").read_text().splitlines()]
    audits = [(line["frame"], line["substep"], line["dt"], line["objects"], [(s["name"], s["iterations"], s["residual"]) for s in line["solves"]])
              for line in lines]
    return (hashes, audits), time.monotonic() - started


def with_meshes(root, setup, folder):
    """The setup itself, or a copy of a shot with the meshes that its run.sh makes."""
    script = setup.parent / "run.sh"
    made = re.search(r'make_meshes.py" "\$shot/geo" (.*)', script.read_text()) if script.exists() else None
    if not made:
        return setup
    copy = pathlib.Path(shutil.copytree(setup.parent, folder / "shot"))
    subprocess.run([sys.executable, root / "tools/make_meshes.py", copy / "geo", *made.group(1).split()], check=True, capture_output=True)
    return copy / setup.name


def main():
    program, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    setups = sorted(root.glob("setups/*.yaml")) + sorted(root.glob("setups/shots/*/*.yaml"))
    if sys.argv[3:]:
        setups = [s for s in setups if s.stem in sys.argv[3:]]
    wrong = 0
    for setup in setups:
        with tempfile.TemporaryDirectory() as temporary:
            ready = with_meshes(root, setup, pathlib.Path(temporary))
            results = {ranks: run(program, ready, pathlib.Path(temporary) / str(ranks), ranks) for ranks in (1, 2, 4)}
        alone = results[1][0]
        if isinstance(alone, str):
            print(f"{setup.stem}: {alone}")
            wrong += 1
            continue
        bad = [ranks for ranks in (2, 4) if results[ranks][0] != alone]
        wrong += bool(bad) and setup.stem not in EXEMPT
        told = results[bad[0]][0] if bad and isinstance(results[bad[0]][0], str) else ""
        print(f"{setup.stem:24} {'the same bits' if not bad else f'other bits on {bad} ranks {told}'}; "
              f"seconds on 1, 2, 4 ranks: {', '.join(f'{results[r][1]:.1f}' for r in (1, 2, 4))}", flush=True)
    if not setups:
        sys.exit("no setup of that name")
    sys.exit(1 if wrong else 0)


main()
