"""The programs of npm, compared with themselves under node."""
import re

from compare import case, node

REFERENCE = {
    "terser": node("terser/bin/terser"),
    "svgo": node("svgo/bin/svgo.js"),
    "csso": node("csso-cli/bin/csso"),
    "html-minifier": node("html-minifier-terser/cli.js"),
    "asciidoctor": node("asciidoctor/bin/asciidoctor"),
}



def ERRORS(text, folder):
    """Standard error but for what tells where in node's own code, or in the packages', it
    was: frames, the line of code before an uncaught error and node's version after it, and
    an error's own properties."""
    text = text.replace(folder + "/", "/work/")
    if re.match(r"(node:|file:|/)\S*:\d+\n", text):
        text = text.partition("\n\n")[2]
    text = re.sub(r" \{\n(  .*\n)*\}$", "", text, flags=re.M)
    frame = re.compile(r"\s+at |\s+\.\.\. \d+ lines|Emitted 'error' event|Node\.js v")
    return "\n".join(line.rstrip() for line in text.splitlines()
                     if line.strip() and not frame.match(line))


JS = """// A note.
/*! kept */
import { a as b } from 'a';
class Point { #x = 1; get x() { return this.#x ?? 0 } static make() { return new Point() } }
function add(first, ...rest) { let sum = first; for (const n of rest) { if (n > 0) { sum += n } } return sum }
export const arrow = async (value = 1) => { const { p, ...others } = await value; return /re+/giu.test(p) ? void 0 : others };
console.log(add(1, 2, 3), `t ${b}`, 'unicode é \\u{1f600} 😀', Point.make().x);
"""
PLAIN = "function foo(bar) { var unused = 1; if (bar) { return 1 } else { return bar + 2 } }\nconsole.log(foo(3));\n"

SVG = """<?xml version="1.0" encoding="utf-8"?>
<!-- drawn by hand -->
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="100" height="100" viewBox="0 0 100 100">
<style>.a{fill:#ff0000}.unused{x:y}</style><defs><linearGradient id="grad"><stop offset="0" stop-color="#fff"/></linearGradient></defs>
<g transform="translate(10 10)"><g><path class="a" d="M 10.12345 10 L 20.00001 20 C 1 2 3 4 5 6 Z"/></g></g>
<rect x="0" y="0" width="10" height="10" fill="rgb(0, 128, 0)" stroke="none"/><use xlink:href="#grad"/><text>é &amp; 😀</text>
</svg>
"""
CSS = """@charset "utf-8";
/* gone */ /*! kept */
.a, #b > .c:not(:hover)::before { color: #ff0000; margin: 0px 0px 0px 0px; background: url( "x.png" ) }
@media (min-width: 100px) { .a { color: red; font: bold 12px/1.5 "Arial", serif } }
@media (min-width: 100px) { .d { top: .50em } }
.b { color: #ff0000 } .e::after { content: "é" } @keyframes k { from { top: 0 } 50.0% { top: 1px } }
"""
HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title> A  title </title>
<style> p { color : #ff0000 ; } </style><script type="text/javascript">var a = 1 + 2; // note
</script></head>
<body class="b  a"><!-- note --><p style="color: red; " onclick="f(); return false;">Text <b> bold </b> &amp; é</p>
<input type="text" disabled="disabled" value=""><ul><li>1</li><li>2</li></ul><pre>  kept
</pre><a href="http://example.com/a/b">x</a></body></html>
"""
DOC = """= Title: A Subtitle
Ada Author <ada@example.com>
v1.0, 2020-01-01
:toc:
:icons: font

Preamble with *bold*, _italic_, `mono`, #mark#, https://example.com[a link] and a footnote:[the note].

[[one]]
== First & only

* item
** nested
. ordered
term:: description

NOTE: Take care.

[source,js]
----
const a = 1; // <1>
----
<1> a callout

|===
|A |B

|1 |é
|===

See <<one>>.

include::part.adoc[]
"""
PART = "Included {author}.\n"
MAN = "= eve(1)\nAndrew\n:manmanual: EVE\n:mansource: EVE\n\n== NAME\n\neve - analyzes an image\n\n== SYNOPSIS\n\n*eve* [_OPTION_]... _FILE_...\n\n== OPTIONS\n\n*-o, --out-file*=_FILE_::\n  Write to _FILE_.\n"

# The time of conversion stands at a document's end.
FIXED = {"SOURCE_DATE_EPOCH": "1700000000"}


def doc(*args, **more):
    more.setdefault("files", {"in.adoc": DOC, "part.adoc": PART})
    return case(*args, env=FIXED, **more)


def untimed(result):
    """svgo tells how long each file took, and takes them in no order."""
    result.stdout = b"\n".join(sorted(
        line for line in result.stdout.split(b"\n") if not line.startswith(b"Done in")))


CASES = {
    "terser": [
        case(stdin=PLAIN),
        case("-c", "-m", stdin=PLAIN),
        case("--module", "-c", "passes=2", "-m", stdin=JS),
        case("-b", stdin=PLAIN),
        case("-m", "toplevel", "-c", "toplevel", "--", "a.js", files={"a.js": PLAIN}),
        case("a.js", "b.js", "-o", "out.js", "-c", files={"a.js": PLAIN, "b.js": "var x = 1 + 2;\n"}),
        case("--comments", "all", stdin=JS),
        case("--comments", stdin=JS),
        case("-f", "quote_style=1,ascii_only=true", stdin=JS),
        case("--source-map", "url=out.js.map", "-o", "out.js", "a.js", files={"a.js": PLAIN}),
        case("-d", "DEBUG=false", "-c", "--", "a.js", files={"a.js": "if (DEBUG) { a() } else { b() }\n"}),
        case("--keep-fnames", "--keep-classnames", "-m", "toplevel", stdin=PLAIN + "class A {}\n"),
        case("--name-cache", "names.json", "-m", "toplevel", "--", "a.js", files={"a.js": PLAIN}),
        case("--mangle-props", "regex=/^_/", stdin="a._b = 1; console.log(a._b)\n"),
        case("--enclose", "window:window", stdin="x()\n"),
        case("--ecma", "2015", "-c", stdin="var f = function () { return 1 }; f()\n"),
        case("--config-file", "terser.json", "a.js",
             files={"terser.json": '{"compress": true, "mangle": {"toplevel": true}}', "a.js": PLAIN}),
        case("-p", "bare_returns=true", stdin="return 1\n"),
        case("-c", stdin="function ( {\n"),
        case("no-such-file.js"),
        case("bad.js", files={"bad.js": "a {"}),
        case("-c", "no_such_option=1", stdin=PLAIN),
        case("--no-such-option"),
        case("--help"),
        case("--version"),
    ],
    "svgo": [
        case("-i", "-", "-o", "-", stdin=SVG),
        case("in.svg", "-o", "-", files={"in.svg": SVG}),
        case("-s", "<svg xmlns=\"http://www.w3.org/2000/svg\"><rect width=\"10.0\" height=\"5\" x=\"0\"/></svg>", "-o", "-"),
        case("in.svg", normal=untimed, files={"in.svg": SVG}),
        case("-i", "in.svg", "-o", "out.svg", normal=untimed, files={"in.svg": SVG}),
        case("-f", "in", "-o", "out", normal=untimed, files={"in/a.svg": SVG, "in/b.svg": SVG.replace("10.12345", "7"), "out/": ""}),
        case("--pretty", "--indent", "2", "-i", "-", "-o", "-", stdin=SVG),
        case("--multipass", "-i", "-", "-o", "-", stdin=SVG),
        case("-p", "0", "-i", "-", "-o", "-", stdin=SVG),
        case("--datauri", "base64", "-i", "-", "-o", "-", stdin=SVG),
        case("--datauri", "enc", "-i", "-", "-o", "-", stdin=SVG),
        case("--eol", "crlf", "--final-newline", "--pretty", "-i", "-", "-o", "-", stdin=SVG),
        case("--config", "svgo.config.cjs", "-i", "in.svg", "-o", "-",
             files={"in.svg": SVG, "svgo.config.cjs": "module.exports = { plugins: ['removeComments'] };\n"}),
        case("-i", "in.svg", "-o", "-",
             files={"in.svg": SVG, "svgo.config.mjs": "export default { js2svg: { pretty: true }, plugins: ['preset-default', 'removeDimensions'] };\n"}),
        case("--show-plugins"),
        case("-i", "-", "-o", "-", stdin="<svg><g></svg>"),
        case("-i", "missing.svg", "-o", "-"),
        case("--datauri", "wrong", "-s", "<svg/>"),
        case("--version"),
        case("--help"),
    ],
    "csso": [
        case(stdin=CSS),
        case("in.css", files={"in.css": CSS}),
        case("-i", "in.css", "-o", "out.css", files={"in.css": CSS}),
        case("--no-restructure", stdin=CSS),
        case("--force-media-merge", stdin=CSS),
        case("--comments", "none", stdin=CSS),
        case("--comments", "first-exclamation", stdin=CSS + "/*! again */\n"),
        case("--declaration-list", stdin="color: #ff0000; color: red; margin: 0px"),
        case("--source-map", "inline", "in.css", files={"in.css": CSS}),
        case("--source-map", "file", "in.css", "-o", "out.css", files={"in.css": CSS}),
        case("--usage", "usage.json", "in.css", files={"in.css": ".a{x:y}.b{x:y}", "usage.json": '{"classes": ["a"]}'}),
        case("--usage", "missing.json", stdin=CSS),
        case(stdin="a { color: "),
        case(stdin=""),
        case("missing.css"),
        case("--comments", "wrong", stdin=CSS),
        case("--version"),
        case("--help"),
    ],
    "html-minifier": [
        case(stdin=HTML),
        case("--collapse-whitespace", stdin=HTML),
        case("--collapse-whitespace", "--remove-comments", "in.html", files={"in.html": HTML}),
        case("--minify-css", "true", "--minify-js", "true", stdin=HTML),
        case("--collapse-whitespace", "--conservative-collapse", "--preserve-line-breaks", stdin=HTML),
        case("--remove-attribute-quotes", "--remove-optional-tags", "--collapse-boolean-attributes", stdin=HTML),
        case("--remove-redundant-attributes", "--remove-script-type-attributes", "--use-short-doctype", stdin=HTML),
        case("--remove-empty-attributes", "--remove-empty-elements", stdin=HTML),
        case("--sort-attributes", "--sort-class-name", stdin=HTML),
        case("--minify-urls", "http://example.com/a/", stdin=HTML),
        case("--minify-js", '{"mangle": false}', stdin=HTML),
        case("--case-sensitive", "--keep-closing-slash", stdin="<Br/><A HREF='x'>y</A>"),
        case("--decode-entities", stdin="<p>&eacute; &lt;</p>"),
        case("--max-line-length", "40", "--collapse-whitespace", stdin=HTML),
        case("-c", "conf.json", "in.html", files={"in.html": HTML, "conf.json": '{"collapseWhitespace": true, "minifyCSS": true}'}),
        case("-o", "out.html", "--collapse-whitespace", "in.html", files={"in.html": HTML}),
        case("--input-dir", "in", "--output-dir", "out", "--file-ext", "html", "--collapse-whitespace",
             files={"in/a.html": HTML, "in/d/b.html": "<p> x </p>", "in/c.txt": "no"}),
        case("--collapse-whitespace", stdin="<p <b>"),
        case("missing.html"),
        case("--version"),
    ],
    "asciidoctor": [
        doc("in.adoc"),
        doc("-o", "-", "in.adoc"),
        doc("-e", "-o", "-", "in.adoc"),
        doc("-o", "-", "-", stdin=DOC),
        doc("-b", "docbook5", "-o", "-", "in.adoc"),
        doc("-b", "manpage", "-o", "-", "eve.adoc", files={"eve.adoc": MAN}),
        doc("-d", "book", "-o", "-", "in.adoc"),
        doc("-a", "toc=left", "-a", "sectnums", "-o", "out.html", "in.adoc"),
        doc("-n", "-e", "-o", "-", "in.adoc"),
        doc("-S", "secure", "-e", "-o", "-", "in.adoc"),
        doc("-a", "linkcss", "-a", "copycss!", "-o", "-", "in.adoc"),
        doc("-D", "out", "in.adoc"),
        doc("-B", "part", "-e", "-o", "-", "-", stdin=DOC, files={"part/part.adoc": PART}),
        doc("-a", "data-uri", "-e", "-o", "-", "-", stdin="image::a.png[]\n", files={"a.png": b"\x89PNG\r\n\x1a\n\0"}),
        doc("--failure-level", "WARN", "-o", "-", "-", stdin="include::missing.adoc[]\n"),
        doc("-q", "-e", "-o", "-", "-", stdin="== A\n\n==== B\n\ntext\n"),
        doc("-e", "-o", "-", "a.adoc", "in.adoc", files={"a.adoc": "*a*\n", "in.adoc": DOC, "part.adoc": PART}),
        doc("missing.adoc"),
        doc("--help", "syntax"),
        doc(),
    ],
}
