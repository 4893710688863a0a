"""The world of the type checker for Python: mypy, with what it knows of the standard library and of
the API, baked. It is the Python guest's program with this package in the place of world/.

A question is the JSON of checker_check() (src/sandbox/checker): {code, own, functions?, remembers}, where `own`
are stubs of what this code finds besides, and `functions` the custom functions that it may call. The
answer is {diagnostics, dropped?}.
"""
import gc
import json

from . import checking, nesting


def install(text):
    """All that is known is baked."""


def evaluate(source, context, features, flags, most):
    """As in world/: (failed, result, error, lost, cut), as bytes or None."""
    question = json.loads(source)
    try:
        answer = checking.check(question)
    except BaseException as error:
        if not nesting.is_too_deep(error):
            return 1, b"", b"", None, False  # mypy's own failure, which is told as such
        answer = checking.too_deep(question["code"])
    text = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
    return 0, text, None, None, len(text) > most


def rest():
    """Nothing outlives a question: its world ends."""


def bake():
    """Once, when the guest is built: its files are those of /lib. Is the memory as worlds begin with it?"""
    checking.prepare("/lib")
    gc.collect()
    gc.freeze()
    gc.disable()
    return True
