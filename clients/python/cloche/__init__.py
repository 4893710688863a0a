"""A Linux machine in WebAssembly for AI agents, and the rest of Cloche: code in a sandbox, notes, tools,
functions. Every class exists for plain code (AgentVM, Cloche) and for asyncio (AsyncAgentVM, AsyncCloche)."""
from ._errors import (ClocheError, Disconnected, FileError, ImageNotFound, NotStarted,
                      OutputTooLarge, ProgramNotFound, ProtocolError, Timeout)
from ._library import AsyncCloche, Cloche
from ._machine import AgentVM, AsyncAgentVM, ExecResult, ExposedPort, Output, OverlayChanges, Snapshot
from ._mounts import HostFolder, Mount
from ._operations import ToolResult

__version__ = "0.1.0"
__all__ = ["AgentVM", "AsyncAgentVM", "AsyncCloche", "Cloche", "ClocheError", "Disconnected",
           "ExecResult", "ExposedPort", "FileError", "HostFolder", "ImageNotFound", "Mount", "NotStarted", "Output",
           "OutputTooLarge", "OverlayChanges", "ProgramNotFound", "ProtocolError", "Snapshot", "Timeout", "ToolResult"]
