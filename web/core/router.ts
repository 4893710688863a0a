// Which view an address is. Addresses are paths; what a view filters by stands behind '?'.
import { computed, signal } from "@preact/signals";

const address = signal(location.pathname + location.search);
addEventListener("popstate", () => { address.value = location.pathname + location.search; });

export const place = computed(() => {
  const url = new URL(address.value, location.origin);
  return { parts: url.pathname.split("/").filter(Boolean).map(decodeURIComponent), query: url.searchParams };
});

export function go(path: string, how: "push" | "replace" = "push"): void {
  if (path === address.value) return;
  history[how === "push" ? "pushState" : "replaceState"](null, "", path);
  address.value = path;
}

/** As go(), some time from now: unless the person has gone elsewhere meanwhile. */
export function goLater(): typeof go {
  const from = address.value;
  return (path, how) => { if (address.value === from) go(path, how); };
}

/** Links of ours change the view; with a modifier they are the browser's. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element).closest?.("a");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.target) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || url.pathname.startsWith("/person") || url.pathname.startsWith("/assets")) return;
  event.preventDefault();
  go(url.pathname + url.search);
}
