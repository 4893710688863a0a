"""The proposals' own programs, unchanged, over a copy of the sample vault."""

import json
import subprocess

import pytest

from seed_programs import (ADVANCED_SEARCH, ANALYZE_NETWORK, BATCH_OPERATIONS, BULK_UPDATE, DAILY_NOTE,
                           REORGANIZE_HIERARCHY, SEARCH_AND_ANALYSIS, SIMPLE_CREATION)


@pytest.fixture
def evaluate(cloche, vault):
    """Runs code over the vault; returns its whole answer."""

    def run(code):
        words = [cloche, "eval", "--vault", str(vault), "-"]
        done = subprocess.run(words, input=code, capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)

    return run


def test_simple_note_creation_runs_and_leaves_the_note(evaluate, vault):
    answer = evaluate(SIMPLE_CREATION)
    assert answer["success"], answer
    info = answer["result"]["noteInfo"]
    assert set(info) == {"id", "type", "title", "filename", "path", "created"}
    assert info["id"] == "meeting/Weekly Standup"
    assert info["type"] == "meeting"

    text = (vault / info["path"]).read_text()
    assert text.startswith("---\n")
    assert "# Weekly Standup - " in text
    assert "- Next steps" in text

    back = evaluate("return await notes.get('meeting/Weekly Standup')")["result"]
    assert back["metadata"]["attendees"] == ["Alice", "Bob", "Charlie"]
    assert back["metadata"]["date"].endswith("Z")
    assert [n["id"] for n in evaluate("notes.search({query: 'Sprint progress'})")["result"]] == [info["id"]]


def test_bulk_update_changes_what_is_there_and_reports_what_is_not(evaluate, vault):
    answer = evaluate(
        BULK_UPDATE
        + """
        const ids = (await notes.list({typeName: 'project'})).map((n) => n.id);
        const updated = await bulkUpdate([...ids, 'project/missing'], (note) => ({
          content: note.content + '\\n\\nReviewed.', metadata: { reviewed: true },
        }));
        return { ids, updated };
        """
    )
    assert answer["success"], answer
    ids, updated = answer["result"]["ids"], answer["result"]["updated"]
    assert len(ids) > 2
    assert [row["id"] for row in updated] == ids + ["project/missing"]
    assert all(row["success"] for row in updated[:-1]), updated
    assert updated[-1] == {"id": "project/missing", "success": False, "error": "Note not found"}
    for row in updated[:-1]:
        assert row["result"]["updated"] is True
        note = evaluate(f"notes.get('{row['id']}')")["result"]
        assert note["metadata"]["reviewed"] is True
        assert note["content"].rstrip().endswith("Reviewed.")


def test_bulk_update_meets_a_change_of_somebody_elses_as_a_conflict(evaluate):
    answer = evaluate(
        BULK_UPDATE
        + """
        const [first] = await notes.list({typeName: 'project'});
        return bulkUpdate([first.id], async (note) => {
          await notes.update({ identifier: first.id, content: 'theirs', force: true });
          return { content: 'ours' };
        });
        """
    )
    assert answer["success"], answer
    (row,) = answer["result"]
    assert row["success"] is False
    assert row["error"].count("sha256:") == 2


def test_advanced_search_finds_by_content_metadata_and_links(evaluate):
    def found(criteria):
        answer = evaluate(ADVANCED_SEARCH + f"return (await advancedSearch({criteria})).map((n) => n.id)")
        assert answer["success"], answer
        return answer["result"]

    everything = found("{}")
    assert len(everything) > 20
    assert found("{contentContains: 'foundation: 22 old kerb stones'}") == ["project/greenhouse"]
    assert found("{metadata: {owner: 'Marta', budget: 900}}") == ["project/greenhouse"]
    linked = found("{hasLinksTo: ['project/greenhouse']}")
    assert "idea/bee-hotel" in linked and 3 < len(linked) < len(everything)


def test_meetings_are_searched_and_analysed(evaluate):
    """Its month before today: meetings of these days are made first."""
    answer = evaluate(
        """
        for (const [n, attendees] of [['a', ['Alice', 'Bob']], ['b', ['Alice']]])
          await notes.create({type: 'meeting', title: `Recent ${n}`,
            content: 'see [[project/greenhouse]]', metadata: {attendees}});
        """
        + SEARCH_AND_ANALYSIS
    )
    assert answer["success"], answer
    result = answer["result"]
    assert result["totalMeetings"] >= 2
    assert {"name": "Alice", "meetings": 2} in result["topAttendees"]
    assert 0 < len(result["mostConnectedMeetings"]) <= 5
    first = result["mostConnectedMeetings"][0]
    assert set(first) == {"id", "title", "linkCount", "relatedCount"}
    assert first["linkCount"] >= result["mostConnectedMeetings"][-1]["linkCount"]


def test_batch_operations_update_every_todo(evaluate, vault):
    before = [p for p in (vault / "project").glob("*.md") if "TODO:" in p.read_text()]
    assert before
    answer = evaluate(BATCH_OPERATIONS)
    assert answer["success"], answer
    result = answer["result"]
    assert result["successful"] == len(before) == result["hierarchyUpdates"]
    assert result["processed"] == len(list((vault / "project").glob("*.md")))
    assert all(d.get("reason") == "No TODOs found" for d in result["details"] if not d["success"])
    for path in before:
        text = path.read_text()
        assert "TODO:" not in text and "UPDATED 20" in text and "last_todo_update:" in text


def test_batch_operations_note_the_number_of_subnotes(evaluate):
    answer = evaluate(
        "await hierarchy.addSubnote({parent_id: 'project/greenhouse', child_id: 'idea/bee-hotel'});"
        + BATCH_OPERATIONS)
    assert answer["success"], answer
    note = evaluate("notes.get('project/greenhouse')")["result"]
    assert note["metadata"]["subnotes_count"] == 1
    assert "UPDATED 20" in note["content"]


def test_a_hierarchy_is_reorganized(evaluate):
    answer = evaluate(
        """
        const parent = 'project/greenhouse';
        for (const child_id of ['idea/bee-hotel', 'idea/bike-organ-bank'])
          await hierarchy.addSubnote({parent_id: parent, child_id});
        """
        + REORGANIZE_HIERARCHY
        + """
        const done = await reorganizeHierarchy(parent, [
          {id: 'person/oona', position: 1}, {id: 'idea/bee-hotel', position: 0}]);
        return {done, children: (await hierarchy.getChildren(parent)).map((c) => c.child_id)};
        """
    )
    assert answer["success"], answer
    assert answer["result"]["done"] == [
        {"operation": "removed", "childId": "idea/bike-organ-bank"},
        {"operation": "added", "childId": "person/oona", "position": 1},
        {"operation": "added", "childId": "idea/bee-hotel", "position": 0}]
    assert answer["result"]["children"] == ["person/oona", "idea/bee-hotel"]


def test_the_network_of_notes_is_analysed(evaluate, vault):
    answer = evaluate(ANALYZE_NETWORK + "return analyzeNoteNetwork()")
    assert answer["success"], answer
    network = answer["result"]
    nodes = {n["id"]: n for n in network["nodes"]}
    assert len(nodes) == len(list(vault.rglob("*.md")))
    greenhouse = nodes["project/greenhouse"]
    assert greenhouse["incomingLinks"] >= 7 and greenhouse["outgoingLinks"] >= 2
    assert all(0 <= n["clusteringCoefficient"] <= 1 for n in nodes.values())
    assert sum(n["outgoingLinks"] for n in nodes.values()) == len(network["edges"])
    assert {e["type"] for e in network["edges"]} == {"content_link"}
    assert set(network["clusters"]) == {n["type"] for n in nodes.values()}
    central = [n["centrality"] for n in network["centralNodes"]]
    assert central == sorted(central, reverse=True) and all(c > 5 for c in central)


def plain(code):
    """Without its types."""
    return code.replace("(date?: string, content?: string): Promise<Note>", "(date, content)").replace(
        "note!", "note")


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_the_daily_note_is_made_and_then_added_to(cloche, vault, language):
    code = DAILY_NOTE if language == "typescript" else plain(DAILY_NOTE)

    def run(call):
        words = [cloche, "eval", "--vault", str(vault), "--lang", language, "-"]
        done = subprocess.run(words, input=code + f"return await {call}", capture_output=True,
                              text=True, timeout=120)
        answer = json.loads(done.stdout)
        assert answer["success"], answer
        return answer["result"]

    made = run("createOrUpdateDailyNote('2024-01-15', 'Meeting notes')")
    assert made["id"] == "daily-note/2024-01-15"
    found = run("createOrUpdateDailyNote('2024-01-15', 'More of it')")
    assert found["id"] == made["id"]
    text = (vault / "daily-note" / "2024-01-15.md").read_text()
    assert text.rstrip().endswith("Meeting notes\n\nMore of it")
