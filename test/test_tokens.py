"""cloche token: the user creates tokens at the terminal; they are shown once, and can be revoked.
"""
import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def token(cloche):
    def run(*words):
        return subprocess.run([cloche, "token", *words], capture_output=True, text=True,
                              timeout=60)
    return run


def rows(token):
    return {t["name"]: t for t in json.loads(token("list", "--json").stdout)}


def tokens_file():
    return Path(os.environ["XDG_CONFIG_HOME"]) / "cloche" / "tokens.json"


def test_a_token_is_shown_once_and_only_its_hash_is_kept(token):
    made = token("create", "ci")
    assert made.returncode == 0
    text = made.stdout.strip()
    assert re.fullmatch(r"cloche_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", text)
    assert "shown once" in made.stderr and text not in made.stderr
    kept = tokens_file().read_text()
    assert text not in kept and text[20:] not in kept
    assert stat.S_IMODE(tokens_file().stat().st_mode) == 0o600
    assert text[20:] not in token("list").stdout + token("list", "--json").stdout


def test_what_it_grants_is_as_asked_or_as_usual(token):
    token("create", "usual")
    token("create", "narrow", "--scope", "read, audit", "--vault", "work", "--vault", "home",
          "--level", "limited", "--expires", "never", "--unregistered")
    usual, narrow = rows(token)["usual"], rows(token)["narrow"]
    assert usual["scopes"] == ["read", "write", "evaluate"] and usual["vaults"] is None
    assert usual["level"] == "full" and usual["expires"] and not usual["revoked"]
    assert narrow["scopes"] == ["read", "audit"] and narrow["vaults"] == ["work", "home"]
    assert narrow["level"] == "limited" and narrow["expires"] is None
    assert usual["last_used"] is None


@pytest.mark.parametrize("words, says", [
    (["create"], "create is followed by a NAME"),
    (["create", "a b"], "1 to 40 letters"),
    (["create", "../../x"], "1 to 40 letters"),
    (["create", "x", "--scope", "read,admin"], "admin"),
    (["create", "x", "--scope", ""], "no scope"),
    (["create", "x", "--level", "root"], "full, limited or zero"),
    (["create", "x", "--expires", "30"], "30d"),
    (["create", "x", "--expires", "-1d"], "30d"),
    (["create", "x", "--expires", "99999999d"], "30d"),
    (["create", "x", "--expires", "0d"], "30d"),
    (["revoke"], "revoke is followed by a NAME"),
    (["revoke", "x", "--level", "full"], "belong to"),
    (["sell", "x"], "list, create, revoke"),
])
def test_a_wrong_call_makes_nothing_and_says_what_is_accepted(token, words, says):
    answer = token(*words)
    assert answer.returncode == 2
    assert says in answer.stderr
    assert rows(token) == {}


def test_a_name_means_one_token_for_ever(token):
    assert token("create", "ci").returncode == 0
    again = token("create", "ci")
    assert again.returncode == 1 and "exists" in again.stderr and not again.stdout
    assert token("revoke", "ci").returncode == 0
    again = token("create", "ci")
    assert again.returncode == 1 and "was revoked" in again.stderr
    assert rows(token)["ci"]["revoked"]


def test_it_is_revoked_by_its_id_too_and_once(token):
    token("create", "ci")
    assert token("revoke", rows(token)["ci"]["id"]).returncode == 0
    assert token("revoke", "ci").returncode == 1
    assert "there is no token" in token("revoke", "other").stderr


def test_making_and_revoking_stand_in_the_users_trail(cloche, token):
    token("create", "ci", "--scope", "read")
    token("revoke", "ci")
    told = subprocess.run([cloche, "audit", "--json"], capture_output=True, text=True)
    events = [json.loads(line) for line in told.stdout.splitlines()]
    made = [e for e in events if e["event"] == "token create"]
    gone = [e for e in events if e["event"] == "token revoke"]
    assert [e["why"] for e in made] == ["ci"] and [e["why"] for e in gone] == ["ci"]
    assert made[0]["scopes"] == 1
    assert subprocess.run([cloche, "audit", "--verify"]).returncode == 0


def test_a_damaged_file_is_never_written_over(token):
    token("create", "ci")
    tokens_file().write_text("{ this is not it")
    for words in (["create", "more"], ["revoke", "ci"], ["list"]):
        answer = token(*words)
        assert answer.returncode == 1 and "tokens.json" in answer.stderr
    assert tokens_file().read_text() == "{ this is not it"


def test_a_vault_that_nobody_registered_is_told(token, cloche, vault):
    subprocess.run([cloche, "vault", "add", str(vault), "--id", "work"], check=True,
                   capture_output=True)
    assert token("create", "a", "--vault", "work").returncode == 0
    refused = token("create", "b", "--vault", "wrok")
    assert refused.returncode == 2 and "no registered vault has the id 'wrok'" in refused.stderr
    assert "b" not in rows(token)
    assert token("create", "b", "--vault", "wrok", "--unregistered").returncode == 0


def test_many_at_once_are_all_kept(cloche):
    many = [subprocess.Popen([cloche, "token", "create", f"t{i}"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL) for i in range(8)]
    texts = {p.communicate(timeout=60)[0] for p in many}
    assert len(texts) == 8 and all(p.returncode == 0 for p in many)
    listed = subprocess.run([cloche, "token", "list", "--json"], capture_output=True, text=True)
    assert len(json.loads(listed.stdout)) == 8
