// Node.js's own way to run TypeScript (swc, compiled to Wasm): for each line with code as a
// JSON string, the nanoseconds that making JavaScript of it took.
import { stripTypeScriptTypes } from 'node:module';
import { createInterface } from 'node:readline';

process.removeAllListeners('warning');
for await (const line of createInterface({ input: process.stdin })) {
  const code = JSON.parse(line);
  const start = process.hrtime.bigint();
  const made = stripTypeScriptTypes(code, { mode: 'transform', sourceMap: true });
  const spent = process.hrtime.bigint() - start;
  if (!made.includes('total')) throw new Error('nothing came of it');
  console.log(String(spent));
}
