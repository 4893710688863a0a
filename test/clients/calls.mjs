// Makes calls of tools by an official TypeScript client, which holds each answer to the
// tool's output schema, and prints what came of them: a JSON array, of each call
// {isError, content: its structured content} or {thrown}.
//
//     node calls.mjs PACKAGES sdk|client CALLS COMMAND ARGUMENT...
//
// CALLS is a file: [[name, arguments], ...]. Both clients learn the schemas from the list of
// tools; "$1.resource" in an argument is that member of what call 1 answered.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, kind, calls, command, ...args] = process.argv.slice(2);
const need = createRequire(`${packages}/none.js`);
const at = kind === "sdk" ? "sdk/client/" : "client";
const { Client } = need(`@modelcontextprotocol/${kind === "sdk" ? at + "index.js" : at}`);
const { StdioClientTransport } = need(
  `@modelcontextprotocol/${kind === "sdk" ? at + "stdio.js" : at + "/stdio"}`);

const client = new Client({ name: "calls", version: "1" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, env: process.env,
                                                stderr: "inherit" }));
for (let cursor; ;) {
  const page = await client.listTools(cursor ? { cursor } : {});
  cursor = page.nextCursor;
  if (!cursor) break;
}

const results = [];
const fill = (value) => typeof value === "string" && /^\$\d+\./.test(value)
  ? value.slice(1).split(".").reduce((v, key, i) => i ? v?.[key] : results[key]?.content, null)
  : Array.isArray(value) ? value.map(fill)
  : value && typeof value === "object"
    ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v)]))
  : value;

for (const [name, given] of JSON.parse(readFileSync(calls))) {
  try {
    const params = { name, arguments: fill(given) };
    const r = await (kind === "sdk" ? client.callTool(params, undefined) : client.callTool(params));
    results.push({ isError: r.isError ?? false, content: r.structuredContent ?? null,
                   text: r.content?.[0]?.text ?? null });
  } catch (e) {
    results.push({ thrown: `${e?.name}: ${e?.message}` });
  }
}
await client.close();
process.stdout.write(JSON.stringify(results), () => process.exit(0));
