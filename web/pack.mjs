// Joins the page's files into the pack that the program holds (src/doors/desk/assets.c).
// Usage: node pack.mjs FOLDER META PACK, with what esbuild wrote to FOLDER, and tells of in META.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [folder, meta, pack] = process.argv.slice(2);
const outputs = JSON.parse(readFileSync(meta, "utf8")).outputs;
const files = new Map();
const entries = {};
for (const [path, output] of Object.entries(outputs)) {
  const name = basename(path);
  files.set(`assets/${name}`, readFileSync(`${folder}/${name}`));
  if (output.entryPoint) entries[output.entryPoint] = { name, imports: output.imports };
}
const app = entries["web/main.tsx"];
const first = app.imports.filter((i) => i.kind === "import-statement").map((i) => basename(i.path));
const icon = readFileSync("web/icon.svg");
files.set("assets/icon.svg", icon);
files.set("index.html", Buffer.from(readFileSync("web/index.html", "utf8")
  .replace("@STYLE@", entries["web/style/main.css"].name)
  .replace("@SCRIPT@", app.name)
  .replace("@PRELOAD@", first.map((name) => `<link rel="modulepreload" href="/assets/${name}">`).join("\n"))));

const lines = [];
const blobs = [];
let at = 0;
const put = (bytes) => {
  blobs.push(bytes);
  const place = `${at} ${bytes.length}`;
  at += bytes.length;
  return place;
};
const sizes = [];
for (const [name, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  lines.push(`${name} ${hash} ${put(bytes)} ${put(gzipSync(bytes, { level: 9 }))} ${put(brotli)}`);
  sizes.push([name, brotli.length]);
}
writeFileSync(pack, Buffer.concat([Buffer.from(`${lines.join("\n")}\n\n`), ...blobs]));

// What docs/page.md promises of sizes, compressed.
const KB = 1024;
const all = sizes.reduce((sum, [, n]) => sum + n, 0);
const begins = new Set(["index.html", ...[app.name, entries["web/style/main.css"].name, ...first].map((n) => `assets/${n}`)]);
const view = sizes.filter(([name]) => begins.has(name)).reduce((sum, [, n]) => sum + n, 0);
console.log(`  web   ${pack}: first view ${(view / KB).toFixed(1)} KB, all ${(all / KB).toFixed(1)} KB`);
if (view > 120 * KB || all > 600 * KB) {
  console.error("the page is larger than its budget: 120 KB for the first view, 600 KB in all");
  process.exit(1);
}
