"""Changes of custom functions that break those that call them."""
import json

import pytest

from test_functions import agent, fn  # noqa: F401
from test_functions_rest import rest  # noqa: F401
from test_rest import problem

CODE = ("function sum(a: number, b: number, unit?: string): string | null "
        "{ return a ? a + b + (unit ?? '') : null; }")
SUM = {"name": "sum", "description": "Adds", "returnType": "string | null", "code": CODE,
       "parameters": {"a": {"type": "number"}, "b": {"type": "number"},
                      "unit": {"type": "string", "optional": True}}}
USER = {"name": "user", "description": "Calls", "returnType": "string | null", "parameters": {},
        "code": "function user(): string | null { return customFunctions.sum(1, 2, 'm'); }"}
A, B, UNIT = SUM["parameters"].values()


def changed(parameters, returns="string | null", body="return a ? String(a) : null;", **more):
    head = ", ".join(f"{n}{'?' if p.get('optional') else ''}: {p['type']}"
                     for n, p in parameters.items())
    return {"parameters": parameters, "returnType": returns, **more,
            "code": f"function sum({head}): {returns} {{ {body} }}"}


BREAKING = {
    "another type": (changed({"a": {"type": "string"}, "b": B, "unit": UNIT}),
                     "type of the parameter 'a' is string"),
    "a narrower type": (changed({"a": {"type": "1 | 2"}, "b": B, "unit": UNIT}),
                        "type of the parameter 'a' is 1 | 2"),
    "one is gone": (changed({"a": A, "b": B}), "parameter 'unit' is gone"),
    "another order": (changed({"b": B, "a": A, "unit": UNIT}), "another place"),
    "a new one": (changed({"a": A, "b": B, "more": {"type": "string"}, "unit": UNIT}),
                  "'more' is new"),
    "one that is needed now": (changed({"a": A, "b": B, "unit": {"type": "string"}}),
                               "'unit' cannot be left out"),
    "a wider answer": (changed({"a": A, "b": B, "unit": UNIT}, "string | number | null"),
                       "answers string | number | null"),
    "another answer": (changed({"a": A, "b": B, "unit": UNIT}, "number", "return 1;"),
                       "answers number"),
}
COMPATIBLE = {
    "a wider type": changed({"a": {"type": "number|string"}, "b": B, "unit": UNIT}),
    "one more that may be left out": changed({"a": A, "b": B, "unit": UNIT,
                                              "more": {"type": "string", "optional": True}}),
    "one that may be left out now": changed({"a": A, "b": {"type": "number", "optional": True},
                                             "unit": UNIT}),
    "an answer that fits where it did": changed({"a": A, "b": B, "unit": UNIT}, "null",
                                                "return null;"),
    "spaces": changed({"a": A, "b": B, "unit": UNIT}, "string|null"),
    "only its code": {"code": CODE.replace("a + b", "b + a")},
    "what it says": {"description": "Adds up"},
}


@pytest.mark.parametrize("case", BREAKING)
def test_a_breaking_change_is_told_with_its_callers_and_refused(agent, case):  # noqa: F811
    change, reason = BREAKING[case]
    for f in (SUM, USER):
        assert agent("register_custom_function", **f)["success"]
    looked = agent("update_custom_function", name="sum", dryRun=True, **change)
    refused = agent("update_custom_function", name="sum", **change)
    assert looked["success"] is True and refused["success"] is False, refused
    for told in (looked, refused):
        assert told["breaking"] is True and told["callers"] == ["user"]
        assert reason in json.dumps(told["reasons"]), told["reasons"]
    assert "breaking change" in refused["error"] and "force" in refused["error"]
    assert refused["errorDetails"]["code"] == "CONFLICT"
    assert agent("get_custom_function", name="sum")["function"]["code"] == CODE
    forced = agent("update_custom_function", name="sum", force=True, **change)
    assert forced["success"] and forced["breaking"] is True and forced["version"] == 2


@pytest.mark.parametrize("case", COMPATIBLE)
def test_what_breaks_nothing_is_kept(agent, case):  # noqa: F811
    for f in (SUM, USER):
        assert agent("register_custom_function", **f)["success"]
    told = agent("update_custom_function", name="sum", **COMPATIBLE[case])
    assert told["success"] and "breaking" not in told, told


ROWS = {"name": "rows", "description": "Rows", "returnType": "Row[]",
        "parameters": {"of": {"type": "Row", "optional": True}},
        "code": "interface Row { id: string; n?: number }\n"
                "function rows(of?: Row): Row[] { return of ? [of] : []; }"}


@pytest.mark.parametrize("row, reason", [
    ("interface Row { id: string; n?: number; m?: string }", None),
    ("interface Row { id: number; n?: number }", "parameter 'of'"),
    ("interface Row { id: string; n: number }", "parameter 'of'"),
])
def test_types_that_the_code_declares_count_as_what_they_are(agent, row, reason):  # noqa: F811
    assert agent("register_custom_function", **ROWS)["success"]
    told = agent("update_custom_function", name="rows",
                 code=row + "\n" + ROWS["code"].split("\n")[1])
    assert told.get("breaking", False) is bool(reason), told
    assert not reason or reason in json.dumps(told["reasons"])


def test_a_way_back_that_breaks_is_refused_too(agent):  # noqa: F811
    agent("register_custom_function", **SUM)
    wide = changed({"a": {"type": "number | string"}, "b": B, "unit": UNIT})
    assert agent("update_custom_function", name="sum", **wide)["version"] == 2
    told = agent("rollback_custom_function", name="sum", version=1)
    assert told["success"] is False and told["breaking"] is True
    assert agent("rollback_custom_function", name="sum", version=1, force=True)["version"] == 3


# ---- renaming ------------------------------------------------------------------------------------

def test_callers_follow_a_new_name(agent):  # noqa: F811
    other = {**USER, "name": "other", "code": USER["code"].replace("user", "other").replace(
        "customFunctions.sum", "customFunctions['sum']")}
    for f in (SUM, USER, other):
        assert agent("register_custom_function", **f)["success"]
    told = agent("update_custom_function", name="sum", newName="total")
    assert told["success"] and sorted(told["rewritten"]) == ["other", "user"]
    assert "breaking" not in told
    for name in ("user", "other"):
        kept = agent("get_custom_function", name=name)
        assert kept["version"] == 2 and "sum" not in kept["function"]["code"]
    ran = agent("evaluate_note_code",
                code="return [customFunctions.user(), customFunctions.other()]")
    assert ran["result"] == ["3m", "3m"]


@pytest.mark.parametrize("body", [
    "const { sum } = customFunctions; return sum(1, 2);",
    "const name = 's' + 'um'; return customFunctions[name](1, 2);",
])
def test_a_caller_that_cannot_follow_refuses_the_name(agent, body):  # noqa: F811
    odd = {**USER, "returnType": "any", "code": f"function user(): any {{ {body} }}"}
    for f in (SUM, odd):
        made = agent("register_custom_function", **f)
        assert made["success"], made
    told = agent("update_custom_function", name="sum", newName="total")
    assert told["success"] is False and told["breaking"] is True
    assert "'user' may call it by its old name" in told["reasons"][0]
    assert agent("list_custom_functions")["functions"][0]["name"] == "sum"
    assert agent("update_custom_function", name="sum", newName="total", force=True)["success"]


def test_the_command_line_and_rest_refuse_it_too(rest, cloche, vault, tmp_path):  # noqa: F811
    for f in (SUM, USER):
        assert rest("POST", json=f).status_code == 201
    change = BREAKING["another type"][0]
    tag = rest("GET", "/sum").headers["etag"]
    told = problem(rest("PATCH", "/sum", json=change, headers={"if-match": tag}), 409)
    problem(rest("PATCH", "/sum", json=change, headers={"if-match": '"7-x"'}), 412)
    assert told["breaking"] is True and told["callers"] == ["user"]
    (tmp_path / "sum.json").write_text(json.dumps({**SUM, **change}))
    said = fn(cloche, vault, "update", "sum", tmp_path / "sum.json", code=1)
    assert "breaking change" in said and "user" in said and "--force" in said
    said = fn(cloche, vault, "update", "sum", tmp_path / "sum.json", "--force")
    assert "updated, version 2" in said and "breaking: " in said
    said = fn(cloche, vault, "update", "sum", "--rename", "total")
    assert "user: changed with it" in said
