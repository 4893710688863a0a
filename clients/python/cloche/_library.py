"""Cloche as a library: one `cloche mcp` process, started by the first call."""
from __future__ import annotations

import asyncio
import os
import queue
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Sequence, TypeVar, Union

from . import _operations as ops
from ._connection import Answer, Connection, Event
from ._errors import Disconnected
from ._locate import locate_program
from ._mounts import HostMounts, host_words
from ._operations import Data, Operation, Request, ToolResult

if TYPE_CHECKING:
    from ._machine import AgentVM, AsyncAgentVM

T = TypeVar("T")
PathLike = Union[str, "os.PathLike[str]"]
OnLog = Callable[[Dict[str, Any]], None]


def _folders(option: str, given: PathLike | Sequence[PathLike]) -> List[str]:
    listed: Sequence[PathLike] = [given] if isinstance(given, (str, os.PathLike)) else given
    return [word for folder in listed for word in (option, os.fspath(folder))]


class _Base:
    def __init__(self, *, program: PathLike | None = None, wasm_path: PathLike | None = None,
                 vaults: PathLike | Sequence[PathLike] = (), vault_roots: PathLike | Sequence[PathLike] = (),
                 mounts: HostMounts | None = None, env: Mapping[str, str] | None = None) -> None:
        """`program`: the program `cloche`; else that of the image, CLOCHE_BIN, or the one in PATH.
        `wasm_path`: the machine's image, the folder build/vm of Cloche or a link to it. `vaults`: folders of
        notes, instead of the registered ones. `mounts`: folders of this computer that its machines may mount,
        by name. `env`: further variables for the process."""
        self._program = os.fspath(program) if program is not None else None
        self._wasm_path = os.fspath(wasm_path) if wasm_path is not None else None
        self._args = _folders("--vault", vaults) + _folders("--vault-root", vault_roots)
        self._args += _folders("--mount", host_words(mounts))
        self._env = {**os.environ, **(env or {})}
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._closed = False

    def _open(self) -> Connection:
        with self._lock:
            if self._closed:
                raise Disconnected("it was closed")
            if not self._connection:
                program = locate_program(self._program, self._wasm_path)
                self._connection = Connection(program, self._args, self._env)
            return self._connection

    def _taken(self) -> Connection | None:
        with self._lock:
            taken, self._connection, self._closed = self._connection, None, True
            return taken

    def _reopen(self) -> None:
        with self._lock:
            self._closed = False


class _Namespace:
    """Its methods are those of the API (docs/api.md); options may be given by name."""

    def __init__(self, run: Callable[[Operation[Any]], Any], name: str) -> None:
        self._run, self._name = run, name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("__"):
            raise AttributeError(method)
        return lambda *args, **options: self._run(
            ops.call_in_code(f"{self._name}.{method}", args, options))


class _Functions:
    """Stored functions of the vault (docs/functions.md). Definitions are given by name."""

    def __init__(self, run: Callable[[Operation[Any]], Any]) -> None:
        self._run = run

    def call(self, name: str, *args: Any) -> Any:
        return self._run(ops.call_in_code(f"customFunctions.{name}", args, {}))

    def list(self, **filter: Any) -> Any:
        return self._run(ops.action("list_custom_functions", filter))

    def get(self, name: str) -> Any:
        return self._run(ops.action("get_custom_function", {"name": name}))

    def register(self, **definition: Any) -> Any:
        return self._run(ops.action("register_custom_function", definition))

    def update(self, name: str, **changes: Any) -> Any:
        return self._run(ops.action("update_custom_function", {"name": name, **changes}))

    def delete(self, name: str) -> Any:
        return self._run(ops.action("delete_custom_function", {"name": name}))

    def test(self, **request: Any) -> Any:
        return self._run(ops.action("test_custom_function", request))


class _Snapshots:
    """Saved machines (docs/machine-snapshots.md)."""

    def __init__(self, run: Callable[[Operation[Any]], Any]) -> None:
        self._run = run

    def list(self) -> Any:
        return self._run(ops.snapshots())

    def delete(self, name: str) -> Any:
        return self._run(ops.action("vm_snapshots", {"delete": name}))


class Cloche(_Base):
    """Calls block. A call that is interrupted (KeyboardInterrupt) is cancelled. Threads: safe."""

    @property
    def tools(self) -> Tools:
        return Tools(self)

    @property
    def functions(self) -> _Functions:
        return _Functions(self._run)

    @property
    def snapshots(self) -> _Snapshots:
        return _Snapshots(self._run)

    def __getattr__(self, name: str) -> _Namespace:
        return _namespace(self._run, name)

    def evaluate(self, code: str, *, on_log: OnLog | None = None, **options: Any) -> Any:
        """The value that the code returns. `options`: timeout, memoryLimit, context, ... (docs/evaluating.md)"""
        return self._run(ops.evaluate(code, options, on_log))

    def machine(self, **options: Any) -> AgentVM:
        """A machine of this process."""
        from ._machine import AgentVM
        return AgentVM(cloche=self, **options)

    def close(self) -> None:
        """Ends the process, with all machines in it. Further calls raise Disconnected."""
        connection = self._taken()
        if connection:
            connection.close()

    def __enter__(self) -> Cloche:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _run(self, operation: Operation[T]) -> T:
        try:
            request = next(operation)
            while True:
                try:
                    result = self._ask(request)
                except Exception as error:
                    request = operation.throw(error)
                else:
                    request = operation.send(result)
        except StopIteration as end:
            value: T = end.value
            return value

    def _ask(self, request: Request) -> Answer:
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        connection = self._open()
        number = connection.request(request.method, request.params, events.put, request.on_log is not None)
        try:
            while True:
                event = events.get()
                if isinstance(event, Answer):
                    return event
                if isinstance(event, BaseException):
                    raise event
                if request.on_log:
                    request.on_log(event)
        finally:
            connection.cancel(number)  # nothing is, where it was answered


class Tools:
    def __init__(self, cloche: Cloche) -> None:
        self._run = cloche._run

    def run(self, name: str, arguments: Mapping[str, Any] | None = None, *, args: List[str] | None = None,
            stdin: Data | None = None, files: Mapping[str, Data] | None = None, cwd: str | None = None,
            timeout: int | None = None) -> ToolResult:
        """Runs a command-line tool: parameters by name, `args` as on a command line, or both (docs/tools.md)."""
        return self._run(ops.run_tool(name, arguments, args, stdin, files, cwd, timeout))

    def list(self) -> Any:
        return self._run(ops.call_in_code("tools.list", (), {}))

    def describe(self, name: str) -> Any:
        return self._run(ops.call_in_code("tools.describe", (name,), {}))


class AsyncCloche(_Base):
    """The same for asyncio. A call whose task is cancelled is cancelled."""

    @property
    def tools(self) -> AsyncTools:
        return AsyncTools(self)

    @property
    def functions(self) -> _Functions:
        return _Functions(self._run)

    @property
    def snapshots(self) -> _Snapshots:
        return _Snapshots(self._run)

    def __getattr__(self, name: str) -> _Namespace:
        return _namespace(self._run, name)

    async def evaluate(self, code: str, *, on_log: OnLog | None = None, **options: Any) -> Any:
        return await self._run(ops.evaluate(code, options, on_log))

    def machine(self, **options: Any) -> AsyncAgentVM:
        from ._machine import AsyncAgentVM
        return AsyncAgentVM(cloche=self, **options)

    async def close(self) -> None:
        connection = self._taken()
        if connection:
            await asyncio.shield(asyncio.to_thread(connection.close))

    async def __aenter__(self) -> AsyncCloche:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    async def _run(self, operation: Operation[T]) -> T:
        try:
            request = next(operation)
            while True:
                try:
                    result = await self._ask(request)
                except Exception as error:
                    request = operation.throw(error)
                else:
                    request = operation.send(result)
        except StopIteration as end:
            value: T = end.value
            return value

    async def _ask(self, request: Request) -> Answer:
        events: asyncio.Queue[Event] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def deliver(event: Event) -> None:
            try:
                loop.call_soon_threadsafe(events.put_nowait, event)
            except RuntimeError:
                pass  # the loop is closed: nobody waits any more

        connection = self._open()
        number = connection.request(request.method, request.params, deliver, request.on_log is not None)
        try:
            while True:
                event = await events.get()
                if isinstance(event, Answer):
                    return event
                if isinstance(event, BaseException):
                    raise event
                if request.on_log:
                    request.on_log(event)
        finally:
            connection.cancel(number)


class AsyncTools:
    def __init__(self, cloche: AsyncCloche) -> None:
        self._run = cloche._run

    async def run(self, name: str, arguments: Mapping[str, Any] | None = None, *,
                  args: List[str] | None = None, stdin: Data | None = None,
                  files: Mapping[str, Data] | None = None, cwd: str | None = None,
                  timeout: int | None = None) -> ToolResult:
        return await self._run(ops.run_tool(name, arguments, args, stdin, files, cwd, timeout))

    async def list(self) -> Any:
        return await self._run(ops.call_in_code("tools.list", (), {}))

    async def describe(self, name: str) -> Any:
        return await self._run(ops.call_in_code("tools.describe", (name,), {}))


_NAMESPACES = ("notes", "noteTypes", "links", "hierarchy", "relationships", "vaults")


def _namespace(run: Callable[[Operation[Any]], Any], name: str) -> _Namespace:
    if name not in _NAMESPACES:
        raise AttributeError(f"there is no '{name}'; there are {', '.join(_NAMESPACES)}")
    return _Namespace(run, name)


