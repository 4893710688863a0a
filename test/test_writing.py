"""Renames, sections, history and batches, used by an agent's code."""
from wire import call, initialize


def run(stdio, code, **options):
    if not getattr(stdio, "opened", False):
        stdio.ask(initialize())
        stdio.opened = True
    answer = stdio.ask(call("evaluate_note_code", {"code": code} | options, id=7))
    return answer["result"]["structuredContent"]


def test_what_the_code_has_read_may_be_renamed_moved_and_edited(stdio, vault):
    (vault / "project").mkdir(exist_ok=True)
    (vault / "project" / "Old.md").write_text("## Tasks\n\n- one\n")
    (vault / "Link.md").write_text("[[Old]] `[[Old]]`\n")
    outcome = run(stdio, """
        const note = await notes.get('project/Old');
        const {new_id} = await notes.rename({identifier: note.id, new_title: 'New'});
        const moved = await notes.move({identifier: new_id, new_type: 'done'});
        await notes.updateSection({identifier: moved.new_id, heading: 'Tasks',
                                   content: '- two', mode: 'append'});
        return (await notes.history(moved.new_id)).map((r) => [r.author, r.action]);""")
    assert outcome["success"], outcome["error"]
    assert outcome["result"] == [["stdio", "update"], ["stdio", "move"], ["stdio", "rename"],
                                 ["external", "external"]]
    assert (vault / "done" / "New.md").read_text() == "## Tasks\n\n- one\n- two\n"
    assert (vault / "Link.md").read_text() == "[[New]] `[[Old]]`\n"


def test_what_it_has_not_read_or_another_changed_is_refused(stdio, vault):
    note = vault / "A.md"
    note.write_text("## H\n\none\n")
    change = "notes.updateSection({identifier: 'A.md', heading: 'H', content: 'x'})"
    assert run(stdio, f"await {change}")["errorDetails"]["type"] == "InvalidInput"
    outcome = run(stdio, f"const n = await notes.get('A.md'); await {change}; "
                         f"await notes.get('A.md'); await {change}; return 1")
    assert outcome["success"], outcome["error"]
    hash = run(stdio, "return (await notes.get('A.md')).content_hash")["result"]
    note.write_text("by another program")
    outcome = run(stdio, "await notes.rename({identifier: 'A.md', new_title: 'B', "
                         f"content_hash: '{hash}'}})")
    assert outcome["errorDetails"]["type"] == "Conflict"
    assert hash in outcome["error"]
    assert note.read_text() == "by another program"


def test_a_batch_is_all_or_nothing_and_a_dry_run_is_nothing(stdio, vault):
    before = sorted(p.name for p in vault.rglob("*.md"))
    outcome = run(stdio, """
        const changes = [{action: 'create', title: 'One'}, {action: 'create', title: 'Two'}];
        const dry = await notes.batch({changes, dry_run: true});
        return [dry.dry_run, dry.changes.length, dry.changes.map((c) => c.action)];""")
    assert outcome["result"] == [True, 2, ["create", "create"]]
    outcome = run(stdio, "await notes.batch({changes: [{action: 'create', title: 'One'}, "
                         "{action: 'create', title: 'One'}]})")
    assert outcome["errorDetails"]["type"] == "Conflict"
    assert sorted(p.name for p in vault.rglob("*.md") if ".cloche" not in p.parts) == before


def test_the_trash_and_the_past_give_back(stdio, vault):
    (vault / "A.md").write_bytes(b"---\nx: [\n---\r\none\xff")
    outcome = run(stdio, """
        await notes.update({identifier: 'A.md', content: 'two', force: true});
        await notes.delete('A.md');
        const [last] = await notes.listTrash();
        await notes.restore({backup_path: last.backup_path});
        await notes.restore({identifier: 'A.md', revision: 1, force: true});
        return (await notes.getRevision({identifier: 'A.md', revision: 2})).content;""")
    assert outcome["success"], outcome["error"]
    assert outcome["result"] == "two"
    assert (vault / "A.md").read_bytes() == b"---\nx: [\n---\r\none\xff"


def test_of_deletions_in_one_second_the_last_one_is_listed_first(stdio):
    outcome = run(stdio, """
        const order = (all) => all.map((one) => one.size);
        for (let i = 0; i < 8; i++) {
            await notes.create({title: 'A', markdown: 'x'.repeat(100 + i)});
            await notes.delete('note/A');
        }
        const all = await notes.listTrash();
        return [order(all), order(await notes.listTrash({limit: 3, cursor: all[1].backup_path}))];""")
    assert outcome["success"], outcome["error"]
    sizes, page = outcome["result"]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 8
    assert page == sizes[2:5]


def test_of_deleted_notes_of_one_path_the_last_one_is_meant(stdio):
    outcome = run(stdio, """
        const make = (text) => notes.create({title: 'A', markdown: text});
        const away = async () => (await notes.delete('note/A')).backup_path;
        await make('first');
        const first = await away();
        await make('second');
        await away();
        const before = (await notes.getRevision({identifier: 'note/A', revision: 1})).content;
        await notes.restore({backup_path: first});
        await away();
        const after = (await notes.getRevision({identifier: 'note/A', revision: 1})).content;
        await notes.restore({identifier: 'note/A', revision: 1});
        return [before, after, (await notes.get('note/A')).content, (await notes.history('note/A')).length];""")
    assert outcome["success"], outcome["error"]
    assert outcome["result"] == ["second", "first", "first", 5]


def test_a_thousand_overwrites_end_nothing_that_a_person_wrote(stdio, vault):
    note = vault / "mine.md"
    note.write_text("what the person wrote")
    write = """for (let i = 0; i < 1030; i++)
                   await notes.update({identifier: 'mine.md', content: `overwritten ${i}`, force: true});
               return (await notes.history({identifier: 'mine.md', limit: 1000})).length"""
    outcome = run(stdio, write, timeout=30000)
    assert outcome["success"] and outcome["result"] == 1000, outcome
    assert note.read_text() == "overwritten 1029"
    texts = run(stdio, """return await Promise.all([1, 2, 1031].map(async (revision) =>
        (await notes.getRevision({identifier: 'mine.md', revision})).text))""")["result"]
    assert texts == ["what the person wrote", "overwritten 0", "overwritten 1029"]
    outcome = run(stdio, "await notes.restore({identifier: 'mine.md', revision: 1, force: true})")
    assert outcome['success'], outcome['error']
    assert note.read_text() == "what the person wrote"
