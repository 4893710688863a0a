// A value as a tree that opens and closes; long lists are told in parts.
import { useState } from "preact/hooks";
import { t } from "../core/texts";
import { Strange } from "./parts";

const PART = 50;
const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null && Object.keys(value).length > 0;
const short = (value: object): string => (Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).slice(0, 4).join(", ")}${Object.keys(value).length > 4 ? ", …" : ""}}`);

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <Strange text={value} block={value.includes("\n")} />;
  return <span class="leaf">{value === undefined ? "undefined" : JSON.stringify(value)}</span>;
}

function Branch({ value, open }: { value: object; open: boolean }) {
  const [shown, setShown] = useState(open);
  const [most, setMost] = useState(PART);
  const rows = shown ? Object.entries(value) : [];
  return (
    <div class="branch">
      <button type="button" class="ghost" aria-expanded={shown} onClick={() => setShown(!shown)}><Strange text={short(value)} /></button>
      {shown && <ul>{rows.slice(0, most).map(([name, one]) => <li key={name}><span class="name"><Strange text={name} /></span>{isBranch(one) ? <Branch value={one} open={false} /> : <Leaf value={one} />}</li>)}</ul>}
      {rows.length > most && <button type="button" onClick={() => setMost(most + 10 * PART)}>{t.run.more(rows.length - most)}</button>}
    </div>
  );
}

export function Tree({ value }: { value: unknown }) {
  return <div class="tree">{isBranch(value) ? <Branch value={value} open /> : <Leaf value={value} />}</div>;
}
