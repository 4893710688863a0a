"""The first ten minutes of a person with years of notes: connect a client, let its agent work, look at
what it did, take it back. Only commands that README names, and the client's own settings."""
import asyncio
import json
import os
import subprocess

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

NOTES = {
    "Plan.md": "# Plan\n\nSee [[Garden]], [[Garden#Beds|the beds]] and [map](Garden.md).\n",
    "Garden.md": "---\naliases: [Yard]\n---\n# Garden\n\n## Beds\n\n- [ ] TODO: order seeds\n",
    "Daily/2026-11-23.md": "Talked about [[Yard]].\r\nTODO: call Ada\r\n",
    ".obsidian/app.json": '{"alwaysUpdateLinks": true}',
    "Files/plan.png": "not really a picture",
}
PROGRAM = """
const open = [];
for (const n of await notes.list({})) {
  const note = await notes.get(n.id);
  for (const line of note.content.split('\\n')) if (line.includes('TODO:')) open.push(`${n.id}: ${line.trim()}`);
}
await notes.create({title: 'Open', content: open.sort().join('\\n')});
return open.length;
"""


def files_of(vault):
    """What the person's own program sees; Cloche's own folder is hidden there."""
    return {str(p.relative_to(vault)): p.read_bytes() for p in sorted(vault.rglob("*"))
            if p.is_file() and ".cloche" not in p.parts}


@pytest.fixture
def person(tmp_path, cloche):
    vault = tmp_path / "notes"
    for name, text in NOTES.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_bytes(text.encode())
    env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")} | {"HOME": str(tmp_path)}

    def run(*words, code=0):
        done = subprocess.run([cloche, *words], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout
    run.vault, run.home, run.env = vault, tmp_path, env
    return run


async def work(entry, env):
    """The client's part: it starts what its settings say, and its model asks."""
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env=env)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        told = await session.initialize()
        assert told.server_info.name == "cloche" and told.instructions
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert {"search_notes", "evaluate_note_code"} <= names

        async def ask(name, **arguments):
            answer = await session.call_tool(name, arguments)
            assert not answer.is_error, answer.content
            return answer.structured_content
        found = await ask("search_notes", query="seeds")
        assert "Garden" in json.dumps(found)
        seen = (await ask("get_note", identifier="Garden"))["content_hash"]
        await ask("rename_note", identifier="Garden", new_title="Orchard", content_hash=seen)
        assert (await ask("evaluate_note_code", code=PROGRAM))["result"] == 2
        # What is outside of the notes is nobody's.
        escape = await session.call_tool("get_note", {"identifier": "../../etc/passwd"})
        assert escape.is_error


def test_connect_ask_look_and_undo(person):
    before = files_of(person.vault)
    person("connect", "claude-desktop", "--vault", str(person.vault), "--yes")
    settings = json.loads((person.home / ".config/Claude/claude_desktop_config.json").read_text())
    asyncio.run(work(settings["mcpServers"]["cloche"], person.env))

    after = files_of(person.vault)
    assert after["Plan.md"].decode() == "# Plan\n\nSee [[Orchard]], [[Orchard#Beds|the beds]] and [map](Orchard.md).\n"
    assert "Garden.md" not in after and b"order seeds" in after["Orchard.md"]
    touched = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert {"Plan.md", "Garden.md", "Orchard.md"} <= touched and len(touched) == 4, touched  # and the note that was made

    where = "--vault", str(person.vault)
    log = person("log", "--diff", *where)
    assert "create   note/Open" in log and "(was Garden.md)" in log and "+See [[Orchard]]" in log
    calls = person("audit", *where)
    assert all(name in calls for name in ("search_notes", "rename_note", "evaluate_note_code"))
    assert person("undo", "--since", "1h", "--dry-run", *where) and files_of(person.vault) == after
    person("undo", "--since", "1h", *where)
    assert files_of(person.vault) == before  # byte for byte


def test_what_the_person_changed_since_stays(person):
    before = files_of(person.vault)
    person("connect", "claude-desktop", "--vault", str(person.vault), "--yes")
    settings = json.loads((person.home / ".config/Claude/claude_desktop_config.json").read_text())
    asyncio.run(work(settings["mcpServers"]["cloche"], person.env))
    plan = person.vault / "Plan.md"
    plan.write_text(plan.read_text() + "My own line.\n")
    told = person("undo", "--since", "1h", "--vault", str(person.vault), code=1)
    assert "Plan" in told and "My own line." in told
    assert plan.read_text().endswith("My own line.\n")
    assert files_of(person.vault)["Garden.md"] == before["Garden.md"]


def test_the_client_is_disconnected_again(person):
    person("connect", "cursor", "--vault", str(person.vault), "--yes")
    person("connect", "cursor", "--remove", "--yes")
    assert "cloche" not in json.loads((person.home / ".cursor/mcp.json").read_text()).get("mcpServers", {})
