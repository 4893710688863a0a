// The other side of fresh.c: npm quickjs-emscripten (QuickJS on V8's Wasm), its release
// variant, answering the same commands.
//
//   node quickjs.mjs NODE_MODULES     reads commands, answers each with a line of JSON
//
//   context COUNT    COUNT evaluations of `return 1`, each in a new runtime and context
//                    of one module: {"ns": [...], "seconds"}
//   equipped COUNT   the same, each with limits of memory, stack and time, and with the
//                    host calls and console that fresh.c has
//   module COUNT     bare, each in a new module: alone in its memory, as ours are
//   program FILE     the program once, in a context made before: {"ns", "result"}
//
// But for `equipped` it has no deadlines and no limits; only evaluating is timed in
// `program`.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

const { getQuickJS, newQuickJSWASMModule, shouldInterruptAfterDeadline } =
  createRequire(resolve(process.argv[2], 'x.js'))('quickjs-emscripten');
const shared = await getQuickJS();

const body = (code) => `(function () {\n${code}\n})()`;

// Evaluates and answers the value; the world stays open.
function evaluate(context, code) {
  const result = context.evalCode(code);
  const handle = context.unwrapResult(result);
  const value = context.dump(handle);
  handle.dispose();
  return value;
}

// Disposing is timed with the rest, as closing the world is in ours.
function inFreshContext(module) {
  const runtime = module.newRuntime();
  const context = runtime.newContext();
  if (evaluate(context, body('return 1')) !== 1) throw new Error('not 1');
  context.dispose();
  runtime.dispose();
}

const HOST_CALLS = {
  notes: ['create', 'get', 'update', 'delete', 'list', 'search'],
  utils: ['generateId', 'parseLinks', 'formatDate', 'sanitizeTitle'],
  console: ['log', 'info', 'warn', 'error'],
};

// As its own manual puts a host call into a context.
function expose(context) {
  for (const [space, names] of Object.entries(HOST_CALLS)) {
    const object = context.newObject();
    for (const name of names) {
      const f = context.newFunction(name, () => context.undefined);
      context.setProp(object, name, f);
      f.dispose();
    }
    context.setProp(context.global, space, object);
    object.dispose();
  }
}

function inEquippedContext(module) {
  const runtime = module.newRuntime();
  runtime.setMemoryLimit(256 << 20);
  runtime.setMaxStackSize(1 << 20);
  runtime.setInterruptHandler(shouldInterruptAfterDeadline(Date.now() + 30000));
  const context = runtime.newContext();
  expose(context);
  if (evaluate(context, body('return 1')) !== 1) throw new Error('not 1');
  context.dispose();
  runtime.dispose();
}

async function batch(count, one) {
  const ns = [];
  const begun = process.hrtime.bigint();
  for (let i = 0; i < count; i++) {
    const start = process.hrtime.bigint();
    await one();
    ns.push(Number(process.hrtime.bigint() - start));
  }
  return { ns, seconds: Number(process.hrtime.bigint() - begun) / 1e9 };
}

function program(path) {
  const code = body(readFileSync(path, 'utf8'));
  const context = shared.newContext();
  const start = process.hrtime.bigint();
  const result = evaluate(context, code);
  const ns = Number(process.hrtime.bigint() - start);
  context.dispose();
  return { ns, result };
}

for await (const line of createInterface({ input: process.stdin })) {
  const [command, argument] = line.split(/ (.*)/);
  let answer;
  if (command === 'context') answer = await batch(Number(argument), () => inFreshContext(shared));
  else if (command === 'equipped')
    answer = await batch(Number(argument), () => inEquippedContext(shared));
  else if (command === 'module')
    answer = await batch(Number(argument), async () =>
      inFreshContext(await newQuickJSWASMModule()));
  else if (command === 'program') answer = program(argument);
  else throw new Error(`not a command: ${line}`);
  process.stdout.write(JSON.stringify(answer) + '\n');
}
