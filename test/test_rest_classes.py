"""Classes: what is declared of them, what their notes have, and that both mean the same by a
property, be it a section or a key of the frontmatter."""
import json

import httpx
import pytest

SCHEMA = {
    "type": "object", "required": ["Status"], "additionalProperties": False,
    "properties": {
        "Status": {"type": "string", "enum": ["open", "done"]},
        "Priority": {"type": "integer", "minimum": 1, "maximum": 5},
        "Urgent": {"type": "boolean"},
        "Due": {"type": "string", "format": "date"},
        "Who": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "Hours": {"type": "array", "items": {"type": "number"}},
        "Code": {"type": "string", "pattern": "^[0-9]+$"}}}


@pytest.fixture
def api(server):
    with httpx.Client(base_url=f"{server.url}/workspaces/vault", timeout=60) as client:
        yield client


@pytest.fixture
def tasks(api, vault):
    """The same, where a schema says what a task has."""
    folder = vault / ".cloche" / "types"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Task.md").write_text(
        f"# Task\n\n## Purpose\n\nWork\n\n## Metadata Schema\n\n```json\n{json.dumps(SCHEMA)}\n```\n")
    yield api


def sections(**properties):
    return "".join(f"\n## {key}\n\n{value}\n" for key, value in properties.items())


def make(api, title, expected=201, front="", **properties):
    head = f"---\n{front}\n---\n" if front else ""
    answer = api.post("/notes", json={
        "class": "Task", "markdown": f"{head}# {title}\n{sections(**properties)}"})
    assert answer.status_code == expected, answer.text
    return answer.json()


def patch(api, note, status=200, **body):
    answer = api.patch(f"/notes/Task%2F{note}", json=body, headers={"if-match": "*"})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_section_is_what_a_schema_requires(tasks):
    assert make(tasks, "A", Status="open")["properties"] == {"Status": "open"}
    make(tasks, "B", front="Status: done")
    made = tasks.post("/notes", json={"class": "Task", "title": "C", "content": sections(Status="done"),
                                      "properties": {"Priority": 2}})
    assert made.status_code == 201, made.text
    for properties in ({}, {"Status": ""}, {"status": "open"}):
        refused = make(tasks, "D", 400, **properties)
        assert 'a section "## Status"' in refused["detail"]


def test_a_sections_text_is_read_as_its_schema_wants(tasks):
    make(tasks, "A", Status="open", Priority="3", Urgent="True", Due="2026-01-31",
         Who="- Ann\n- Bob", Hours="- 1\n- 2.5", Code="0042")
    assert tasks.post("/query", json={"filter": {"properties.Priority": 3}}).json()


@pytest.mark.parametrize("key, text, accepted", [
    ("Status", "late", '"open", "done"'), ("Priority", "high", "integer"),
    ("Priority", "9", "5"), ("Urgent", "perhaps", "boolean"), ("Due", "soon", "a date"),
    ("Who", "Ann", "array"), ("Hours", "- 1\n- many", "number"), ("Code", "x1", "pattern")])
def test_what_a_schema_refuses_of_a_section(tasks, key, text, accepted):
    refused = make(tasks, "A", 400, **({"Status": "open"} | {key: text}))
    assert f"metadata.{key}" in refused["detail"] and accepted in refused["detail"]
    make(tasks, "A", Status="open")
    # A section that comes with the content is held to it, too.
    body = sections(**({"Status": "open"} | {key: text}))
    assert f"metadata.{key}" in patch(tasks, "A", 400, content=body)["detail"]


def test_sections_that_no_schema_names_are_free(tasks):
    made = make(tasks, "A", Status="open", Notes="Anything", Log="- 1\n- 2")
    assert set(made["properties"]) == {"Status", "Notes", "Log"}
    make(tasks, "B", 400, front="Status: open\nNotes: 1")  # of the frontmatter's keys it has a say
    make(tasks, "C", Status="open", Due="")                # no text is no value


def test_what_is_required_may_not_go_and_may_move(tasks):
    make(tasks, "A", Status="open")
    for change in ({"properties": {"Status": None}}, {"content": "# A\n"}, {"markdown": "# A\n"},
                   {"properties": {"Status": "late"}}):
        assert "Status" in patch(tasks, "A", 400, **change)["detail"]
    assert patch(tasks, "A", properties={"Status": "done"})["properties"]["Status"] == "done"
    moved = patch(tasks, "A", content="# A\n", properties={"Priority": 1}, status=400)
    assert "Status" in moved["detail"]
    moved = patch(tasks, "A", markdown="---\nStatus: open\n---\n# A\n")
    assert moved["properties"] == {"Status": "open"}
    # In one change: the section comes, and the key goes.
    answer = tasks.post("/evaluate", json={"code": """
        await notes.get('Task/A');
        return await notes.update({identifier: 'Task/A', content: '# A\\n\\n## Status\\n\\ndone\\n',
                                   metadata: {Status: null}});"""}).json()
    assert answer["success"], answer["error"]
    assert tasks.get("/notes/Task%2FA").json()["properties"] == {"Status": "done"}


def test_a_note_that_a_person_wrote_otherwise_can_be_changed(tasks, vault):
    (vault / "Task").mkdir(exist_ok=True)
    (vault / "Task" / "odd.md").write_text("# Odd\n\n## Status\n\nlate\n\n## Notes\n\nOne\n")
    assert patch(tasks, "odd", properties={"Notes": "Two"})["properties"]["Notes"] == "Two"
    assert patch(tasks, "odd", properties={"Priority": 4})["properties"]["Priority"] == 4
    assert patch(tasks, "odd", properties={"Status": "open"})["properties"]["Status"] == "open"


def test_a_note_that_comes_to_a_class_has_to_fit_it(tasks):
    made = tasks.post("/notes", json={"class": "Draft", "markdown": "# A\n"})
    assert made.status_code == 201
    move = {"json": {"class": "Task"}, "headers": {"if-match": "*"}}
    assert tasks.patch("/notes/Draft%2FA", **move).status_code == 400
    tasks.patch("/notes/Draft%2FA", json={"content": sections(Status="open")}, headers={"if-match": "*"})
    assert tasks.patch("/notes/Draft%2FA", **move).json()["id"] == "Task/A"


def test_a_damaged_schema_stops_no_change_of_a_body(tasks, vault):
    make(tasks, "A", Status="open")
    (vault / ".cloche" / "types" / "Task.md").write_text("# Task\n\n## Metadata Schema\n\n```json\n{\n```\n")
    patch(tasks, "A", content=sections(Status="whatever"))
    patch(tasks, "A", properties={"Status": "anything"})
    assert "damaged" in patch(tasks, "A", 400, properties={"New": 1})["detail"]


# ---- what classes tell --------------------------------------------------------------------

def test_fields_are_what_notes_have(api, vault):
    folder = vault / "Job"
    folder.mkdir()
    (folder / "a.md").write_text("---\nscore: 5\nmixed: 1\ndone: true\ntags: [x]\n---\n# A\n\n"
                                 "## Due\n\n2026-01-31\n\n## Count\n\n12\n\n## At\n\n2026-01-31T10:00:00Z\n")
    (folder / "b.md").write_text("---\nscore: 7.5\nmixed: [1]\n---\n# B\n\n## Due\n\n2026-02-01\n\n"
                                 "## Empty\n\n")
    told = {row["name"]: row for row in api.get("/classes").json()}
    fields = {f["name"]: f for f in told["Job"]["fields"]}
    assert {name: f["type"] for name, f in fields.items()} == {
        "Due": "date", "mixed": "any", "score": "number", "At": "datetime", "Count": "number",
        "done": "boolean", "tags": "array"}
    assert fields["Due"] == {"name": "Due", "type": "date", "required": False, "inferred": True,
                             "notes": 2}
    assert [f["notes"] for f in told["Job"]["fields"]] == [2, 2, 2, 1, 1, 1, 1]
    assert api.get("/classes/Job").json() == told["Job"]


def test_declared_fields_are_told_before_inferred_ones(tasks):
    make(tasks, "A", Status="open", Notes="x")
    fields = tasks.get("/classes/Task").json()["fields"]
    assert fields[0] == {"name": "Status", "type": "string", "required": True}
    assert [f["name"] for f in fields] == [*SCHEMA["properties"], "Notes"]
    assert fields[-1] == {"name": "Notes", "type": "string", "required": False, "inferred": True,
                          "notes": 1}


def test_many_fields_are_bounded_and_said(api, vault):
    (vault / "Log").mkdir()
    days = "".join(f"\n## Day {n}\n\nx\n" for n in range(230))
    (vault / "Log" / "a.md").write_text(f"# A\n\n## Often\n\nx\n{days}")
    (vault / "Log" / "b.md").write_text("# B\n\n## Often\n\nx\n")
    told = api.get("/classes/Log").json()
    assert len(told["fields"]) == 200 and told["fields"][0]["name"] == "Often"
    assert told["fields_omitted"] == 31


def test_links_hold_the_hierarchy(api):
    for title in ("Parent", "Child"):
        answer = api.post("/notes", json={"title": title, "class": "tree"})
        assert answer.status_code == 201
    code = "return hierarchy.addSubnote({parent_id: 'tree/Parent', child_id: 'tree/Child'})"
    told = api.post("/evaluate", json={"code": code}).json()
    assert told["success"], told["error"]
    assert {"source": "tree/Parent", "target": "tree/Child", "text": "Child", "kind": "hierarchy",
            "line": 0} in api.get("/links").json()
    # In code it is asked for: links are links there.
    told = api.post("/evaluate", json={"code": """
        return [await links.list(), await links.list({hierarchy: true})].map(
          (rows) => rows.filter((l) => l.kind === 'hierarchy').length)"""}).json()
    assert told["result"] == [0, 1]


# ---- fields of rows -------------------------------------------------------------------------

@pytest.mark.parametrize("field", ["id", "title", "class", "type", "path", "uid", "tags",
                                   "created_at", "updated_at", "size", "content_hash",
                                   "properties.Status", "properties.none"])
def test_fields_are_what_filters_and_orders_know(api, field):
    made = api.post("/notes", json={"class": "Task", "markdown": f"# A\n{sections(Status='open', Due='x')}"})
    assert made.status_code == 201
    where = {"filter": {"$and": [{"class": "Task"}, {field: {"$exists": field != "properties.none"}}]},
             "sort": field}
    whole = api.post("/query", json=where | {"fields": ["id", "class", "properties"]}).json()
    rows = api.post("/query", json=where | {"fields": [field]}).json()
    listed = api.get("/notes", params={"class": "Task", "fields": field}).json()
    assert listed == (rows or [{"uid": None}])  # a note that is given as Markdown has none
    expected = {"properties.Status": {"properties": {"Status": "open"}},
                "properties.none": {"properties": {}}, "type": {"type": "Task"},
                "class": {"class": "Task"}, "id": {"id": "Task/A"}}
    for row in rows:
        assert row == expected.get(field, row) and list(row) == [field.split(".")[0]]
    assert len(rows) == len(whole)


def test_an_unknown_field_is_told_what_there_is(api):
    for answer in (api.get("/notes", params={"fields": "nose"}),
                   api.post("/query", json={"fields": ["nose"]})):
        assert answer.status_code == 400
        assert "type" in answer.json()["detail"] and "properties.NAME" in answer.json()["detail"]
