"""AgentVM: a Linux machine in WebAssembly."""
from __future__ import annotations

import base64
import os
import posixpath
import re
import secrets
import stat
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Callable, Dict, List, Literal, Mapping, Sequence, TypeVar, Union, cast

from . import _operations as ops
from ._connection import Log
from ._errors import (ClocheError, Disconnected, FileError, ImageNotFound, NotStarted,
                      OutputTooLarge, error_of_answer)
from ._mounts import HostMounts, NamedMounts, by_name
from ._library import AsyncCloche, Cloche, PathLike
from ._operations import Data, Operation

_OUTPUT_MAX = 16 << 20  # bytes of each stream that the server keeps
_UPLOAD_PIECE = 4 << 20
_DOWNLOAD_PIECE = 256 << 10  # its answer needs no second request
_FILES_SESSION = "agentvm-files"  # so that files do not wait for commands
_TOO_LARGE = "the command printed more than is kept: write it to a file, and download() that"

#: "/vault" or the name of a mount; {"mount", "at", "mode"}; or files in memory, {"files", "at", "mode"}.
CommandMount = Union[str, Mapping[str, Any]]


@dataclass(frozen=True)
class ExecResult:
    """What came of a command. stdout and stderr are text, in which bytes that are not UTF-8 are U+FFFD."""
    stdout_bytes: bytes
    stderr_bytes: bytes
    exit_code: int
    shell_ended: bool = False
    held: bool = False
    out_of_memory: bool = False
    #: Files of mounts in memory that the command made or changed, by their paths in the machine.
    files: Dict[str, bytes] = field(default_factory=dict)

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


@dataclass(frozen=True)
class Snapshot:
    """A saved machine; `size` is that of its file, `made` an ISO time."""
    name: str
    size: int
    ram_mb: int
    made: str


@dataclass
class _Process:
    """One that belongs to machines alone: the last of them that stops ends it."""
    users: int = 0

    def leave(self, users: int) -> bool:
        """Has nobody a machine in it any more?"""
        self.users -= users
        return self.users == 0


@dataclass(frozen=True)
class OverlayChanges:
    """By paths relative to the overlay; those of folders end in "/". `more`: paths that are left out;
    `conflicts`: what was changed in the folder since the machine saw it."""
    applied: bool
    created: List[str]
    changed: List[str]
    deleted: List[str]
    more: int
    conflicts: List[str]


@dataclass
class _State:
    """A machine's options, and what is asked of it; without input or output of its own."""
    mounts: List[Dict[str, Any]]
    network: bool | None
    mac: str | None
    size: Dict[str, Any]
    origin: str | None
    plain: bool | None
    name: str | None
    handle: str | None = None
    listeners: List[OnOutput] = field(default_factory=list)

    def running(self) -> str:
        if self.handle is None:
            raise NotStarted("the machine is not running: call start() first, or use it in a with block")
        return self.handle

    def card(self, network: bool | None) -> Dict[str, Any]:
        """Where nothing is said, the network that the policy allows without asking."""
        return {"network": "allowed" if network is None else network or None, "mac": self.mac}

    def start(self) -> Operation[None]:
        if self.handle is not None:
            return
        args = {**self.card(self.network), "mounts": self.mounts or None}
        try:
            if self.origin is not None:
                answer, _, _ = yield from ops.call("vm_restore", {"name": self.origin, **args})
            else:
                kept = {} if self.name is None else {"keep": True, "name": self.name}
                answer, _, _ = yield from ops.call("vm_start", {**self.size, "plain": self.plain, **kept, **args})
        except ClocheError as error:
            missing = error.name == "NotFound" and self.origin is None and not self.mounts
            raise ImageNotFound(str(error)) if missing else error from None
        self.handle = answer["machine"]

    def fork(self, network: bool | None) -> Operation[_State]:
        network = self.network if network is None else network
        answer, _, _ = yield from ops.call("vm_fork", {"machine": self.running(), **self.card(network)})
        return replace(self, name=None, network=network, handle=answer["machine"], listeners=[])

    def snapshot(self, name: str) -> Operation[Snapshot]:
        answer, _, _ = yield from ops.call("vm_snapshot", {"name": name, "machine": self.running()})
        return Snapshot(answer["name"], answer["bytes"], answer["ramMB"], answer["made"])

    def apply(self, at: str, dry_run: bool) -> Operation[OverlayChanges]:
        answer, _, _ = yield from ops.call("vm_apply", {"machine": self.running(), "at": at, "dryRun": dry_run})
        return OverlayChanges(answer["applied"], answer["created"], answer["changed"], answer["deleted"],
                              answer.get("more", 0), answer.get("conflicts", []))

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
             on_output: OnOutput | None = None, files: Mapping[str, Data] | None = None,
             mounts: Sequence[CommandMount] | None = None) -> Operation[ExecResult]:
        handle = self.running()
        relay = _Relay([*self.listeners, *([on_output] if on_output else [])])
        heard = bool(self.listeners or on_output)
        args: Dict[str, Any] = {"command": command if isinstance(command, str) else list(command),
                                "machine": handle, "maxOutput": _OUTPUT_MAX,
                                **{name: value for name, value in options.items() if value is not None}}
        if stdin is not None:
            args["stdin"] = ops.data_of(stdin)
        if files is not None:
            args["files"] = ops.files_in(files)
        if mounts is not None:
            args["mounts"] = [{**m, "files": ops.files_in(m["files"])} if isinstance(m, Mapping) and "files" in m else m
                              for m in mounts]
        answer, _, shortened = yield from ops.call("vm_exec", args, relay.log if heard else None)
        result = ExecResult(ops.stream_of(answer, "stdout"), ops.stream_of(answer, "stderr"),
                            answer["exitCode"], "shellEnded" in answer, "held" in answer,
                            "outOfMemory" in answer, ops.files_of(answer))
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
        answer, _, _ = yield from ops.call("vm_expose", {**args, "machine": self.running()})
        return answer

    def expose(self, port: int, host_port: int | None) -> Operation[ExposedPort]:
        chosen = {} if host_port is None else {"hostPort": host_port}
        answer = yield from self._expose({"port": port, **chosen})
        return ExposedPort(answer["port"], answer["hostPort"], answer["address"], answer["url"])

    def unexpose(self, port: int) -> Operation[None]:
        yield from self._expose({"port": port, "close": True})


def _state(mounts: HostMounts | NamedMounts | None, is_own: bool, network: bool | None, mac: str | None,
           size: Dict[str, Any], origin: str | None, plain: bool | None, name: str | None) -> _State:
    """Of a process of its own, mounts are named by their places (see _mounts.py)."""
    if mac is not None and not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", mac):
        raise ClocheError(f"mac is '{mac}'; an address such as 02:00:00:00:00:01 is accepted", "InvalidInput")
    sized = [key for key, value in {**size, "plain": plain, "name": name}.items() if value is not None]
    if origin is not None and sized:
        raise ClocheError(f"{', '.join(sized)}: what begins with a snapshot has its size, and no name", "InvalidInput")
    shown = by_name({place: place for place in mounts or {}} if is_own else cast("NamedMounts | None", mounts))
    return _State(shown, network, mac, size, origin, plain, name)


def _exec_options(cwd: str | None, env: Mapping[str, str] | None, timeout_ms: int | None, session: str | None,
                  max_output: int | None, calls: bool | None) -> Dict[str, Any]:
    return {"cwd": cwd, "env": env, "timeoutMs": timeout_ms, "session": session, "maxOutput": max_output,
            "calls": calls}


_Machine = TypeVar("_Machine", "AgentVM", "AsyncAgentVM")


def _beside(parent: _Machine, copy: _Machine, state: _State) -> _Machine:
    """A further machine of its parent's process."""
    copy._state = state
    copy._process = parent._process
    copy.cloche = parent.cloche
    if copy._process:
        copy._process.users += 1
    return copy


class AgentVM:
    """A machine for plain code; calls block. Threads: safe once it is started."""

    def __init__(self, *, wasm_path: PathLike | None = None, mounts: HostMounts | NamedMounts | None = None,
                 network: bool | None = None, mac: str | None = None, ram_mb: int | None = None,
                 disk_mb: int | None = None, cpu_seconds: int | None = None, from_snapshot: str | None = None,
                 plain: bool | None = None, name: str | None = None, program: PathLike | None = None,
                 env: Mapping[str, str] | None = None, cloche: Cloche | None = None) -> None:
        """`mounts`: folders of this computer by their places in the machine, {"/mnt/data": "/home/me/data"} or
        with a HostFolder. `network`: where nothing is said, the machine has one if the policy allows that without
        asking (vm.network: always). `from_snapshot`: it begins with that one. `plain`: it does not begin with
        the snapshot "default". `name`: a machine that is kept, and found again by another start. `cloche`: its
        process is used, instead of one of the machine's own, and `mounts` are names of its mounts or of the
        policy's, {"/work": "/data"} or with a Mount."""
        size = {"ramMB": ram_mb, "diskMB": disk_mb, "cpuSeconds": cpu_seconds}
        is_own = cloche is None
        self._state = _state(mounts, is_own, network, mac, size, from_snapshot, plain, name)
        self._process = _Process() if is_own else None
        own = cast("HostMounts | None", mounts if is_own else None)
        self.cloche = cloche or Cloche(program=program, wasm_path=wasm_path, mounts=own, env=env)

    def on(self, event: Literal["output"], listener: OnOutput) -> None:
        """Calls it with the output of every command as it comes, in the thread that called exec()."""
        self._state.listeners.append(listener)

    def start(self) -> None:
        if self._state.handle is not None:
            return
        if self._process:
            self.cloche._reopen()
        try:
            self.cloche._run(self._state.start())
        except BaseException:
            self._leave(0)
            raise
        if self._process:
            self._process.users += 1

    def exec(self, command: str | Sequence[str], *, stdin: Data | None = None, cwd: str | None = None,
             env: Mapping[str, str] | None = None, timeout_ms: int | None = None, session: str | None = None,
             max_output: int | None = None, on_output: OnOutput | None = None,
             files: Mapping[str, Data] | None = None, calls: bool | None = None,
             mounts: Sequence[CommandMount] | None = None) -> ExecResult:
        """Runs a command: text for bash, or words that are run without a shell. `files` are written before
        it begins; with `calls` its programs may call notes and tools, by cloche-guest. `mounts` are folders that
        it sees: "/vault", names of mounts, {"mount", "at", "mode"}, or {"files", "at", "mode"}: files in memory,
        whose changes are in `files` of the result."""
        options = _exec_options(cwd, env, timeout_ms, session, max_output, calls)
        return self.cloche._run(self._state.exec(command, options, stdin, on_output, files, mounts))

    def stop(self) -> None:
        """Ends the machine, with all that is in it. It may be started again."""
        was = int(self._state.handle is not None)
        try:
            self.cloche._run(self._state.stop())
        finally:
            self._leave(was)

    def upload(self, source: PathLike | bytes, target: str) -> None:
        """Bytes, or a file or folder of this computer by its path, to a path in the machine."""
        self.cloche._run(self._state.upload(source, target))

    def download(self, source: str, target: PathLike | None = None) -> bytes:
        """The bytes of a file in the machine, also written to `target` if it is given."""
        return self.cloche._run(self._state.download(source, target))

    def fork(self, *, network: bool | None = None) -> AgentVM:
        """Another machine that goes on from here, with its programs, shells and files, in the same process.
        Neither sees what the other does from now on. `network`: as of this machine where nothing is said."""
        state = self.cloche._run(self._state.fork(network))
        return _beside(self, object.__new__(AgentVM), state)

    def snapshot(self, name: str) -> Snapshot:
        """Saves the machine under this name, in place of what has it: AgentVM(from_snapshot=name) begins there,
        and all further machines begin with the one named "default"."""
        return self.cloche._run(self._state.snapshot(name))

    def changes(self, at: str) -> OverlayChanges:
        """What changed in the overlay at this place of the machine."""
        return self.cloche._run(self._state.apply(at, True))

    def apply(self, at: str) -> OverlayChanges:
        """Writes that to the overlay's folder, all or nothing (Conflict: something was changed there since). The
        folder was mounted with `apply`. A new overlay is at the place afterwards: shells that stand in it have to
        cd there again."""
        return self.cloche._run(self._state.apply(at, False))

    def expose(self, port: int, *, host_port: int | None = None) -> ExposedPort:
        """What listens at the port in the machine, at 0.0.0.0, is reached at the url of the result, from this
        computer, if the policy allows it (vm.expose)."""
        return self.cloche._run(self._state.expose(port, host_port))

    def unexpose(self, port: int) -> None:
        """It is exposed no more; connections stay until they end."""
        self.cloche._run(self._state.unexpose(port))

    def _leave(self, users: int) -> None:
        if self._process and self._process.leave(users):
            self.cloche.close()

    def __enter__(self) -> AgentVM:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()


class AsyncAgentVM:
    """A machine for asyncio. A task that is cancelled ends its command with all processes."""

    def __init__(self, *, wasm_path: PathLike | None = None, mounts: HostMounts | NamedMounts | None = None,
                 network: bool | None = None, mac: str | None = None, ram_mb: int | None = None,
                 disk_mb: int | None = None, cpu_seconds: int | None = None, from_snapshot: str | None = None,
                 plain: bool | None = None, name: str | None = None, program: PathLike | None = None,
                 env: Mapping[str, str] | None = None, cloche: AsyncCloche | None = None) -> None:
        size = {"ramMB": ram_mb, "diskMB": disk_mb, "cpuSeconds": cpu_seconds}
        is_own = cloche is None
        self._state = _state(mounts, is_own, network, mac, size, from_snapshot, plain, name)
        self._process = _Process() if is_own else None
        own = cast("HostMounts | None", mounts if is_own else None)
        self.cloche = cloche or AsyncCloche(program=program, wasm_path=wasm_path, mounts=own, env=env)

    def on(self, event: Literal["output"], listener: OnOutput) -> None:
        """Calls it with the output of every command as it comes, in the loop."""
        self._state.listeners.append(listener)

    async def start(self) -> None:
        if self._state.handle is not None:
            return
        if self._process:
            self.cloche._reopen()
        try:
            await self.cloche._run(self._state.start())
        except BaseException:
            await self._leave(0)
            raise
        if self._process:
            self._process.users += 1

    async def exec(self, command: str | Sequence[str], *, stdin: Data | None = None, cwd: str | None = None,
                   env: Mapping[str, str] | None = None, timeout_ms: int | None = None,
                   session: str | None = None, max_output: int | None = None,
                   on_output: OnOutput | None = None, files: Mapping[str, Data] | None = None,
                   calls: bool | None = None,
                   mounts: Sequence[CommandMount] | None = None) -> ExecResult:
        options = _exec_options(cwd, env, timeout_ms, session, max_output, calls)
        return await self.cloche._run(self._state.exec(command, options, stdin, on_output, files, mounts))

    async def stop(self) -> None:
        was = int(self._state.handle is not None)
        try:
            await self.cloche._run(self._state.stop())
        finally:
            await self._leave(was)

    async def upload(self, source: PathLike | bytes, target: str) -> None:
        await self.cloche._run(self._state.upload(source, target))

    async def download(self, source: str, target: PathLike | None = None) -> bytes:
        return await self.cloche._run(self._state.download(source, target))

    async def fork(self, *, network: bool | None = None) -> AsyncAgentVM:
        state = await self.cloche._run(self._state.fork(network))
        return _beside(self, object.__new__(AsyncAgentVM), state)

    async def snapshot(self, name: str) -> Snapshot:
        return await self.cloche._run(self._state.snapshot(name))

    async def changes(self, at: str) -> OverlayChanges:
        return await self.cloche._run(self._state.apply(at, True))

    async def apply(self, at: str) -> OverlayChanges:
        return await self.cloche._run(self._state.apply(at, False))

    async def expose(self, port: int, *, host_port: int | None = None) -> ExposedPort:
        return await self.cloche._run(self._state.expose(port, host_port))

    async def unexpose(self, port: int) -> None:
        await self.cloche._run(self._state.unexpose(port))

    async def _leave(self, users: int) -> None:
        if self._process and self._process.leave(users):
            await self.cloche.close()

    async def __aenter__(self) -> AsyncAgentVM:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.stop()
