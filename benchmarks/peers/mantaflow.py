"""The dam break of `./aegir bench liquid` in Mantaflow, the liquid solver inside Debian's `blender` package.

    blender -b --factory-startup -t 2 -P benchmarks/peers/mantaflow.py -- --cells 128 --frames 6 10 --json out.json

Runs inside Blender only; run_mantaflow.py is the command to start it from outside. What is counted and what is set
differently from Blender's defaults stands in README.md beside this file.
"""

import argparse
import gc
import json
import math
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
import types

import bpy

BOX = (2.0, 1.0, 1.0)  # interior in metres, z up
COLUMN = (0.8, 1.0, 0.75)
FRAMES_PER_SECOND = 24
GRAVITY = 9.81
CFL = 2.0
BAND_OFF = 1000.0  # cells, Blender's own maximum: no point of the box is that deep
UNITS_PER_SECOND = 2.5  # Mantaflow's time: Blender calls 1/25 s a step of 0.1


def parse_arguments():
    """Reads what stands behind `--` on Blender's command line."""
    own = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    parser = argparse.ArgumentParser(prog="mantaflow.py")
    parser.add_argument("--cells", type=int, default=128, help="cells along the long side of the box's interior")
    parser.add_argument("--frames", type=int, nargs=2, default=(6, 10), metavar=("FIRST", "LAST"))
    parser.add_argument("--threads", type=int, default=0, help="what Blender's -t was given; only reported")
    parser.add_argument("--band", type=float, default=BAND_OFF, help="in cells; 1000 is off, 3 usual")
    parser.add_argument("--json", default="", help="where to write the figures")
    parsed = parser.parse_args(own)
    if parsed.cells < 8:
        parser.error("--cells must be at least 8")
    # The step functions exist once Blender has simulated its first frame, so that frame cannot be timed.
    if not 2 <= parsed.frames[0] <= parsed.frames[1]:
        parser.error("--frames must be FIRST LAST with 2 <= FIRST <= LAST")
    return parsed


def add_box(name, low, high):
    """Adds a closed box with its corners at low and high, its origin at its middle and unit scale."""
    middle = [0.5 * (a + b) for a, b in zip(low, high)]
    bpy.ops.mesh.primitive_cube_add(size=1, location=middle, scale=[b - a for a, b in zip(low, high)])
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    bpy.context.object.name = name
    return bpy.context.object


def add_domain(cells, band, cache):
    """Adds the domain: the interior and the one layer of solid cells that Mantaflow takes from its border."""
    cell = BOX[0] / cells
    domain = add_box("domain", [-cell] * 3, [side + cell for side in BOX])
    modifier = domain.modifiers.new("fluid", "FLUID")
    modifier.fluid_type = "DOMAIN"
    settings = modifier.domain_settings
    settings.domain_type = "LIQUID"
    settings.resolution_max = cells + 2
    for side in ("front", "back", "left", "right", "top", "bottom"):
        setattr(settings, "use_collision_border_" + side, True)
    settings.simulation_method = "FLIP"
    settings.particle_band_width = band
    settings.use_adaptive_timesteps = True
    settings.cfl_condition = CFL
    settings.timesteps_min = 1
    settings.timesteps_max = 100  # the default of 4 would override the CFL number
    # Setting use_spray_particles and its kin to False would switch them on; all of these are off by default.
    for extra in ("fractions", "mesh", "noise", "guide", "viscosity", "diffusion", "spray_particles", "foam_particles",
                  "bubble_particles", "tracer_particles"):  # fmt: skip
        if getattr(settings, "use_" + extra):
            raise RuntimeError("use_%s is on; start Blender with --factory-startup" % extra)
    settings.cache_directory = cache
    settings.cache_type = "REPLAY"
    return domain


def add_column(cells):
    """Adds the water; it reaches half a cell into the walls, so that no gap is left beside them."""
    half = 0.5 * BOX[0] / cells
    column = add_box("column", [-half] * 3, [COLUMN[0], COLUMN[1] + half, COLUMN[2]])
    modifier = column.modifiers.new("fluid", "FLUID")
    modifier.fluid_type = "FLOW"
    modifier.flow_settings.flow_type = "LIQUID"
    modifier.flow_settings.flow_behavior = "GEOMETRY"
    modifier.flow_settings.surface_distance = 0.0  # emit from the inside only


def build_scene(arguments, cache):
    """Replaces Blender's start scene by the dam break and returns the domain object."""
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    scene = bpy.context.scene
    scene.render.fps = FRAMES_PER_SECOND
    scene.render.fps_base = 1.0
    scene.use_gravity = True
    scene.gravity = (0.0, 0.0, -GRAVITY)
    scene.frame_start = 1
    scene.frame_end = arguments.frames[1]
    domain = add_domain(arguments.cells, arguments.band, cache)
    domain.modifiers["fluid"].domain_settings.cache_frame_end = arguments.frames[1]
    add_column(arguments.cells)
    return domain


def find_solver():
    """Returns the namespace of Mantaflow's generated script and the number that ends the names in it.

    The namespace is a module that is in no list of modules. Functions of solvers Blender has given up stay in it,
    their solver objects do not.
    """
    for candidate in gc.get_objects():
        if isinstance(candidate, types.ModuleType):
            names = vars(candidate)
            found = [re.fullmatch(r"liquid_adaptive_step_(\d+)", name) for name in names]
            alive = [int(match[1]) for match in found if match and "s" + match[1] in names]
            if alive:
                return names, str(max(alive))
    raise RuntimeError("Mantaflow's step functions were not found: is Blender built with Mantaflow?")


def read_clocks():
    """Seconds on the wall, of all processors together, and of the processor under the calling thread."""
    return time.perf_counter(), time.process_time(), time.thread_time()


class StepClock:
    """Stands in for the two functions Blender calls in every step and keeps one record per step."""

    def __init__(self, names, number):
        self.solver = names["s" + number]
        self.particles = names["pp_s" + number]
        self.grid = names["gs_s" + number]
        self.records = []
        self._chosen = (0.0, 0.0, 0.0)
        self._choose = self._timed(names, "fluid_adapt_time_step_" + number)
        self._step = self._timed(names, "liquid_adaptive_step_" + number)
        names["fluid_adapt_time_step_" + number] = self.choose_time_step
        names["liquid_adaptive_step_" + number] = self.step

    @staticmethod
    def _timed(names, name):
        function = names[name]

        def run(*values):
            before = read_clocks()
            function(*values)
            return [b - a for a, b in zip(before, read_clocks())]

        return run

    def choose_time_step(self):
        """Chooses the step's length by the CFL number; its time belongs to the step that follows."""
        self._chosen = self._choose()

    def step(self, frame):
        """Runs one step and records it."""
        dt = self.solver.timestep / UNITS_PER_SECOND
        begin = time.perf_counter() - self._chosen[0]
        wall, processor, thread = (a + b for a, b in zip(self._chosen, self._step(frame)))
        record = {"frame": frame, "dt": dt, "wall": wall, "processor": processor, "thread": thread}
        record.update(begin=begin, end=time.perf_counter(), particles=self.particles.pySize())
        self.records.append(record)


def simulate(arguments, domain):
    """Runs all frames and returns the records of the asked ones, and what Blender itself says of the particles."""
    scene = bpy.context.scene
    scene.frame_set(1)
    clock = StepClock(*find_solver())
    seeded = clock.particles.pySize()
    for frame in range(2, arguments.frames[1] + 1):
        scene.frame_set(frame)
        done = [record for record in clock.records if record["frame"] == frame]
        if not done:
            raise RuntimeError("Mantaflow made no step in frame %d" % frame)
        if not math.isclose(sum(record["dt"] for record in done), 1 / FRAMES_PER_SECOND, rel_tol=0.01):
            raise RuntimeError("the steps of frame %d do not add up to the frame" % frame)
    evaluated = domain.evaluated_get(bpy.context.evaluated_depsgraph_get())
    alive = sum(len(system.particles) for system in evaluated.particle_systems)
    records = [record for record in clock.records if record["frame"] >= arguments.frames[0]]
    grid = [int(clock.grid.x), int(clock.grid.y), int(clock.grid.z)]
    return records, {"after_frame_1": seeded, "alive": alive, "grid": grid}


def between_steps(records):
    """Mean seconds from the end of a step to the begin of the next one of the same frame: Blender's own work."""
    gaps = [b["begin"] - a["end"] for a, b in zip(records, records[1:]) if a["frame"] == b["frame"]]
    return sum(gaps) / len(gaps) if gaps else 0.0


def summarise(arguments, records, seen):
    """Returns the figures to report."""
    steps = len(records)

    def mean(key):
        return sum(record[key] for record in records) / steps

    notes = [
        "narrow band off" if arguments.band >= BAND_OFF else "narrow band of %g cells" % arguments.band,
        "pressure to Mantaflow's own accuracy of 1e-3, no ghost fluid, FLIP ratio 0.97, reseeded to 8-16 per cell",
        "counted: choice of dt and liquid step; not counted: cache files, Blender's own work between the steps",
    ]
    return {
        "program": "Blender Mantaflow",
        "version": bpy.app.version_string,
        "cells": arguments.cells,
        "steps": steps,
        "seconds_per_step": mean("wall"),
        "mean_dt": mean("dt"),
        "particles": round(mean("particles")),
        "frames": list(arguments.frames),
        "notes": "; ".join(notes),
        "steps_per_frame": [
            sum(record["frame"] == frame for record in records)
            for frame in range(arguments.frames[0], arguments.frames[1] + 1)
        ],
        "least_dt": min(record["dt"] for record in records),
        "threads": arguments.threads,
        "band": arguments.band,
        "grid_with_walls": seen["grid"],
        "cpu_seconds_per_step": mean("processor"),
        "leading_thread_cpu_seconds_per_step": mean("thread"),
        "fastest_step": min(record["wall"] for record in records),
        "slowest_step": max(record["wall"] for record in records),
        "between_steps": between_steps(records),
        "particles_after_frame_1": seen["after_frame_1"],
        "particles_least": min(record["particles"] for record in records),
        "particles_most": max(record["particles"] for record in records),
        "particles_at_end": records[-1]["particles"],
        "particles_at_end_alive": seen["alive"],
        "load_average": os.getloadavg()[0],
    }


def main():
    """Builds, runs and reports; the cache directory is gone afterwards, whatever happens."""
    arguments = parse_arguments()
    cache = tempfile.mkdtemp(prefix="aegir_mantaflow_")
    try:
        domain = build_scene(arguments, cache)
        report = json.dumps(summarise(arguments, *simulate(arguments, domain)))
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            file.write(report + "\n")
    else:
        print(report)


# Blender leaves with code 0 after an exception in a script, so the code is set here.
try:
    main()
except Exception:
    traceback.print_exc()
    sys.exit(1)
