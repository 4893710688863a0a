"""The world of Python code: what the guest calls when it is baked and for an evaluation."""
import atexit
import builtins
import gc
import re
import sys
import tempfile
import types

from . import (api, calls, check, files, functions, hashes, imports, library, moments, output, randomness, run, stubs,
               values, web, zones)

SESSION, TRACE, CHECK, FUNCTION = 1, 2, 4, 8
TOO_MUCH = b'{"name":"OutputTooLarge","message":"what there is to say of it is larger than it may be"}'


def install(text):
    """The table of host calls. What follows is the memory that all worlds begin with."""
    api.install(text)
    warm()  # the names that are there now make earlier specialisations void
    settle()


def settle():
    atexit._clear()  # the bake does not end
    re.purge()
    tempfile._name_sequence = None
    sys.path_importer_cache.clear()
    gc.collect()
    gc.collect()
    gc.freeze()


# The namespace of the code is that of the module __main__, where pickle, doctest, unittest and
# dataclasses look for it.
sys.modules["__main__"] = types.ModuleType("__main__")
scope = vars(sys.modules["__main__"])


def begin_scope():
    scope.clear()
    scope.update(vars(types.ModuleType("__main__")), __builtins__=vars(builtins))


begin_scope()


def looked_through(source, context, flags):
    """JSON of what is said of code that does not run."""
    if flags & FUNCTION:
        return functions.describe(source, context["name"])
    return check.check(source, context)


def evaluate(source, context, features, flags, most):
    """(failed, result, error, lost, cut), all but the flags as bytes or None."""
    if flags & CHECK:
        text = looked_through(source, values.read(context) if context else {}, flags)
        return (0, text, None, None, False) if len(text) <= most else (1, b"", TOO_MUCH, None, True)
    randomness.renew()
    calls.world.trace = bool(flags & TRACE)
    if flags & SESSION:
        run.number_call()
        files.begin()
    if flags & FUNCTION:
        try:
            return run.close_files(functions.call(source, values.read(context)["call"], scope, most), None)
        finally:
            output.finish()
    if context:
        given = values.read(context)
        scope["context"] = given
        scope.update(given)
    try:
        result = run.run(source, scope, most)
        if atexit._ncallbacks():
            atexit._run_exitfuncs()
        return run.close_files(result, None if flags & SESSION else scope)
    finally:
        output.finish()


def rest():
    """The world is put away: what only this evaluation needed goes."""
    calls.world.pending.clear()
    calls.world.waited.clear()
    calls.world.failed.clear()
    if run.loop is not None and not run.loop.is_closed():
        run.loop._ready.clear()
        run.loop._scheduled.clear()


def warm():
    """Runs what most code does, so that worlds begin with what it leaves: specialised
    bytecode, caches of methods, interned names."""
    for source in imports.WARM:
        for _ in range(10):
            evaluate(source, "", 0, 0, 1 << 20)
    begin_scope()


def bake():
    """Once, when the guest is built: the library's place is /lib."""
    output.prepare()
    calls.prepare()
    library.load("/lib")
    library.seal()
    zones.prepare()
    moments.prepare()
    values.prepare()
    library.spare_memory()
    randomness.prepare()
    web.prepare()
    hashes.prepare()
    warm()
    files.prepare()
    settle()
