// The page of `cloche serve`: what waits for a person's word, and what tools may do. All that
// comes from the server is put in as text; there is no markup made of it anywhere.

interface Approval {
  id: string; kind: string; caller: string; asked: string; left_ms: number; waiting: boolean;
  question: string; choices: string[]; tools: string[]; text: string;
}
interface Tool {
  name: string; version: string; category: string; description: string; license: string;
  signer: string; vault: string; source: "builtin" | "user"; files: string; enabled: boolean;
  permission: string; from: string;
}
interface Installed {
  tool?: { name: string; version: string }; key?: string; warnings?: string[]; error?: string; errors?: string[];
}
interface State { state: number; approvals: Approval[]; tools: Tool[] }

const LOOK_MS = 1000; // between looks for what is new
const ZIP_MAX = 16 << 20; // what the server takes in one request
const CALM_MS = 600; // after something moved: a click is meant for what was there before
const WORDS: Record<string, string> = { call: "this call", session: "this session", always: "always" };

const byId = (id: string) => document.getElementById(id) as HTMLElement;
let key = sessionStorage.getItem("key") ?? "";
let known = -1;
let shown: State | null = null;

function make<K extends keyof HTMLElementTagNameMap>(name: K, text = "", cls = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.textContent = text;
  if (cls) made.className = cls;
  return made;
}

function choose(options: [string, string][], value: string): HTMLSelectElement {
  const select = make("select");
  for (const [word, text] of options) {
    const option = make("option", text);
    option.value = word;
    select.append(option);
  }
  select.value = value;
  return select;
}

const say = (text: string) => { byId("said").textContent = text; };

// ---- speaking with the server ---------------------------------------------------------

async function request(method: string, path: string, body?: object): Promise<Response> {
  const file = body instanceof File;
  return fetch(`/person/${path}`, {
    method,
    headers: { "X-Cloche-Key": key, ...(body && { "Content-Type": file ? "application/zip" : "application/json" }) },
    body: file ? body : body && JSON.stringify(body),
    cache: "no-store",
    credentials: "same-origin",
    redirect: "error",
  });
}

async function deed(path: string, body: object, done: string) {
  try {
    const answer = await request("POST", path, body);
    const said = await answer.json();
    say(answer.ok ? done : said.error);
    if (answer.status === 401) leave();
  } catch {
    say("The server does not answer.");
  }
  known = -1;
  await look();
}

// ---- what waits ----------------------------------------------------------------------

function card(a: Approval): HTMLElement {
  const box = make("article");
  box.dataset.id = a.id;
  const verb = a.kind === "install" ? "proposes to install" : "asks to run";
  const wish = a.kind === "call" ? `asks: ${a.question}` : `${verb} ${a.tools.join(", ")}`;
  box.append(make("p", `${a.caller} ${wish}${a.waiting ? "" : " (and does not wait any more)"}`));
  box.append(make("pre", a.text));
  const foot = make("footer");
  const remember = choose(a.choices.map((c) => [c, WORDS[c] ?? c]), "call");
  remember.setAttribute("aria-label", "for how long");
  const allow = make("button", "Allow", "allow");
  const deny = make("button", "Deny");
  const decide = (yes: boolean) => {
    for (const b of [allow, deny]) b.disabled = true;
    void deed("decide", { id: a.id, allow: yes, remember: yes ? remember.value : "call" },
      yes ? `Allowed, for ${WORDS[remember.value]}.` : "Denied.");
  };
  allow.addEventListener("click", () => decide(true));
  deny.addEventListener("click", () => decide(false));
  foot.append(make("span", `${a.asked.slice(11, 19)} UTC, ${a.id}`, "when"), make("span", "", "gap"), remember, allow, deny);
  box.append(foot);
  return box;
}

/** Cards that are still there stay where they are; nothing can be clicked while others move. */
function showApprovals(list: Approval[]) {
  const place = byId("approvals");
  const there = new Map([...place.children].map((c) => [(c as HTMLElement).dataset.id, c]));
  let moved = false;
  for (const [id, element] of there)
    if (!list.some((a) => a.id === id)) {
      element.remove();
      moved = true;
    }
  for (const a of list)
    if (!there.has(a.id)) {
      place.append(card(a));
      moved = true;
    }
  byId("none").hidden = list.length > 0;
  document.title = list.length ? `(${list.length}) Cloche` : "Cloche";
  if (!moved) return;
  const buttons = [...place.querySelectorAll("button")];
  for (const b of buttons) b.disabled = true;
  setTimeout(() => { for (const b of buttons) b.disabled = false; }, CALM_MS);
}

// ---- the tools -----------------------------------------------------------------------

function row(t: Tool): HTMLTableRowElement {
  const line = make("tr", "", t.enabled ? "" : "off");
  const facts = [t.version, t.license, t.source === "builtin" ? "built in" : t.signer ? `signed by ${t.signer}` : "not signed",
    t.files === "none" ? "sees no files" : `files: ${t.files}`].filter(Boolean).join(", ");
  const word = make("td", "", "word");
  const select = choose([["always", "always"], ["ask", "ask"], ["never", "never"], ["usual", "as usual"]], t.permission);
  select.setAttribute("aria-label", `may agents run ${t.name}`);
  select.title = `set by: ${t.from}`;
  select.addEventListener("change", () =>
    void deed("permit", { tool: t.name, permission: select.value }, `${t.name}: ${select.value}.`));
  const turn = make("button", t.enabled ? "Disable" : "Enable");
  turn.addEventListener("click", () => {
    turn.disabled = true;
    void deed("switch", { tool: t.name, enabled: !t.enabled }, `${t.name} is ${t.enabled ? "disabled" : "enabled"}.`);
  });
  word.append(select, " ", turn);
  line.append(make("td", t.name, "name"), make("td", t.description, "tells"), make("td", facts, "facts"), word);
  return line;
}

function showTools(list: Tool[]) {
  const place = byId("tools");
  const wanted = (byId("find") as HTMLInputElement).value.trim().toLowerCase();
  const groups = new Map<string, Tool[]>();
  for (const t of list)
    if (`${t.name} ${t.description} ${t.category}`.toLowerCase().includes(wanted))
      groups.set(t.category, [...(groups.get(t.category) ?? []), t]);
  place.replaceChildren(...[...groups].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([category, tools]) => {
    const table = make("table");
    table.append(...tools.map(row));
    return [make("h3", category || "other"), table];
  }));
  if (!list.length) place.append(make("p", "There are no tools."));
}

// ---- installing ----------------------------------------------------------------------

/** What came of it, until the next one is chosen. */
function tellInstalling(cls: string, text: string, lines: string[] = [], ...buttons: HTMLButtonElement[]) {
  const place = byId("installing");
  place.className = cls;
  place.replaceChildren(make("p", text));
  if (lines.length) {
    const list = make("ul");
    list.append(...lines.map((line) => make("li", line)));
    place.append(list);
  }
  if (buttons.length) {
    const foot = make("footer");
    foot.append(...buttons);
    place.append(foot);
  }
  place.hidden = false;
}

/** The name is taken: by what, and shall this one have its place? */
function askToReplace(file: File, said: Installed) {
  const there = shown?.tools.find((t) => t.name === said.tool?.name && !t.vault);
  const what = there ? `${there.name} ${there.version} is ${there.source === "builtin" ? "built in" : "installed"} already.` : said.error;
  const yes = make("button", "Replace it", "allow");
  const no = make("button", "Leave it");
  yes.addEventListener("click", () => void install(file, true));
  no.addEventListener("click", () => { byId("installing").hidden = true; });
  tellInstalling("wrong", `${what} Shall ${said.tool?.name} ${said.tool?.version} of ${file.name} take its place?`, [], yes, no);
}

function tellInstalled(file: File, said: Installed, ok: boolean) {
  const notes = said.warnings ?? [];
  if (!ok) {
    const errors = said.errors ?? [];
    if (errors.length > 1) tellInstalling("wrong", `${file.name} was not installed. Its manifest.json:`, errors);
    else tellInstalling("wrong", `${file.name} was not installed: ${said.error}`);
    return;
  }
  if (said.key) notes.push(`It is signed by ${said.key}, a key that is not trusted.`);
  tellInstalling("good", `${said.tool?.name} ${said.tool?.version} is installed.`, notes);
}

async function install(file: File, replace: boolean) {
  if (file.size > ZIP_MAX) {
    tellInstalling("wrong", `${file.name} was not installed: it has ${Math.ceil(file.size / (1 << 20))} MB. Here up to ${ZIP_MAX >> 20} MB ` +
      "are accepted, and up to 50 in a terminal: cloche tool install");
    return;
  }
  const choice = byId("zip") as HTMLInputElement;
  choice.disabled = true;
  byId("give").classList.add("busy");
  say("");
  tellInstalling("", `${file.name} is being checked and compiled …`);
  try {
    const answer = await request("POST", `install${replace ? "?replace=yes" : ""}`, file);
    const said = (await answer.json()) as Installed;
    if (answer.status === 401) leave();
    if (answer.status === 409 && said.tool && !replace) askToReplace(file, said);
    else tellInstalled(file, said, answer.ok);
  } catch {
    tellInstalling("wrong", `${file.name} was not installed: it cannot be read, or the server does not answer.`);
  }
  choice.disabled = false;
  byId("give").classList.remove("busy");
  known = -1;
  await look();
}

// ---- from beginning to end -----------------------------------------------------------

function show(in_: boolean) {
  byId("out").hidden = in_;
  for (const id of ["waiting", "shelf", "leave"]) byId(id).hidden = !in_;
}

function leave() {
  key = "";
  known = -1;
  shown = null;
  sessionStorage.removeItem("key");
  show(false);
}

async function look() {
  if (!key) return;
  const answer = await request("GET", `state?known=${known}`);
  if (answer.status === 401) leave();
  if (answer.status !== 200) return;
  const next = (await answer.json()) as State;
  const before = JSON.stringify(shown?.tools);
  shown = next;
  known = next.state;
  showApprovals(next.approvals);
  if (before !== JSON.stringify(next.tools)) showTools(next.tools);
  show(true);
}

async function enter(link: string) {
  const answer = await request("POST", "enter", { link });
  const said = await answer.json();
  if (!answer.ok) {
    say(said.error);
    return;
  }
  key = said.key;
  sessionStorage.setItem("key", key);
}

async function main() {
  const link = location.hash.slice(1);
  if (link) {
    history.replaceState(null, "", "/person"); // it is used up: nobody shall go back to it
    await enter(link);
  }
  byId("leave").addEventListener("click", () => void request("POST", "leave", {}).then(leave, leave));
  const choice = byId("zip") as HTMLInputElement;
  choice.addEventListener("change", () => {
    const file = choice.files?.[0];
    if (file) void install(file, false).finally(() => { choice.value = ""; });
  });
  byId("find").addEventListener("input", () => shown && showTools(shown.tools));
  for (;;) {
    try {
      await look();
    } catch {
      say("The server does not answer.");
    }
    await new Promise((next) => setTimeout(next, LOOK_MS));
  }
}

void main();
