"""xmllint, compared with Debian's."""
from compare import case

XML = """<?xml version="1.0" encoding="UTF-8"?>
<shop xmlns:x="urn:x"><item id="1" x:kind="a"><name>Té &amp; café</name><price>3.50</price></item>
<item id="2"><name><![CDATA[<raw>]]></name><price>12</price></item><!-- end --><?run this?></shop>
"""
LATIN = XML.replace("UTF-8", "ISO-8859-1").encode("latin-1")
DTD = """<!ELEMENT shop (item+)><!ATTLIST shop xmlns:x CDATA #IMPLIED><!ELEMENT item (name, price)>
<!ATTLIST item id CDATA #REQUIRED x:kind CDATA #IMPLIED><!ELEMENT name (#PCDATA)><!ELEMENT price (#PCDATA)>"""
XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="order"><xs:complexType>
<xs:sequence><xs:element name="n" type="xs:positiveInteger" maxOccurs="3"/><xs:element name="on" type="xs:date"/>
</xs:sequence><xs:attribute name="id" use="required"><xs:simpleType><xs:restriction base="xs:string">
<xs:pattern value="[A-Z]\\d+"/></xs:restriction></xs:simpleType></xs:attribute></xs:complexType></xs:element></xs:schema>"""
RNG = """<element name="order" xmlns="http://relaxng.org/ns/structure/1.0"><attribute name="id"/>
<oneOrMore><element name="n"><text/></element></oneOrMore><element name="on"><text/></element></element>"""
SCT = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="order">
<assert test="count(n) &lt; 3">too many</assert></rule></pattern></schema>"""
GOOD = '<order id="A12"><n>1</n><n>2</n><on>2024-02-29</on></order>'
BAD = '<order id="12"><n>0</n><n>2</n><n>3</n><on>2023-02-29</on></order>'
HTML = "<!doctype html><title>T&eacute;</title><p>one<p>two<br><img src=a.png alt='x'><table><tr><td>1"
ENTITIES = '<!DOCTYPE a [<!ENTITY b "bold"><!ENTITY f SYSTEM "part.xml">]><a>&b; &f;</a>'
INCLUDE = ('<a xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="part.xml"/>'
           '<xi:include href="gone.xml"><xi:fallback>none</xi:fallback></xi:include></a>')
LAUGHS = "<!DOCTYPE l [<!ENTITY a0 'ha'>" + "".join(
    f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 12)) + "]><l>&a11;</l>"


def against(kind, schema, *texts):
    return [case("--noout", f"--{kind}", "s", "doc.xml", files={"s": schema, "doc.xml": text})
            for text in texts]


CASES = {"xmllint": [
    case("-", stdin=XML),
    case("--format", "-", stdin=XML),
    case("--format", "in.xml", files={"in.xml": LATIN}),
    case("--encode", "UTF-8", "in.xml", files={"in.xml": LATIN}),
    case("--encode", "US-ASCII", "-", stdin=XML),
    case("--noblanks", "-", stdin=XML),
    case("--pretty", "2", "-", stdin=XML),
    case("--c14n", "-", stdin=XML),
    case("--exc-c14n", "-", stdin=XML),
    case("--c14n11", "-", stdin=XML),
    case("--dropdtd", "--nocdata", "-", stdin=XML),
    case("--noent", "--nowarning", "in.xml", files={"in.xml": ENTITIES, "part.xml": "<p>part</p>"}),
    case("--xinclude", "in.xml", files={"in.xml": INCLUDE, "part.xml": "<p>part</p>"}),
    case("--xpath", "//item[price > 4]/name/text()", "-", stdin=XML),
    case("--xpath", "string(//item[@id=1]/name)", "-", stdin=XML),
    case("--xpath", "sum(//price) div count(//item)", "-", stdin=XML),
    case("--xpath", "//@*", "-", stdin=XML),
    case("--xpath", "count(//nothing) = 0 and contains('abc', 'b')", "-", stdin=XML),
    case("--xpath", "//nothing", "-", stdin=XML),
    case("--xpath", "//[", "-", stdin=XML),
    case("--html", "-", stdin=HTML),
    case("--html", "--xpath", "//p", "-", stdin=HTML),
    case("--html", "--xmlout", "--format", "-", stdin=HTML),
    case("--noout", "--valid", "in.xml", files={"in.xml": XML.replace("<shop", "<!DOCTYPE shop SYSTEM 'shop.dtd'>\n<shop", 1), "shop.dtd": DTD}),
    case("--noout", "--dtdvalid", "shop.dtd", "in.xml", files={"in.xml": XML, "shop.dtd": DTD}),
    case("--noout", "--dtdvalid", "shop.dtd", "in.xml", files={"in.xml": XML.replace("price", "cost"), "shop.dtd": DTD}),
    *against("schema", XSD, GOOD, BAD, "<other/>"),
    *against("relaxng", RNG, GOOD, BAD.replace("id=", "no=")),
    *against("schematron", SCT, GOOD, BAD),
    case("--noout", "--schema", "s", "doc.xml", files={"s": "<no/>", "doc.xml": GOOD}),
    case("--noout", "-", stdin="<a><b></a>"),
    case("--recover", "-", stdin="<a><b>text</a>"),
    case("-", stdin=""),
    case("missing.xml"),
    case("--noout", "-", stdin=LAUGHS),
    case("--noout", "--huge", "-", stdin="<a>" + "<b>" * 300 + "</b>" * 300 + "</a>"),
    case("--stream", "--noout", "--pattern", "/shop/item", "in.xml", files={"in.xml": XML}),
    case("--sax", "-", stdin=GOOD),
    case("--walker", "--noout", "-", stdin=GOOD),
    case("--shell", "in.xml", stdin="cd item\npwd\nls\ncat name\nxpath //price\nbye\n", files={"in.xml": XML}),
    case("--output", "out.xml", "--format", "in.xml", files={"in.xml": XML}),
    case("--copy", "--push", "a.xml", "b.xml", files={"a.xml": GOOD, "b.xml": BAD}),
    case("--memory", "in.xml", files={"in.xml": XML}),
    case("--nonet", "--noout", "--valid", "-", stdin='<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><a/>'),
    case("--no-such-option", "-", stdin=XML),
]}
