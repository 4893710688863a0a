"""Files of a machine over the wire: vm_read, vm_write and vm_ls by MCP, in code and over REST."""
import base64
import hashlib
import json
import struct
import zlib

import httpx
import pytest

from conftest import policy_in
from machine_doors import needs_image
from test_machine import agent, refusal, result_of, vm  # noqa: F401
from test_permissions import trail
from wire import Server, Stdio, call, structured

pytestmark = needs_image
BYTES = bytes(range(256))


def b64(data):
    return {"base64": base64.b64encode(data).decode()}


def content(file):
    coded = file.get("contentEncoding") == "base64"
    return base64.b64decode(file["content"]) if coded else file["content"].encode()


def whole(agent, path, **more):  # noqa: F811
    """All of a file; an answer that would be too large is a shorter part."""
    data, at = b"", 0
    while at is not None:
        part = vm(agent, "read", path=path, offset=at, **more)
        assert part["offset"] == at and part["length"] == len(content(part))
        data, at = data + content(part), part.get("next")
    return data


# ---- MCP --------------------------------------------------------------------------------------


def test_what_is_written_is_read_byte_for_byte(agent):  # noqa: F811
    for data in (b"", b"plain\n", "ä€𝄞".encode(), BYTES, b"\0" * 100000, b"'\"$(id)\\"):
        wrote = vm(agent, "write", path="/tmp/it's $1", content=b64(data))
        assert (wrote["path"], wrote["size"]) == ("/tmp/it's $1", len(data))
        got = vm(agent, "read", path="/tmp/it's $1")
        assert ("contentEncoding" in got) == (data == BYTES) and got["size"] == len(data)
        assert whole(agent, "/tmp/it's $1") == data
    got = vm(agent, command="stat -c %a \"/tmp/it's \\$1\"; ls -A /tmp | grep -c '^.cloche'")
    assert got["stdout"] == "644\n0\n", "nothing is left beside it"


def test_a_long_file_comes_in_parts_between_characters(agent):  # noqa: F811
    text = "aä€𝄞" * 50
    vm(agent, "write", path="t", content=text)
    joined, at = "", 0
    while at is not None:
        part = vm(agent, "read", path="/root/t", offset=at, length=7)
        assert "contentEncoding" not in part and 4 <= part["length"] <= 7
        joined += part["content"]
        at = part.get("next")
    assert joined == text
    assert content(vm(agent, "read", path="t", offset=2, length=3, encoding="base64")) == text.encode()[2:5]
    vm(agent, command="head -c 300000 /dev/urandom >/root/r; seq 100000 >/root/s; head -c 99999 /dev/zero >/root/z")
    for name in "rsz":
        got = vm(agent, command=f"sha256sum /root/{name}")["stdout"].split()[0]
        for more in ({}, {"encoding": "base64"}):
            assert hashlib.sha256(whole(agent, name, **more)).hexdigest() == got
    behind = vm(agent, "read", path="t", offset=10 ** 6)
    assert behind["content"] == "" and "next" not in behind and behind["size"] == len(text.encode())


def test_a_file_keeps_its_mode_and_a_link_its_place(agent):  # noqa: F811
    vm(agent, "write", path="/root/a/b/run", content="#!/bin/sh\necho ran\n", mode="755")
    vm(agent, command="ln -s a/b/run /root/link; ln -s /root/new /root/dangling")
    vm(agent, "write", path="/root/link", content="#!/bin/sh\necho again\n")
    vm(agent, "write", path="/root/link", content="echo more\n", append=True)
    vm(agent, "write", path="/root/dangling", content="x")
    got = vm(agent, command="/root/a/b/run; readlink /root/link /root/dangling; cat /root/new")
    assert got["stdout"] == "again\nmore\na/b/run\n/root/new\nx"
    assert vm(agent, "read", path="/root/link")["mode"] == "755"


def test_a_version_changes_with_the_file(agent):  # noqa: F811
    vm(agent, "write", path="/tmp/v", content="1")
    first, again = (vm(agent, "read", path="/tmp/v")["version"] for _ in range(2))
    vm(agent, "write", path="/tmp/v", content="2")
    assert first == again != vm(agent, "read", path="/tmp/v")["version"]


def test_a_folder_is_listed_by_name(agent):  # noqa: F811
    vm(agent, command="mkdir -p /tmp/d/sub && cd /tmp/d && printf 12345 >b && touch .hidden 'new\nline' && "
                      "ln -s b link && mkfifo pipe && touch \"$(printf 'x\\377')\" && chmod 600 b")
    got = vm(agent, "ls", path="/tmp/d")
    rows = [(e["name"], e["type"]) for e in got["entries"]]
    assert rows == [(".hidden", "file"), ("b", "file"), ("link", "link"), ("new\nline", "file"),
                    ("pipe", "pipe"), ("sub", "folder"), ("x\ufffd", "file")]
    by = {e["name"]: e for e in got["entries"]}
    assert (by["b"]["size"], by["b"]["mode"], by["link"]["target"]) == (5, "600", "b")
    assert base64.b64decode(by["x\ufffd"]["nameBase64"]) == b"x\xff"
    assert by["b"]["modified"].startswith("20") and got["total"] == 7 and "more" not in got
    page = vm(agent, "ls", path="/tmp/d", limit=2, after="b")
    assert [e["name"] for e in page["entries"]] == ["link", "new\nline"] and page["more"] is True
    # What has no name in UTF-8 is reached by its bytes.
    odd = {"base64": base64.b64encode(b"/tmp/d/x\xff").decode()}
    vm(agent, "write", path=odd, content="odd")
    read = vm(agent, "read", path=odd)
    assert read["content"] == "odd" and base64.b64decode(read["pathBase64"]) == b"/tmp/d/x\xff"
    assert vm(agent, command="cat /tmp/d/x*")["stdout"] == "odd"


def test_ten_thousand_files_are_listed_in_pages(agent):  # noqa: F811
    vm(agent, command="mkdir /tmp/many; cd /tmp/many; seq 10500 | xargs touch")
    assert len(vm(agent, "ls", path="/tmp/many")["entries"]) == 1000
    names, after = [], None
    while True:
        got = vm(agent, "ls", path="/tmp/many", limit=10000, **({"after": after} if after else {}))
        names += [e["name"] for e in got["entries"]]
        if "more" not in got:
            break
        after = names[-1]
    assert names == sorted(map(str, range(1, 10501))) and got["total"] == 10500


def test_errors_have_names(agent):  # noqa: F811
    assert "NotFound" in refusal(agent, "read", path="/tmp/x") and "NotFound" in refusal(agent, "ls")
    vm(agent, command="mkfifo /tmp/fifo; touch /tmp/plain; ln -s loop /tmp/loop; mount -t tmpfs -o size=64k none /mnt; "
                      "mkdir /tmp/ro; mount -t tmpfs -o ro none /tmp/ro")
    for name, path, says in (("read", "/tmp/none", "NotFound"), ("read", "/tmp", "InvalidInput"),
                             ("read", "/tmp/fifo", "InvalidInput"), ("read", "/tmp/plain/x", "NotFound"),
                             ("read", "/tmp/loop", "NotFound"), ("read", "", "InvalidInput"),
                             ("read", "a\0b", "InvalidInput"), ("read", "x" * 5000, "InvalidInput"),
                             ("read", "x" * 300, "NotFound"), ("read", "/dev/zero", "InvalidInput"),
                             ("ls", "/tmp/plain", "InvalidInput"), ("ls", "/tmp/none", "NotFound")):
        assert refusal(agent, name, path=path).startswith(says), (name, path)
    for path, says in (("/tmp", "InvalidInput"), ("/tmp/", "InvalidInput"), ("/tmp/fifo", "InvalidInput"),
                       ("/tmp/plain/x", "InvalidInput"), ("/dev/null", "InvalidInput"),
                       ("/tmp/ro/x", "PermissionDenied"), ("/tmp/" + "x" * 300, "InvalidInput")):
        assert refusal(agent, "write", path=path, content="x").startswith(says), path
    assert refusal(agent, "write", path="/mnt/x", content="x" * 200000).startswith("LimitExceeded")
    assert vm(agent, "ls", path="/mnt")["entries"] == [], "nothing of it is left"
    for wrong in ({"path": "/a"}, {"path": "/a", "content": 3}, {"path": "/a", "content": "", "mode": "9"},
                  {"path": "/a", "content": {"base64": "?"}}, {"path": "/a", "content": "", "nope": 1}, {"content": ""}):
        assert refusal(agent, "write", **wrong).startswith("InvalidInput"), wrong
    for wrong in ({"path": "/a", "offset": -1}, {"path": "/a", "length": 0}, {"path": "/a", "length": 1 << 25},
                  {"path": "/a", "encoding": "utf16"}, {"path": 1}, {}):
        assert refusal(agent, "read", **wrong).startswith("InvalidInput"), wrong
    assert refusal(agent, "read", path="/tmp/plain", machine="vm_none").startswith("NotFound")


@pytest.mark.parametrize("lie", ["", "not a number", "99999999999999999999 1.0 644 1", "5 1.0 999999 1", "-5 1.0 644 1", "5 1 644 1",
                                 "5 1.0 644", "5 1.0 rw 1"])
def test_a_machine_that_lies_about_its_files_harms_nobody(agent, lie):  # noqa: F811
    vm(agent, command=f"printf '#!/bin/sh\\nprintf %%s \"{lie}\"\\n' > /usr/local/sbin/stat; chmod +x /usr/local/sbin/stat; touch /tmp/a; "
                      "printf '#!/bin/sh\\nprintf \"f x\\\\000\"\\n' > /usr/local/sbin/find; chmod +x /usr/local/sbin/find")
    for name, more in (("read", {}), ("write", {"content": "x"})):
        assert "cannot be read" in refusal(agent, name, path="/tmp/a", **more)
    assert "cannot be read" in refusal(agent, "ls", path="/tmp")
    vm(agent, command="rm /usr/local/sbin/stat /usr/local/sbin/find")
    assert vm(agent, "read", path="/tmp/a")["content"] == "x"


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + BYTES[:width * 3].ljust(width * 3, b"\7") for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_an_image_is_shown_as_one(agent):  # noqa: F811
    image = png(40, 30)
    vm(agent, "write", path="/tmp/plot", content=b64(image))
    result = agent.ask(call("vm_read", {"path": "/tmp/plot"}))["result"]
    text, shown = result["content"]
    assert (shown["type"], shown["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(shown["data"]) == image
    told = result["structuredContent"]
    assert json.loads(text["text"]) == told and told["size"] == len(image) and "content" not in told
    # A large one is shown whole; one that is too large, or asked for in parts, is bytes.
    large = image + b"\0" * (3 << 20)
    vm(agent, "write", path="/tmp/large", content=b64(large))
    shown = agent.ask(call("vm_read", {"path": "/tmp/large"}))["result"]["content"][1]
    assert base64.b64decode(shown["data"]) == large
    vm(agent, command="cp /tmp/plot /tmp/huge; truncate -s 9M /tmp/huge")
    assert "structuredContent" in agent.ask(call("vm_read", {"path": "/tmp/huge", "length": 100}))["result"]
    part = vm(agent, "read", path="/tmp/plot", encoding="base64")
    assert content(part) == image and part["mimeType"] == "image/png"


def test_files_are_used_as_the_policy_allows(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"permission": "never"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        for name, more in (("read", {}), ("write", {"content": "x"}), ("ls", {})):
            assert "PermissionDenied" in refusal(client, name, path="/tmp/a", **more)
    policy_in(tmp_path, {})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        vm(client, "write", path="/tmp/secret-name", content="secret content")
        vm(client, "read", path="/tmp/secret-name")
    rows = [m for record in trail(vault) for m in record.get("machines", []) if m["result"] == "success"]
    assert [(m["call"], m["result"]) for m in rows] == [("vm.write", "success"), ("vm.read", "success")]
    assert rows[0]["stdin_bytes"] == rows[1]["stdout_bytes"] == 14
    assert "secret content" not in json.dumps(rows)


# ---- code -------------------------------------------------------------------------------------


def test_code_has_bytes(agent):  # noqa: F811
    got = result_of(agent, """
        const bytes = new Uint8Array(256).map((_, i) => i);
        await vm.write('/tmp/bytes', bytes);
        await vm.write({path: '/tmp/text', content: 'grün'});
        await vm.write('/tmp/text', '!', {append: true});
        const back = (await vm.read('/tmp/bytes')).content;
        const text = await vm.read('/tmp/text');
        const forced = (await vm.read({path: '/tmp/text', encoding: 'base64'})).content;
        const names = (await vm.ls('/tmp')).entries.map((e) => e.name);
        const failed = await vm.read('/tmp/none').catch((e) => e.name);
        return [back instanceof Uint8Array && back.every((b, i) => b === i), back.length, text.content,
                forced instanceof Uint8Array, names, failed, (await vm.ls()).path];
        """)
    assert got == [True, 256, "grün!", True, ["bytes", "text"], "NotFound", "/root"]


# ---- REST -------------------------------------------------------------------------------------


@pytest.fixture
def rest(cloche, vault):
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server, httpx.Client(base_url=server.url, trust_env=False, timeout=300) as client:
        yield client


OCTETS = {"Content-Type": "application/octet-stream"}


def test_a_range_of_a_file_is_read(rest):
    at = "/vm/default/file?path=/tmp/a%20b"
    wrote = rest.put(at, content=BYTES, headers=OCTETS)
    assert (wrote.status_code, wrote.json()["size"]) == (200, 256)
    whole = rest.get(at)
    assert whole.content == BYTES and whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["content-type"] == "application/octet-stream"
    tag = whole.headers["etag"]
    for asked, first, end in (("bytes=0-0", 0, 1), ("bytes=10-19", 10, 20), ("bytes=250-", 250, 256),
                              ("bytes=-6", 250, 256), ("bytes=-1000", 0, 256), ("bytes=5-10000", 5, 256)):
        part = rest.get(at, headers={"Range": asked, "If-Range": tag})
        assert part.status_code == 206 and part.content == BYTES[first:end], asked
        assert part.headers["content-range"] == f"bytes {first}-{end - 1}/256" and part.headers["etag"] == tag
    for ignored in ("bytes=1-2,4-5", "bytes=9-3", "lines=1-2", "bytes=", "bytes=-", "bytes=x-3", "bytes=1"):
        assert rest.get(at, headers={"Range": ignored}).status_code == 200, ignored
    for none in ("bytes=256-", "bytes=300-400", "bytes=-0"):
        assert rest.get(at, headers={"Range": none}).status_code == 416, none
    assert rest.get(at, headers={"If-None-Match": tag}).status_code == 304
    rest.put(at + "&append=true", content=b"more", headers=OCTETS)
    changed = rest.get(at, headers={"Range": "bytes=0-1", "If-Range": tag})
    assert changed.status_code == 200 and changed.content == BYTES + b"more", "another version than the client's"
    assert rest.head(at).status_code == 200
    assert rest.get("/vm/default/file").status_code == 400
    assert rest.get("/vm/vm_none/file?path=/a").status_code == 404
    assert rest.put(at, content=b"x").status_code == 415


def test_a_file_larger_than_an_answer_is_streamed(rest):
    rest.post("/vm/exec", json={"command": "seq 9000000 > /root/big"})
    want = zlib.crc32("".join(f"{i}\n" for i in range(1, 9000001)).encode())
    got, n = 0, 0
    with rest.stream("GET", "/vm/default/file?path=big") as answer:
        assert answer.status_code == 200
        for piece in answer.iter_bytes():
            got, n = zlib.crc32(piece, got), n + len(piece)
    assert (got, n) == (want, 70888896)
    part = rest.get("/vm/default/file?path=big", headers={"Range": "bytes=70000000-"})
    assert part.status_code == 206 and part.content.endswith(b"\n9000000\n") and len(part.content) == 888896


def test_a_file_that_changes_while_it_is_read_is_not_a_whole_answer(rest):
    rest.post("/vm/exec", json={"command": "truncate -s 60M /root/big"})
    with pytest.raises(httpx.RemoteProtocolError):
        with rest.stream("GET", "/vm/default/file?path=big") as answer:
            pieces = answer.iter_raw()
            next(pieces)
            rest.post("/vm/exec", json={"command": "echo x > /root/big"})
            for _ in pieces:
                pass


def test_a_folder_over_rest(rest):
    rest.put("/vm/default/file?path=/tmp/f/x&mode=600", content=b"1", headers=OCTETS)
    got = rest.get("/vm/default/files?path=/tmp/f").json()
    assert [(e["name"], e["mode"]) for e in got["entries"]] == [("x", "600")] and got["total"] == 1
    assert rest.get("/vm/default/files?path=/tmp/f/x").status_code == 400
    assert rest.get("/vm/default/files?path=/tmp/f&limit=0").status_code == 400
