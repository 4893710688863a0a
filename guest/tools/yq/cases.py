"""yq, compared with the same source built for this machine."""
from compare import case, go

REFERENCE = {"yq": go("yq", "github.com/mikefarah/yq/v4")}

DOC = """# people
people:
  - {name: Ada, born: 1815, tags: [math, poetry]}
  - {name: Alan, born: 1912}   # a comment
base: &base
  x: 1
  y: "two"
more:
  <<: *base
  z: |
    several
    lines
when: 2024-02-29T12:00:00Z
"""
TWO = "a: 1\n---\na: 2\nb: [3]\n"
XML = '<?xml version="1.0"?><r a="1"><i>x</i><i>y</i><e/></r>\n'
CSV = "name,age\nAda,36\n\"Alan, M.\",41\n"
TOML = 'title = "t"\n[owner]\nname = "Ada"\nages = [1, 2]\n'



CASES = {"yq": [
    case(".people[0].name", "in.yml", files={"in.yml": DOC}),
    case(".people[] | select(.born > 1900) | .name", stdin=DOC),
    case("-o=json", ".", stdin=DOC),
    case("-o=json", "-I=0", ".people", stdin=DOC),
    case("-o=xml", ".more", stdin=DOC),
    case("-o=props", ".", stdin=DOC),
    case("-o=csv", "[.people[] | [.name, .born]]", stdin=DOC),
    case("-p=xml", "-o=yaml", ".", stdin=XML),
    case("-p=csv", "-o=json", ".", stdin=CSV),
    case("-p=toml", "-o=yaml", ".owner", stdin=TOML),
    case("-p=json", "-P", ".", stdin='{"a": [1, {"b": null}], "c": "\\u00e9"}'),
    case("explode(.) | .more.x", stdin=DOC),
    case(".people |= sort_by(.name) | .people |= reverse", stdin=DOC),
    case("-i", ".base.x = 9 | .new.deep[1] = \"v\"", "in.yml", files={"in.yml": DOC}),
    case("del(.people[0], .when)", "in.yml", files={"in.yml": DOC}),
    case("ea", ". as $item ireduce ({}; . * $item)", "a.yml", "b.yml",
         files={"a.yml": "a: {x: 1}\n", "b.yml": "a: {y: 2}\nb: [1]\n"}),
    case(".a", stdin=TWO),
    case("-N", ".a", stdin=TWO),
    case("-n", ".a.b = 3 | .c = [1, \"2\"]"),
    case("-s", '"out_" + .a', "in.yml", files={"in.yml": TWO}),
    case("keys | join(\",\")", stdin=DOC),
    case(".people[].tags | length", stdin=DOC),
    case("[.. | select(tag == \"!!str\")] | unique", stdin=DOC),
    case("-e", ".missing", stdin=DOC),
    case(".x | @base64", stdin="x: héllo\n"),
    case("with_entries(.key |= upcase)", stdin="a: 1\nb: 2\n"),
    case(".when | format_datetime(\"2006\")", stdin=DOC),
    case(".a", stdin="a: [1, 2\n"),
    case(".a", "no-such-file.yml"),
    case(".[", stdin=DOC),
    case("--version"),
]}
