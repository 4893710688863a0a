"""sqlite3, compared with Debian's."""
from compare import case

SCHEMA = """
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INT, note);
CREATE TABLE visit(person INT REFERENCES person, place TEXT, at TEXT, cost REAL);
INSERT INTO person VALUES(1,'Ada',1815,NULL),(2,'Zoë',1990,x'00ff'),(3,'Bob "B"',1970,'a,b');
INSERT INTO visit VALUES(1,'London','1833-06-05',1.5),(1,'Turin','1840-09-01',20),
  (2,'Genève','2020-01-31',0.1),(3,'London','1999-12-31',NULL);
"""
JOIN = ("SELECT p.name, count(*) AS n, sum(v.cost) AS cost FROM person p "
        "JOIN visit v ON v.person = p.id GROUP BY p.id ORDER BY p.name;")
CSV = 'name,amount,when\n"Smith, J",12.5,2024-01-01\nO\'Neil,3,2024-02-29\n"say ""hi""",,\n'


def sql(text, *flags, **more):
    return case(*flags, ":memory:", stdin=SCHEMA + text, **more)


DATABASE = {"make.sql": SCHEMA}


def without(*names):
    """Databases and archives hold times and versions: what is read from them is compared."""
    def normal(result):
        for name in names:
            assert result.files.pop(name)
    return normal

CASES = {"sqlite3": [
    sql(JOIN),
    sql(JOIN, "-header", "-csv"),
    sql(JOIN, "-json"),
    sql(JOIN, "-markdown"),
    sql(JOIN, "-column", "-header"),
    sql(JOIN, "-box"),
    sql(JOIN, "-table"),
    sql(JOIN, "-line"),
    sql(JOIN, "-html"),
    sql(JOIN, "-quote"),
    sql(JOIN, "-tabs"),
    sql(JOIN, "-separator", "::", "-nullvalue", "nil"),
    sql(".mode insert person\nSELECT * FROM person;\n.mode list\n.headers on\nSELECT * FROM visit;"),
    sql("SELECT name, hex(note), typeof(note), length(name) FROM person;"),
    sql("SELECT p.name, v.place FROM person p LEFT JOIN visit v ON v.person = p.id AND v.cost > 1;"),
    sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) "
        "SELECT group_concat(i, ' '), sum(i * i) FROM n;"),
    sql("SELECT name, row_number() OVER (ORDER BY born), lag(name) OVER (ORDER BY born), "
        "ntile(2) OVER (ORDER BY id) FROM person;"),
    sql("SELECT date(at, '+1 month'), strftime('%j %W %s', at), julianday(at) FROM visit;"),
    sql("SELECT json_group_array(json_object('n', name, 'b', born)) FROM person; "
        "SELECT value ->> '$.a' FROM json_each('[{\"a\":1},{\"a\":\"x\"}]'); SELECT '{\"a\":[1,2]}' -> '$.a[#-1]';"),
    sql("SELECT sqrt(2), pow(2, 10), ln(10), round(pi(), 8), ceil(1.2), mod(7, 3), trunc(-1.5);"),
    sql("SELECT printf('%08.3f|%-5s|%x|%,d', 3.14159, 'ab', 255, 1234567), 1e300 * 10, 0.1 + 0.2, 1/3.0;"),
    sql("CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES('the quick brown fox'),"
        "('lazy dogs sleep'); SELECT rowid, snippet(f, 0, '[', ']', '..', 3) FROM f WHERE f MATCH 'dog* OR quick' ORDER BY rank;"),
    sql("CREATE VIRTUAL TABLE r USING rtree(id, x0, x1); INSERT INTO r VALUES(1, 0, 2),(2, 5, 9);"
        "SELECT id FROM r WHERE x1 >= 1 AND x0 <= 4;"),
    sql("CREATE INDEX i ON visit(place); EXPLAIN QUERY PLAN SELECT * FROM visit WHERE place = 'x';"),
    sql("CREATE TRIGGER t AFTER INSERT ON visit BEGIN UPDATE person SET note = new.place WHERE id = new.person; END;"
        "INSERT INTO visit VALUES(2, 'Rome', NULL, 1) RETURNING place; SELECT note FROM person WHERE id = 2;"),
    sql("INSERT INTO person(id, name) VALUES(1, 'x') ON CONFLICT(id) DO UPDATE SET name = excluded.name || '!'; SELECT name FROM person;"),
    sql("BEGIN; DELETE FROM visit; ROLLBACK; SELECT count(*) FROM visit; DELETE FROM visit LIMIT 1; SELECT changes();"),
    sql("SELECT upper('straße'), like('A%', 'abc'), glob('a*', 'Abc'), soundex('Robert'), instr('hello', 'l'), replace('aXb', 'X', '-');"),
    sql("SELECT * FROM nosuch;"),
    sql("SELECT 1; SELEC 2; SELECT 3;"),
    sql("SELECT 1; SELEC 2; SELECT 3;", "-bail"),
    sql("INSERT INTO person(id) VALUES(9);\nINSERT INTO person VALUES(1, 'twice', 1, 1);"),
    sql(".dump"),
    sql(".schema\n.tables\n.indexes\n.show\n"),
    sql(".fullschema\n.databases\n.mode\n.width 5 5\n.mode column\nSELECT name, born FROM person;"),
    sql(".import --csv in.csv sales\n.mode box\nSELECT * FROM sales;\n.schema sales", files={"in.csv": CSV}),
    sql(".mode csv\n.once out.csv\nSELECT * FROM person;\n.output rest.txt\nSELECT 1;\n.output stdout\nSELECT 2;"),
    sql(".read more.sql\nSELECT * FROM extra;", files={"more.sql": "CREATE TABLE extra(a); INSERT INTO extra VALUES(7);"}),
    sql("SELECT writefile('made.txt', 'from sql'), readfile('given.txt');", files={"given.txt": "given"}),
    sql(".parameter set $n 'Ada'\nSELECT born FROM person WHERE name = $n;\n.parameter list"),
    sql("SELECT key, value FROM json_tree('{\"a\":{\"b\":[1,null]}}') WHERE atom IS NOT NULL;"),
    sql(".expert\nSELECT * FROM visit WHERE place = 'London';"),
    sql("PRAGMA table_info(person); PRAGMA integrity_check; PRAGMA foreign_key_check; PRAGMA encoding;"),
    sql(".sha3sum\n.lint fkey-indexes\n.print done"),
    sql("SELECT hex(sqlar_compress('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'));"),
    sql("SELECT value FROM generate_series(1, 9, 4); SELECT regexp('^A', name) FROM person; SELECT sum(value) FROM generate_series(1, 100000);"),
    case("t.db", stdin=SCHEMA + ".mode json\nSELECT count(*) FROM person;\n.dump visit\n", normal=without("t.db")),
    case("t.db", "PRAGMA journal_mode = WAL; CREATE TABLE a(b); INSERT INTO a VALUES(1); SELECT * FROM a; PRAGMA wal_checkpoint;",
         normal=without("t.db")),
    case("t.db", ".read make.sql", "UPDATE person SET born = 0 WHERE id < 3; VACUUM; SELECT total(born) FROM person",
         files=DATABASE, normal=without("t.db")),
    case("t.db", ".read make.sql", ".backup copy.db", ".open copy.db", ".dump", files=DATABASE,
         normal=without("t.db", "copy.db")),
    case("-readonly", "t.db", "CREATE TABLE a(b)", files={"t.db": ""}),
    case("-A", "cf", "archive.sqlar", "make.sql", files=DATABASE, normal=without("archive.sqlar")),
    case(":memory:", ".archive -cf t.zip make.sql", ".archive -tf t.zip", files=DATABASE, normal=without("t.zip")),
    case("nothing.db", "SELECT * FROM x", files={"nothing.db": "this is not a database, however long it is. " * 30}),
    case("-cmd", ".mode quote", ":memory:", "SELECT 1, 'a''b', NULL, x'00', 1.5"),
    case("-version", normal=lambda r: setattr(r, "stdout", r.stdout.split()[0])),
    case("--no-such-option"),
]}
# What does not fit its memory goes to temporary files.
CASES["sqlite3"] += [
    case(":memory:", """CREATE TABLE t(a, b);
        INSERT INTO t SELECT value, hex(value * 7919 % 100003) || printf('%050d', value)
        FROM generate_series(1, 150000); CREATE INDEX i ON t(b);
        SELECT count(*), min(b), max(b) FROM t INDEXED BY i WHERE b > '3'; PRAGMA integrity_check;"""),
    case("t.db", """PRAGMA temp_store = FILE; PRAGMA cache_size = 10;
        CREATE TABLE t AS SELECT value AS a, zeroblob(100) AS b FROM generate_series(1, 20000);
        DELETE FROM t WHERE a % 3; VACUUM; SELECT count(*), sum(a) FROM t;
        SELECT a FROM (SELECT DISTINCT a FROM t ORDER BY a % 1000, a DESC) LIMIT 5 OFFSET 6000;""",
         normal=without("t.db")),
]
