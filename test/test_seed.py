"""The proposal's own programs, run as they stand there, over a copy of the sample vault."""

import json
import subprocess

import pytest


@pytest.fixture
def evaluate(cloche, vault):
    """Runs code over the vault; its whole answer."""

    def run(code):
        words = [cloche, "eval", "--vault", str(vault), "-"]
        done = subprocess.run(words, input=code, capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)

    return run


CREATE = r"""
// Create new note with proper structure
const result = await notes.create({
  type: 'meeting',
  title: 'Weekly Standup',
  content: `# Weekly Standup - ${utils.formatDate(new Date())}

## Agenda
- Sprint progress
- Blockers
- Next steps`,
  metadata: {
    attendees: ['Alice', 'Bob', 'Charlie'],
    date: new Date().toISOString()
  }
});

return { success: true, noteInfo: result };
"""

BULK_UPDATE = r"""
// Bulk operations with proper error handling
async function bulkUpdate(identifiers, updateFn) {
  const results = [];

  for (const id of identifiers) {
    try {
      const note = await notes.get(id);
      if (!note) {
        results.push({ id, success: false, error: 'Note not found' });
        continue;
      }

      const updates = await updateFn(note);
      const result = await notes.update({
        identifier: id,
        content: updates.content || note.content,
        contentHash: note.content_hash,
        metadata: { ...note.metadata, ...updates.metadata }
      });

      results.push({ id, success: true, result });
    } catch (error) {
      results.push({ id, success: false, error: error.message });
    }
  }

  return results;
}
"""


def test_simple_note_creation_runs_and_leaves_the_note(evaluate, vault):
    answer = evaluate(CREATE)
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
