"""The proposals' programs in Python have the results that they have in JavaScript."""
import json
import subprocess

import pytest

import seed_programs as script
import seed_programs_python as python
from conftest import ROOT, sample_vault
from needs import installed

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", by="make python")


@pytest.fixture
def both(cloche, tmp_path):
    """Runs a program in each language, over a vault of its own."""

    def run(in_javascript, in_python):
        results = []
        for language, code in (("javascript", in_javascript), ("python", in_python)):
            (tmp_path / language).mkdir(exist_ok=True)
            vault = sample_vault(tmp_path / language) if not (tmp_path / language / "vault").exists() \
                else tmp_path / language / "vault"
            done = subprocess.run([cloche, "eval", "--vault", str(vault), "--lang", language, "-"], input=code,
                                  capture_output=True, text=True, timeout=120)
            answer = json.loads(done.stdout)
            assert answer["success"], answer
            results.append(answer["result"])
        return results

    return run


def same_but_times(value):
    """Without what tells when something was done."""
    if isinstance(value, dict):
        return {k: same_but_times(v) for k, v in value.items()
                if k not in ("created", "updated", "timestamp", "content_hash", "contentHash", "new_content_hash")}
    return [same_but_times(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("criteria", [
    {}, {"contentContains": "foundation: 22 old kerb stones"}, {"metadata": {"owner": "Marta", "budget": 900}},
    {"hasLinksTo": ["project/greenhouse"]}])
def test_advanced_search(both, criteria):
    theirs, ours = both(f"{script.ADVANCED_SEARCH}\nreturn advancedSearch({json.dumps(criteria)})",
                        f"{python.ADVANCED_SEARCH}\nreturn advanced_search({criteria!r})")
    assert ours == theirs and ours


def test_bulk_update(both):
    theirs, ours = both(
        script.BULK_UPDATE + "const ids = (await notes.list({typeName: 'project'})).map((n) => n.id).sort();\n"
        "return bulkUpdate([...ids, 'project/missing'], (n) => ({content: n.content + '\\n\\nReviewed.', metadata: {reviewed: true}}))",
        python.BULK_UPDATE + "ids = sorted(n.id for n in notes.list(type_name='project'))\n"
        "return bulk_update([*ids, 'project/missing'], lambda n: {'content': n.content + '\\n\\nReviewed.', 'metadata': {'reviewed': True}})")
    assert same_but_times(ours) == same_but_times(theirs)
    theirs, ours = both("return (await notes.get('project/greenhouse')).content", "return notes.get('project/greenhouse').content")
    assert ours == theirs and ours.rstrip().endswith("Reviewed.")


def test_reorganize_hierarchy(both):
    theirs, ours = both(
        "for (const child_id of ['idea/bee-hotel', 'idea/bike-organ-bank'])\n"
        "  await hierarchy.addSubnote({parent_id: 'project/greenhouse', child_id});\n" + script.REORGANIZE_HIERARCHY +
        "const done = await reorganizeHierarchy('project/greenhouse', [{id: 'person/oona', position: 1}, {id: 'idea/bee-hotel', position: 0}]);\n"
        "return [done, (await hierarchy.getChildren('project/greenhouse')).map((c) => c.child_id)]",
        "for child in ('idea/bee-hotel', 'idea/bike-organ-bank'):\n"
        "    hierarchy.add_subnote(parent_id='project/greenhouse', child_id=child)\n" + python.REORGANIZE_HIERARCHY +
        "done = reorganize_hierarchy('project/greenhouse', [{'id': 'person/oona', 'position': 1}, {'id': 'idea/bee-hotel', 'position': 0}])\n"
        "return [done, [c.child_id for c in hierarchy.get_children('project/greenhouse')]]")
    assert ours == theirs and ours[1] == ["person/oona", "idea/bee-hotel"]


def test_analyze_network(both):
    theirs, ours = both(script.ANALYZE_NETWORK + "return analyzeNoteNetwork()", python.ANALYZE_NETWORK + "return await analyze_note_network()")
    assert ours == theirs and len(ours["nodes"]) > 20


def test_meetings(both):
    """The proposal's program looks at the last month alone, and orders what is equal as it came."""
    code = script.SEARCH_AND_ANALYSIS.replace("Date.now() - 30", "Date.now() - 36500").replace(
        "([, a], [, b]) => b - a", "([m, a], [n, b]) => b - a || (m < n ? -1 : 1)").replace(
        "(a, b) => b.linkCount - a.linkCount", "(a, b) => b.linkCount - a.linkCount || (a.id < b.id ? -1 : 1)")
    theirs, ours = both(code, python.MEETINGS)
    assert ours == theirs and ours["totalMeetings"] == 7


def test_batch_operations(both):
    theirs, ours = both(script.BATCH_OPERATIONS, python.BATCH_OPERATIONS)
    assert sorted((d["id"], d["success"]) for d in theirs["details"]) == sorted((d["id"], d["success"]) for d in ours)
    assert any(d["success"] for d in ours)
