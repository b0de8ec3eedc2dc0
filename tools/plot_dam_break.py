"""Draws the fronts that tests/liquid/dam_break_test.cpp prints, as measured, as computed and as the theory of ideal
liquids has them, without any shift of time.

    liquid_dam_break_test | plot_dam_break.py > docs/images/dam_break_fronts.svg
"""

import re
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 420, 60, 40, 20, 50
LAST_T, LAST_Z = 3.5, 5.0
COLOURS = ("#1f6fb4", "#c2571a")


def read(lines):
    """[(title, [(T, measured, ours, ideal)])]"""
    found = []
    for line in lines:
        if head := re.match(r"(.+?), (\d+) cells per width, CFL", line):
            found.append((f"{head[1]}, {head[2]} cells per width", []))
        elif row := re.match(r"\s+T ([\d.]+)\s+measured ([\d.]+)\s+ours ([\d.]+)\s+ideal ([\d.]+)", line):
            found[-1][1].append(tuple(float(x) for x in row.groups()))
    return found


def x(t):
    return LEFT + t / LAST_T * (WIDTH - LEFT - RIGHT)


def y(z):
    return HEIGHT - BOTTOM - (z - 1) / (LAST_Z - 1) * (HEIGHT - TOP - BOTTOM)


def main():
    curves = read(sys.stdin)
    if not curves:
        sys.exit("there are no fronts in the input; pipe the output of liquid_dam_break_test into this")
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for i in range(8):
        t = i * 0.5
        out.append(f'<line x1="{x(t):.1f}" y1="{y(1):.1f}" x2="{x(t):.1f}" y2="{y(LAST_Z):.1f}" stroke="#ddd"/>'
                   f'<text x="{x(t):.1f}" y="{y(1) + 18:.1f}" text-anchor="middle">{t:g}</text>')
    for z in range(1, int(LAST_Z) + 1):
        out.append(f'<line x1="{x(0):.1f}" y1="{y(z):.1f}" x2="{x(LAST_T):.1f}" y2="{y(z):.1f}" stroke="#ddd"/>'
                   f'<text x="{x(0) - 8:.1f}" y="{y(z) + 4:.1f}" text-anchor="end">{z}</text>')
    out.append(f'<text x="{x(LAST_T / 2):.1f}" y="{HEIGHT - 10}" text-anchor="middle">T = t √(2g / a)</text>')
    out.append(f'<text x="{LEFT - 40}" y="{TOP - 14}">front / a</text>')
    for number, ((title, rows), colour) in enumerate(zip(curves, COLOURS)):
        path = " ".join(f"{x(t):.1f},{y(ours):.1f}" for t, _, ours, _ in rows)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x(t):.1f}" cy="{y(measured):.1f}" r="3.5" fill="none" stroke="{colour}" stroke-width="1.5"/>'
                for t, measured, _, _ in rows]
        top = TOP + 12 + 20 * number
        out.append(f'<circle cx="{LEFT + 18}" cy="{top - 4}" r="3.5" fill="none" stroke="{colour}" stroke-width="1.5"/>'
                   f'<line x1="{LEFT + 28}" y1="{top - 4}" x2="{LEFT + 52}" y2="{top - 4}" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{LEFT + 60}" y="{top}">{title.replace("&", "&amp;")}: measured, Aegir</text>')
    # One theory for both.
    rows = sorted({(t, ideal) for _, rows in curves for t, _, _, ideal in rows})
    path = " ".join(f"{x(t):.1f},{y(ideal):.1f}" for t, ideal in rows)
    top = TOP + 12 + 20 * len(curves)
    out.append(f'<polyline points="{path}" fill="none" stroke="#333" stroke-width="1.5" stroke-dasharray="5 4"/>'
               f'<line x1="{LEFT + 12}" y1="{top - 4}" x2="{LEFT + 52}" y2="{top - 4}" stroke="#333" stroke-width="1.5" '
               f'stroke-dasharray="5 4"/><text x="{LEFT + 60}" y="{top}">ideal liquid, boundary elements</text>')
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
