"""Examples run: two frames of every liquid setup at a coarse voxel size, and the shot `splash` from its meshes on.

    setups_test.py PROGRAM ROOT NAME        NAME: a setup of setups/, `splash` or `meshes`
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

COARSE = {"dam_break": "6.25cm", "column_drop": "5cm", "falling_mesh": "4cm", "fountain": "6cm", "filling_tank": "4cm",
          "animated_paddle": "6cm", "tilted_tank": "5cm", "honey_coiling": "4mm", "gust": "5cm", "spring": "4cm", "post": "8cm"}


def fail(text):
    sys.exit(f"setups_test: {text}")


def run(program, setup, out, first, voxel, more=()):
    command = [program, "run", setup, "-o", out, "--frames", f"{first}:{first + 1}", "--set", f"voxel={voxel}", *more]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{setup} ends with {done.returncode}\n{done.stdout}{done.stderr}")
    lines = [json.loads(line) for line in (out / "stats.jsonl").read_text().splitlines()]
    last = lines[-1]
    if last["frame"] != first + 1:
        fail(f"{setup} ended in frame {last['frame']}")
    liquids = [(name, o) for name, o in last["objects"].items() if "volume_drift" in o]
    if len(liquids) != 1 or not liquids[0][1]["particles"] > 0:
        fail(f"{setup}: the statistics tell of no liquid: {last['objects']}")
    name, water = liquids[0]
    frames = sorted((out / name).glob(f"{name}.points.*.vdb"))
    if len(frames) != 2:
        fail(f"{setup} wrote {len(frames)} frames instead of two")
    if "volume" not in done.stdout or "iters" not in done.stdout:
        fail(f"{setup}: the table has no columns for iterations and volume\n{done.stdout}")
    return water


def check_meshes(root, folder):
    """What lies in setups/geo is what the script writes."""
    done = subprocess.run([sys.executable, root / "tools/make_meshes.py", folder / "geo"], capture_output=True, text=True)
    if done.returncode != 0:
        fail(done.stdout + done.stderr)
    for made in (folder / "geo").iterdir():
        kept = root / "setups/geo" / made.name
        if not kept.exists() or kept.read_bytes() != made.read_bytes():
            fail(f"{kept} is not what tools/make_meshes.py writes; run it again")


def check_shot(program, root, folder):
    """The whole job, small: run.sh makes the meshes, simulates and draws."""
    environment = {**os.environ, "AEGIR": str(program), "FRAMES": "1001:1002", "VOXEL": "20cm", "OUT": str(folder / "out"),
                   "SIZE": "160x90", "SAMPLES": "2"}
    shot = folder / "setups/shots/splash"
    shutil.copytree(root / "setups/shots/splash", shot)
    shutil.copytree(root / "tools", folder / "tools")
    shutil.copytree(root / "blender", folder / "blender")
    done = subprocess.run(["bash", shot / "run.sh"], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        fail(f"run.sh ends with {done.returncode}\n{done.stdout}{done.stderr}")
    if not (folder / "out/preview/contact_sheet.png").exists():
        fail(f"run.sh made no contact sheet\n{done.stdout}")
    if shutil.which("blender") and not list((folder / "out").glob("blender.*.png")):
        fail(f"run.sh made no picture in Blender\n{done.stdout}{done.stderr}")
    again = subprocess.run(["bash", shot / "run.sh"], capture_output=True, text=True, env=environment)
    if again.returncode != 0:
        fail(f"run.sh does not go on where it was: {again.returncode}\n{again.stdout}{again.stderr}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, root, name = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if name == "meshes":
            check_meshes(root, folder)
        elif name == "splash":
            check_shot(program, root, folder)
        else:
            water = run(program, root / f"setups/{name}.yaml", folder / "out", 1, COARSE[name])
            drift = water["volume_drift"]  # null where there is too little liquid to tell
            print(f"{name}: {water['particles']} particles, volume drift {'unknown' if drift is None else f'{100 * drift:.2f} %'}")
            if name == "column_drop":  # as many particles as in the test it is named after
                cells = 30 * 60 * 30 / 5**3
                if abs(water["particles"] / (8 * cells) - 1) > 0.05:
                    fail(f"{water['particles']} particles are not eight in each of {cells} cells")


main()
