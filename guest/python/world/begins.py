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


def stored(target):
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def sources(node):
    """The names whose values, or whose elements, this is."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, (ast.Starred, ast.Attribute, ast.Subscript, ast.NamedExpr)):
        return sources(node.value)
    if isinstance(node, ast.BinOp):
        return sources(node.left) | sources(node.right)
    if isinstance(node, ast.IfExp):
        return sources(node.body) | sources(node.orelse)
    parts = []
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = node.values
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        parts = [node.elt]
    elif isinstance(node, ast.DictComp):
        parts = [node.value]
    elif isinstance(node, ast.Call):
        parts = node.args if called(node) in HOLDS else [node.func] if isinstance(node.func, ast.Attribute) else []
    return set().union(*map(sources, parts))


class Joined(ast.NodeVisitor):
    """The names of what is awaited somewhere, and of what holds it."""

    def __init__(self, tree):
        self.coroutines = {n.name for n in ast.walk(tree) if isinstance(n, ast.AsyncFunctionDef)}
        self.awaited, self.perhaps = set(), set()  # perhaps: what the code's own coroutines are given
        self.given = []  # (names that get it, names that it comes from)
        self.visit(tree)
        self.perhaps |= self.awaited
        self.follow(self.awaited)
        self.follow(self.perhaps)

    def follow(self, names):
        found = None
        while found != len(names):
            found = len(names)
            for targets, origins in self.given:
                if targets & names:
                    names |= origins

    def visit_Call(self, node):
        to = self.awaited if called(node) in JOINS else self.perhaps if called(node) in self.coroutines else set()
        for given in [*node.args, *(k.value for k in node.keywords)]:
            to |= sources(given)
        if called(node) in GROWS and isinstance(node.func, ast.Attribute):
            for given in node.args:
                self.given.append((sources(node.func.value), sources(given)))
        self.generic_visit(node)

    def visit_Await(self, node):
        self.awaited |= sources(node.value)
        self.generic_visit(node)

    def visit_For(self, node):
        self.given.append((stored(node.target), sources(node.iter)))
        self.generic_visit(node)

    visit_AsyncFor = visit_For

    def visit_comprehension(self, node):
        self.given.append((stored(node.target), sources(node.iter)))
        self.generic_visit(node)

    def visit_Assign(self, node):
        for target in node.targets:
            self.given.append((stored(target), sources(node.value)))
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.given.append((stored(node.target), sources(node.value)))
        self.generic_visit(node)


class Marks(ast.NodeTransformer):
    """The places of `await`, and of calls of the API that begin there: what is awaited at once, and
    elements and arguments that are awaited later. All others answer where they stand."""

    def __init__(self, names, tree):
        self.names = names
        self.tree = tree
        self.found = None
        self.within_async = False
        self.into = None  # where this goes: True (awaited), names, the name of a function, or nowhere

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
            self.found.awaited -= self.names
            self.found.perhaps -= self.names
        return self.found

    def is_awaited_later(self):
        if isinstance(self.into, str):
            return self.into in self.joined().coroutines
        return self.into is True or bool(self.into and self.into & self.joined().perhaps)

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
        if self.is_of_api(node.value) and all(isinstance(t, ast.Name) and t.id in self.joined().awaited for t in node.targets):
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

    def visit_Call(self, node):
        name, before = called(node), self.into
        node.func = self.visit(node.func)
        if name in JOINS:
            self.into = True
        elif name in GROWS and isinstance(node.func, ast.Attribute):
            self.into = sources(node.func.value)
        elif name not in HOLDS:
            self.into = name
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [self.visit(k) for k in node.keywords]
        if name not in HOLDS:
            node.args = [self.collected(a) for a in node.args]
            for keyword in node.keywords:
                keyword.value = self.collected(keyword.value)
        self.into = before
        return node

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
