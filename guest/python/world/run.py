"""Code: parsed, changed where Python alone would not do, run; its result, or its error.

- `return` may stand at the top level. Then the whole is the body of a function whose names
  are all global.
- The value of the last statement, where that is an expression, is the result.
- What is awaited need not be awaitable: calls of the API answer at once.
- Where a call of the API stands under `await`, or where its answer is awaited later
  (`gather(notes.get('x'))`, `jobs.append(notes.get('x'))`), it only begins (begins.py).
"""
import __future__
import ast
import asyncio
import builtins
import contextlib
import gc
import inspect
import linecache
import re
import sys
import traceback

import _cloche

from . import advice, api, calls, nesting, opened, values
from .begins import AWAITED, LATER, Marks
from .calls import FILE

LAST = "_cloche_last_"
RUNS = "_cloche_main_runs_"  # main_runs(), among the built-in names
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
PLAIN = (int, str, list, dict, bool, float, type(None))  # types of what is not awaited


def own_nodes(body):
    """All nodes of these statements that belong to their own scope."""
    todo = list(body)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, SCOPES):
            todo += node.decorator_list if hasattr(node, "decorator_list") else []
        else:
            todo += ast.iter_child_nodes(node)


def names_bound(body):
    names = set()
    for node in own_nodes(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {a.asname or a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names


def is_main(node):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == "main"


def is_name_of_main(node):
    return isinstance(node, ast.Name) and node.id == "main" and isinstance(node.ctx, ast.Load)


def tell_that_it_runs(main):
    """main() says that it runs, so that it is not called once more. Its first statement does, behind its docstring."""
    first = main.body[0]
    at = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    said = ast.Expr(ast.Call(ast.Name(RUNS, ast.Load()), [], []))
    for node in ast.walk(said):
        ast.copy_location(node, main.body[min(at, len(main.body) - 1)])
    main.body.insert(int(at), said)


def awaits(body):
    return any(isinstance(n, (ast.Await, ast.AsyncFor, ast.AsyncWith)) or
               isinstance(n, ast.comprehension) and n.is_async for n in own_nodes(body))


class Unreturned(ast.NodeTransformer):
    """For the body of a function whose names are global: what cannot stand there."""

    def __init__(self, bound):
        self.bound = bound

    def visit_Global(self, node):
        return ast.copy_location(ast.Pass(), node)

    def visit_AnnAssign(self, node):
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ImportFrom(self, node):
        """`import *` may stand in modules alone."""
        if not any(a.name == "*" for a in node.names):
            return node
        text = ast.Constant(f"from {'.' * node.level}{node.module or ''} import *")
        return ast.copy_location(ast.Expr(ast.Call(ast.Name("exec", ast.Load()), [text, self.globals()], [])), node)

    @staticmethod
    def globals():
        return ast.Call(ast.Name("globals", ast.Load()), [], [])

    def visit_Call(self, node):
        """What works on the names of a function would not see global ones."""
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in self.bound else ""
        if name in ("exec", "eval") and len(node.args) == 1 and not node.keywords:
            node.args.append(ast.copy_location(self.globals(), node))
        elif name in ("locals", "vars") and not node.args:
            node.func.id = "globals"
        return node

    def leave(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = leave


def keep_last(body):
    """The expression that ends these statements becomes an assignment."""
    if not body:
        return
    last = body[-1]
    if isinstance(last, ast.Expr):
        target = ast.copy_location(ast.Name(LAST, ast.Store()), last)
        body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    elif isinstance(last, ast.If):
        keep_last(last.body)
        keep_last(last.orelse)
    elif isinstance(last, (ast.With, ast.AsyncWith)):
        keep_last(last.body)
    elif isinstance(last, ast.Try):
        keep_last(last.orelse or last.body)
        for handler in last.handlers:
            keep_last(handler.body)


def lift_future(body):
    """The compiler's flags of `from __future__ import ...`, which stands before everything else."""
    flags = 0
    at = 1 if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else 0
    while at < len(body) and isinstance(body[at], ast.ImportFrom) and body[at].module == "__future__" and \
            all(a.name in __future__.all_feature_names for a in body[at].names):
        for alias in body.pop(at).names:
            flags |= getattr(__future__, alias.name).compiler_flag
    return flags


def without_function(code):
    """What stands in the function that Code.function() makes has the names that it would have without it."""
    consts = tuple(without_function(c) if isinstance(c, type(code)) else c for c in code.co_consts)
    return code.replace(co_consts=consts, co_qualname=code.co_qualname.removeprefix("main_of_code.<locals>."))


class Code:
    """Compiled code."""

    is_expression = False

    def __init__(self, source, names, flags=0):
        self.returns = self.declares_main = self.calls_main = False  # the latter: at the top level
        try:
            self.compile(source, names, flags)
        except (RecursionError, MemoryError) as error:
            if not nesting.is_too_deep(error):
                raise
            raise nesting.too_deep(source, own) from None

    def compile(self, source, names, flags):
        # Most code has none of these words: then nothing looks for what they would mean, which
        # spares a world much memory to write.
        if "return" in source or "main" in source or "await" in source or "async" in source:
            tree, more = self.marked(ast.parse(source, own), names)
            code = compile(tree, own, "exec", flags | more, dont_inherit=True)
            self.code = without_function(code) if self.returns else code
        else:
            self.code, self.is_expression = _cloche.compile(source, own, LAST, flags)

    def marked(self, tree, names):
        """The tree as it is compiled, and the compiler's flags."""
        body = tree.body
        nodes = list(own_nodes(body))
        # What the code's own `return` leaves to compile(), and what its main() is.
        self.returns = any(isinstance(n, ast.Return) for n in nodes)
        mains = [n for n in body if is_main(n)]
        self.declares_main = bool(mains)
        self.calls_main = any(map(is_name_of_main, nodes))
        if mains and not self.calls_main and any(is_name_of_main(n) for s in body if not is_main(s) for n in ast.walk(s)):
            tell_that_it_runs(mains[-1])
        is_async = awaits(body)
        bound = names_bound(body)
        marks = Marks(set(names) - bound, tree)
        marks.within_async = is_async
        tree = marks.visit(tree)
        keep_last(tree.body)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if is_async else 0
        if self.returns:
            flags = lift_future(tree.body)
            tree = self.function(tree.body, is_async, bound)
        ast.fix_missing_locations(tree)
        return tree, flags

    @staticmethod
    def function(body, is_async, bound):
        turned = Unreturned(bound)
        body = [turned.visit(s) for s in body]
        kind = ast.AsyncFunctionDef if is_async else ast.FunctionDef
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        made = kind(name="main_of_code", args=empty, body=[ast.Global(sorted(bound | {LAST})), *body],
                    decorator_list=[], type_params=[])
        made.lineno, made.col_offset = 1, 0
        return ast.Module([made], [])

    def run(self, scope):
        """What the code comes to: a value, or what is to be awaited for it."""
        if self.is_expression:
            return eval(self.code, scope)
        if not self.returns:
            value = eval(self.code, scope)
            return wait(value) if inspect.iscoroutine(value) else None
        holder = dict(scope)
        exec(self.code, holder)
        function = holder["main_of_code"]
        function = type(function)(function.__code__.replace(co_name="<module>", co_qualname="<module>"), scope)
        value = function()
        return wait(value) if inspect.iscoroutine(value) else value


has_main_run = False


def main_runs():
    global has_main_run
    has_main_run = True


loop = None


def wait(value):
    """Runs what can be awaited to its end."""
    global loop
    if loop is None or loop.is_closed():
        loop = calls.Loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(calls.taken(value, loop))


def settle(value):
    if type(value) in PLAIN:
        return value
    while inspect.iscoroutine(value) or asyncio.isfuture(value):
        value = wait(value)
    return value


def finish_calls():
    """Calls that nobody has awaited are performed before the end, and files written; a failure of one counts."""
    calls.send_first()
    if not (calls.world.pending or calls.world.failed):
        return
    for future in list(calls.world.pending.values()):
        future.answer()
    for future in calls.world.failed:
        if future._log_traceback:  # nobody has asked for its result
            future.answer()


def evaluate_code(source, scope):
    global has_main_run
    code = Code(source, api.names)
    scope.pop(LAST, None)
    if code.declares_main:
        has_main_run = False
    try:
        value = code.run(scope)
        if not code.is_expression and (not code.returns or (value is None and LAST in scope)):
            value = scope.get(LAST)
            if code.declares_main and not code.calls_main and not has_main_run:
                value = scope["main"]()
        value = settle(value)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
        value = None
    finally:
        scope.pop(LAST, None)
    finish_calls()
    return value


# ---- errors ------------------------------------------------------------------------

STACK_MAX = 16000


def is_own(frame):
    return frame.filename in calls.files


def cut_frames(told, seen):
    """Leaves the frames of the agent's own code, in an error and those that it came from."""
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    told.stack[:] = [f for f in told.stack if is_own(f)]
    for frame in told.stack:
        frame.filename = shown(frame.filename)
    if isinstance(getattr(told, "filename", None), str):
        told.filename = shown(told.filename)
    cut_frames(told.__cause__, seen)
    cut_frames(told.__context__, seen)
    for one in told.exceptions or []:
        cut_frames(one, seen)


def place_of(error):
    """Line and column, from 1, of the innermost frame that is the agent's own."""
    if isinstance(error, SyntaxError) and error.filename == own:
        return error.lineno or 0, error.offset or 0
    if isinstance(error, calls.Stuck):
        return waiting_line(), 0
    found = (0, 0)
    tb = error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename == own:
            found = (tb.tb_lineno or 0, column_of(code, tb.tb_lasti, tb.tb_lineno))
        tb = tb.tb_next
    return found if found[0] else (getattr(error, "begun", 0), 0)


def waiting_line():
    """Where the code waits."""
    for task in asyncio.all_tasks(loop) if loop else ():
        for frame in reversed(task.get_stack()):
            if frame.f_code.co_filename == own:
                return frame.f_lineno
    return 0


def column_of(code, lasti, lineno):
    for i, (line, _, column, _) in enumerate(code.co_positions()):
        if i == lasti // 2 and line == lineno and column is not None:
            text = linecache.getline(own, line).encode()
            return len(text[:column].decode(errors="replace")) + 1
    return 0


SUGGESTED = re.compile(r"\. Did you mean: '[^']*'\?$")


def str_of(error):
    """None: it cannot be shown, which is what traceback says in its place."""
    try:
        return str(error)
    except Exception:
        return None


def message_of(error, told):
    line = next(iter(told.format_exception_only()), "")  # its notes follow
    text = line.strip() if not isinstance(error, SyntaxError) else (error.msg or "")
    name = type(error).__qualname__
    for start in (f"{type(error).__module__}.{name}: ", f"{name}: "):
        if text.startswith(start):
            text = text[len(start):]
    if text in (name, f"{type(error).__module__}.{name}"):
        text = ""
    if isinstance(error, SystemExit):
        text = f"the code ended itself with the status {error.code}"
    if isinstance(error, MemoryError) and not text:
        text = "the value does not fit into the memory of this evaluation; memoryLimit (MB) sets it"
    whole = str_of(error)
    if whole is None:
        return text
    if getattr(error, "host", False) or "\n" in whole or "; did you mean " in whole:
        text = whole
    more = advice.advice(error)
    if isinstance(error, AttributeError) and more and not advice.is_general(more):
        text = SUGGESTED.sub("", text)  # a name that is spelt alike, where we know what was meant
    if more.startswith(". ") and text.endswith((".", "?")):
        more = more[1:]
    notes = [n for n in getattr(error, "__notes__", None) or () if isinstance(n, str)]
    return "\n".join([text + more, *notes])


def describe(error):
    """(kind of failure, JSON of it)"""
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1 and error.exceptions[0].__traceback__:
        return describe(error.exceptions[0])  # of a group of tasks
    line, column = place_of(error)
    told = traceback.TracebackException.from_exception(error, limit=None, compact=True)
    cut_frames(told, set())
    out = {"name": getattr(error, "name", None) if getattr(error, "host", False) else type(error).__name__,
           "message": message_of(error, told), "line": line, "column": column,
           "stack": "".join(told.format()).rstrip()[-STACK_MAX:]}
    if getattr(error, "host", False):
        out["host"] = True
    if isinstance(error, RecursionError):
        out["limit"] = "stack"
    elif isinstance(error, MemoryError):
        out["limit"] = "memory"
    parsing = isinstance(error, SyntaxError) and error.filename == own and error.__traceback__ is not None \
        and not any(is_own(f) for f in told.stack)
    return 2 if parsing else 1, values.encode(values.json.dumps(out, ensure_ascii=False))


# ---- one evaluation -------------------------------------------------------------------

update_lines = linecache.updatecache
LINE_END = re.compile("\r\n?|\n")
remembered = ""
own = FILE  # what this call's code is compiled as
session_calls = 0


def number_call():
    """In a session, functions of earlier calls are told from those of this one (here, and in script/frames.c)."""
    global own, session_calls
    session_calls += 1
    own = f"call-{session_calls}.py"
    calls.files.add(own)


def shown(filename):
    return FILE if filename == own else filename


def lines_of(filename, module_globals=None):
    """The library's source is not here: nobody looks for it among the evaluation's files."""
    if filename != own:
        return [] if filename.startswith("/lib/") else update_lines(filename, module_globals)
    lines = [f"{line}\n" for line in LINE_END.split(remembered)]
    linecache.cache[own] = (len(remembered), None, lines, own)
    return lines


linecache.updatecache = lines_of


def no_lines():
    """Those of an earlier call of a session are not kept."""


def remember(source):
    """The lines are made when somebody asks for one: so linecache knows that there are some."""
    global remembered
    remembered = source
    linecache.cache[own] = (no_lines,)


def answer(value, most):
    text, lost = values.write(value)
    if len(text) <= most:
        return 0, text, None, lost, False
    error = b'{"name":"OutputTooLarge","message":"the result is larger than it may be"}'
    return 1, text[:most], error, lost, True


def fail(error):
    with contextlib.suppress(BaseException):  # the first failure is the one that is told
        calls.send_first()
    try:
        kind, text = describe(error)
    except RecursionError:
        kind, text = 1, b'{"name":"RecursionError","message":"maximum recursion depth exceeded","limit":"stack"}'
    except MemoryError:
        kind, text = 1, b'{"name":"MemoryError","message":"out of memory","limit":"memory"}'
    except BaseException:
        name = values.json.dumps(type(error).__name__).encode()
        kind, text = 1, b'{"name":' + name + b',"message":"the error itself cannot be shown"}'
    return kind, b"", text, None, False


def run(source, scope, most):
    source = source.removeprefix("\ufeff")
    remember(source)
    try:
        return answer(evaluate_code(source, scope), most)
    except BaseException as error:
        return fail(error)


def close_files(result, scope):
    """The result, once all that was written to files is with the host. Where the scope ends, too, its objects do as
    at the end of a program: a ZIP is completed."""
    if not opened.written.data:
        return result
    try:
        opened.flush()
        if scope is not None:
            scope.clear()
            gc.collect()
            opened.flush()
        calls.send_first()
    except BaseException as error:
        return result if result[0] else fail(error)
    return result


setattr(builtins, AWAITED, api.awaited)
setattr(builtins, LATER, api.later)
setattr(builtins, RUNS, main_runs)
