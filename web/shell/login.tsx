// Who is not known here is told how to come in.
import { t } from "../core/texts";
import { Copy } from "../parts/parts";

export function Login({ said }: { said: string }) {
  return (
    <main class="login">
      <img src="/assets/icon.svg" width={48} height={48} alt="" />
      <h1>{t.login.title}</h1>
      {said && <p class="login-said" role="alert">{said}</p>}
      <p>{t.login.text}</p>
      <div class="command"><code>{t.login.command}</code><Copy text={t.login.command} /></div>
      <p class="quiet">{t.login.then}</p>
    </main>
  );
}
