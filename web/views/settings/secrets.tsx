// Secrets that the server puts into requests: their names and hosts. A value is written here, and never read.
import { useState } from "preact/hooks";
import type { Edit } from "../../core/rights";
import { t } from "../../core/texts";
import { Strange } from "../../parts/parts";

interface Secret { hosts?: string[]; header?: string; format?: string; env?: string; file?: string }
interface SecretsProps { value: Record<string, Secret>; pending: Edit[]; onEdit: (name: string, edit: Edit | null) => void }
const keyOf = (name: string): string => `network.secrets.${name}`;

function Add({ onAdd, close }: { onAdd: (name: string, value: object) => void; close: () => void }) {
  const [name, setName] = useState("");
  const [from, setFrom] = useState<"value" | "env" | "file">("value");
  const [source, setSource] = useState("");
  const [hosts, setHosts] = useState("");
  const [header, setHeader] = useState("");
  const [format, setFormat] = useState("");
  const add = (event: Event) => {
    event.preventDefault();
    onAdd(name, { [from]: source, hosts: hosts.split(/[\s,]+/).filter(Boolean), ...(header && { header }), ...(format && { format }) });
    close();
  };
  return (
    <form class="secret-form" onSubmit={add} aria-label={t.settings.addSecret}>
      <label>{t.settings.secretName}<input type="text" required pattern="[A-Za-z0-9_]+" value={name} spellcheck={false} autocomplete="off" onInput={(e) => setName(e.currentTarget.value)} /></label>
      <label>{t.settings.secretFrom}<select value={from} onChange={(e) => { setFrom(e.currentTarget.value as "value"); setSource(""); }}>{Object.entries(t.settings.secretFroms).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select></label>
      <label>{t.settings.secretFroms[from]}{from === "value"
        ? <input type="password" required value={source} autocomplete="off" onInput={(e) => setSource(e.currentTarget.value)} />
        : <input type="text" required value={source} spellcheck={false} autocomplete="off" onInput={(e) => setSource(e.currentTarget.value)} />}</label>
      <label>{t.settings.secretHosts}<input type="text" required value={hosts} placeholder="api.example.org" spellcheck={false} onInput={(e) => setHosts(e.currentTarget.value)} /></label>
      <label>{t.settings.secretHeader}<input type="text" value={header} placeholder="Authorization" spellcheck={false} onInput={(e) => setHeader(e.currentTarget.value)} /></label>
      <label>{t.settings.secretFormat}<input type="text" value={format} placeholder="Bearer {}" spellcheck={false} onInput={(e) => setFormat(e.currentTarget.value)} /></label>
      <div class="deeds"><button type="submit" class="primary">{t.settings.add}</button><button type="button" onClick={close}>{t.cancel}</button></div>
    </form>
  );
}

export function Secrets({ value, pending, onEdit }: SecretsProps) {
  const [adding, setAdding] = useState(false);
  const names = Object.keys(value);
  return (
    <section aria-label={t.settings.secrets}><h2>{t.settings.secrets}</h2>
      <div class="card secrets">
        <p class="quiet">{t.settings.secretsHint}</p>
        {names.length > 0 && <ul>{names.map((name) => {
          const s = value[name];
          const gone = pending.some((e) => e.key === keyOf(name) && !("value" in e));
          return (
            <li key={name} class={gone ? "gone" : ""}><Strange text={name} /><span class="quiet">{t.settings.goesTo} <Strange text={(s.hosts ?? []).join(", ")} />{s.header && <> {t.settings.asHeader} <Strange text={s.header} /></>} · {t.settings.hidden}</span>
              <button type="button" class="ghost" onClick={() => onEdit(name, gone ? null : { key: keyOf(name) })}>{gone ? t.settings.leave : t.settings.takeOut}<span class="visually-hidden"> {name}</span></button></li>
          );
        })}</ul>}
        {pending.filter((e) => "value" in e).map((e) => <p class="key-pending" key={e.key}>{t.settings.pending} <Strange text={e.key.slice(keyOf("").length)} /></p>)}
        {adding ? <Add close={() => setAdding(false)} onAdd={(name, now) => onEdit(name, { key: keyOf(name), value: now })} /> : <button type="button" onClick={() => setAdding(true)}>{t.settings.addSecret}</button>}
      </div>
    </section>
  );
}
