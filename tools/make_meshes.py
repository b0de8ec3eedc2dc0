"""Writes the procedural meshes that the example setups read.

    make_meshes.py                          all of setups/geo that is made here
    make_meshes.py DIR [NAME...]            some of them, or those of a shot, into a folder

Names: knot (PLY, a closed torus knot), tank (PLY, an open tank with walls), paddle (glTF, a board that swings on a hinge),
comet (glTF, a faceted ball that falls and tumbles; only for the shot `splash`). The same bytes every time.
"""

import json
import math
import pathlib
import struct
import sys


def write_ply(path, positions, triangles):
    header = ("ply\nformat binary_little_endian 1.0\n"
              f"element vertex {len(positions)}\nproperty float x\nproperty float y\nproperty float z\n"
              f"element face {len(triangles)}\nproperty list uchar int vertex_indices\nend_header\n")
    body = b"".join(struct.pack("<3f", *p) for p in positions)
    body += b"".join(struct.pack("<B3i", 3, *t) for t in triangles)
    path.write_bytes(header.encode() + body)


def write_glb(path, positions, triangles, times, translations=None, rotations=None):
    """One node with linear keys: translations in metres, rotations as quaternions x, y, z, w."""
    binary, views, accessors = b"", [], []

    def add(data, count, kind, component, **more):
        nonlocal binary
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
        accessors.append({"bufferView": len(views) - 1, "componentType": component, "count": count, "type": kind, **more})
        binary += data
        return len(accessors) - 1

    def floats(rows, kind, **more):
        return add(b"".join(struct.pack(f"<{len(r)}f", *r) for r in rows), len(rows), kind, 5126, **more)

    low = [min(p[a] for p in positions) for a in range(3)]
    high = [max(p[a] for p in positions) for a in range(3)]
    vertices = floats(positions, "VEC3", min=low, max=high)
    indices = add(b"".join(struct.pack("<3I", *t) for t in triangles), 3 * len(triangles), "SCALAR", 5125)
    clock = floats([[t] for t in times], "SCALAR", min=[min(times)], max=[max(times)])
    samplers, channels = [], []
    for name, rows, kind in (("translation", translations, "VEC3"), ("rotation", rotations, "VEC4")):
        if rows:
            samplers.append({"input": clock, "output": floats(rows, kind), "interpolation": "LINEAR"})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": 0, "path": name}})
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": vertices}, "indices": indices}]}],
        "animations": [{"samplers": samplers, "channels": channels}],
        "bufferViews": views, "accessors": accessors, "buffers": [{"byteLength": len(binary)}]}
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    path.write_bytes(struct.pack("<4s2I", b"glTF", 2, 12 + 8 + len(text) + 8 + len(binary)) +
                     struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary)


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def unit(a):
    length = math.sqrt(sum(x * x for x in a))
    return [x / length for x in a]


def knot(path, along=192, around=20, size=0.2, tube=0.062):
    """A torus knot (2, 3) about the origin: a tube swept along a closed curve."""
    def curve(u):
        r = size * (1 + 0.42 * math.cos(3 * u))
        return [r * math.cos(2 * u), r * math.sin(2 * u), 0.5 * size * math.sin(3 * u)]

    positions, triangles = [], []
    for i in range(along):
        u = 2 * math.pi * i / along
        center, ahead, back = curve(u), curve(u + 1e-4), curve(u - 1e-4)
        tangent = unit([a - b for a, b in zip(ahead, back)])
        side = unit(cross(tangent, [0, 0, 1]))
        up = cross(side, tangent)
        for j in range(around):
            v = 2 * math.pi * j / around
            positions.append([c + tube * (math.cos(v) * s + math.sin(v) * w) for c, s, w in zip(center, side, up)])
    for i in range(along):
        for j in range(around):
            a, b = i * around + j, i * around + (j + 1) % around
            c, d = (a + around) % len(positions), (b + around) % len(positions)
            triangles += [[a, c, b], [b, c, d]]
    write_ply(path, positions, outward(positions, triangles))


def outward(positions, triangles):
    """Turns all triangles round if the volume they enclose is negative."""
    volume = sum(sum(x * y for x, y in zip(positions[a], cross(positions[b], positions[c]))) for a, b, c in triangles)
    return triangles if volume > 0 else [[a, c, b] for a, b, c in triangles]


def tank(path, size=(1.0, 0.6, 0.5), wall=0.04):
    """A tank without a lid: inner size and thickness of the walls; the middle of its floor's top is the origin."""
    def ring(half_x, half_z, y):
        return [[x * half_x, y, z * half_z] for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    x, height, z = size[0] / 2, size[1], size[2] / 2
    positions = (ring(x + wall, z + wall, -wall) + ring(x + wall, z + wall, height) + ring(x, z, height) + ring(x, z, 0))
    triangles = []
    for low in (0, 4, 8):  # outer walls, rim, inner walls
        for i in range(4):
            a, b, c, d = low + i, low + (i + 1) % 4, low + 4 + (i + 1) % 4, low + 4 + i
            triangles += [[a, b, c], [a, c, d]]
    triangles += [[0, 2, 1], [0, 3, 2], [12, 13, 14], [12, 14, 15]]
    write_ply(path, positions, outward(positions, triangles))


def box(low, high):
    positions = [[high[a] if i >> a & 1 else low[a] for a in range(3)] for i in range(8)]
    quads = [(0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6)]
    triangles = [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])]
    return positions, outward(positions, triangles)


def paddle(path, seconds=8.0, period=1.25, swing=math.radians(14)):
    """A board that stands on a hinge at the origin and swings about z, starting gently."""
    positions, triangles = box([-0.02, 0.0, -0.245], [0.02, 0.62, 0.245])
    times = [i / 48 for i in range(int(seconds * 48) + 1)]
    rotations = []
    for t in times:
        start = min(1.0, t / period)
        angle = -swing * start * math.sin(2 * math.pi * t / period)
        rotations.append([0, 0, math.sin(angle / 2), math.cos(angle / 2)])
    write_glb(path, positions, triangles, times, rotations=rotations)


def icosphere(levels):
    g = (1 + math.sqrt(5)) / 2
    positions = [unit(p) for p in ([-1, g, 0], [1, g, 0], [-1, -g, 0], [1, -g, 0], [0, -1, g], [0, 1, g],
                                   [0, -1, -g], [0, 1, -g], [g, 0, -1], [g, 0, 1], [-g, 0, -1], [-g, 0, 1])]
    triangles = [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2],
                 [10, 7, 6], [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11],
                 [6, 2, 10], [8, 6, 7], [9, 8, 1]]
    for _ in range(levels):
        middles, finer = {}, []

        def middle(a, b):
            key = (min(a, b), max(a, b))
            if key not in middles:
                middles[key] = len(positions)
                positions.append(unit([x + y for x, y in zip(positions[a], positions[b])]))
            return middles[key]
        for a, b, c in triangles:
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            finer += [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
        triangles = finer
    return positions, triangles


def comet(path, radius=0.45, height=2.6, gravity=9.80665, depth=-0.75):
    """A ball with ridges that falls from rest, tumbles, slows down under water and rests there."""
    positions, triangles = icosphere(4)
    for p in positions:
        ridge = 1 + 0.08 * math.cos(5 * math.atan2(p[2], p[0])) * (1 - p[1] * p[1]) + 0.05 * math.cos(7 * p[1])
        p[:] = [radius * ridge * x for x in p]
    times, translations, rotations = [], [], []
    rate, y, v = 96, height, 0.0
    axis = unit([1, 0.3, 0.5])
    angle = 0.0
    for i in range(int(8.5 * rate)):
        times.append(i / rate)
        translations.append([0.15 * min(1.0, i / rate), y, 0])
        rotations.append([x * math.sin(angle / 2) for x in axis] + [math.cos(angle / 2)])
        wet = max(0.0, min(1.0, (radius - y) / (2 * radius)))
        v += (-gravity * (1 - 0.75 * wet) - 3.0 * wet * v) / rate
        y = max(depth, y + v / rate)
        angle += (1.4 if y > depth else 0.0) * (1 - 0.7 * wet) / rate
    write_glb(path, positions, outward(positions, triangles), times, translations, rotations)


FILES = {"knot": ("knot.ply", knot), "tank": ("tank.ply", tank), "paddle": ("paddle.glb", paddle),
         "comet": ("comet.glb", comet)}


def main():
    words = sys.argv[1:]
    if words and words[0].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(words[0]) if words else pathlib.Path(__file__).resolve().parents[1] / "setups" / "geo"
    names = words[1:] or [n for n in FILES if n != "comet"]
    for name in names:
        if name not in FILES:
            sys.exit(f"there is no mesh '{name}'; there are {', '.join(FILES)}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        file, make = FILES[name]
        make(folder / file)
        print(folder / file)


if __name__ == "__main__":
    main()
