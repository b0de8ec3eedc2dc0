"""Draws what the tests of sand print and write.

    sand_column_test --gtest_filter='*Long*' | plot_sand.py columns > docs/images/sand_columns.svg
    plot_sand.py hourglass FOLDER > docs/images/sand_hourglass.svg        with the CSV files of sand_hourglass_test
    plot_sand.py profiles FOLDER > docs/images/sand_profiles.svg          with those of sand_column_test
    (sand_slope_test; sand_heap_test) | plot_sand.py angles > docs/images/sand_angles.svg
    plot_sand.py heaps FOLDER > docs/images/sand_heaps.svg                with those of `sand_experiments heap tension=…`
    sand_experiments hourglass tension=inside,held throat=1,2,4,8 | plot_sand.py throats > docs/images/sand_throats.svg
"""

import csv
import math
import pathlib
import re
import sys

LEFT, TOP, RIGHT, BOTTOM = 60, 40, 20, 50
BLUE, ORANGE, GREEN, GREY = "#1f6fb4", "#c2571a", "#3a8a3a", "#888"


class Panel:
    """A part of the picture with axes of its own."""

    def __init__(self, place, size, x_range, y_range, titles):
        (self.x0, self.y0), (self.width, self.height) = place, size
        self.x_range, self.y_range, self.titles, self.out, self.entries = x_range, y_range, titles, [], 0

    def x(self, value):
        low, high = self.x_range
        return self.x0 + LEFT + (value - low) / (high - low) * (self.width - LEFT - RIGHT)

    def y(self, value):
        low, high = self.y_range
        return self.y0 + self.height - BOTTOM - (value - low) / (high - low) * (self.height - TOP - BOTTOM)

    def axes(self, x_ticks, y_ticks):
        (left, right), (low, high) = self.x_range, self.y_range
        for t in x_ticks:
            self.out.append(f'<line x1="{self.x(t):.1f}" y1="{self.y(low):.1f}" x2="{self.x(t):.1f}" y2="{self.y(high):.1f}" stroke="#ddd"/>'
                            f'<text x="{self.x(t):.1f}" y="{self.y(low) + 18:.1f}" text-anchor="middle">{t:g}</text>')
        for t in y_ticks:
            self.out.append(f'<line x1="{self.x(left):.1f}" y1="{self.y(t):.1f}" x2="{self.x(right):.1f}" y2="{self.y(t):.1f}" stroke="#ddd"/>'
                            f'<text x="{self.x(left) - 8:.1f}" y="{self.y(t) + 4:.1f}" text-anchor="end">{t:g}</text>')
        bottom, side = self.titles
        self.out.append(f'<text x="{(self.x(left) + self.x(right)) / 2:.1f}" y="{self.y0 + self.height - 12}" text-anchor="middle">{bottom}</text>'
                        f'<text x="{self.x(left) - 40:.1f}" y="{self.y0 + TOP - 14}">{side}</text>')

    def line(self, points, colour, dashed=False):
        path = " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in points)
        self.out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{DASHED if dashed else ""}/>')

    def dots(self, points, colour, filled):
        for a, b in points:
            self.out.append(f'<circle cx="{self.x(a):.1f}" cy="{self.y(b):.1f}" r="3.5" fill="{colour if filled else "white"}" stroke="{colour}" stroke-width="1.5"/>')

    def entry(self, text, colour, mark):
        """A line of the legend; mark: line, dashed, dot or ring."""
        left, top = self.x(self.x_range[0]) + 10, self.y0 + TOP + 8 + 18 * self.entries
        self.entries += 1
        if mark in ("line", "dashed"):
            sample = f'<line x1="{left}" y1="{top}" x2="{left + 26}" y2="{top}" stroke="{colour}" stroke-width="2"{DASHED if mark == "dashed" else ""}/>'
        else:
            sample = f'<circle cx="{left + 13}" cy="{top}" r="3.5" fill="{colour if mark == "dot" else "white"}" stroke="{colour}" stroke-width="1.5"/>'
        self.out.append(f'{sample}<text x="{left + 34}" y="{top + 4}">{text}</text>')


DASHED = ' stroke-dasharray="5 4"'


def picture(panels, width, height):
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for panel in panels:
        out += panel.out
    print("\n".join(out + ["</svg>"]))


def figures(lines, experiment):
    """[(asked, found)] of every line that an experiment printed."""
    rows = []
    for line in lines:
        if match := re.match(rf"{experiment}((?: \S+=\S+)*) \|(.*)", line):
            words = match[2].split()
            rows.append((dict(w.split("=", 1) for w in match[1].split()),
                         {name: float(value) for name, value in zip(words[::2], words[1::2])}))
    return rows or sys.exit(f"there is no line of '{experiment}' in the input")


def read_curve(path):
    with open(path, newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def between(law, first, last):
    return [(a, law(a)) for a in (first + (last - first) * i / 100 for i in range(101))]


def columns():
    """Run-out and height of columns beside the laws of Lube et al. and the heights of Lajeunesse et al."""
    rows = figures(sys.stdin, "column")
    panels = []
    for shape, colour, left in (("round", BLUE, 0), ("flat", ORANGE, 480)):
        chosen = [(asked, found) for asked, found in rows if asked["shape"] == shape]
        runout = Panel((left, 0), (480, 380), (0, 8.5), (0, 9 if shape == "flat" else 6), ("a = h₀ / r₀", "(r − r₀) / r₀"))
        height = Panel((left, 370), (480, 320), (0, 8.5), (0, 2.5), ("a = h₀ / r₀", "height / r₀"))
        runout.axes(range(9), range(10 if shape == "flat" else 7))
        height.axes(range(9), (0, 0.5, 1, 1.5, 2, 2.5))
        if shape == "round":
            pieces = [between(lambda a: 1.24 * a, 0, 1.7), between(lambda a: 1.6 * a ** 0.5, 1.7, 8.5)]
            sand, glass = lambda a: min(a, 0.88 * a ** (1 / 6)), lambda a: min(a, 0.74)
        else:
            pieces = [between(lambda a: 1.2 * a, 0, 1.8), between(lambda a: 1.9 * a ** (2 / 3), 2.8, 8.5)]
            sand, glass = lambda a: min(a, 0.65 * a ** 0.4), lambda a: min(a, a ** (1 / 3))
        for piece in pieces:
            runout.line(piece, GREY)
        height.line(between(sand, 0, 8.5), GREY)
        height.line(between(glass, 0, 8.5), GREY, dashed=True)
        widest = {}  # cells of the coarsest column of each a
        for asked, _ in chosen:
            widest[asked["a"]] = min(widest.get(asked["a"], math.inf), int(asked["cells"]))
        longest = max(float(asked["dt"]) for asked, _ in chosen)
        marks = set()
        for asked, found in chosen:
            fine, short = int(asked["cells"]) > widest[asked["a"]], float(asked["dt"]) < longest
            marks.add((fine, short))
            for panel, name in ((runout, "runout"), (height, "height")):
                panel.dots([(float(asked["a"]), found[name])], GREEN if fine else colour, not short)
        runout.entry(f"{'Axisymmetric' if shape == 'round' else 'Two-dimensional'}: Lube et al. {'2004' if shape == 'round' else '2005'}", GREY, "line")
        runout.entry("Aegir, 99 % of the mass", colour, "dot")
        for mark, text in (((False, True), "half the substep"), ((True, False), "finer cells"), ((True, True), "finer cells, half the substep")):
            if mark in marks:
                runout.entry(text, GREEN if mark[0] else colour, "ring" if mark[1] else "dot")
        height.entry("Lube et al.", GREY, "line")
        height.entry("Lajeunesse et al., glass beads", GREY, "dashed")
        panels += [runout, height]
    picture(panels, 960, 690)


def hourglass(folder):
    """How much is left in the bin, over time."""
    panel = Panel((0, 0), (720, 420), (0, 3), (0, 1), ("t, s", "left in the bin"))
    curves = []
    for name, title, colour in (("projection", "sand", ORANGE), ("none", "sand, tension: none", "#d0a11b"),
                                ("held", "sand, tension: held", "#7a5195"),
                                ("zhu", "sand, model: zhu", GREEN), ("water", "water", BLUE)):
        paths = sorted(p for p in pathlib.Path(folder).glob(f"sand_hourglass_flat_{name}_*.csv") if "throat" not in p.stem)
        if paths:
            curves.append((title, colour, read_curve(paths[0])))
    if not curves:
        sys.exit(f"there is no sand_hourglass_flat_*.csv in {folder}")
    panel.x_range = (0, math.ceil(2 * max(rows[-1]["t"] for _, _, rows in curves)) / 2)
    panel.axes([i / 2 for i in range(int(2 * panel.x_range[1]) + 1)], [i / 5 for i in range(6)])
    panel.out.append(f'<rect x="{panel.x(0):.1f}" y="{panel.y(0.8):.1f}" width="{panel.x(panel.x_range[1]) - panel.x(0):.1f}" '
                     f'height="{panel.y(0.2) - panel.y(0.8):.1f}" fill="#000" opacity="0.04"/>')
    for number, (title, colour, rows) in enumerate(curves):
        panel.line([(row["t"], row["fill"]) for row in rows], colour)
        top = panel.y(1) + 16 + 18 * number
        panel.out.append(f'<line x1="{panel.x(panel.x_range[1]) - 160}" y1="{top}" x2="{panel.x(panel.x_range[1]) - 134}" y2="{top}" stroke="{colour}" stroke-width="2"/>'
                         f'<text x="{panel.x(panel.x_range[1]) - 126}" y="{top + 4}">{title}</text>')
    picture([panel], 720, 420)


def throats():
    """Rate of a bin over the depth of the throat below its opening."""
    panel = Panel((0, 0), (560, 340), (0, 9), (0, 2), ("depth of the throat, cells", "rate / ρ √g D^1.5"))
    panel.axes(range(0, 10, 2), (0, 0.5, 1, 1.5, 2))
    rows = figures(sys.stdin, "hourglass")
    for name, title, colour in (("inside", "tension: inside", ORANGE), ("held", "tension: held", "#7a5195")):
        points = sorted((float(asked["throat"]), found["rate"]) for asked, found in rows if asked["tension"] == name)
        panel.line(points, colour)
        panel.dots(points, colour, True)
        panel.entry(title, colour, "line")
    picture([panel], 560, 340)


def profiles(folder):
    """Shapes of the deposits of flat columns."""
    panel = Panel((0, 0), (900, 340), (0, 11), (0, 2.4), ("x / r₀", "height / r₀"))
    panel.axes(range(12), (0, 0.5, 1, 1.5, 2))
    colours = ("#0b3c5d", BLUE, "#4aa3a2", GREEN, "#d0a11b", ORANGE)
    cases = {}
    for path in pathlib.Path(folder).glob("sand_column_flat_a*_profile.csv"):
        a, cells = re.match(r"sand_column_flat_a([\d.]+)_(\d+)_profile", path.stem).groups()
        if float(a) not in cases or int(cells) > cases[float(a)][0]:
            cases[float(a)] = (int(cells), path)
    if not cases:
        sys.exit(f"there is no sand_column_flat_*_profile.csv in {folder}")
    for colour, (a, (cells, path)) in zip(colours, sorted(cases.items())):
        panel.line([(row["r"], row["height"]) for row in read_curve(path)], colour)
        left = panel.x(11) - 170
        panel.out.append(f'<line x1="{left}" y1="{TOP + 8 + 18 * panel.entries}" x2="{left + 26}" y2="{TOP + 8 + 18 * panel.entries}" stroke="{colour}" stroke-width="2"/>'
                         f'<text x="{left + 34}" y="{TOP + 12 + 18 * panel.entries}">a = {a:g}, {cells} cells per r₀</text>')
        panel.entries += 1
    picture([panel], 900, 340)


def heaps(folder):
    """Flanks of poured heaps, in cells of sand as dense as it was poured."""
    curves = []
    for name, title, colour in (("inside", "tension: inside", ORANGE), ("none", "tension: none", "#d0a11b")):
        paths = sorted(pathlib.Path(folder).glob(f"sand_heap_flat_*_{name}.csv"))
        if not paths:
            sys.exit(f"there is no sand_heap_flat_*_{name}.csv in {folder}")
        curves.append((title, colour, [(row["x"], row["height"]) for row in read_curve(paths[0])]))
    far = 10 * math.ceil(max(x for _, _, points in curves for x, height in points if height > 0.05) / 10)
    panel = Panel((0, 0), (720, 320), (0, far), (0, 25), ("from the middle, cells", "height, cells"))
    panel.axes(range(0, far + 1, 10), range(0, 26, 5))
    slope = math.tan(math.radians(30))
    panel.line([(0, 20), (20 / slope, 0)], GREY, dashed=True)
    for title, colour, points in curves:
        panel.line([p for p in points if p[0] <= far], colour)
        panel.entry(title, colour, "line")
    panel.entry("30°", GREY, "dashed")
    picture([panel], 720, 320)


def angles():
    """Slopes that rest and flow, and heaps, over the angle of internal friction."""
    lines = sys.stdin.readlines()
    panel = Panel((0, 0), (560, 500), (15, 50), (10, 55), ("angle of internal friction, degrees", "slope, degrees"))
    panel.axes(range(15, 51, 5), range(10, 56, 5))
    panel.line([(15, 15), (50, 50)], GREY)
    for asked, found in figures(lines, "slope"):
        panel.dots([(float(asked["phi"]), float(asked["theta"]))], BLUE, found["flows"] > 0)
    for asked, found in figures(lines, "heap"):
        panel.dots([(float(asked.get("phi", 30)) + 0.6, found["angle"])], ORANGE, True)
    panel.entry("φ", GREY, "line")
    panel.entry("layer on a slope: flows", BLUE, "dot")
    panel.entry("layer on a slope: rests", BLUE, "ring")
    panel.entry("flank of a poured heap (drawn 0.6° to the right)", ORANGE, "dot")
    picture([panel], 560, 500)


def main():
    kinds = {"columns": (columns, 0), "hourglass": (hourglass, 1), "profiles": (profiles, 1),
             "heaps": (heaps, 1), "angles": (angles, 0), "throats": (throats, 0)}
    if len(sys.argv) < 2 or sys.argv[1] not in kinds or len(sys.argv) != 2 + kinds[sys.argv[1]][1]:
        sys.exit(__doc__)
    kinds[sys.argv[1]][0](*sys.argv[2:])


if __name__ == "__main__":
    main()
