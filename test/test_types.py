"""Types of notes as code and people have them."""
import json
import subprocess

import pytest

CREATE = """await noteTypes.create({type_name: 'task', description: 'Things to do',
    agent_instructions: ['One thing each'], metadata_schema: {type: 'object', properties: {
    status: {type: 'string', enum: ['open', 'done']}}, required: ['status']}});"""


@pytest.fixture
def run(cloche, vault):
    def run(code, success=True):
        done = subprocess.run([cloche, "eval", "--vault", str(vault), "-e", code],
                              capture_output=True, text=True)
        answer = json.loads(done.stdout)
        assert answer["success"] == success, answer
        return answer["result"] if success else answer["errorDetails"]
    return run


def test_the_shapes_are_those_that_were_promised(run):
    made, got, changed, rows, gone = run("const made = " + CREATE + """
        const got = await noteTypes.get('task');
        const changed = await noteTypes.update({type_name: 'task', description: 'To do',
            instructions: 'Short.', content_hash: got.content_hash});
        const rows = await noteTypes.list();
        return [made, got, changed, rows, await noteTypes.delete({type_name: 'task',
            action: 'error'})]""")
    assert list(made) == ["name", "filename", "path", "created"]
    assert (made["filename"], made["path"]) == ("task.md", ".cloche/types/task.md")
    assert list(got) == ["name", "purpose", "path", "instructions", "metadata_schema",
                         "content_hash"]
    assert got["purpose"] == "Things to do" and got["instructions"] == ["One thing each"]
    assert got["metadata_schema"]["required"] == ["status"]
    assert list(changed) == ["raw", "parsed"]
    assert changed["parsed"]["description"] == "To do"
    assert changed["parsed"]["agentInstructions"] == "Short."
    assert changed["parsed"]["metadataSchema"] == got["metadata_schema"]
    assert "## Purpose\n\nTo do\n" in changed["raw"]
    assert {"name": "task", "description": "To do", "noteCount": 0, "filename": "task.md"} in rows
    assert [r for r in rows if r["name"] == "meeting"][0]["noteCount"] > 0
    assert gone == {"success": True, "notesAffected": 0}


def test_metadata_is_held_to_the_schema(run):
    run(CREATE)
    create = "return await notes.create({type: 'task', title: 'a', content: '', metadata: %s})"
    for metadata, part in [("{}", 'needs the field "status"'), ("{status: 'x'}", 'not "x"')]:
        error = run(create % metadata, success=False)
        assert error["code"] == "INVALID" and part in error["message"] and '"task"' in error["message"]
    assert run("return await notes.get('task/a')") is None
    run(create % "{status: 'open', free: [1]}")
    update = "await notes.update({identifier: 'task/a', force: true, metadata: %s})"
    assert run(update % "{status: null}", success=False)["code"] == "INVALID"
    assert run(update % "{status: 'y'}", success=False)["code"] == "INVALID"
    run(update % "{status: 'done', free: null}")
    # Another type is free.
    run("await notes.create({type: 'idea', title: 'zz', content: '', metadata: {status: 'x'}})")


def test_what_a_person_writes_into_the_file_counts(run, vault):
    run(CREATE)
    file = vault / ".cloche/types/task.md"
    file.write_text("# task\n\nMine.\n\n## Metadata Schema\n\n```yaml\nproperties:\n  n:\n"
                    "    type: integer\n```\n\n## Notes to self\n\nkeep\n")
    got = run("return await noteTypes.get('task')")
    assert got["purpose"] == "Mine." and got["instructions"] == []
    assert got["metadata_schema"] == {"properties": {"n": {"type": "integer"}}}
    error = run("await notes.create({type: 'task', title: 'a', content: '', metadata: {n: 'x'}})",
                success=False)
    assert "metadata.n" in error["message"]
    run("await noteTypes.update({type_name: 'task', instructions: ['x']})")
    assert file.read_text().endswith("## Notes to self\n\nkeep\n\n## Agent Instructions\n\n- x\n")


def test_a_damaged_description_stops_nobody_from_reading(run, vault):
    run(CREATE + "await notes.create({type: 'task', title: 'a', content: 'c', metadata: {status: 'open'}})")
    file = vault / ".cloche/types/task.md"
    file.write_text("# task\n\n## Metadata Schema\n\n```json\n{broken\n```\n")
    got = run("return [(await notes.get('task/a')).content, (await notes.list('task')).length,"
              "await noteTypes.get('task')]")
    assert got[:2] == ["c", 1]
    assert got[2]["metadata_schema"] is None and "JSON" in got[2]["schema_error"]
    assert any(r["name"] == "task" for r in run("return await noteTypes.list()"))
    error = run("await notes.create({type: 'task', title: 'b', content: ''})", success=False)
    assert "damaged" in error["message"] and "task.md" in error["message"]
    # A body is no matter of the schema.
    run("await notes.update({identifier: 'task/a', content: 'd', force: true})")
    run("await noteTypes.update({type_name: 'task', metadata_schema: {fields: []}})")
    run("await notes.create({type: 'task', title: 'b', content: ''})")
    file.write_bytes(b"\xff\xfe\x00## Purpose\n\xff")
    run("return [await noteTypes.get('task'), await noteTypes.list()]")


def test_a_type_is_described_once_and_not_changed_blindly(run):
    run(CREATE)
    assert run(CREATE, success=False)["code"] == "CONFLICT"
    error = run("await noteTypes.update({type_name: 'task', description: 'x', content_hash: "
                "'sha256:0'})", success=False)
    assert error["code"] == "CONFLICT" and error["message"].count("sha256:") == 2


@pytest.mark.parametrize("call, code, part", [
    ("create({type_name: 'a/b', description: ''})", "INVALID", "a/b"),
    ("create({type_name: '.a', description: ''})", "INVALID", "folder"),
    ("create({type_name: '../../x', description: ''})", "INVALID", "folder"),
    ("create({type_name: 'a'})", "INVALID", "description"),
    ("create({type_name: 'a', description: 'x', color: 1})", "INVALID", "color"),
    ("create({type_name: 'a', description: '## x'})", "INVALID", "heading"),
    ("create({type_name: 'a', description: 'x'.repeat(20001)})", "LIMIT", "description"),
    ("create({type_name: 'a', description: 'x', instructions: 'y'.repeat(50001)})", "LIMIT",
     "instructions"),
    ("create({type_name: 'a', description: 'x', metadata_schema: {properties: {due: {type: "
     "'date'}}}})", "INVALID", '"due"'),
    ("get('nothing')", "NOT_FOUND", "meeting"),
    ("get(7)", "INVALID", "object"),
    ("update({type_name: 'nothing', description: 'x'})", "NOT_FOUND", "meeting"),
    ("update({type_name: 'meeting'})", "INVALID", "nothing to update"),
    ("delete({type_name: 'nothing'})", "NOT_FOUND", "meeting"),
    ("delete({type_name: 'meeting'})", "CONFLICT", "migrate"),
    ("delete({type_name: 'meeting', action: 'drop'})", "INVALID", "'error'"),
    ("delete({type_name: 'meeting', action: 'delete'})", "INVALID", "confirm"),
    ("delete({type_name: 'meeting', action: 'migrate'})", "INVALID", "target_type"),
    ("delete({type_name: 'meeting', target_type: 'x'})", "INVALID", "target_type"),
])
def test_what_is_wrong_is_named(run, vault, call, code, part):
    before = sorted(str(p) for p in vault.rglob("*.md"))
    error = run(f"await noteTypes.{call}", success=False)
    assert error["code"] == code and part in error["message"]
    assert sorted(str(p) for p in vault.rglob("*.md")) == before


def test_a_type_that_is_a_folder_can_be_described_later(run):
    got = run("return await noteTypes.get('meeting')")
    assert got["purpose"] == "" and got["content_hash"] is None
    run("await noteTypes.update({type_name: 'meeting', description: 'What was said'})")
    assert run("return (await noteTypes.get('meeting')).purpose") == "What was said"


def test_deleting_a_type_moves_its_notes_to_the_trash(run, vault):
    (vault / "meeting/deep").mkdir(exist_ok=True)
    (vault / "meeting/deep/x.md").write_text("x")
    count = len(list((vault / "meeting").rglob("*.md")))
    result = run("await noteTypes.update({type_name: 'meeting', description: 'd'});"
                 "return await noteTypes.delete({type_name: 'meeting', action: 'delete',"
                 "confirm: true})")
    assert result == {"success": True, "notesAffected": count}
    assert not (vault / "meeting").exists()
    assert len(list((vault / ".cloche/trash").rglob("*.md"))) == count
    assert len(list((vault / ".cloche/types/deleted").iterdir())) == 1
    assert run("return (await noteTypes.list()).map((t) => t.name)").count("meeting") == 0


def test_what_is_no_note_stays_with_its_folder(run, vault):
    (vault / "idea/picture.png").write_bytes(b"x")
    run("await noteTypes.delete({type_name: 'idea', action: 'delete', confirm: true})")
    assert [p.name for p in (vault / "idea").iterdir()] == ["picture.png"]
    # A folder is a type.
    assert run("return (await noteTypes.get('idea')).name") == "idea"


def test_migrating_a_type_takes_the_links_along(run, vault):
    (vault / "old/deep").mkdir(parents=True)
    (vault / "old/a.md").write_text("# A\n[[old/b]] [b](b.md) `[[old/b]]`\n")
    (vault / "old/b.md").write_text("---\ntype: old\n---\n# B\n[[old/a|x]]\n")
    (vault / "old/deep/c.md").write_text("[[old/deep/c]] [[A]]\n")
    (vault / "idea/from.md").write_text("[[old/a]] [[old/deep/c]] [b](../old/b.md)\n")
    result = run("return await noteTypes.delete({type_name: 'old', action: 'migrate', "
                 "target_type: 'new'})")
    assert result == {"success": True, "notesAffected": 3}
    assert not (vault / "old").exists()
    assert (vault / "new/a.md").read_text() == "# A\n[[new/b]] [b](b.md) `[[old/b]]`\n"
    assert (vault / "new/b.md").read_text().startswith("---\ntype: new\n---\n# B\n[[new/a|x]]")
    assert (vault / "new/deep/c.md").read_text() == "[[new/deep/c]] [[A]]\n"
    assert (vault / "idea/from.md").read_text() == "[[new/a]] [[new/deep/c]] [b](../new/b.md)\n"
    assert run("return (await links.findBroken()).filter((l) => /old|new/.test(l.target))") == []


def test_a_migration_that_cannot_be_whole_moves_nothing(run, vault):
    (vault / "old").mkdir()
    (vault / "new").mkdir()
    for name in ("old/a", "old/b", "new/b"):
        (vault / f"{name}.md").write_text("x\n")
    migrate = "await noteTypes.delete({type_name: 'old', action: 'migrate', target_type: 'new'})"
    assert run(migrate, success=False)["code"] == "CONFLICT"
    assert (vault / "old/a.md").exists() and not (vault / "new/a.md").exists()
    (vault / "new/b.md").unlink()
    run("await noteTypes.create({type_name: 'new', description: 'd', metadata_schema: "
        "{fields: [{name: 'n', type: 'number', required: true}]}})")
    error = run(migrate, success=False)
    assert error["code"] == "INVALID" and '"n"' in error["message"] and "old/a" in error["message"]
    assert (vault / "old/a.md").exists() and not (vault / "new/a.md").exists()


def test_a_note_moves_only_where_its_metadata_fits(run, vault):
    run(CREATE)
    (vault / "idea/x.md").write_text("---\nstatus: other\n---\nx\n")
    error = run("await notes.move({identifier: 'idea/x', new_type: 'task', force: true})",
                success=False)
    assert error["code"] == "INVALID" and 'not "other"' in error["message"]
    assert (vault / "idea/x.md").exists()
