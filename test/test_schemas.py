"""The schemas that clients are shown, held to what all of the APIs behind them take: a
client hands its whole list of tools to a model, and one schema that is refused there takes
all other tools with it.

Where the rules come from, by name:
- OpenAI, function calling and Structured Outputs ("Supported schemas"): "array schema
  missing items", "string too long. Expected a string with maximum length 1024" (of a
  function's description), names `^[a-zA-Z0-9_-]{1,64}$`; at most 5,000 properties, 10
  levels, 1,000 enum values, 120,000 characters of names and enums, an enum of more than 250
  values at most 15,000; no allOf, oneOf, not, if, const besides; anyOf not at the root.
- Anthropic, Messages API: "input_schema does not support oneOf, allOf, or anyOf at the top
  level"; keys of properties `^[a-zA-Z0-9_.-]{1,64}$`.
- Gemini and Vertex AI, `Schema` (a part of OpenAPI 3.0) and `FunctionDeclaration`: one
  `type`, no list of them; "schema didn't specify the schema type field"; "specified other
  fields alongside any_of. When using any_of, it must be the only field set"; "properties:
  should be non-empty for OBJECT type"; "enum: only allowed for STRING type", none empty;
  'Unknown name "additionalProperties"' ("default", "const", "pattern" in some); parameters of
  letters, digits and '_'; "required" names what "properties" has, and only objects have it.
- VS Code (microsoft/vscode, issue 246119 and its kind): "tool parameters array type must
  have items"; names `^[a-z0-9_-]+$`.
"""
import json
import re
import subprocess

import pytest
from jsonschema import Draft202012Validator

from conftest import policy_in
from packages import package
from wire import Stdio, call, request, structured

TYPES = {"string", "number", "integer", "boolean", "array", "object"}
KEYWORDS = {"type", "description", "properties", "required", "items", "enum", "anyOf",
            "minimum", "maximum"}
# `minimum` and `maximum` are of numbers; minItems and maxItems are not needed yet.
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
TOOL = re.compile(r"[a-z][a-z0-9_-]{0,63}")
DEPTH, PROPERTIES, ENUMS, LETTERS, LONG_ENUM = 5, 5000, 1000, 120_000, 15_000
DESCRIPTION = 1024


def faults(schema, at="", root=True):
    """What one of the APIs would not take, each as (where, what)."""
    def fault(what):
        return [(at or "the root", what)]

    if not isinstance(schema, dict):
        return fault(f"{schema!r} is not an object")
    found = [(at or "the root", f"has {key!r}") for key in schema.keys() - KEYWORDS]
    if "anyOf" in schema:
        if root or set(schema) != {"anyOf"}:
            found += fault("anyOf does not stand alone, or is the root")
        for i, one in enumerate(schema["anyOf"]):
            if "anyOf" in one:
                found += fault("an anyOf in an anyOf")
            found += faults(one, f"{at}|{i}", False)
        return found
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        return found + fault(f"the type is {kind!r}")
    if root and kind != "object":
        found += fault("is not an object")
    if kind == "array":
        found += faults(schema["items"], f"{at}[]", False) if "items" in schema else \
            fault("an array without items")
    elif "items" in schema:
        found += fault("items of what is no array")
    if kind == "object":
        properties = schema.get("properties", {})
        if not properties and not root:
            found += fault("an object without a property")
        for name, one in properties.items():
            if not NAME.fullmatch(name):
                found += fault(f"the name {name!r}")
            found += faults(one, f"{at}.{name}", False)
        if not set(schema.get("required", properties)) <= set(properties):
            found += fault("requires what it does not name")
        if schema.get("required") == []:
            found += fault("an empty required")
    elif {"properties", "required"} & set(schema):
        found += fault("properties of what is not an object")
    if "enum" in schema:
        values = schema["enum"]
        if kind != "string" or not values or not all(isinstance(v, str) and v for v in values):
            found += fault("an enum of other than strings, or of an empty one")
        elif len(values) > 250 and sum(map(len, values)) > LONG_ENUM:
            found += fault("an enum that is too long")
    if {"minimum", "maximum"} & set(schema) and kind not in ("integer", "number"):
        found += fault("a range of no number")
    return found + size_faults(schema, at) if root else found


def walk(schema, depth=1):
    yield schema, depth
    for one in schema.get("anyOf", []):
        yield from walk(one, depth)
    for one in schema.get("properties", {}).values():
        yield from walk(one, depth + 1)
    if "items" in schema:
        yield from walk(schema["items"], depth + 1)


def size_faults(schema, at):
    every = list(walk(schema))
    names = [n for one, _ in every for n in one.get("properties", {})]
    enums = [v for one, _ in every for v in one.get("enum", [])]
    checks = {"too deep": max(d for _, d in every) > DEPTH,
              "too many properties": len(names) > PROPERTIES,
              "too many values": len(enums) > ENUMS,
              "too many letters": sum(map(len, names)) + sum(len(str(v)) for v in enums) > LETTERS}
    return [(at, what) for what, so in checks.items() if so]


def tool_faults(tool):
    found = faults(tool["inputSchema"])
    if not TOOL.fullmatch(tool["name"]):
        found.append(("name", tool["name"]))
    if not 0 < len(tool["description"]) <= DESCRIPTION:
        found.append(("description", len(tool["description"])))
    # Of an answer hosts show nothing to a model: it must be JSON Schema, and an object's.
    output = tool.get("outputSchema", {"type": "object"})
    if output.get("type") != "object" or {"anyOf", "oneOf", "allOf", "$ref"} & set(output):
        found.append(("outputSchema", output))
    for schema in (tool["inputSchema"], output):
        Draft202012Validator.check_schema(schema)
    return [(tool["name"], *one) for one in found]


def all_tools(client):
    tools, cursor = [], None
    while True:
        page = client.ask(request("tools/list", {"cursor": cursor} if cursor else {}, id=7,
                                  modern=True))["result"]
        tools += page["tools"]
        cursor = page.get("nextCursor")
        if not cursor:
            return tools


@pytest.mark.parametrize("schema", [
    {"type": "object", "properties": {"a": {"type": "array"}}},
    {"type": "object", "properties": {"a": {}}},
    {"type": "object", "properties": {"a": {"description": "any"}}},
    {"type": "object", "properties": {"a": {"type": ["string", "object"]}}},
    {"type": "object", "properties": {"a": {"type": "object"}}},
    {"type": "object", "properties": {"a": {"enum": ["x"]}}},
    {"type": "object", "properties": {"a": {"type": "number", "enum": [1]}}},
    {"type": "object", "properties": {"a": {"type": "string", "enum": [""]}}},
    {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}},
    {"type": "object", "properties": {"a.b": {"type": "string"}}},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
    {"type": "object", "properties": {"a": {"type": "string", "anyOf": [{"type": "string"}]}}},
    {"type": "object", "properties": {}, "additionalProperties": False},
    {"anyOf": [{"type": "object"}]},
    {"type": "object", "properties": {"a": {"$ref": "#"}}},
])
def test_the_rules_refuse_what_an_api_refuses(schema):
    assert faults(schema)


def test_every_schema_of_the_list_is_one_that_all_take(stdio):
    tools = all_tools(stdio)
    assert [f for t in tools for f in tool_faults(t)] == []


@pytest.fixture
def everything(cloche, vault, tmp_path):
    """A server that lists all there is, and every tool that was built."""
    policy_in(tmp_path, {"tools": {"default": "always", "exposure": "all"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        yield client


def test_every_schema_there_is_is_one_that_all_take(everything):
    """All actions, and all command-line tools: `tools.exposure: all` lists them."""
    tools = all_tools(everything)
    assert len([t for t in tools if t["name"].endswith(("_function", "_functions"))]) > 10
    assert [f for t in tools for f in tool_faults(t)] == []


def test_what_find_tools_tells_is_one_that_all_take(everything):
    """A model that finds a tool is told its parameters: as the list would have."""
    listed = {t["name"]: t["inputSchema"] for t in all_tools(everything)}
    found = structured(everything.ask(call("find_tools", {"query": "function", "limit": 25})))
    told = [r for r in found["results"] if r["name"] in listed]
    assert len(told) > 5
    for row in told:
        (schema,) = [v for v in row.values() if isinstance(v, dict) and "properties" in v] or [{}]
        assert not schema or faults(schema) == []


# ---- tools of strangers ---------------------------------------------------------

ODD = {
    "level": {"type": "number", "description": "How far", "enum": [1, 2, 3], "default": 2},
    "mode": {"type": "string", "description": "How", "enum": ["", "fast"], "default": ""},
    "kind": {"type": "string", "description": "", "enum": ["a", "b"], "default": "b"},
    "files_in": {"type": "array", "description": "Which"},
    "many": {"type": "string", "description": "One of many",
             "enum": [f"value {n} {'x' * 90}" for n in range(190)]},
}


@pytest.fixture
def install(cloche, tmp_path):
    def run(**changes):
        file = tmp_path / "tool.zip"
        file.write_bytes(package(changes))
        return subprocess.run([cloche, "tool", "install", str(file)], capture_output=True,
                              text=True, timeout=60)
    return run


def parameters(properties, required=()):
    return {"type": "object", "properties": properties, "required": list(required)}


def test_an_odd_manifest_makes_a_schema_that_all_take(install, everything):
    p = install(name="odd", description="Does it. " * 400,
                parameters=parameters(ODD, ["level", "files_in"]))
    assert p.returncode == 0, p.stderr
    (tool,) = [t for t in all_tools(everything) if t["name"] == "wasm_odd"]
    assert tool_faults(tool) == []
    properties = tool["inputSchema"]["properties"]
    assert properties["kind"]["enum"] == ["a", "b"]
    assert "[1,2,3]" in properties["level"]["description"]
    assert "default 2" in properties["level"]["description"]
    assert tool["inputSchema"]["required"] == ["files_in"]


@pytest.mark.parametrize("changes", [
    {"name": "n" * 60},
    {"name": "odd", "parameters": parameters({"max.count": {"type": "number",
                                                            "description": "m"}})},
    {"name": "odd", "parameters": parameters({"9lives": {"type": "string",
                                                         "description": "m"}})},
    {"name": "odd", "parameters": parameters({"dry-run": {"type": "boolean",
                                                          "description": "m"}})},
], ids=["long name", "dot", "digit", "dash"])
def test_one_that_cannot_be_shown_is_left_out_and_said(install, everything, changes):
    """The list stays whole; the tool is found, and runs."""
    p = install(**changes)
    assert p.returncode == 0 and "not all clients take" in p.stdout + p.stderr
    tools = all_tools(everything)
    assert "wasm_" + changes["name"] not in [t["name"] for t in tools]
    assert [f for t in tools for f in tool_faults(t)] == []
    ran = structured(everything.ask(call("run_tool", {"name": changes["name"]}, id=3)))
    assert ran["success"]


# ---- OpenAI's strict mode -----------------------------------------------------------


def strict(schema, optional=False):
    """As clients convert one: every property required, those that were not may be null,
    and nothing else is allowed."""
    if "anyOf" in schema:
        return {"anyOf": [strict(one) for one in schema["anyOf"]]
                + ([{"type": "null"}] if optional else [])}
    made = dict(schema)
    if "items" in made:
        made["items"] = strict(made["items"])
    if made["type"] == "object":
        properties, required = made.get("properties", {}), made.get("required", [])
        made |= {"properties": {k: strict(v, k not in required) for k, v in properties.items()},
                 "required": list(properties), "additionalProperties": False}
    if optional:
        made["type"] = [made["type"], "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    return made


@pytest.mark.parametrize("name, given", [
    ("evaluate_note_code", {"code": "return 1"}), ("get_note", {"identifier": "project/greenhouse"}),
    ("search_notes", {"query": "greenhouse"}),
    ("create_note", {"type": "idea", "title": "Strict", "content": "x"}),
    ("find_tools", {"query": "rename"}), ("list_custom_functions", {}),
    ("run_tool", {"name": "search_api", "arguments": {"query": "links", "limit": None}}),
    ("check_code", {"code": "1"}), ("run_script", {"code": "1", "workspace_id": "vault"}),
    ("custom_function_stats", {})])
def test_what_a_strict_model_sends_is_taken(everything, name, given):
    """It has to name every parameter, and gives null for what it leaves out."""
    (tool,) = [t for t in all_tools(everything) if t["name"] == name]
    schema = strict(tool["inputSchema"])
    Draft202012Validator.check_schema(schema)
    whole = {key: given.get(key) for key in schema["properties"]}
    if name != "run_tool":  # whose arguments are any
        assert not list(Draft202012Validator(schema).iter_errors(whole))
    answer = everything.ask(call(name, whole, id=2))["result"]
    assert not answer.get("isError"), answer["content"]


# ---- what else a client is shown ------------------------------------------------

def test_prompts_and_templates_have_names_that_all_take(everything):
    prompts = everything.ask(request("prompts/list", id=8, modern=True))["result"]["prompts"]
    assert prompts and all(TOOL.fullmatch(p["name"]) for p in prompts)
    assert all(NAME.fullmatch(a["name"]) for p in prompts for a in p.get("arguments", []))
    found = everything.ask(request("resources/templates/list", id=9, modern=True))
    assert all(re.fullmatch(r"[\w+.-]+://[^\s{}]*(\{[\w+,]+\}[^\s{}]*)*", t["uriTemplate"])
               for t in found["result"]["resourceTemplates"])


# ---- the old shapes ---------------------------------------------------------------

def test_arguments_of_any_shape_are_taken_as_before(install, stdio):
    """What is shown is narrower than what is accepted."""
    ok = structured(stdio.ask(call("evaluate_note_code", {
        "code": "return [name, deep]", "context": {"name": 5, "deep": {"a": [1]}}})))
    assert ok["result"] == [5, {"a": [1]}]
    note = structured(stdio.ask(call("create_note", {
        "type": "idea", "title": "Odd", "content": "x",
        "metadata": {"status": 7, "tags": "one, two"}}, id=2)))
    read = structured(stdio.ask(call("get_note", {"identifier": note["id"]}, id=3)))
    assert read["metadata"]["status"] == 7
    made = {"name": "twice", "description": "Twice n", "returnType": "number",
            "parameters": {"n": {"type": "number"}}, "tags": ["t"],
            "code": "async function twice(n: number): Promise<number> { return 2 * n; }"}
    tested = structured(stdio.ask(call("test_custom_function", {
        "definition": made, "args": [21]}, id=4)))
    assert tested["success"] and json.dumps(tested).count("42")


def test_bytes_are_given_as_text_or_base64(install, stdio, tmp_path):
    policy_in(tmp_path, {"tools": {"default": "always"}})
    assert install(name="probe").returncode == 0
    for n, data in enumerate(("text", {"base64": "dGV4dA=="})):
        ran = structured(stdio.ask(call("run_tool", {
            "name": "probe", "stdin": data, "files": {"a.txt": data}}, id=n + 1)))
        assert ran["success"]
