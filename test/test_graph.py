"""Links, hierarchy and relationships, used by code in an evaluation."""

import json
import subprocess

import pytest

from seed_programs import REORGANIZE_HIERARCHY


@pytest.fixture
def evaluate(cloche, tmp_path):
    """Runs code over a vault of its own; returns its whole answer."""
    vault = tmp_path / "notes"
    vault.mkdir()
    (vault / "project").mkdir()
    for name in "ABCD":
        (vault / "project" / f"{name}.md").write_text(f"---\nid: u-{name}\n---\n\n# {name}\n")

    def run(code):
        words = [cloche, "eval", "--vault", str(vault), "-"]
        done = subprocess.run(words, input=code, capture_output=True, text=True, timeout=120)
        answer = json.loads(done.stdout)
        assert answer["success"], answer
        return answer["result"]

    run.vault = vault
    return run


def test_the_proposals_reorganisation_runs_as_it_stands(evaluate):
    rows = evaluate(REORGANIZE_HIERARCHY + """
        await hierarchy.addSubnote({parent_id: 'project/A', child_id: 'project/D'});
        await reorganizeHierarchy('project/A', [
          {id: 'project/C', position: 1}, {id: 'project/B', position: 0}]);
        return hierarchy.getChildren('project/A');
    """)
    assert [(r["child_id"], r["position"]) for r in rows] == [("project/C", 0), ("project/B", 1)]
    assert "u-C" in (evaluate.vault / "project" / "A.md").read_text()


@pytest.mark.parametrize("given", ["", "contentHash: note.content_hash,"])
def test_a_note_read_before_its_list_changed_may_still_be_updated(evaluate, given):
    rows = evaluate(f"""
        const note = await notes.get('project/A');
        await hierarchy.addSubnote({{parent_id: note.id, child_id: 'project/B'}});
        await hierarchy.addSubnote({{parent_id: note.id, child_id: 'project/C'}});
        await notes.update({{identifier: note.id, content: 'new', {given}
                             metadata: {{...note.metadata, subnotes: undefined, seen: 1}}}});
        const again = await notes.get('project/A');
        await hierarchy.removeSubnote({{parent_id: note.id, child_id: 'project/B'}});
        await notes.update({{identifier: note.id, {given.replace("note.", "again.")}
                             metadata: {{...again.metadata, seen: 2}}}});
        const last = await notes.get('project/A');
        return [last.metadata.seen, last.content.trim(),
                (await hierarchy.getChildren('project/A')).map((r) => r.child_id)];
    """)
    assert rows == [2, "new", ["project/C"]]


def test_somebody_elses_change_in_between_is_still_a_conflict(evaluate):
    """Only a change of the list by this code itself is ignored."""
    caught = evaluate("""
        const note = await notes.get('project/A');
        await hierarchy.addSubnote({parent_id: note.id, child_id: 'project/B'});
        await notes.update({identifier: note.id, content: 'theirs', force: true});
        await hierarchy.addSubnote({parent_id: note.id, child_id: 'project/C'});
        try {
          await notes.update({identifier: note.id, content: 'ours',
                              contentHash: note.content_hash});
        } catch (e) { return e.name }
    """)
    assert caught == "Conflict"


def test_a_link_of_another_program_is_seen_by_the_next_call(evaluate):
    (evaluate.vault / "project" / "B.md").write_text("[[project/A#x|see]] `[[C]]`\n")
    assert evaluate("return links.getBacklinks('u-A')") == [{
        "source_note_id": "project/B", "target_note_id": "project/A", "target": "project/A",
        "link_text": "see", "link_type": "wiki", "line": 1}]
    assert evaluate("return links.getBacklinks('project/C')") == []


def test_the_network_analysis_of_the_proposal_answers_numbers(evaluate):
    (evaluate.vault / "project" / "B.md").write_text("[[A]] [[C]] https://example.com\n")
    (evaluate.vault / "project" / "C.md").write_text("[[A]]\n")
    nodes = evaluate("""
        const nodes = [];
        for (const info of await notes.list({ limit: 1000 })) {
          const noteLinks = await links.getForNote(info.id);
          const relatedNotes = await relationships.getRelated({
            note_id: info.id, max_results: 10 });
          nodes.push([info.id, noteLinks.outgoing_internal.length, noteLinks.incoming.length,
            noteLinks.outgoing_external.length, relatedNotes.length,
            await relationships.getClusteringCoefficient(info.id)]);
        }
        return nodes.sort((a, b) => a[0] < b[0] ? -1 : 1);
    """)
    assert nodes == [["project/A", 0, 2, 0, 2, 1], ["project/B", 2, 0, 1, 2, 1],
                     ["project/C", 1, 1, 0, 2, 1], ["project/D", 0, 0, 0, 0, 0]]
    way = evaluate("return relationships.findPath({start_note_id: 'project/C', "
                   "end_note_id: 'project/B'})")
    assert way == [{"noteId": "project/C", "relationship": "start"},
                   {"noteId": "project/B", "relationship": "backlink"}]
    assert evaluate("return relationships.findPath({start_note_id: 'project/C', "
                    "end_note_id: 'project/D'})") is None


def test_a_types_schema_does_not_forbid_the_hierarchy(evaluate):
    assert evaluate("""
        await noteTypes.create({type_name: 'project', description: 'strict', metadata_schema: {
          type: 'object', properties: {a: {type: 'string'}}, additionalProperties: false}});
        await hierarchy.addSubnote({parent_id: 'project/A', child_id: 'project/B'});
        try {
          await notes.update({identifier: 'project/A', metadata: {b: 1}, force: true});
        } catch (e) { return e.name }
    """) == "InvalidInput"
    assert len(evaluate("return hierarchy.getChildren('project/A')")) == 1
