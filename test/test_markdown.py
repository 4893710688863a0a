"""Blocks of Markdown are CommonMark's: in the specification's examples, links and sections are
where cmark has paragraphs and headings. Each line of an example gets a link of its own, which is no
link in code and in HTML."""
import json
import re
import subprocess
import xml.etree.ElementTree as ET

import pytest
from compare import debian
from test_tool_suites import sources  # noqa: F401

NAME = "{http://commonmark.org/xml/1.0}"


def examples(spec):
    found = re.findall(r"^`{32} example[^\n]*\n(.*?)^\.\n(.*?)^`{32}$", spec.read_text(),
                       re.MULTILINE | re.DOTALL)
    return [text.replace("→", "\t") for text, _ in found]


def with_links(text):
    lines = text.split("\n")
    return "\n".join(f"{line} [[L{i}]]" if line.strip() else line
                     for i, line in enumerate(lines, 1))


def parsed(text):
    command, env = debian("cmark-gfm")()
    done = subprocess.run([*command, "-t", "xml", "--sourcepos"], input=text.encode(),
                          capture_output=True, env=env, check=True)
    return ET.fromstring(done.stdout.decode().split("\n", 2)[2])


def links_of(root):
    texts = []
    for block in root.iter():
        if block.tag in (NAME + "paragraph", NAME + "heading"):
            texts += [e.text or "" for e in block.iter(NAME + "text")]
    return {f"L{n}" for n in re.findall(r"L(\d+)", " ".join(texts))}


def sections_of(root):
    return [int(h.get("sourcepos").split(":")[0]) for h in root.findall(NAME + "heading")
            if h.get("level") == "2"]


@pytest.fixture(scope="module")
def all_examples(sources):  # noqa: F811
    texts = examples(sources("cmark-gfm", "test") / "spec.txt")
    assert len(texts) > 640
    return texts


@pytest.mark.parametrize("change", [str, with_links])
def test_blocks_are_those_of_commonmark(cloche, tmp_path, all_examples, change):
    texts = [change(t) for t in all_examples]
    (tmp_path / "note").mkdir()
    for i, text in enumerate(texts):
        (tmp_path / "note" / f"E{i}.md").write_text(f"---\ntitle: E{i}\n---\n{text}", newline="")
    code = f"""const all = [];
        for (let i = 0; i < {len(texts)}; i++) {{
            const n = await notes.get(`note/E${{i}}`), s = await notes.getSections(n.id);
            all.push([n.links.map((l) => l.target), s.sections.map((x) => x.line)]);
        }}
        return all;"""
    done = subprocess.run([cloche, "eval", "--vault", str(tmp_path), "-"], input=code,
                          capture_output=True, text=True, timeout=300)
    answer = json.loads(done.stdout)
    assert answer["success"], answer
    wrong = []
    for i, (text, (links, sections)) in enumerate(zip(texts, answer["result"], strict=True)):
        root = parsed(text)
        ours = {t for t in links if re.fullmatch(r"L\d+", t)}
        if ours != links_of(root) or sections != sections_of(root):
            wrong.append((i, text, ours ^ links_of(root), sections, sections_of(root)))
    assert wrong == [], "\n".join(map(repr, wrong))
