// Drives an official TypeScript client through everything that it can do with a server, and
// prints what came of it: one JSON object, {step: {value} | {error}}.
//
//     node drive.mjs PACKAGES sdk|client legacy|modern URL
//     node drive.mjs PACKAGES sdk|client legacy|modern COMMAND ARGUMENT...
//
// `sdk` is @modelcontextprotocol/sdk, `client` is @modelcontextprotocol/client; PACKAGES is
// the node_modules folder that has them. The server is cloche-conformance.
import { createRequire } from "node:module";

const [packages, kind, era, ...target] = process.argv.slice(2);
const need = createRequire(`${packages}/none.js`);
const modern = era === "modern";
const STEP_MS = 20_000;
const WATCHED = "test://watched-resource";

// The two packages differ in how handlers are named and in where options stand.
function classic() {
  const types = need("@modelcontextprotocol/sdk/types.js");
  const { Client } = need("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = need("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } =
    need("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const schemas = {
    "elicitation/create": types.ElicitRequestSchema,
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "roots/list": types.ListRootsRequestSchema,
    "notifications/message": types.LoggingMessageNotificationSchema,
    "notifications/resources/updated": types.ResourceUpdatedNotificationSchema,
    "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
    "notifications/prompts/list_changed": types.PromptListChangedNotificationSchema,
  };
  return {
    Client, StdioClientTransport, StreamableHTTPClientTransport, options: {},
    answer: (c, method, fn) => c.setRequestHandler(schemas[method], fn),
    hear: (c, method, fn) => c.setNotificationHandler(schemas[method], fn),
    call: (c, params, options) => c.callTool(params, undefined, options),
  };
}

function current() {
  const { Client, StreamableHTTPClientTransport } = need("@modelcontextprotocol/client");
  const { StdioClientTransport } = need("@modelcontextprotocol/client/stdio");
  return {
    Client, StdioClientTransport, StreamableHTTPClientTransport,
    options: { versionNegotiation: { mode: modern ? { pin: "2026-07-28" } : "legacy" } },
    answer: (c, method, fn) => c.setRequestHandler(method, fn),
    hear: (c, method, fn) => c.setNotificationHandler(method, fn),
    call: (c, params, options) => c.callTool(params, options),
  };
}

const sdk = kind === "sdk" ? classic() : current();
const results = {};

// Resolves with what `hold(resolve)` gives, or fails after a while.
const within = (hold, what) => new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error(`${what}: nothing within ${STEP_MS} ms`)), STEP_MS);
  hold(resolve, reject);
});

async function step(name, work) {
  try {
    const value = await within((resolve, reject) => work().then(resolve, reject), name);
    results[name] = { value: value ?? null };
  } catch (e) {
    results[name] = { error: `${e?.name}: ${e?.message}`, code: e?.code ?? null };
  }
}

function transport() {
  return target[0].startsWith("http")
    ? new sdk.StreamableHTTPClientTransport(new URL(target[0]))
    : new sdk.StdioClientTransport({ command: target[0], args: target.slice(1),
                                     env: process.env, stderr: "inherit" });
}

async function pages(list, key) {
  const rows = [];
  let cursor, count = 0;
  do {
    const page = await list(cursor ? { cursor } : {});
    rows.push(...page[key]);
    cursor = page.nextCursor;
    count++;
  } while (cursor && count < 50);
  return { rows, pages: count };
}

const text = (result) => result.content?.map((block) => block.text ?? block.type);
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const client = new sdk.Client({ name: "drive", version: "1" }, { capabilities, ...sdk.options });
const call = (name, args = {}, options = {}, meta) =>
  sdk.call(client, { name, arguments: args, ...(meta && { _meta: meta }) }, options);

const logged = [], asked = [];
let action = "accept";
sdk.hear(client, "notifications/message", (n) => { logged.push(n.params); });
sdk.answer(client, "elicitation/create", async (r) => {
  asked.push(r.params);
  return action === "accept"
    ? { action, content: { username: "ada", email: "ada@example.org", name: "Ada", color: "red" } }
    : { action };
});
sdk.answer(client, "sampling/createMessage", async (r) => {
  asked.push(r.params);
  return { role: "assistant", model: "none", content: { type: "text", text: "Paris" } };
});
sdk.answer(client, "roots/list", async () =>
  ({ roots: [{ uri: "file:///home/ada", name: "home" }] }));

await step("connect", () => client.connect(transport()));
await step("about", async () => ({
  server: client.getServerVersion(), capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
  version: modern ? client.getNegotiatedProtocolVersion() : undefined,
}));

await step("tools", async () => {
  const { rows, pages: n } = await pages((p) => client.listTools(p), "tools");
  return { names: rows.map((t) => t.name), pages: n };
});
await step("text", async () => text(await call("test_simple_text")));
await step("content", async () =>
  (await call("test_multiple_content_types")).content.map((block) => block.type));
await step("structured", async () =>
  (await call("get_note", { identifier: "project/greenhouse" })).structuredContent);
await step("wasm", async () => {
  const answer = await call("wasm_jq", { filter: ".a", compact: true, stdin: '{"a": [1, 2]}' });
  const { stdout, exitCode } = JSON.parse(text(answer)[0]); // told once
  return { stdout, exitCode };
});
await step("failure", async () => {
  const result = await call("test_error_handling");
  return { isError: result.isError, text: text(result) };
});
await step("unknown", () => call("no_such_tool"));
await step("progress", async () => {
  let seen = [];
  // The client drops progress that it reads together with the answer, 50 ms behind it: then the call is made again.
  for (let tries = 0; tries < 10 && seen.length < 3; tries++) {
    seen = [];
    await call("test_tool_with_progress", {}, { onprogress: (p) => seen.push(p) });
  }
  return seen;
});
await step("log", async () => {
  if (!modern) await client.setLoggingLevel("info");
  const meta = modern ? { "io.modelcontextprotocol/logLevel": "info" } : undefined;
  await call("test_tool_with_logging", {}, {}, meta);
  const said = () => logged.filter((m) => m.logger === "conformance");
  for (const end = Date.now() + 60000; said().length < 3 && Date.now() < end; ) // behind its answer
    await new Promise((resolve) => setTimeout(resolve, 10));
  return said().map((m) => [m.level, m.data]);
});

await step("resources", async () => {
  const { rows, pages: n } = await pages((p) => client.listResources(p), "resources");
  return { uris: rows.map((r) => r.uri), pages: n };
});
await step("read", async () =>
  (await client.readResource({ uri: "test://static-text" })).contents);
await step("blob", async () =>
  (await client.readResource({ uri: "test://static-binary" })).contents[0].mimeType);
await step("templates", async () =>
  (await pages((p) => client.listResourceTemplates(p), "resourceTemplates"))
    .rows.map((t) => t.uriTemplate));
await step("template", async () =>
  JSON.parse((await client.readResource({ uri: "test://template/7/data" })).contents[0].text));
await step("missing", () => client.readResource({ uri: "test://nothing" }));
await step("prompts", async () =>
  (await pages((p) => client.listPrompts(p), "prompts")).rows.map((p) => p.name));
await step("prompt", async () => (await client.getPrompt({
  name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" },
})).messages);
await step("complete", async () => (await client.complete({
  ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
  argument: { name: "arg1", value: "par" },
})).completion.values);

await step("elicit", async () =>
  text(await call("test_elicitation", { message: "Who are you?" })));
await step("decline", async () => {
  action = "decline";
  const said = text(await call("test_elicitation", { message: "Who are you?" }));
  action = "accept";
  return said;
});
await step("sample", async () => text(await call("test_sampling", { prompt: "France?" })));
await step("roots", async () => text(await call("test_input_required_result_list_roots")));
await step("several", async () =>
  text(await call("test_input_required_result_multiple_inputs")));
await step("rounds", async () => text(await call("test_input_required_result_multi_round")));
await step("asked", async () => asked.map((params) => params.message ?? "sampling"));

// What changes is told to who listens; the newer revision listens to all of it at once.
const updated = within((resolve) => sdk.hear(client, "notifications/resources/updated",
                                             (n) => resolve(n.params.uri)), "updated");
const changed = within((resolve) => sdk.hear(client, "notifications/tools/list_changed",
                                             () => resolve(true)), "tools changed");
updated.catch(() => {});
changed.catch(() => {});
let subscription;
await step("subscribe", async () => {
  if (modern)
    subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [WATCHED] });
  else
    await client.subscribeResource({ uri: WATCHED });
});
await step("updated", async () => {
  await call("test_trigger_resource_change");
  return updated;
});
await step("changed", async () => {
  await call("test_trigger_tool_change");
  return changed;
});
await step("unsubscribe", async () => {
  if (modern) await subscription.close();
  else await client.unsubscribeResource({ uri: WATCHED });
});

await step("cancel", async () => {
  const begun = Date.now(), stop = new AbortController();
  setTimeout(() => stop.abort(new Error("enough")), 200);
  const what = await call("test_reconnection", { milliseconds: 60_000 }, { signal: stop.signal })
    .then(() => "answered", (e) => `${e?.message}`);
  const after = text(await call("test_simple_text"));
  return { what, after, quick: Date.now() - begun < STEP_MS };
});
await step("close", () => client.close());

console.log(JSON.stringify(results));
process.exit(0);
