// A part of the page that is loaded when it is first needed, and asked for again where that failed.

const AT = `${location.origin}/assets/`;

/** Firefox keeps that a module was not loaded, so the next try has another address: the browser names the one that failed. */
export function partOf<T>(load: () => Promise<T>): () => Promise<T> {
  let failed = "";
  let tries = 0;
  return () => (failed ? (import(`${failed}?${++tries}`) as Promise<T>) : load()).catch((e: unknown) => {
    const named = /https?:[^\s?]+\.js/.exec(String(e))?.[0] ?? "";
    if (named.startsWith(AT)) failed = named;
    throw e;
  });
}
