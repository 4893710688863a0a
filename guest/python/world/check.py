"""What is wrong with code that has not run: names that are nowhere, calls that the API does
not have, coroutines that nobody awaits."""
import ast
import builtins
import json
import symtable

from . import api, library, nesting, run
from .calls import FILE
from .names import snake

OWN = {"__name__", "__file__", "__builtins__", "__doc__", "__annotations__", "context", "__class__", "__debug__"}


class Findings:
    def __init__(self):
        self.all = []

    def add(self, rule, severity, message, node):
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
        self.all.append({"rule": rule, "severity": severity, "message": message, "line": line, "column": column,
                         "endLine": getattr(node, "end_lineno", None) or line,
                         "endColumn": (getattr(node, "end_col_offset", None) or column) + 1})

    def add_syntax(self, error):
        self.add("syntax", "error", error.msg, ast.Name("x", lineno=error.lineno or 1, col_offset=max(0, (error.offset or 1) - 1)))


def globals_read(table, found):
    """Names that some scope looks for among the globals."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
            found.add(symbol.get_name())
    for child in table.get_children():
        globals_read(child, found)


def assigned(table, found):
    for symbol in table.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            if table.get_type() == "module" or symbol.is_declared_global():
                found.add(symbol.get_name())
    for child in table.get_children():
        assigned(child, found)


def check_names(source, tree, known, findings):
    read, made = set(), set()
    # A `return` at the top level is accepted here, and not by symtable.
    body = "\n".join(" " + line for line in source.splitlines())
    try:
        table = symtable.symtable(source, FILE, "exec")
    except SyntaxError:
        table = symtable.symtable(f"async def _():\n{body}\n pass", FILE, "exec")
        if "\"\"\"" in source or "'''" in source:
            return
        function = table.get_children()[0]
        read_in, made_in = set(), set()
        for symbol in function.get_symbols():
            (made_in if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace() else read_in).add(
                symbol.get_name())
        for child in function.get_children():
            globals_read(child, read_in)
        read, made = read_in, made_in
    else:
        globals_read(table, read)
        assigned(table, made)
    if any(isinstance(n, ast.ImportFrom) and any(a.name == "*" for a in n.names) for n in ast.walk(tree)):
        return
    there = made | set(known) | OWN | set(dir(builtins)) | set(api.names)
    missing = read - there
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in missing:
            missing.discard(node.id)
            near = api.nearest(node.id, there)
            findings.add("absent-global", "error",
                         f"'{node.id}' is not defined" + (f"; did you mean {near}?" if near else ""), node)


def check_calls(tree, findings):
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        space = api.names.get(node.value.id)
        if type(space) is api.Namespace and not hasattr(space, node.attr):
            near = api.nearest(node.attr, space._calls)
            findings.add("unknown-call", "error", f"{node.value.id}.{node.attr} is not there" +
                         (f"; did you mean {node.value.id}.{snake(near)}?" if near else ""), node)


def check_imports(tree, findings):
    known = set(library.known())
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else \
            [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for name in names:
            first = name.partition(".")[0]
            if first not in known and not first.startswith("_"):
                near = api.nearest(first, known, 0.7) if len(first) > 2 else None
                findings.add("unknown-module", "error", f"there is no module '{first}'" +
                             (f"; did you mean {near}?" if near else ""), node)


def check_awaits(tree, findings):
    coroutines = {n.name for n in ast.walk(tree) if isinstance(n, ast.AsyncFunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and \
                isinstance(node.value.func, ast.Name) and node.value.func.id in coroutines and node is not tree.body[-1]:
            findings.add("missing-await", "warning",
                         f"{node.value.func.id}() is a coroutine, which does nothing until it is awaited", node)


def find(source, known, findings):
    tree = ast.parse(source, FILE)
    check_names(source, tree, known, findings)
    check_calls(tree, findings)
    check_imports(tree, findings)
    check_awaits(tree, findings)


def tell_depth(source, findings):
    """Of code that is too deep to be looked at: does it run?"""
    line, column = nesting.deepest(source)
    try:
        run.Code(source, api.names)
    except SyntaxError as error:
        findings.add_syntax(error)
    else:
        findings.add("deep-nesting", "warning", "the code is nested too deeply here to be checked",
                     ast.Name("x", lineno=line, col_offset=column - 1))


def check(source, known):
    """The findings as JSON."""
    findings = Findings()
    try:
        find(source, known, findings)
        run.Code(source, api.names)  # what only the compiler refuses
    except (RecursionError, MemoryError) as error:
        if not nesting.is_too_deep(error):
            raise
        tell_depth(source, findings)
    except SyntaxError as error:
        findings.add_syntax(error)
    findings.all.sort(key=lambda f: (f["line"], f["column"]))
    return json.dumps(findings.all).encode()
