"""The language follows the standard where the guest changes its interpreter or adds to it
(language.js), and so does the linter."""
import re

import pytest
from conftest import ROOT
from wire import call, structured


@pytest.fixture
def evaluate(stdio):
    def run(code, **more):
        return structured(stdio.ask(call("evaluate_note_code", {"code": code} | more)))
    return run


def test_it_does_what_the_standard_says(evaluate):
    answer = evaluate((ROOT / "test/language.js").read_text())
    assert answer["success"], answer
    count, failed = answer["result"]
    assert failed == []
    assert count > 400


@pytest.mark.parametrize("how", [
    "Object.defineProperty(Promise, Symbol.species, {value: class { then() {} }})",
    "Object.defineProperty(Promise, Symbol.species, {value: function () {}})",
    "Object.defineProperty(Promise, Symbol.species, {value: class { constructor(f) { f(() => {}, () => {}); } }})",
    "Object.defineProperty(Promise, Symbol.species, {get() { throw new Error('species') }})",
    "Object.defineProperty(Promise, Symbol.species, {value: 5})",
    "Object.defineProperty(Promise, Symbol.species, {value: undefined})",
    "Promise.prototype.then = () => {}",
    "delete Promise.prototype.then",
    "Promise.prototype.constructor = class { constructor() { throw new Error('constructor') } }",
    "Promise = undefined",
])
@pytest.mark.parametrize("form", ["return 7;", "7", "async function main() { return 7; }",
                                  "setTimeout(() => {}, 1); return 7;"])
def test_what_code_makes_of_promise_does_not_keep_its_result(evaluate, how, form):
    answer = evaluate(f"{how};\n{form}", timeout=2000)
    assert answer["success"] and answer["result"] == 7, answer


SPECIES = "Object.defineProperty(Promise, Symbol.species, {value: function () {}});\n"


@pytest.mark.parametrize("code", [
    "return (await notes.list()).length > 0",
    "await sleep(1); return true",
    "async function main() { return (await notes.list()).length > 0; }",
    "(async () => true)()",
    "let done = false; queueMicrotask(() => { done = true; }); await sleep(1); return done",
])
def test_calls_go_on_with_a_species_that_settles_nothing(evaluate, code):
    answer = evaluate(SPECIES + code, timeout=2000)
    assert answer["success"] and answer["result"] is True, answer


def test_code_that_throws_is_told_with_a_species_that_settles_nothing(evaluate):
    answer = evaluate(SPECIES + "throw new RangeError('mine')", timeout=2000)
    assert answer["errorDetails"]["name"] == "RangeError"


def names_of(path, table):
    """The names in the table of a linter's source: of an object, or of a set."""
    text = re.search(rf"const {table} = (.*?);\n", (ROOT / path).read_text(), re.DOTALL)[1]
    return re.findall(r"^ +(\w+):", text, re.MULTILINE) or re.findall(r"'(\w+)'", text)


@pytest.mark.parametrize("path", ["guest/lint/lint.js", "guest/lint/review.js"])
def test_what_the_linter_calls_absent_is_not_there(evaluate, path):
    names = names_of(path, "ABSENT")
    assert len(names) > 5
    answer = evaluate("return [" + ", ".join(f"typeof {name}" for name in names) + "]")
    assert dict(zip(names, answer["result"])) == dict.fromkeys(names, "undefined")


def test_what_the_linter_takes_for_everybodys_is_there(evaluate):
    names = names_of("guest/lint/review.js", "BUILTINS")
    answer = evaluate("return [" + ", ".join(f"typeof {name}" for name in names) + "]")
    assert not [n for n, kind in zip(names, answer["result"]) if kind == "undefined"]
