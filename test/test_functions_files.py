"""Custom functions as TypeScript files, and what `cloche fn` prints."""
import json
import subprocess

import pytest

from test_functions import agent, fn, sized  # noqa: F401

SEVERAL = """// A file of several functions.
import type { X } from './x';

interface Row { id: string }

/** Rows of a vault. */
export function rows(limit = 5): Row[] { return [{ id: String(limit) }]; }

/**
 * Sums numbers up.
 * @param numbers what to sum up
 * @tags sums, numbers
 * @example {"args": [1, 2], "expected": 3}
 */
export function sum(...numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

// No comment of its own.
export const bare = async (title: string) => title;

/**
 * @param {object} options
 * @param {string} options.tag which
 */
export function apart({ tag, most = 3 }: { tag: string; most?: number }, [a]: string[] = []): string {
  return tag + most + a;
}

/** The first that fits. */
export function first<T, K extends string>(all: T[], key: K): T | undefined { return all[0]; }
""".replace("import type { X } from './x';\n\n", "")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "all.ts"
    path.write_text(SEVERAL)
    return path


def shown(cloche, vault, name):
    return json.loads(fn(cloche, vault, "show", name, "--json"))["function"]


@pytest.mark.parametrize("name, description, parameters, returns", [
    ("rows", "Rows of a vault.", {"limit": ("number", True)}, "Row[]"),
    ("sum", "Sums numbers up.", {"...numbers": ("number[]", None)}, "number"),
    ("apart", None, {"options": ("{ tag: string; most?: number }", None), "list": ("string[]", True)},
     "string"),
    ("first", "The first that fits.", {"all": ("any[]", None), "key": ("any", None)},
     "any | undefined"),
])
def test_each_function_of_a_file_has_its_own_comment(cloche, vault, file, name, description,
                                                     parameters, returns):
    if description is None:
        file.write_text(file.read_text().replace("@param {object} options", "Takes it apart.\n"
                                                 " * @param options"))
        description = "Takes it apart."
    assert "registered" in fn(cloche, vault, "add", file, "--name", name)
    made = shown(cloche, vault, name)
    assert made["description"] == description and made["returnType"] == returns
    assert {n: (p["type"], p.get("optional")) for n, p in made["parameters"].items()} == parameters
    assert made["tags"] == (["sums", "numbers"] if name == "sum" else [])
    # What is written reads back as it was.
    source = fn(cloche, vault, "show", name, "--source")
    file.write_text(source)
    assert "unchanged, version 1" in fn(cloche, vault, "update", name, file)


def test_what_else_a_file_holds_is_told_where_nobody_said_which(cloche, vault, tmp_path, file):
    said = subprocess.run([cloche, "fn", "add", "--vault", vault, file], capture_output=True, text=True)
    assert "registered" in said.stdout
    assert "has other functions as well: sum, bare, apart, first; --name NAME selects one" in said.stderr
    said = subprocess.run([cloche, "fn", "add", "--vault", vault, "--name", "sum", file],
                          capture_output=True, text=True)
    assert "registered" in said.stdout and said.stderr == ""
    (tmp_path / "none.ts").write_text("const x = 1;\n")
    said = subprocess.run([cloche, "fn", "add", "--vault", vault, tmp_path / "none.ts"],
                          capture_output=True, text=True)
    assert said.returncode == 2 and "the file has no function; 'async" in said.stderr


def test_a_function_without_a_comment_gets_nobody_elses(cloche, vault, file):
    said = fn(cloche, vault, "add", file, "--name", "bare", code=1)
    assert "description" in said and "Sums" not in said
    fn(cloche, vault, "add", file)
    assert shown(cloche, vault, "rows")["description"] == "Rows of a vault."
    fn(cloche, vault, "add", file, "--name", "sum")
    file.write_text(SEVERAL.replace("Sums numbers up.", "Adds."))
    fn(cloche, vault, "update", "sum", file)
    assert shown(cloche, vault, "sum")["description"] == "Adds."


@pytest.mark.parametrize("name, line", [("rows", 5), ("sum", 14)])
def test_lines_are_those_of_the_file(cloche, vault, file, name, line):
    lines = file.read_text().splitlines()
    lines[line - 1] += " const x: number = 'x';" if name == "sum" else ""
    if name == "rows":
        lines[line - 1] = lines[line - 1].replace("String(limit)", "limit")
    file.write_text("\n".join(lines))
    said = fn(cloche, vault, "add", file, "--name", name, code=1)
    assert f"code:{line}:" in said, said


def test_lines_are_those_of_the_file_behind_its_first_comment(cloche, vault, tmp_path):
    path = tmp_path / "one.ts"
    path.write_text("/**\n * One.\n * @tags a\n */\nfunction one(): number {\n  return 'x';\n}\n")
    said = fn(cloche, vault, "add", path, code=1)
    assert "code:6:" in said and "line 2" not in said, said
    assert "code:6:" in fn(cloche, vault, "validate", path, code=1)


# ---- what is printed -----------------------------------------------------------------------------

def test_a_test_without_examples_says_so(cloche, vault, tmp_path):
    (tmp_path / "one.json").write_text(json.dumps(sized("one")))
    fn(cloche, vault, "add", tmp_path / "one.json")
    said = fn(cloche, vault, "test", "one", code=1)
    assert "one has no examples" in said


def test_a_failing_example_tells_what_it_got(cloche, vault, tmp_path):
    examples = [{"name": "wrong", "args": {}, "expected": {"a": [1, 2]}},
                {"name": "error", "args": {}, "error": "RangeError"}]
    (tmp_path / "one.json").write_text(json.dumps(sized(
        "one", returnType="any", code="function one(): any { return {a: [1, 3]}; }",
        examples=examples)))
    for how in (("add", tmp_path / "one.json"), ("add", tmp_path / "one.json", "--force"),
                ("test", "one")):
        said = fn(cloche, vault, *how, code=0 if "--force" in how else 1)
        assert "result.a[1] is another value" in said
        assert "expected: 2" in said and "got: 3" in said
        assert 'expected error: "RangeError"' in said and 'result: {"a":[1,3]}' in said
