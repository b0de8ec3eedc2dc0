"""Brings a run of Aegir into Blender (3.4 or later).

    blender -P blender/open_run.py -- RUN_DIR [options]
    blender -b -P blender/open_run.py -- RUN_DIR --frame 40 --render frame.png

Surfaces come as one mesh whose vertices follow the timeline, with a `velocity` attribute that Cycles blurs; particles
without a surface, droplets and sand as points with a radius, blurred the same way; volumes as they are; colliders and a
camera that sees it all. Sand is matte: its grains have colours by `rest`, the place where they were born, and keep them
as they move. Aegir has y up, Blender z: (x, y, z) becomes (x, -z, y).

Blender reads neither OpenVDB points nor the velocities of PLY files. `aegir export` writes what it needs, frame by
frame, when the timeline gets there; --aegir names the program, which is looked for beside this script otherwise.
"""

import argparse
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
from array import array

import bpy
from mathutils import Vector

PLY_TYPES = {
    "char": "b", "int8": "b", "uchar": "B", "uint8": "B", "short": "h", "int16": "h", "ushort": "H", "uint16": "H",
    "int": "i", "int32": "i", "uint": "I", "uint32": "I", "float": "f", "float32": "f", "double": "d", "float64": "d",
}


def arguments():
    words = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    parser = argparse.ArgumentParser(prog="open_run.py", description="Brings a run of Aegir into Blender.")
    parser.add_argument("run", metavar="RUN_DIR")
    parser.add_argument("--aegir", help="the program; looked for beside this script and in PATH otherwise")
    parser.add_argument("--surfaces", metavar="DIR", help="folder of `aegir surface`, for runs without meshes of their own")
    parser.add_argument("--points", action="store_true", help="shows the particles of what has a surface, too")
    parser.add_argument("--frame", type=int, help="frame to show first")
    parser.add_argument("--render", metavar="FILE.png", help="renders that frame and ends")
    parser.add_argument("--size", default="960x540", help="of the picture")
    parser.add_argument("--samples", type=int, default=48, help="per pixel")
    parser.add_argument("--shutter", type=float, default=0.5, help="in frames; 0 renders without motion blur")
    parser.add_argument("--save", metavar="FILE.blend", help="saves the scene and ends")
    return parser.parse_args(words)


def stop(message):
    print("open_run: " + message, file=sys.stderr)
    sys.exit(2)


def find_aegir(given):
    if given:
        if not shutil.which(given):
            stop(f"{given} is no program; give the path of aegir with --aegir")
        return given
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    built = os.path.join(here, "build", "release", "apps", "aegir", "aegir")
    for program in (built, shutil.which("aegir"), os.path.join(here, "aegir")):
        if program and os.access(program, os.X_OK):
            return program
    stop("the program aegir was not found; give its path with --aegir")


def read_exactly(file, size, path):
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{path} ends too early")
    return data


def vertex_columns(data, properties):
    """Property → array of floats. (Blender of some systems comes without numpy; slices of arrays are fast enough.)"""
    types = "".join(PLY_TYPES[p[0]] for p in properties)
    if set(types) == {"f"}:
        values = array("f", data)
        return {p[1]: values[i::len(properties)] for i, p in enumerate(properties)}
    rows = list(struct.iter_unpack("<" + types, data))
    return {p[1]: array("f", [r[i] for r in rows]) for i, p in enumerate(properties)}


def triangle_corners(data, path):
    """Indices of rows of one byte, 3, and three integers."""
    if any(n != 3 for n in set(data[0::13])):
        raise ValueError(f"{path} has faces that are no triangles")
    packed = bytearray(len(data) // 13 * 12)
    for byte in range(12):
        packed[byte::12] = data[1 + byte::13]
    return array("i", bytes(packed))


def read_ply(path):
    """Columns of the vertices, and the corners of the triangles, of a binary PLY file as Aegir writes them."""
    with open(path, "rb") as file:
        elements, line = [], b""
        while line.strip() != b"end_header":
            line = file.readline()
            if not line:
                raise ValueError(f"{path} ends inside its header")
            words = line.decode("ascii", "replace").split()
            if words[:1] == ["format"] and words[1] != "binary_little_endian":
                raise ValueError(f"{path} is {words[1]}; binary_little_endian is read here")
            if words[:1] == ["element"]:
                elements.append((words[1], int(words[2]), []))
            elif words[:1] == ["property"]:
                elements[-1][2].append(words[1:])
        columns, corners = {}, array("i")
        for name, count, properties in elements:
            if name == "face":
                corners = triangle_corners(read_exactly(file, 13 * count, path), path)
            elif name == "vertex":
                size = struct.calcsize("<" + "".join(PLY_TYPES[p[0]] for p in properties))
                columns = vertex_columns(read_exactly(file, size * count, path), properties)
        return columns, corners


def turned(columns, names):
    """Three columns as one, with z up."""
    x, y, z = (columns[n] for n in names)
    all_three = array("f", bytes(12 * len(x)))
    all_three[0::3], all_three[1::3], all_three[2::3] = x, array("f", [-v for v in z]), y
    return all_three


def set_attribute(mesh, name, kind, values):
    attribute = mesh.attributes.get(name) or mesh.attributes.new(name, kind, "POINT")
    attribute.data.foreach_set("vector" if kind == "FLOAT_VECTOR" else "value", values)


def fill_mesh(mesh, path):
    """Puts the vertices, triangles and numbers of a file into a mesh; nothing if there is no file."""
    mesh.clear_geometry()
    if not os.path.exists(path):
        mesh.update()
        return
    columns, corners = read_ply(path)
    mesh.vertices.add(len(columns["x"]))
    mesh.vertices.foreach_set("co", turned(columns, "xyz"))
    if corners:
        faces = len(corners) // 3
        mesh.loops.add(len(corners))
        mesh.loops.foreach_set("vertex_index", corners)
        mesh.polygons.add(faces)
        mesh.polygons.foreach_set("loop_start", array("i", range(0, len(corners), 3)))
        mesh.polygons.foreach_set("loop_total", array("i", [3]) * faces)
        mesh.polygons.foreach_set("use_smooth", array("b", [1]) * faces)
    if {"vx", "vy", "vz"} <= columns.keys():
        set_attribute(mesh, "velocity", "FLOAT_VECTOR", turned(columns, ("vx", "vy", "vz")))
    rest = ("rest_x", "rest_y", "rest_z")
    if set(rest) <= columns.keys():
        set_attribute(mesh, "rest", "FLOAT_VECTOR", turned(columns, rest))
    for name, values in columns.items():
        if name not in ("x", "y", "z", "vx", "vy", "vz", *rest):
            set_attribute(mesh, name, "FLOAT", values)
    mesh.update(calc_edges=True)
    mesh.use_auto_smooth, mesh.auto_smooth_angle = len(corners) < 12000, math.radians(40)  # a coarse mesh means its edges


def material(name, color, roughness=0.4, water=False):
    m = bpy.data.materials.new(name)
    m.use_nodes = True
    shader = m.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*color, 1)
    shader.inputs["Roughness"].default_value = roughness
    if water:
        shader.inputs["Transmission"].default_value = 1
        shader.inputs["IOR"].default_value = 1.333
    return m


def sand(name):
    """Matte, coloured by `grain`."""
    m = material(name, (0.42, 0.27, 0.14), 1.0)
    nodes, links = m.node_tree.nodes, m.node_tree.links
    shader = nodes["Principled BSDF"]
    shader.inputs["Specular"].default_value = 0.1
    grain = nodes.new("ShaderNodeAttribute")
    grain.attribute_name = "grain"
    colors = nodes.new("ShaderNodeValToRGB")
    ramp = colors.color_ramp
    ramp.elements[0].color, ramp.elements[1].color = (0.12, 0.08, 0.05, 1), (0.56, 0.42, 0.27, 1)
    for place, color in ((0.06, (0.34, 0.21, 0.105, 1)), (0.92, (0.47, 0.315, 0.175, 1))):
        ramp.elements.new(place).color = color
    links.new(grain.outputs["Fac"], colors.inputs["Fac"])
    links.new(colors.outputs["Color"], shader.inputs["Base Color"])
    return m


def named(nodes, kind, name):
    """The socket of an attribute."""
    node = nodes.new("GeometryNodeInputNamedAttribute")
    node.data_type = kind
    node.inputs["Name"].default_value = name
    return next(o for o in node.outputs if o.enabled)


def nodes_modifier(thing, points, grains, look):
    """Gives every grain a number of its own by where it was born; makes vertices points of their own radius."""
    group = bpy.data.node_groups.new("particles" if points else "grains", "GeometryNodeTree")
    group.inputs.new("NodeSocketGeometry", "Geometry")
    group.outputs.new("NodeSocketGeometry", "Geometry")
    nodes, links = group.nodes, group.links
    end = nodes.new("NodeGroupOutput")
    at = nodes.new("NodeGroupInput").outputs[0]
    if grains:
        noise, store = nodes.new("ShaderNodeTexWhiteNoise"), nodes.new("GeometryNodeStoreNamedAttribute")
        store.data_type, store.domain = "FLOAT", "POINT"
        store.inputs["Name"].default_value = "grain"
        links.new(named(nodes, "FLOAT_VECTOR", "rest"), noise.inputs["Vector"])
        links.new(noise.outputs["Value"], next(i for i in store.inputs if i.enabled and i.name == "Value"))
        links.new(at, store.inputs["Geometry"])
        at = store.outputs["Geometry"]
    if points:
        spheres, looks = nodes.new("GeometryNodeMeshToPoints"), nodes.new("GeometryNodeSetMaterial")
        looks.inputs["Material"].default_value = look
        links.new(at, spheres.inputs["Mesh"])
        links.new(named(nodes, "FLOAT", "radius"), spheres.inputs["Radius"])
        links.new(spheres.outputs[0], looks.inputs["Geometry"])
        at = looks.outputs["Geometry"]
    links.new(at, end.inputs[0])
    thing.modifiers.new(group.name, "NODES").node_group = group


def frames_in(folders):
    """The frames that the files in some folders are of; a run may have written every fifth only."""
    numbers = (re.search(r"\.(-?\d+)\.\w+$", file) for folder in folders if os.path.isdir(folder) for file in os.listdir(folder))
    return {int(number[1]) for number in numbers if number}


class Run:
    """The objects of a run and how they follow the timeline."""

    def __init__(self, a):
        self.run, self.program = os.path.abspath(a.run), find_aegir(a.aegir)
        self.cache = os.path.join(self.run, "export")
        self.scene = scene = self.export(a.frame)
        self.frames = frames_in({e["folder"] for kind in ("points", "meshes", "volumes") for e in scene[kind]})
        self.followers = []  # (mesh, frame → file)
        surfaced = set()
        for entry in self.meshes(a, scene):
            surfaced.add(entry["name"])
            matte = entry.get("look") == "matte"
            thing = self.follow(entry["name"], lambda f, e=entry: os.path.join(e["folder"], f"{e['name']}.mesh.{f:04d}.ply"),
                                sand(entry["name"]) if matte else material(entry["name"], (0.72, 0.9, 0.97), 0.02, True))
            if matte:
                nodes_modifier(thing, False, True, None)
        # Surfaces that were made afterwards may have names of their own; then they are taken to be of everything.
        named = any(entry["name"] in surfaced for entry in scene["points"])
        for entry in scene["points"]:
            if (entry["name"] in surfaced or (surfaced and not named)) and not a.points:
                continue
            thing = self.follow(entry["name"] + " points", lambda f, e=entry: self.exported(e["name"], "points", f), None)
            name, matte = entry["name"] + " points", entry.get("look") == "matte"
            nodes_modifier(thing, True, matte, sand(name) if matte else
                           material(name, (0.72, 0.9, 0.97), 0.02, True) if surfaced else material(name, (0.15, 0.4, 0.8), 0.25))
        for entry in scene["colliders"]:
            self.follow(entry["name"], lambda f, e=entry: self.exported(e["name"], "collider", f),
                        material(entry["name"], (0.35, 0.3, 0.27), 0.7))
        if not surfaced:
            self.volumes(scene)

    def export(self, frame):
        """The list of what a run holds; with a frame, its points and colliders are there afterwards."""
        command = [self.program, "export", self.run, "-o", self.cache]
        if frame is not None:
            command += ["--frames", f"{frame}:{frame}"]
        elif os.path.exists(os.path.join(self.cache, "scene.json")):
            with open(os.path.join(self.cache, "scene.json"), encoding="utf-8") as file:
                return json.load(file)
        else:  # the first frame is enough to know what there is
            with open(os.path.join(self.run, "run.json"), encoding="utf-8") as file:
                first = json.load(file)["frames"][0]
            command += ["--frames", f"{first}:{first}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            stop(f"aegir export ended with {done.returncode}: {done.stderr.strip()}")
        with open(os.path.join(self.cache, "scene.json"), encoding="utf-8") as file:
            return json.load(file)

    def exported(self, name, kind, frame):
        path = os.path.join(self.cache, f"{name}.{kind}.{frame:04d}.ply")
        if not os.path.exists(path) and frame in self.frames:
            self.export(frame)
        return path

    def meshes(self, a, scene):
        if not a.surfaces:
            return scene["meshes"]
        folder = os.path.abspath(a.surfaces)
        names = sorted({f.split(".mesh.")[0] for f in os.listdir(folder) if ".mesh." in f})
        if not names:
            stop(f"there are no meshes in {folder}; make them with: aegir surface POINTS -o {folder} --mesh ply")
        # Surfaces that were made afterwards look like the Object whose name they have, or like all Objects if these are alike.
        looks = {e["name"]: e.get("look") for e in scene["points"]}
        common = next(iter(looks.values())) if len(set(looks.values())) == 1 else None
        return [{"name": n, "folder": folder, "look": looks.get(n, common)} for n in names]

    def follow(self, name, file_of, look):
        mesh = bpy.data.meshes.new(name)
        thing = bpy.data.objects.new(name, mesh)
        bpy.context.scene.collection.objects.link(thing)
        if look:
            mesh.materials.append(look)
        self.followers.append((mesh, file_of))
        return thing

    def volumes(self, scene):
        for entry in scene["volumes"]:
            files = sorted(f for f in os.listdir(entry["folder"]) if ".volumes." in f and f.endswith(".vdb"))
            if not files:
                continue
            volume = bpy.data.volumes.new(entry["name"])
            volume.filepath = os.path.join(entry["folder"], files[0])
            volume.is_sequence, volume.frame_duration = True, len(files)
            volume.frame_start = scene["frames"][0]
            thing = bpy.data.objects.new(entry["name"] + " volumes", volume)
            thing.rotation_euler = (math.pi / 2, 0, 0)
            thing.hide_render = True  # level sets are no fog; shown in the viewport only
            bpy.context.scene.collection.objects.link(thing)

    def show(self, frame):
        for mesh, file_of in self.followers:
            fill_mesh(mesh, file_of(frame))

    def bounds(self):
        low, high = Vector((math.inf,) * 3), Vector((-math.inf,) * 3)
        for mesh, _ in self.followers:
            if not mesh.vertices:
                continue
            positions = array("f", bytes(12 * len(mesh.vertices)))
            mesh.vertices.foreach_get("co", positions)
            for a in range(3):
                low[a], high[a] = min(low[a], min(positions[a::3])), max(high[a], max(positions[a::3]))
        return (low, high) if low.x <= high.x else (Vector((-1, -1, 0)), Vector((1, 1, 1)))


def light_scene(low, high):
    scene = bpy.context.scene
    center, size = (low + high) / 2, (high - low).length
    bpy.ops.mesh.primitive_plane_add(size=40 * size, location=(center.x, center.y, low.z - 0.001 * size))
    bpy.context.object.name = "ground"
    bpy.context.object.data.materials.append(material("ground", (0.32, 0.33, 0.35), 0.8))
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy, sun.angle = 3.0, math.radians(3)
    lamp = bpy.data.objects.new("sun", sun)
    lamp.rotation_euler = (math.radians(50), math.radians(12), math.radians(35))
    scene.collection.objects.link(lamp)
    world = scene.world or bpy.data.worlds.new("sky")
    scene.world = world
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.55, 0.68, 0.85, 1)
    world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.8
    camera = bpy.data.cameras.new("camera")
    camera.lens = 40
    eye = bpy.data.objects.new("camera", camera)
    direction = Vector((0.55, -1.0, 0.5)).normalized()
    eye.location = center + direction * size * 1.15
    eye.rotation_euler = (center - eye.location).to_track_quat("-Z", "Y").to_euler()
    camera.clip_end = 100 * size
    scene.collection.objects.link(eye)
    scene.camera = eye


def main():
    a = arguments()
    if not os.path.exists(os.path.join(a.run, "run.json")):
        stop(f"{a.run} is no run directory: it has no run.json")
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing, do_unlink=True)
    run = Run(a)
    scene = bpy.context.scene
    first, last = run.scene["frames"]
    scene.frame_start, scene.frame_end = first, last
    fps = run.scene["fps"]
    scene.render.fps = max(1, round(fps))
    scene.render.fps_base = scene.render.fps / fps
    frame = a.frame if a.frame is not None else first
    scene.frame_set(frame)
    run.show(frame)
    light_scene(*run.bounds())

    def follow_timeline(changed, _graph=None):
        run.show(changed.frame_current)

    bpy.app.handlers.frame_change_pre.append(follow_timeline)
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = a.samples, False
    scene.cycles.caustics_reflective = scene.cycles.caustics_refractive = False  # fireflies
    scene.cycles.sample_clamp_indirect = 2
    scene.render.use_motion_blur = a.shutter > 0
    scene.render.motion_blur_shutter = max(a.shutter, 0.01)
    scene.cycles.motion_blur_position = "CENTER"
    width, height = a.size.split("x")
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = int(width), int(height), 100
    if a.save:
        bpy.ops.wm.save_as_mainfile(filepath=os.path.abspath(a.save))
    if a.render:
        scene.render.filepath = os.path.abspath(a.render)
        bpy.ops.render.render(write_still=True)
    print(f"open_run: frame {frame} of {first} to {last}: " +
          ", ".join(f"{mesh.name} {len(mesh.vertices)} vertices" for mesh, _ in run.followers))


main()
