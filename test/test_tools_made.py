"""What one side makes, the other understands: what differs each time cannot be compared."""
from compare import case, go, run_native, run_wasm
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
    """What is random is not what it was when the program's image was made."""
    made = {keys(run_wasm(cloche, "age-keygen", case(), settings))[1] for _ in range(3)}
    made |= {run_wasm(cloche, "uuid", case("-n", 2), settings).stdout for _ in range(3)}
    assert len(made) == 6
