"""Setups that are wrong, each with what must be said about it and where.

A case is the text of setup.yaml and, where needed, files beside it and words on the command line. `says` is a part of
the message; `place` is `line:column` in setup.yaml, or `file:line:column` in another file, or an option's name.
The file is long because it is one list, read from top to bottom.
"""
import dataclasses
import random
import struct


@dataclasses.dataclass
class Case:
    name: str
    text: "str | bytes"
    says: str
    place: str = ""
    files: dict = dataclasses.field(default_factory=dict)
    words: tuple = ()


def nodes(text):
    """A list of nodes under a correct head; it starts in line 3."""
    return "aegir: 1\nsetup:\n" + text + "\n"


def particles(parameter):
    """A parameter of a particle Object, at 4:3."""
    return nodes("- particles: p\n  " + parameter)


def emitter(parameter):
    """A parameter of an emitter that is right otherwise, at 7:3."""
    return nodes("- particles: p\n- emitter: e\n  shape: {kind: sphere}\n  count: 9\n  " + parameter)


def shape(settings, type_="collider"):
    """A collider's or emitter's shape: 4:10 is its brace, 4:11 its first key."""
    return nodes(f"- {type_}: c\n  shape: {{{settings}}}" + ("\n  count: 9\n- particles: p" if type_ == "emitter" else ""))


def node(type_, parameter):
    """A parameter of any other node, at 4:3."""
    return nodes(f"- {type_}: x\n  {parameter}\n- particles: p")


def output(parameter):
    """A parameter of a points output, at 6:3."""
    return nodes("- particles: p") + "outputs:\n- points: o\n  " + parameter + "\n"


def timeline(text):
    """The timeline in line 2; its value starts at 2:11."""
    return "aegir: 1\ntimeline: " + text + "\nsetup: [{particles: p}]\n"


def whole_files():
    ok = "setup: [{particles: p}]\n"
    return [
        Case("empty file", "", "the file is empty", "1:1"),
        Case("only spaces", "  \n\n   \n", "the file is empty", "1:1"),
        Case("only a comment", "# nothing here\n", "the file is empty", "1:1"),
        Case("only dashes", "---\n", "this is empty", "2:1"),
        Case("only a word", "hello\n", "a setup file is a mapping", "1:1"),
        Case("only a number", "42\n", "a setup file is a mapping", "1:1"),
        Case("a list", "- aegir: 1\n", "a setup file is a mapping", "1:1"),
        Case("a list of numbers", "[1, 2, 3]", "a setup file is a mapping", "1:1"),
        Case("empty mapping", "{}", "version of the setup language is missing", "1:1"),
        Case("prose", "This is a letter.\nIt has two lines.\n", "a setup file is a mapping", "1:1"),
        Case("a C program", "#include <stdio.h>\nint main() { return 0; }\n", "", "2:"),
        Case("XML", "<?xml version=\"1.0\"?>\n<setup/>\n", "a setup file is a mapping", "1:1"),
        Case("no version", ok, "start the file with 'aegir: 1'", "1:1"),
        Case("version 2", "aegir: 2\n" + ok, "this Aegir reads version 1", "1:8"),
        Case("version 0", "aegir: 0\n" + ok, "this Aegir reads version 1", "1:8"),
        Case("version 1.0", "aegir: 1.0\n" + ok, "this Aegir reads version 1", "1:8"),
        Case("version text", "aegir: one\n" + ok, "this Aegir reads version 1", "1:8"),
        Case("version list", "aegir: [1]\n" + ok, "this Aegir reads version 1", "1:8"),
        Case("version empty", "aegir:\n" + ok, "this Aegir reads version 1", "1:1"),
        Case("version misspelt", "aeger: 1\n" + ok, "did you mean 'aegir'?", "1:1"),
        Case("no setup", "aegir: 1\n", "there is no 'setup'", "1:1"),
        Case("setup empty", "aegir: 1\nsetup:\n", "should be a list of nodes", "2:1"),
        Case("setup text", "aegir: 1\nsetup: water\n", "should be a list of nodes", "2:8"),
        Case("setup mapping", "aegir: 1\nsetup: {gravity: g}\n", "should be a list of nodes", "2:8"),
        Case("setup misspelt", "aegir: 1\nsteup: []\n", "did you mean 'setup'?", "2:1"),
        Case("unknown section", "aegir: 1\nsolver: fast\n" + ok, "'solver' is not a part of a setup file", "2:1"),
        Case("a type as section", "aegir: 1\ngravity: g\n" + ok, "it stands in the list under 'setup'", "2:1"),
        Case("outputs text", "aegir: 1\n" + ok + "outputs: all\n", "should be a list of outputs", "3:10"),
        Case("outputs mapping", "aegir: 1\n" + ok + "outputs: {points: p}\n", "should be a list of outputs", "3:10"),
        Case("note list", "aegir: 1\nnote: [a]\n" + ok, "'note' should be a text", "2:7"),
        Case("expose list", "aegir: 1\nexpose: [a]\n" + ok, "should map names to values", "2:9"),
        Case("inputs list", "aegir: 1\ninputs: [a]\n" + ok, "should map names to files", "2:9"),
        Case("scene text", "aegir: 1\nscene: big\n" + ok, "should be a mapping of parameters", "2:8"),
        Case("timeline list", timeline("[1, 100]"), "should be a mapping of parameters", "2:11"),
        Case("larger than the limit", b"a" * ((16 << 20) + 1), "larger than", "1:1"),
    ]


def yaml_mistakes():
    ok = "setup: [{particles: p}]\n"
    return [
        Case("tab", nodes("\t- gravity: g"), "a tab is used for indentation", "3:1"),
        Case("bad indentation", nodes("  - gravity: g\n - particles: p"), "check the indentation", "4:2"),
        Case("parameter not indented", nodes("- gravity: g\nacceleration: [0, 0, 0]"), "is not a part of a setup file", "4:1"),
        Case("parameter too far in", nodes("- gravity: g\n     acceleration: [0, 0, 0]"), "", "4:"),
        Case("brace not closed", "aegir: 1\nsetup: [{particles: p]\n", "", ""),
        Case("bracket not closed", "aegir: 1\nsetup: [{particles: p}\n", "a list in brackets is not closed", ""),
        Case("brace too much", nodes("- {particles: p}}"), "", "3:"),
        Case("cut inside a mapping", "aegir: 1\ntimeline: {frames: [1, 10", "", "2:"),
        Case("cut inside a key", "aegir: 1\nsetu", "", ""),
        Case("cut inside a quote", "aegir: 1\nnote: \"abc\nsetup: []\n", "a text in quotes is not closed", "2:7"),
        Case("single quote not closed", "aegir: 1\nnote: 'abc\n", "a text in quotes is not closed", "2:7"),
        Case("colon in a text", "aegir: 1\nnote: a: b\n" + ok, "a ':' stands where no value can be", "2:8"),
        Case("list as key", "aegir: 1\n[1, 2]: x\n" + ok, "cannot be a key", "2:1"),
        Case("mapping as key", "aegir: 1\n{a: 1}: x\n" + ok, "cannot be a key", "2:1"),
        Case("duplicate section", "aegir: 1\n" + ok + "aegir: 1\n", "appears twice", "3:1"),
        Case("duplicate parameter", node("gravity", "acceleration: [0, 0, 0]\n  acceleration: [1, 0, 0]"), "appears twice in this mapping; it is already in line 4", "5:3"),
        Case("duplicate in braces", shape("kind: sphere, kind: box"), "appears twice", "4:25"),
        Case("two documents", "aegir: 1\n" + ok + "---\naegir: 1\n", "a second document starts here", "3:1"),
        Case("unknown alias", "aegir: 1\nnote: *nothing\n" + ok, "refers to nothing above it", "2:7"),
        Case("alias of itself", "aegir: 1\nsetup: &a [*a]\n", "refers to a value that contains it", "2:12"),
        Case("merge key", nodes("- <<: {gravity: g}"), "merge keys", "3:3"),
        Case("tag", "aegir: 1\nnote: !!python/object x\n" + ok, "tags are not part of the setup language", "2:7"),
        Case("binary tag", "aegir: 1\nnote: !!binary aGVsbG8=\n" + ok, "tags are not part", "2:7"),
        Case("directive", "%YAML 9.9\n---\naegir: 1\n", "", ""),
        Case("exposed in braces without quotes", nodes("- collider: c\n  shape: {kind: ${kind}}"), "needs quotes", "4:"),
    ]


def bytes_and_letters():
    cases = [
        Case("null byte", b"aegir: 1\nse\0tup: []\n", "control character (byte 0x00)", "2:3"),
        Case("escape", b"aegir: 1\nnote: \x1b[1m\n", "control character (byte 0x1b)", "2:7"),
        Case("delete", b"aegir: 1\nnote: a\x7f\n", "control character (byte 0x7f)", "2:8"),
        Case("escaped control", "aegir: 1\nnote: \"\\x01\"\n", "control character", "2:7"),
        Case("latin-1", b"aegir: 1\nnote: gr\xfc\xdf\n", "not UTF-8 text (byte 0xfc)", "2:9"),
        Case("cut UTF-8", b"aegir: 1\nnote: \xe2\x82", "not UTF-8", "2:7"),
        Case("overlong UTF-8", b"aegir: 1\nnote: \xc0\xaf\n", "not UTF-8", "2:7"),
        Case("surrogate", b"aegir: 1\nnote: \xed\xa0\x80\n", "not UTF-8", "2:7"),
        Case("beyond Unicode", b"aegir: 1\nnote: \xf5\x80\x80\x80\n", "not UTF-8", "2:7"),
        Case("UTF-16", "aegir: 1\n".encode("utf-16"), "UTF-16; save it as UTF-8", "1:1"),
        Case("UTF-32", "aegir: 1\n".encode("utf-32"), "", "1:1"),
        Case("all zeros", b"\0" * 4096, "control character (byte 0x00)", "1:1"),
        Case("PNG", b"\x89PNG\r\n\x1a\n" + bytes(64), "not UTF-8", "1:1"),
        Case("gzip", b"\x1f\x8b\x08\x00" + bytes(64), "control character", "1:1"),
        Case("ELF", b"\x7fELF\x02\x01\x01" + bytes(64), "control character", "1:1"),
        Case("OpenVDB", b" BDV\0\0\0\0" + bytes(64), "control character", "1:5"),
        Case("columns count letters", "aegir: 1\nsetup: [{note: üöä, gravty: g}]\n", "did you mean 'gravity'?", "2:21"),
    ]
    for seed in range(12):  # whatever the bytes are, there is a place and a message
        chance = random.Random(seed)
        cases.append(Case(f"random bytes {seed}", chance.randbytes(chance.choice([1, 7, 100, 5000])), "", ""))
    letters = "{}[]:,-#&*!|>'\"%@` \n\tabc019.~"
    for seed in range(12):
        chance = random.Random(100 + seed)
        junk = "".join(chance.choice(letters) for _ in range(chance.choice([5, 40, 400])))
        cases.append(Case(f"random punctuation {seed}", "aegir: 1\nsetup:\n- particles: p\n  junk: " + junk, "", ""))
    return cases


def hostile():
    laughs = "aegir: 1\nexpose:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 9):
        laughs += f"  a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]\n"
    doubled = "aegir: 1\nexpose:\n  a0: xxxxxxxxxxxxxxxxxxxx\n" + "".join(f"  a{i}: \"${{a{i - 1}}}${{a{i - 1}}}\"\n" for i in range(1, 30))
    chain = "aegir: 1\nexpose:\n" + "".join(f"  a{i}: \"${{a{i + 1}}}\"\n" for i in range(500))
    groups = "aegir: 1\nsetup:\n" + "".join(f"{'  ' * i}- group: g\n{'  ' * i}  behaviors:\n" for i in range(40))
    ok = "setup: [{particles: p}]\n"
    return [
        Case("a billion laughs", laughs + ok, "more than 100000 values", ""),
        Case("exposed values that double", doubled + ok, "too large", ""),
        Case("a chain of exposed values", chain + ok, "levels deep", ""),
        Case("deep groups", groups + "  " * 40 + "- particles: p\n", "nested more than", ""),
        Case("deep lists", "aegir: 1\nnote: " + "[" * 1000 + "]" * 1000 + "\n", "nested more than 64 levels deep", "2:"),
        Case("open brackets", "aegir: 1\nnote: " + "[" * 100000, "", ""),
        Case("open braces", "aegir: 1\nnote: " + "{" * 100000, "", ""),
        Case("many dashes", "aegir: 1\nnote: \n" + "- " * 5000, "", ""),
        Case("a long word", "aegir: 1\n" + "a" * 1000000 + ": 1\n" + ok, "", "2:"),
        Case("a long key", "aegir: 1\n" + "a" * 1000 + ": 1\n" + ok, "is not a part of a setup file", "2:1"),
        Case("too many values", "aegir: 1\nsetup: [" + "a," * 100001 + "]\n", "more than 100000 values", ""),
        Case("many wrong nodes", nodes("\n".join(f"- gravty: g{i}" for i in range(3000))), "did you mean 'gravity'?", "3:3"),
        Case("deep parameter", node("gravity", "acceleration: " + "{keys: {1: " * 30 + "0" + "}}" * 30), "", "4:"),
    ]


def node_mistakes():
    return [
        Case("node is a text", nodes("- gravity"), "a node should be a mapping such as", "3:3"),
        Case("node is a number", nodes("- 5"), "a node should be a mapping", "3:3"),
        Case("node is a list", nodes("- [gravity, g]"), "a node should be a mapping", "3:3"),
        Case("node is nothing", nodes("-"), "a node should be a mapping", ""),
        Case("node is empty", nodes("- {}"), "this node is empty", "3:3"),
        Case("no type", nodes("- acceleration: [0, 0, 0]"), "this node has no type", "3:3"),
        Case("misspelt gravity", nodes("- gravty: g"), "did you mean 'gravity'?", "3:3"),
        Case("misspelt particles", nodes("- particels: g"), "did you mean 'particles'?", "3:3"),
        Case("misspelt emitter", nodes("- emiter: g"), "did you mean 'emitter'?", "3:3"),
        Case("misspelt collider", nodes("- colider: g"), "did you mean 'collider'?", "3:3"),
        Case("misspelt group", nodes("- gruop: g"), "did you mean 'group'?", "3:3"),
        Case("misspelt after its parameter", nodes("- seed: 3\n  lifspan: w"), "did you mean 'lifespan'?", "4:3"),
        Case("capital", nodes("- Gravity: g"), "did you mean 'gravity'?", "3:3"),
        Case("two types", nodes("- gravity: g\n  particles: w"), "this node has two types", "4:3"),
        Case("group and type", nodes("- group: g\n  gravity: w"), "this node has two types", "4:3"),
        Case("previews during a run are to come", nodes("- preview: w"), "is not part of this version yet", "3:3"),
        Case("report is to come", nodes("- particles: p") + "outputs:\n- report: s\n", "is not part of this version yet", "5:3"),
        Case("output in setup", nodes("- points: p"), "belongs in 'outputs', not in 'setup'", "3:3"),
        Case("force in outputs", nodes("- particles: p") + "outputs:\n- gravity: g\n", "belongs in 'setup', not in 'outputs'", "5:3"),
        Case("misspelt output", nodes("- particles: p") + "outputs:\n- pionts: g\n", "did you mean 'points'?", "5:3"),
        Case("no name", nodes("- gravity:"), "'gravity' needs a name", "3:3"),
        Case("name is a list", nodes("- gravity: [a]"), "'gravity' needs a name", "3:12"),
        Case("name is a mapping", nodes("- gravity: {acceleration: [0, 0, 0]}"), "'gravity' needs a name", "3:12"),
        Case("name with slash", nodes("- gravity: a/b"), "cannot be the name of a node", "3:12"),
        Case("name with dot", nodes("- gravity: a.b"), "cannot be the name of a node", "3:12"),
        Case("name with space", nodes("- gravity: a b"), "cannot be the name of a node", "3:12"),
        Case("name with dots only", nodes("- particles: .."), "cannot be the name of a node", "3:14"),
        Case("empty name", nodes("- particles: \"\""), "cannot be the name of a node", "3:14"),
        Case("name of a hundred and one", nodes("- particles: " + "x" * 101), "cannot be the name of a node", "3:14"),
        Case("name of a section", nodes("- group: outputs"), "is a part of the setup file", "3:10"),
        Case("same name twice", nodes("- gravity: g\n- particles: g"), "there are two nodes 'g'; the other is at setup.yaml:3:12", "4:14"),
        Case("same name in a group", nodes("- group: a\n  behaviors: [{gravity: g}, {gravity: g}]"), "there are two nodes 'a/g'", ""),
        Case("group with parameters", nodes("- group: a\n  voxel_size: 1"), "is not a parameter of 'group'", "4:3"),
        Case("group misspelt behaviors", nodes("- group: a\n  behaviours: []"), "did you mean 'behaviors'?", "4:3"),
        Case("group behaviors text", nodes("- group: a\n  behaviors: all"), "should be a list of nodes", "4:14"),
        Case("behaviors on a force", nodes("- gravity: a\n  behaviors: []"), "only a group has 'behaviors'", "4:3"),
        Case("enabled text", nodes("- gravity: a\n  enabled: maybe"), "write true or false", "4:12"),
        Case("enabled yes", nodes("- gravity: a\n  enabled: yes"), "write true or false", "4:12"),
        Case("enabled on", nodes("- gravity: a\n  enabled: on"), "write true or false", "4:12"),
        Case("enabled number", nodes("- gravity: a\n  enabled: 1"), "write true or false", "4:12"),
        Case("note on a node", nodes("- gravity: a\n  note: {a: b}"), "'note' should be a text", "4:9"),
    ]


def wrong_numbers():
    """Every kind of wrong number, for parameters of every kind and place."""
    targets = [  # name, setup with a hole, place of the value, unit that cannot be
        ("voxel_size", particles("voxel_size: %s"), "4:15", "kg"),
        ("density", emitter("density: %s"), "7:12", "m"),
        ("softening", node("attractor", "softening: %s"), "4:14", "s"),
        ("span", node("lifespan", "span: %s"), "4:9", "m/s"),
        ("fps", timeline("{fps: %s}"), "2:17", "m"),
        ("metres_per_unit", "aegir: 1\nscene: {metres_per_unit: %s}\nsetup: [{particles: p}]\n", "2:26", "m"),
    ]
    wrong = [  # what, value, message
        ("word", "big", "is not a number"), ("NaN", ".nan", "is not a number"), ("nan", "nan", "is not a number"), ("infinity", "inf", "is not a number"),
        ("YAML infinity", ".inf", "is not a number"), ("huge", "1e999", "is out of range"), ("comma", "1,5", "decimals are written with a point"),
        ("unknown unit", "3 parsec", "is not a unit"), ("list", "[1]", "is a list"), ("mapping", "{a: 1}", "is a mapping"),
        ("hexadecimal", "0x10", "is not a"), ("two points", "1.2.3", "is not a number"), ("sexagesimal", "1:24", "is not a number"),
    ]
    cases = []
    for name, text, place, unit in targets:
        for what, value, says in wrong:
            # Inside braces a comma or a colon ends the value.
            if "," in value and "{" in text or what == "sexagesimal" and "{" in text:
                continue
            cases.append(Case(f"{name}: {what}", text % value, says, place))
        cases.append(Case(f"{name}: wrong dimension", text % f"3 {unit}", "is expected", place))
        cases.append(Case(f"{name}: zero or less", text % "-1", "but must be", place))
    for name, text, place, unit in targets[:4]:
        cases.append(Case(f"{name}: nothing", text % "", "has no value", place.split(":")[0] + ":3"))
    return cases


def ranges_and_types():
    return [
        Case("count negative", nodes("- particles: p\n- emitter: e\n  shape: {kind: sphere}\n  count: -1"), "must be at least 0", "6:10"),
        Case("count fraction", nodes("- particles: p\n- emitter: e\n  shape: {kind: sphere}\n  count: 1.5"), "whole number", "6:10"),
        Case("count huge", nodes("- particles: p\n- emitter: e\n  shape: {kind: sphere}\n  count: 99999999999999999999"), "out of range", "6:10"),
        Case("count too many", nodes("- particles: p\n- emitter: e\n  shape: {kind: sphere}\n  count: 5000000000"), "must be at most", "6:10"),
        Case("count with unit", nodes("- particles: p\n- emitter: e\n  shape: {kind: sphere}\n  count: 5 kg"), "whole number", "6:10"),
        Case("rate negative", emitter("rate: -10"), "must be at least 0", "7:9"),
        Case("rate too large", emitter("rate: 1e13"), "must be at most", "7:9"),
        Case("rate dimension", emitter("rate: 10 m"), "is expected", "7:9"),
        Case("spread negative", emitter("spread: -1"), "must be at least 0", "7:11"),
        Case("radius one number", emitter("radius: 3 mm"), "should be a list", "7:11"),
        Case("radius of three", emitter("radius: [1 mm, 2 mm, 3 mm]"), "list of 2", "7:11"),
        Case("radius zero", emitter("radius: [0, 1 mm]"), "must be above 0", "7:12"),
        Case("radius backwards", emitter("radius: [3 mm, 1 mm]"), "gives the smallest first", "4:3"),
        Case("radius in kilograms", emitter("radius: [1 kg, 2 kg]"), "a length (m) is expected", "7:12"),
        Case("seed fraction", emitter("seed: 0.5"), "whole number", "7:9"),
        Case("seed out of range", emitter("seed: 9223372036854775808"), "out of range", "7:9"),
        Case("from unknown", emitter("from: inside"), "should be one of volume, surface", "7:9"),
        Case("inherit_velocity", emitter("inherit_velocity: no"), "write true or false", "7:21"),
        Case("velocity of two", emitter("velocity: [1, 2]"), "three numbers", "7:13"),
        Case("velocity of four", emitter("velocity: [1, 2, 3, 4]"), "three numbers", "7:13"),
        Case("velocity one number", emitter("velocity: 5"), "three numbers", "7:13"),
        Case("velocity with a word", emitter("velocity: [1, fast, 3]"), "is not a number", "7:17"),
        Case("velocity with NaN", emitter("velocity: [1, .nan, 3]"), "is not a number", "7:17"),
        Case("velocity with a list", emitter("velocity: [1, [2], 3]"), "is a list", "7:17"),
        Case("velocity in metres", emitter("velocity: [1 m, 0, 0]"), "a speed (m/s) is expected", "7:14"),
        Case("velocity with a hole", emitter("velocity: [1, , 3]"), "", "7:"),
        Case("into a number list", emitter("into: {a: b}"), "should be a list of object names", "7:9"),
        Case("into nothing", emitter("into: [\"\"]"), "the name of an object", "7:10"),
        Case("nothing to emit", nodes("- particles: p\n- emitter: e\n  shape: {kind: sphere}"), "give 'count', 'rate' or both", "4:3"),
        Case("emitter without a place", nodes("- particles: p\n- emitter: e\n  count: 5"), "give either 'input' or 'shape'", "4:3"),
        Case("emitter with two places", emitter("input: a"), "give either 'input' or 'shape'", "4:3"),
        Case("friction negative", node("collider", "shape: {kind: sphere}\n  friction: -0.1"), "must be at least 0", "5:13"),
        Case("restitution above one", node("collider", "shape: {kind: sphere}\n  restitution: 1.5"), "must be at most 1", "5:16"),
        Case("restitution negative", node("collider", "shape: {kind: sphere}\n  restitution: -1 %"), "must be at least 0", "5:16"),
        Case("thickness negative", node("collider", "shape: {kind: sphere}\n  thickness: -1 mm"), "must be at least 0", "5:14"),
        Case("collider without a form", nodes("- collider: c"), "give either 'input' or 'shape'", "3:3"),
        Case("rotation in metres", node("collider", "shape: {kind: sphere}\n  rotate: [1 m, 0, 0]"), "an angle (rad) is expected", "5:12"),
        Case("translation in degrees", node("collider", "shape: {kind: sphere}\n  translate: [1 deg, 0, 0]"), "a length (m) is expected", "5:15"),
        Case("rotation beyond sense", node("collider", "shape: {kind: sphere}\n  rotate: [1e300, 0, 0]"), "turns by", "3:3"),
        Case("rotation that overflows", emitter("rotate: [1e308, 0, 0]"), "not finite", "4:3"),
        Case("gravity as number", node("gravity", "acceleration: 9.81"), "three numbers", "4:17"),
        Case("gravity in m/s", node("gravity", "acceleration: [0, -9.81 m/s, 0]"), "an acceleration (m/s^2) is expected", "4:21"),
        Case("gravity misspelt", node("gravity", "aceleration: [0, 0, 0]"), "did you mean 'acceleration'?", "4:3"),
        Case("law unknown", node("air_drag", "law: cubic"), "should be one of sphere, stokes, newton, scaled_newton, scaled_stokes", "4:8"),
        Case("law misspelt", node("air_drag", "law: stoks"), "did you mean 'stokes'?", "4:8"),
        Case("air density negative", node("air_drag", "air_density: -1"), "must be at least 0", "4:16"),
        Case("viscosity in kg", node("air_drag", "air_viscosity: 1 kg"), "a viscosity (Pa s) is expected", "4:18"),
        Case("surface tension zero", node("droplet_collisions", "surface_tension: 0"), "must be above 0", "4:20"),
        Case("surface tension keyed to zero", node("droplet_collisions", "surface_tension: {keys: {1: 0.07, 9: 0}}"), "must be above 0", "4:40"),
        Case("droplet radii the wrong way round", node("droplet_collisions", "smallest_radius: 2 mm\n  largest_radius: 1 mm"),
             "'largest_radius' is below 'smallest_radius'", "3:3"),
        Case("smallest radius zero", node("droplet_collisions", "smallest_radius: 0"), "must be above 0", "4:20"),
        Case("satellites beyond", node("droplet_collisions", "most_satellites: 33"), "must be at most 32", "4:20"),
        Case("droplet delay negative", node("droplet_collisions", "delay: -1"), "must be at least 0", "4:10"),
        Case("droplet neighbourhood", node("droplet_collisions", "neighbourhood: overlp"), "did you mean 'overlap'?", "4:18"),
        Case("emitter radius zero", node("emitter", "shape: {kind: sphere}\n  count: 1\n  radius: [0, 1 mm]"), "must be above 0", "6:12"),
        Case("drag scale negative", node("wind_drag", "scale: -1"), "must be at least 0", "4:10"),
        Case("wind in newtons", node("wind_drag", "velocity: [1 N, 0, 0]"), "a speed (m/s) is expected", "4:14"),
        Case("still air has no velocity", node("air_drag", "velocity: [1, 0, 0]"), "is not a parameter of 'air_drag'", "4:3"),
        Case("mask falloff without shape", node("gravity", "mask_falloff: 1"), "needs a 'mask_shape'", "3:3"),
        Case("mask of a sheet", node("gravity", "mask_shape: {kind: disc}"), "a thin sheet has no inside", "3:3"),
        Case("mask falloff negative", node("attractor", "mask_shape: {kind: sphere}\n  mask_falloff: -1 m"), "must be at least 0", "5:17"),
        Case("mask volume without file", nodes("- particles: p\n- gravity: g\n  mask_volume: m"), "give 'mask_file'", "4:3"),
        Case("mask file missing", nodes("- particles: p\n- gravity: g\n  mask_file: no.vdb"), "no.vdb", "5:14"),
        Case("wind volume without file", node("wind_drag", "velocity_volume: vel"), "needs a 'velocity_file'", "3:3"),
        Case("wind file missing", nodes("- particles: p\n- wind_drag: w\n  velocity_file: no.vdb"), "no.vdb", "5:18"),
        Case("wind on what is thick", node("wind_drag", "thickness: 5"), "must be at most 3", "4:14"),
        Case("strength in newtons", node("attractor", "strength: 3 N"), "is expected", "4:13"),
        Case("span zero", node("lifespan", "span: 0 s"), "must be above 0", "4:9"),
        Case("variation above one", node("lifespan", "variation: 1.01"), "must be at most 1", "4:14"),
        Case("every zero", output("every: 0"), "must be at least 1", "6:10"),
        Case("every negative", output("every: -4"), "must be at least 1", "6:10"),
        Case("half as number", output("half: 1"), "write true or false", "6:9"),
        Case("compression unknown", output("compression: lzma"), "should be one of blosc, zip, none", "6:16"),
        Case("attributes text", output("attributes: v"), "should be a list", "6:15"),
        Case("attributes of lists", output("attributes: [[v]]"), "", "6:16"),
        Case("output misspelt", output("atributes: [v]"), "did you mean 'attributes'?", "6:3"),
        Case("unit twice divided", particles("voxel_size: 1 m/s/s s"), "", "4:15"),
        Case("unit ambiguous", emitter("density: 1 kg/m m"), "two ways", "7:12"),
        Case("unit celsius", particles("voxel_size: 20 degC"), "kelvin", "4:15"),
        Case("unit exponent", particles("voxel_size: 1 m^99"), "exponent", "4:15"),
        Case("unit without number", particles("voxel_size: cm"), "is not a number", "4:15"),
    ]


def air_and_sizes():
    """Sizes, noise and moving air: what they say is at 7:3 of an emitter, at 4:3 or 5:3 of a force."""
    wind = lambda rest: nodes("- particles: p\n- wind_drag: w\n  " + rest)
    frames = {"w.0001.vdb": "x", "w.0002.vdb": "x", "w.0004.vdb": "x"}
    return [
        Case("sizes unknown", emitter("sizes: bell"), "should be one of uniform, inverse_cubic, log_normal, rosin_rammler", "7:10"),
        Case("sizes misspelt law", emitter("sizes: {law: inverse_cubc}"), "did you mean 'inverse_cubic'?", "7:16"),
        Case("sizes misspelt key", emitter("sizes: {lw: uniform}"), "did you mean 'law'?", "7:11"),
        Case("sizes list", emitter("sizes: [1, 2]"), "", "7:10"),
        Case("median zero", emitter("sizes: {law: log_normal, median: 0}"), "must be above 0", "7:36"),
        Case("median in seconds", emitter("sizes: {law: log_normal, median: 1 s}"), "a length (m) is expected", "7:36"),
        Case("median outside", emitter("radius: [1 mm, 2 mm]\n  sizes: {law: log_normal, median: 3 mm}"), "should lie between the radii", "4:3"),
        Case("median of a law without", emitter("radius: [1 mm, 2 mm]\n  sizes: {law: inverse_cubic, median: 1.5 mm}"), "belongs to the laws log_normal and rosin_rammler", "4:3"),
        Case("sizes spread zero", emitter("sizes: {law: log_normal, spread: 0}"), "must be at least 0.01", "7:36"),
        Case("sizes spread NaN", emitter("sizes: {law: log_normal, spread: .nan}"), "is not a number", "7:36"),
        Case("sizes exponent negative", emitter("sizes: {law: rosin_rammler, exponent: -1}"), "must be at least 0.5", "7:41"),
        Case("sizes exponent huge", emitter("sizes: {law: rosin_rammler, exponent: 21}"), "must be at most 20", "7:41"),
        Case("sizes animated", emitter("sizes: {law: log_normal, spread: {keys: {1: 1, 2: 2}}}"), "cannot be animated", "7:36"),
        Case("noise negative", emitter("noise: -1"), "must be at least 0", "7:10"),
        Case("noise size zero", emitter("noise: {speed: 1, size: 0}"), "must be at least", "7:27"),
        Case("noise octaves none", emitter("noise: {octaves: 0}"), "must be at least 1", "7:20"),
        Case("noise octaves many", emitter("noise: {octaves: 4}"), "must be at most 3", "7:20"),
        Case("noise octaves in parts", emitter("noise: {octaves: 1.5}"), "whole number", "7:20"),
        Case("noise misspelt", emitter("noise: {sped: 1}"), "did you mean 'speed'?", "7:11"),
        Case("turbulence in metres", wind("turbulence: 2 m"), "a speed (m/s) is expected", "5:15"),
        Case("turbulence lifetime negative", wind("turbulence: {lifetime: -1 s}"), "must be at least 0", "5:26"),
        Case("turbulence keyed negative", wind("turbulence: {speed: {keys: {1: 0, 5: -1}}}"), "must be at least 0", "5:40"),
        Case("turbulence seed", wind("turbulence: {seed: 1.5}"), "whole number", "5:22"),
        Case("turbulence of still air", node("air_drag", "turbulence: 1"), "is not a parameter of 'air_drag'", "4:3"),
        Case("alpha newton negative", node("air_drag", "alpha_newton: -1e-4"), "must be at least 0", "4:17"),
        Case("alpha newton with unit", node("air_drag", "alpha_newton: 1 m^2/s"), "", "4:17"),
        Case("alpha stokes in metres", node("air_drag", "alpha_stokes: 1 m"), "is expected", "4:17"),
        Case("alpha stokes negative", node("wind_drag", "alpha_stokes: -1"), "must be at least 0", "4:17"),
        Case("wind frames none", wind("velocity_file: w.$F4.vdb"), "no file matches 'w.$F4.vdb'", "5:18"),
        Case("wind frames folder", wind("velocity_file: no/w.$F4.vdb"), "cannot list", "5:18"),
        Case("wind frame missing", wind("velocity_file: w.$F4.vdb"), "'w.0003.vdb' is missing: there are frames 1 to 4", "5:18", frames),
        Case("wind frame is junk", wind("velocity_file: w.$F4.vdb"), "w.0001.vdb", "5:18", {"w.0001.vdb": "x", "w.0002.vdb": "x"}),
        Case("force frame missing", nodes("- particles: p\n- force_field: f\n  file: w.%04d.vdb"), "'w.0003.vdb' is missing", "5:9", frames),
        Case("mask of a sequence", nodes("- particles: p\n- gravity: g\n  mask_file: w.$F4.vdb"), "a mask stays the same", "5:14", frames),
    ]


def shapes():
    return [
        Case("kind unknown", shape("kind: ball"), "should be one of sphere, box", "4:17"),
        Case("kind misspelt", shape("kind: shpere"), "did you mean 'sphere'?", "4:17"),
        Case("shape is a word", nodes("- collider: c\n  shape: sphere"), "should be a mapping of parameters", "4:10"),
        Case("shape misspelt key", shape("kind: sphere, radus: 1"), "did you mean 'radius'?", "4:25"),
        Case("sphere radius zero", shape("kind: sphere, radius: 0"), "must be above 0", "4:33"),
        Case("sphere radius negative", shape("kind: sphere, radius: -1 m"), "must be above 0", "4:33"),
        Case("sphere tiny beyond use", shape("kind: sphere, radius: 1e-200"), "must be positive and finite", "3:3"),
        Case("sphere large beyond use", shape("kind: sphere, radius: 1e200"), "must be positive and finite", "3:3"),
        Case("box size zero", shape("kind: box, size: [1, 0, 1]"), "must be positive and finite", "3:3"),
        Case("box size negative", shape("kind: box, size: [1, -2, 1]"), "must be positive and finite", "3:3"),
        Case("box size one number", shape("kind: box, size: 1"), "three numbers", "4:28"),
        Case("rectangle size zero", shape("kind: rectangle, size: [0, 1, 1]"), "must be positive and finite", "3:3"),
        Case("cylinder height zero", shape("kind: cylinder, height: 0"), "must be above 0", "4:35"),
        Case("plane without direction", shape("kind: plane, axis: [0, 0, 0]"), "must have a direction", "3:3"),
        Case("torus that eats itself", shape("kind: torus, radius: 1, minor_radius: 2"), "must be smaller than its radius", "3:3"),
        Case("torus tube zero", shape("kind: torus, minor_radius: 0"), "must be above 0", "4:38"),
        Case("center in seconds", shape("kind: sphere, center: [1 s, 0, 0]"), "a length (m) is expected", "4:34"),
        Case("emitting plane", shape("kind: plane", "emitter"), "cannot emit", "3:3"),
        Case("emitting box of no size", shape("kind: box, size: [0, 0, 0]", "emitter"), "must be positive and finite", "3:3"),
        Case("shape with keys", shape("kind: sphere, radius: {keys: {1: 1, 2: 2}}"), "cannot be animated", "4:33"),
    ]


def animation():
    keyed = lambda text: node("gravity", "acceleration: " + text)
    return [
        Case("voxel size animated", particles("voxel_size: {keys: {1: 1, 2: 2}}"), "cannot be animated", "4:15"),
        Case("voxel size painted", particles("voxel_size: {attribute: x}"), "cannot be animated or bound", "4:15"),
        Case("choice animated", node("air_drag", "law: {keys: {1: stokes}}"), "cannot be animated", "4:8"),
        Case("count animated", nodes("- particles: p\n- emitter: e\n  shape: {kind: sphere}\n  count: {keys: {1: 5}}"), "cannot be animated", "6:10"),
        Case("radius pair animated", emitter("radius: {keys: {1: [1, 2]}}"), "", "7:11"),
        Case("no keys", keyed("{keys: {}}"), "should be a mapping of frames to values", "4:24"),
        Case("keys list", keyed("{keys: [1, 2]}"), "should be a mapping of frames to values", "4:24"),
        Case("keys word", keyed("{keys: all}"), "should be a mapping of frames to values", "4:24"),
        Case("key is no frame", keyed("{keys: {start: [0, 0, 0]}}"), "is not a frame number", "4:25"),
        Case("key with unit", keyed("{keys: {1 s: [0, 0, 0]}}"), "is not a frame number", "4:25"),
        Case("key too far", keyed("{keys: {1e12: [0, 0, 0]}}"), "is not a frame number", "4:25"),
        Case("key NaN", keyed("{keys: {.nan: [0, 0, 0]}}"), "is not a frame number", "4:25"),
        Case("key twice", keyed("{keys: {1: [0, 0, 0], 1.0: [0, 0, 0]}}"), "appears twice", "4:39"),
        Case("key of another type", keyed("{keys: {1: 5}}"), "three numbers", "4:28"),
        Case("key with wrong unit", keyed("{keys: {1: [1 kg, 0, 0]}}"), "is expected", "4:29"),
        Case("interpolation unknown", keyed("{keys: {1: [0, 0, 0]}, interpolation: bezier}"), "should be one of linear, smooth, step", "4:55"),
        Case("interpolation misspelt", keyed("{keys: {1: [0, 0, 0]}, interpolate: step}"), "did you mean 'interpolation'?", "4:40"),
        Case("keys and attribute", keyed("{keys: {1: [0, 0, 0]}, attribute: x}"), "does not belong beside 'keys'", "4:40"),
        Case("mapping without keys", keyed("{x: 1, y: 2}"), "{keys: …} or {attribute: …}", "4:17"),
        Case("attribute of no name", node("wind_drag", "scale: {attribute: 3x}"), "is not the name of an attribute", "4:22"),
        Case("attribute list", node("wind_drag", "scale: {attribute: [a]}"), "is not the name of an attribute", "4:22"),
        Case("remap of one", node("wind_drag", "scale: {attribute: x, remap: [1]}"), "list of 2", "4:32"),
        Case("remap of a vector", keyed("{attribute: x, remap: [0, 1]}"), "cannot be remapped", "4:39"),
        Case("remap out of range", node("wind_drag", "scale: {attribute: x, remap: [-1, 1]}"), "must be at least 0", "4:33"),
        Case("attribute default", node("wind_drag", "scale: {attribute: x, default: -1}"), "must be at least 0", "4:34"),
        Case("attribute misspelt beside", node("wind_drag", "scale: {attribute: x, defalt: 1}"), "did you mean 'default'?", "4:25"),
    ]


def timelines():
    return [
        Case("frames backwards", timeline("{frames: [10, 1]}"), "the last frame, 1, is before the first, 10", "2:11"),
        Case("frames of three", timeline("{frames: [1, 2, 3]}"), "list of 2", "2:20"),
        Case("frames one number", timeline("{frames: 10}"), "should be a list", "2:20"),
        Case("frames fraction", timeline("{frames: [1, 10.5]}"), "whole number", "2:24"),
        Case("frames huge", timeline("{frames: [1, 99999999999]}"), "out of range", "2:24"),
        Case("frames beyond", timeline("{frames: [1, 20000000]}"), "must be at most", "2:24"),
        Case("fps zero", timeline("{fps: 0}"), "must be above 0", "2:17"),
        Case("fps enormous", timeline("{fps: 1e6}"), "must be at most", "2:17"),
        Case("fps misspelt", timeline("{fsp: 24}"), "did you mean 'fps'?", "2:12"),
        Case("substeps zero", timeline("{substeps: {min: 0}}"), "must be at least 1", "2:28"),
        Case("substeps negative", timeline("{substeps: -3}"), "must be at least 0", "2:22"),
        Case("substeps fraction", timeline("{substeps: 2.5}"), "whole number", "2:22"),
        Case("substeps crossed", timeline("{substeps: {min: 5, max: 3}}"), "more than 'max'", "2:22"),
        Case("substeps too many", timeline("{substeps: 100000}"), "must be at most", "2:22"),
        Case("substeps misspelt", timeline("{substeps: {clf: 3}}"), "did you mean 'cfl'?", "2:23"),
        Case("cfl zero", timeline("{substeps: {cfl: 0}}"), "must be above 0", "2:28"),
        Case("cfl NaN", timeline("{substeps: {cfl: .nan}}"), "is not a number", "2:28"),
        Case("checkpoint in metres", timeline("{checkpoint: {every: 3 m}}"), "a number of frames or a time", "2:32"),
        Case("checkpoint fraction", timeline("{checkpoint: {every: 1.5}}"), "whole number of frames", "2:32"),
        Case("checkpoint negative", timeline("{checkpoint: {every: -1 min}}"), "must be at least 0", "2:32"),
        Case("checkpoint keep none", timeline("{checkpoint: {keep: 0}}"), "must be at least 1", "2:31"),
        Case("timeline empty", "aegir: 1\ntimeline:\nsetup: [{particles: p}]\n", "should be a mapping of parameters", "2:1"),
        Case("timeline animated", timeline("{fps: {keys: {1: 24}}}"), "cannot be animated", "2:17"),
        Case("up is x", "aegir: 1\nscene: {up: x}\nsetup: [{particles: p}]\n", "should be one of y, z", "2:13"),
        Case("scene misspelt", "aegir: 1\nscene: {meters_per_unit: 1}\nsetup: [{particles: p}]\n", "did you mean 'metres_per_unit'?", "2:9"),
    ]


def references():
    exposed = lambda expose, rest: f"aegir: 1\nexpose: {expose}\n" + rest
    p = "setup: [{particles: p}]\n"
    return [
        Case("not exposed", exposed("{voxel: 1}", "setup:\n- particles: w\n  voxel_size: ${voxl}\n"), "did you mean 'voxel'?", "5:15"),
        Case("nothing exposed", particles("voxel_size: ${voxel}"), "'${voxel}' is not exposed", "4:15"),
        Case("exposed not closed", particles("voxel_size: \"${voxel\""), "is not closed", "4:15"),
        Case("exposed bad name", particles("voxel_size: ${a.b}"), "is not the name of an exposed value", "4:15"),
        Case("exposed empty name", particles("voxel_size: ${}"), "is not the name of an exposed value", "4:15"),
        Case("exposed circle", exposed("{a: \"${b}\", b: \"${a}\"}", p), "in a circle: a → b → a", "2:24"),
        Case("exposed itself", exposed("{a: \"${a}\"}", p), "in a circle: a → a", "2:13"),
        Case("exposed name", exposed("{a-b: 1}", p), "cannot be the name of an exposed value", "2:10"),
        Case("exposed name number", exposed("{1a: 1}", p), "cannot be the name of an exposed value", "2:10"),
        Case("exposed nothing", exposed("{a: }", p), "has no value", "2:10"),
        Case("exposed list in a text", exposed("{a: [1]}", "setup:\n- particles: p\n  voxel_size: 1${a}\n"), "cannot stand inside a text", "5:15"),
        Case("exposed of wrong type", exposed("{a: big}", "setup:\n- particles: p\n  voxel_size: ${a}\n"), "is not a number", "2:13"),
        Case("overrides list", node("gravity", "overrides: [p]"), "should map objects to parameters", "4:14"),
        Case("overrides misspelt parameter", node("gravity", "overrides: {p: {aceleration: [0, 0, 0]}}"), "did you mean 'acceleration'?", "4:19"),
        Case("overrides wrong value", node("gravity", "overrides: {p: {acceleration: 3}}"), "three numbers", "4:33"),
        Case("overrides not a mapping", node("gravity", "overrides: {p: 3}"), "should be a mapping of parameters", "4:18"),
        Case("overrides of nobody", node("gravity", "overrides: {q: {acceleration: [0, 0, 0]}}"), "there is no such Object", "4:15"),
        Case("emit into nobody", emitter("into: q"), "there is no particle Object of that name", "7:9"),
        Case("emit into another group", nodes("- particles: p\n- group: g\n  behaviors:\n  - emitter: e\n    shape: {kind: sphere}\n    count: 5\n    into: p"), "there is no particle Object", "9:11"),
        Case("output of nobody", output("objects: q"), "there is no Object 'q' with particles", "6:12"),
        Case("output misspelt object", nodes("- particles: drops") + "outputs:\n- points: o\n  objects: [dorps]\n", "did you mean 'drops'?", "6:12"),
        Case("output of a collider", nodes("- particles: p\n- collider: c\n  shape: {kind: sphere}") + "outputs:\n- points: o\n  objects: [c]\n", "with particles", "8:12"),
        Case("output of a disabled Object", nodes("- particles: p\n- particles: q\n  enabled: false") + "outputs:\n- points: o\n  objects: [q]\n", "with particles", "8:12"),
        Case("input unknown", nodes("- collider: c\n  input: statue"), "'statue' is not an input of this setup", "4:10"),
        Case("input misspelt", "aegir: 1\ninputs: {statue: a.ply}\nsetup:\n- collider: c\n  input: sttue\n", "did you mean 'statue'?", "5:10"),
        Case("input without file", "aegir: 1\ninputs: {a: {motion: rigid}}\n" + p, "needs 'file'", "2:13"),
        Case("input motion", "aegir: 1\ninputs: {a: {file: a.ply, motion: fluid}}\n" + p, "should be one of static, rigid, deforming", "2:35"),
        Case("input name", "aegir: 1\ninputs: {a b: x.ply}\n" + p, "cannot be the name of an input", "2:10"),
        Case("input empty file", "aegir: 1\ninputs: {a: \"\"}\n" + p, "is an empty file name", "2:13"),
        Case("input is a list", "aegir: 1\ninputs: {a: [x.ply]}\n" + p, "file name", "2:13"),
    ]


def includes():
    lib = nodes("- gravity: g")
    return [
        Case("include nothing", nodes("- include:"), "needs the name of a file", "3:3"),
        Case("include a list", nodes("- include: [a.yaml]"), "needs the name of a file", "3:12"),
        Case("include a missing file", nodes("- include: nowhere.yaml"), "cannot be included", "3:12"),
        Case("include a folder", nodes("- include: lib"), "it is a folder", "3:12", {"lib/a.yaml": lib}),
        Case("include through a file", nodes("- include: a.yaml/b.yaml"), "cannot be included", "3:12", {"a.yaml": lib}),
        Case("include itself", nodes("- include: setup.yaml"), "the files include each other", "3:12"),
        Case("include in a circle", nodes("- include: a.yaml"), "the files include each other", "b.yaml:3:12",
             {"a.yaml": nodes("- include: b.yaml"), "b.yaml": nodes("- include: a.yaml")}),
        Case("include itself by another name", nodes("- include: lib/../setup.yaml"), "the files include each other", "3:12", {"lib/a.yaml": lib}),
        Case("include with parameters", nodes("- include: a.yaml\n  enabled: false"), "cannot stand beside 'include'", "4:3", {"a.yaml": lib}),
        Case("include exposed", nodes("- include: ${x}.yaml"), "cannot use exposed values", "3:12"),
        Case("include of junk", nodes("- include: a.yaml"), "control character", "a.yaml:1:1", {"a.yaml": bytes(100)}),
        Case("include of an empty file", nodes("- include: a.yaml"), "the file is empty", "a.yaml:1:1", {"a.yaml": ""}),
        Case("include of another version", nodes("- include: a.yaml"), "this Aegir reads version 1", "a.yaml:1:8", {"a.yaml": "aegir: 3\nsetup: []\n"}),
        Case("mistake in an include", nodes("- include: lib/a.yaml"), "did you mean 'gravity'?", "lib/a.yaml:3:3", {"lib/a.yaml": nodes("- gravty: g")}),
        Case("include gives a name twice", nodes("- gravity: g\n- include: a.yaml"), "there are two nodes 'g'; the other is at setup.yaml:3:12", "a.yaml:3:12", {"a.yaml": lib}),
        Case("include twice", nodes("- include: a.yaml\n- include: a.yaml"), "there are two nodes 'g'", "a.yaml:3:12", {"a.yaml": lib}),
        Case("includes without end", nodes("- include: a0.yaml"), "nested more than 32 levels deep", "a31.yaml:3:12",
             {f"a{i}.yaml": nodes(f"- include: a{i + 1}.yaml") for i in range(40)}),
        Case("input twice", "aegir: 1\ninputs: {m: a.ply}\nsetup:\n- include: a.yaml\n", "the input 'm' is already at setup.yaml:2", "a.yaml:2:10",
             {"a.yaml": "aegir: 1\ninputs: {m: b.ply}\nsetup: []\n"}),
    ]


def meshes():
    head = "ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\nelement face {}\nproperty list uchar int vertex_indices\nend_header\n"
    text = lambda vertices, faces, body: head.format("ascii", vertices, faces) + body
    triangle = "0 0 0\n1 0 0\n0 1 0\n"
    binary = head.format("binary_little_endian", 3, 1).encode() + struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + struct.pack("<B3i", 3, 0, 1, 2)
    flat = lambda name: f"aegir: 1\ninputs:\n  m: {name}\nsetup:\n- particles: p\n- collider: c\n  input: m\n"
    wrong = [  # name, file, content, message
        ("missing", "m.ply", None, "No such file"),
        ("empty", "m.ply", b"", "starts with 'ply'"),
        ("garbage", "m.ply", bytes(range(256)), "starts with 'ply'"),
        ("only a word", "m.ply", "ply\n", "end_header"),
        ("no format", "m.ply", "ply\nelement vertex 0\nend_header\n", "names no format"),
        ("unknown format", "m.ply", "ply\nformat morse 1.0\nend_header\n", "must be ascii"),
        ("unknown keyword", "m.ply", "ply\nformat ascii 1.0\nvertices 3\nend_header\n", "is not a PLY keyword"),
        ("unknown number type", "m.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty quad x\nend_header\n0\n", "unknown number type"),
        ("count is no number", "m.ply", "ply\nformat ascii 1.0\nelement vertex many\nend_header\n", "count is not a number"),
        ("more vertices than bytes", "m.ply", text(4000000000, 0, triangle), "too short"),
        ("no z", "m.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nend_header\n0 0\n", "x, y and z"),
        ("cut text", "m.ply", text(3, 1, triangle + "3 0 1"), ""),
        ("cut binary", "m.ply", binary[:-4], ""),
        ("cut in the vertices", "m.ply", binary[:-30], "too short"),
        ("words for numbers", "m.ply", text(3, 1, "0 0 0\n1 0 0\n0 one 0\n3 0 1 2\n"), "a number is expected"),
        ("NaN vertex", "m.ply", text(3, 1, "0 0 0\n1 nan 0\n0 1 0\n3 0 1 2\n"), "not finite"),
        ("infinite vertex", "m.ply", text(3, 1, "0 0 0\n1e999 0 0\n0 1 0\n3 0 1 2\n"), "not finite"),
        ("vertex that is not there", "m.ply", text(3, 1, triangle + "3 0 1 7\n"), "uses vertex 7"),
        ("negative vertex", "m.ply", text(3, 1, triangle + "3 0 1 -1\n"), "is not the index of a vertex"),
        ("face longer than the file", "m.ply", text(3, 1, triangle + "200 0 1 2\n"), "does not fit"),
        ("no faces", "m.ply", text(3, 0, triangle), "no triangles"),
        ("faces of two", "m.ply", text(3, 1, triangle + "2 0 1\n"), "no triangles"),
        ("triangles without area", "m.ply", text(3, 1, "1 1 1\n1 1 1\n1 1 1\n3 0 1 2\n"), ""),
        ("another kind of file", "m.obj", bytes(range(256)), "cannot read"),
        ("empty OBJ", "m.obj", b"", "cannot read"),
        ("OBJ without faces", "m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", ""),
        ("broken glTF", "m.glb", b"glTF" + bytes(20), "cannot read"),
        ("no mesh at all", "m.txt", "hello\n", "cannot read"),
        ("cut OpenVDB", "m.vdb", b" BDV\0\0\0\0" + bytes(50), "cannot read"),
    ]
    cases = [Case(f"mesh: {name}", flat(file), says, "3:6", {} if content is None else {file: content}) for name, file, content, says in wrong]
    cases.append(Case("mesh: a folder", flat("geo"), "Is a directory", "3:6", {"geo/a.ply": binary}))
    cases.append(Case("mesh: emitter's is missing", "aegir: 1\ninputs:\n  m: {file: m.ply}\nsetup:\n- particles: p\n- emitter: e\n  input: m\n  count: 5\n", "No such file", "3:13"))
    return cases


def liquids():
    domain = "- domain: d\n  box: {min: [0, 0, 0], max: [1, 1, 1]}\n"
    water = lambda rest="": nodes(domain + "- hybrid: w\n" + rest)  # what it says of the liquid is at 6:3
    source = lambda rest: water("- source: s\n" + rest)              # … and of the source at 7:3
    stream = lambda rest: source("  shape: {kind: sphere}\n  mode: continuous\n" + rest)  # 9:3
    corners = [tuple(i >> a & 1 for a in range(3)) for i in range(8)]
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3)]
    box = "ply\nformat ascii 1.0\nelement vertex 8\nproperty float x\nproperty float y\nproperty float z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n"
    box += "".join("%d %d %d\n" % c for c in corners) + "".join("4 %d %d %d %d\n" % q for q in quads)
    mesh = lambda text: "aegir: 1\ninputs: {m: m.ply}\n" + text.split("\n", 1)[1]  # one line more
    cases = [
        Case("attribute that is derived", water("  attributes: {vorticity: 1}"), "every liquid has 'vorticity' already", "5:3"),
        Case("tolerance of a solid", water("- collider: c\n  shape: {kind: sphere}\n- pressure: p\n  overrides: {c: {tolerance: 1e-3}}"),
             "can only say 'solids'", "8:3"),
        Case("derived volume misspelt", water("- pressure: p\noutputs:\n- volumes: v\n  fields: [vorticty]"),
             "did you mean 'vorticity'?", "8:3"),
        Case("fill without domain", nodes("- hybrid: w\n  fill: {below: 1}"), "needs a domain", "3:3"),
        Case("fill of nothing", water("  fill: {}"), "give 'below', 'shape', 'input', 'level_set' or 'in'", "6:9"),
        Case("fill endless", nodes("- hybrid: w\n  fill: {shape: {kind: plane}}"), "'fill' is endless", "3:3"),
        Case("fill a sheet", water("  fill: {shape: {kind: disc}}"), "a thin sheet has no inside and holds no liquid", "6:9"),
        Case("fill twice", water("  fill: {shape: {kind: sphere}, input: m}"), "give one of 'shape', 'input' and 'level_set'", "6:9"),
        Case("fill in nobody", water("  fill: {in: q}"), "there is no domain of that name", "6:14"),
        Case("fill below NaN", water("  fill: {below: .nan}"), "is not a number", "6:17"),
        Case("two domains", nodes(domain + domain.replace(": d", ": e") + "- hybrid: w"), "lies in two domains, 'd' and 'e'", "7:3"),
        Case("domain backwards", nodes("- domain: d\n  box: {min: [0, 0, 0], max: [1, -1, 1]}"), "must lie above 'min'", "4:8"),
        Case("domain without height", nodes("- domain: d\n  box: {min: [0, 0, 0], max: [1, 0, 1]}"), "must lie above 'min'", "4:8"),
        Case("domain without box", nodes("- domain: d"), "needs 'box'", "3:3"),
        Case("domain limit", nodes("- domain: d\n  box: {min: [0, 0, 0], max: [1, 1, 1]}\n  limits: {top: glass}"), "should be one of wall, open", "5:17"),
        Case("voxel size of a liquid", water("  voxel_size: 0"), "must be at least", "6:15"),
        Case("density of a liquid", water("  density: -1"), "must be above 0", "6:12"),
        Case("flip ratio", water("  flip_ratio: 1.5"), "must be at most 1", "6:15"),
        Case("transfer", water("  transfer: flap"), "should be one of flip, apic, pic", "6:13"),
        Case("velocity of a liquid", water("  velocity: [0, .nan, 0]"), "is not a number", "6:17"),
        Case("gravity NaN", water("- gravity: g\n  acceleration: [0, .nan, 0]"), "is not a number", "7:21"),
        Case("gravity keyed NaN", water("- gravity: g\n  acceleration: {keys: {1: [0, 0, 0], 9: [0, .inf, 0]}}"), "is not a number", "7:"),
        Case("source without a place", source(""), "give one of 'input', 'shape', 'level_set' and 'point_cloud'", "6:3"),
        Case("source of no size", source("  shape: {kind: sphere, radius: 0}"), "must be above 0", "7:33"),
        Case("source of no width", source("  shape: {kind: box, size: [0, 1, 1]}"), "must be positive", "6:3"),
        Case("source a sheet", source("  shape: {kind: disc}"), "a thin sheet has no inside", "6:3"),
        Case("source endless", source("  shape: {kind: plane}"), "a plane is endless", "6:3"),
        Case("source into nobody", source("  shape: {kind: sphere}\n  into: q"), "there is no liquid 'q'", "8:9"),
        Case("stream without velocity", stream("  flux: 1"), "needs a 'velocity'", "6:3"),
        Case("flux negative", stream("  velocity: [1, 0, 0]\n  flux: -1"), "must be at least 0", "10:9"),
        Case("flux keyed negative", stream("  velocity: [1, 0, 0]\n  flux: {keys: {1: 1, 3: -1}}"), "must be at least 0", "10:26"),
        Case("flux of a body", source("  shape: {kind: sphere}\n  velocity: [1, 0, 0]\n  flux: 1"), "'flux' needs 'mode: continuous'", "6:3"),
        Case("flux dimension", stream("  velocity: [1, 0, 0]\n  flux: 1 m/s"), "is expected", "10:9"),
        Case("sink without a place", water("- sink: s"), "give one of 'input', 'shape' and 'level_set'", "6:3"),
        Case("level set missing", source("  level_set: {file: no.vdb}"), "no.vdb", "7:21"),
        Case("level set without file", source("  level_set: {volume: surface}"), "needs 'file'", "7:14"),
        Case("level set is text", source("  level_set: {file: setup.yaml}"), "cannot read", "7:21"),
        Case("level set of a fill missing", water("  fill: {level_set: {file: no.vdb}}"), "no.vdb", "6:28"),
        Case("points missing", source("  point_cloud: {file: no.vdb}"), "no.vdb", "7:23"),
        Case("points all the time", source("  point_cloud: {file: no.vdb}\n  mode: continuous\n  velocity: [1, 0, 0]"), "is put in once", "6:3"),
        Case("points and a shape", source("  point_cloud: {file: no.vdb}\n  shape: {kind: sphere}"), "give one of", "6:3"),
        Case("velocities missing", source("  shape: {kind: sphere}\n  velocity_field: {file: no.vdb}"), "no.vdb", "8:26"),
        Case("velocities of a stream", stream("  velocity: [1, 0, 0]\n  velocity_field: {file: no.vdb}"), "needs 'mode: once'", "6:3"),
        Case("velocities of a fill missing", water("  fill: {below: 1}\n  velocity_field: {file: no.vdb}"), "no.vdb", "7:26"),
        Case("reseed too close", water("  reseed: {minimum: 6, maximum: 8}"), "at least twice 'minimum'", "6:11"),
        Case("reseed of nothing", water("  reseed: {minimum: 0}"), "must be at least 1", "6:21"),
        Case("pressure tolerance", water("- pressure: p\n  tolerance: 0"), "must be at least", "7:14"),
        Case("pressure solids", water("- pressure: p\n  solids: sticky"), "should be one of free_slip", "7:11"),
        Case("viscosity negative", water("- viscosity: v\n  dynamic: -1"), "must be at least 0", "7:12"),
        Case("volumes of nobody", water("") + "outputs:\n- volumes: o\n  objects: [q]\n", "there is no Object 'q' with volumes", "9:12"),
        Case("volume that is not there", water("") + "outputs:\n- volumes: o\n  fields: [surfce]\n", "no Object offers a volume 'surfce'", "8:3"),
    ]
    for name, text, place in [("fill", water("  fill: {input: m}"), "7:17"), ("source", source("  input: m"), "8:10"), ("sink", water("- sink: s\n  input: m"), "8:10")]:
        cases.append(Case(f"open mesh: {name}", mesh(text), "the mesh of 'm' is open", place, {"m.ply": box}))
        cases.append(Case(f"no mesh: {name}", mesh(text).replace("m.ply", "n.ply"), "No such file", "2:13"))
    return cases


def sands():
    domain = lambda rest="": "- domain: d\n  box: {min: [0, 0, 0], max: [1, 1, 1]}\n" + rest
    sand = lambda rest: nodes(domain() + "- hybrid: w\n- pressure: p\n- sand: s\n  " + rest)  # what it says is at 8:3
    return [
        Case("friction angle 90", sand("friction_angle: 90 deg"), "must be at most", "8:19"),
        Case("friction angle beyond", sand("friction_angle: 120 deg"), "must be at most", "8:19"),
        Case("friction angle without unit", sand("friction_angle: 30"), "'friction_angle' is 30 rad, but must be at most", "8:19"),
        Case("friction angle negative", sand("friction_angle: -1 deg"), "must be at least 0", "8:19"),
        Case("friction angle keyed", sand("friction_angle: {keys: {1: 30 deg, 9: 95 deg}}"), "must be at most", "8:41"),
        Case("friction angle dimension", sand("friction_angle: 30 m"), "an angle (rad) is expected", "8:19"),
        Case("friction angle NaN", sand("friction_angle: .nan"), "is not a number", "8:19"),
        Case("friction angle of a number", sand("friction_angle: {attribute: 5}"), "which is not the name of an attribute", "8:31"),
        Case("friction angle misspelt", sand("friction_angel: 30 deg"), "did you mean 'friction_angle'?", "8:3"),
        Case("cohesion negative", sand("cohesion: -5 Pa"), "'cohesion' is -5 Pa, but must be at least 0", "8:13"),
        Case("cohesion keyed negative", sand("cohesion: {keys: {1: 0, 5: -1}}"), "must be at least 0", "8:30"),
        Case("cohesion endless", sand("cohesion: .inf"), "is not a number", "8:13"),
        Case("model of sand", sand("model: drucker"), "should be one of projection, zhu", "8:10"),
        Case("tension of sand", sand("tension: some"), "should be one of inside, held, none", "8:12"),
        Case("sweeps of nothing", sand("sweeps: 0"), "must be at least 1", "8:11"),
        Case("sweeps in parts", sand("sweeps: 1.5"), "should be a whole number", "8:11"),
        Case("settling", sand("settling: 2"), "must be at most 1", "8:13"),
        Case("sand twice", sand("sweeps: 9\n- sand: t"), "no order is defined between them", "9:3"),
        Case("friction of a domain", nodes(domain("  friction: -1\n") + "- hybrid: w\n- pressure: p\n- sand: s"), "must be at least 0", "5:13"),
        Case("friction of a domain NaN", nodes(domain("  friction: .nan\n") + "- hybrid: w\n- pressure: p\n- sand: s"), "is not a number", "5:13"),
    ]


def expressions():
    code = lambda text, rest="": nodes("- particles: p\n- expression: e\n  code: " + text + rest)  # the snippet starts at 5:9
    block = lambda *lines: code("|\n" + "".join(f"    {line}\n" for line in lines))            # … or at 6:5
    return [
        Case("no code", nodes("- particles: p\n- expression: e"), "give one of 'code' and 'file'", "4:3"),
        Case("code and file", code("f@a = 1;", "\n  file: a.ax"), "give one of 'code' and 'file'", "4:3"),
        Case("unknown function", code("f@a = nothing(1);"), "", "5:15"),
        Case("unknown function in a block", block("f@a = 1;", "  f@b = nothing(1);"), "", "7:13"),
        Case("unknown variable", code("f@a = $wind;"), "there is no variable '$wind'", "5:15"),
        Case("no semicolon", block("f@a = 1", "f@b = 2;"), "", "7:5"),
        Case("two types of an attribute", block("f@a = 1;", "v@a = 2;"), "", "7:5"),
        Case("deep brackets", code("f@a = " + "(" * 5000 + "1" + ")" * 5000 + ";"), "", "5:"),
        Case("endless operators", code("f@a = 1" + " + 1" * 50000 + ";"), "", "5:"),
        Case("moves sorted particles", code("v@P += 1;", "\n  stage: after_solve"), "@P cannot be changed at 'after_solve'", "5:10"),
        Case("deletes sorted particles", code("deletepoint();", "\n  stage: after_forces"), "deletepoint() cannot be used at 'after_forces'", "5:9"),
        Case("neighbours after the move", code("i@n = neighbourcount(1);"), "neighbours are known at", "5:15"),
        Case("averages what it writes", code("f@age = neighbouraverage('age', 1);".replace("'", '"'), "\n  stage: after_solve"), "'age' is averaged", "5:17"),
        Case("nothing to sample", code('f@a = sample("p", "v", @P);'), "there is no Object 'p' to sample", "5:15"),
        Case("stage that is none", code("f@a = 1;", "\n  stage: after_lunch"), "should be one of", "6:10"),
        Case("stage that is not for users", code("f@a = 1;", "\n  stage: collide"), "should be one of", "6:10"),
        Case("over, overridden", code("f@a = 1;", "\n  overrides: {p: {over: voxels}}"), "'over' cannot be overridden for 'p'", "4:3"),
        Case("over surfaces", code("f@a = 1;", "\n  over: surfaces"), "should be one of", "6:9"),
        Case("objects that are none", code("f@a = 1;", "\n  objects: [q]"), "there is no Object 'q' with particles", "6:12"),
        Case("variable of the run", code("f@a = 1;", "\n  variables: {time: 3}"), "$time is given by the run", "4:3"),
        Case("variable with a blank", code("f@a = 1;", "\n  variables: {a b: 3}"), "cannot be written as $name", "4:3"),
        Case("variable twice", code("f@a = 1;", "\n  variables: {a: 3}\n  vectors: {a: [1, 2, 3]}"), "is in 'variables' and in 'vectors'", "4:3"),
        Case("variable that is text", code("f@a = 1;", "\n  variables: {a: big}"), "is not a number", "6:18"),
        Case("vector of two", code("f@a = 1;", "\n  vectors: {a: [1, 2]}"), "three numbers", "6:16"),
        Case("no turns", code("f@a = 1;", "\n  loop_limit: 0"), "must be at least 1", "6:15"),
        Case("file that is not there", nodes("- particles: p\n- expression: e\n  file: gone.ax"), "cannot be read", "5:9"),
        Case("mistake in a file", nodes("- particles: p\n- expression: e\n  file: a.ax"), "", "a.ax:2:7", {"a.ax": "f@a = 1;\nf@b = nothing(1);\n"}),
        Case("file of noise", nodes("- particles: p\n- expression: e\n  file: a.ax"), "", "a.ax:1:", {"a.ax": "@@@ \x01 {{{"}),
        Case("two expressions, two types", nodes("- particles: p\n- expression: a\n  code: f@x = 1;\n- expression: b\n  code: v@x = 1;"), "", "7:"),
    ]


def command_line():
    ok = "aegir: 1\nexpose: {voxel: 10 cm}\ninputs: {m: {file: m.ply}, n: n.ply}\nsetup:\n- particles: p\n  voxel_size: ${voxel}\n- group: g\n  behaviors:\n  - gravity: down\n"
    wrong = [  # --set, message
        ("nonsense", "should be NAME=VALUE"), ("=3", "should be NAME=VALUE"), ("voxel=", "should be NAME=VALUE"), ("", "should be NAME=VALUE"),
        ("voxl=3", "did you mean 'voxel'?"), ("voxel=big", "is not a number"), ("voxel=3kg", "a length (m) is expected"), ("voxel=-1", "must be at least"),
        ("voxel=[1, 2", "cannot be read"), ("voxel={", "cannot be read"), ("voxel=\"abc", "cannot be read"), ("voxel=\x01", "cannot be read"),
        ("voxel=nan", "is not a number"), ("voxel=[1]", "is a list"), ("voxel=~", ""), ("p=3", "is a node"), ("q.voxel_size=3", "names no node"),
        ("p.voxel_sise=3", "did you mean 'voxel_size'?"), ("p.voxel_size=big", "is not a number"), ("p..voxel_size=3", "has an empty part"),
        ("p.=3", "has an empty part"), ("p.voxel_size.x=3", "cannot be set"), ("p.enabled=maybe", "write true or false"), ("p.particles=q", "only parameters can"),
        ("g.behaviors=[]", "only parameters can"), ("g/down.acceleration=3", "three numbers"), ("g/up.acceleration=[0,0,0]", "names no node"),
        ("timeline.fps=0", "must be above 0"), ("timeline.fsp=24", "did you mean 'fps'?"), ("timeline.frames=[5, 1]", "is before the first"),
        ("timeline.substeps.mx=3", "did you mean 'max'?"), ("timeline=3", "is not exposed"), ("scene.up=x", "should be one of y, z"),
        ("inputs/k.file=a.ply", "is not an input"), ("inputs/n.motion=rigid", "cannot be set"), ("inputs/m.motion=fluid", "should be one of"), ("outputs/o.every=0", "names no node"),
        ("p." + ".".join("a" * 40) + "=1", "too many parts"), ("a" * 100000 + "=1", "is not exposed"),
    ]
    return [Case(f"--set {value[:30]!r}", ok, says, "--set", words=("--set", value)) for value, says in wrong]


def all_cases():
    groups = [whole_files, yaml_mistakes, bytes_and_letters, hostile, node_mistakes, wrong_numbers, ranges_and_types, air_and_sizes, shapes, animation, timelines,
              references, includes, meshes, liquids, sands, expressions, command_line]
    return [case for group in groups for case in group()]
