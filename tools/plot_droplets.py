"""Draws what the tests of droplets print.

    droplet_regimes | plot_droplets.py regimes > docs/images/droplets_regimes.svg
"""

import csv
import sys

LEFT, TOP, RIGHT, BOTTOM = 50, 40, 14, 46
COLOURS = {"coalescence": "#dbe8f4", "stretching": "#f6dfcd", "reflexive": "#d9ecd9"}
LINES = {"reflexive": "#3a8a3a", "stretching": "#c2571a", "bounce": "#7a5195"}
WIDTH, HEIGHT, WEBER = 400, 400, 150


class Map:
    """Outcomes over We (to the right) and X (upwards) for one ratio of radii."""

    def __init__(self, left, ratio):
        self.left, self.ratio, self.out = left, ratio, []

    def x(self, weber):
        return self.left + LEFT + weber / WEBER * (WIDTH - LEFT - RIGHT)

    def y(self, offset):
        return HEIGHT - BOTTOM - offset * (HEIGHT - TOP - BOTTOM)

    def cells(self, points):
        """Points of classify(), which stand at the centres of a regular grid; neighbours alike become one rectangle."""
        offsets = sorted({offset for offset, _, _ in points})
        step_x = offsets[1] - offsets[0]
        for offset in offsets:
            row = sorted((weber, outcome) for o, weber, outcome in points if o == offset)
            step = row[1][0] - row[0][0]
            runs = []
            for weber, outcome in row:
                if runs and runs[-1][2] == outcome:
                    runs[-1][1] = weber + step / 2
                else:
                    runs.append([weber - step / 2, weber + step / 2, outcome])
            top, bottom = self.y(offset + step_x / 2), self.y(offset - step_x / 2)
            for first, last, outcome in runs:
                self.out.append(f'<rect x="{self.x(first):.1f}" y="{top:.1f}" width="{self.x(last) - self.x(first):.1f}" '
                                f'height="{bottom - top:.1f}" fill="{COLOURS[outcome]}" stroke="{COLOURS[outcome]}" stroke-width="0.3"/>')

    def threshold(self, points, outcome):
        visible = []
        for here, there in zip(points, points[1:]):
            pair = [here, there]
            for k in (0, 1):  # a piece that leaves the map ends at its edge
                (weber, offset), (other, beyond) = pair[k], pair[1 - k]
                if weber > WEBER >= other:
                    pair[k] = (WEBER, beyond + (offset - beyond) * (WEBER - other) / (weber - other))
            visible += [p for p in pair if p[0] <= WEBER and p not in visible[-1:]]
        path = " ".join(f"{self.x(weber):.1f},{self.y(offset):.1f}" for weber, offset in visible)
        dashed = ' stroke-dasharray="5 4"' if outcome == "bounce" else ""
        self.out.append(f'<polyline points="{path}" fill="none" stroke="{LINES[outcome]}" stroke-width="1.6"{dashed}/>')

    def rings(self, points):
        for weber, offset in points:
            self.out.append(f'<circle cx="{self.x(weber):.1f}" cy="{self.y(offset):.1f}" r="3.5" fill="white" stroke="#333" stroke-width="1.3"/>')

    def axes(self):
        left, right, low, high = self.x(0), self.x(WEBER), self.y(0), self.y(1)
        for weber in range(0, WEBER + 1, 50):
            self.out.append(f'<text x="{self.x(weber):.1f}" y="{low + 18:.1f}" text-anchor="middle">{weber}</text>')
        for tenth in range(0, 11, 2):
            self.out.append(f'<text x="{left - 8:.1f}" y="{self.y(tenth / 10) + 4:.1f}" text-anchor="end">{tenth / 10:g}</text>')
        self.out.append(f'<rect x="{left:.1f}" y="{high:.1f}" width="{right - left:.1f}" height="{low - high:.1f}" fill="none" stroke="#888"/>'
                        f'<text x="{(left + right) / 2:.1f}" y="{HEIGHT - 10}" text-anchor="middle">We</text>'
                        f'<text x="{left - 38:.1f}" y="{TOP - 14}">X</text>'
                        f'<text x="{(left + right) / 2:.1f}" y="{TOP - 14}" text-anchor="middle">δ = {self.ratio:g}</text>')

    def label(self, weber, offset, text):
        self.out.append(f'<text x="{self.x(weber):.1f}" y="{self.y(offset):.1f}" text-anchor="middle" fill="#333">{text}</text>')


def regimes():
    """Outcomes over (We, X) for every ratio of radii in the input, with the thresholds."""
    points, thresholds, experiments = {}, {}, {}
    for row in csv.DictReader(sys.stdin):
        ratio, offset, weber, outcome = float(row["ratio"]), float(row["offset"]), float(row["weber"]), row["outcome"]
        if row["kind"] == "point":
            points.setdefault(ratio, []).append((offset, weber, outcome))
        elif row["kind"] == "experiment":
            experiments.setdefault(ratio, []).append((weber, offset))
        else:
            thresholds.setdefault(ratio, {}).setdefault(outcome, []).append((weber, offset))
    if not points:
        sys.exit("there is no point in the input")
    maps = []
    for number, ratio in enumerate(sorted(points, reverse=True)):
        drawn = Map(number * WIDTH, ratio)
        drawn.cells(points[ratio])
        for outcome, curve in thresholds[ratio].items():
            drawn.threshold(curve, outcome)
        drawn.rings(experiments.get(ratio, []))
        drawn.axes()
        drawn.label(95, 0.7, "stretching separation")
        drawn.label(108, 0.06, "reflexive separation")
        drawn.label(32, 0.28, "coalescence")
        maps.append(drawn)
    legend_y, width = HEIGHT + 14, WIDTH * len(maps)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 30}" font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{HEIGHT + 30}" fill="white"/>']
    for drawn in maps:
        out += drawn.out
    entries = (("reflexive", "reflexive threshold"), ("stretching", "stretching threshold"), ("bounce", "bounce at a smaller We, if allowed"))
    for number, (outcome, text) in enumerate(entries):
        left = LEFT + (0, 180, 370)[number]
        dashed = ' stroke-dasharray="5 4"' if outcome == "bounce" else ""
        out.append(f'<line x1="{left}" y1="{legend_y}" x2="{left + 26}" y2="{legend_y}" stroke="{LINES[outcome]}" stroke-width="2"{dashed}/>'
                   f'<text x="{left + 34}" y="{legend_y + 4}">{text}</text>')
    left = LEFT + 640
    out.append(f'<circle cx="{left + 13}" cy="{legend_y}" r="3.5" fill="white" stroke="#333" stroke-width="1.3"/>'
               f'<text x="{left + 34}" y="{legend_y + 4}">edges in experiments with equal droplets (fit by Xu, Yang, Zhang)</text>')
    print("\n".join(out + ["</svg>"]))


def main():
    kinds = {"regimes": regimes}
    if len(sys.argv) != 2 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    kinds[sys.argv[1]]()


if __name__ == "__main__":
    main()
