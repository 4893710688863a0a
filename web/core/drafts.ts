// What is not saved yet. It is there again when one comes back to it, also after the page was reloaded in
// the same tab (sessionStorage); the browser asks before the page is left.
const STORED = "drafts ";
const every = new Map<string, Drafts<unknown>>();

export class Drafts<T> extends Map<string, T> {
  /** `of`: names them in the tab, so no two may have the same. */
  constructor(of: string) {
    super();
    try {
      const stored = JSON.parse(sessionStorage.getItem(STORED + of) ?? "[]") as [string, T][];
      for (const [key, draft] of stored) this.set(key, draft);
    } catch { /* none, or not ours */ }
    every.set(of, this);
  }
}

/** Those whose view was not shown since the reload stay as they are. */
function store(): void {
  for (const [of, drafts] of every) {
    try {
      if (drafts.size) sessionStorage.setItem(STORED + of, JSON.stringify([...drafts]));
      else sessionStorage.removeItem(STORED + of);
    } catch { /* no room: they last as long as the page */ }
  }
}

addEventListener("pagehide", store);
addEventListener("beforeunload", (e) => {
  store();
  if (hasDrafts()) e.preventDefault();
});

/** Those of a view that was not shown since the reload are stored alone. */
export const hasDrafts = (): boolean =>
  Object.keys(sessionStorage).some((key) => key.startsWith(STORED)) || [...every.values()].some((drafts) => drafts.size);

/** What is typed into this page stays in the browser no longer than the page. */
export function forget(): void {
  for (const drafts of every.values()) drafts.clear();
  sessionStorage.clear();
}
