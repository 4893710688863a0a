"""Bodies of functions that try to change the world of their callers, each in another way. They are
in hand-made files, so no check comes before they run."""

BODIES = {
    "alias": "const A = Array; A.prototype.map = () => 'EVIL';",
    "alias of a prototype": "const p = Array.prototype; p.map = () => 'EVIL';",
    "computed member": "Array['proto' + 'type']['ma' + 'p'] = () => 'EVIL';",
    "destructuring": "const { prototype } = Array; prototype.map = () => 'EVIL';",
    "destructured target": "[Array.prototype.map] = [() => 'EVIL'];",
    "target of a pattern": "({ a: Object.prototype.evil } = { a: 1 });",
    "loop target": "for (Object.prototype.evil of [1]);",
    "getPrototypeOf": "Object.getPrototypeOf([]).map = () => 'EVIL';",
    "__proto__": "[].__proto__.map = () => 'EVIL';",
    "constructor": "[].constructor.isArray = () => false;",
    "constructor of a constructor": "x.constructor.constructor('return this')().evil = 1;",
    "Reflect.set": "Reflect.set(Array.prototype, 'map', () => 'EVIL');",
    "Reflect by name": "const R = Reflect; R['defineProperty'](Object.prototype, 'evil', { value: 1 });",
    "defineProperty by call": "Object.defineProperty.call(null, Object.prototype, 'evil', { value: 1 });",
    "assign": "const o = Object; o.assign(o.prototype, { evil: 1 });",
    "setPrototypeOf": "Object.setPrototypeOf(Array.prototype, { evil: 1 });",
    "setPrototypeOf of Object": "Object.setPrototypeOf(Object.prototype, { evil: 1 });",
    "__defineGetter__": "({}).__defineGetter__.call(Object.prototype, 'evil', () => 1);",
    "any": "const n = notes; n.get = async () => ({ title: 'EVIL' });",
    "API by destructuring": "const { list } = { list: notes }; list.get = () => 'EVIL';",
    "API replaced": "notes = { get: () => 'EVIL' };",
    "API deleted": "const n = notes; delete n.get;",
    "API extended": "const n = api; n.search = () => 'EVIL';",
    "function of the API": "notes.get.call = () => 'EVIL'; notes.get.then = 1;",
    "call of a function": "Function.prototype.call = () => 'EVIL';",
    "apply": "(function () {}).constructor.prototype.apply = () => 'EVIL';",
    "generator's constructor": "(function* () {}).constructor('globalThis.evil = 1')().next();",
    "async constructor": "await (async () => {}).constructor('evil = 1')();",
    "generator's prototype": "Object.getPrototypeOf((function* () {})()).next = () => 'EVIL';",
    "iterator of arrays": "Object.getPrototypeOf([][Symbol.iterator]()).next = () => ({ done: true });",
    "iterator of maps": "Object.getPrototypeOf(new Map().entries()).next = () => ({ done: true });",
    "iterator helpers": "Object.getPrototypeOf([1].values().map((v) => v)).next = () => ({ done: true });",
    "iterator protocol": "Array.prototype[Symbol.iterator] = function* () { yield 'EVIL'; };",
    "Symbol.species": "Object.defineProperty(Array, Symbol.species, { get: () => class extends Object {} });",
    "Symbol.hasInstance": "Object.defineProperty(Array, Symbol.hasInstance, { value: () => false });",
    "then of promises": "Promise.prototype.then = function () { return 'EVIL'; };",
    "then of all objects": "Object.prototype.then = (f) => f('EVIL');",
    "thenable": "return { then(done) { Array.prototype.map = () => 'EVIL'; done(1); } };",
    "prepareStackTrace": "Error.prepareStackTrace = () => { throw 'EVIL'; };",
    "stackTraceLimit": "Error.stackTraceLimit = 0;",
    "toJSON": "Object.prototype.toJSON = () => 'EVIL'; Array.prototype.toJSON = () => 'EVIL';",
    "default parameter": "const g = (a = (Array.prototype.map = () => 'EVIL')) => a; g();",
    "tagged template": "const tag = (s) => { Object.getPrototypeOf(s).map = () => 'EVIL'; }; tag`x`;",
    "labels": "out: { Array.prototype.map = () => 'EVIL'; break out; }",
    "unicode escapes": "Arr\\u0061y.prototype.m\\u0061p = () => 'EVIL';",
    "this": "(function () { this.evil = 1; })();",
    "this of a callback": "[1].forEach(function () { this.evil = 1; }); setTimeout(function () { this.evil = 1; });",
    "globalThis": "globalThis.evil = 1;",
    "undeclared": "evil = 1;",
    "JSON": "JSON.stringify = () => 'EVIL';",
    "Math": "Math.max = () => 'EVIL'; Math.random = () => 4;",
    "console": "console.log = () => { throw 'EVIL'; };",
    "string": "String.prototype.split = () => ['EVIL'];",
    "regular expression": "RegExp.prototype.exec = () => null; RegExp.prototype[Symbol.replace] = () => 'EVIL';",
    "typed arrays": "Object.getPrototypeOf(Uint8Array.prototype).set = () => 'EVIL';",
    "classes of ours": "URL.prototype.toString = () => 'EVIL'; TextEncoder.prototype.encode = () => 'EVIL';",
    "errors": "TypeError.prototype.name = 'EVIL'; Error.prototype.toString = () => 'EVIL';",
    "context": "context.value = 'EVIL'; context.list.push('EVIL');",
    "a value of the context": "value = 'EVIL'; list.push('EVIL');",
    "state": "state.kept = 'EVIL';",
    "a name of the session": "kept = 'EVIL';",
    "main": "__main(() => 'EVIL');",
    "timers": "for (let i = 0; i < 100; i++) { clearTimeout(i); clearInterval(i); }",
    "other functions": "customFunctions.other.call = () => 'EVIL'; customFunctions.other = () => 'EVIL';",
    "other functions' length": "Object.defineProperty(customFunctions.other, 'name', { value: 'EVIL' });",
    "prototype of functions": "Object.setPrototypeOf(customFunctions, { evil: 1 });",
    "later": "setTimeout(() => { try { Array.prototype.map = () => 'EVIL'; } catch {} }); await sleep(5);",
    "import": "const m = await import('data:text/javascript,export default 1'); m.evil = 1;",
    "eval": "(0, eval)('evil = 1');",
    "class static block": "class C { static { Array.prototype.map = () => 'EVIL'; } }",
    "accessor of a class": "class C extends Array { static get [Symbol.species]() { Array.prototype.map = () => 'EVIL'; return Array; } } new C(1).map((v) => v);",
    "proxy": "const p = new Proxy(Array.prototype, {}); p.map = () => 'EVIL';",
    "freeze": "Object.freeze(x.deep ?? {}); Object.preventExtensions(Object.prototype);",
    "caller": "x.back && x.back.caller && (x.back.caller.evil = 1);",
}

# Everything that can be reached from the caller's own names, as (object, key, value); what is
# there and what it is afterwards must be the same.
CALLER = """
const roots = [Object, Function, Array, String, Number, Boolean, BigInt, Symbol, Promise, Map, Set, WeakMap,
  WeakSet, WeakRef, Date, RegExp, Error, TypeError, RangeError, AggregateError, JSON, Math, Reflect, Proxy, Iterator,
  ArrayBuffer, DataView, Uint8Array, Float64Array, TextEncoder, TextDecoder, URL, URLSearchParams, AbortController,
  AbortSignal, EventTarget, Event, console, crypto, performance, setTimeout, clearTimeout, queueMicrotask,
  structuredClone, sleep, notes, noteTypes, links, hierarchy, relationships, vaults, api, utils, customFunctions.other,
  function () {}, async function () {}, function* () {}, async function* () {}, (function* () {})(),
  (async function* () {})(), [].values(), new Map().values(), new Set().values(), 'a'.matchAll(/a/g), 'a'[Symbol.iterator](),
  [1].values().map((v) => v), Iterator.from({ next() { return { done: true } } }), context];
function look() {
  const seen = new Set(), all = [], todo = [...roots];
  while (todo.length) {
    const v = todo.pop();
    if ((typeof v !== 'object' || v === null) && typeof v !== 'function' || seen.has(v)) continue;
    seen.add(v);
    const proto = Object.getPrototypeOf(v);
    all.push([v, '[[Prototype]]', proto]);
    todo.push(proto);
    for (const key of Reflect.ownKeys(v)) {
      const d = Object.getOwnPropertyDescriptor(v, key);
      all.push([v, key, d.value, d.get, d.set]);
      todo.push(d.value, d.get, d.set);
    }
  }
  return all;
}
const is = Object.is, before = look(), told = [Error.prepareStackTrace, Error.stackTraceLimit];
let timer = 'never'; setTimeout(() => { timer = 'ran'; }, 1);
let result;
try { result = await customFunctions.f({ deep: undefined, back: (v) => v }); String(result); } catch { }
await sleep(10);
const after = look(), changed = [];
if (before.length !== after.length) changed.push(`${before.length} properties are ${after.length}`);
before.forEach((row, i) => row.forEach((v, k) => { if (!after[i] || !is(v, after[i][k])) changed.push(String(row[1])); }));
if (timer !== 'ran') changed.push('the timer was cleared');
if (!is(told[0], Error.prepareStackTrace) || !is(told[1], Error.stackTraceLimit)) changed.push('stacks');
if (typeof evil !== 'undefined' || ({}).evil) changed.push('evil');
if (value !== 1 || list.length !== 1) changed.push('context');
if ((await notes.get('m/a')).title !== 'A') changed.push('notes.get');
if (customFunctions.other() !== 'other') changed.push('other');
try { null.x } catch (e) { if (!/code.js/.test(e.stack)) changed.push('stack'); }
return [...new Set(changed)];
"""
