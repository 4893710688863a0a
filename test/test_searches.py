"""The further searches: by conditions, by plain text, by SQL."""
import json
import subprocess

import pytest

NOTES = {
    "task/a": ("2026-01-01", "2026-02-01", {"status": "open", "priority": 3, "who": ["Ann", "Bo"],
                                            "deep": {"er": "x"}, "tags": ["home", "Red"]},
               "Paint the barrel. 50% done"),
    "task/b": ("2026-01-02", "2026-03-01", {"status": "done", "priority": 1, "due": "2026-05-01",
                                            "tags": ["home"]}, "Mend the roof"),
    "task/c": ("2026-01-03", "2026-04-01", {"status": "open", "priority": "3", "done": True},
               "Barrel, barrel \"never\" [[task/a]]"),
    "idea/d": ("2026-01-04", "2026-05-01", {"a.b": 1, "empty": None}, "nothing"),
}


@pytest.fixture
def run(cloche, tmp_path):
    vault = tmp_path / "v"
    for name, (created, updated, metadata, body) in NOTES.items():
        path = vault / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = "".join(f"{k}: {json.dumps(v)}\n" for k, v in metadata.items())
        path.write_text(f"---\ncreated: {created}\nupdated: {updated}\n{head}---\n{body}\n")

    def run(code, *words, success=True):
        done = subprocess.run([cloche, "eval", "--vault", str(vault), *words, "-e", code],
                              capture_output=True, text=True)
        answer = json.loads(done.stdout)
        assert answer["success"] == success, answer
        return answer["result"] if success else answer["errorDetails"]
    return run


def advanced(run, options):
    found = run(f"return await notes.searchAdvanced({options})")
    return "".join(r["id"][-1] for r in found["results"])


def test_the_shape(run):
    page = run("return await notes.searchAdvanced({query: 'barrel', limit: 1})")
    assert list(page) == ["results", "total", "has_more", "cursor", "query_time_ms"]
    assert (page["total"], page["has_more"]) == (2, True)
    assert list(page["results"][0]) == ["id", "title", "type", "created", "updated", "size",
                                        "tags", "path", "excerpt", "score"]
    last = run("const o = {query: 'barrel', limit: 1}; const p = await notes.searchAdvanced(o);"
               "return [p, await notes.searchAdvanced({...o, cursor: p.cursor})]")[1]
    assert last["has_more"] is False and "cursor" not in last and last["total"] == 2
    assert run("return (await notes.searchAdvanced()).total") == 4
    page = run("return await notes.searchAdvanced({type: 'task', sort: [{field: 'metadata.priority'},"
               "{field: 'metadata.deep.er'}], limit: 1})")
    assert (page["total"], page["results"][0]["id"]) == (3, "task/b")


@pytest.mark.parametrize("options, ids", [
    ("{}", "dcba"),
    ("{type: 'task'}", "cba"),
    ("{type: ['idea', 'none']}", "d"),
    ("{tags: 'HOME'}", "ba"),
    ("{tags: ['home', '#red']}", "a"),
    ("{metadata: {status: 'open'}}", "ca"),
    ("{metadata: {status: ['done', 'shut']}}", "b"),
    ("{metadata: {priority: 3}}", "a"),
    ("{metadata: {priority: '3'}}", "c"),
    ("{metadata: {done: true}}", "c"),
    ("{metadata: {who: 'Bo'}}", "a"),
    ("{metadata: {'deep.er': 'x'}}", "a"),
    ("{metadata: {'a.b': 1}}", "d"),
    ("{metadata_filters: [{key: 'empty', value: null}]}", "d"),
    ("{metadata_filters: [{key: 'priority', operator: '>=', value: 1}]}", "ba"),
    ("{metadata_filters: [{key: 'priority', operator: '<', value: 3}]}", "b"),
    ("{metadata_filters: [{key: 'due', operator: '<=', value: '2026-05-01'}]}", "b"),
    ("{metadata_filters: [{key: 'status', operator: '!=', value: 'open'}]}", "db"),
    ("{metadata_filters: [{key: 'who', operator: 'contains', value: 'an'}]}", "a"),
    ("{metadata_filters: [{key: 'priority', operator: 'in', value: [1, '3']}]}", "cb"),
    ("{metadata_filters: [{key: 'due', operator: 'exists'}]}", "b"),
    ("{metadata_filters: [{key: 'due', operator: 'exists', value: false}]}", "dca"),
    ("{content_contains: '50%'}", "a"),
    ("{content_contains: 'BARREL'}", "ca"),
    ("{created_after: '2026-01-02', created_before: '2026-01-04'}", "cb"),
    ("{updated_after: '2026-04-01T00:00:00Z'}", "dc"),
    ("{updated_before: '2026-03-01'}", "a"),
    ("{updated_within: '1m'}", ""),
    ("{updated_within: '50y'}", "dcba"),
    ("{sort: [{field: 'title', order: 'desc'}]}", "dcba"),
    ("{sort: [{field: 'created'}]}", "abcd"),
    ("{type: 'task', sort: [{field: 'metadata.status'}, {field: 'path', order: 'desc'}]}", "bca"),
    ("{query: 'barrel', sort: [{field: 'created', order: 'asc'}]}", "ac"),
    ("{query: '\"the barrel\"'}", "a"),
    ("{query: 'roo'}", "b"),
])
def test_conditions(run, options, ids):
    assert advanced(run, options) == ids


@pytest.mark.parametrize("options, part", [
    ("{foo: 1}", '"foo"'),
    ("{type: 3}", "type"),
    ("{tags: Array(51).fill('x')}", "at most 50"),
    ("{metadata: []}", "metadata"),
    ("{metadata: {x: {}}}", "boolean or null"),
    ("{metadata: {'': 1}}", "1 to 200"),
    ("{metadata_filters: {}}", "array"),
    ("{metadata_filters: Array(21).fill({key: 'a', value: 1})}", "at most 20"),
    ("{metadata_filters: [{key: 'a', value: 1, operator: 'like'}]}", "contains and exists"),
    ("{metadata_filters: [{key: 'a'}]}", "no value"),
    ("{metadata_filters: [{key: 'a', operator: '>', value: true}]}", "numbers or texts"),
    ("{metadata_filters: [{key: 'a', operator: 'in', value: 1}]}", "a list"),
    ("{metadata_filters: [{key: 'a', value: 'x'.repeat(1001)}]}", "1001"),
    ("{created_after: 'soon'}", "soon"),
    ("{updated_within: '7 days'}", "7d"),
    ("{sort: [{field: 'colour'}]}", "metadata.KEY"),
    ("{sort: [{field: 'title', order: 'up'}]}", "asc and desc"),
    ("{sort: [{field: 'score'}]}", "query"),
    ("{sort: Array(6).fill({field: 'title'})}", "at most 5"),
    ("{limit: 1001}", "1000"),
    ("{fields: ['colour']}", "content_hash"),
    ("{cursor: '1.0123456789abcdef'}", "same question"),
    ("{query: 'x'.repeat(1001)}", "1000"),
    ("{query: '%%%'}", "content_contains"),
])
def test_what_is_wrong_is_named(run, options, part):
    error = run(f"await notes.searchAdvanced({options})", success=False)
    assert error["code"] == "INVALID" and part in error["message"]


def test_fields_are_chosen(run):
    page = run("return (await notes.searchAdvanced({type: 'idea', fields: ['id', 'metadata',"
               "'filename', 'content_hash']})).results")
    assert list(page[0]) == ["id", "content_hash", "filename", "metadata"]
    assert page[0]["metadata"] == {"a.b": 1, "empty": None}
    assert run("return await notes.search({query: 'roof', fields: ['id', 'type']})") == [
        {"id": "task/b", "type": "task"}]
    assert "note_id" in run("await notes.search({query: 'x', fields: ['body']})",
                            success=False)["message"]


def test_searches_have_pages(run):
    ids = run("""const out = []; let cursor;
        for (;;) {
            const page = await notes.search({query: 'barrel', limit: 1, ...(cursor && {cursor})});
            if (!page.length) return out;
            out.push(cursor = page[0].id);
        }""")
    assert sorted(ids) == ["task/a", "task/c"]
    assert "cursor" in run("await notes.search({query: 'roof', cursor: 'task/none'})",
                           success=False)["message"]


def test_plain_text_has_no_signs(run):
    rows = run("return await notes.searchByText('barrel \"never')")
    assert [r["id"] for r in rows] == ["task/c"]
    assert list(rows[0]) == ["id", "note_id", "title", "excerpt", "score", "type", "created"]
    assert run("return await notes.searchByText({query: 'barrel', type: 'idea'})") == []
    assert run("return await notes.searchByText({query: '50%', fields: ['id']})") == [
        {"id": "task/a"}]
    assert run("await notes.searchByText({query: 'a', useRegex: true})",
               success=False)["code"] == "INVALID"


# ---- SQL ----------------------------------------------------------------------------------

def sql(run, query, more="", success=True):
    return run(f"return await notes.searchSQL({{query: {json.dumps(query)}{more}}})",
               success=success)


def test_sql_has_its_shape(run):
    answer = sql(run, "SELECT id, size > 0 AS big FROM notes ORDER BY id", ", limit: 2")
    assert list(answer) == ["columns", "rows", "row_count", "truncated", "query_time_ms"]
    assert answer["columns"] == ["id", "big"]
    assert answer["rows"] == [{"id": "idea/d", "big": 1}, {"id": "task/a", "big": 1}]
    assert (answer["row_count"], answer["truncated"]) == (2, True)


@pytest.mark.parametrize("query, rows", [
    ("SELECT title, type, path, filename, created, updated FROM notes WHERE id = 'task/a'",
     [{"title": "a", "type": "task", "path": "task/a.md", "filename": "a.md",
       "created": "2026-01-01T00:00:00.000Z", "updated": "2026-02-01T00:00:00.000Z"}]),
    ("SELECT content FROM notes WHERE content LIKE '%roof%'", [{"content": "Mend the roof\n"}]),
    ("SELECT note_id FROM tags WHERE tag = 'red'", [{"note_id": "task/a"}]),
    ("SELECT value, type FROM metadata WHERE key = 'priority' ORDER BY note_id",
     [{"value": 3, "type": "integer"}, {"value": 1, "type": "integer"},
      {"value": "3", "type": "text"}]),
    ("SELECT source_note_id, target_note_id, link_type, line FROM links",
     [{"source_note_id": "task/c", "target_note_id": "task/a", "link_type": "wiki", "line": 1}]),
    ("SELECT name, note_count FROM types", [{"name": "idea", "note_count": 1},
                                            {"name": "task", "note_count": 3}]),
    ("SELECT count(*) AS n FROM hierarchy", [{"n": 0}]),
    ("SELECT count(*) AS n FROM notes a, notes b JOIN tags", [{"n": 48}]),
    ("WITH t AS (SELECT id FROM notes) SELECT count(*) AS n FROM t", [{"n": 4}]),
    ("SELECT id, id FROM notes LIMIT 1", [{"id": "idea/d", "id_2": "idea/d"}]),
    ("SELECT 9007199254740993 AS big, x'00ff' AS bytes, NULL AS none",
     [{"big": "9007199254740993", "bytes": "00ff", "none": None}]),
    ("SELECT j.value AS who FROM notes, json_each(notes.metadata, '$.who') j",
     [{"who": "Ann"}, {"who": "Bo"}]),
    ("SELECT 1 AS one; -- done", [{"one": 1}]),
])
def test_sql_reads_the_views(run, query, rows):
    assert sql(run, query)["rows"] == rows


def test_sql_takes_parameters(run):
    ask = "SELECT id FROM notes WHERE type = ? AND size > ? ORDER BY id"
    assert len(sql(run, ask, ", params: ['task', 1]")["rows"]) == 3
    ask = "SELECT :a AS a, :b AS b"
    assert sql(run, ask, ", params: {a: true, b: 'x'}")["rows"] == [{"a": 1, "b": "x"}]
    for params in ("[1]", "{a: 1}", "{a: 1, b: 2, c: 3}", "[1, 2, 3]", "[[], 1]", "'x'"):
        error = sql(run, ask, f", params: {params}", success=False)
        assert error["code"] == "INVALID" and "param" in error["message"]


@pytest.mark.parametrize("query", [
    "PRAGMA table_info(notes)", "PRAGMA query_only = 0", "SELECT * FROM pragma_table_list",
    "ATTACH '/tmp/x' AS y", "SELECT load_extension('x')", "VACUUM INTO '/tmp/cloche-x'",
    "INSERT INTO tags VALUES('a', 'b')", "CREATE TABLE x(a)", "CREATE TEMP TABLE x(a)",
    "DROP VIEW notes", "BEGIN", "EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN SELECT 1",
    "SELECT * FROM main.notes", "SELECT * FROM names", "SELECT count(*) FROM names",
    "SELECT count(*) FROM main.state", "SELECT * FROM texts WHERE texts MATCH 'a'",
    "SELECT * FROM texts_data", "SELECT * FROM sqlite_master", "SELECT sql FROM temp.sqlite_master",
    "WITH notes AS (SELECT * FROM main.notes) SELECT * FROM notes",
    "SELECT (SELECT hash FROM main.notes LIMIT 1) FROM notes",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
])
def test_sql_is_denied_all_but_reading_the_views(run, query):
    assert sql(run, query, success=False)["code"] == "DENIED"


@pytest.mark.parametrize("query, code, part", [
    ("SELECT * FORM notes", "INVALID", "FORM"),
    ("SELECT nothing FROM notes", "INVALID", "nothing"),
    ("DELETE FROM notes", "INVALID", "view"),
    ("SELECT 1; SELECT 2", "INVALID", "one statement"),
    ("SELECT 1; DROP TABLE x", "INVALID", "one statement"),
    ("", "INVALID", "query"),
    ("-- nothing", "INVALID", "empty"),
    ("SELECT '" + "x" * 10000 + "'", "LIMIT", "10000"),
    ("SELECT " + "1+" * 200 + "1", "INVALID", "depth"),
    ("SELECT zeroblob(100000000)", "LIMIT", "too big"),
    ("SELECT abs(-9223372036854775808)", "INVALID", "overflow"),
])
def test_sql_says_what_is_wrong(run, query, code, part):
    error = sql(run, query, success=False)
    assert error["code"] == code and part in error["message"]


def test_sql_is_bounded_in_rows_time_memory_and_length(run):
    cross = ", ".join(f"notes n{i}" for i in range(16))
    error = sql(run, f"SELECT count(*) FROM {cross}", ", timeout: 50", success=False)
    assert error["code"] == "TIMEOUT"
    error = sql(run, f"SELECT n0.id FROM {cross} ORDER BY hex(randomblob(50000))",
                ", timeout: 10000", success=False)
    assert error["code"] == "LIMIT" and "memory" in error["message"]
    count, truncated = run(
        f"const a = await notes.searchSQL({{query: 'SELECT hex(zeroblob(1000000)) AS x FROM {cross}',"
        "limit: 100}); return [a.rows.length, a.truncated]")
    assert truncated and 3 <= count < 10
    assert sql(run, f"SELECT 1 AS x FROM {cross}", ", limit: 10000")["row_count"] == 10000
    for more in (", limit: 10001", ", timeout: 10001", ", timeout: 0"):
        assert sql(run, "SELECT 1", more, success=False)["code"] == "INVALID"


def test_sql_works_where_the_index_is_in_memory(cloche, run, tmp_path, monkeypatch):
    vault = tmp_path / "v"
    (vault / ".cloche").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "-e",
                           "return (await notes.searchSQL('SELECT count(*) AS n FROM notes')).rows"],
                          capture_output=True, text=True)
    assert json.loads(done.stdout)["result"] == [{"n": 4}]


def test_levels_below_full_do_not_search(run):
    for call in ("searchSQL('SELECT 1')", "searchAdvanced()", "searchByText('x')"):
        assert run(f"await notes.{call}", "--level", "limited", success=False)["code"] == "DENIED"
