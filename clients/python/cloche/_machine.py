"""AgentVM: a Linux machine in WebAssembly."""
from __future__ import annotations

import base64
import os
import posixpath
import re
import secrets
import stat
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Callable, Dict, List, Literal, Mapping, Sequence

from . import _operations as ops
from ._connection import Log
from ._errors import (ClocheError, Disconnected, FileError, ImageNotFound, NotStarted, NotSupported,
                      OutputTooLarge, error_of_answer)
from ._library import AsyncCloche, Cloche, PathLike
from ._operations import Data, Operation

_OUTPUT_MAX = 16 << 20  # bytes of each stream that the server keeps
_UPLOAD_PIECE = 4 << 20
_DOWNLOAD_PIECE = 256 << 10  # its answer needs no second request
_FILES_SESSION = "agentvm-files"  # so that files do not wait for commands
_TOO_LARGE = "the command printed more than is kept: write it to a file, and download() that"


@dataclass(frozen=True)
class ExecResult:
    """What came of a command. stdout and stderr are text, in which bytes that are not UTF-8 are U+FFFD."""
    stdout_bytes: bytes
    stderr_bytes: bytes
    exit_code: int
    shell_ended: bool = False
    held: bool = False
    out_of_memory: bool = False

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode(errors="replace")


@dataclass(frozen=True)
class Output:
    """Bytes in their order; UTF-8 characters are never split."""
    stream: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True)
class ExposedPort:
    """A port of the machine that is reached at `url`, from this computer."""
    port: int
    host_port: int
    address: str
    url: str


OnOutput = Callable[[Output], None]


class _Relay:
    """Passes output on as it comes, in order and without gaps. Where a message was left out (this
    process did not read for a while), the rest of that stream is passed on with the answer."""

    def __init__(self, listeners: Sequence[OnOutput]) -> None:
        self._listeners = listeners
        self._seen: Dict[str, int] = {"stdout": 0, "stderr": 0}
        self._gap = {"stdout": False, "stderr": False}

    def log(self, message: Log) -> None:
        if message.get("logger") != "vm":
            return
        data = message["data"]
        stream: Literal["stdout", "stderr"] = data["stream"]
        piece = data["text"].encode() if "text" in data else base64.b64decode(data["base64"])
        self._gap[stream] = self._gap[stream] or data["offset"] != self._seen[stream]
        if not self._gap[stream]:
            self._seen[stream] += len(piece)
            self._emit(Output(stream, piece))

    def end(self, result: ExecResult) -> None:
        for output in (Output("stdout", result.stdout_bytes[self._seen["stdout"]:]),
                       Output("stderr", result.stderr_bytes[self._seen["stderr"]:])):
            if output.data:
                self._emit(output)

    def _emit(self, output: Output) -> None:
        for listener in self._listeners:
            listener(output)


@dataclass
class _State:
    """A machine's options, and what is asked of it; without input or output of its own."""
    mounts: Mapping[str, PathLike]
    network: bool | None
    mac: str | None
    size: Dict[str, Any]
    handle: str | None = None
    listeners: List[OnOutput] = field(default_factory=list)

    def newer(self) -> Operation[Dict[str, Any]]:
        """Options that not every version of Cloche has: passed on where it has them, refused where not."""
        mounts = [{"mount": os.fspath(mount), "at": at} for at, mount in self.mounts.items()]
        wanted: Dict[str, Any] = {"mounts": mounts or None, "network": self.network or None, "mac": self.mac}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        if not wanted:
            return wanted
        answer, _, _ = yield from ops.call("describe_api", {"name": "vm.start"})
        there = [option["name"] for option in answer.get("options") or []]
        missing = [name for name in wanted if name not in there]
        if missing:
            them = "them" if len(missing) > 1 else "it"
            raise NotSupported(f"machines have no {' and no '.join(missing)} in this version of Cloche; leave "
                               f"{them} out. No machine was started")
        return wanted

    def start(self) -> Operation[None]:
        if self.handle is not None:
            return
        args = {**self.size, **(yield from self.newer())}
        try:
            answer, _, _ = yield from ops.call("vm_start", args)
        except ClocheError as error:
            raise ImageNotFound(str(error)) if error.name == "NotFound" and not self.mounts else error from None
        self.handle = answer["machine"]

    def stop(self) -> Operation[None]:
        handle, self.handle = self.handle, None
        if handle is None:
            return
        try:
            yield from ops.call("vm_stop", {"machine": handle})
        except ClocheError as error:
            if error.name != "NotFound" and not isinstance(error, Disconnected):  # it has ended by itself
                raise

    def exec(self, command: str | Sequence[str], options: Mapping[str, Any], stdin: Data | None = None,
             on_output: OnOutput | None = None, files: Mapping[str, Data] | None = None) -> Operation[ExecResult]:
        if self.handle is None:
            raise NotStarted("the machine is not running: call start() first, or use it in a with block")
        relay = _Relay([*self.listeners, *([on_output] if on_output else [])])
        heard = bool(self.listeners or on_output)
        args: Dict[str, Any] = {"command": command if isinstance(command, str) else list(command),
                                "machine": self.handle, "maxOutput": _OUTPUT_MAX,
                                **{name: value for name, value in options.items() if value is not None}}
        if stdin is not None:
            args["stdin"] = ops.data_of(stdin)
        if files is not None:
            args["files"] = {path: ops.data_of(data) for path, data in files.items()}
        answer, _, shortened = yield from ops.call("vm_exec", args, relay.log if heard else None)
        result = ExecResult(ops.stream_of(answer, "stdout"), ops.stream_of(answer, "stderr"),
                            answer["exitCode"], "shellEnded" in answer, "held" in answer,
                            "outOfMemory" in answer)
        whole = not shortened and not answer.get("truncated")
        if heard and whole:
            relay.end(result)
        if answer.get("errorDetails"):
            raise error_of_answer(answer, result)
        if not whole:
            raise OutputTooLarge(f"{_TOO_LARGE}; it ended with exit code {result.exit_code}",
                                 details=answer.get("truncated"), result=result)
        return result

    def files(self, command: Sequence[str], stdin: Data | None = None) -> Operation[bytes]:
        """A command about files; its standard output."""
        result = yield from self.exec(command, {"session": _FILES_SESSION}, stdin)
        if result.exit_code:
            raise FileError(result.stderr.strip() or f"exit code {result.exit_code}")
        return result.stdout_bytes

    def put(self, data: bytes, target: str, mode: int) -> Operation[None]:
        """Written beside the target first, so that nobody sees a part of it."""
        part = f"{target}.part-{secrets.token_hex(6)}"
        try:
            for at in range(0, max(len(data), 1), _UPLOAD_PIECE):
                yield from self.files(["sh", "-c", 'cat >>"$1"', "sh", part], data[at:at + _UPLOAD_PIECE])
            yield from self.files(["sh", "-c", 'chmod "$1" -- "$2" && mv -T -- "$2" "$3"', "sh", f"{mode:o}", part,
                                   target])
        except ClocheError:
            try:
                yield from self.files(["rm", "-f", "--", part])
            except ClocheError:
                pass
            raise

    def upload(self, source: PathLike | bytes, target: str) -> Operation[None]:
        if isinstance(source, (bytes, bytearray, memoryview)):
            yield from self.put(bytes(source), target, 0o644)
            return
        about = os.stat(source)
        if stat.S_ISREG(about.st_mode):
            with open(source, "rb") as file:
                yield from self.put(file.read(), target, about.st_mode & 0o777)
        elif stat.S_ISDIR(about.st_mode):
            yield from self.files(["mkdir", "-p", "--", target])
            for name in sorted(os.listdir(source)):
                yield from self.upload(os.path.join(source, name), posixpath.join(target, name))
        else:
            raise ClocheError(f"'{os.fspath(source)}' is neither a file nor a folder", "InvalidInput")

    def download(self, source: str, target: PathLike | None) -> Operation[bytes]:
        script = 'dd if="$1" iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" bs=64K status=none'
        data = bytearray()
        while True:
            part = yield from self.files(["sh", "-c", script, "sh", source, str(len(data)), str(_DOWNLOAD_PIECE)])
            data += part
            if len(part) < _DOWNLOAD_PIECE:
                break
        if target is not None:
            with open(target, "wb") as file:
                file.write(data)
        return bytes(data)

    def _expose(self, args: Dict[str, Any]) -> Operation[Dict[str, Any]]:
        if self.handle is None:
            raise NotStarted("the machine is not running: call start() first, or use it in a with block")
        answer, _, _ = yield from ops.call("vm_expose", {**args, "machine": self.handle})
        return answer

    def expose(self, port: int, host_port: int | None) -> Operation[ExposedPort]:
        chosen = {} if host_port is None else {"hostPort": host_port}
        answer = yield from self._expose({"port": port, **chosen})
        return ExposedPort(answer["port"], answer["hostPort"], answer["address"], answer["url"])

    def unexpose(self, port: int) -> Operation[None]:
        yield from self._expose({"port": port, "close": True})


def _state(mounts: Mapping[str, PathLike] | None, network: bool | None, mac: str | None, ram_mb: int | None,
           disk_mb: int | None, cpu_seconds: int | None) -> _State:
    if mac is not None and not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", mac):
        raise ClocheError(f"mac is '{mac}'; an address such as 02:00:00:00:00:01 is accepted", "InvalidInput")
    return _State(mounts or {}, network, mac, {"ramMB": ram_mb, "diskMB": disk_mb, "cpuSeconds": cpu_seconds})


def _exec_options(cwd: str | None, env: Mapping[str, str] | None, timeout_ms: int | None, session: str | None,
                  max_output: int | None, calls: bool | None) -> Dict[str, Any]:
    return {"cwd": cwd, "env": env, "timeoutMs": timeout_ms, "session": session, "maxOutput": max_output,
            "calls": calls}


def _not_yet(what: str) -> NotSupported:
    return NotSupported(f"{what} in this version of Cloche; nothing was done")


class AgentVM:
    """A machine for plain code; calls block. Threads: safe once it is started."""

    def __init__(self, *, wasm_path: PathLike | None = None, mounts: Mapping[str, PathLike] | None = None,
                 network: bool | None = None, mac: str | None = None, ram_mb: int | None = None,
                 disk_mb: int | None = None, cpu_seconds: int | None = None, program: PathLike | None = None,
                 env: Mapping[str, str] | None = None, cloche: Cloche | None = None) -> None:
        """`cloche`: its process is used, instead of one of the machine's own."""
        self._state = _state(mounts, network, mac, ram_mb, disk_mb, cpu_seconds)
        self._is_own = cloche is None
        self.cloche = cloche or Cloche(program=program, wasm_path=wasm_path, env=env)

    def on(self, event: Literal["output"], listener: OnOutput) -> None:
        """Calls it with the output of every command as it comes, in the thread that called exec()."""
        self._state.listeners.append(listener)

    def start(self) -> None:
        if self._is_own:
            self.cloche._reopen()
        try:
            self.cloche._run(self._state.start())
        except BaseException:
            self._close()
            raise

    def exec(self, command: str | Sequence[str], *, stdin: Data | None = None, cwd: str | None = None,
             env: Mapping[str, str] | None = None, timeout_ms: int | None = None, session: str | None = None,
             max_output: int | None = None, on_output: OnOutput | None = None,
             files: Mapping[str, Data] | None = None, calls: bool | None = None) -> ExecResult:
        """Runs a command: text for bash, or words that are run without a shell. `files` are written before
        it begins; with `calls` its programs may call notes and tools, by cloche-guest."""
        options = _exec_options(cwd, env, timeout_ms, session, max_output, calls)
        return self.cloche._run(self._state.exec(command, options, stdin, on_output, files))

    def stop(self) -> None:
        """Ends the machine, with all that is in it. It may be started again."""
        try:
            self.cloche._run(self._state.stop())
        finally:
            self._close()

    def upload(self, source: PathLike | bytes, target: str) -> None:
        """Bytes, or a file or folder of this computer by its path, to a path in the machine."""
        self.cloche._run(self._state.upload(source, target))

    def download(self, source: str, target: PathLike | None = None) -> bytes:
        """The bytes of a file in the machine, also written to `target` if it is given."""
        return self.cloche._run(self._state.download(source, target))

    def fork(self) -> AgentVM:
        raise _not_yet("machines cannot be forked")

    def snapshot(self, name: str | None = None) -> None:
        raise _not_yet("machines have no snapshots")

    def expose(self, port: int, *, host_port: int | None = None) -> ExposedPort:
        """What listens at the port in the machine, at 0.0.0.0, is reached at the url of the result, from this
        computer, if the policy allows it (vm.expose)."""
        return self.cloche._run(self._state.expose(port, host_port))

    def unexpose(self, port: int) -> None:
        """It is exposed no more; connections stay until they end."""
        self.cloche._run(self._state.unexpose(port))

    def _close(self) -> None:
        if self._is_own:
            self.cloche.close()

    def __enter__(self) -> AgentVM:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()


class AsyncAgentVM:
    """A machine for asyncio. A task that is cancelled ends its command with all processes."""

    def __init__(self, *, wasm_path: PathLike | None = None, mounts: Mapping[str, PathLike] | None = None,
                 network: bool | None = None, mac: str | None = None, ram_mb: int | None = None,
                 disk_mb: int | None = None, cpu_seconds: int | None = None, program: PathLike | None = None,
                 env: Mapping[str, str] | None = None, cloche: AsyncCloche | None = None) -> None:
        self._state = _state(mounts, network, mac, ram_mb, disk_mb, cpu_seconds)
        self._is_own = cloche is None
        self.cloche = cloche or AsyncCloche(program=program, wasm_path=wasm_path, env=env)

    def on(self, event: Literal["output"], listener: OnOutput) -> None:
        """Calls it with the output of every command as it comes, in the loop."""
        self._state.listeners.append(listener)

    async def start(self) -> None:
        if self._is_own:
            self.cloche._reopen()
        try:
            await self.cloche._run(self._state.start())
        except BaseException:
            await self._close()
            raise

    async def exec(self, command: str | Sequence[str], *, stdin: Data | None = None, cwd: str | None = None,
                   env: Mapping[str, str] | None = None, timeout_ms: int | None = None,
                   session: str | None = None, max_output: int | None = None,
                   on_output: OnOutput | None = None, files: Mapping[str, Data] | None = None,
                   calls: bool | None = None) -> ExecResult:
        options = _exec_options(cwd, env, timeout_ms, session, max_output, calls)
        return await self.cloche._run(self._state.exec(command, options, stdin, on_output, files))

    async def stop(self) -> None:
        try:
            await self.cloche._run(self._state.stop())
        finally:
            await self._close()

    async def upload(self, source: PathLike | bytes, target: str) -> None:
        await self.cloche._run(self._state.upload(source, target))

    async def download(self, source: str, target: PathLike | None = None) -> bytes:
        return await self.cloche._run(self._state.download(source, target))

    async def fork(self) -> AsyncAgentVM:
        raise _not_yet("machines cannot be forked")

    async def snapshot(self, name: str | None = None) -> None:
        raise _not_yet("machines have no snapshots")

    async def expose(self, port: int, *, host_port: int | None = None) -> ExposedPort:
        return await self.cloche._run(self._state.expose(port, host_port))

    async def unexpose(self, port: int) -> None:
        await self.cloche._run(self._state.unexpose(port))

    async def _close(self) -> None:
        if self._is_own:
            await self.cloche.close()

    async def __aenter__(self) -> AsyncAgentVM:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.stop()
