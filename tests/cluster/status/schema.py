"""As much of JSON Schema as docs/status.schema.json uses, and no more: a word
that is not known here is an error, so that nothing is left unchecked."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs" / "status.schema.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool,
         "null": type(None), "number": (int, float), "integer": int}
SILENT = {"$schema", "title", "description"}  # say nothing of the value


def _is(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def _type(value, names, path):
    names = names if isinstance(names, list) else [names]
    if not any(_is(value, name) for name in names):
        yield "%s: %r is no %s" % (path, value, " or ".join(names))


def _properties(value, schemas, path):
    for key, schema in schemas.items():
        if isinstance(value, dict) and key in value:
            yield from wrongs(value[key], schema, path + "." + key)


def _additional(value, schema, path):
    assert schema["additionalProperties"] is False
    for key in value if isinstance(value, dict) else ():
        if key not in schema["properties"]:
            yield "%s: %s is not in the schema" % (path, key)


def _items(value, schema, path):
    for i, item in enumerate(value if isinstance(value, list) else ()):
        yield from wrongs(item, schema, "%s[%d]" % (path, i))


def wrongs(value, schema=SCHEMA, path="$"):
    """What does not fit, in words."""
    for word, wanted in schema.items():
        if word == "type":
            yield from _type(value, wanted, path)
        elif word == "properties":
            yield from _properties(value, wanted, path)
        elif word == "required":
            yield from ("%s: %s is missing" % (path, key) for key in wanted
                        if isinstance(value, dict) and key not in value)
        elif word == "additionalProperties":
            yield from _additional(value, schema, path)
        elif word == "items":
            yield from _items(value, wanted, path)
        elif word in ("enum", "const"):
            if value not in (wanted if word == "enum" else [wanted]):
                yield "%s: %r is none of %r" % (path, value, wanted)
        elif word == "minimum":
            if isinstance(value, (int, float)) and value < wanted:
                yield "%s: %r is below %r" % (path, value, wanted)
        elif word == "pattern":
            if isinstance(value, str) and not re.search(wanted, value):
                yield "%s: %r is not like %s" % (path, value, wanted)
        elif word in ("minItems", "maxItems"):
            if isinstance(value, list) and (
                    len(value) < wanted if word == "minItems"
                    else len(value) > wanted):
                yield "%s: %d items" % (path, len(value))
        else:
            assert word in SILENT, "%s: what is %s?" % (path, word)
