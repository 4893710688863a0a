// Installs a tool from a ZIP: chosen or dropped, with what the loader found.
import { useEffect, useState } from "preact/hooks";
import { hear } from "../../core/events";
import { wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { getTools, installTool, ZIP_MAX, type Installed, type Tool } from "../../core/tools";
import { Icon, spell, Strange } from "../../parts/parts";

type State =
  | { kind: "none" }
  | { kind: "busy"; file: string; text: string }
  | { kind: "good" | "wrong"; text: string; lines: string[] }
  | { kind: "taken"; file: File; text: string; lines: string[] };

export interface Installing { state: State; install: (file: File, replace?: boolean) => void; close: () => void }

function told(file: File, said: Installed, ok: boolean): State {
  const name = `${said.tool?.name ?? ""} ${said.tool?.version ?? ""}`;
  if (ok) return { kind: "good", text: t.tools.done(name), lines: [...(said.warnings ?? []), ...(said.key ? [t.tools.untrusted(said.key)] : [])] };
  return { kind: "wrong", text: t.tools.refused(file.name), lines: said.errors?.length ? said.errors : [said.error ?? t.unreachable] };
}

/** What a replacement changes, apart from what it does. */
function changes(there: Tool | undefined, next: NonNullable<Installed["tool"]>): string[] {
  if (!there) return [];
  return [
    ...(there.source === "builtin" ? [t.tools.overBuiltin] : []),
    ...(there.files !== next.files ? [t.tools.otherFiles(t.tools.access[there.files], t.tools.access[next.files])] : []),
    ...(there.signer !== next.signer && (there.signer || there.source !== "builtin") ? [t.tools.otherSigner(next.signer)] : []),
    ...(there.permission === "always" ? [t.tools.staysAlways] : []),
  ];
}

export function useInstalling(tools: readonly Tool[], vault: string): Installing {
  const [state, setState] = useState<State>({ kind: "none" });
  const busy = state.kind === "busy";
  useEffect(() => hear("compiling", ({ tool, seconds, simply }) => {
    if (seconds) setState((was) => (was.kind === "busy" ? { ...was, text: t.tools.compiling(tool, seconds, simply) } : was));
  }), []);
  const install = (file: File, replace = false) => {
    if (busy) return;
    if (file.size > ZIP_MAX) {
      setState({ kind: "wrong", text: t.tools.tooLarge(file.name, Math.ceil(file.size / (1 << 20))), lines: [] });
      return;
    }
    const tell = (text: string) => setState({ kind: "busy", file: file.name, text });
    tell(t.tools.sending(0));
    installTool(file, vault, replace, (part) => tell(part < 1 ? t.tools.sending(Math.floor(part * 100)) : t.tools.checking))
      .then(async ({ status, said }) => {
        const named = (all: readonly Tool[]) => all.find((one) => one.name === said.tool?.name);
        if (status === 409 && said.tool && !replace) {
          const there = named(await getTools(vault).then((all) => all.tools, () => tools)); // as it is now
          setState({ kind: "taken", file, text: t.tools.taken(`${there?.name ?? said.tool.name} ${there?.version ?? ""}`, `${said.tool.name} ${said.tool.version}`), lines: changes(there, said.tool) });
        } else {
          setState(told(file, said, status === 200));
          if (status === 200 && !replace) void getTools(vault).then((all) => { // what its policy said of an earlier one of that name
            const made = named(all.tools);
            if (made?.permission === "always" && made.from !== "default") setState((was) => (was.kind === "good" ? { ...was, lines: [...was.lines, t.tools.alwaysAlready] } : was));
          }, () => {});
        }
      }, (e) => setState({ kind: "wrong", text: t.tools.refused(file.name), lines: [wordsOf(e)] }));
  };
  return { state, install, close: () => setState({ kind: "none" }) };
}

export function InstallState({ of: { state, install, close } }: { of: Installing }) {
  if (state.kind === "none") return null;
  const tone = state.kind === "taken" ? "wrong" : state.kind;
  return (
    <div id="installing" class={`installing ${tone}`} role="status">
      <div class="installing-text">
        {state.kind === "busy" ? <p><Strange text={state.file} /> {spell(state.text)}</p> : <p>{spell(state.text)}</p>}
        {state.kind !== "busy" && state.lines.length > 0 && <ul>{state.lines.map((line, i) => <li key={i}><Strange text={line} /></li>)}</ul>}
      </div>
      {state.kind === "taken" && <><button type="button" onClick={close}>{t.tools.leaveIt}</button><button type="button" class="primary" onClick={() => install(state.file, true)}>{t.tools.replace}</button></>}
      {state.kind !== "busy" && state.kind !== "taken" && <button type="button" class="ghost" aria-label={t.close} onClick={close}><Icon name="close" size={14} /></button>}
    </div>
  );
}
