"""The check of messages against the specification's schemas can fail."""
import pytest

import needs
import spec
from spec import LEGACY, MODERN, Conversation
from wire import call, initialize, request

pytestmark = needs.system(all(map(spec.path_of, [MODERN, *LEGACY[:2]])),
                          "the specification's schemas are not beside this checkout")


def answer(result, id=1):
    return {"jsonrpc": "2.0", "id": id, "result": result}


@pytest.mark.parametrize("asked, wrong", [
    (initialize(id=1), answer({"protocolVersion": "2025-11-25", "capabilities": {}})),
    (call("a"), answer({"content": [{"type": "text"}]})),
    (call("a"), answer({"structuredContent": {}})),
    (call("a", modern=True), answer({"content": []})),
    (call("a", modern=True), answer({"content": [], "resultType": "partial"})),
    (request("tools/list", modern=True), answer({"tools": [], "resultType": "complete"})),
    (request("tools/list"), answer({"tools": [{"name": "a"}]})),
    (request("ping", id=2), answer({}, id=3)),
    (request("ping"), {"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "y"}}),
    (call("a", modern=True), {"jsonrpc": "2.0", "id": 1, "error": {
        "code": -32021, "message": "no", "data": {"requiredCapabilities": ["sampling"]}}}),
    (call("a"), {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}),
    (call("a"), {"jsonrpc": "2.0", "method": "notifications/something"}),
    (call("a", modern=True), {"jsonrpc": "2.0", "id": 5, "method": "roots/list"}),
    (request("ping"), {"id": 1, "result": {}}),
])
def test_what_the_schema_does_not_allow_is_refused(asked, wrong):
    spoken = Conversation()
    spoken.sent(asked)
    with pytest.raises(Exception):
        spoken.received(wrong)


def test_a_version_is_held_to_its_own_schema():
    older, newer = Conversation(), Conversation()
    older.sent(initialize("2025-06-18", id=1))
    older.received(answer({"protocolVersion": "2025-06-18", "capabilities": {},
                           "serverInfo": {"name": "a", "version": "1"}}))
    older.sent(call("a", id=2))
    older.received(answer({"content": []}, id=2))
    newer.sent(call("a", id=2, modern=True))
    newer.received(answer({"content": [], "resultType": "complete"}, id=2))
