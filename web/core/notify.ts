// Tells the person by the desktop that something waits, whichever view is shown, while nobody looks at the page.
import { effect, signal } from "@preact/signals";
import { go } from "./router";
import { approvals } from "./store";
import { t } from "./texts";

export const notifying = signal<NotificationPermission>("Notification" in window ? Notification.permission : "denied");
export const askToNotify = (): void => void Notification.requestPermission().then((said) => { notifying.value = said; });

let known: Set<string> | null = null;
export function startNotify(): void {
  effect(() => {
    const list = approvals.value;
    if (!list) return;
    const fresh = known ? list.filter((a) => !known!.has(a.id)) : [];
    known = new Set([...(known ?? []), ...list.map((a) => a.id)]);
    if (!fresh.length || notifying.value !== "granted" || !document.hidden) return;
    const said = new Notification(t.name, { body: t.review.notification(fresh.length), tag: "cloche", icon: "/assets/icon.svg" });
    said.onclick = () => { window.focus(); go(`/review/${fresh[0].id}`); said.close(); };
  });
}
