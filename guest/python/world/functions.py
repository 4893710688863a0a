"""Custom functions that are written in Python: what their code says of them, and their call.

Types are told in TypeScript, as for functions in JavaScript, so that both call both.
"""
import __future__
import ast
import builtins
import inspect
import json

from . import api, calls, check, nesting, output, run, values
from .calls import FILE

LINES_MAX, NESTED_MAX = 100, 5
ANNOTATIONS = __future__.annotations.compiler_flag  # they may name types of the API, which are no values
# What code of a function cannot do well in a world that ends with the call.
CODE_OF_TEXT = {"eval", "exec", "compile", "__import__"}
SPACES = {"custom_functions", "customFunctions"}
START = ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)  # the place of what has none


# ---- types -------------------------------------------------------------------------

WORDS = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "None": "null", "bytes": "string",
         "Any": "any", "object": "any", "Decimal": "number", "date": "string", "datetime": "string", "time": "string",
         "Path": "string", "UUID": "string", "dict": "Record<string, any>", "Dict": "Record<string, any>",
         "Mapping": "Record<string, any>", "list": "any[]", "List": "any[]", "Sequence": "any[]",
         "Iterable": "any[]", "Collection": "any[]", "set": "any[]", "Set": "any[]", "frozenset": "any[]",
         "tuple": "any[]", "Tuple": "any[]", "LiteralString": "string", "Number": "number", "NoReturn": "void"}
LISTS = {"list", "List", "Sequence", "MutableSequence", "Iterable", "Iterator", "Collection", "set", "Set", "frozenset",
         "FrozenSet", "AbstractSet", "deque", "Generator", "AsyncIterator", "AsyncGenerator"}
MAPS = {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict", "Counter"}
SAME = {"Annotated", "Required", "NotRequired", "ReadOnly", "Final", "Awaitable", "Coroutine"}


def joined(types):
    kept = list(dict.fromkeys(types))
    return "any" if "any" in kept else " | ".join(kept)


class Types:
    """Annotations as types of TypeScript."""

    def __init__(self, tree):
        self.classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
        self.aliases = {n.targets[0].id: n.value for n in tree.body if isinstance(n, ast.Assign)
                        and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)}
        self.aliases |= {n.name.id: n.value for n in tree.body if isinstance(n, ast.TypeAlias)}
        self.open = set()
        self.known = {row["type"] for row in api.types}

    def of(self, node):
        if node is None:
            return "any"
        if isinstance(node, ast.Constant):
            return self.of_constant(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return joined([self.of(node.left), self.of(node.right)])
        if isinstance(node, ast.Attribute):
            return self.named(node.attr)
        if isinstance(node, ast.Name):
            return self.named(node.id)
        if isinstance(node, ast.Subscript):
            return self.subscribed(node)
        return "any"

    def of_constant(self, value):
        if value is None:
            return "null"
        if isinstance(value, str):
            try:
                return self.of(ast.parse(value, mode="eval").body)
            except SyntaxError:
                return "any"
        return "any"

    def named(self, name):
        if name in self.open:
            return "any"
        self.open.add(name)
        try:
            if name in self.classes:
                return self.of_class(self.classes[name])
            if name in self.aliases:
                return self.of(self.aliases[name])
        finally:
            self.open.discard(name)
        return WORDS.get(name) or (name if name in self.known else "any")

    def subscribed(self, node):
        name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Optional":
            return joined([self.of(parts[0]), "null"])
        if name == "Union":
            return joined([self.of(p) for p in parts])
        if name == "Literal":
            return joined([json.dumps(p.value) if isinstance(p, ast.Constant) and
                           isinstance(p.value, (str, int, bool, type(None))) else "any" for p in parts])
        if name in SAME:
            return self.of(parts[-1] if name == "Coroutine" else parts[0])
        if name in MAPS:
            value = "number" if name == "Counter" else self.of(parts[1]) if len(parts) > 1 else "any"
            return f"Record<string, {value}>"
        if name in ("tuple", "Tuple"):
            if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...:
                return self.list_of(self.of(parts[0]))
            return "[" + ", ".join(self.of(p) for p in parts) + "]"
        if name in LISTS:
            return self.list_of(self.of(parts[0]))
        return "any"

    @staticmethod
    def list_of(kind):
        return f"({kind})[]" if " " in kind and not kind.startswith(("{", "[", "Record<")) else f"{kind}[]"

    def of_class(self, node):
        """A TypedDict is its keys, an Enum its values; others do not come as arguments."""
        bases = {b.attr if isinstance(b, ast.Attribute) else getattr(b, "id", "") for b in node.bases}
        if bases & {"Enum", "StrEnum", "IntEnum"}:
            found = [json.dumps(n.value.value) for n in node.body if isinstance(n, ast.Assign)
                     and isinstance(n.value, ast.Constant) and isinstance(n.value.value, (str, int))]
            return joined(found) if found else "any"
        fields = [n for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
        dataclass = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
        if not fields or not ("TypedDict" in bases or dataclass):
            return "any"
        total = not any(k.arg == "total" and isinstance(k.value, ast.Constant) and not k.value.value
                        for k in node.keywords)
        texts = []
        for field in fields:
            told = ast.unparse(field.annotation)
            needed = (total or "Required[" in told) and "NotRequired[" not in told and field.value is None
            texts.append(f"{field.target.id}{'' if needed else '?'}: {self.of(field.annotation)}")
        return "{" + ", ".join(texts) + "}"


# ---- the function in its code ------------------------------------------------------

class Problems(check.Findings):
    def problem(self, rule, message, node, suggestion=""):
        self.add(rule, "error", message, node)
        if suggestion:
            self.all[-1]["suggestion"] = suggestion


def functions_in(tree):
    return {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}


def chosen(tree, name):
    """The function `name`; without a name the first whose own begins with no '_'."""
    all_of_it = functions_in(tree)
    if name in all_of_it:
        return all_of_it[name]
    for node in tree.body:  # other = name
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in all_of_it and \
                any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return all_of_it[node.value.id]
    public = [n for n in all_of_it if not n.startswith("_")]
    return all_of_it[public[0]] if public and not name else None


PARTS = {"args", "arguments", "parameters", "params"}
ENDS = {"returns", "return", "raises", "yields", "example", "examples", "note", "notes", "see also"}


def told_by(docstring):
    """(what it does, {parameter: text}) of a docstring as Google, Sphinx or NumPy write them."""
    about, parameters, part, last = [], {}, "", None
    lines = inspect.cleandoc(docstring).split("\n") if docstring else []
    for i, line in enumerate(lines):
        word = line.strip().rstrip(":").lower()
        ruled = i + 1 < len(lines) and set(lines[i + 1].strip()) == {"-"}
        if word in PARTS | ENDS and (line.strip().endswith(":") or ruled) and line[:1] not in (" ", "\t"):
            part, last = ("args" if word in PARTS else "other"), None
            continue
        if line.startswith((":param ", ":parameter ", "@param ")):
            name, _, text = line.split(" ", 1)[1].partition(":")
            part, last = "sphinx", name.split()[-1] if name.split() else None
            if last:
                parameters[last] = text.strip()
            continue
        if line.startswith((":", "@")) and part != "args":
            part, last = "other", None
            continue
        if not part:
            about.append(line)
        elif part == "args" and line.strip() and set(line.strip()) != {"-"}:
            head, colon, text = line.strip().partition(":")
            named = head.split("(")[0].strip().lstrip("*")
            outer = len(line) - len(line.lstrip())
            if colon and named.isidentifier() and (last is None or outer <= last[1]):
                parameters[named], last = text.strip(), (named, outer)
                if not line.startswith((" ", "\t")):  # NumPy: the text follows
                    parameters[named] = ""
            elif last:
                parameters[last[0]] = f"{parameters[last[0]]} {line.strip()}".strip()
        elif part == "sphinx" and last and line.strip():
            parameters[last] = f"{parameters[last]} {line.strip()}".strip()
    return "\n".join(about).strip(), parameters


def plain_default(node):
    """(is it JSON, its value)"""
    try:
        value = ast.literal_eval(node)
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False, None
    return not isinstance(value, tuple), value


def parameter_of(types, arg, default, about):
    out = {"type": types.of(arg.annotation)}
    if about:
        out["description"] = about
    if default is not None:
        plain, value = plain_default(default)
        if plain and value is not None:
            out["default"] = value
        else:
            out["optional"] = True
        if value is None and plain and out["type"] != "any" and "null" not in out["type"]:
            out["type"] = joined([out["type"], "null"])
    return out


def parameters_of(node, types, about, findings):
    a, out = node.args, {}
    both = a.posonlyargs + a.args
    defaults = [None] * (len(both) - len(a.defaults)) + a.defaults
    for arg, default in zip(both, defaults):
        out[arg.arg] = parameter_of(types, arg, default, about.get(arg.arg))
    named = {arg.arg: parameter_of(types, arg, default, about.get(arg.arg))
             for arg, default in zip(a.kwonlyargs, a.kw_defaults)}
    needed = {k: v for k, v in named.items() if "default" not in v and not v.get("optional")}
    if needed and any("default" in v or v.get("optional") for v in out.values()):
        findings.problem("required-after-optional", f"'{next(iter(needed))}' has to be given, behind parameters that "
                         "may be left out", node, "Give it a default, or put it first.")
    out |= needed | {k: v for k, v in named.items() if k not in needed}
    if a.vararg:
        if named:
            findings.problem("parameters", f"'*{a.vararg.arg}' takes all further arguments; no parameter can follow it",
                             a.vararg, "Take a list as a parameter of its own.")
        rest = {"type": Types.list_of(types.of(a.vararg.annotation))}
        if about.get(a.vararg.arg):
            rest["description"] = about[a.vararg.arg]
        out[f"...{a.vararg.arg}"] = rest
    if a.kwarg:
        findings.problem("parameters", f"'**{a.kwarg.arg}' has no names that callers could know", a.kwarg,
                         "Take a dict as a parameter: options: dict.")
    return out


# ---- the review --------------------------------------------------------------------

def check_safety(tree, findings):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CODE_OF_TEXT:
            findings.problem("no-eval", f"{node.func.id}() makes code of text, which nobody can review", node,
                             "Write the code itself.")
        elif isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value and \
                not any(isinstance(n, (ast.Break, ast.Return, ast.Raise, ast.Yield)) for n in ast.walk(node)):
            findings.problem("unbounded-loop", "this loop has no end", node, "Leave it with break or return.")
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete)):
            targets = node.targets if not isinstance(node, ast.AugAssign) else [node.target]
            for t in targets:
                if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and \
                        t.value.id in ({"builtins", "__builtins__"} | set(api.names)):
                    findings.problem("shared-state", f"{t.value.id}.{t.attr} is not this function's to change", t)


def check_top(tree, name, findings):
    """The code runs at each call: what it does beside making names is done each time."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom,
                             ast.Assign, ast.AnnAssign, ast.TypeAlias, ast.If, ast.Try)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        findings.add("runs-at-top", "warning", f"this runs at every call of {name}, before it", node)


def uses_of(tree, findings):
    functions, dynamic, made = [], [], []
    taken = set()
    for node in ast.walk(tree):
        held = getattr(node, "value", None)
        if isinstance(held, ast.Name) and held.id in SPACES and isinstance(node, (ast.Attribute, ast.Subscript)):
            taken.add(id(held))
            at = findings.place(node)
            key = node.attr if isinstance(node, ast.Attribute) else \
                node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(key, str):
                if key not in [f["name"] for f in functions]:
                    functions.append({"name": key, **at})
            else:
                dynamic.append(at)
    for node, space in check.api_attributes(tree):
        found = getattr(space, node.attr, None)
        if isinstance(found, api.Function) and found.name not in made:
            made.append(found.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in SPACES and id(node) not in taken:
            dynamic.append(findings.place(node))
    return {"functions": functions, "dynamic": dynamic, "calls": sorted(made)}


BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.match_case, ast.comprehension)
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match)


def depth_of(node, depth=0):
    deepest = depth
    for child in ast.iter_child_nodes(node):
        deepest = max(deepest, depth_of(child, depth + isinstance(child, BLOCKS)))
    return deepest


def complexity_of(source, tree, node, findings):
    branches = 1 + sum(isinstance(n, BRANCHES) for n in ast.walk(node)) + \
        sum(len(n.values) - 1 for n in ast.walk(node) if isinstance(n, ast.BoolOp))
    out = {"lines": len(source.strip().splitlines()), "functions": len(functions_in(tree)),
           "statements": sum(isinstance(n, ast.stmt) for n in ast.walk(tree)), "cyclomatic": branches,
           "nesting": depth_of(node), "parameters": len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs),
           "awaitsInLoops": 0}
    if out["lines"] > LINES_MAX * 3:
        findings.add("long-function", "warning", f"the code has {out['lines']} lines", node)
    if branches > 30:
        findings.add("many-branches", "warning", f"{node.name} has {branches} branches", node)
    if out["nesting"] > NESTED_MAX:
        findings.add("deep-nesting", "warning", f"{node.name} is nested {out['nesting']} deep", node)
    return out


def parsed(source, findings):
    """The tree of code that can run; None: a finding says why it cannot."""
    tree = None
    try:
        tree = ast.parse(source, FILE)
        compile(source, FILE, "exec", dont_inherit=True)
        return tree
    except SyntaxError as error:
        findings.add_syntax(error, in_bytes=tree is not None)
    except (RecursionError, MemoryError):
        findings.add_syntax(nesting.too_deep(source, FILE))
    except ValueError as error:
        findings.add_at("syntax", "error", f"it cannot be parsed: {error}", 1, 1)
    return None


def describe(source, name):
    """What register_custom_function asks of code: JSON."""
    findings = Problems(source)
    out = {"findings": findings.all, "uses": {"functions": [], "dynamic": [], "calls": []}, "complexity": None,
           "binding": None}
    tree = parsed(source, findings)
    if tree is None:
        return values.encode(json.dumps(out))
    node = chosen(tree, name)
    if node is None:
        there = ", ".join(functions_in(tree))
        findings.problem("no-binding", f"the code declares no function {name}" if name else
                         "the code declares no function", tree.body[0] if tree.body else START,
                         f"It declares {there}." if there else f"def {name or 'name'}(...): at its top level.")
        return values.encode(json.dumps(out))
    about, texts = told_by(ast.get_docstring(node))
    types = Types(tree)
    returns = "any" if node.returns is None else types.of(node.returns)
    if node.returns is not None and returns == "null":
        returns = "void"
    is_async = isinstance(node, ast.AsyncFunctionDef)
    public = [n for n in functions_in(tree) if not n.startswith("_") and n != node.name]
    out |= {"name": name or node.name, "description": about.split("\n\n")[0].replace("\n", " ").strip(),
            "parameters": parameters_of(node, types, texts, findings),
            "returnType": f"Promise<{returns}>" if is_async else returns, "others": public,
            "binding": {"kind": "function", "async": is_async, "generator": False, **findings.place(node)}}
    check.check_names(source, tree, types.known, findings)
    check.check_calls(tree, findings)
    check.check_imports(tree, findings)
    check_safety(tree, findings)
    check_top(tree, node.name, findings)
    out["uses"] = uses_of(tree, findings)
    out["complexity"] = complexity_of(source, tree, node, findings)
    out["findings"] = findings.listed()
    return values.encode(json.dumps(out, ensure_ascii=False))


# ---- arguments ---------------------------------------------------------------------

LOOKS, DEEP = 100000, 64


class Miss(Exception):
    """What does not fit: the shape that was expected, the value, the way to it."""

    def __init__(self, expected, value, path="", known=None):
        self.expected, self.value, self.path, self.known = expected, value, path, known
        self.depth = 0

    def inside(self, step):
        self.path = step + self.path
        self.depth += 1
        return self


MISSING = object()
PLAIN = {"null": lambda v: v is None, "string": lambda v: isinstance(v, str), "boolean": lambda v: isinstance(v, bool),
         "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
         "object": lambda v: isinstance(v, (dict, list)), "undefined": lambda v: v is None}


class Shapes:
    """What fits the declared types (function_load.h, function_put_shapes())."""

    def __init__(self, told, loose=()):
        self.types, self.texts = told["types"], told.get("texts") or []
        self.open = set(loose or ())
        for shape in self.types:
            if isinstance(shape, dict):
                self.open.update(shape.get("and") or [])
        self.looks = LOOKS

    def look(self, index, value, depth):
        self.looks -= 1
        if depth > DEEP or self.looks < 0:
            return
        shape = self.types[index] if index < len(self.types) else "any"
        if isinstance(shape, str):
            if shape == "never" or shape in PLAIN and not PLAIN[shape](value):
                raise Miss(index, value)
        elif "is" in shape:
            if value != shape["is"] or isinstance(value, bool) != isinstance(shape["is"], bool):
                raise Miss(index, value)
        elif "or" in shape:
            self.either(index, shape["or"], value, depth)
        elif "and" in shape:
            for part in shape["and"]:
                self.look(part, value, depth)
        elif "array" in shape:
            self.row(index, [], 0, shape["array"], value, depth)
        elif "tuple" in shape:
            self.row(index, shape["tuple"], shape.get("optional", 0), shape.get("rest"), value, depth)
        elif "fields" in shape:
            self.record(index, shape, value, depth)

    def either(self, index, parts, value, depth):
        best = None
        for part in parts:
            try:
                return self.look(part, value, depth)
            except Miss as miss:
                if miss.depth > (best.depth if best else 0):
                    best = miss
        raise best or Miss(index, value)

    def row(self, index, first, optional, rest, value, depth):
        if not isinstance(value, list) or len(value) < len(first) - optional or \
                rest is None and len(value) > len(first):
            raise Miss(index, value)
        for i, one in enumerate(value):
            try:
                self.look(first[i] if i < len(first) else rest, one, depth + 1)
            except Miss as miss:
                raise miss.inside(f"[{i}]") from None

    def record(self, index, shape, value, depth):
        fields, others = shape["fields"], shape.get("others")
        may = set(shape.get("optional") or [])
        if not isinstance(value, dict) and (fields or others is not None or value is None):
            raise Miss(index, value)
        if not isinstance(value, dict):
            return
        for key, part in fields.items():
            if key not in value and key in may:
                continue
            try:
                if key not in value:
                    raise Miss(part, MISSING)
                self.look(part, value[key], depth + 1)
            except Miss as miss:
                raise miss.inside(member(key)) from None
        for key in value:
            if key in fields:
                continue
            if others is not None:
                try:
                    self.look(others, value[key], depth + 1)
                except Miss as miss:
                    raise miss.inside(member(key)) from None
            elif may and index not in self.open:
                raise Miss(index, value[key], known=list(fields)).inside(member(key))

    def text(self, index, depth=0):
        shape = self.types[index] if index < len(self.types) else "any"
        if index < len(self.texts) and self.texts[index]:
            return self.texts[index]
        if isinstance(shape, str):
            return shape
        if "is" in shape:
            return f"'{shape['is']}'" if isinstance(shape["is"], str) else json.dumps(shape["is"])
        if depth > 2:
            return "..."
        if "or" in shape or "and" in shape:
            parts = shape.get("or") or shape["and"]
            return (" | " if "or" in shape else " & ").join(self.text(p, depth + 1) for p in parts[:8])
        if "array" in shape:
            return Types.list_of(self.text(shape["array"], depth + 1))
        return "array" if "tuple" in shape else "object"


def member(key):
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key, ensure_ascii=False)}]"


def told(value):
    if isinstance(value, str):
        return f"string {json.dumps(value[:60], ensure_ascii=False)}"
    if isinstance(value, bool):
        return f"boolean {json.dumps(value)}"
    if isinstance(value, (int, float)):
        return f"number {value}"
    return "null" if value is None else f"an array of {len(value)}" if isinstance(value, list) else "an object"


def bad(name, message):
    return calls.refusal(f"customFunctions.{name}: {message}; it was not called")


def refusal(name, parameter, shape, shapes, miss):
    shown = f"{parameter['name']}{miss.path[:200]}"
    if miss.known:
        return bad(name, f"parameter '{parameter['name']}' has an unknown key {shown}; {', '.join(miss.known)[:200]} "
                   f"{'is' if len(miss.known) == 1 else 'are'} accepted")
    at = f", at {shown}," if miss.path else ""
    wanted = parameter["type"] if miss.expected == shape and not miss.path else shapes.text(miss.expected)
    came = "it is missing" if miss.value is MISSING else f"not {told(miss.value)}"
    return bad(name, f"parameter '{parameter['name']}'{at} must be {wanted[:200]}, {came}")


def check_arguments(told_call):
    """(positional, by name): what the function is called with. Raises InvalidInput."""
    name, parameters = told_call["name"], told_call["parameters"]
    given = [g.get("value", MISSING) for g in told_call["args"]]
    shapes = Shapes(told_call["shapes"], told_call.get("open"))
    of = told_call["shapes"]["parameters"]
    has_rest = bool(parameters) and parameters[-1].get("rest")
    if len(given) > len(parameters) and not has_rest:
        names = ", ".join(p["name"] for p in parameters)
        raise bad(name, f"it takes {f'at most {len(parameters)} ({names[:200]})' if parameters else 'no arguments'}, "
                  f"not {len(given)}")
    named, rest = {}, []
    for i, p in enumerate(parameters):
        shapes.looks = LOOKS
        if p.get("rest"):
            rest = [None if v is MISSING else v for v in given[i:]]
            value = rest
        else:
            value = given[i] if i < len(given) else MISSING
            if value is MISSING and "default" in p:
                value = p["default"]
            elif value is MISSING and p.get("optional"):
                continue
            elif value is MISSING:
                raise bad(name, f"parameter '{p['name']}' ({p['type'][:200]}) is missing")
            named[p["name"]] = value
        try:
            shapes.look(of[i], value, 0)
        except Miss as miss:
            raise refusal(name, p, of[i], shapes, miss) from None
    return named, rest


def bind(function, named, rest):
    """Where each value goes: positions before names, so that any kind of parameter has its own."""
    positional, by_name, skipped = [], {}, False
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            if rest and not skipped:
                positional += rest
        elif p.name not in named:
            skipped = True
            if rest and p.default is not p.empty and p.kind is not p.KEYWORD_ONLY:
                positional.append(p.default)
                skipped = False
        elif p.kind is p.KEYWORD_ONLY or skipped:
            by_name[p.name] = named[p.name]
        else:
            positional.append(named[p.name])
    return positional, by_name


def tell_losses(name, lost):
    """Its caller has only the value and the logs: what JSON has no word for is among these."""
    for loss in json.loads(lost or "[]"):
        left = loss["count"] - 1
        others = f"; so {'are' if left > 1 else 'is'} {left} other value{'s' * (left > 1)}" if left else ""
        output.tell("warn", f"result{loss['path']} of {name} is {loss['what']}, and null in JSON{others}")


def call(source, told_call, scope, most):
    """One call: the code runs, then its function does."""
    name = told_call["name"]
    run.remember(source)
    try:
        named, rest = check_arguments(told_call)
        code = run.Code(source, api.names, ANNOTATIONS)
        if code.returns:
            raise SyntaxError("'return' outside function")
        run.settle(code.run(scope))
        function = scope.get(name)
        if not callable(function):
            raise bad(name, f"its code declares no function {name}")
        positional, by_name = bind(function, named, rest)
        value = run.settle(function(*positional, **by_name))
        run.finish_calls()
        answer = run.answer(value, most)
        tell_losses(name, answer[3])
        return answer
    except BaseException as error:
        return run.fail(error)
