"""minify, compared with the same source built for this machine."""
import re

from compare import case, go

REFERENCE = {"minify": go("minify", "github.com/tdewolff/minify/v2/cmd/minify")}

HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title> A  title </title>
<style> p { color : #ff0000 ; } </style><script>  var a = 1 + 2 ; // note
</script></head>
<body class=" a "><!-- note --><p  style="color: red; "> Text <b> bold </b> &amp; </p><input disabled="disabled"></body></html>
"""
CSS = "@media ( min-width : 10px ) { a , b { margin : 0px 0px 0px 0px ; color : #ff0000 } }\n/* c */ a:hover{}\n"
JS = "function add ( first , second ) {\n  // note\n  if (first) { return first + second ; } else { return 0 }\n}\nlet x = `a ${ 1 }` ;\n"
SVG = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"> <path d="M 10 10 L 20 20 Z" fill="#ff0000"/> </svg>\n'


def untimed(result):
    """It tells how long each file took; natively in the order in which they were done."""
    lines = re.sub(rb"\([^)]*B/s\)", b"", result.stdout).splitlines()
    result.stdout = b"\n".join(sorted(lines))


CASES = {"minify": [
    case("--type=html", stdin=HTML),
    case("--type=css", stdin=CSS),
    case("--type=js", stdin=JS),
    case("--type=json", stdin='{ "a" : [ 1 , 2.50 , true ] }\n'),
    case("--type=svg", stdin=SVG),
    case("--type=xml", stdin="<a>\n  <b x = 'y' > t </b>\n</a>\n"),
    case("--type=text/css", stdin=CSS),
    case("a.css", files={"a.css": CSS}),
    case("-o", "out.js", "in.js", files={"in.js": JS}, normal=untimed),
    case("-b", "-o", "all.css", "a.css", "b.css", files={"a.css": CSS, "b.css": "i { top : 0 }\n"}, normal=untimed),
    case("-r", "-o", "out/", "src/", files={"src/a.html": HTML, "src/d/b.js": JS, "src/c.txt": "x\n"}, normal=untimed),
    case("-i", "a.html", files={"a.html": HTML}, normal=untimed),
    case("--html-keep-comments", "--html-keep-end-tags", "--html-keep-document-tags", "--type=html", stdin=HTML),
    case("--js-keep-var-names", "--type=js", stdin=JS),
    case("--css-precision=2", "--type=css", stdin="a { width : 1.23456px }\n"),
    case("--mime=text/javascript", stdin="a  =  1 ;\n"),
    case("--type=js", stdin="function ( {\n"),
    case("no-such-file.css"),
    case("--type=nothing", stdin="x"),
    case("--list"),
]}
