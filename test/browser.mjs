// Drives Debian's chromium or Firefox for test_page.py: one line in, {code}, whose `page` is Playwright's;
// one line out, {answer} or {error}. {anew: true} instead gives Chromium another page, which knows nothing of the last one.
// Usage: node browser.mjs PLAYWRIGHT chromium|firefox PROGRAM PROFILE [PREFERENCES of Firefox, as JSON]
// PROFILE: a folder, or '' for Chromium's pages that leave nothing behind.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const [playwright, which, program, profile, preferences = "{}"] = process.argv.slice(2);
const launcher = createRequire(import.meta.url)(playwright)[which];
const CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
const SIZE = { width: 1100, height: 800 };
const launched = { executablePath: program, headless: true, ...(which === "firefox" ? { channel: "moz-firefox", firefoxUserPrefs: JSON.parse(preferences) } : { args: CHROMIUM }) };
const browser = profile ? null : await launcher.launch(launched);
let context, page, errors;
async function open() {
  const its = (errors = []);
  context = browser ? await browser.newContext({ viewport: SIZE }) : await launcher.launchPersistentContext(profile, { ...launched, viewport: SIZE });
  context.setDefaultTimeout(60000);
  page = context.pages()[0] ?? (await context.newPage());
  // Chromium tells of refused requests at the console, Firefox does not: they are told here, for both.
  page.on("console", (m) => { if (m.type() === "error" && !m.text().startsWith("Failed to load resource")) its.push(m.text()); });
  page.on("response", (r) => { if (r.status() >= 400) its.push(`status of ${r.status()}: ${r.url()}`); });
  page.on("pageerror", (e) => its.push(String(e)));
}
await open();
process.on("unhandledRejection", (e) => errors.push(`in the test: ${e}`)); // of a route's handler

const Doing = Object.getPrototypeOf(async () => {}).constructor;
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
say({ answer: "ready" });
// A page whose script never rests answers nothing, and Playwright waits for it.
const over = () => new Promise((_, no) => setTimeout(no, 180000, new Error("the page does not answer")).unref());
for await (const line of createInterface({ input: process.stdin })) {
  const { code, given, anew } = JSON.parse(line);
  try {
    if (anew) {
      // What a route's handler still does with the page that goes is not the next page's error.
      for (const its of [page, context]) await its.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
      await open();
      say({ answer: null });
      continue;
    }
    const done = new Doing("page", "errors", "given", code)(page, errors, given);
    say({ answer: (await Promise.race([done, over()])) ?? null });
  } catch (e) {
    const shown = await page.innerText("body", { timeout: 5000 }).catch(String);
    say({ error: `${e}\nThe page shows:\n${shown.slice(0, 3000)}` });
  }
}
await (browser ?? context).close();
