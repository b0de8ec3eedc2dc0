"""A walk along the part of JSON Schema that Aegir publishes.

    problems = json_schema.problems(document, schema)     # [] when the document fits
"""
import re

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "default", "type", "const", "enum", "required", "properties", "additionalProperties",
         "patternProperties", "propertyNames", "minProperties", "items", "minItems", "maxItems", "minLength", "pattern", "minimum", "maximum",
         "exclusiveMinimum", "exclusiveMaximum", "anyOf", "oneOf", "allOf", "if", "then", "else", "not", "examples"}


def problems(value, schema, root=None, path="$"):
    root = root or schema
    if schema is True or schema is False:
        return [] if schema else [f"{path}: not allowed"]
    unknown = set(schema) - KNOWN
    if unknown:
        return [f"{path}: the schema uses {unknown}, which this walk does not know"]
    found = []
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        found += problems(value, target, root, path)
    found += _of_value(value, schema, path)
    if isinstance(value, dict):
        found += _of_object(value, schema, root, path)
    if isinstance(value, list):
        found += _of_list(value, schema, root, path)
    return found + _of_choices(value, schema, root, path)


def _of_value(value, schema, path):
    found = []
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, TYPES[t]) and (t == "boolean" or not isinstance(value, bool)) for t in types):
        found.append(f"{path}: {value!r} is not {' or '.join(types)}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is none of {schema['enum']}")
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{path}: {value!r} does not look like {schema['pattern']}")
        if len(value) < schema.get("minLength", 0):
            found.append(f"{path}: {value!r} is too short")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        inside = (value >= schema.get("minimum", value) and value <= schema.get("maximum", value) and
                  not ("exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]) and
                  not ("exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]))
        if not inside:
            found.append(f"{path}: {value!r} is out of range")
    return found


def _of_object(value, schema, root, path):
    found = [f"{path}: '{name}' is missing" for name in schema.get("required", []) if name not in value]
    if len(value) < schema.get("minProperties", 0):
        found.append(f"{path}: too few entries")
    for name, inner in value.items():
        if "propertyNames" in schema:
            found += problems(name, schema["propertyNames"], root, f"{path}.{name}")
        rules = [schema["properties"][name]] if name in schema.get("properties", {}) else []
        rules += [rule for pattern, rule in schema.get("patternProperties", {}).items() if re.search(pattern, name)]
        for rule in rules or [schema.get("additionalProperties", True)]:
            found += problems(inner, rule, root, f"{path}.{name}")
    return found


def _of_list(value, schema, root, path):
    found = []
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        found.append(f"{path}: a list of {len(value)}")
    for i, item in enumerate(value):
        found += problems(item, schema.get("items", True), root, f"{path}[{i}]")
    return found


def _of_choices(value, schema, root, path):
    found = []
    for rule in schema.get("allOf", []):
        found += problems(value, rule, root, path)
    if "if" in schema:
        branch = "else" if problems(value, schema["if"], root, path) else "then"
        found += problems(value, schema.get(branch, True), root, path)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            tries = [problems(value, rule, root, path) for rule in schema[word]]
            fitting = sum(not t for t in tries)
            if fitting == 0:
                found.append(f"{path}: fits none of: " + "; ".join(t[0] for t in tries)[:300])
            elif word == "oneOf" and fitting > 1:
                found.append(f"{path}: fits {fitting} of the choices")
    if "not" in schema and not problems(value, schema["not"], root, path):
        found.append(f"{path}: is what it must not be")
    return found
