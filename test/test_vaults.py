"""Vaults: the user's list, given ones, and code that switches between them."""
import json
import shutil
import subprocess

import pytest

from wire import Server, Stdio, call, delete_while_served, initialize, structured


def run(cloche, *words, **how):
    return subprocess.run([cloche, *map(str, words)], capture_output=True, text=True, **how)


def evaluate(cloche, code, *words):
    done = run(cloche, "eval", *words, "-e", code)
    answer = json.loads(done.stdout)
    assert answer["success"], answer
    return answer["result"]


def refused(cloche, code, *words):
    answer = json.loads(run(cloche, "eval", *words, "-e", code).stdout)
    assert not answer["success"]
    return answer["errorDetails"]


@pytest.fixture
def two(tmp_path):
    """Two vaults with one note each."""
    for name in "ab":
        (tmp_path / name / "x").mkdir(parents=True)
        (tmp_path / name / "x" / f"in {name}.md").write_text(f"# in {name}\n")
    return tmp_path / "a", tmp_path / "b"


IDS = "return (await notes.list()).map((n) => n.id)"


def test_without_any_vault_notes_say_what_to_do(cloche):
    error = refused(cloche, "await notes.list()")
    assert error["code"] == "NO_VAULT" and "cloche vault add" in error["message"]
    assert evaluate(cloche, "return [await vaults.getCurrent(), await vaults.list()]") == [None, []]


def test_a_person_keeps_the_list(cloche, two):
    assert run(cloche, "vault", "add", two[0]).stdout == "a\n"
    assert run(cloche, "vault", "add", two[1], "--id", "second", "--name", "The second").stdout \
        == "second\n"
    rows = json.loads(run(cloche, "vault", "list", "--json").stdout)
    assert [(r["id"], r["name"], r["path"], r["current"]) for r in rows] == [
        ("a", "a", str(two[0]), True), ("second", "The second", str(two[1]), False)]
    assert evaluate(cloche, IDS) == ["x/in a"]
    assert run(cloche, "vault", "use", "second").returncode == 0
    assert evaluate(cloche, IDS) == ["x/in b"]
    assert run(cloche, "vault", "remove", "second").returncode == 0
    assert (two[1] / "x" / "in b.md").exists()
    again = run(cloche, "vault", "add", two[0])
    assert again.returncode == 1 and '"a" already' in again.stderr
    missing = run(cloche, "vault", "add", two[0] / "none")
    assert missing.returncode == 1
    wrong = run(cloche, "vault", "drop", "a")
    assert wrong.returncode == 2 and "list, add, use, remove" in wrong.stderr


def test_a_link_to_a_listed_folder_is_that_folder(cloche, two, tmp_path):
    run(cloche, "vault", "add", two[0])
    (tmp_path / "link").symlink_to(two[0])
    assert run(cloche, "vault", "add", tmp_path / "link").returncode == 1


def test_the_rows_have_the_shape_that_was_promised(cloche, two):
    run(cloche, "vault", "add", two[0], "--description", "first")
    row = evaluate(cloche, "return await vaults.getCurrent()")
    assert list(row) == ["id", "name", "path", "description", "last_accessed", "created"]
    assert row["description"] == "first"
    assert evaluate(cloche, "return await vaults.list()") == [row]


def test_code_makes_a_vault_where_it_may(cloche, tmp_path):
    made = evaluate(cloche, """
        const made = await vaults.create({id: 'work', name: 'Work', path: 'deep/work',
                                          description: 'paid', switch_to: true});
        await notes.create({type: 'x', title: 'one', content: ''});
        return [made, await vaults.getCurrent()]""")
    assert made[0] == made[1] and made[0]["id"] == "work"
    assert made[0]["path"] == str(tmp_path / "data/cloche/vaults/deep/work")
    assert (tmp_path / "data/cloche/vaults/deep/work/x/one.md").exists()
    # The user's next command finds the vault that the code switched to.
    assert evaluate(cloche, IDS) == ["x/one"]


@pytest.mark.parametrize("path", ["/etc", "../out", "a/../../out", ".hidden", "/tmp/x", ""])
def test_code_registers_no_other_folder(cloche, path):
    error = refused(cloche, f"await vaults.create({{id: 'w', name: 'W', path: {path!r}}})")
    assert error["type"] == "PermissionDenied" and "cloche vault add" in error["message"]


def test_a_root_that_was_given_allows_more(cloche, tmp_path):
    (tmp_path / "root").mkdir()
    made = evaluate(cloche, "return await vaults.create({id: 'w', name: 'W', path: "
                            f"{str(tmp_path / 'root' / 'w')!r}}})",
                    "--vault-root", tmp_path / "root")
    assert made["path"] == str(tmp_path / "root" / "w")


def test_vaults_share_no_notes(cloche):
    error = refused(cloche, """
        await vaults.create({id: 'a', name: 'A', path: 'a'});
        await vaults.create({id: 'b', name: 'B', path: 'a/b'})""")
    assert error["code"] == "CONFLICT" and "within" in error["message"]


@pytest.mark.parametrize("options, part", [
    ("{id: 'a b', name: 'n', path: 'p'}", "letters, digits"),
    ("{id: 'a', name: '', path: 'p'}", "name"),
    ("{id: 'a', name: 'n'}", "path"),
    ("{id: 'a', name: 'n', path: 'p', color: 1}", "color"),
    ("{id: 'a', name: 'n', path: 'p', description: 'x'.repeat(2001)}", "2001"),
    ("{id: 'a', name: 3, path: 'p'}", "name"),
    ("'a'", "object"),
])
def test_what_is_no_vault_is_refused(cloche, options, part):
    error = refused(cloche, f"await vaults.create({options})")
    assert error["code"] == "INVALID" and part in error["message"]
    assert evaluate(cloche, "return await vaults.list()") == []


def test_an_id_that_is_taken_is_a_conflict_and_initialize_false_wants_a_folder(cloche):
    create = "await vaults.create({id: 'a', name: 'A', path: %s});"
    assert refused(cloche, create % "'a'" + create % "'b'")["code"] == "CONFLICT"
    error = refused(cloche, "await vaults.create({id: 'c', name: 'C', path: 'c', initialize: false})")
    assert error["code"] == "NOT_FOUND"


def test_update_and_remove(cloche, tmp_path):
    result = evaluate(cloche, """
        await vaults.create({id: 'a', name: 'A', path: 'a', switch_to: true});
        const nothing = [await vaults.update({id: 'a', name: 'AA', description: 'd'})];
        const row = await vaults.getCurrent();
        nothing.push(await vaults.remove('a'));
        const error = await notes.list().catch((e) => e.name);
        return [nothing, row.name, row.description, await vaults.list(), error,
                await vaults.getCurrent()]""")
    assert result == [[None, None], "AA", "d", [], "NoVault", None]
    assert (tmp_path / "data/cloche/vaults/a").is_dir()
    assert refused(cloche, "await vaults.remove('a')")["code"] == "NOT_FOUND"
    assert refused(cloche, "await vaults.update({id: 'a'})")["code"] == "INVALID"


def test_given_vaults_are_all_there_is(cloche, two):
    run(cloche, "vault", "add", two[1])
    words = ["--vault", two[0]]
    assert [v["id"] for v in evaluate(cloche, "return await vaults.list()", *words)] == ["a"]
    error = refused(cloche, "await vaults.switch('b')", *words)
    assert error["code"] == "NOT_FOUND" and "there are: a" in error["message"]
    error = refused(cloche, "await vaults.remove('a')", *words)
    assert error["code"] == "INVALID" and "--vault" in error["message"]
    both = evaluate(cloche, f"""
        const seen = [await (async () => {{{IDS}}})()];
        await vaults.switch('b');
        return [...seen, await (async () => {{{IDS}}})()]""", *words, "--vault", two[1])
    assert both == [["x/in a"], ["x/in b"]]
    made = evaluate(cloche, """
        await vaults.create({id: 'c', name: 'C', path: 'c'});
        return (await vaults.list()).map((v) => v.id)""", *words)
    assert made == ["a", "c"]
    # A switch among given vaults changes no list.
    assert [v["current"] for v in json.loads(run(cloche, "vault", "list", "--json").stdout)] \
        == [True, False]


def test_one_folder_that_is_given_twice_is_one_vault(cloche, two):
    words = ["--vault", two[0], "--vault", str(two[0]) + "/"]
    assert len(evaluate(cloche, "return await vaults.list()", *words)) == 1


def test_a_vault_that_has_gone_is_no_place_to_go_to(cloche, two):
    run(cloche, "vault", "add", two[0])
    run(cloche, "vault", "add", two[1])
    shutil.rmtree(two[1])
    result = evaluate(cloche, "const why = await vaults.switch('b').catch((e) => e.message);"
                              "return [why, (await notes.list()).length]")
    assert '"b" cannot be opened' in result[0] and result[1] == 1


def test_a_note_that_was_read_in_one_vault_is_not_known_in_another(cloche, two):
    for folder in two:
        (folder / "x" / "same.md").write_text("one\n")
    words = ["--vault", two[0], "--vault", two[1]]
    error = refused(cloche, """
        await notes.get('x/same'); await vaults.switch('b');
        await notes.update({identifier: 'x/same', content: 'two'})""", *words)
    assert error["code"] == "INVALID" and "contentHash" in error["message"]


def test_a_damaged_list_is_named(cloche, two, tmp_path):
    run(cloche, "vault", "add", two[0])
    (tmp_path / "config/cloche/vaults.json").write_text("{")
    listed = run(cloche, "vault", "list")
    assert listed.returncode == 2 and "vaults.json" in listed.stderr
    assert "vaults.json" in refused(cloche, "await notes.list()")["message"]
    # Whoever is given a vault needs no list.
    assert evaluate(cloche, IDS, "--vault", two[0]) == ["x/in a"]


def test_levels_below_full_know_no_vaults(cloche, two):
    error = refused(cloche, "await vaults.list()", "--vault", two[0], "--level", "limited")
    assert error["code"] == "DENIED"


def asked(client, code):
    answer = structured(client.ask(call("evaluate_note_code", {"code": code}, id=code)))
    assert answer["success"], answer
    return answer["result"]


def test_over_stdio_a_switch_lasts(cloche, two):
    words = ["--vault", str(two[0]), "--vault", str(two[1])]
    with Stdio([cloche, "mcp", *words]) as client:
        client.ask(initialize())
        assert asked(client, IDS) == ["x/in a"]
        asked(client, "await vaults.switch('b')")
        assert asked(client, IDS) == ["x/in b"]
        got = structured(client.ask(call("search_notes", {"query": "in"})))
        assert [r["id"] for r in got["results"]] == ["x/in b"]


def test_over_http_ones_switch_moves_nobody_else(cloche, two):
    words = ["--vault", str(two[0]), "--vault", str(two[1]), "--listen", "127.0.0.1:0"]
    with Server([cloche, "serve", *words]) as server:
        one, other = server.session(), server.session()

        def ids(headers, code=IDS):
            return structured(server.post(call("evaluate_note_code", {"code": code}),
                                          headers).json())["result"]
        ids(one, "await vaults.switch('b')")
        assert ids(one) == ["x/in b"]
        assert ids(other) == ["x/in a"]
        # A request of no session begins anew.
        assert ids({}, "await vaults.switch('b');" + IDS) == ["x/in b"]
        assert ids({}) == ["x/in a"]


def test_evaluations_at_once_work_in_their_own_vaults(cloche, two):
    code = """
        await vaults.switch(where);
        const seen = new Set();
        for (let i = 0; i < 200; i++) (await notes.list()).forEach((n) => seen.add(n.id));
        return [...seen]"""
    words = ["--vault", str(two[0]), "--vault", str(two[1])]
    with Stdio([cloche, "mcp", *words]) as client:
        client.ask(initialize())
        for i in range(8):
            client.send(call("evaluate_note_code", {"code": code, "context": {"where": "ab"[i % 2]}},
                             id=100 + i))
        for _ in range(8):
            answer = client.receive()
            assert structured(answer)["result"] == [f"x/in {'ab'[answer['id'] % 2]}"]


def test_a_vault_that_is_deleted_while_it_is_served_is_missed_and_found_again(cloche, two):
    with Stdio([cloche, "mcp", "--vault", str(two[0])]) as client:
        client.ask(initialize())
        assert asked(client, IDS) == ["x/in a"]
        delete_while_served(two[0])
        failed = structured(client.ask(call("evaluate_note_code", {"code": IDS}, id=7)))
        assert failed["errorDetails"]["code"] == "NOT_FOUND"
        assert str(two[0]) in failed["errorDetails"]["message"]
        (two[0] / "y").mkdir(parents=True)
        (two[0] / "y" / "new.md").write_text("new\n")
        assert asked(client, IDS) == ["y/new"]
