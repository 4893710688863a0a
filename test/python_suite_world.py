"""Runs one module of tests in a world, and says how each test ended.

It is code of an evaluation: /suite is a folder of modules on a mount, `module` the name of one of
them, `without` names tests that are left out, because they end the world.
"""
import faulthandler  # noqa: F401  (tests look for it)
import importlib
import logging
import sys
import types
import unittest
import warnings


# Modules of tests import these at their beginning, and few of their tests use them.
ABSENT = {"_testinternalcapi": ("test.test_class", "test.test_compile"), "_testsinglephase": "test.test_importlib."}


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


class Absent(types.ModuleType):
    """A module in C made for tests, whose functions are not there: a test that calls one is skipped."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*args, **options):
            raise unittest.SkipTest(f"no {self.__name__}.{name}()")
        return function


def run():
    from test import support
    support.use_resources = ["tzdata", "cpu"]
    support.verbose = False
    # Whole modules are for systems with sockets, though most of their tests need none.
    support.has_socket_support = module not in ("test.test_poll", "test.test_select", "test.test_socket",
                                                "test.test_urllib2_localnet")
    support.has_subprocess_support = module in ("test.test_argparse", "test.test_optparse")  # two of their tests need it
    for name, by in ABSENT.items():
        if module.startswith(by):
            sys.modules[name] = Absent(name)
    outcome = Outcome()
    try:
        imported = importlib.import_module(module)
        suite = unittest.TestLoader().loadTestsFromModule(imported)
    except unittest.SkipTest as skip:
        return {"needs": str(skip)}
    with warnings.catch_warnings():
        chosen(suite).run(outcome)
    return {"ran": len(outcome.begun - outcome.left_out.keys()), "skipped": len(outcome.left_out), "failed": outcome.ended}


sys.path.insert(0, "/suite")
if module != "test.test_logging":
    logging.root.setLevel(logging.CRITICAL)
logging.root.handlers.clear()  # a world's own, which tests of logging do not expect
sys.argv = ["python", module]
return run()
