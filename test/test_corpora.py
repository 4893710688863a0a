"""Vaults of Obsidian, Logseq, Foam and Zettlr: an agent works in each, and by the program's own rules nothing is
broken, every other byte is as it was, and an undo brings all of it back."""
import json
import os
import subprocess

import pytest

import corpora
from conftest import ROOT

BIN = os.environ.get("CLOCHE_BIN", ROOT / "build" / "cloche")

WORK = """
const done = {};
done.before = (await links.findBroken()).map((l) => `${l.source_note_id} ${l.target} ${l.reason}`);
const bed = await notes.get(name);
await notes.rename({identifier: bed.id, new_title: title, force: true});
if (folder) await notes.move({identifier: title, folder, force: true});
await notes.renameTag({tag: 'garden', new_tag: 'plot'});
for (const link of (await links.findBroken()).filter((l) => l.reason === 'missing')) {
  const note = await notes.get({identifier: link.source_note_id, markdown: true});
  const markdown = note.markdown.replace(`[[${link.target}`, `[[${title}`);
  await notes.update({identifier: note.id, markdown, force: true});
}
const day = await notes.daily({date: '2026-03-02', create: true});
const today = await notes.get({identifier: day.path, markdown: true});
const open = (await notes.tasks({status: 'open'})).filter((t) => t.path !== day.path);
await notes.update({identifier: today.id, force: true,
  markdown: today.markdown + open.map((t) => `- ${t.text}\\n`).join('')});
if (picture) await attachments.move({path: picture[0], to: picture[1]});
done.tasks = open.map((t) => t.text);
done.day = day.path;
done.after = (await links.findBroken()).map((l) => `${l.source_note_id} ${l.target} ${l.reason}`);
return done;
"""


def run(vault, *words):
    done = subprocess.run([BIN, words[0], "--vault", vault, *words[1:]], text=True, capture_output=True,
                          timeout=120, env=os.environ | {"TZ": "Pacific/Auckland"})
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def read(vault):
    return {str(p.relative_to(vault)): p.read_bytes().decode("utf-8") for p in sorted(vault.rglob("*"))
            if p.is_file() and ".cloche" not in p.parts}


def edited(files, moved, edits):
    """The files with these names and these replacements, each of which is there."""
    out = {}
    for path, text in files.items():
        for old, new in edits.get(path, ()):
            assert old in text, (path, old)
            text = text.replace(old, new)
        out[moved.get(path, path)] = text
    return out


CASES = {
    "obsidian": dict(
        files=corpora.OBSIDIAN, broken=corpora.broken_obsidian, name="Beds", title="Raised beds", folder="Garden/2026",
        picture=["img/plan b.png", "img/plan c.png"], first=["Inbox/Loose Bedz missing"],
        tasks=["dig 📅 2026-03-01 ⏫ #plot", "Bohnen kochen [due:: 2026-04-01]"], day="Journal/2026-03-02.md", day_begins="---\ntags: [daily]\n---\n# Monday, 2nd March\n",
        moved={"Garden/Beds.md": "Garden/2026/Raised beds.md", "img/plan b.png": "img/plan c.png"},
        edits={
            "Garden/Beds.md": [("garden/beds", "plot/beds"), ("#garden\n", "#plot\n")],
            "Garden/Garden map.md": [
                ("![[Beds#Soil & water]] [[beds|the first]] [[Garden/Beds#^clay]]",
                 "![[Raised beds#Soil & water]] [[Raised beds|the first]] [[Garden/2026/Raised beds#^clay]]"),
                ("See [[Beds]]", "See [[Raised beds]]"), ("(Beds.md#soil--water)", "(2026/Raised%20beds.md#soil--water)"),
                ("plan%20b.png", "plan%20c.png"), ("[[Beds\\|bed]] | #garden/map", "[[Raised beds\\|bed]] | #plot/map"),
                ("[ref][b]. #garden", "[ref][b]. #plot"), ("In [[Beds]].", "In [[Raised beds]]."),
                ("<Beds.md>", "<2026/Raised beds.md>")],
            "Küche/Rezepte.md": [("[[Beds]]", "[[Raised beds]]"), ("plan b.png", "plan c.png")],
            "Inbox/Loose.md": [("[[Bedz]]", "[[Raised beds]]")],
            "Map.canvas": [("Garden/Beds.md", "Garden/2026/Raised beds.md"), ("[[Beds]]", "[[Raised beds]]"),
                           ("plan b.png", "plan c.png")]}),
    "logseq": dict(
        files=corpora.LOGSEQ, broken=corpora.broken_logseq, name="Beds", title="Raised beds", folder=None,
        picture=["assets/plan_1.png", "assets/plan_2.png"], first=["pages/garden___Map Bedz missing"],
        tasks=["water [[Raised beds]]", "[#A] dig #plot"], day="journals/2026_03_02.md", day_begins="",
        moved={"pages/Beds.md": "pages/Raised beds.md", "assets/plan_1.png": "assets/plan_2.png"},
        edits={
            "pages/Beds.md": [("dig #garden", "dig #plot")],
            "pages/garden___Map.md": [
                ("see [[Beds]]", "see [[Raised beds]]"), ("{{embed [[Beds]]}} [label]([[Beds]])",
                                                         "{{embed [[Raised beds]]}} [label]([[Raised beds]])"),
                ("plan_1", "plan_2"), ("[[Bedz]] #garden/map", "[[Raised beds]] #plot/map")],
            "journals/2026_03_01.md": [("water [[Beds]]", "water [[Raised beds]]")]}),
    "foam": dict(
        files=corpora.FOAM, broken=corpora.broken_plain, name="beds", title="raised", folder="plots",
        picture=["attachments/plan.png", "attachments/plan-1.png"], first=["garden/map bedz missing"],
        tasks=["dig 📅 2026-03-01"], day="journal/2026-03-02.md", day_begins="---\n",
        moved={"garden/beds.md": "plots/raised.md", "attachments/plan.png": "attachments/plan-1.png"},
        edits={
            "garden/beds.md": [("tags: garden,", "tags: plot,"), ("# Raised beds", "# raised")],
            "garden/map.md": [
                ("See [[beds]] and [[beds#Soil|the soil]], [raised](beds.md#soil), ![[beds]].",
                 "See [[raised]] and [[raised#Soil|the soil]], [raised](../plots/raised.md#soil), ![[raised]]."),
                ("plan.png) [[bedz]] #garden", "plan-1.png) [[raised]] #plot"), ("[beds]: beds.md", "[beds]: ../plots/raised.md")],
            "inbox.md": [("- [[beds]] <", "- [[raised]] <"), ("garden/beds.md", "plots/raised.md")]}),
    "zettlr": dict(
        files=corpora.ZETTLR, broken=corpora.broken_plain, name="beds", title="raised", folder=None,
        picture=["assets/plan.png", "assets/plan-1.png"], first=["note/map bedz missing"],
        tasks=["dig 📅 2026-03-01"], day="2026-03-02.md", day_begins="---\n",
        moved={"beds.md": "raised.md", "assets/plan.png": "assets/plan-1.png"},
        edits={
            "beds.md": [("  - garden\n", "  - plot\n"), ("title: \"Raised beds\"", "title: raised")],
            "map.md": [("See [[beds]] and [[beds|the beds]] and [soil](./beds.md#soil", "See [[raised]] and [[raised|the beds]] and [soil](./raised.md#soil"),
                       ("[[bedz]]. #garden ", "[[raised]]. #plot "), ("plan.png", "plan-1.png"),
                       ("::: note\n[[beds]]", "::: note\n[[raised]]")],
            "deep/er/note.md": [("../../beds.md) [[beds]]", "../../raised.md) [[raised]]")]}),
}


@pytest.fixture(params=sorted(CASES))
def case(request, tmp_path):
    case = dict(CASES[request.param])
    vault = case["vault"] = tmp_path / "vault"
    for path, text in case["files"].items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_bytes(text.encode())
    return case


def test_an_agents_work_breaks_nothing_and_is_undone(case):
    vault, files = case["vault"], case["files"]
    assert len(case["broken"](files)) == 1
    context = json.dumps({k: case[k] for k in ("name", "title", "folder", "picture")})
    done = json.loads(run(vault, "eval", "--context", context, "-e", WORK))
    assert done["success"], done
    result = done["result"]
    assert result["before"] == case["first"]
    assert result["after"] == []
    assert result["tasks"] == case["tasks"]
    now = read(vault)
    assert result["day"] == case["day"]
    day = now.pop(case["day"])
    assert day.startswith(case["day_begins"]) and all(f"- {task}\n" in day for task in case["tasks"])
    assert now == edited(files, case["moved"], case["edits"])
    assert case["broken"](now | {case["day"]: day}) == []
    run(vault, "undo", "--since", "1h")
    assert read(vault) == files


def test_every_note_is_read_and_written_back_byte_for_byte(case):
    code = """
      let n = 0;
      for (const row of await notes.list({limit: 1000})) {
        const note = await notes.get({identifier: row.path, markdown: true});
        await notes.update({identifier: row.path, markdown: note.markdown + 'x', force: true});
        await notes.update({identifier: row.path, markdown: note.markdown, force: true});
        n++;
      }
      return n"""
    done = json.loads(run(case["vault"], "eval", "-e", code))
    assert done["result"] == sum(p.endswith(".md") and not p.startswith((".", "Templates/", "logseq/", "drafts/"))
                                 for p in case["files"])
    assert read(case["vault"]) == case["files"]
