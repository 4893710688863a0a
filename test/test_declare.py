"""The output of dev/declare, and that declarations are made in .api.json only."""
import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DECLARE = ROOT / "dev/declare"


def headers(tmp_path, **files):
    """{name: text of its header} of declarations, in a room each."""
    paths = []
    for name, content in files.items():
        path = tmp_path / f"room_{name}" / f"{name}.api.json"
        path.parent.mkdir()
        path.write_text(json.dumps(content))
        paths.append(path)
    done = subprocess.run([DECLARE, tmp_path / "out", *paths], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr)
    return {name: (tmp_path / f"out/room_{name}/{name}.api.h").read_text() for name in files}


def macros(header):
    return dict(re.findall(r"#define (\w+) (.*)", header))


def schema(text):
    return json.loads(json.loads(text))


def test_an_option_is_said_once(tmp_path):
    options = {"notes.list": {"required": ["typeName"], "properties": {
        "typeName": "string", "order": {"type": "string", "enum": ["updated", "path"]},
        "tags": {"type": ["string", "array"], "items": "string"}, "fields": "string[]",
        "sort": {"type": "array", "items": {"properties": {"field": "string"}}},
        "type": {"type": "string", "x-untold": True}, "raw": {"x-ts": "Uint8Array"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "x-default": 50}}}}
    calls = {"notes.list": {"takes": {"options?": "notes.list | null"}, "answers": "void"}}
    made = macros(headers(tmp_path, a={"options": options, "calls": calls})["a"])
    assert json.loads(made["NOTES_LIST_SIGNATURE"]) == (
        "(options?: {typeName: string, order?: 'updated' | 'path', tags?: string | string[], "
        "fields?: string[], sort?: {field?: string}[], raw?: Uint8Array, limit?: number} | null)"
        ": Promise<void>")
    assert made["NOTES_LIST_KEYS"] == ('((const char *const[]){"typeName", "order", "tags", "fields", '
                                       '"sort", "type", "raw", "limit", NULL})')
    assert made["NOTES_LIST_LIMIT"] == "50, 1, 10000"
    assert made["NOTES_LIST_LIMIT_ROWS"] == '{50, "10,000"}'
    checked = schema(made["NOTES_LIST_OPTIONS"])
    assert checked["properties"]["typeName"] == {"type": "string"}
    assert checked["properties"]["order"] == {"type": ["string", "null"],
                                              "enum": ["updated", "path", None]}
    assert checked["additionalProperties"] is False and "x-default" not in json.dumps(checked)


def test_what_a_call_answers_is_declared_with_what_it_takes(tmp_path):
    types = {"notes": {
        "Row": {"description": "a row", "members": {
            "id": "string", "uid?": "string | null", "kind": "'a' | 'b'", "file?": "true",
            "tags": {"items": "'x' | 'y'"}, "more": {"items": {"members": {"n": "number"}}},
            "isFile()": "boolean"}},
        "Broken": {"description": "more", "allOf": ["Row", {"members": {"why": "any"}}]},
        "Filter": {"description": "as it is given", "$ref": "Filter"}}}
    options = {"Filter": {"properties": {"key": "string"}, "required": ["key"]}}
    calls = {"notes.get": [{"takes": {"id": "string | Filter"}, "answers": "Row | null"},
                           {"takes": {"id": "string", "raw?": "true"}, "answers": "Uint8Array"}],
             "notes.count": {"answers": "number", "at_once": True},
             "notes.by": {"answers": {"type": "object", "additionalProperties": "Broken[]",
                                      "x-key": "key"}}}
    made = headers(tmp_path, a={"types": types, "options": options}, b={"from": ["a.api.json"],
                                                                        "calls": calls})
    rows = re.findall(r'\{"(\w+)", "(.*?)", "(.*?)"\}', made["a"])
    assert rows == [
        ("Row", "{id: string, uid?: string | null, kind: 'a' | 'b', file?: true, "
                "tags: ('x' | 'y')[], more: {n: number}[], isFile(): boolean}", "a row"),
        ("Broken", "Row & {why: any}", "more"), ("Filter", "{key: string}", "as it is given")]
    made = macros(made["b"])
    assert json.loads(made["NOTES_GET_SIGNATURE"]) == (
        "(id: string | Filter): Promise<Row | null>\n(id: string, raw?: true): Promise<Uint8Array>")
    assert json.loads(made["NOTES_COUNT_SIGNATURE"]) == "(): number"
    assert json.loads(made["NOTES_BY_SIGNATURE"]) == "(): Promise<{[key: string]: Broken[]}>"
    (wrong := tmp_path / "wrong").mkdir()
    with pytest.raises(ValueError, match="nothing is called Rows"):
        headers(wrong, a={"calls": {"notes.get": {"answers": "Rows"}}})


def test_what_is_shown_may_be_less_than_what_is_checked(tmp_path):
    action = {"input": {"required": ["a"], "properties": {
        "a": {"type": "string", "x-checked": {"minLength": 1}},
        "b": {"type": "object", "x-shown": {"properties": {"name": "string"}}}}}, "answers": ["ok"]}
    made = macros(headers(tmp_path, a={"actions": {"do_it": action, "go": {
        "answers": [], "input": {"properties": {}}}}})["a"])
    shown, answer = re.fullmatch(r'\.input_schema = (".*"), \.output_schema = (".*")',
                                 made["DO_IT_SCHEMAS"]).groups()
    assert schema(shown)["properties"] == {"a": {"type": "string"}, "b": {
        "type": "object", "properties": {"name": {"type": "string"}}}}
    assert schema(answer) == {"type": "object", "required": ["ok"]}
    assert schema(made["DO_IT_CHECKED"])["properties"] == {
        "a": {"type": "string", "minLength": 1}, "b": {"type": "object"}}
    assert "GO_CHECKED" not in made


def test_a_file_takes_from_another(tmp_path):
    first = {"options": {"vm.exec": {"required": ["command"], "properties": {
        "command": "string", "cwd": "string", "env": "string"}}}}
    second = {"from": ["first.api.json"], "components": {
        "Some": {"$ref": "first.api.json#vm.exec", "x-not": ["command"]},
        "Other": {"properties": {"id": "string", "...": {
            "$ref": "first.api.json#vm.exec", "x-only": ["env", "cwd"]}}},
        "One": "first.api.json#vm.exec/cwd"}}
    made = headers(tmp_path, first=first, second=second)["second"]
    assert "VM_EXEC_KEYS" in made
    some, other, one = (schema(t) for t in re.findall(r'\{"\w+", ("(?:\\.|[^"\\])*")\}', made))
    assert list(some["properties"]) == ["cwd", "env"] and "required" not in some
    assert list(other["properties"]) == ["id", "env", "cwd"]
    assert one == {"type": "string"}


def test_shapes_of_a_file_that_is_used_are_named_as_ones_own(tmp_path):
    first = {"shapes": {"Date": {"type": "string", "format": "date-time"}}}
    second = {"uses": ["first.api.json"], "components": {"Row": {"properties": {"at": "Date", "all": "Date[]"}}}}
    made = headers(tmp_path, first=first, second=second)["second"]
    row = schema(re.search(r'\{"Row", ("(?:\\.|[^"\\])*")\}', made)[1])
    assert row["properties"]["at"] == first["shapes"]["Date"] == row["properties"]["all"]["items"]


@pytest.mark.parametrize("content, why", [
    ({"options": {"a": {"properties": {"b": "Nothing"}}}}, "nothing is called Nothing"),
    ({"shapes": {"Unused": "string"}}, "no schema names Unused")])
def test_what_does_not_fit_is_refused(tmp_path, content, why):
    with pytest.raises(ValueError, match=why):
        headers(tmp_path, a=content)


def test_a_header_is_written_when_it_differs_and_goes_with_its_declarations(tmp_path):
    file = tmp_path / "room/a.api.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"options": {"a": {"properties": {}}}}))
    header = tmp_path / "out/room/a.api.h"
    stamps = []
    for _ in range(2):
        subprocess.run([DECLARE, tmp_path / "out", file], check=True)
        stamps.append(header.stat().st_mtime_ns)
    assert stamps[0] == stamps[1]
    subprocess.run([DECLARE, tmp_path / "out"], check=True)
    assert not header.exists()


@pytest.mark.parametrize("room", ["src/runtime", "src/capabilities", "src/doors/workspaces", "src/vault/notes"])
def test_no_source_has_schemas_of_its_own(room):
    """Options are declared in .api.json: a declaration in C would be a second one."""
    for path in (ROOT / room).rglob("*.c"):
        if not path.stem.endswith("_test"):
            assert r'\"properties\":{\"' not in path.read_text(), path


def test_defaults_are_those_that_the_words_tell():
    """`limit is 50, at most 1,000` in prose must equal the declaration."""
    words = (ROOT / "docs/api.md").read_text()
    for file in sorted((ROOT / "src").glob("*/*/*.api.json")):
        made = ROOT / f"build/declared/{file.parent.name}/{file.stem}.h"
        known = macros(made.read_text())
        for call in json.loads(file.read_text()).get("options", {}):
            told = re.search(rf"^### {re.escape(call)}\n\n(.*)$", words, re.M)
            prefix = re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", call).upper()
            for name in known:
                if told and name == f"{prefix}_LIMIT_ROWS" and "limit" in told[1]:
                    usual, most = re.fullmatch(r'\{(\d+), "([\d,]+)"\}', known[name]).groups()
                    assert f"{int(usual):,}" in told[1] and most in told[1], call
