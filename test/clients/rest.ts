// A client of the REST interface, typed by what openapi-typescript made of the server's
// document (./api.ts): makes every request once, and prints what it made.
//
//     node rest.ts URL
//
// It is compiled, too: an answer that the document describes otherwise than it is used here
// is an error of types.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.ts";

type Note = components["schemas"]["Note"];
type Problem = components["schemas"]["Problem"];

const client = createClient<paths, "application/json" | "application/problem+json">({
  baseUrl: process.argv[2],
});
const made: string[] = [];
client.use({
  onRequest({ schemaPath, request }) {
    made.push(`${request.method} ${schemaPath}`);
  },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

function got<T>(answer: Answer<T>): T {
  if (!answer.response.ok || answer.data === undefined)
    throw new Error(`${answer.response.url}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

function same(is: unknown, expected: unknown) {
  if (JSON.stringify(is) !== JSON.stringify(expected))
    throw new Error(`${JSON.stringify(is)} is not ${JSON.stringify(expected)}`);
}

const tag = (answer: Answer<unknown>) => answer.response.headers.get("etag") ?? "";

const workspaces = got(await client.GET("/workspaces"));
const workspace_id = workspaces[0].id;
const here = { path: { workspace_id } };
same(got(await client.GET("/workspaces/{workspace_id}", { params: here })).id, workspace_id);

// ---- notes ----------------------------------------------------------------------------

const created = await client.POST("/workspaces/{workspace_id}/notes", {
  params: here,
  body: { markdown: "# Weekly Sync\n\n[[start here]]\n\n## Date\n2025-11-29\n", class: "Meeting" },
});
const note: Note = got(created);
same(note.properties, { Date: "2025-11-29" });
const one = { path: { workspace_id, note_id: note.id } };
const read = await client.GET("/workspaces/{workspace_id}/notes/{note_id}", { params: one });
same(got(read).links[0].target, "start here");
const put = await client.PUT("/workspaces/{workspace_id}/notes/{note_id}", {
  params: { ...one, header: { "If-Match": tag(read) } },
  body: { markdown: note.markdown + "\n## Place\nAttic\n" },
});
const patched = got(await client.PATCH("/workspaces/{workspace_id}/notes/{note_id}", {
  params: { ...one, header: { "If-Match": tag(put) } },
  body: { properties: { Date: "2025-12-06" } },
}));
same(patched.properties["Date"], "2025-12-06");
const rows = got(await client.GET("/workspaces/{workspace_id}/notes", {
  params: { ...here, query: { class: "Meeting", fields: "id,properties.Date" } },
}));
same(rows, [{ id: note.id, properties: { Date: "2025-12-06" } }]);
same(got(await client.POST("/workspaces/{workspace_id}/query", {
  params: here,
  body: { filter: { class: "Meeting" }, sort: "properties.Date", fields: ["title"] },
})), [{ title: "Weekly Sync" }]);
same(got(await client.GET("/workspaces/{workspace_id}/search", {
  params: { ...here, query: { q: "weekly" } },
}))[0].id, note.id);
const links = got(await client.GET("/workspaces/{workspace_id}/links", { params: here }));
same(links.some((link) => link.source === note.id && link.kind === "wiki"), true);
same(got(await client.GET("/workspaces/{workspace_id}/attachments", { params: here })), []);
const classes = got(await client.GET("/workspaces/{workspace_id}/classes", { params: here }));
same(classes.some((row) => row.name === "Meeting"), true);
const meeting = got(await client.GET("/workspaces/{workspace_id}/classes/{class}", {
  params: { path: { workspace_id, class: "Meeting" } },
}));
same(meeting.fields[0], { name: "Date", type: "date", required: false, inferred: true, notes: 1 });
const history = got(await client.GET("/workspaces/{workspace_id}/notes/{note_id}/history", { params: one }));
same(history.length, 3);
const first = { path: { ...one.path, revision: 1 } };
same(got(await client.GET("/workspaces/{workspace_id}/notes/{note_id}/history/{revision}",
  { params: first })).markdown, note.markdown);
got(await client.POST("/workspaces/{workspace_id}/notes/{note_id}/history/{revision}/restore",
  { params: { ...first, header: { "If-Match": "*" } } }));
same(got(await client.GET("/workspaces/{workspace_id}/log",
  { params: { ...here, query: { limit: 1 } } }))[0].changes[0].id, note.id);
same(got(await client.POST("/workspaces/{workspace_id}/undo",
  { params: here, body: { since: "1h", dry_run: true } })).kept, 0);
same(got(await client.GET("/workspaces/{workspace_id}/trash", { params: here })).length, 0);

// ---- code -----------------------------------------------------------------------------

same(got(await client.POST("/workspaces/{workspace_id}/evaluate",
  { params: here, body: { code: "return 6 * 7" } })).result, 42);
same(got(await client.POST("/workspaces/{workspace_id}/check",
  { params: here, body: { code: "return 6 * 7" } })).ok, true);
same(got(await client.POST("/workspaces/{workspace_id}/run",
  { params: here, body: { code: "workspace_id" } })).result, workspace_id);
same(got(await client.GET("/workspaces/{workspace_id}/audit",
  { params: { ...here, query: { limit: 2 } } })).length, 2);

// ---- functions ------------------------------------------------------------------------

const definition = {
  name: "one", description: "One", parameters: {}, returnType: "number",
  code: "function one(): number { return 1; }", examples: [{ args: [], expected: 1 }],
};
const kept = got(await client.POST("/workspaces/{workspace_id}/functions", { params: here, body: definition }));
same(kept.function.name, "one");
same(got(await client.POST("/workspaces/{workspace_id}/functions/validate",
  { params: here, body: { name: "2" } })).valid, false);
same(got(await client.POST("/workspaces/{workspace_id}/functions/test",
  { params: here, body: { definition: { ...definition, name: "draft", code: "function draft(): number { return 1; }" } } })).success, true);
same(got(await client.GET("/workspaces/{workspace_id}/functions", { params: here })).length, 1);
const its = { path: { workspace_id, function: "one" } };
got(await client.GET("/workspaces/{workspace_id}/functions/{function}", { params: its }));
got(await client.PATCH("/workspaces/{workspace_id}/functions/{function}",
  { params: its, body: { description: "The number one" } }));
same(got(await client.GET("/workspaces/{workspace_id}/functions/{function}/versions",
  { params: its })).versions.length, 2);
got(await client.GET("/workspaces/{workspace_id}/functions/{function}/stats", { params: its }));
got(await client.GET("/workspaces/{workspace_id}/functions/stats", { params: here }));
same(got(await client.POST("/workspaces/{workspace_id}/functions/{function}/test",
  { params: its, body: {} })).success, true);
got(await client.POST("/workspaces/{workspace_id}/functions/{function}/rollback",
  { params: its, body: { version: 1 } }));
got(await client.POST("/workspaces/{workspace_id}/functions/{function}/duplicate",
  { params: its, body: { newName: "two" } }));
const file = got(await client.GET("/workspaces/{workspace_id}/functions/export", { params: here }));
got(await client.POST("/workspaces/{workspace_id}/functions/import", { params: here, body: file }));
got(await client.POST("/workspaces/{workspace_id}/functions/backups", { params: here }));
got(await client.GET("/workspaces/{workspace_id}/functions/backups", { params: here }));
const [template] = got(await client.GET("/workspaces/{workspace_id}/functions/templates", { params: here }));
got(await client.GET("/workspaces/{workspace_id}/functions/templates/{template}",
  { params: { path: { workspace_id, template: template.template } } }));
got(await client.DELETE("/workspaces/{workspace_id}/functions", { params: { ...here, query: { names: "two" } } }));
same(got(await client.DELETE("/workspaces/{workspace_id}/functions/{function}",
  { params: its })).deleted, ["one"]);
got(await client.POST("/workspaces/{workspace_id}/functions/restore", { params: here, body: {} }));

// ---- tools and machines ---------------------------------------------------------------

same(got(await client.GET("/tools")).some((tool) => tool.name === "jq"), true);
got(await client.GET("/tools/{tool}", { params: { path: { tool: "jq" } } }));
same(got(await client.POST("/tools/{tool}",
  { params: { path: { tool: "jq" } }, body: { args: ["-n", "1"] } })).exitCode, 0);
got(await client.POST("/vm", { body: {} }));
same(got(await client.POST("/vm/exec", { body: { command: "exit 3" } })).exitCode, 3);
same(got(await client.GET("/vm"))[0].state, "running");
const typedInto = client.POST("/vm/exec", { body: { command: "read x; echo got $x", terminal: { name: "t" } } });
for (let taken = 0; !taken;) {
  const typed = await client.POST("/vm/{machine}/terminals/{terminal}",
    { params: { path: { machine: "default", terminal: "t" } }, body: { text: "a line\n" } });
  taken = typed.data?.typed ?? 0;
}
same(got(await typedInto).stdout.endsWith("got a line\r\n"), true);
const inside = { path: { machine: "default" }, query: { path: "/tmp/a" } };
same(got(await client.PUT("/vm/{machine}/file", {
  params: inside,
  body: "text" as never,
  bodySerializer: (body) => new Blob([body as string]),
  headers: { "Content-Type": "application/octet-stream" },
})).size, 4);
same(await (got(await client.GET("/vm/{machine}/file", { params: inside, parseAs: "blob" })) as unknown as Blob).text(), "text");
same(got(await client.GET("/vm/{machine}/files",
  { params: { path: inside.path, query: { path: "/tmp" } } })).entries.some((entry) => entry.name === "a"), true);
same(got(await client.POST("/vm/{machine}/ports",
  { params: { path: { machine: "default" } }, body: { port: 8000 } })).port, 8000);
got(await client.DELETE("/vm/{machine}/ports/{port}", { params: { path: { machine: "default", port: "8000" } } }));
same((await client.POST("/vm/{machine}/apply",
  { params: { path: { machine: "default" } }, body: { at: "/none", dryRun: true } })).response.status, 404);
same(got(await client.POST("/vm/snapshots", { body: { name: "one" } })).kind, "snapshot");
same(got(await client.GET("/vm/snapshots"))[0].name, "one");
const again = got(await client.POST("/vm/snapshots/{name}/restore", { params: { path: { name: "one" } }, body: {} }));
const copied = got(await client.POST("/vm/{machine}/fork", { params: { path: { machine: again.machine } }, body: {} }));
for (const { machine } of [again, copied]) got(await client.DELETE("/vm/{machine}", { params: { path: { machine } } }));
got(await client.DELETE("/vm/snapshots/{name}", { params: { path: { name: "one" } } }));
got(await client.DELETE("/vm/{machine}", { params: { path: { machine: "default" } } }));

// ---- the end ----------------------------------------------------------------------------

got(await client.GET("/openapi.json"));
same(got(await client.DELETE("/workspaces/{workspace_id}/notes/{note_id}", { params: one })).deleted, true);
const gone = await client.GET("/workspaces/{workspace_id}/notes/{note_id}", { params: one });
const problem: Problem | undefined = gone.error;
same([gone.response.status, problem?.code], [404, "NOT_FOUND"]);

console.log(JSON.stringify(made));
