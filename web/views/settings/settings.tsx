// What agents may do: the policy, the guard's answer to a question, tokens for programs, and what few persons need.
import { go, place } from "../../core/router";
import { useKeys } from "../../core/keys";
import { t } from "../../core/texts";
import { AccessView } from "./access";
import { AdvancedView } from "./advanced";
import { PolicyView } from "./policy";
import { TokensView } from "./tokens";

const PARTS = { policy: PolicyView, access: AccessView, tokens: TokensView, advanced: AdvancedView };
type Part = keyof typeof PARTS;
const pathOf = (part: Part): string => (part === "policy" ? "/settings" : `/settings/${part}`);

export function SettingsView() {
  const named = place.value.parts[1] ?? "";
  const part = Object.hasOwn(PARTS, named) ? (named as Part) : "policy";
  useKeys({ 1: () => go(pathOf("policy")), 2: () => go(pathOf("access")), 3: () => go(pathOf("tokens")), 4: () => go(pathOf("advanced")) });
  const View = PARTS[part];
  return (
    <div class="view settings">
      <header class="settings-head">
        <h1>{t.settings.title}</h1>
        <nav class="tabs" aria-label={t.settings.title}>{(Object.keys(PARTS) as Part[]).map((p) => (
          <a key={p} href={pathOf(p)} aria-current={p === part ? "page" : undefined}>{t.settings.parts[p]}</a>
        ))}</nav>
      </header>
      <View />
    </div>
  );
}
