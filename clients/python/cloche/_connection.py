"""One `cloche mcp` process, spoken to by the Model Context Protocol 2026-07-28 over stdio: a JSON message in
each line, every request complete in itself. A thread reads its answers. Threads: safe."""
from __future__ import annotations

import json
import subprocess
import threading
from collections import deque
from typing import Any, Callable, Dict, Mapping, Sequence, Union

from ._errors import ClocheError, Disconnected, ProgramNotFound, ProtocolError

_META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
         "io.modelcontextprotocol/clientCapabilities": {},
         "io.modelcontextprotocol/clientInfo": {"name": "cloche-python", "version": "0.1.0"}}
_LINE_MAX = 16 << 20  # that the server reads
_END_S = 10  # for calls that run when the connection is closed

Message = Dict[str, Any]
# A log message {"level", "logger", "data"}, a result, or the error instead.
Event = Union["Log", "Answer", BaseException]


class Log(Dict[str, Any]):
    """The parameters of a log message."""


class Answer(Dict[str, Any]):
    """The result of a request."""


class Connection:
    def __init__(self, program: str, args: Sequence[str], env: Mapping[str, str]) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._next = 1
        self._pending: dict[int, Callable[[Event], None]] = {}
        self._ended: ClocheError | None = None
        self._said: deque[bytes] = deque(maxlen=20)  # its last lines on stderr
        try:
            self._process = subprocess.Popen([program, "mcp", *args], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        except OSError as error:
            raise ProgramNotFound(f"{program} could not be started: {error}") from error
        self._hears = threading.Thread(target=self._hear, daemon=True)
        self._reads = threading.Thread(target=self._read, daemon=True)
        self._hears.start()
        self._reads.start()

    def request(self, method: str, params: Message, deliver: Callable[[Event], None],
                logs: bool = False) -> int:
        """Sends it; returns its id. `deliver` gets what comes of it, on the reading thread; the last is an
        Answer or an error. It must not block."""
        meta = {**_META, "io.modelcontextprotocol/logLevel": "debug"} if logs else _META
        with self._lock:
            if self._ended:
                raise self._ended
            number, self._next = self._next, self._next + 1
            line = _line({"id": number, "method": method, "params": {**params, "_meta": meta}})
            if len(line) > _LINE_MAX:
                raise ClocheError("the request has more than 16 MiB; nothing was done", "InvalidInput")
            self._pending[number] = deliver
            self._write(line)
        return number

    def cancel(self, number: int) -> None:
        """Nothing more comes of the request, and the server stops it."""
        with self._lock:
            if self._pending.pop(number, None) and not self._ended:
                self._write(_line({"method": "notifications/cancelled",
                                   "params": {"requestId": number, "_meta": _META}}))

    def close(self) -> None:
        """Ends the input, on which the server ends after the calls that run."""
        assert self._process.stdin
        with self._lock:
            try:
                self._process.stdin.close()
            except OSError:
                pass
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reads.join()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError):
            pass  # it has ended: _read() says so

    def _hear(self) -> None:
        assert self._process.stderr
        with self._process.stderr as lines:
            self._said.extend(lines)

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self._take(json.loads(line))
        code = self._process.wait()
        self._hears.join()
        said = b"".join(self._said).decode(errors="replace").strip()
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        with self._lock:
            self._ended = Disconnected(f"{self._program} {how}" + (f": {said}" if said else ""))
            left, self._pending = list(self._pending.values()), {}
        for deliver in left:
            deliver(self._ended)

    def _take(self, message: Message) -> None:
        if "method" in message:
            params = message.get("params", {})
            if message["method"] == "notifications/message":
                with self._lock:
                    heard = self._pending.get(params.get("_meta", {}).get("cloche/requestId"))
                if heard:
                    heard(Log(params))
            return
        with self._lock:
            deliver = self._pending.pop(message.get("id", 0), None)
        if deliver and "error" in message:
            error = message["error"]
            deliver(ProtocolError(str(error.get("message")), details=error))
        elif deliver:
            deliver(Answer(message["result"]))


def _line(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
