// Starts Debian's Firefox for Playwright, whose commands for it (WebDriver BiDi) are newer than the browser: one that it does not know
// is answered here. Usage: as firefox itself, with $FIREFOX, $WS (the module ws).
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const { WebSocket, WebSocketServer } = createRequire(import.meta.url)(process.env.WS);
const UNKNOWN = new Set(["emulation.setMediaFeaturesOverride"]); // the colour scheme stays the person's
const firefox = spawn(process.env.FIREFOX, process.argv.slice(2), { stdio: ["ignore", "ignore", "pipe"] });
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => firefox.kill("SIGTERM"));
firefox.on("exit", (code) => process.exit(code ?? 1));

function carry(client, address) {
  const browser = new WebSocket(address);
  const early = [];
  client.on("message", (data) => {
    const text = data.toString(), { id, method } = JSON.parse(text);
    if (UNKNOWN.has(method)) client.send(JSON.stringify({ type: "success", id, result: {} }));
    else if (browser.readyState === WebSocket.OPEN) browser.send(text);
    else early.push(text);
  });
  browser.on("open", () => early.splice(0).forEach((text) => browser.send(text)));
  browser.on("message", (data) => client.send(data.toString()));
  browser.on("close", () => client.close());
  client.on("close", () => browser.close());
}

let said = "";
firefox.stderr.on("data", (bytes) => {
  const [, address] = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec((said += bytes)) ?? [];
  if (!address) return;
  said = "";
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 }, () => process.stderr.write(`WebDriver BiDi listening on ws://127.0.0.1:${server.address().port}\n`));
  server.on("connection", (client, request) => carry(client, address + request.url));
});
