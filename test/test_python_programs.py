"""Programs that models write, in Python: right ones give their results, wrong ones an error that says
what to do (python_programs.py)."""
import pytest

from conftest import ROOT, sample_vault
from needs import installed
from python_programs import RIGHT, WRITES, WRONG
from wire import Stdio, call

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", by="make python")


def evaluated(client, code):
    reply = client.ask(call("evaluate_note_code", {"code": code, "language": "python"}))
    return reply["result"]["structuredContent"]


@pytest.fixture(scope="module")
def reader(cloche, tmp_path_factory):
    with Stdio([cloche, "mcp", "--vault", str(sample_vault(tmp_path_factory.mktemp("programs")))]) as c:
        yield c


@pytest.mark.parametrize("code, value", RIGHT)
def test_a_right_program_has_its_result(reader, code, value):
    answer = evaluated(reader, code)
    assert answer["success"], answer["errorDetails"]
    assert answer["result"] == value


@pytest.mark.parametrize("code, value", WRITES)
def test_a_program_that_writes_has_its_result(stdio, code, value):
    answer = evaluated(stdio, code)
    assert answer["success"], answer["errorDetails"]
    assert answer["result"] == value


@pytest.mark.parametrize("code, line, words", WRONG)
def test_a_wrong_program_is_told_what_to_do(reader, code, line, words):
    answer = evaluated(reader, code)
    assert not answer["success"], answer["result"]
    told = answer["errorDetails"]
    text = " ".join([told["message"], str(told.get("suggestion", "")), str(told.get("suggestions", ""))])
    assert any(w in text for w in words.split("|")), told
    assert told["line"] == line, told


def test_there_are_two_hundred_half_of_them_wrong():
    assert len(RIGHT) + len(WRITES) >= 100 and len(WRONG) >= 100
