"""Types that TypeScript writes, as Python writes them. mypy's package (types/) has this file, too."""
import re

PLAIN = {"string": "str", "number": "float", "boolean": "bool", "null": "None", "void": "None", "undefined": "None",
         "any": "Any", "unknown": "Any", "object": "dict[str, Any]", "Uint8Array": "bytes", "ArrayBuffer": "bytes",
         "Date": "datetime.datetime", "never": "NoReturn"}


def split(text, mark):
    """The parts between marks that are in no brackets or quotes."""
    parts, depth, start, quote = [], 0, 0, None
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "'\"`":
            quote = c
        elif c in "([{<":
            depth += 1
        elif c in ")]}" or c == ">" and text[i - 1:i] != "=":
            depth -= 1
        elif c in mark and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in [*parts, text[start:]] if p.strip()]


def fields(definition):
    """(name, is it optional, type) of each member of an object's type."""
    inside = definition.strip()
    if not (inside.startswith("{") and inside.endswith("}")):
        return []
    found = [re.fullmatch(r"(?:readonly )?([A-Za-z_]\w*)(\??):\s*(.*)", part, re.S) for part in split(inside[1:-1], ";,\n")]
    return [(one[1], bool(one[2]), one[3]) for one in found if one]


class Spelling:
    """How Python writes types: `known` are names of classes, which stay."""

    plain = PLAIN

    def __init__(self, known):
        self.known = known

    def list_of(self, kind):
        return f"list[{kind}]"

    def map_of(self, kind):
        return f"dict[str, {kind}]"

    def object_of(self, text):
        return "dict[str, Any]"

    def other(self, text):
        return text if text in self.known else "Any"

    def of(self, text):
        text = text.strip().rstrip(";")
        parts = split(text, "|")
        if len(parts) > 1:
            made = list(dict.fromkeys(self.of(p) for p in parts))
            return "Any" if "Any" in made else " | ".join(made)
        if text in self.plain:
            return self.plain[text]
        if text.endswith("[]"):
            return self.list_of(self.of(text[:-2]))
        generic = re.fullmatch(r"(\w+)<(.*)>", text, re.S)
        if generic:
            name, inside = generic.groups()
            parts = split(inside, ",")
            if name == "Promise":
                return self.of(inside)
            if name in ("Array", "ReadonlyArray"):
                return self.list_of(self.of(inside))
            if name == "Record":
                return self.map_of(self.of(parts[-1]))
            return "Any"
        if text.startswith("(") and text.endswith(")"):
            return self.of(text[1:-1])
        if re.fullmatch(r"'.*'|\".*\"|-?\d+", text, re.S):
            return f"Literal[{text}]"
        if text in ("true", "false"):
            return f"Literal[{text.capitalize()}]"
        if text.startswith("{"):
            return self.object_of(text)
        return self.other(text)
