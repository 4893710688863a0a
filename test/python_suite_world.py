"""Runs one module of tests in a world, and says how each test ended.

It is code of an evaluation: /suite is a folder of modules on a mount, `module` the name of one of
them, `without` names tests that are left out, because they end the world.
"""
import faulthandler  # noqa: F401  (tests look for it)
import importlib.abc
import importlib.util
import logging
import os
import sys
import unittest
import warnings


class Source(importlib.abc.SourceLoader):
    def __init__(self, name, path):
        self.path = path

    def get_filename(self, name):
        return self.path

    def get_data(self, path):
        with open(path, "rb") as file:
            return file.read()

    def path_stats(self, path):
        raise OSError("compiled anew")

    def set_data(self, path, data):
        raise NotImplementedError


class Suite:
    """Finds modules below /suite, where the library has none of the name."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None and not any(p.startswith("/suite") for p in path):
            return None
        base = "/suite/" + name.replace(".", "/")
        if os.path.exists(base + "/__init__.py"):
            return importlib.util.spec_from_file_location(name, base + "/__init__.py", loader=Source(name, base + "/__init__.py"),
                                                          submodule_search_locations=[base])
        if os.path.exists(base + ".py"):
            return importlib.util.spec_from_file_location(name, base + ".py", loader=Source(name, base + ".py"))
        return None


def last_words(error):
    text = str(error[1]).strip().splitlines() or [""]
    return f"{error[0].__name__}: {text[0]}"[:300]


class Outcome(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.begun = set()
        self.ended = {}
        self.left_out = {}

    def startTest(self, test):
        super().startTest(test)
        self.begun.add(test.id())

    def put(self, test, error):
        test = getattr(test, "test_case", test)
        self.ended.setdefault(test.id(), last_words(error))

    def addError(self, test, error):
        self.put(test, error)

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.put(test, error)

    def addSkip(self, test, reason):
        self.left_out[getattr(test, "test_case", test).id()] = reason

    def addExpectedFailure(self, test, error):
        pass

    def addUnexpectedSuccess(self, test):
        self.ended[test.id()] = "it succeeds, and should not"


def flat(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from flat(one)
        else:
            yield one


def chosen(suite):
    """The suite in its own structure, for what classes and modules set up, without some."""
    kept = [chosen(one) if isinstance(one, unittest.TestSuite) else one for one in suite
            if isinstance(one, unittest.TestSuite) or
            not any(one.id() == w or one.id().startswith(w + ".") for w in without)]
    return type(suite)(kept)


def run():
    from test import support
    support.use_resources = ["tzdata"]
    support.verbose = False
    # asyncio's tests as a whole are for systems with sockets, though most of them need none.
    support.has_socket_support = module.startswith("test.test_asyncio.")
    outcome = Outcome()
    try:
        imported = importlib.import_module(module)
        suite = unittest.TestLoader().loadTestsFromModule(imported)
    except unittest.SkipTest as skip:
        return {"needs": str(skip)}
    with warnings.catch_warnings():
        chosen(suite).run(outcome)
    return {"ran": len(outcome.begun - outcome.left_out.keys()), "skipped": len(outcome.left_out), "failed": outcome.ended}


sys.meta_path.append(Suite)
sys.dont_write_bytecode = True
logging.getLogger().setLevel(logging.CRITICAL)
sys.argv = ["python", module]
return run()
