"""Which calls of the API only begin (calls.Pending): those whose answers are awaited later.

    await asyncio.gather(notes.get(a), notes.get(b))
    jobs = [notes.get(i) for i in ids]; await asyncio.gather(*jobs)

All others answer where they stand, also in code that awaits: nothing else than `await` knows
what to do with a call that is under way. A name counts wherever it stands in the code.
"""
import ast

AWAITED, LATER = "_cloche_awaited_", "_cloche_later_"  # api.awaited and api.later, among the built-in names

# What awaits its arguments, or lets something else await them.
JOINS = {"gather", "wait", "wait_for", "as_completed", "shield", "ensure_future", "create_task", "run", "run_until_complete"}
# Methods that put their arguments into a container.
GROWS = {"append", "appendleft", "add", "insert", "extend", "put", "put_nowait", "update", "setdefault"}
# What has the elements of what it is given.
HOLDS = {"list", "tuple", "set", "dict", "zip", "enumerate", "reversed", "sorted", "iter", AWAITED}


def called(node):
    """The last word of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)


def own_attribute(node):
    """self.jobs, which counts as a name: an object may hold what is awaited beside what is not."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def stored(target):
    if own_attribute(target):
        return {f"self.{target.attr}"}
    if isinstance(target, ast.Name):
        return {target.id}
    return set().union(*map(stored, ast.iter_child_nodes(target)))


def sources(node, itself=False, functions=()):
    """The names whose values, or whose elements, this is; `itself`: not what a part or a method of them gives. A
    method that is one of `functions`, the code's own, gives neither."""
    if isinstance(node, ast.Name):
        return {node.id}
    if own_attribute(node):
        return set() if node.attr in functions else {f"self.{node.attr}"}
    if isinstance(node, (ast.Starred, ast.NamedExpr)) or isinstance(node, (ast.Attribute, ast.Subscript)) and not itself:
        return sources(node.value, itself, functions)
    parts = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = node.values
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        parts = [node.elt]
    elif isinstance(node, ast.DictComp):
        parts = [node.value]
    elif isinstance(node, ast.Call) and called(node) in HOLDS:
        parts = node.args
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not itself:
        parts = [] if node.func.attr in functions else [node.func]
    return set().union(*(sources(p, itself, functions) for p in parts))


def parameters_of(function):
    names = [a.arg for a in [*function.args.posonlyargs, *function.args.args]]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


class Joined(ast.NodeVisitor):
    """The names of what is awaited somewhere, and of what holds it."""

    def __init__(self, tree):
        self.functions = {n.name: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self.awaited, self.given = [set(), set()], [[], []]  # by `itself`
        self.visit(tree)
        for names, given in zip(self.awaited, self.given):
            found = None
            while found != len(names):
                found = len(names)
                for targets, origins in given:
                    if targets & names:
                        names |= origins

    def give(self, targets, node):
        for itself, given in enumerate(self.given):
            given.append((targets, sources(node, itself, self.functions)))

    def joins(self, node):
        for itself, names in enumerate(self.awaited):
            names |= sources(node, itself, self.functions)

    def arguments(self, node):
        """(argument, the names of the parameters that it becomes), of a call of the code's own functions."""
        function = self.functions.get(called(node))
        if function is None:
            return
        names = parameters_of(function)
        rest = {function.args.vararg.arg} if function.args.vararg else set()
        for i, given in enumerate(node.args):
            yield given, {names[i]} if i < len(names) else rest
        for keyword in node.keywords:
            yield keyword.value, {keyword.arg} if keyword.arg else set(names)

    def visit_Call(self, node):
        if called(node) in JOINS:
            for given in [*node.args, *(k.value for k in node.keywords)]:
                self.joins(given)
        elif called(node) in GROWS and isinstance(node.func, ast.Attribute):
            for given in node.args:
                self.give(sources(node.func.value), given)
        for given, names in self.arguments(node):
            self.give(names, given)
        self.generic_visit(node)

    def visit_Await(self, node):
        self.joins(node.value)
        self.generic_visit(node)

    def visit_For(self, node):
        self.give(stored(node.target), node.iter)
        self.generic_visit(node)

    visit_AsyncFor = visit_For

    def visit_comprehension(self, node):
        self.give(stored(node.target), node.iter)
        self.generic_visit(node)

    def visit_Assign(self, node):
        for target in node.targets:
            self.give(stored(target), node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.give(stored(node.target), node.value)
        self.generic_visit(node)


class Marks(ast.NodeTransformer):
    """The places of `await`, and of calls of the API that begin there: what is awaited at once, and
    elements and arguments that are awaited later. All others answer where they stand."""

    def __init__(self, names, tree):
        self.names = names
        self.tree = tree
        self.found = None
        self.within_async = False
        self.into = None  # where this goes: True (it is awaited), names, or nowhere

    def is_of_api(self, node):
        if not isinstance(node, ast.Call):
            return False
        f = node.func
        while isinstance(f, (ast.Attribute, ast.Subscript)):
            f = f.value
        return isinstance(f, ast.Name) and f.id in self.names

    def begun(self, node):
        if not (self.within_async and self.is_of_api(node)):
            return node
        call = ast.Call(ast.Name(LATER, ast.Load()), [node.func, *node.args], node.keywords)
        ast.copy_location(call, node)
        ast.copy_location(call.func, node.func)
        return call

    def joined(self):
        """Looked for when a call of the API asks: most code has none in such a place."""
        if self.found is None:
            self.found = Joined(self.tree)
            for names in self.found.awaited:
                names -= self.names
        return self.found

    def is_awaited_later(self):
        return self.into is True or bool(self.into and self.into & self.joined().awaited[False])

    def collected(self, node):
        return self.begun(node) if self.within_async and self.is_of_api(node) and self.is_awaited_later() else node

    def scope(self, node, is_async):
        before = self.within_async, self.into
        self.within_async, self.into = is_async, None
        self.generic_visit(node)
        self.within_async, self.into = before
        return node

    def visit_FunctionDef(self, node):
        return self.scope(node, False)

    def visit_Lambda(self, node):
        return self.scope(node, self.within_async)

    def visit_AsyncFunctionDef(self, node):
        return self.scope(node, True)

    def given_to(self, targets, node, part):
        """Visits the part of a statement that goes to these targets."""
        before, self.into = self.into, set().union(*map(stored, targets))
        setattr(node, part, self.visit(getattr(node, part)))
        self.into = before

    def visit_Assign(self, node):
        node.targets = [self.visit(t) for t in node.targets]
        self.given_to(node.targets, node, "value")
        if self.is_of_api(node.value) and all(isinstance(t, ast.Name) and t.id in self.joined().awaited[True] for t in node.targets):
            node.value = self.begun(node.value)
        return node

    def visit_AugAssign(self, node):
        node.target = self.visit(node.target)
        self.given_to([node.target], node, "value")
        return node

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.given_to([node.target], node, "value")
        return node

    def visit_For(self, node):
        self.given_to([node.target], node, "iter")
        for part in ("body", "orelse"):
            setattr(node, part, [self.visit(s) for s in getattr(node, part)])
        return node

    visit_AsyncFor = visit_For

    def visit_comprehension(self, node):
        self.given_to([node.target], node, "iter")
        node.ifs = [self.visit(i) for i in node.ifs]
        return node

    def argument(self, node, into, is_collected):
        before, self.into = self.into, into
        node = self.visit(node)
        if is_collected:
            node = self.collected(node)
        self.into = before
        return node

    def visit_Call(self, node):
        name, into = called(node), self.into
        node.func = self.visit(node.func)
        parameters = {}
        if name in JOINS:
            into = True
        elif name in GROWS and isinstance(node.func, ast.Attribute):
            into = sources(node.func.value)
        elif name not in HOLDS:
            into = None
            if self.within_async and any(map(self.calls_api, [*node.args, *(k.value for k in node.keywords)])):
                parameters = {id(given): names for given, names in self.joined().arguments(node)}
        is_collected = name not in HOLDS
        node.args = [self.argument(a, parameters.get(id(a), into), is_collected) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.argument(keyword.value, parameters.get(id(keyword.value), into), is_collected)
        return node

    def calls_api(self, node):
        return any(map(self.is_of_api, ast.walk(node)))

    def visit_elements(self, node):
        self.generic_visit(node)
        node.elts = [self.collected(e) for e in node.elts]
        return node

    visit_List = visit_Tuple = visit_Set = visit_elements

    def visit_element(self, node):
        self.generic_visit(node)
        node.elt = self.collected(node.elt)
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_element

    def visit_Dict(self, node):
        self.generic_visit(node)
        node.values = [self.collected(v) for v in node.values]
        return node

    def visit_DictComp(self, node):
        self.generic_visit(node)
        node.value = self.collected(node.value)
        return node

    def visit_Await(self, node):
        self.generic_visit(node)
        call = ast.Call(ast.Name(AWAITED, ast.Load()), [self.begun(node.value)], [])
        node.value = ast.copy_location(call, node.value)
        ast.copy_location(call.func, node.value)
        return node
