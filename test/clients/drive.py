"""Runs the official Python client through the steps of drive.mjs (TypeScript), with the same
result: {step: {"value"} | {"error"}}."""
import json

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters

STEP_S = 20  # only a failing step waits so long
WATCHED = "test://watched-resource"
ANSWER = {"username": "ada", "email": "ada@example.org", "name": "Ada", "color": "red"}


class Drive:
    """One client, and the notifications it received."""

    def __init__(self, target, env, era):
        server = target[0] if target[0].startswith("http") else StdioServerParameters(
            command=target[0], args=target[1:], env=env)
        self.modern = era == "modern"
        self.results, self.asked, self.logged = {}, [], []
        self.action = "accept"
        self.updated, self.changed = anyio.Event(), anyio.Event()
        self.client = Client(
            server, mode="auto" if self.modern else "legacy", cache=None,
            log_level="info", elicitation_callback=self.elicit, sampling_callback=self.sample,
            list_roots_callback=self.roots, logging_callback=self.log,
            message_handler=self.hear)

    async def elicit(self, context, params):
        self.asked.append(params.message)
        content = ANSWER if self.action == "accept" else None
        return types.ElicitResult(action=self.action, content=content)

    async def sample(self, context, params):
        self.asked.append("sampling")
        return types.CreateMessageResult(
            role="assistant", model="none", content=types.TextContent(text="Paris"))

    async def roots(self, context):
        return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada", name="home")])

    async def log(self, params):
        if params.logger == "conformance":
            self.logged.append([params.level, params.data])

    async def hear(self, message):
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updated.set()
        elif isinstance(message, types.ToolListChangedNotification):
            self.changed.set()

    async def step(self, name, work):
        try:
            with anyio.fail_after(STEP_S):
                self.results[name] = {"value": await work()}
        except MCPError as e:
            self.results[name] = {"error": str(e), "code": e.error.code}
        except Exception as e:
            self.results[name] = {"error": f"{type(e).__name__}: {e}", "code": None}

    async def pages(self, list_them, key):
        rows, count, cursor = [], 0, None
        while count < 50:
            page = await list_them(cursor=cursor)
            rows += getattr(page, key)
            count += 1
            cursor = page.next_cursor
            if not cursor:
                break
        return rows, count

    async def said(self, name, arguments=None, **how):
        result = await self.client.call_tool(name, arguments, **how)
        return [getattr(block, "text", block.type) for block in result.content]

    # ---- the steps ----------------------------------------------------------------

    async def about(self):
        c = self.client
        return {"server": c.server_info.model_dump() if c.server_info else None,
                "capabilities": c.server_capabilities.model_dump(exclude_none=True),
                "instructions": c.instructions, "version": c.protocol_version}

    async def tools(self):
        rows, count = await self.pages(self.client.list_tools, "tools")
        return {"names": [t.name for t in rows], "pages": count}

    async def content(self):
        result = await self.client.call_tool("test_multiple_content_types")
        return [block.type for block in result.content]

    async def structured(self):
        result = await self.client.call_tool("get_note", {"identifier": "project/greenhouse"})
        return result.structured_content

    async def wasm(self):
        result = await self.client.call_tool(
            "wasm_jq", {"filter": ".a", "compact": True, "stdin": '{"a": [1, 2]}'})
        answer = json.loads(result.content[0].text)  # sent once
        return {k: answer[k] for k in ("stdout", "exitCode")}

    async def failure(self):
        result = await self.client.call_tool("test_error_handling")
        return {"isError": result.is_error, "text": [b.text for b in result.content]}

    async def progress(self):
        seen = []

        async def note(done, total, message):
            seen.append({"progress": done, "total": total, "message": message})

        await self.client.call_tool("test_tool_with_progress", progress_callback=note)
        return seen

    async def logs(self):
        if not self.modern:
            await self.client.set_logging_level("info")
        await self.client.call_tool("test_tool_with_logging")
        with anyio.fail_after(60):
            while len(self.logged) < 3:  # its notification may follow its answer
                await anyio.sleep(0.01)
        return self.logged

    async def resources(self):
        rows, count = await self.pages(self.client.list_resources, "resources")
        return {"uris": [r.uri for r in rows], "pages": count}

    async def read(self, uri):
        contents = (await self.client.read_resource(uri)).contents
        return [c.model_dump(by_alias=True, exclude_none=True) for c in contents]

    async def templates(self):
        rows, _ = await self.pages(self.client.list_resource_templates, "resource_templates")
        return [t.uri_template for t in rows]

    async def prompts(self):
        return [p.name for p in (await self.pages(self.client.list_prompts, "prompts"))[0]]

    async def prompt(self):
        got = await self.client.get_prompt("test_prompt_with_arguments",
                                           {"arg1": "a", "arg2": "b"})
        return [m.model_dump(by_alias=True, exclude_none=True) for m in got.messages]

    async def complete(self):
        got = await self.client.complete(
            types.PromptReference(name="test_prompt_with_arguments"),
            {"name": "arg1", "value": "par"})
        return got.completion.values

    async def decline(self):
        self.action = "decline"
        said = await self.said("test_elicitation", {"message": "Who are you?"})
        self.action = "accept"
        return said

    async def events(self):
        """Changes, in the newer revision: one stream that listens to all of them."""
        async with self.client.listen(tools_list_changed=True,
                                      resource_subscriptions=[WATCHED]) as stream:
            self.results["subscribe"] = {"value": None}
            for name, trigger in ("updated", "resource"), ("changed", "tool"):
                await self.said(f"test_trigger_{trigger}_change")
                event = await anext(stream)
                self.results[name] = {"value": getattr(event, "uri", True)}
        self.results["unsubscribe"] = {"value": None}

    async def trigger(self, what, heard, value):
        await self.said(f"test_trigger_{what}_change")
        await heard.wait()
        return value

    async def cancel(self):
        with anyio.move_on_after(0.2) as scope:
            await self.client.call_tool("test_reconnection", {"milliseconds": 60_000})
        after = await self.said("test_simple_text")
        return {"what": scope.cancelled_caught, "after": after}

    async def run(self):
        async with self.client as c:
            self.results["connect"] = {"value": None}
            step = self.step
            await step("about", self.about)
            await step("tools", self.tools)
            await step("text", lambda: self.said("test_simple_text"))
            await step("content", self.content)
            await step("structured", self.structured)
            await step("wasm", self.wasm)
            await step("failure", self.failure)
            await step("unknown", lambda: self.said("no_such_tool"))
            await step("progress", self.progress)
            await step("log", self.logs)
            await step("resources", self.resources)
            await step("read", lambda: self.read("test://static-text"))
            await step("blob", self.blob)
            await step("templates", self.templates)
            await step("template", self.template)
            await step("missing", lambda: self.read("test://nothing"))
            await step("prompts", self.prompts)
            await step("prompt", self.prompt)
            await step("complete", self.complete)
            who = {"message": "Who are you?"}
            await step("elicit", lambda: self.said("test_elicitation", who))
            await step("decline", self.decline)
            await step("sample", lambda: self.said("test_sampling", {"prompt": "France?"}))
            result = "test_input_required_result_"
            await step("roots", lambda: self.said(result + "list_roots"))
            await step("several", lambda: self.said(result + "multiple_inputs"))
            await step("rounds", lambda: self.said(result + "multi_round"))
            self.results["asked"] = {"value": self.asked}
            if self.modern:
                await step("events", self.events)
            else:
                await step("subscribe", lambda: nothing(c.subscribe_resource(WATCHED)))
                await step("updated", lambda: self.trigger("resource", self.updated, WATCHED))
                await step("changed", lambda: self.trigger("tool", self.changed, True))
                await step("unsubscribe", lambda: nothing(c.unsubscribe_resource(WATCHED)))
            await step("cancel", self.cancel)
        self.results["close"] = {"value": None}
        return self.results

    async def blob(self):
        return (await self.read("test://static-binary"))[0]["mimeType"]

    async def template(self):
        return json.loads((await self.read("test://template/7/data"))[0]["text"])


async def nothing(work):
    await work


def drive(target, env, era):
    return anyio.run(Drive(target, env, era).run)
