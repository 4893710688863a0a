// Connects a client: what to put where, and a sign as soon as it calls.
import { useEffect, useState } from "preact/hooks";
import { getSetup, serverNow } from "../../core/api";
import { today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import type { Setup } from "../../core/types";
import { whoIs } from "../../core/who";
import { Copy, Failure, Icon, Skeleton, Time, WhoMark } from "../../parts/parts";

interface Client { id: string; name: string; file: string; make: (s: Setup, vault: string, http: boolean) => string }

/** As a shell of POSIX reads it. */
const quote = (word: string): string => (/^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
const args = (vault: string): string[] => ["mcp", ...(vault ? ["--vault", vault] : [])];
const json = (value: unknown): string => JSON.stringify(value, null, 2);
/** A string of TOML. JSON's spelling of one is valid there. */
const line = (text: string): string => JSON.stringify(text);
const servers = (s: Setup, vault: string, http: boolean): string =>
  json({ mcpServers: { cloche: http ? { url: `${s.url}/mcp` } : { command: s.program, args: args(vault) } } });

const CLIENTS: Client[] = [
  { id: "claude-code", name: "Claude Code", file: "", make: (s, vault, http) =>
    http ? `claude mcp add --transport http cloche ${quote(`${s.url}/mcp`)}` : ["claude mcp add cloche --", quote(s.program), ...args(vault).map(quote)].join(" ") },
  { id: "claude-desktop", name: "Claude Desktop", file: "claude_desktop_config.json (Settings, Developer, Edit Config)", make: servers },
  { id: "cursor", name: "Cursor", file: "~/.cursor/mcp.json", make: servers },
  { id: "vscode", name: "VS Code", file: ".vscode/mcp.json", make: (s, vault, http) =>
    json({ servers: { cloche: http ? { type: "http", url: `${s.url}/mcp` } : { type: "stdio", command: s.program, args: args(vault) } } }) },
  { id: "codex", name: "Codex", file: "~/.codex/config.toml", make: (s, vault, http) =>
    ["[mcp_servers.cloche]", ...(http ? [`url = ${line(`${s.url}/mcp`)}`] : [`command = ${line(s.program)}`, `args = [${args(vault).map(line).join(", ")}]`])].join("\n") },
  { id: "gemini", name: "Gemini CLI", file: "~/.gemini/settings.json", make: (s, vault, http) =>
    json({ mcpServers: { cloche: http ? { httpUrl: `${s.url}/mcp` } : { command: s.program, args: args(vault) } } }) },
  { id: "zed", name: "Zed", file: "~/.config/zed/settings.json", make: (s, vault, http) =>
    json({ context_servers: { cloche: http ? { url: `${s.url}/mcp` } : { command: s.program, args: args(vault) } } }) },
  { id: "windsurf", name: "Windsurf", file: "~/.codeium/windsurf/mcp_config.json", make: (s, vault, http) =>
    json({ mcpServers: { cloche: http ? { serverUrl: `${s.url}/mcp` } : { command: s.program, args: args(vault) } } }) },
  { id: "lm-studio", name: "LM Studio", file: "~/.lmstudio/mcp.json", make: servers },
  { id: "cline", name: "Cline", file: "cline_mcp_settings.json (MCP Servers, Configure)", make: (s, vault, http) =>
    json({ mcpServers: { cloche: http ? { type: "streamableHttp", url: `${s.url}/mcp` } : { command: s.program, args: args(vault) } } }) },
  { id: "opencode", name: "opencode", file: "~/.config/opencode/opencode.json", make: (s, vault, http) =>
    json({ mcp: { cloche: http ? { type: "remote", url: `${s.url}/mcp`, enabled: true } : { type: "local", command: [s.program, ...args(vault)], enabled: true } } }) },
  { id: "other", name: t.connect.other, file: "", make: (s, vault, http) => (http ? `${s.url}/mcp` : [s.program, ...args(vault)].map(quote).join(" ")) },
];

/** Agents that called after the view was opened come first. */
function Connected({ since }: { since: string }) {
  const agents = (today.value?.agents ?? []).filter((a) => !whoIs(a.caller).you);
  const fresh = agents.filter((a) => a.last > since);
  return (
    <section class="card connected" aria-live="polite">
      {!fresh.length && <p class="quiet"><span class="pulse" aria-hidden="true" />{t.connect.waiting}</p>}
      <ul>{[...fresh, ...agents.filter((a) => !fresh.includes(a))].map((a) => (
        <li key={`${a.caller} ${a.name}`}><span class={`pulse${fresh.includes(a) ? " on" : ""}`} aria-hidden="true" /><span><WhoMark caller={a.caller} client={a.name ? { name: a.name, version: a.version } : null} /> {fresh.includes(a) && t.connect.connected}</span><span class="quiet">{t.connect.first} <Time time={a.last} /></span></li>
      ))}</ul>
    </section>
  );
}

export function ConnectView() {
  const [setup, setSetup] = useState<Setup | null>(null);
  const [failed, setFailed] = useState("");
  const [client, setClient] = useState(CLIENTS[0]);
  const [way, setWay] = useState("stdio");
  const [since] = useState(() => serverNow());
  const look = () => void getSetup().then((it) => { setSetup(it); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  useEffect(look, []);
  const vault = today.value?.vaults.find((v) => v.id === today.value?.vault)?.path ?? "";
  if (failed) return <div class="view"><Failure text={failed} retry={look} /></div>;
  if (!setup) return <div class="view"><Skeleton /></div>;
  const http = way === "http";
  const snippet = client.make(setup, vault, http);
  return (
    <div class="view connect">
      <h1>{t.connect.title}</h1>
      <p class="quiet">{t.connect.lead}</p>
      <div class="choices" role="radiogroup" aria-label={t.connect.client}>{CLIENTS.map((one) => (
        <button key={one.id} type="button" role="radio" aria-checked={one === client} class={one === client ? "chosen" : ""} onClick={() => setClient(one)}>{one.name}</button>
      ))}</div>
      <div class="choices" role="radiogroup" aria-label={t.connect.way}>{Object.entries(t.connect.ways).map(([id, text]) => (
        <button key={id} type="button" role="radio" aria-checked={id === way} class={id === way ? "chosen" : ""} onClick={() => setWay(id)}>{text}</button>
      ))}</div>
      <p><Icon name={client.file ? "note" : "run"} size={16} /> {client.file ? <>{t.connect.put} <code>{client.file}</code></> : t.connect.run}</p>
      <div class="command"><pre class="snippet">{snippet}</pre><Copy text={snippet} /></div>
      <p class="quiet">{t.connect.restart} {http && t.connect.http}</p>
      <Connected since={since} />
    </div>
  );
}
