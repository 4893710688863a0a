"""Output that differs each time is checked by the other side: what one program makes, the other
reads."""
import os
import subprocess

from compare import case, go, run_native, run_wasm
from conftest import policy_in
from wire import Stdio, call, structured
from test_tool_cases import settings  # noqa: F401

TEXTS = {"empty": b"", "short": b"a secret\n", "long": bytes(range(256)) * 1000}
AGE, KEYGEN = go("age", "filippo.io/age/cmd/age"), go("age", "filippo.io/age/cmd/age-keygen")


def keys(result):
    """A secret key, and its recipient."""
    assert result.exit == 0, result.stderr
    lines = result.stdout.decode().splitlines()
    return result.stdout, lines[1].removeprefix("# public key: ")


def test_age_here_decrypts_what_age_there_encrypted(cloche, settings):  # noqa: F811
    secret, recipient = keys(run_native(KEYGEN, case()))
    for text in TEXTS.values():
        for armor in ([], ["-a"]):
            sealed = run_native(AGE, case("-r", recipient, *armor, stdin=text))
            opened = run_wasm(cloche, "age", case("-d", "-i", "key", "in", files={
                "key": secret, "in": sealed.stdout}), settings)
            assert (opened.exit, opened.stdout) == (0, text), opened.stderr


def test_age_there_decrypts_what_age_here_encrypted(cloche, settings):  # noqa: F811
    secret, recipient = keys(run_wasm(cloche, "age-keygen", case(), settings))
    for text in TEXTS.values():
        for armor in ([], ["-a"]):
            sealed = run_wasm(cloche, "age", case("-r", recipient, *armor, stdin=text), settings)
            opened = run_native(AGE, case("-d", "-i", "key", "in", files={
                "key": secret, "in": sealed.stdout}))
            assert (opened.exit, opened.stdout) == (0, text), sealed.stderr


def test_two_calls_of_one_image_make_different_keys(cloche, settings):  # noqa: F811
    """Random values differ from those at the time of the image."""
    made = {keys(run_wasm(cloche, "age-keygen", case(), settings))[1] for _ in range(3)}
    made |= {run_wasm(cloche, "uuid", case("-n", 2), settings).stdout for _ in range(3)}
    assert len(made) == 6


def test_a_key_file_is_its_owners_alone(cloche, settings, tmp_path):
    """As age-keygen makes it natively, though a WASI program cannot say so."""
    umask = os.umask(0o022)
    try:
        for mount in (tmp_path / "one", tmp_path / "two"):
            mount.mkdir()
        run = [cloche, "tool", "run", "--mount"]
        subprocess.run([*run, f"/work={tmp_path / 'one'}:rw", "age-keygen", "-o", "key.txt"],
                       check=True, capture_output=True, env=settings)
        subprocess.run([*run, f"/work={tmp_path / 'two'}:rw", "tee", "plain.txt"],
                       check=True, capture_output=True, input=b"x", env=settings)
    finally:
        os.umask(umask)
    assert (tmp_path / "one" / "key.txt").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "two" / "plain.txt").stat().st_mode & 0o777 == 0o644


def test_a_key_file_in_the_vault_is_too(cloche, vault, tmp_path):
    policy_in(tmp_path, {"tools": {"default": "always"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        got = structured(agent.ask(call("wasm_age-keygen", {"args": ["-o", "key.txt"]})))
    assert got["vault"] == {"created": ["key.txt"]}
    assert (vault / "key.txt").stat().st_mode & 0o777 == 0o600
