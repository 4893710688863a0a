"""What is wrong with code that has not run: names that are nowhere, calls that the API does
not have, coroutines that nobody awaits."""
import ast
import builtins
import collections
import json
import symtable

from . import api, library, nesting, run, values
from .calls import FILE
from .names import snake

OWN = {"__name__", "__file__", "__builtins__", "__doc__", "__annotations__", "__package__", "__spec__", "__loader__",
       "context", "__class__", "__debug__"}
OWN_OF_CLASSES = {"__module__", "__qualname__", "__firstlineno__"}  # in the body of a class
SESSION = "_cloche_session"  # among the names that are known: python_check()
FINDINGS_MAX = 50
NAME_MAX, MESSAGE_MAX = 40, 200  # characters


def cut(name):
    return name if len(name) <= NAME_MAX else f"{name[:NAME_MAX]}..."


class Findings:
    def __init__(self, source):
        self.lines = run.LINE_END.split(source)
        self.all = []

    def column(self, line, offset):
        """A column of the parser, in bytes from 0, in characters from 1."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="replace")) + 1

    def place(self, node):
        return {"line": node.lineno, "column": self.column(node.lineno, node.col_offset)}

    def add(self, rule, severity, message, node):
        end = node.end_lineno
        self.put(rule, severity, message, {**self.place(node), "endLine": end, "endColumn": self.column(end, node.end_col_offset)})

    def add_at(self, rule, severity, message, line, column):
        self.put(rule, severity, message, {"line": line, "column": column, "endLine": line, "endColumn": column + 1})

    def put(self, rule, severity, message, place):
        self.all.append({"rule": rule, "severity": severity, "message": message[:MESSAGE_MAX], **place})

    def add_syntax(self, error, in_bytes=False):
        """in_bytes: the compiler counts columns so, and the parser characters."""
        line, column = error.lineno or 1, max(1, error.offset or 1)
        self.add_at("syntax", "error", error.msg or "it cannot be parsed", line,
                    self.column(line, column - 1) if in_bytes else column)

    def near(self, name, names, *alike):
        """The name that was probably meant. None is looked for behind the findings that are listed."""
        return api.nearest(name, names, *alike) if len(self.all) < FINDINGS_MAX else None

    def listed(self):
        """At most FINDINGS_MAX, errors first: what is harmless hides nothing that is not."""
        return sorted(self.all, key=lambda f: (f["severity"] != "error", f["line"], f["column"]))[:FINDINGS_MAX]


def globals_read(table, found):
    """Names that some scope looks for among the globals."""
    own = OWN_OF_CLASSES if table.get_type() == "class" else ()
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module") and symbol.get_name() not in own:
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
    if SESSION in known:  # it has names that nobody knows here
        return
    read, made = set(), set()
    try:
        table = symtable.symtable(source, FILE, "exec")
    except SyntaxError as error:  # the code runs: its `return` makes a function of it, where this is right
        findings.add_at("unchecked", "warning", f"its names are not checked: {error.msg}", error.lineno or 1, 1)
        return
    globals_read(table, read)
    assigned(table, made)
    if any(isinstance(n, ast.ImportFrom) and any(a.name == "*" for a in n.names) for n in ast.walk(tree)):
        return
    there = made | set(known) | OWN | set(dir(builtins)) | set(api.names)
    missing = read - there
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in missing:
            missing.discard(node.id)
            near = findings.near(node.id, there)
            findings.add("absent-global", "error",
                         f"'{cut(node.id)}' is not defined" + (f"; did you mean {cut(near)}?" if near else ""), node)


def inside(scope):
    """The nodes that belong to a scope: not its decorators, which stand outside."""
    outside = {id(n) for n in getattr(scope, "decorator_list", ())}
    return [n for n in ast.iter_child_nodes(scope) if id(n) not in outside]


def names_of(nodes):
    """Names of parameters, and of parameters that are types."""
    named = {n.arg for n in nodes if isinstance(n, ast.arg)}
    return named | {n.name for n in nodes if isinstance(n, (ast.TypeVar, ast.ParamSpec, ast.TypeVarTuple))}


def scopes(tree):
    """(nodes, names of the API that they bind, or that a scope around them binds) of each scope."""
    names = set(api.names)
    declared = {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
    todo = [(tree, declared & names)]
    while todo:
        scope, outer = todo.pop()
        body = inside(scope)
        nodes = list(run.own_nodes(body))
        bound = outer | names & (run.names_bound(body) | names_of(nodes))
        yield nodes, bound
        # What is within a function of a class does not see the names of the class.
        seen = outer if isinstance(scope, ast.ClassDef) else bound
        todo += [(n, seen) for n in nodes if isinstance(n, run.SCOPES)]


def api_attributes(tree):
    """(attribute, its namespace) where the name before it is the API's, and not one of the code's own."""
    for nodes, bound in scopes(tree):
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in bound:
                space = api.names.get(node.value.id)
                if type(space) is api.Namespace:
                    yield node, space


def check_calls(tree, findings):
    for node, space in api_attributes(tree):
        if not hasattr(space, node.attr):
            near = findings.near(node.attr, space._calls)
            findings.add("unknown-call", "error", f"{node.value.id}.{cut(node.attr)} is not there" +
                         (f"; did you mean {node.value.id}.{snake(near)}?" if near else ""), node)


ABSENCE = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}  # by these it can be caught


def names_absence(node):
    return any(getattr(n, "id", getattr(n, "attr", "")) in ABSENCE for n in ast.walk(node))


def is_conditional(node, child):
    """Is an import in this part of the statement one that the code can do without?"""
    if isinstance(node, (ast.Try, ast.TryStar)):
        return child not in node.finalbody and any(h.type is None or names_absence(h.type) for h in node.handlers)
    if isinstance(node, (ast.With, ast.AsyncWith)):  # contextlib.suppress(ImportError)
        return any(names_absence(item.context_expr) for item in node.items)
    return isinstance(node, (ast.If, ast.match_case))


def imports_of(tree):
    """(import, can the code do without it?)"""
    todo = [(tree, False)]
    while todo:
        node, spared = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, spared
        todo += [(child, spared or is_conditional(node, child)) for child in ast.iter_child_nodes(node)]


def check_imports(tree, findings):
    known = set(library.known())
    for node, spared in imports_of(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else \
            [node.module] if node.module and not node.level else []
        for name in names:
            first = name.partition(".")[0]
            if first not in known and not first.startswith("_"):
                near = findings.near(first, known, 0.7) if len(first) > 2 else None
                findings.add("unknown-module", "hint" if spared else "error", f"there is no module '{cut(first)}'" +
                             (f"; did you mean {near}?" if near else ""), node)


def check_awaits(tree, findings):
    coroutines = {n.name for n in ast.walk(tree) if isinstance(n, ast.AsyncFunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and \
                isinstance(node.value.func, ast.Name) and node.value.func.id in coroutines and node is not tree.body[-1]:
            findings.add("missing-await", "warning",
                         f"{cut(node.value.func.id)}() is a coroutine, which does nothing until it is awaited", node)


def find(source, known, findings):
    tree = ast.parse(source, FILE)
    try:
        run.Code(source, api.names)
    except SyntaxError as error:
        findings.add_syntax(error, in_bytes=not nesting.is_too_deep(error))
        return
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
        findings.add_at("deep-nesting", "warning", "the code is nested too deeply here to be checked", line, column)


def told(findings):
    """JSON of those that are listed, and how many there are of each severity."""
    listed = findings.listed()
    left = len(findings.all) - len(listed)
    listed.sort(key=lambda f: (f["line"], f["column"]))
    counts = collections.Counter(f["severity"] for f in findings.all)
    if left:
        last = listed[-1]
        listed.append({**last, "rule": "further-findings", "severity": "hint", "message": f"{left} more are not listed"})
        counts["hint"] += 1
    return values.encode(json.dumps({"findings": listed, **{f"{kind}s": counts[kind] for kind in ("error", "warning", "hint")}},
                                    ensure_ascii=False))


def check(source, known):
    """The findings as JSON: python_check() reads it."""
    findings = Findings(source)
    try:
        find(source, known, findings)
    except (RecursionError, MemoryError) as error:
        if not nesting.is_too_deep(error):
            raise
        tell_depth(source, findings)
    except SyntaxError as error:
        findings.add_syntax(error)
    return told(findings)
