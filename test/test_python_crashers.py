"""Programs that break CPython break their own world and nothing else."""
import pytest

from conftest import ROOT
from needs import installed
from python_crashers import CRASHERS
from wire import Stdio, call

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", by="make python")

# What a broken interpreter ends as; other types are exceptions of the code itself.
ENDS = {"ExecutionError", "SyntaxError", "Timeout", "MemoryExceeded", "StackOverflow", "OutputTooLarge",
        "TooManyHostCalls", "InvalidInput", "NotFound", "PermissionDenied"}
PLANT = "import builtins\nbuiltins.planted = 'a secret of ' + __name__\ndel builtins\n"
LOOK = "import builtins, json, re, sys\n[hasattr(builtins, 'planted'), json.loads('[1]'), re.findall('a+', 'baa'), " \
    "sys.getrecursionlimit() < 10**6, sorted([3, 1]), f'{6 * 7}']"


@pytest.fixture(scope="module")
def client(cloche, tmp_path_factory):
    with Stdio([cloche, "mcp", "--vault", str(tmp_path_factory.mktemp("crashers"))]) as c:
        yield c


def evaluate(client, code, **arguments):
    reply = client.ask(call("evaluate_note_code", {"code": code, "language": "python", **arguments}))
    return reply["result"]["structuredContent"]


@pytest.mark.parametrize("name", CRASHERS)
def test_a_program_that_breaks_the_interpreter_breaks_its_own_world_only(client, name):
    answer = evaluate(client, PLANT + CRASHERS[name], timeout=400, memoryLimit=128)
    assert answer["success"] or answer["errorDetails"]["type"] in ENDS, answer
    assert answer["success"] or answer["errorDetails"]["message"] or answer["errorDetails"]["name"], answer
    after = evaluate(client, LOOK)
    assert after["success"], after
    assert after["result"] == [False, [1], ["aa"], True, [1, 3], "42"]


def test_there_are_more_than_a_hundred():
    assert len(CRASHERS) > 100
