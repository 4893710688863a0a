// Command-line tools: which there are, what each takes and may do, installing, and trying one.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hear } from "../../core/events";
import { useKeys } from "../../core/keys";
import { useNewest } from "../../core/newest";
import { go, place } from "../../core/router";
import { toast, today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { duration, exactly } from "../../core/time";
import { getTools, permitTool, removeTool, switchTool, type Tool, type Tools } from "../../core/tools";
import type { Confirmation } from "../../core/types";
import { Confirm, Empty, Failure, Icon, Skeleton, spell, Strange } from "../../parts/parts";
import { InstallState, useInstalling } from "./install";
import { Try } from "./try";

const bad = (e: unknown) => toast(wordsOf(e), undefined, "bad");

// ---- what it may do ------------------------------------------------------------------

function Permission({ tool, scope }: { tool: Tool; scope: string }) {
  const [asked, setAsked] = useState<(Confirmation & { word: string }) | null>(null);
  const words = t.tools.permissions;
  const name = (word: string) => (word === "ask" && tool.asksForFiles ? words.askFiles : words[word]);
  const say = async (word: string, confirm?: string, back?: string) => {
    try {
      const more = await permitTool(tool.name, word, scope, confirm);
      setAsked(more && { ...more, word });
      if (!more && back !== undefined) toast(t.tools.permitted(tool.name, name(word)), { text: t.undo, run: () => void say(back) });
    } catch (e) {
      bad(e);
    }
  };
  // What is set in no file goes back to that.
  const before = tool.from === (scope ? "vault" : "user") ? tool.permission : "usual";
  return (
    <section class="permission">
      <label for="permission">{t.tools.permission}</label>
      <select id="permission" value={tool.permission} onChange={(e) => { const word = e.currentTarget.value; e.currentTarget.value = tool.permission; void say(word, undefined, before); }}>
        {["always", "ask", "never", "usual"].map((word) => <option key={word} value={word}>{name(word)}</option>)}
      </select>
      <span class="quiet">{t.tools.from[tool.from]}</span>
      {tool.machine && t.tools.machinePermission[tool.machine] && <p class="quiet">{t.tools.machinePermission[tool.machine]}</p>}
      {asked && <Confirm wider sentence={asked.sentence} yes={t.tools.confirm} onYes={() => say(asked.word, asked.confirm, before)} onNo={() => setAsked(null)} />}
    </section>
  );
}

function Deeds({ tool, scope, pick }: { tool: Tool; scope: string; pick: () => void }) {
  const [sure, setSure] = useState(false);
  const turn = (on: boolean) => switchTool(tool.name, on, scope).then(
    () => toast(on ? t.tools.enabled(tool.name) : t.tools.disabled(tool.name), { text: t.undo, run: () => void turn(!on) }), bad);
  const remove = () => removeTool(tool.name, tool.vault).then(() => toast(t.tools.removed(tool.name)), bad);
  if (sure) return <Confirm sentence={t.tools.removeSure(tool.name)} yes={t.tools.remove} onYes={() => remove().then(() => setSure(false))} onNo={() => setSure(false)} />;
  return (
    <div class="deeds">
      <button type="button" disabled={tool.disabledByPolicy} title={tool.disabledByPolicy ? t.tools.byPolicy : ""} onClick={() => void turn(!tool.enabled)}>{tool.enabled ? t.tools.disable : t.tools.enable}</button>
      {tool.source === "user" && <button type="button" onClick={pick}>{t.tools.update}</button>}
      {tool.source === "user" && <button type="button" onClick={() => setSure(true)}>{t.tools.remove}</button>}
    </div>
  );
}

// ---- one tool ------------------------------------------------------------------------

function Facts({ tool }: { tool: Tool }) {
  const f = t.tools.facts;
  const rows: [string, string][] = [
    [f.version, tool.version], [f.author, tool.author], [f.license, tool.license], [f.homepage, tool.homepage],
    [f.source, (tool.source === "builtin" ? t.tools.builtin : tool.signer ? t.tools.signed(tool.signer) : t.tools.unsigned) + (tool.vault ? `, ${t.tools.inVault}` : "")],
    [f.installed, tool.installed ? exactly(tool.installed) : ""], [f.updated, tool.updated && tool.updated !== tool.installed ? exactly(tool.updated) : ""],
    [f.files, t.tools.access[tool.files]], [f.limits, t.tools.limit(tool.memoryMB, duration(tool.timeoutMs))], [f.returns, tool.returns],
    [f.exits, tool.exits.map((x) => `${x.code}: ${x.means}`).join("; ")], [f.command, tool.command ?? ""], [tool.runtime === "vm" ? f.manifest : f.sha256, tool.sha256],
  ];
  return <dl class="facts">{rows.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd><Strange text={value} /></dd></div>)}</dl>;
}

function Parameters({ tool }: { tool: Tool }) {
  if (!tool.parameters.length) return <p class="quiet">{t.tools.noParameters}</p>;
  return (
    <table class="parameters"><tbody>{tool.parameters.map((p) => (
      <tr key={p.name}><th scope="row"><Strange text={p.name} /></th>
        <td class="quiet">{p.type === "array" ? `${p.items}[]` : p.type}{p.required && <span class="tag">{t.tools.required}</span>}</td>
        <td><Strange text={p.description} />{p.choices && <> <span class="quiet"><Strange text={p.choices.map(String).join(" | ")} /></span></>}{p.default !== undefined && <span class="quiet"> {t.tools.defaultIs(JSON.stringify(p.default))}</span>}</td></tr>
    ))}</tbody></table>
  );
}

function One({ tool, vault, scope, pick }: { tool: Tool; vault: string; scope: string; pick: () => void }) {
  return (
    <article class="tool" aria-labelledby="tool">
      <header><h2 id="tool"><Strange text={tool.name} /></h2><p><Strange text={tool.description} /></p></header>
      <Permission tool={tool} scope={scope} />
      <Deeds tool={tool} scope={scope} pick={pick} />
      {tool.runtime === "vm" && <p class="quiet"><span class="tag">{t.tools.machine}</span> {t.tools.machineHint}</p>}
      <details open><summary>{t.tools.tryOut}</summary><Try tool={tool} vault={vault} /></details>
      <section><h3>{t.tools.parameters}</h3><Parameters tool={tool} /></section>
      <Facts tool={tool} />
    </article>
  );
}

// ---- the list ------------------------------------------------------------------------

function Row({ tool, chosen }: { tool: Tool; chosen: boolean }) {
  return (
    <li><a class={tool.enabled ? "" : "off"} href={`/toolbox/${encodeURIComponent(tool.name)}`} aria-current={chosen ? "true" : undefined} data-tool={tool.name}>
      <Strange text={tool.name} />
      <span class="tool-about">{spell(tool.description)}</span>
      <span class="tool-tags">
        {tool.runtime === "vm" && <span class="tag">{t.tools.machine}</span>}
        {!tool.enabled ? <span class="tag">{t.tools.off}</span> : tool.source === "user" ? <span class="tag good">{t.tools.mine} {spell(tool.version)}</span> : null}
      </span>
    </a></li>
  );
}

function useTools(vault: string): { all: Tools | null; failed: string; look: () => void } {
  const [all, setAll] = useState<Tools | null>(null);
  const [failed, setFailed] = useState("");
  const newest = useNewest([vault]);
  const look = () => void newest((signal) => getTools(vault, signal), (told) => { setAll(told); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  useEffect(() => {
    look();
    const off = [hear("settings", look), hear("hello", look)];
    return () => off.forEach((end) => end());
  }, [vault]);
  return { all, failed, look };
}

export function ToolsView() {
  const vault = today.value?.vault ?? "";
  const { all, failed, look } = useTools(vault);
  const [words, setWords] = useState("");
  const [scope, setScope] = useState("");
  const [over, setOver] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const zip = useRef<HTMLInputElement>(null);
  const installing = useInstalling(all?.tools ?? [], scope && vault);
  const name = place.value.parts[1] ?? "";
  const groups = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Map<string, Tool[]>();
    for (const tool of all?.tools ?? [])
      if (wanted.every((w) => `${tool.name} ${tool.description} ${tool.category}`.toLowerCase().includes(w))) found.set(tool.category, [...(found.get(tool.category) ?? []), tool]);
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  }, [all, words]);
  const order = groups.flatMap(([, tools]) => tools);
  const step = (by: number) => {
    const next = order[Math.min(Math.max(order.findIndex((one) => one.name === name) + by, 0), order.length - 1)];
    if (next) go(`/toolbox/${encodeURIComponent(next.name)}`, name ? "replace" : "push");
  };
  useKeys({
    j: () => step(1), k: () => step(-1), "/": () => field.current?.focus(),
    Escape: () => { if (document.activeElement === field.current) field.current?.blur(); else if (name) go("/toolbox"); },
  });
  const pick = () => zip.current?.click();
  const take = (file?: File) => { if (file) installing.install(file); };
  const one = all?.tools.find((tool) => tool.name === name);
  useEffect(() => { document.querySelector(".tool-list [aria-current]")?.scrollIntoView({ block: "nearest" }); }, [name]);
  return (
    <div class={`view toolbox${one ? " opened" : ""}`} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={(e) => { if (!e.currentTarget.contains(e.relatedTarget as Node | null)) setOver(false); }}
      onDrop={(e) => { e.preventDefault(); setOver(false); take(e.dataTransfer?.files[0]); }}>
      {over && <p class="drop-here"><Icon name="tools" />{t.tools.drop}</p>}
      <div class="tool-list">
        <header class="tools-row">
          <h1>{t.tools.title}</h1>
          <label class="search"><Icon name="search" size={16} /><input ref={field} type="search" value={words} placeholder={t.tools.search} aria-label={t.tools.search} spellcheck={false} onInput={(e) => setWords(e.currentTarget.value)} /></label>
          <select aria-label={t.tools.scope} title={t.tools.scope} value={scope} onChange={(e) => setScope(e.currentTarget.value)}>{Object.entries(t.tools.scopes).map(([value, text]) => <option key={value} value={value}>{text}</option>)}</select>
          <button type="button" title={t.tools.drop} disabled={installing.state.kind === "busy"} onClick={pick}>{t.tools.install}</button>
          <input ref={zip} id="zip" type="file" accept=".zip,application/zip" hidden onChange={(e) => { take(e.currentTarget.files?.[0]); e.currentTarget.value = ""; }} />
        </header>
        <InstallState of={installing} />
        {failed && <Failure text={failed} retry={look} />}
        {!all && !failed && <Skeleton lines={10} />}
        {all && all.problems.length > 0 && <Strange text={all.problems.join("\n")} block />}
        {all && name && !one && <p class="note-line pad" role="status">{t.tools.over}</p>}
        {all && !all.tools.length && <Empty icon="tools" title={t.tools.none}><p class="quiet">{t.tools.noneHint}</p></Empty>}
        {all && all.tools.length > 0 && !order.length && <Empty icon="search" title={t.tools.noMatch} />}
        {groups.map(([category, tools]) => (
          <section key={category}><h3>{t.tools.category(spell(category))} <span class="quiet">{tools.length}</span></h3><ul>{tools.map((tool) => <Row key={`${tool.name} ${tool.vault}`} tool={tool} chosen={tool === one} />)}</ul></section>
        ))}
      </div>
      {one && (
        <div class="tool-pane"><button type="button" class="ghost close" aria-label={t.close} onClick={() => go("/toolbox")}><Icon name="close" size={16} /></button>
          <One key={one.name} tool={one} vault={vault} scope={scope && vault} pick={pick} /></div>
      )}
    </div>
  );
}
