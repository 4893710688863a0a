"""cloche connect: the settings of MCP clients, as these write them, and the server that they start."""
import json
import os
import pty
import re
import subprocess
import tomllib

import pytest

# Where each client has its settings, and how it finds a server in them.
CLIENTS = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "claude-code": (".claude.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "zed": (".config/zed/settings.json", "context_servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers"),
    "lm-studio": (".lmstudio/mcp.json", "mcpServers"),
    "cline": (".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "mcpServers"),
    "opencode": (".config/opencode/opencode.json", "mcp"),
}
# Settings that are there already.
SETTINGS = {
    "claude-desktop": '{\n  "globalShortcut": "Ctrl+Space",\n  "mcpServers": {\n    "filesystem": {\n      "command": "npx",\n'
                      '      "args": [\n        "-y",\n        "@modelcontextprotocol/server-filesystem"\n      ]\n    }\n  }\n}',
    "claude-code": '{"numStartups":12,"projects":{"/home/me/x":{"mcpServers":{"cloche":{"command":"a project\'s"}}}},"mcpServers":{}}',
    "vscode": '{\n\t"inputs": [\n\t\t// asked for once\n\t\t{ "type": "promptString", "id": "key", },\n\t],\n\t"servers": {\n'
              '\t\t"github": {\n\t\t\t"type": "http",\n\t\t\t"url": "https://example.org/mcp/", // remote\n\t\t},\n\t},\n}\n',
    "codex": 'model = "gpt-5"\napproval_policy = "on-request"\n\n[projects."/home/me/x"]\ntrust_level = "trusted"\n\n'
             '[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs-mcp"]\n\n[mcp_servers.docs.env]\nKEY = "[mcp_servers.cloche]"\n',
    "zed": '// Zed settings\n//\n// For information on how to configure Zed, see the documentation.\n{\n  "vim_mode": true,\n'
           '  "theme": {\n    "mode": "system",\n  },\n  // "context_servers": {}\n}\n',
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME":
        monkeypatch.setenv(name, os.environ.get(name, str(tmp_path / name)))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    return tmp_path


def connect(cloche, *words, code=0, **how):
    done = subprocess.run([cloche, "connect", *words], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **how)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def read(path):
    """As the client does: comments and trailing commas are none of JSON's."""
    text = path.read_text()
    if path.suffix == ".toml":
        return tomllib.loads(text)
    bare = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or "", text, flags=re.S)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", bare))


def words_of(client, entry):
    return entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_connected_and_parted(cloche, vault, home, client, there):
    place, key = CLIENTS[client]
    path = home / place
    if there:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SETTINGS.get(client, '{"other": 1}'))
        path.chmod(0o640)
        before = read(path)
    said = connect(cloche, client, "--vault", str(vault), "--yes")
    assert re.search(r"cloche \d.* answers, with \d+ tools", said)
    after = read(path)
    entry = after[key].pop("cloche")
    assert words_of(client, entry) == [os.path.realpath(cloche), "mcp", "--vault", os.path.realpath(vault)]
    if there:
        assert after == before | {key: before.get(key, {})}
        (copy,) = path.parent.glob(path.name + ".*.bak")
        assert copy.read_text() == SETTINGS.get(client, '{"other": 1}')
        assert path.stat().st_mode & 0o777 == 0o640 and copy.stat().st_mode & 0o077 == 0
    assert "connected" in connect(cloche).split(client, 1)[1].split("\n")[0]
    text = path.read_text()
    assert "has this entry already" in connect(cloche, client, "--vault", str(vault), "--yes")
    assert path.read_text() == text
    connect(cloche, client, "--remove", "--yes")
    left = read(path)
    assert "cloche" not in left.get(key, {})
    if there:
        assert left == before | {key: before.get(key, {})} or left == before


@pytest.mark.parametrize("client", ["claude-desktop", "vscode", "codex"])
def test_removal_leaves_the_file_as_it_was(cloche, vault, home, client):
    path = home / CLIENTS[client][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SETTINGS[client])
    connect(cloche, client, "--vault", str(vault), "--yes")
    connect(cloche, client, "--remove", "--yes")
    assert path.read_text() == SETTINGS[client]


def test_nothing_is_written_unasked(cloche, vault, home):
    said = connect(cloche, "cursor", "--vault", str(vault), code=2)
    assert "--yes" in said and "mcpServers" in said
    printed = connect(cloche, "cursor", "--vault", str(vault), "--print")
    assert json.loads(printed)["mcpServers"]["cloche"]["args"][0] == "mcp"
    assert not (home / ".cursor").exists()


@pytest.mark.parametrize("answer", ["n\n", "y\n"])
def test_a_person_is_asked(cloche, vault, home, answer):
    mine, theirs = pty.openpty()
    p = subprocess.Popen([cloche, "connect", "cursor", "--vault", str(vault)], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.close(theirs)
    os.write(mine, answer.encode())
    said = p.communicate(timeout=120)[0].decode()
    os.close(mine)
    assert (home / ".cursor/mcp.json").exists() == (answer == "y\n")
    assert ("answers" in said) == (answer == "y\n") and p.returncode == (answer != "y\n")


def test_settings_that_cannot_be_read_stay_as_they_are(cloche, vault, home):
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {')
    assert str(path) in connect(cloche, "cursor", "--vault", str(vault), "--yes", code=2)
    assert path.read_text() == '{"mcpServers": {' and len(list(path.parent.iterdir())) == 1
    assert "unreadable" in connect(cloche)


def test_a_link_to_the_settings_stays_one(cloche, vault, home):
    """As those have it who keep their settings under version control."""
    kept = home / "dotfiles" / "cursor.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(kept)
    connect(cloche, "cursor", "--vault", str(vault), "--yes")
    assert (home / ".cursor/mcp.json").is_symlink() and "cloche" in kept.read_text()


def test_a_projects_file_and_another_name(cloche, vault, home, tmp_path):
    path = tmp_path / "project" / ".vscode" / "mcp.json"
    connect(cloche, "vscode", "--vault", str(vault), "--file", str(path), "--name", "my-notes", "--yes")
    assert list(read(path)["servers"]) == ["my-notes"]
    assert "letters" in connect(cloche, "vscode", "--name", "a b", "--yes", code=2)


def test_a_server_that_does_not_answer_is_told(cloche, home, tmp_path):
    """The vault goes away between."""
    folder = tmp_path / "gone"
    folder.mkdir()
    connect(cloche, "cursor", "--vault", str(folder), "--yes")
    assert "claude-desktop?" in connect(cloche, "claude-desk", code=2)
    assert "not there" in connect(cloche, "cursor", "--vault", str(tmp_path / "never"), "--yes", code=1)
