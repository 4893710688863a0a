// What the specification says of the places where the guest changes QuickJS or adds to it: a
// program for evaluate_note_code. It answers [how many checks there were, those that failed].
// Numbers of clauses are those of ECMA-262, 16th edition (2025).
const failed = [];
let count = 0;

function check(clause, what, is) {
  count++;
  try {
    if (is() !== true) failed.push(`${clause} ${what}`);
  } catch (error) {
    failed.push(`${clause} ${what}: ${error.name}: ${error.message}`);
  }
}
const same = (clause, what, get, want) =>
  check(clause, what, () => {
    const got = get();
    if (JSON.stringify(got) === JSON.stringify(want) && (typeof want === 'object' || Object.is(got, want))) return true;
    throw new Error(`${JSON.stringify(got) ?? String(got)} instead of ${JSON.stringify(want) ?? String(want)}`);
  });
const throws = (clause, what, name, run) =>
  same(clause, what, () => {
    try {
      run();
    } catch (error) {
      return error.name;
    }
    return 'nothing';
  }, name);
const isConstructor = (f) => {
  try {
    Reflect.construct(Object, [], f);
    return true;
  } catch {
    return false;
  }
};
const own = (object, key) => {
  const { value, ...flags } = Object.getOwnPropertyDescriptor(object, key);
  return flags;
};
const FIXED = { writable: false, enumerable: false, configurable: false };
const LISTED = { writable: false, enumerable: false, configurable: true };
const USUAL = { writable: true, enumerable: false, configurable: true };

// ---- constructors of functions ----------------------------------------------------

const AsyncFunction = (async () => {}).constructor;
const GeneratorFunction = function* () {}.constructor;
const AsyncGeneratorFunction = async function* () {}.constructor;
const kinds = [
  ['20.2.2', 'Function', Function, function () {}, Function.prototype],
  ['27.7.2', 'AsyncFunction', AsyncFunction, async function () {}, Function],
  ['27.3.2', 'GeneratorFunction', GeneratorFunction, function* () {}, Function],
  ['27.4.2', 'AsyncGeneratorFunction', AsyncGeneratorFunction, async function* () {}, Function],
];
for (const [clause, name, C, sample, proto] of kinds) {
  same(clause, `typeof ${name}`, () => typeof C, 'function');
  same(clause, `${name}.name`, () => [C.name, own(C, 'name')], [name, LISTED]);
  same(clause, `${name}.length`, () => [C.length, own(C, 'length')], [1, LISTED]);
  same(clause, `${name}.prototype`, () => own(C, 'prototype'), FIXED);
  check(clause, `the prototype of ${name}`, () => Object.getPrototypeOf(C) === proto);
  check(clause, `${name}.prototype is that of its functions`, () => C.prototype === Object.getPrototypeOf(sample));
  same(clause, `${name}.prototype.constructor`, () => own(C.prototype, 'constructor'), name === 'Function' ? USUAL : LISTED);
  check(clause, `the constructor of a function of ${name}`, () => sample.constructor === C);
  same(clause, `the name of its constructor`, () => sample.constructor.name, name);
  check(clause, `a function is an instance of ${name}`, () => sample instanceof C);
  check(clause, `a plain function is one of Function alone`, () => function () {} instanceof C === (C === Function));
  check(clause, `an object is none`, () => !({} instanceof C));
  check(clause, `a class may extend ${name}`, () => Object.getPrototypeOf(class extends C {}) === C);
  check(clause, `${name} is a constructor`, () => isConstructor(C));
  same(clause, `the keys of ${name}`, () => Reflect.ownKeys(C).sort(), ['length', 'name', 'prototype']);
  same('20.2.3.5', `${name}.toString()`, () => Function.prototype.toString.call(C).replace(/\s+/g, ' '), `function ${name}() { [native code] }`);
  if (C !== Function)
    same(clause, `${name}.prototype[Symbol.toStringTag]`, () => [C.prototype[Symbol.toStringTag], own(C.prototype, Symbol.toStringTag)], [name, LISTED]);
  for (const [how, run] of [
    ['called', () => C('return 1')], ['constructed', () => new C('return 1')], ['empty', () => C()],
    ['by Reflect', () => Reflect.construct(C, ['return 1'], Array)], ['of a class', () => new (class extends C {})('1')],
    ['bound', () => C.bind(null, 'a')('return a')], ['applied', () => C.apply({}, ['1'])], ['what does not parse', () => C('{')],
  ])
    throws('20.2.1.1.1', `${name} ${how} is refused`, 'EvalError', run);
  // CreateDynamicFunction asks the host once it has the texts.
  throws('20.2.1.1.1', `${name}: its arguments become strings first`, 'RangeError', () => C({ toString() { throw new RangeError('first'); } }));
  throws('20.2.1.1.1', `${name}: a symbol is none`, 'TypeError', () => C(Symbol('s')));
}
check('20.2.1', 'a function of any kind is an instance of Function', () =>
  kinds.every(([, , , sample]) => sample instanceof Function && typeof sample.call === 'function'));
same('10.1.9', 'a function has own properties over those of Function.prototype', () => {
  const f = () => 1;
  for (const name of ['toString', 'call', 'apply', 'bind', 'constructor']) f[name] = () => name;
  return [String(f), f.call(), f.apply(), f.bind(), f.constructor(), Object.keys(f).length];
}, ['toString', 'call', 'apply', 'bind', 'constructor', 5]);
same('20.2.3', 'Function.prototype takes properties', () => {
  Function.prototype.mine = 5;
  const got = [(() => 1).mine, Object.isFrozen(Function.prototype)];
  return [...got, delete Function.prototype.mine];
}, [5, false, true]);
check('20.2.3', 'Function.prototype is a function', () => typeof Function.prototype === 'function' && Function.prototype() === undefined);

// ---- eval ---------------------------------------------------------------------------

same('19.2.1', 'eval.name and length', () => [eval.name, eval.length], ['eval', 1]);
check('19.2.1', 'eval is no constructor', () => !isConstructor(eval) && !Object.hasOwn(eval, 'prototype'));
throws('19.2.1', 'new eval()', 'TypeError', () => new eval());
same('20.2.3.5', 'eval.toString()', () => Function.prototype.toString.call(eval).replace(/\s+/g, ' '), 'function eval() { [native code] }');
const object = { text: '1' };
for (const [what, value] of [['a number', 5], ['undefined', undefined], ['null', null], ['an object', object], ['an array', [1]],
  ['a String object', new String('1')], ['a symbol', Symbol.iterator], ['a function', isConstructor]]) {
  check('19.2.1.1', `eval of ${what} is that`, () => Object.is(eval(value), value));
  check('19.2.1.1', `indirect eval of ${what} is that`, () => Object.is((0, eval)(value), value));
}
check('19.2.1.1', 'eval of nothing is undefined', () => eval() === undefined);
for (const [how, run] of [
  ['direct', () => eval('1')], ['indirect', () => (0, eval)('1')], ['empty', () => eval('')], ['called by Reflect', () => Reflect.apply(eval, undefined, ['1'])],
  ['in an arrow function', () => (() => eval('1'))()], ['by another name', () => { const f = eval; return f('1'); }],
  ['what does not parse', () => eval('{')], ['as a callback', () => ['1'].map(eval)],
])
  throws('19.2.1.1', `eval ${how} is refused`, 'EvalError', run);
same('13.5.3', 'what is not there is undefined', () => [typeof globalThis, typeof require, typeof process], ['undefined', 'undefined', 'undefined']);

// ---- Array.prototype.splice -----------------------------------------------------------

const { splice } = Array.prototype;
same('23.1.3.31', 'splice', () => [splice.name, splice.length, isConstructor(splice), own(Array.prototype, 'splice')], ['splice', 2, false, USUAL]);
same('20.2.3.5', 'splice.toString()', () => Function.prototype.toString.call(splice).replace(/\s+/g, ' '), 'function splice() { [native code] }');

// All that is done to the object, in its order.
function watched(target) {
  const log = [];
  const tell = (what) => (t, key, ...rest) => {
    log.push(`${what} ${String(key)}`);
    return Reflect[what](t, key, ...rest);
  };
  const traps = Object.fromEntries(['get', 'has', 'set', 'deleteProperty'].map((what) => [what, tell(what)]));
  traps.set = (t, key, value) => {
    log.push(`set ${String(key)} ${String(value)}`);
    return Reflect.set(t, key, value);
  };
  return [new Proxy(target, traps), log];
}
const steps = (target, ...args) => {
  const [proxy, log] = watched(target);
  const removed = splice.apply(proxy, args);
  return [removed, target, log];
};
same('23.1.3.31', 'the steps where it gets shorter', () => steps([1, 2, 3, 4], 1, 2), [[2, 3], [1, 4], ['get length', 'get constructor',
  'has 1', 'get 1', 'has 2', 'get 2', 'has 3', 'get 3', 'set 1 4', 'deleteProperty 3', 'deleteProperty 2', 'set length 2']]);
same('23.1.3.31', 'the steps where it gets longer', () => steps([1, 2], 1, 0, 8, 9), [[], [1, 8, 9, 2], ['get length', 'get constructor',
  'has 1', 'get 1', 'set 3 2', 'set 1 8', 'set 2 9', 'set length 4']]);
same('23.1.3.31', 'the steps where it stays as long', () => steps([1, 2], 0, 1, 8), [[1], [8, 2], ['get length', 'get constructor', 'has 0', 'get 0', 'set 0 8', 'set length 2']]);
same('23.1.3.31', 'the steps of an object that is no array', () => { const [r, t, log] = steps({ length: 2, 0: 'a', 1: 'b' }, 0, 1); return [r, { ...t }, log]; },
  [['a'], { 0: 'b', length: 1 }, ['get length', 'has 0', 'get 0', 'has 1', 'get 1', 'set 0 b', 'deleteProperty 1', 'set length 1']]);
same('23.1.3.31', 'the steps over a hole', () => steps([1, , 3], 0, 1).slice(2), [['get length', 'get constructor', 'has 0', 'get 0', 'has 1',
  'deleteProperty 0', 'has 2', 'get 2', 'set 1 3', 'deleteProperty 2', 'set length 2']]);
same('23.1.3.31', 'without arguments', () => steps([1, 2]), [[], [1, 2], ['get length', 'get constructor', 'set length 2']]);
same('23.1.3.31', 'length, start and deleteCount are read once, in this order', () => {
  const log = [];
  splice.call({ get length() { log.push('length'); return 3; }, set length(n) { log.push(`length = ${n}`); } },
    { valueOf() { log.push('start'); return 0; } }, { valueOf() { log.push('deleteCount'); return 1; } });
  return log;
}, ['length', 'start', 'deleteCount', 'length = 2']);
class Species extends Array {
  static made = [];
  constructor(...args) { super(...args); Species.made.push(args); }
}
check('23.1.3.31', 'what is removed is made by the species', () => {
  const a = Species.from([1, 2, 3, 4]);
  Species.made.length = 0;
  const removed = a.splice(1, 2);
  return removed instanceof Species && JSON.stringify(Species.made) === '[[2]]' && removed.length === 2 && a.length === 2 && a instanceof Species;
});
same('23.1.3.31', 'a species that answers an object is given its properties and length', () => {
  const a = [1, 2, 3];
  const log = [];
  a.constructor = { [Symbol.species]: function (n) { log.push(n); return new Proxy({}, { defineProperty(t, k, d) { log.push(`define ${k} ${d.value}`); return Reflect.defineProperty(t, k, d); } }); } };
  a.splice(0, 2);
  return [log, [...a]];
}, [[2, 'define 0 1', 'define 1 2', 'define length 2'], [3]]);
throws('23.1.3.31', 'a species that throws', 'RangeError', () => { const a = [1]; a.constructor = { get [Symbol.species]() { throw new RangeError(''); } }; a.splice(0, 1); });
same('23.1.3.31', 'a species that changes the array', () => {
  const a = [1, 2, 3, 4];
  a.constructor = { [Symbol.species]: function (n) { a.length = 1; return new Array(n); } };
  const removed = a.splice(0, 2);
  return [removed.length, removed[0], 1 in removed, a.length, 0 in a];
}, [2, 1, false, 2, false]);
same('23.1.3.31', 'a length that is not writable', () => {
  const a = [1, 2, 3];
  Object.defineProperty(a, 'length', { writable: false });
  try { a.splice(0, 1); } catch (error) { return [error.name, a.length, a[0], a[1], 2 in a]; }
}, ['TypeError', 3, 2, 3, false]);
same('23.1.3.31', 'an element that cannot be deleted', () => {
  const a = [1, 2, 3];
  Object.defineProperty(a, 2, { configurable: false });
  try { a.splice(0, 1); } catch (error) { return [error.name, [...a]]; }
}, ['TypeError', [2, 3, 3]]);
throws('23.1.3.31', 'a frozen array', 'TypeError', () => Object.freeze([1, 2]).splice(0, 1));
throws('23.1.3.31', 'a sealed array', 'TypeError', () => Object.seal([1, 2]).splice(0, 1));
same('23.1.3.31', 'an array that may not grow', () => { const a = Object.preventExtensions([1, 2, 3]); return [a.splice(0, 1), a]; }, [[1], [2, 3]]);
throws('23.1.3.31', 'null', 'TypeError', () => splice.call(null, 0, 1));
throws('23.1.3.31', 'longer than numbers count', 'TypeError', () => splice.call({ length: 2 ** 53 - 1 }, 0, 0, 1));
same('23.1.3.31', 'at the end of what numbers count', () => { const o = { length: 2 ** 53 - 1, 9007199254740990: 'x' }; return [splice.call(o, 2 ** 53 - 2, 1), o.length]; }, [['x'], 2 ** 53 - 2]);
same('23.1.3.31', 'elements of the prototype', () => {
  const proto = Object.setPrototypeOf([1, 2, 3], { __proto__: Array.prototype, 3: 'inherited' });
  proto.length = 4;
  return [proto.splice(2, 2), proto.length];
}, [[3, 'inherited'], 2]);
same('23.1.3.31', 'many times', () => {
  const a = Array.from({ length: 5000 }, (_, i) => i);
  let removed = 0;
  while (a.length > 1) removed += a.splice(0, 3, 'x').length;
  return [a, removed];
}, [['x'], 7499]);
same('23.1.3.31', 'it can be pushed and indexed afterwards', () => { const a = [1, 2, 3, 4]; a.splice(1, 2); a.push(5); a[3] = 6; return [a, a.length]; }, [[1, 4, 5, 6], 4]);

// ---- shared memory and Atomics ------------------------------------------------------------

const shared = new SharedArrayBuffer(64);
const words = new Int32Array(shared);
const wide = new BigInt64Array(shared);
same('25.4', 'Atomics', () => [typeof Atomics, Object.prototype.toString.call(Atomics), Atomics[Symbol.toStringTag]], ['object', '[object Atomics]', 'Atomics']);
check('25.4', 'Atomics is no function', () => Object.getPrototypeOf(Atomics) === Object.prototype && !isConstructor(Atomics));
for (const [name, length] of Object.entries({ add: 3, and: 3, compareExchange: 4, exchange: 3, isLockFree: 1, load: 2, notify: 3, or: 3, store: 3, sub: 3, wait: 4, xor: 3 }))
  same('25.4', `Atomics.${name}`, () => [Atomics[name].name, Atomics[name].length, own(Atomics, name), isConstructor(Atomics[name])], [name, length, USUAL, false]);
for (const [name, want, after] of [['add', 12, 15], ['sub', 12, 9], ['and', 12, 0], ['or', 12, 15], ['xor', 12, 15], ['exchange', 12, 3]]) {
  same('25.4', `Atomics.${name}: what was there, and what is`, () => { words[1] = 12; return [Atomics[name](words, 1, 3), words[1]]; }, [want, after]);
  same('25.4', `Atomics.${name} of big integers`, () => { wide[2] = 12n; return [String(Atomics[name](wide, 2, 3n)), String(wide[2])]; }, [String(want), String(after)]);
  throws('25.4.3.1', `Atomics.${name} out of bounds`, 'RangeError', () => Atomics[name](words, 16, 1));
  throws('25.4.3.1', `Atomics.${name} of floats`, 'TypeError', () => Atomics[name](new Float64Array(2), 0, 1));
  throws('25.4.3.1', `Atomics.${name} of clamped bytes`, 'TypeError', () => Atomics[name](new Uint8ClampedArray(2), 0, 1));
  throws('7.1.13', `Atomics.${name} of a number and big integers`, 'TypeError', () => Atomics[name](wide, 0, 1));
}
same('25.4.8', 'Atomics.compareExchange', () => { words[0] = 5; return [Atomics.compareExchange(words, 0, 4, 9), words[0], Atomics.compareExchange(words, 0, 5, 9), words[0]]; }, [5, 5, 5, 9]);
same('25.4.14', 'Atomics.store answers the number', () => [Atomics.store(words, 0, 3.9), words[0], Atomics.store(words, 0, 2 ** 33 + 1), words[0]], [3, 3, 2 ** 33 + 1, 1]);
check('25.4.14', 'Atomics.store of -0 answers 0', () => Object.is(Atomics.store(words, 0, -0), 0));
same('25.4.11', 'Atomics.load', () => { words[3] = -7; return Atomics.load(words, 3); }, -7);
same('25.4.10', 'Atomics.isLockFree(4)', () => Atomics.isLockFree(4), true);
same('25.4.10', 'Atomics.isLockFree of odd sizes', () => [3, 0, 16].map((n) => Atomics.isLockFree(n)), [false, false, false]);
for (const [Kind, value, want] of [[Int8Array, 200, -56], [Uint8Array, -1, 255], [Int16Array, 40000, -25536], [Uint16Array, -1, 65535], [Uint32Array, -1, 4294967295]])
  same('25.4.3.11', `Atomics of ${Kind.name}`, () => { const a = new Kind(new SharedArrayBuffer(8)); Atomics.store(a, 1, value); return [Atomics.load(a, 1), a[1], Atomics.add(a, 1, 1), a[0]]; }, [want, want, want, 0]);
same('25.4', 'memory that is not shared will do', () => { const a = new Int32Array(2); Atomics.add(a, 1, 4); return [...a]; }, [0, 4]);
same('25.4.15', 'Atomics.notify wakes nobody', () => [Atomics.notify(words, 0), Atomics.notify(words, 0, 1), Atomics.notify(new Int32Array(1), 0)], [0, 0, 0]);
throws('25.4.15', 'Atomics.notify of what nobody can wait for', 'TypeError', () => Atomics.notify(new Int16Array(shared), 0));
throws('25.4.13', 'Atomics.wait: this agent cannot be blocked', 'TypeError', () => Atomics.wait(words, 0, 0, 1));
throws('25.4.13', 'Atomics.wait of memory that is not shared', 'TypeError', () => Atomics.wait(new Int32Array(1), 0, 0, 1));
same('25.2', 'SharedArrayBuffer', () => [SharedArrayBuffer.name, SharedArrayBuffer.length, shared.byteLength, Object.prototype.toString.call(shared)], ['SharedArrayBuffer', 1, 64, '[object SharedArrayBuffer]']);
check('25.2', 'views of it share its bytes', () => { words[5] = 1; return new Uint8Array(shared)[20] === 1; });
check('25.2', 'it is no ArrayBuffer', () => !(shared instanceof ArrayBuffer));
throws('25.2.3', 'called as a function', 'TypeError', () => SharedArrayBuffer(8));
check('25.2.5', 'its slice has bytes of its own', () => { const s = shared.slice(20, 24); words[5] = 9; return s instanceof SharedArrayBuffer && new Uint8Array(s)[0] === 1; });
check('structuredClone', 'a clone shares its bytes', () => { const [a] = structuredClone([words]); a[6] = 77; return words[6] === 77; });

// ---- Promise ------------------------------------------------------------------------------

check('27.2.5.4', 'then asks the species of its promise, once', () => {
  const log = [];
  const p = Promise.resolve(1);
  p.constructor = { get [Symbol.species]() { log.push('species'); return undefined; } };
  return p.then(() => {}) instanceof Promise && log.length === 1;
});
same('27.2.4.8', 'Promise[Symbol.species]', () => { const { get, set, ...rest } = Object.getOwnPropertyDescriptor(Promise, Symbol.species); return [get.name, typeof set, rest, Promise[Symbol.species] === Promise]; },
  ['get [Symbol.species]', 'undefined', { enumerable: false, configurable: true }, true]);

// ---- Math -----------------------------------------------------------------------------------

const zeros = (name, ...list) => list.forEach((x) => check('21.3.2', `Math.${name}(${Object.is(x, -0) ? '-0' : x}) is itself`, () => Object.is(Math[name](x), x)));
for (const name of ['asin', 'atan', 'cbrt', 'sin', 'tan', 'sqrt', 'trunc', 'floor', 'ceil', 'round', 'sign', 'fround', 'f16round', 'sinh', 'asinh', 'tanh', 'atanh', 'expm1', 'log1p']) zeros(name, 0, -0, NaN);
for (const name of ['sinh', 'asinh', 'cbrt']) zeros(name, Infinity, -Infinity);
for (const name of ['sinh', 'asinh', 'tanh', 'atanh', 'sin', 'tan', 'asin', 'atan', 'expm1', 'log1p']) zeros(name, 5e-324, -5e-324, 2 ** -1022);
for (const [name, ...rows] of [
  ['acos', [1, 0]], ['acosh', [1, 0], [Infinity, Infinity]], ['atanh', [1, Infinity], [-1, -Infinity]], ['cos', [0, 1], [-0, 1]],
  ['cosh', [0, 1], [-0, 1], [Infinity, Infinity], [-Infinity, Infinity]], ['exp', [0, 1], [-0, 1], [Infinity, Infinity], [-Infinity, 0], [710, Infinity], [-746, 0]],
  ['expm1', [Infinity, Infinity], [-Infinity, -1]], ['log', [1, 0], [0, -Infinity], [-0, -Infinity], [Infinity, Infinity]],
  ['log10', [1, 0], [0, -Infinity], [-0, -Infinity], [Infinity, Infinity], [1e-308, -308], [1000, 3]],
  ['log2', [1, 0], [0, -Infinity], [-0, -Infinity], [Infinity, Infinity], [8, 3], [2 ** -1074, -1074]], ['log1p', [-1, -Infinity], [Infinity, Infinity]],
  ['tanh', [Infinity, 1], [-Infinity, -1], [1000, 1], [-1000, -1]], ['sinh', [1000, Infinity], [-1000, -Infinity]], ['sqrt', [Infinity, Infinity]],
])
  for (const [x, want] of rows) same('21.3.2', `Math.${name}(${x})`, () => Math[name](x), want);
const { PI } = Math;
for (const [y, x, want] of [[0, 0, 0], [0, -0, PI], [-0, -0, -PI], [0, -1, PI], [-0, -1, -PI], [0, 1, 0], [1, 0, PI / 2], [1, -0, PI / 2], [-1, 0, -PI / 2],
  [1, Infinity, 0], [1, -Infinity, PI], [-1, -Infinity, -PI], [Infinity, 1, PI / 2], [Infinity, Infinity, PI / 4], [Infinity, -Infinity, 3 * PI / 4], [-Infinity, -Infinity, -3 * PI / 4]])
  check('21.3.2.8', `Math.atan2(${y}, ${x})`, () => Object.is(Math.atan2(y, x), want));
check('21.3.2.8', 'Math.atan2(-0, 0) and (-0, 1)', () => Object.is(Math.atan2(-0, 0), -0) && Object.is(Math.atan2(-0, 1), -0));
for (const [x, y, want] of [[2, 0, 1], [NaN, 0, 1], [1, Infinity, NaN], [-1, Infinity, NaN], [0, -1, Infinity], [-0, -1, -Infinity], [-0, -2, Infinity], [-8, 1 / 3, NaN],
  [0.5, Infinity, 0], [2, -Infinity, 0], [-Infinity, 3, -Infinity], [-Infinity, 2, Infinity], [-2, 3, -8], [2, -1074, 5e-324], [2, 1024, Infinity], [10, 2, 100]]) {
  same('6.1.6.1.3', `${x} ** ${y}`, () => x ** y, want);
  same('21.3.2.26', `Math.pow(${x}, ${y})`, () => Math.pow(x, y), want);
}
for (const [args, want] of [[[], 0], [[-0], 0], [[NaN, Infinity], Infinity], [[-Infinity, NaN], Infinity], [[3, 4], 5], [[1e308, 1e308], 1e308 * Math.SQRT2], [[3e-320, 4e-320], 5e-320], [[1, 2, 2], 3]])
  same('21.3.2.18', `Math.hypot(${args})`, () => Math.hypot(...args), want);

return [count, failed];
