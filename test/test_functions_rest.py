"""Custom functions over REST, and the errors of a failed import in each interface."""
import json

import httpx
import pytest

from test_functions import DEFINITION, ONE, agent, fn, sized  # noqa: F401
from test_rest import problem
from wire import Server

BROKEN = sized("broken", code="function broken(): number { return nothingIsCalledThis; }")
FILE = {"version": 1, "functions": [sized("good"), BROKEN]}


@pytest.fixture
def rest(cloche, vault):
    with Server([cloche, "serve", "--vault", vault, "--listen", "127.0.0.1:0"]) as server, \
            httpx.Client(base_url=server.url, timeout=60) as api:
        [workspace] = api.get("/workspaces").json()
        yield lambda method, path="", **more: api.request(
            method, f"/workspaces/{workspace['id']}/functions{path}", **more)


def fates(told):
    return {f["name"]: f["action"] for f in told["functions"]}


# ---- imports -------------------------------------------------------------------------------------

def test_an_import_that_fails_tells_what_it_did_not_keep(agent):  # noqa: F811
    agent("register_custom_function", **sized("there"))
    file = {"version": 1, "functions": [*FILE["functions"], sized("there", "another")]}
    for dry in (True, False):
        told = agent("import_custom_functions", text=json.dumps(file), dryRun=dry)
        assert fates(told) == {"broken": "failed", "good": "not imported", "there": "skipped"}
        assert told["success"] is False and told["imported"] == 0 and told["failed"] == 1
        assert told["notImported"] == 1 and told["skipped"] == 1
        assert "all or nothing" in told["error"] and told["errorDetails"]["code"]
    assert agent("list_custom_functions")["total"] == 1


def test_the_command_line_tells_it_as_well(cloche, vault, tmp_path):
    (tmp_path / "all.json").write_text(json.dumps(FILE))
    told = fn(cloche, vault, "import", tmp_path / "all.json", code=1)
    assert "good: not imported" in told and "broken: failed" in told
    assert "all or nothing" in told and "nothingIsCalledThis" in told
    assert "good" not in fn(cloche, vault, "list")


def test_an_import_that_fails_is_a_problem(rest):
    told = problem(rest("POST", "/import", json=FILE), 400)
    assert fates(told) == {"broken": "failed", "good": "not imported"}
    assert "all or nothing" in told["detail"]
    dry = problem(rest("POST", "/import", json=FILE, params={"dryRun": "true"}), 400)
    assert fates(dry) == fates(told) and dry["dryRun"] is True
    none = problem(rest("POST", "/import", json={"functions": [{"name": 3}]}), 400)
    assert none["errors"] and "not a file of functions" in none["detail"]
    assert rest("GET").json() == []


# ---- trials --------------------------------------------------------------------------------------

FAILING = sized("failing", parameters={"n": {"type": "number"}}, code="""
async function failing(n: number): Promise<number> {
  console.log('begun', n);
  await notes.create({type: 'note', title: 'Tried', content: 'x'});
  return inner(n);
}
function inner(n: number): number { throw new TypeError('no ' + n); }""",
                returnType="Promise<number>")


def test_a_trial_that_fails_tells_all_that_it_came_to(rest, agent):  # noqa: F811
    assert rest("POST", json=FAILING).status_code == 201
    told = rest("POST", "/failing/test", json={"args": {"n": 7}})
    over_mcp = agent("test_custom_function", name="failing", args={"n": 7})
    body = problem(told, told.status_code)
    assert told.status_code >= 400 and "no 7" in body["detail"]
    assert body["errorDetails"]["stack"] and "inner" in body["errorDetails"]["stack"]
    assert "begun" in json.dumps(body["logs"]) and len(body["changes"]) == 1
    assert set(over_mcp) - set(body) <= {"success", "error"}
    for told in (body, over_mcp):  # the new note's diff has the time at which it was made
        assert "+x" in told["changes"][0].pop("diff")
    same = ("logs", "changes", "dryRun", "name", "version")
    assert {k: body[k] for k in same} == {k: over_mcp[k] for k in same}


def test_the_suggestion_for_a_trial_is_told_as_well(rest, agent):  # noqa: F811
    code = "function slip(): any { const all: any = notes; return all.serach('x'); }"
    assert rest("POST", json=sized("slip", code=code, returnType="any")).status_code == 201
    told = rest("POST", "/slip/test", json={"args": {}}).json()
    over_mcp = agent("test_custom_function", name="slip", args={})
    assert told["errorDetails"]["suggestion"] == over_mcp["errorDetails"]["suggestion"]


def test_a_trial_is_advised_by_what_stands_in_the_function(rest, agent):  # noqa: F811
    code = ("async function titled(id: string): Promise<string> {\n"
            "  const m = await notes.get(id);\n  return m!.title;\n}")
    assert rest("POST", json=sized("titled", code=code, returnType="Promise<string>",
                                   parameters={"id": {"type": "string"}})).status_code == 201
    told = rest("POST", "/titled/test", json={"args": {"id": "zz/none"}}).json()["errorDetails"]
    assert told["suggestion"].startswith("notes.get returned null: there is no note 'zz/none'.")
    told = agent("test_custom_function", name="titled", args={"id": 5})["errorDetails"]
    assert told["type"] == "InvalidInput" and "suggestion" not in told


def test_examples_that_fail_are_a_problem_too(rest, agent):  # noqa: F811
    wrong = {**ONE, "examples": [{"args": {}, "expected": 2}], "force": True}
    assert rest("POST", json=wrong).status_code == 201
    told = problem(rest("POST", "/one/test", json={}), 400)
    assert told["tests"]["failed"] == 1
    assert told["tests"]["results"][0]["difference"]["got"] == 1
    assert agent("test_custom_function", name="one")["tests"]["failed"] == 1


# ---- who made it ---------------------------------------------------------------------------------

def test_what_comes_over_rest_is_a_persons_unless_it_says_otherwise(rest, agent):  # noqa: F811
    def made_by(name):
        return rest("GET", f"/{name}").json()["function"]["metadata"]["createdBy"]
    assert rest("POST", json=DEFINITION).status_code == 201
    assert made_by(DEFINITION["name"]) == "user"
    assert rest("POST", json=sized("mine", createdBy="agent")).status_code == 201
    assert rest("POST", json=sized("no", createdBy="nobody")).status_code == 400
    agent("register_custom_function", **ONE)
    assert made_by("mine") == made_by("one") == "agent"
    rest("PATCH", "/one", json={"description": "By a person"})
    [last, first] = rest("GET", "/one/versions").json()["versions"]
    assert (last["maker"], first["maker"]) == ("user", "agent")
    assert made_by("one") == "agent"
    assert [f["name"] for f in rest("GET", params={"createdBy": "user"}).json()] == [
        DEFINITION["name"]]
