"""docs/cloche.pyi: type stubs of the API for Python."""
import ast
import subprocess

import pytest

from conftest import ROOT
from needs import installed

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", by="make python")


@pytest.fixture(scope="module")
def stubs():
    return ast.parse((ROOT / "docs/cloche.pyi").read_text())


def classes(tree):
    return {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}


def test_the_stubs_are_those_of_the_guest(cloche):
    done = subprocess.run([ROOT / "dev/python-stubs", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_name_of_the_stubs_is_declared(stubs):
    declared = set(dir(__builtins__)) | set(__builtins__ if isinstance(__builtins__, dict) else ())
    for node in stubs.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            declared.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            declared |= {a.asname or a.name for a in node.names}
        elif isinstance(node, ast.AnnAssign):
            declared.add(node.target.id)
        elif isinstance(node, ast.Assign):
            declared |= {t.id for t in node.targets}
    used = {n.id for n in ast.walk(stubs) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    assert used <= declared, used - declared


def test_notes_have_their_calls_with_keywords(stubs):
    methods = {n.name: n for n in classes(stubs)["_Notes"].body if isinstance(n, ast.FunctionDef)}
    assert {"create", "get", "list", "search", "update", "delete"} <= set(methods)
    assert {"title", "content", "type"} <= {a.arg for a in methods["create"].args.kwonlyargs}
    assert ast.unparse(methods["get"].returns) == "FullNote | None"


def test_errors_are_classes(stubs):
    assert {"NotFound", "InvalidInput", "PermissionDenied"} <= set(classes(stubs))


def test_answers_that_depend_on_options_are_told_apart(stubs):
    forms = [(ast.unparse(n.args), ast.unparse(n.returns)) for n in classes(stubs)["_Fs"].body
             if isinstance(n, ast.FunctionDef) and n.name == "read_file"]
    assert forms == [("self, path: str", "bytes"), ("self, path: str, *, encoding: str", "str"),
                     ("self, path: str, options: str", "str"), ("self, path: str, given: dict[str, Any]", "Any")]
