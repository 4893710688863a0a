'use strict';
const pkg = require('../node_modules/terser/package.json');

const SAMPLE = `import { a as b } from 'a';
/*! kept */ class Point { #x = 1; static y; get x() { return this.#x ?? 0; } async *all() { for await (const p of []) yield p; } }
function add(first, ...rest) { let sum = first; for (const n of rest) { if (n > 0) { sum += n; } else { continue; } } return sum; }
const { p, q: [r] = [], ...others } = { p: 1 }; var unused = 'x'; label: while (true) { break label; }
try { switch (p) { case 1: add(1, 2); break; default: throw new Error(\`no \${r?.s}\`); } } catch { delete others.p; } finally { b(); }
export const arrow = async (x = 1) => { return /re+/giu.test(x) ? void 0 : !function () { return 1_000n ** 2n; }(); };
export default Point;`;

addProgram('terser', {
  files: { '/node_modules/terser/package.json': JSON.stringify(pkg) },
  async warm() {
    const { minify } = require('../node_modules/terser/dist/bundle.min.js');
    await minify(SAMPLE, { module: true, compress: { passes: 2 }, mangle: { toplevel: true }, sourceMap: true });
    await minify('function f(a) { return a + 1 }', { format: { beautify: true } });
  },
  start: () => require('../node_modules/terser/bin/terser'),
});
