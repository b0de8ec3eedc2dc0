"""Examples with sand run: two frames of each at a coarse voxel size, the shot `blade` from its meshes on, and what sand looks like.

    sand_test.py PROGRAM ROOT NAME        NAME: a setup of setups/, `blade` or `look`
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

COARSE = {"sand_column": "5cm", "sand_pile": "3cm", "hourglass": "8mm", "sand_and_water": "4cm"}


def fail(text):
    sys.exit(f"sand_test: {text}")


def call(*words, code=0):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode != code:
        fail(f"{' '.join(map(str, words))} ends with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def run(program, setup, out, voxel, *more, first=1):
    """Two frames; the statistics of the last one by Object."""
    call(program, "run", setup, "-o", out, "--frames", f"{first}:{first + 1}", "--set", f"voxel={voxel}", *more)
    last = json.loads((out / "stats.jsonl").read_text().splitlines()[-1])
    if last["frame"] != first + 1:
        fail(f"{setup} ended in frame {last['frame']}")
    return last["objects"]


def pixels(path):
    """(red, green, blue) of every pixel of an 8-bit RGB or RGBA PNG."""
    data = path.read_bytes()
    at, packed, width, channels = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, _, depth, color = struct.unpack(">IIBB", chunk[:10])
            assert depth == 8
            channels = {2: 3, 6: 4}[color]
        elif kind == b"IDAT":
            packed += chunk
        at += 12 + size
    raw, stride, before, found = zlib.decompress(packed), channels * width, bytes(channels * width), []
    for start in range(0, len(raw), stride + 1):
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride):
            inner = i >= channels
            left, up, corner = (line[i - channels] if inner else 0), before[i], (before[i - channels] if inner else 0)
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda v: abs(guess - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        before = bytes(line)
        found += zip(line[0::channels], line[1::channels], line[2::channels])
    return found


def share(path, like):
    """Share of the pixels of a picture that are like something."""
    found = pixels(path)
    return sum(like(*p) for p in found) / len(found)


def sandy(r, g, b):
    return r > g > b and r - b > 40


def rusty(r, g, b):
    return r > 1.6 * g and r > 60


def bluish(r, g, b):
    return b > r + 40


def draw(program, source, folder, *more):
    call(program, "preview", source, "-o", folder, "--size", "320x180", "--no-movie", "--frames", "2:2", *more)
    return folder / "preview.0002.png"


def vertices(path):
    """x, y, z of a binary PLY that starts with them as floats."""
    header, body = path.read_bytes().split(b"end_header\n", 1)
    lines = header.decode().splitlines()
    count = int(next(line for line in lines if line.startswith("element vertex")).split()[2])
    size = 4 * sum(line.startswith("property float") for line in lines)
    return [struct.unpack_from("<3f", body, i * size) for i in range(count)]


def check_setup(program, root, folder, name):
    objects = run(program, root / f"setups/{name}.yaml", folder / "out", COARSE[name])
    hybrids = {k: o for k, o in objects.items() if "volume_drift" in o}
    if len(hybrids) != (2 if name == "sand_and_water" else 1) or not all(o["particles"] > 0 for o in hybrids.values()):
        fail(f"{name}: the statistics do not tell of what there is: {objects}")
    print(f"{name}: " + ", ".join(f"{k} {o['particles']} particles" for k, o in hybrids.items()))
    if name == "sand_column":  # as many particles as in the test it is named after
        cells = 30 * 60 * 30 / 5**3
        if abs(hybrids["sand"]["particles"] / (8 * cells) - 1) > 0.05:
            fail(f"{hybrids['sand']['particles']} particles are not eight in each of {cells} cells")
    if name == "hourglass":  # the cavity of the glass is no solid, and nothing leaves it
        call(program, "export", folder / "out", "-o", folder / "export")
        outside = [p for p in vertices(folder / "export/sand.points.0002.ply")
                   if p[0]**2 + p[2]**2 > 0.08**2 or not 0 > -abs(p[1]) > -0.19]
        if outside:
            fail(f"{len(outside)} particles are not in the glass: {outside[:3]}")
    if name == "sand_and_water":  # grains and clear water in one picture
        picture = draw(program, folder / "out", folder / "pictures")
        draw(program, folder / "out", folder / "layers", "--layers", "0.1")  # only the sand has `rest`
        found = share(picture, sandy)
        print(f"share of sandy pixels: {found:.4f}")
        if found < 0.01:
            fail("there is no sand in the picture of sand and water")
        if not list((folder / "out/skin").glob("skin.mesh.*.ply")):
            fail("the water has no surface")


def check_look(program, root, folder):
    """Sand looks like sand by itself, in layers, by an attribute, and as a surface; water does not."""
    out = folder / "out"
    run(program, root / "setups/sand_pile.yaml", out, "3cm")
    grains = draw(program, out, folder / "grains")
    numbers = draw(program, out, folder / "numbers", "--color", "id")
    layers = draw(program, out, folder / "layers", "--layers", "0.08")
    call(program, "surface", out / "sand/sand.points.0002.vdb", "-o", folder / "skin", "--mesh", "ply", "--attributes", "rest")
    shutil.copytree(folder / "skin", out / "skin")  # where preview finds it
    surface = draw(program, out, folder / "surface")
    shares = {p.parent.name: [share(p, like) for like in (sandy, rusty, bluish)] for p in (grains, numbers, layers, surface)}
    print("share of sandy, rusty, bluish pixels:", {k: [round(x, 4) for x in v] for k, v in shares.items()})
    if shares["grains"][0] < 0.01 or shares["surface"][0] < 0.01:
        fail("sand does not look like sand")
    if shares["numbers"][2] < 0.2 * shares["grains"][0] or shares["grains"][2] > 0.001:
        fail("sand has no colours by an attribute, or also where none was asked for")
    if shares["layers"][1] < 0.2 * shares["grains"][0] or shares["grains"][1] > 0.2 * shares["layers"][1]:
        fail("there are no layers, or also where none were asked for")
    water = folder / "water"
    run(program, root / "setups/column_drop.yaml", water, "8cm")
    if share(draw(program, water, folder / "drops"), sandy) > 0.01:
        fail("water looks like sand")
    said = call(program, "preview", water, "-o", folder / "none", "--layers", "0.1", "--frames", "2:2", code=2)
    if "rest" not in said or list((folder / "none").glob("preview.*.png")):
        fail(f"layers of what has no 'rest' are not refused: {said}")
    call(program, "preview", out, "-o", folder / "none", "--layers", "0.1", "--color", "id", code=2)


def check_shot(program, root, folder):
    """The whole job, small: run.sh makes the meshes, simulates and draws, and goes on where it was."""
    environment = {**os.environ, "AEGIR": str(program), "FRAMES": "1001:1002", "VOXEL": "10cm", "OUT": str(folder / "out"),
                   "SIZE": "160x90", "SAMPLES": "2"}
    shot = folder / "setups/shots/blade"
    shutil.copytree(root / "setups/shots/blade", shot, ignore=shutil.ignore_patterns("geo"))
    for tools in ("tools", "blender"):
        shutil.copytree(root / tools, folder / tools)
    for time in ("first", "second"):
        done = subprocess.run(["bash", shot / "run.sh"], capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            fail(f"run.sh ends with {done.returncode} the {time} time\n{done.stdout}{done.stderr}")
    if not (folder / "out/preview/contact_sheet.png").exists():
        fail(f"run.sh made no contact sheet\n{done.stdout}")
    if shutil.which("blender"):
        picture = folder / "out/blender.1002.png"
        if not picture.exists():
            fail(f"run.sh made no picture in Blender\n{done.stdout}{done.stderr}")
        scene = json.loads((folder / "out/export/scene.json").read_text())
        if [e.get("look") for e in scene["points"]] != ["matte"]:
            fail(f"the exported sand is not matte: {scene['points']}")
        found = share(picture, sandy)
        print(f"share of sandy pixels in Blender: {found:.4f}")
        if found < 0.03:
            fail("sand does not look like sand in Blender")
    # Both boards move, each as its file says; the second one bends.
    def board(name, frame):
        call(program, "export", folder / "long", "-o", folder / "boards", "--frames", f"{frame}:{frame}")
        return vertices(folder / f"boards/{name}.collider.{frame:04d}.ply")
    call(program, "run", shot / "blade.yaml", "-o", folder / "long", "--set", "voxel=20cm", "--frames", "1001:1070")
    width = [max(p[0] for p in board("flap", f)) - min(p[0] for p in board("flap", f)) for f in (1001, 1070)]
    ahead = [sum(p[0] for p in board("blade", f)) / 8 for f in (1001, 1070)]
    print(f"blade: goes {ahead[1] - ahead[0]:.3f} m, flap: {1000 * width[0]:.0f} mm through, bent {1000 * width[1]:.0f} mm")
    if not (ahead[1] > ahead[0] + 0.2 and abs(width[0] - 0.08) < 1e-3 and width[1] > 0.1):
        fail("the boards do not move as their files say")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, root, name = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if name == "blade":
            check_shot(program, root, folder)
        elif name == "look":
            check_look(program, root, folder)
        else:
            check_setup(program, root, folder, name)


main()
