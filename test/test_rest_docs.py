"""The examples of docs/rest.md are run, in their order, with the answers that the page shows."""
import json
import re
from pathlib import Path

import httpx

DOC = Path(__file__).resolve().parent.parent / "docs" / "rest.md"
REQUEST = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/\S+)$")


def blocks():
    """The indented parts of the page, without their indentation."""
    part = []
    for line in DOC.read_text().splitlines() + ["end"]:
        if line.startswith("    ") or (part and not line):
            part.append(line[4:])
        elif part:
            yield "\n".join(part).strip()
            part = []


def examples():
    for block in blocks():
        asked, _, told = block.partition("\n\n--> ")
        first, *rest = asked.splitlines()
        request = REQUEST.match(first)
        assert request and told, block
        headers = {}
        while rest and re.match(r"[A-Z][A-Za-z-]+: ", rest[0]):
            name, value = rest.pop(0).split(": ", 1)
            headers[name] = value
        status, _, answer = told.partition("\n")
        yield request[1], request[2], headers, "\n".join(rest), int(status), answer


def fits(said, real):
    """Whether the real answer contains everything that the page shows."""
    if isinstance(said, dict):
        return all(key in real and fits(value, real[key]) for key, value in said.items())
    if isinstance(said, list):
        return len(said) == len(real) and all(map(fits, said, real))
    return said == real


def test_the_examples_are_true(server):
    count = 0
    with httpx.Client(base_url=server.url, timeout=60) as api:
        [workspace] = api.get("/workspaces").json()
        for method, path, headers, body, status, told in examples():
            count += 1
            if body:
                headers["Content-Type"] = "application/json"
            answer = api.request(method, path.replace("$id", workspace["id"]),
                                 headers=headers, content=body or None)
            assert answer.status_code == status, (method, path, answer.text)
            if answer.headers["content-type"].startswith("text/markdown"):
                assert answer.text.strip() == told.strip()
            else:
                assert fits(json.loads(told), answer.json()), (path, answer.text)
    assert count >= 7
