// Drives Debian's chromium or Firefox for test_page.py: one line in, {code}, whose `page` is Playwright's;
// one line out, {answer} or {error}. Usage: node browser.mjs PLAYWRIGHT chromium|firefox PROGRAM FOLDER [PREFERENCES of Firefox, as JSON]
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const [playwright, which, program, folder, preferences = "{}"] = process.argv.slice(2);
const launcher = createRequire(import.meta.url)(playwright)[which];
const CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
const context = await launcher.launchPersistentContext(folder, {
  executablePath: program,
  headless: true,
  viewport: { width: 1100, height: 800 },
  ...(which === "firefox" ? { channel: "moz-firefox", firefoxUserPrefs: JSON.parse(preferences) } : { args: CHROMIUM }),
});
context.setDefaultTimeout(60000);
const page = context.pages()[0] ?? (await context.newPage());
const errors = [];
// Chromium tells of refused requests at the console, Firefox does not: they are told here, for both.
page.on("console", (m) => { if (m.type() === "error" && !m.text().startsWith("Failed to load resource")) errors.push(m.text()); });
page.on("response", (r) => { if (r.status() >= 400) errors.push(`status of ${r.status()}: ${r.url()}`); });
page.on("pageerror", (e) => errors.push(String(e)));
process.on("unhandledRejection", (e) => errors.push(`in the test: ${e}`)); // of a route's handler

const Doing = Object.getPrototypeOf(async () => {}).constructor;
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
say({ answer: "ready" });
// A page whose script never rests answers nothing, and Playwright waits for it.
const over = () => new Promise((_, no) => setTimeout(no, 180000, new Error("the page does not answer")).unref());
for await (const line of createInterface({ input: process.stdin })) {
  const { code, given } = JSON.parse(line);
  try {
    const done = new Doing("page", "errors", "given", code)(page, errors, given);
    say({ answer: (await Promise.race([done, over()])) ?? null });
  } catch (e) {
    const shown = await page.innerText("body", { timeout: 5000 }).catch(String);
    say({ error: `${e}\nThe page shows:\n${shown.slice(0, 3000)}` });
  }
}
await context.close();
