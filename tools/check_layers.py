#!/usr/bin/env python3
"""Fails on includes that break Aegir's layers.

    tools/check_layers.py [ROOT]

Every `#include "room/..."` under ROOT/src and ROOT/apps must follow the arrows below, and every header of a heavy
library must stay in its home and out of our headers. Prints `file:line: why` and ends with 1 when something is wrong.
"""
import re
import sys
from pathlib import Path

# The arrows: which rooms a room includes, besides everything below those. This table is the only place they stand for
# the check; ARCHITECTURE.md explains them.
ARROWS = {
    "base": [],
    "parallel": ["base"],
    "domain": ["parallel"],
    "geometry": ["domain"],
    "numerics": ["geometry"],
    "solvers": ["domain"],
    "expressions": ["numerics"],
    "io": ["geometry"],
    "pipeline": ["domain", "expressions", "io"],
    "phenomena": ["numerics", "solvers", "pipeline"],
    "surfacing": ["numerics", "io", "pipeline"],
    "preview": ["numerics", "io"],
    "engine": ["phenomena", "surfacing", "preview"],
    "apps": ["engine"],
}

# Inside phenomena/: siblings see `common` only; `coupling` sees all of them; nobody but the room's own top folder and
# rooms above sees `coupling`.
SHARED_PHENOMENON = "common"
COUPLING_PHENOMENON = "coupling"

# Libraries that are heavy or must not spread: which includes, which rooms. None of them may appear in a header.
LIBRARIES = {
    "OpenVDB": (r"openvdb(_ax)?/", ["io", "surfacing", "expressions"]),
    "LLVM": (r"llvm/", ["expressions"]),
    "MPI": (r"mpi\.h$", ["parallel"]),
    "oneTBB": (r"(tbb|oneapi)/", ["parallel", "io"]),
    "Embree": (r"embree\d/", ["geometry", "preview"]),
    "HDF5": (r"(hdf5|H5\w+)\.h$", ["io"]),
    "yaml-cpp": (r"yaml-cpp/", ["pipeline"]),
    "assimp": (r"assimp/", ["io"]),
    "libpng": (r"png\.h$", ["preview"]),
    "SuiteSparse": (r"(suitesparse/|cholmod\w*\.h$)", ["solvers"]),
    "hypre": (r"(hypre/|HYPRE\w*\.h$)", []),
    "CLI11": (r"CLI/|CLI11\.hpp$", ["apps"]),
}

SUFFIXES = {".h", ".hpp", ".cpp", ".inl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reachable(arrows):
    """Room -> every room it may include; raises ValueError on a cycle of arrows."""
    below = {}

    def visit(room, path):
        if room in path:
            raise ValueError("the arrows form a cycle: " + " -> ".join([*path, room]))
        if room not in below:
            below[room] = {room}.union(*(visit(other, [*path, room]) for other in arrows[room]))
        return below[room]

    for room in arrows:
        visit(room, [])
    return below


def includes(file):
    """(line number, is quoted, path) of every include, comments skipped."""
    in_comment = False
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if in_comment:
            if "*/" not in line:
                continue
            line, in_comment = line.split("*/", 1)[1], False
        if match := INCLUDE.match(line):
            yield number, match[1] == '"', match[2]
        if "/*" in line and "*/" not in line.split("/*", 1)[1] and "//" not in line.split("/*", 1)[0]:
            in_comment = True


def sibling_problem(file_parts, include_parts):
    """Why a file in phenomena/ may not include another phenomenon, or None."""
    if len(file_parts) < 3 or len(include_parts) < 3:
        return None  # the room's own top folder registers every phenomenon
    own, other = file_parts[1], include_parts[1]
    if own == other or own == COUPLING_PHENOMENON or other == SHARED_PHENOMENON:
        return None
    return f"phenomena/{own} may not include its sibling phenomena/{other}; only phenomena/{SHARED_PHENOMENON}"


def check_file(root, file, below):
    """Problems of one file, as (line, why), and the rooms it includes, as (line, room)."""
    parts = file.relative_to(root / "src").parts if (root / "src") in file.parents else ("apps", *file.parts[-1:])
    room = parts[0]
    problems, rooms = [], []
    if room not in below:
        return [(1, f"'{room}' is not a room; add it to the arrows in tools/check_layers.py")], []
    for line, quoted, path in includes(file):
        for library, (pattern, homes) in LIBRARIES.items():
            if not re.match(pattern, path):
                continue
            if room not in homes:
                problems.append((line, f"{library} is at home in {', '.join(homes)}, not in {room}"))
            elif file.suffix != ".cpp":
                problems.append((line, f"{library} may be included by .cpp files only, not by a header"))
        if not quoted:
            continue
        include_parts = Path(path).parts
        if "." in include_parts or ".." in include_parts:
            problems.append((line, f'"{path}" is a relative include; write it from src/: "room/file.h"'))
            continue
        other = include_parts[0]
        if other not in below:
            if room != "apps" and (len(include_parts) == 1 or not (root / "src" / path).exists()):
                problems.append((line, f'"{path}" does not start with a room; write "room/file.h", or <...> for a library'))
            continue
        rooms.append((line, other))
        if other not in below[room]:
            allowed = ", ".join(r for r in below if r in below[room] and r != room) or "nothing"
            problems.append((line, f"{room} may not include {other} (it may include {allowed})"))
        elif room == other == "phenomena" and (why := sibling_problem(parts, include_parts)):
            problems.append((line, why))
    return problems, rooms


def find_cycles(edges):
    """Cycles between rooms in what is included, each as a list of (file, line, from, to)."""
    graph = {}
    for edge in edges:
        graph.setdefault(edge[2], {}).setdefault(edge[3], edge)
    cycles, done = [], set()

    def visit(room, path):
        if room in path:
            loop = [*path[path.index(room):], room]
            cycles.append([graph[a][b] for a, b in zip(loop, loop[1:])])
        elif room not in done:
            for other in sorted(graph.get(room, {})):
                visit(other, [*path, room])
            done.add(room)

    for room in sorted(graph):
        visit(room, [])
    return cycles


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    try:
        below = reachable(ARROWS)
    except ValueError as cycle:
        print(f"{__file__}:1: {cycle}")
        return 1
    files = sorted(f for top in ("src", "apps") for f in (root / top).rglob("*") if f.suffix in SUFFIXES)
    if not files:
        print(f"{root}:1: no source files under src/ or apps/")
        return 1
    problems, edges = [], []
    for file in files:
        found, rooms = check_file(root, file, below)
        problems += [(file, line, why) for line, why in found]
        own = file.relative_to(root / "src").parts[0] if (root / "src") in file.parents else "apps"
        edges += [(file, line, own, other) for line, other in rooms if other != own]
    for cycle in find_cycles(edges):
        way = " -> ".join([cycle[0][2], *(edge[3] for edge in cycle)])
        problems += [(file, line, f"part of a cycle between rooms: {way}") for file, line, _, _ in cycle]
    for file, line, why in sorted(problems):
        print(f"{file.relative_to(root)}:{line}: {why}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
