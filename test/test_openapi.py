"""The OpenAPI document is valid, and all real answers fit it."""
import re

import httpx
import jsonschema
import pytest

import needs
from conftest import ROOT, policy_in
from machine_doors import needs_image

MEMBER = ("get", "post", "put", "patch", "delete")
SYNC = "# Weekly Sync\n\n## Date\n2025-11-29\n\n[[start here]]\n"


@pytest.fixture
def api(server):
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


@pytest.fixture
def document(api):
    return api.get("/openapi.json").json()


def operations(document):
    for path, item in document["paths"].items():
        for method in MEMBER:
            if method in item:
                yield method, path, item[method]


class Checked:
    """A client that checks every answer against the document and notes which parts it has seen."""

    def __init__(self, api, document):
        self.api, self.document, self.seen = api, document, set()
        paths = sorted(document["paths"], key=lambda p: (-p.count("/"), p.count("{")))
        self.paths = [(p, re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(p)) + "$"))
                      for p in paths]

    def __call__(self, method, target, status, **more):
        answer = self.api.request(method, target, **more)
        assert answer.status_code == status, answer.text
        path = next(p for p, pattern in self.paths
                    if pattern.match(target.split("?")[0]))
        operation = self.document["paths"][path][method.lower()]
        self.seen.add(operation["operationId"])
        assert str(status) in operation["responses"], (status, operation["operationId"])
        told = operation["responses"][str(status)]
        if "$ref" in told:
            told = self.document["components"]["responses"][told["$ref"].split("/")[-1]]
        for name in told.get("headers", {}):
            if name != "Link":
                assert name in answer.headers, (method, target, name)
        if status == 304:
            return answer
        kind = answer.headers["content-type"].split(";")[0]
        schema = told["content"][kind]["schema"]
        if kind == "application/octet-stream":
            return answer
        value = answer.text if kind == "text/markdown" else answer.json()
        jsonschema.Draft202012Validator(
            {**schema, "components": self.document["components"]},
            format_checker=jsonschema.FormatChecker()).validate(value)
        return answer


def test_the_document_is_openapi(document):
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(document)
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_list_says_what_it_holds(document):
    """Generators of clients leave out arrays of any type."""
    def look(schema):
        if isinstance(schema, dict):
            kinds = schema.get("type") or []
            assert "items" in schema or "array" not in ([kinds] if isinstance(kinds, str) else kinds), schema
            schema = list(schema.values())
        for inner in schema if isinstance(schema, list) else []:
            look(inner)
    look(document["components"])


def test_every_operation_has_a_name_of_its_own(document):
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names) >= 20
    for _, path, operation in operations(document):
        in_path = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
        assert in_path == re.findall(r"\{(\w+)\}", path)


def test_every_operation_says_what_it_is_for(document):
    groups = [group["name"] for group in document["tags"]]
    used = set()
    for method, path, operation in operations(document):
        assert len(operation["description"]) > 10, (method, path)
        assert len(operation["tags"]) == 1, (method, path)
        used |= set(operation["tags"])
        for parameter in operation["parameters"]:
            assert parameter["description"], (method, path, parameter["name"])
    assert used == set(groups) and len(set(groups)) == len(groups)
    assert all(group["description"] for group in document["tags"])


def test_schemas_are_such_as_generators_take(document):
    """Python's makes no program of `const`, and leaves a body out that is an anyOf; to
    TypeScript's an object that says nothing of its members is an empty one, and a member with
    a default is one that every request has to give."""
    def look(schema):
        if isinstance(schema, dict):
            assert "const" not in schema and not isinstance(schema.get("anyOf"), list), schema
            assert "enum" not in schema or "type" in schema, schema
            if schema.get("type") == "object":
                assert "properties" in schema or "additionalProperties" in schema, schema
            for inner in schema.values():
                look(inner)
        for inner in schema if isinstance(schema, list) else []:
            look(inner)
    look(document)
    bodies = {operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
              for _, _, operation in operations(document)
              if "application/json" in operation.get("requestBody", {}).get("content", {})}
    for name in bodies:
        members = document["components"]["schemas"][name].get("properties", {})
        assert [key for key, member in members.items() if "default" in member] == [], name


def go_through_functions(check, base):
    one = {"name": "one", "description": "One", "parameters": {}, "returnType": "number",
           "code": "function one(): number { return 1; }", "examples": [{"args": [], "expected": 1}]}
    made = check("POST", base, 201, json=one)
    at, tag = made.headers["location"], made.headers["etag"]
    check("POST", base, 400, json={**one, "name": "2"})
    check("POST", f"{base}/validate", 200, json={"name": "2"})
    check("POST", f"{base}/test", 200, json={"definition": {**one, "name": "one"}, "args": []})
    check("POST", f"{base}/test", 400, json={"args": []})
    check("GET", base, 200)
    check("GET", at, 200)
    check("GET", f"{base}/none", 404)
    check("PATCH", at, 412, json={"description": "x"}, headers={"if-match": '"9"'})
    check("PATCH", at, 200, json={"description": "x"}, headers={"if-match": tag})
    check("GET", f"{at}/versions?from=1", 200)
    check("GET", f"{at}/stats", 200)
    check("GET", f"{base}/stats", 200)
    check("POST", f"{at}/test", 200, json={"args": []})
    check("POST", f"{at}/rollback", 200, json={"version": 1})
    check("POST", f"{at}/duplicate", 201, json={"newName": "two"})
    check("POST", f"{base}/import", 200, json=check("GET", f"{base}/export", 200).json())
    check("POST", f"{base}/backups", 200)
    check("GET", f"{base}/backups", 200)
    for template in check("GET", f"{base}/templates", 200).json():
        check("GET", f"{base}/templates/{template['template']}?name=mine", 200)
    check("GET", f"{base}/templates/none", 404)
    check("DELETE", f"{base}?names=two", 200)
    check("DELETE", at, 200)
    check("DELETE", at, 404)
    check("POST", f"{base}/restore", 200, json={})


@needs_image
@needs.installed(ROOT / "build/guest/tools/jq", by="make tools")
def test_real_answers_are_as_the_document_says(api, document, tmp_path):
    check = Checked(api, document)
    [workspace] = check("GET", "/workspaces", 200).json()
    base = f"/workspaces/{workspace['id']}"
    notes = f"{base}/notes"
    check("GET", base, 200)
    check("GET", "/openapi.json", 200)
    tag = check("GET", notes, 200).headers["etag"]
    check("GET", notes, 304, headers={"if-none-match": tag})
    every = "id,title,class,properties,updated_at,created_at,tags,content_hash,path,uid,size"
    check("GET", f"{notes}?fields={every}&limit=3", 200)
    check("GET", f"{notes}?limit=none", 400)
    made = check("POST", notes, 201, json={"markdown": SYNC, "class": "Meeting"})
    at, tag = made.headers["location"], made.headers["etag"]
    check("POST", notes, 409, json={"markdown": SYNC, "class": "Meeting"})
    check("POST", notes, 400, json={})
    check("POST", notes, 415, content="x", headers={"content-type": "text/plain"})
    check("GET", at, 200)
    check("GET", at, 200, headers={"accept": "text/markdown"})
    check("GET", at, 406, headers={"accept": "image/png"})
    check("PUT", at, 428, json={"markdown": "x"})
    tag = check("PUT", at, 200, json={"markdown": SYNC + "more"},
                headers={"if-match": tag}).headers["etag"]
    check("PATCH", at, 412, json={"content": "x"}, headers={"if-match": '"x"'})
    check("PATCH", at, 200, json={"properties": {"Date": "2025-12-06", "Room": "A"}},
          headers={"if-match": tag})
    check("GET", f"{at}/history", 200)
    check("GET", f"{at}/history/1", 200)
    check("GET", f"{at}/history/99", 404)
    check("POST", f"{at}/history/1/restore", 200, headers={"if-match": "*"})
    check("GET", f"{base}/log?diff=true", 200)
    check("GET", f"{base}/log?limit=1&agent=nobody", 200)
    check("GET", f"{base}/log?cursor=x", 400)
    check("POST", f"{base}/undo", 200, json={"since": "1h", "dry_run": True})
    check("POST", f"{base}/undo", 400, json={})
    check("POST", f"{base}/undo", 404, json={"call": "none"})
    check("GET", f"{base}/trash", 200)
    check("POST", f"{base}/query", 200,
          json={"filter": {"class": "Meeting"}, "fields": every.split(",")})
    check("POST", f"{base}/query", 400, json={"filter": {"nose": 1}})
    check("GET", f"{base}/search?q=garden", 200)
    check("GET", f"{base}/search", 400)
    check("GET", f"{base}/links", 200)
    check("GET", f"{base}/attachments", 200)
    check("GET", f"{base}/attachments?orphans=true&folder=img&limit=1", 200)
    check("GET", f"{base}/attachments?orphans=maybe", 400)
    classes = check("GET", f"{base}/classes", 200).json()
    check("GET", f"{base}/classes/{classes[0]['name']}", 200)
    check("GET", f"{base}/classes/none", 404)
    check("POST", f"{base}/evaluate", 200, json={"code": "return 1"})
    check("POST", f"{base}/run", 200, json={"code": "1 + 1"})
    check("POST", f"{base}/check", 200, json={"code": "1 + ''.nope"})
    check("POST", f"{base}/check", 400, json={"code": 1})
    check("GET", f"{base}/audit?limit=5", 200)
    (tmp_path / "shown").mkdir()
    policy_in(tmp_path, {"tools": {"default": "always"}, "vm": {"expose": "always"},
                         "mounts": [{"guest": "/data", "host": str(tmp_path / "shown"), "mode": "rw"}]})
    check("GET", "/tools", 200)
    check("GET", "/tools/none", 404)
    check("POST", "/tools/none", 404, json={})
    check("GET", "/tools/jq", 200)
    check("POST", "/tools/jq", 200, json={"args": ["-n", "1"]})
    check("POST", "/tools/jq", 400, json={"nope": 1})
    check("GET", "/vm", 200)
    check("DELETE", "/vm/vm_none", 404)
    check("POST", "/vm/exec", 400, json={"command": "true", "cwd": 1})
    check("POST", "/vm", 201, json={})
    check("POST", "/vm/exec", 200, json={"command": "echo; exit 3"})
    check("POST", "/vm/exec", 200, json={"command": "tty", "terminal": {"rows": 30, "columns": 100, "name": "one"}})
    check("POST", "/vm/exec", 400, json={"command": "tty", "terminal": {"rows": 0}})
    check("POST", "/vm/default/terminals/one", 404, json={"text": "x"})
    check("POST", "/vm/default/terminals/one", 400, json={"text": 1})
    check("GET", "/vm", 200)
    octets = {"Content-Type": "application/octet-stream"}
    check("PUT", "/vm/default/file?path=/tmp/a/b", 200, content=bytes(range(256)), headers=octets)
    check("PUT", "/vm/default/file?path=/tmp/a", 400, content=b"", headers=octets)
    check("GET", "/vm/default/file?path=/tmp/a/b", 200)
    check("GET", "/vm/default/file?path=/tmp/a/b", 206, headers={"Range": "bytes=3-5"})
    check("GET", "/vm/default/file?path=/tmp/a/b", 416, headers={"Range": "bytes=256-"})
    check("GET", "/vm/default/file?path=/tmp/none", 404)
    check("GET", "/vm/default/files?path=/tmp", 200)
    check("GET", "/vm/default/files?path=/none", 404)
    check("POST", "/vm/default/ports", 201, json={"port": 8000})
    check("POST", "/vm/default/ports", 400, json={})
    check("DELETE", "/vm/default/ports/8000", 200)
    check("DELETE", "/vm/default/ports/8000", 404)
    over = check("POST", "/vm", 201, json={"mounts": [{"mount": "/data", "at": "/w", "mode": "overlay"}]}).json()["machine"]
    check("POST", "/vm/exec", 200, json={"command": "echo x >/w/new", "machine": over})
    check("POST", f"/vm/{over}/apply", 200, json={"at": "/w", "dryRun": True})
    check("POST", f"/vm/{over}/apply", 404, json={"at": "/none"})
    check("POST", f"/vm/{over}/apply", 400, json={})
    check("POST", "/vm/exec", 200, json={"command": "echo y >/in/new", "mounts": [{"mount": "/data", "at": "/in", "mode": "overlay", "apply": True}]})
    check("POST", f"/vm/{over}/apply", 409, json={"at": "/w"})
    check("DELETE", f"/vm/{over}", 200)
    check("POST", "/vm/snapshots", 201, json={"name": "one"})
    check("POST", "/vm/snapshots", 400, json={"name": "../one"})
    check("GET", "/vm/snapshots", 200)
    again = check("POST", "/vm/snapshots/one/restore", 201, json={}).json()
    check("POST", "/vm/snapshots/none/restore", 404, json={})
    copied = check("POST", f"/vm/{again['machine']}/fork", 201, json={}).json()
    for machine in (again, copied):
        check("DELETE", f"/vm/{machine['machine']}", 200)
    check("DELETE", "/vm/snapshots/one", 200)
    check("DELETE", "/vm/snapshots/one", 404)
    check("DELETE", "/vm/default", 200)
    check("DELETE", at, 200)
    check("DELETE", at, 404)
    check("GET", "/workspaces/none/notes", 404)
    go_through_functions(check, f"{base}/functions")
    assert check.seen == {o["operationId"] for _, _, o in operations(document)}
