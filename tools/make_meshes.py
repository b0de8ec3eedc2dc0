"""Writes the procedural meshes that the example setups read.

    make_meshes.py                          all of setups/geo that is made here
    make_meshes.py DIR [NAME...]            some of them, or those of a shot, into a folder

Names: knot (PLY, a closed torus knot), tank (PLY, an open tank with walls), paddle (glTF, a board that swings on a hinge),
hourglass (PLY, a closed glass with a cavity), hourglass_sand (PLY, what fills its upper half).
For the shot `splash`: comet (glTF, a faceted ball that falls and tumbles). For the shot `blade`: heap (PLY, a cone), blade
(glTF, a stiff board that pushes), flap (PLY, one file per frame: a board that pushes and bends). The same bytes every time.
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


def turned(profile, around):
    """A body of revolution about y through points (radius, height) from its lower pole to its upper one."""
    positions, triangles = [[0, profile[0][1], 0]], []
    for radius, y in profile[1:-1]:
        for j in range(around):
            a = 2 * math.pi * j / around
            positions.append([radius * math.cos(a), y, radius * math.sin(a)])
    positions.append([0, profile[-1][1], 0])
    rings, top = len(profile) - 2, len(positions) - 1
    for j in range(around):
        k = (j + 1) % around
        triangles += [[0, 1 + j, 1 + k], [top, top - around + k, top - around + j]]
        for i in range(rings - 1):
            a, b, c, d = (1 + (i + n) * around + m for n, m in ((0, j), (0, k), (1, j), (1, k)))
            triangles += [[a, c, b], [b, c, d]]
    return positions, outward(positions, triangles)


# Inner wall of the upper half of the hourglass in metres: neck, funnel of 51 degrees, bulb.
NECK = 0.012
BULB = [(NECK, 0.0), (NECK, 0.004), (0.0135, 0.008), (0.017, 0.0135), (0.024, 0.0225), (0.066, 0.0745), (0.073, 0.0845),
        (0.078, 0.097), (0.080, 0.111), (0.080, 0.150), (0.077, 0.164), (0.070, 0.175), (0.058, 0.183), (0.040, 0.188),
        (0.020, 0.190), (0.0, 0.190)]


def hourglass(path, wall=0.014, around=64):
    """The glass: outside, and inside turned round, so that what is between is solid. The neck is at the origin."""
    inner = [(r, -y) for r, y in reversed(BULB)] + BULB[1:]
    outer = []
    for i, (r, y) in enumerate(inner):
        (r0, y0), (r1, y1) = inner[max(i - 1, 0)], inner[min(i + 1, len(inner) - 1)]
        along = unit([r1 - r0, y1 - y0, 0])
        outer.append((0.0 if r == 0 else r + wall * along[1], y - wall * along[0]))
    positions, triangles = turned(outer, around)
    inside, around_inside = turned(inner, around)
    shift = len(positions)
    triangles += [[a + shift, c + shift, b + shift] for a, b, c in around_inside]
    write_ply(path, positions + inside, triangles)


def hourglass_sand(path, level=0.14, gap=0.0005, around=64):
    """What fills the upper bulb of the hourglass from the middle of its neck up to a level, a little off the glass."""
    low = [(r - gap, y) for r, y in BULB if y < level]
    write_ply(path, *turned([(0.0, 0.0), *low, (BULB[9][0] - gap, level), (0.0, level)], around))


def heap(path, radius=1.0, slope=math.radians(29), around=96):
    """A cone of loose sand with a blunt top, on the floor."""
    height = radius * math.tan(slope)
    profile = [(0.0, 0.0)] + [(radius * (1 - t / 20), height * t / 20) for t in range(0, 19)]
    write_ply(path, *turned(profile + [(0.04 * radius, 0.935 * height), (0.0, 0.94 * height)], around))


def eased(t):
    """From 0 to 1 without a jerk."""
    t = max(0.0, min(1.0, t))
    return t * t * t * (10 + t * (6 * t - 15))


def board(size, cells):
    """A box about the middle of its lower side, with so many cells along y and z that it can bend."""
    (sx, sy, sz), (ny, nz) = size, cells
    positions, triangles = [], []
    for side in (-0.5, 0.5):
        for i in range(ny + 1):
            positions += [[side * sx, sy * i / ny, sz * (k / nz - 0.5)] for k in range(nz + 1)]
    def at(side, i, k):
        return (side * (ny + 1) + i) * (nz + 1) + k
    quads = [(at(s, i, k), at(s, i, k + 1), at(s, i + 1, k + 1), at(s, i + 1, k)) if s else
             (at(s, i, k), at(s, i + 1, k), at(s, i + 1, k + 1), at(s, i, k + 1))
             for s in (0, 1) for i in range(ny) for k in range(nz)]
    for k in range(nz):
        quads += [(at(0, 0, k), at(0, 0, k + 1), at(1, 0, k + 1), at(1, 0, k)),
                  (at(0, ny, k), at(1, ny, k), at(1, ny, k + 1), at(0, ny, k + 1))]
    for i in range(ny):
        quads += [(at(0, i, 0), at(1, i, 0), at(1, i + 1, 0), at(0, i + 1, 0)),
                  (at(0, i, nz), at(0, i + 1, nz), at(1, i + 1, nz), at(1, i, nz))]
    triangles = [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])]
    return positions, outward(positions, triangles)


def blade(path, seconds=8.5, rate=48):
    """A stiff board that comes from -x, pushes with its lower edge ahead, a little askew, and lifts off at the end."""
    positions, triangles = board((0.08, 0.55, 1.3), (1, 1))
    times, translations, rotations = [], [], []
    lean, yaw = math.radians(12), math.radians(14)
    for i in range(int(seconds * rate) + 1):
        t = i / rate
        x = -1.35 + 1.3 * eased((t - 0.25) / 5.5) - 0.12 * eased((t - 5.9) / 0.8)
        times.append(t)
        translations.append([x, 0.012 + 0.75 * eased((t - 6.4) / 1.8), 0])
        # Turned about z first, then about y.
        (sz, cz), (sy, cy) = ((math.sin(a / 2), math.cos(a / 2)) for a in (lean, yaw * eased(t / 3)))
        rotations.append([sy * sz, sy * cz, cy * sz, cy * cz])
    write_glb(path, positions, triangles, times, translations, rotations)


def flap(path, first=1001, frames=200, fps=24):
    """A board that comes from +x, bends back the higher the more while it pushes, draws back and swings out."""
    positions, triangles = board((0.08, 0.5, 1.0), (10, 12))
    for frame in range(first, first + frames):
        t = (frame - first) / fps
        x = 1.35 - 0.55 * eased((t - 1.5) / 3) + 0.4 * eased((t - 5) / 1.5)
        push = eased((t - 2) / 2) - eased((t - 5) / 0.4)
        swing = 0.25 * math.exp(-1.2 * (t - 5.2)) * math.cos(9 * (t - 5.2)) * eased((t - 5) / 0.4) if t > 5 else 0.0
        placed = []
        for px, py, pz in positions:
            curve = 0.45 * (push - swing) * (1 + 0.35 * pz)  # radians at the top; more at one end
            angle = curve * py / 0.5
            # Along an arc: the length of the board stays.
            reach = py * (1 - math.cos(angle)) / angle if abs(angle) > 1e-6 else 0.0
            rise = py * math.sin(angle) / angle if abs(angle) > 1e-6 else py
            placed.append([x + reach + px * math.cos(angle), 0.012 + rise - px * math.sin(angle), pz])
        write_ply(path.with_name(path.name.replace("$F4", f"{frame:04d}")), placed, triangles)


FILES = {"knot": ("knot.ply", knot), "tank": ("tank.ply", tank), "paddle": ("paddle.glb", paddle),
         "hourglass": ("hourglass.ply", hourglass), "hourglass_sand": ("hourglass_sand.ply", hourglass_sand),
         "comet": ("comet.glb", comet), "heap": ("heap.ply", heap), "blade": ("blade.glb", blade),
         "flap": ("flap.$F4.ply", flap)}
OF_SHOTS = ("comet", "heap", "blade", "flap")


def main():
    words = sys.argv[1:]
    if words and words[0].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(words[0]) if words else pathlib.Path(__file__).resolve().parents[1] / "setups" / "geo"
    names = words[1:] or [n for n in FILES if n not in OF_SHOTS]
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
