"""The same as calls.mjs by the official Python client."""
import re

import anyio
from mcp import Client, StdioServerParameters


def filled(value, results):
    if isinstance(value, str) and re.match(r"\$\d+\.", value):
        number, *path = value[1:].split(".")
        value = results[int(number)].get("content")
        for key in path:
            value = (value or {}).get(key)
        return value
    if isinstance(value, list):
        return [filled(v, results) for v in value]
    if isinstance(value, dict):
        return {k: filled(v, results) for k, v in value.items()}
    return value


async def run(calls, command, env):
    results = []
    server = StdioServerParameters(command=command[0], args=command[1:], env=env)
    async with Client(server, mode="auto", cache=None) as client:
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            cursor = page.next_cursor
            if not cursor:
                break
        for name, given in calls:
            try:
                r = await client.call_tool(name, filled(given, results))
                text = getattr(r.content[0], "text", None) if r.content else None
                results.append({"isError": r.is_error, "content": r.structured_content,
                                "text": text})
            except Exception as e:
                results.append({"thrown": f"{type(e).__name__}: {e}"})
    return results


def make(calls, command, env):
    return anyio.run(run, calls, command, env)
