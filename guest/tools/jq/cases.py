"""jq, compared with Debian's."""
from compare import case

USERS = """[
  {"name": "Ada", "age": 36, "tags": ["math", "engine"], "home": {"city": "London"}},
  {"name": "Zo\\u00eb", "age": 7, "tags": [], "home": null},
  {"name": "Bob \\"B\\" O'Hara", "age": 52.5, "tags": ["x"], "home": {"city": "Gen\\u00e8ve"}}
]
"""
STREAM = "\n".join('{"n": %d, "even": %s, "s": "line %d"}' % (n, str(n % 2 == 0).lower(), n)
                   for n in range(500))
NUMBERS = "[0, -0, 1, 1.5, 1e3, 1e300, 100000000000000000000, 3.14159265358979, 1e-7, 0.1]"
MODULE = 'def twice: . * 2; def greet($who): "hello, \\($who)";'


def jq(*args, stdin="", **more):
    return case(*args, stdin=stdin, **more)


CASES = {"jq": [
    jq(".", stdin=USERS),
    jq("-c", ".[]", stdin=USERS),
    jq("-r", ".[].name", stdin=USERS),
    jq("-j", ".[].name", stdin=USERS),
    jq("-S", ".[0]", "in.json", files={"in.json": USERS}),
    jq("--tab", ".[0]", stdin=USERS),
    jq("--indent", "1", ".[0]", stdin=USERS),
    jq("-a", ".[].name", stdin=USERS),
    jq(".[] | select(.age > 30) | {name, city: .home.city}", stdin=USERS),
    jq("map(.age) | add, min, max, (add / length | floor)", stdin=USERS),
    jq("group_by(.age > 30) | map({old: .[0].age > 30, names: map(.name)})", stdin=USERS),
    jq("sort_by(.name) | .[].name, (map(.tags) | flatten | unique)", stdin=USERS),
    jq("[paths(type == \"string\")] | length", stdin=USERS),
    jq("-c", "[leaf_paths as $p | {($p | map(tostring) | join(\".\")): getpath($p)}] | add",
       stdin=USERS),
    jq("-s", "map(select(.even)) | length, (map(.n) | add)", stdin=STREAM),
    jq("-c", "select(.n % 100 == 7)", "a", "b", files={"a": STREAM, "b": STREAM}),
    jq("-n", "[inputs | .n] | add", stdin=STREAM),
    jq("-n", "reduce inputs as $x (0; . + $x.n)", stdin=STREAM),
    jq("-R", "split(\",\") | map(tonumber? // .)", stdin="1,b,3\n4,5,six\n"),
    jq("-Rs", "split(\"\\n\") | length", stdin="a\nb\nc"),
    jq("--arg", "who", "Ada", "--argjson", "n", "[1, 2]", ".[] | select(.name == $who), $n",
       stdin=USERS),
    jq("-n", "$ARGS", "--args", "a", "b c"),
    jq("-n", "--slurpfile", "u", "u.json", "--rawfile", "r", "u.json",
       "$u[0] | length, ($r | length)", files={"u.json": USERS}),
    jq("-L", "lib", "import \"own\" as own; own::greet(.[0].name), (.[0].age | own::twice)",
       stdin=USERS, files={"lib/own.jq": MODULE}),
    jq("-f", "program.jq", stdin=USERS, files={"program.jq": "# ages\nmap(.age)\n"}),
    jq(".", stdin=NUMBERS),
    jq("-c", "map(tostring), map(. * 3), map(floor), map(@text)", stdin=NUMBERS),
    jq("-c", "[.[] | sqrt, (pow(.; 2)), log10, (. % 7)?]", stdin="[1, 2, 100]"),
    jq("-n", "[3.5, 5 | gamma, lgamma, trunc, significand, logb, frexp]"),
    jq("-n", "[scalb(3; 4), ldexp(1.5; 10), scalbln(2; -3), nearbyint(2.5), drem(10; 3)]"),
    jq(".[] | test(\"^b\"; \"i\"), sub(\"o\"; \"0\"), [match(\"(?<x>[aeiou])\"; \"g\").string]",
       stdin='["Bob", "Zoë", "foo bar"]'),
    jq("-c", "[scan(\"\\\\p{L}+\")], gsub(\"(?<a>\\\\d)\"; \"<\\(.a)>\"), ascii_downcase",
       stdin='"Straße 12, Café 3"'),
    jq("-r", ".[] | @csv, @tsv, @html, @uri, @sh, @base64, @json",
       stdin='[["a b", "<&>", 1, null, "it\'s", "tab\\there"]]'),
    jq("-r", "@base64d", stdin='"aGVsbG8gd8O2cmxk"'),
    jq("-c", "todate, (todate | fromdate), (gmtime | mktime), strftime(\"%A, %j %H:%M\")",
       stdin="1700000000"),
    jq("-c", "strptime(\"%Y-%m-%dT%H:%M:%SZ\"), fromdateiso8601",
       stdin='"2015-03-05T23:51:47Z"'),
    jq("-c", "to_entries, with_entries(.value += 1), del(.b), (.a, .b) = 9, .c //= 3",
       stdin='{"a": 1, "b": 2}'),
    jq("-c", "[limit(3; range(10))], first(range(5; 9)), [range(0; 10; 3)], until(. > 100; . * 2)",
       stdin="3"),
    jq("-c", "tojson, (tojson | fromjson), ([splits(\"a\")]?), explode?", stdin='"banana"'),
    jq("-c", "[.[] | try error(\"no \\(.)\") catch .]", stdin="[1, 2]"),
    jq("--stream", "-c", ".", stdin='{"a": [1, {"b": 2}]}'),
    jq("--seq", "-c", ".", stdin="[1]"),
    jq("-c", "input_line_number, ltrimstr(\"x\"), (tojson | @json)", stdin='"xy"\n'),
    jq("-c", "env.HOME, $ENV.TZ, ($__loc__ | .line), input_filename", stdin="1"),
    jq("-e", ".missing", stdin="{}"),
    jq("-e", ".[]", stdin="[]"),
    jq(".a", stdin="[1]"),
    jq(".[", stdin="[]"),
    jq(".", stdin='{"a": 1'),
    jq(".", stdin='{"a": nan}'),
    jq(".", "missing.json"),
    jq("halt_error", stdin='"gone\\n"'),
    jq("-n", "\"bye\" | halt_error(3)"),
    jq("-n", "[.[]?], (null | not), ([1, [2]] | getpath([1, 0])), ({} | .a.b.c = 1)"),
    jq("-c", "walk(if type == \"object\" then del(.home) else . end)", stdin=USERS),
    jq("-c", "def f(n): if n > 0 then n, f(n - 1) else empty end; [f(5)]", stdin="null"),
    jq("-C", "-c", ".[0]", stdin=USERS),
    jq("-n", "@text \"a\\(1 + 1)b\", ([1, 2] | combinations?), (\"abc\" | .[1:2]), infinite, nan"),
    jq("-n", "[\"a,b\" | splits(\",\")], (\"x\" * 3), ({} * {a: {b: 1}}), ([1, 2, 3] - [2])"),
    jq("-n", "\"\\u00e9\" | @uri, utf8bytelength, length, ascii?"),
    jq("--version"),
    jq("--no-such-option", "."),
]}
