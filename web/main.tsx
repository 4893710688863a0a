// The page: who comes in, and the shell with its views.
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { enter, whenOut } from "./core/api";
import { keepFocus } from "./core/focus";
import { startListening, stopListening } from "./core/events";
import { go } from "./core/router";
import { startNotify } from "./core/notify";
import { holdWhilePressed } from "./core/press";
import { startStore } from "./core/store";
import { t } from "./core/texts";
import { Login } from "./shell/login";
import { Shell } from "./shell/shell";

const state = signal<"entering" | "in" | "out">("entering");
const said = signal("");

async function come() {
  const link = location.pathname.startsWith("/person") ? location.hash.slice(1) : "";
  // It is used up: nobody shall go back to it.
  if (location.pathname.startsWith("/person")) go("/", "replace");
  try {
    if (await enter(link || undefined)) {
      state.value = "in";
      void startListening();
      return;
    }
  } catch (e) {
    // A link that was used may be of this very browser.
    if (link && (await enter().catch(() => false))) {
      state.value = "in";
      void startListening();
      return;
    }
    said.value = link ? t.login.used : (e as Error).message;
  }
  state.value = "out";
}

function Page() {
  useEffect(() => {
    whenOut(() => { stopListening(); state.value = "out"; });
    keepFocus();
    startStore();
    startNotify();
    void come();
  }, []);
  if (state.value === "entering") return null;
  return state.value === "in" ? <Shell /> : <Login said={said.value} />;
}

holdWhilePressed();
render(<Page />, document.getElementById("page")!);
