"""Checks a server's messages against the specification's schemas.

The schemas are not part of this repository: they are looked for beside it, in ../shared/mcp;
without them messages are only checked as JSON-RPC, and pytest's summary says so (conftest.py).
"""
import functools
import json
from pathlib import Path

import jsonschema

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26"]
FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "mcp"
_VERSION = "io.modelcontextprotocol/protocolVersion"
_RESULTS = {
    "initialize": "InitializeResult",
    "server/discover": "DiscoverResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/read": "ReadResourceResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}
_ERRORS = {-32020: "HeaderMismatchError", -32021: "MissingRequiredClientCapabilityError",
           -32022: "UnsupportedProtocolVersionError"}


def path_of(version):
    """The path of a version's schema; None: not there."""
    paths = FOLDER / version / "schema.json", FOLDER / f"schema-{version}.json"
    return next((p for p in paths if p.exists()), None)


@functools.cache
def _definitions(version):
    path = path_of(version)
    if path is None:
        return None, {}
    schema = json.loads(path.read_text())
    key = "$defs" if "$defs" in schema else "definitions"
    return key, schema[key]


@functools.cache
def _validator(version, name):
    key, definitions = _definitions(version)
    return jsonschema.Draft202012Validator({"$ref": f"#/{key}/{name}", key: definitions})


@functools.cache
def _methods(version, union):
    """{method: its definition} of what stands in "ServerNotification" or "ServerRequest"."""
    _, definitions = _definitions(version)
    names = [one["$ref"].rpartition("/")[2]
             for one in definitions.get(union, {}).get("anyOf", [])]
    return {definitions[n]["properties"]["method"]["const"]: n for n in names}


def _check(version, name, value):
    if name in _definitions(version)[1]:
        _validator(version, name).validate(value)


def _check_result(message, method, version):
    result = message["result"]
    kind = result.get("resultType")
    if version == MODERN and kind == "input_required":
        assert method in ("tools/call", "prompts/get", "resources/read")
        _check(version, "InputRequiredResult", result)
    elif version == MODERN and kind != "complete":
        # An extension's, of which the schema knows nothing.
        assert kind == "task" and method in (None, "tools/call")
    elif method in _RESULTS:
        _check(version, _RESULTS[method], result)


def validate(message, method=None, version=LEGACY[0]):
    """Fails if the schema of `version` does not allow this message of a server; `method`
    is that of the request which a response answers."""
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        union = "ServerRequest" if "id" in message else "ServerNotification"
        known = _methods(version, union)
        if message["method"] != "notifications/tasks" and _definitions(version)[1]:
            assert message["method"] in known, f"{version} has no {message['method']}"
            _check(version, known[message["method"]], message)
        return
    assert ("result" in message) != ("error" in message)
    if "error" in message:
        assert isinstance(message["error"]["code"], int)
        assert isinstance(message["error"]["message"], str)
        # On stdio, where no version is agreed on that knows no such id, an answer to what
        # could not be read has the id null, as JSON-RPC wants it.
        if "id" not in message or message["id"] is not None:
            _check(version, "JSONRPCErrorResponse", message)
            _check(version, _ERRORS.get(message["error"]["code"]), message)
        return
    assert isinstance(message["id"], (str, int))
    _check(version, "JSONRPCMessage", message)
    _check_result(message, method, version)


class Conversation:
    """The requests of one client, so that answers can be checked against the schema of the version
    in use. Versions without a schema are not checked."""

    def __init__(self, version=None):
        self.versions = [version] if version else []  # that were spoken, the last first
        self._asked = {}  # (method, version) by id; a method of None: more than one

    def sent(self, message):
        """Notes a message that the client sends: any JSON value, or a text that may be invalid."""
        if isinstance(message, (bytes, str)):
            try:
                message = json.loads(message)
            except (ValueError, RecursionError):
                return
        for one in message if isinstance(message, list) else [message]:
            if isinstance(one, dict) and isinstance(one.get("id"), (str, int, float)):
                self._ask(one)

    def _ask(self, message):
        method, params = message.get("method"), message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        version = MODERN if isinstance(meta, dict) and _VERSION in meta else None
        if version and version not in self.versions:
            self.versions.append(version)
        before = self._asked.get(message["id"])
        if before and before != (method, version):
            method = None
        self._asked[message["id"]] = method, version

    def _version_of(self, message):
        """By which its notification or question is checked: nothing in it says so."""
        union = "ServerRequest" if "id" in message else "ServerNotification"
        versions = self.versions or LEGACY[:1]
        return next((v for v in versions if message["method"] in _methods(v, union)),
                    versions[0])

    def received(self, message):
        """Checks one message of the server, or a batch of them; returns it."""
        for one in message if isinstance(message, list) else [message]:
            assert isinstance(one, dict)
            if "method" in one:
                validate(one, None, self._version_of(one))
                continue
            method, version = None, None
            if one.get("id") is not None:
                assert one["id"] in self._asked, f"nobody asked: {one}"
                method, version = self._asked[one["id"]]
            if method == "initialize" and "result" in one:
                self.versions.insert(0, one["result"]["protocolVersion"])
            older = (v for v in self.versions if v != MODERN)
            validate(one, method, version or next(older, LEGACY[0]))
        return message
