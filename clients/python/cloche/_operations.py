"""What is asked of the server, and what its answers mean: generators that yield requests and are sent the
results, so that plain code and asyncio run the same ones."""
from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Generator, List, Mapping, Optional, Tuple, TypeVar, Union

from ._connection import Answer, Log
from ._errors import ClocheError, OutputTooLarge, ProtocolError, error_of_answer, error_of_text

Data = Union[str, bytes, bytearray, memoryview]
Json = Dict[str, Any]
T = TypeVar("T")

_RESULTS = "cloche://results/"  # an answer that was too large (docs/resources.md)


@dataclass
class Request:
    method: str
    params: Json
    on_log: Optional[Callable[[Log], None]] = None


Operation = Generator[Request, Answer, T]


def data_of(value: Data) -> Any:
    """Text, or {base64}."""
    return value if isinstance(value, str) else {"base64": base64.b64encode(value).decode()}


def files_in(files: Mapping[str, Data]) -> Json:
    return {name: data_of(data) for name, data in files.items()}


def stream_of(answer: Json, name: str) -> bytes:
    text: str = answer[name]
    return base64.b64decode(text) if f"{name}Encoding" in answer else text.encode(errors="surrogatepass")


def files_of(answer: Json) -> Dict[str, bytes]:
    """Files that were left behind, by name, but for those that were too large to be in the answer."""
    return {f["name"]: base64.b64decode(f["base64"]) if "base64" in f else f["text"].encode(errors="surrogatepass")
            for f in answer.get("files") or [] if "base64" in f or "text" in f}


def resource(uri: str) -> Operation[Any]:
    result = yield Request("resources/read", {"uri": uri})
    return json.loads(result["contents"][0]["text"])


def call(name: str, args: Json, on_log: Callable[[Log], None] | None = None,
         ) -> Operation[Tuple[Json, bool, bool]]:
    """The answer of an action, whether it is an error, and whether it was shortened: answers that were are
    fetched whole, up to 16 MiB."""
    args = {key: value for key, value in args.items() if value is not None}
    result = yield Request("tools/call", {"name": name, "arguments": args}, on_log)
    content: List[Json] = result.get("content", [])
    text = next((part["text"] for part in content if part["type"] == "text"), "")
    is_error = bool(result.get("isError"))
    answer = result.get("structuredContent")
    if answer is None:
        try:
            answer = json.loads(text)
        except ValueError:
            raise error_of_text(text) if is_error else ProtocolError(f"the answer of {name} is no JSON") from None
    shortened = any(part.get("text", "").startswith("(This is a part") for part in content[1:])
    for part in content:
        if part["type"] == "resource_link" and part["uri"].startswith(_RESULTS):
            try:
                return (yield from resource(part["uri"])), is_error, False
            except ProtocolError:  # too large, or gone
                shortened = True
    return answer, is_error, shortened


def evaluate(code: str, options: Json, on_log: Callable[[Log], None] | None = None) -> Operation[Any]:
    answer, _, _ = yield from call("evaluate_note_code", {"code": code, **options}, on_log)
    if answer.get("success"):
        return answer.get("result")
    details = answer.get("errorDetails") or {}
    if details.get("type") == "OutputTooLarge" and details.get("resource"):
        return (yield from resource(details["resource"]))
    raise error_of_answer(answer, answer)


def action(name: str, args: Mapping[str, Any]) -> Operation[Any]:
    answer, is_error, _ = yield from call(name, dict(args))
    if is_error:
        raise error_of_answer(answer, answer)
    return answer


def snapshots() -> Operation[Any]:
    answer = yield from action("vm_snapshots", {})
    return answer["snapshots"]


def call_in_code(method: str, args: Tuple[Any, ...], options: Mapping[str, Any]) -> Operation[Any]:
    """notes.get('x') as evaluated code calls it; `options` become the last argument, an object."""
    if not re.fullmatch(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", method, re.A):
        raise ClocheError(f"'{method}' is not the name of a method", "InvalidInput")
    given = [*args, dict(options)] if options else list(args)
    return (yield from evaluate(f"return await {method}(...args)", {"context": {"args": given}}))


@dataclass(frozen=True)
class ToolResult:
    """What a command-line tool printed and left behind; `answer` has the rest."""
    stdout_bytes: bytes
    stderr_bytes: bytes
    exit_code: int
    success: bool
    files: Dict[str, bytes] = field(default_factory=dict)
    answer: Json = field(default_factory=dict, repr=False)

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode(errors="replace")


def run_tool(name: str, arguments: Mapping[str, Any] | None, args: List[str] | None, stdin: Data | None,
             files: Mapping[str, Data] | None, cwd: str | None, timeout: int | None) -> Operation[ToolResult]:
    request: Json = {"name": name, "arguments": arguments, "args": args, "cwd": cwd, "timeout": timeout}
    if stdin is not None:
        request["stdin"] = data_of(stdin)
    if files is not None:
        request["files"] = files_in(files)
    answer, is_error, shortened = yield from call("run_tool", request)
    if is_error and answer.get("errorDetails"):
        raise error_of_answer(answer, answer)
    if shortened:
        raise OutputTooLarge(f"the answer of {name} has more than 16 MiB", result=answer)
    left = files_of(answer)
    return ToolResult(stream_of(answer, "stdout"), stream_of(answer, "stderr"), answer["exitCode"],
                      answer["success"], left, answer)
