// The world that an agent's code wakes up in, made once when the guest is baked.
//
// A function of (natives, makeUrl, intl) that answers what script.c calls. It keeps the
// built-ins that it needs for itself: the code may change any of them, and only
// harms itself. Nothing here protects the host: the sandbox does.
(function (natives, makeUrl, intl) {
  'use strict';
  const world = globalThis;
  const {
    Array, Date, Error, JSON, Map, Math, Number, Object, Promise, Reflect, RegExp, Set, String,
    Symbol, TypeError, RangeError, Uint8Array, Uint16Array, ArrayBuffer, SharedArrayBuffer, DataView, WeakMap,
  } = world;
  const clock = world.performance;
  const monotonic = clock.now.bind(clock);
  const apply = Reflect.apply;
  const { then } = natives; // promise.then(), whatever becomes of Promise
  const toSource = Function.prototype.toString;
  const isArray = Array.isArray;

  const define = (object, name, value) =>
    Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
  const expose = (members) => {
    for (const name of Object.keys(members)) define(world, name, members[name]);
  };
  const typed = (name, message, Base = Error) => define(new Base(message), 'name', name);
  // Errors whose name says which of the host's kinds they are.
  const HOST = Symbol('host');
  const ours = (error) => define(error, 'host', HOST);

  // ---- what is refused ----------------------------------------------------

  // By eval and every constructor of functions, which stay what they are: `f instanceof
  // (async () => {}).constructor` has its answer.
  natives.refuseText((what) => {
    throw typed('EvalError', `${what} is not available here: code made from text cannot be run; write the code itself`, EvalError);
  });
  for (const name of ['fetch', 'require', 'process', 'module', 'exports', 'global', 'globalThis'])
    define(world, name, undefined);

  // ---- showing values -----------------------------------------------------

  const INSPECT_DEPTH = 4;
  const INSPECT_ITEMS = 100;
  const quote = (s) =>
    !s.includes("'") && !/[\u0000-\u001f\\]/.test(s) ? `'${s}'` : JSON.stringify(s);
  const className = (v) => {
    const proto = Object.getPrototypeOf(v);
    if (proto === null) return '[null prototype]';
    const maker = proto.constructor;
    return typeof maker === 'function' && maker.name && maker.name !== 'Object' ? maker.name : '';
  };

  function inspectMembers(v, depth, seen) {
    const parts = [];
    for (const key of Object.keys(v)) {
      if (parts.length === INSPECT_ITEMS) {
        parts.push('...');
        break;
      }
      const name = /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key);
      const own = Object.getOwnPropertyDescriptor(v, key);
      parts.push(`${name}: ${own && own.get ? '[Getter]' : inspect(v[key], depth + 1, seen)}`);
    }
    return parts;
  }

  function inspectList(items, size, depth, seen, show) {
    const parts = [];
    for (const item of items) {
      if (parts.length === INSPECT_ITEMS) {
        parts.push(`... ${size - INSPECT_ITEMS} more`);
        break;
      }
      parts.push(show ? show(item) : inspect(item, depth + 1, seen));
    }
    return parts;
  }

  const braces = (name, open, parts, close) =>
    `${name ? name + ' ' : ''}${open}${parts.length ? (open === '[' ? parts.join(', ') : ` ${parts.join(', ')} `) : ''}${close}`;

  // What looks better than its members, or costs less to look at.
  const shows = new WeakMap();

  function inspectObject(v, depth, seen) {
    if (shows.has(v)) return shows.get(v)();
    if (v instanceof Date) return Number.isNaN(v.getTime()) ? 'Invalid Date' : v.toISOString();
    if (v instanceof RegExp) return String(v);
    if (v instanceof Promise) return 'Promise';
    if (v instanceof Error) {
      const where = cleanStack(v.stack);
      return `${v.name}: ${v.message}${where ? '\n' + where : ''}`;
    }
    if (depth > INSPECT_DEPTH) return isArray(v) ? '[Array]' : `[${className(v) || 'Object'}]`;
    if (isArray(v)) return braces('', '[', inspectList(v, v.length, depth, seen), ']');
    if (ArrayBuffer.isView(v) && !(v instanceof DataView))
      return braces(`${className(v)}(${v.length})`, '[', inspectList(v, v.length, depth, seen), ']');
    if (v instanceof Map)
      return braces(`Map(${v.size})`, '{', inspectList(v, v.size, depth, seen,
        ([k, x]) => `${inspect(k, depth + 1, seen)} => ${inspect(x, depth + 1, seen)}`), '}');
    if (v instanceof Set) return braces(`Set(${v.size})`, '{', inspectList(v, v.size, depth, seen), '}');
    return braces(className(v), '{', inspectMembers(v, depth, seen), '}');
  }

  function inspect(v, depth = 0, seen = []) {
    switch (typeof v) {
      case 'string': return quote(v);
      case 'bigint': return `${v}n`;
      case 'symbol': return v.toString();
      case 'function': return v.name ? `[Function: ${v.name}]` : '[Function]';
      case 'object': break;
      default: return String(v);
    }
    if (v === null) return 'null';
    if (seen.includes(v)) return '[Circular]';
    seen.push(v);
    try {
      return inspectObject(v, depth, seen);
    } finally {
      seen.pop();
    }
  }

  // Node's and the browsers' format characters, as far as agents use them.
  function format(args) {
    let at = 0;
    let text = '';
    if (typeof args[0] === 'string' && args.length > 1 && args[0].includes('%')) {
      at = 1;
      text = args[0].replace(/%([sdifjoOc%])/g, (whole, kind) => {
        if (kind === '%') return '%';
        if (at >= args.length) return whole;
        const v = args[at++];
        if (kind === 's') return typeof v === 'object' && v !== null ? inspect(v) : String(v);
        if (kind === 'd') return String(Number(v));
        if (kind === 'i') return String(Number.parseInt(v, 10));
        if (kind === 'f') return String(Number.parseFloat(v));
        if (kind === 'j') return JSON.stringify(v);
        return kind === 'c' ? '' : inspect(v);
      });
    }
    for (let i = at; i < args.length; i++) {
      if (i > 0) text += ' ';
      text += typeof args[i] === 'string' ? args[i] : inspect(args[i]);
    }
    return text;
  }

  let indent = '';
  const shown = (args) => {
    try {
      return format(args);
    } catch {
      return '[a value that cannot be shown]'; // its getters or its proxy threw
    }
  };
  const logger = (level) => (...args) => {
    const text = shown(args);
    natives.log(level, indent ? indent + text.replaceAll('\n', '\n' + indent) : text);
  };
  const log = logger(0);
  const counts = new Map();
  const timesBegun = new Map();
  const console = {
    log, info: logger(1), warn: logger(2), error: logger(3), debug: logger(4),
    trace: (...args) => log(...args, '\n' + cleanStack(new Error().stack)),
    dir: (v) => log(inspect(v)),
    table: (v) => log(inspect(v)),
    assert: (ok, ...args) => { if (!ok) console.error('Assertion failed' + (args.length ? ':' : ''), ...args); },
    count: (label = 'default') => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      log(`${label}: ${counts.get(label)}`);
    },
    group: (...args) => { if (args.length) log(...args); indent += '  '; },
    groupEnd: () => { indent = indent.slice(2); },
    time: (label = 'default') => { timesBegun.set(label, monotonic()); },
    timeEnd: (label = 'default') => {
      if (timesBegun.has(label)) log(`${label}: ${(monotonic() - timesBegun.get(label)).toFixed(3)}ms`);
      timesBegun.delete(label);
    },
  };

  // ---- errors -------------------------------------------------------------

  // QuickJS counts columns in bytes of UTF-8, people count characters.
  function columnOf(source, line, bytes) {
    const text = source.split('\n')[line - 1] ?? '';
    if (!/[^\0-\x7f]/.test(text)) return bytes;
    let column = 1;
    let left = bytes - 1;
    for (const char of text) {
      if (left <= 0) break;
      left -= natives.encode(char).length;
      column++;
    }
    return column;
  }

  const OURS = /<(world|url|intl|host|table|null)>|\(missing\)/;
  const OUR_FRAMES = new RegExp(`^.*(?:${OURS.source}).*\\n?`, 'gm');

  // What this code is called in its frames. Each call of a session has a name of its own, or
  // a function of an earlier one would be looked for in this one's text.
  let file = 'code.js';

  // Code that came while the evaluation ran, {number, text}, by its name in frames.
  const sources = new Map();

  function mendSource(frame) {
    const [, name, l, c] = /\(([^():\s]+):(\d+):(\d+)\)/.exec(frame) ?? [];
    const source = sources.get(name);
    return source ? frame.replace(`${name}:${l}:${c}`, `${name}:${l}:${columnOf(source.text, l, c)}`) : frame;
  }

  // The frames of the agent's own code, `code.js:line:column`, and of further sources.
  function cleanStack(stack) {
    if (typeof stack !== 'string') return '';
    const [line, from, by] = natives.shift();
    return stack
      .split('\n')
      // Ours, and what is native beneath it.
      .filter((frame, i, all) => frame && !OURS.test(frame) && !(frame.endsWith('(native)') && OURS.test(all[i + 1])))
      .map((frame) => frame.replace(`${file}:`, 'code.js:').replace(/code\.js:(\d+):(\d+)/, (whole, l, c) =>
        `code.js:${l}:${columnOf(natives.code(), l, by && Number(l) === line && c > from + by ? c - by : c)}`))
      .map((frame) => (sources.size ? mendSource(frame) : frame))
      .map((frame) => frame.replace('at <eval> (', 'at ('))
      .join('\n')
      .trimEnd();
  }

  const TOLD = 20000; // characters of an error's texts
  const cut = (text) => (text.length > TOLD ? text.slice(0, TOLD) + ' ... [cut]' : text);

  // What is small enough to be told, and can be.
  function told(value) {
    try {
      return JSON.stringify(value)?.length <= TOLD ? value : undefined;
    } catch {
      return undefined;
    }
  }

  // Whatever was thrown, as plain data for the host.
  function describe(reason) {
    if (typeof reason !== 'object' || reason === null)
      return { name: 'Error', message: cut(String(reason)), stack: '' };
    const stack = cleanStack(reason.stack);
    const first = /code\.js:(\d+):(\d+)/.exec(stack);
    const [, within, l, c] = /\(([^():\s]+):(\d+):(\d+)\)/.exec(stack) ?? [];
    const isError = reason instanceof Error;
    return {
      name: cut(String(reason.name ?? 'Error')),
      message: cut(isError || reason.message !== undefined ? String(reason.message) : inspect(reason)),
      stack: cut(stack),
      ...(first && { line: Number(first[1]), column: Number(first[2]) }),
      ...(sources.has(within) && { within: { file: within, line: Number(l), column: Number(c) } }),
      ...(reason.host === HOST && { host: true, status: reason.status, problem: told(reason.problem) }),
    };
  }

  // ---- host calls ---------------------------------------------------------

  const pending = new Map();
  let nextId = 1;

  function hostError(info, calledAt) {
    const error = ours(typed(info.name ?? 'HostCallError', info.message ?? 'the host call failed'));
    define(error, 'stack', calledAt.stack.replace(OUR_FRAMES, ''));
    if (info.code !== undefined) error.code = info.code;
    if (info.retry !== undefined) error.retry = info.retry;
    return error;
  }

  // Where an error was made: [the source's number, 0 for the code itself; the line, 0 where
  // that is not known].
  let tracing = false;
  const NOWHERE = [0, 0];
  function placeOf({ stack }) {
    for (const [, name, line] of stack.matchAll(/\(([^():\s]+):(\d+):\d+\)/g)) {
      if (name === file) return [0, Number(line)];
      if (sources.has(name)) return [sources.get(name).number, Number(line)];
    }
    return NOWHERE;
  }

  const restings = [];
  const KINDS = new Map(natives.kinds.map((name, kind) => [name, kind]));
  function kindOf(error) {
    try {
      return KINDS.get(error.name) ?? 0;
    } catch {
      return 0; // nothing, or its getter threw
    }
  }

  // How calls of what sources hold begin and end: natives, where nobody traces.
  const calls = { enter: natives.enter, left: natives.leave };
  function enterTraced(number) {
    const [from, line] = placeOf(new Error());
    return natives.enter(number, from, line);
  }

  // What the JavaScript around a host call may use (script.h, `wrap`).
  const kit = () => Object.freeze({
    error: (name, message) => ours(typed(name, message)),
    shared: {},
    then,
    source(number, name, text) {
      sources.set(name, { number, text });
      return natives.source(name, text);
    },
    calls,
    failed: (call, error) => { natives.leave(call, kindOf(error)); },
    follow(error, calledAt) {
      try {
        if (error instanceof Error && typeof error.stack === 'string' && !error.stack.includes(`(${file}:`))
          define(error, 'stack', error.stack + calledAt.stack.replace(OUR_FRAMES, ''));
      } catch {
        // It is frozen, or a proxy that throws: the stack stays as it is.
      }
    },
    show: (value, text) => { shows.set(value, text); },
    onRest: (forget) => { restings.push(forget); },
  });
  const KIT = kit();

  // Rows as the evaluation's own code calls them; as further sources do, with WITHIN added.
  const WITHIN = 0x80000000;
  // [path, what] of the arguments: '[0].metadata.due', 'an invalid date'.
  const refused = ([path, what]) => {
    const [, index, rest] = /^\[(\d+)\](.*)$/s.exec(path) ?? [];
    const whose = rest ? rest.replace(/^\./, '') : `argument ${Number(index) + 1}`;
    return ours(typed('InvalidInput', `${whose} is ${what}, which JSON does not have; nothing was done`));
  };
  const asynchronous = (row) =>
    function (...args) {
      const calledAt = new Error();
      return new Promise((resolve, reject) => {
        const id = nextId++;
        const [from, line] = tracing ? placeOf(calledAt) : NOWHERE;
        const lost = natives.submit(row, id, args, line, from);
        if (lost) throw refused(lost);
        pending.set(id, { resolve, reject, calledAt });
      });
    };
  const synchronous = (row) =>
    function (...args) {
      const [failed, value] = natives.call(row, args);
      if (typeof failed === 'string') throw refused([failed, value]);
      if (failed) throw hostError(value, new Error());
      return value;
    };

  function makeCall({ name, sync, source, wrap }, row, tools) {
    const make = () => {
      if (source) return natives.compile(`(${source})`);
      if (wrap) return natives.compile(`(${wrap})`)(asynchronous(row), sync ? synchronous(row) : undefined, tools);
      return sync ? synchronous(row) : asynchronous(row);
    };
    const made = make();
    const { call, globals = {} } = typeof made === 'function' ? { call: made } : made;
    define(call, 'name', name.slice(name.lastIndexOf('.') + 1));
    return [[name, call], ...Object.entries(globals)];
  }

  // Puts `call` where its name says: 'notes.get', or 'fetch' for a global.
  function place(global, name, call) {
    const parts = name.split('.');
    const last = parts.pop();
    let target = global;
    for (const part of parts) {
      if (!Object.hasOwn(target, part)) define(target, part, {});
      target = target[part];
    }
    if (target === global) define(global, last, call);
    else target[last] = call;
  }

  // Undoes place(), unless the code has put something else there.
  function displace(name, call) {
    const parts = name.split('.');
    const last = parts.pop();
    let target = world;
    for (const part of parts) target = target?.[part];
    if (target?.[last] !== call) return;
    delete target[last];
    if (name === 'fetch') define(world, name, undefined);
    while (parts.length && target !== null && typeof target === 'object' && Object.keys(target).length === 0) {
      const emptied = parts.pop();
      target = parts.reduce((object, part) => object?.[part], world);
      delete target?.[emptied];
    }
  }

  // ---- further sources -------------------------------------------------------
  //
  // Their code has a global object of its own: the same built-ins, an API of its own whose
  // calls the host tells from the evaluation's, and nothing that the evaluation has declared
  // or was given. The built-ins are frozen before the first of them runs. The object itself
  // is at nobody's hand, and strict code makes no properties of it; so it needs no freezing.

  const apart = {};
  const theirTimers = new Set();
  const theirs = (every) => (run, ms, ...args) => {
    const id = addTimer(run, ms, args, every);
    theirTimers.add(id);
    return id;
  };
  const clearTheirs = (id) => { if (theirTimers.delete(id)) timers.delete(id); };

  const fix = (name, value) =>
    Object.defineProperty(apart, name, { value, writable: false, configurable: true, enumerable: false });

  // Setters go on working on what is frozen.
  function guardSetter(name) {
    const { get, set } = Object.getOwnPropertyDescriptor(Error, name);
    Object.defineProperty(Error, name, {
      get, set(value) { if (!natives.isFrozen()) apply(set, this, [value]); }, configurable: true,
    });
  }

  // All that the built-ins lead to, [functions that are only called, everything else].
  function reachable(further) {
    const functions = [];
    const others = [];
    const seen = new Set([world]);
    const stack = [...natives.intrinsics(), ...further];
    for (const name of Object.getOwnPropertyNames(apart)) stack.push(apart[name]);
    while (stack.length) {
      const v = stack.pop();
      if ((typeof v !== 'object' || v === null) && typeof v !== 'function') continue;
      if (seen.has(v)) continue;
      seen.add(v);
      stack.push(Object.getPrototypeOf(v));
      for (const key of Reflect.ownKeys(v)) {
        const own = Object.getOwnPropertyDescriptor(v, key);
        stack.push(own.value, own.get, own.set);
      }
      const isOnlyCalled = typeof v === 'function' && !Object.hasOwn(v, 'prototype') && v !== Function.prototype;
      (isOnlyCalled ? functions : others).push(v);
    }
    return [functions, others];
  }

  // Namespaces and calls, as they are from then on.
  function fixAll(members) {
    for (const name of Object.getOwnPropertyNames(members)) {
      const member = members[name];
      fix(name, member);
      if (name === 'customFunctions') continue; // it refuses all changes by itself
      if (typeof member === 'object') for (const part of Object.values(member)) Object.freeze(part);
      Object.freeze(member);
    }
  }

  const theirOptional = [];
  let enabled = {};
  function enableApart(features) {
    for (const { name, feature, call } of theirOptional) if (features & feature) place(enabled, name, call);
    fixAll(enabled);
  }
  function disableApart() {
    for (const name of Object.getOwnPropertyNames(enabled)) delete apart[name];
    fix('fetch', undefined);
    enabled = {};
  }

  function setApart(builtIns, table, made) {
    for (const name of builtIns) if (!name.startsWith('__')) fix(name, world[name]);
    fix('console', { ...console });
    fix('setTimeout', theirs(false));
    fix('setInterval', theirs(true));
    fix('clearTimeout', clearTheirs);
    fix('clearInterval', clearTheirs);
    for (const name of ['prepareStackTrace', 'stackTraceLimit']) guardSetter(name);
    const shared = table.flatMap((entry, row) => (entry.shared ? made[row].map(([, call]) => call) : []));
    const [functions, others] = reachable(shared.filter((call) => typeof call === 'function'));
    for (const f of functions) Object.freeze(f);
    const tools = kit();
    const always = {};
    const parts = table.map((entry, row) => (entry.shared ? made[row] : makeCall(entry, row + WITHIN, tools)));
    table.forEach((entry, row) => {
      for (const [name, call] of parts[row]) {
        if (!entry.shared && typeof call === 'function') Object.freeze(call);
        if (entry.feature) theirOptional.push({ name, feature: entry.feature, call });
        else place(always, name, call);
      }
    });
    fixAll(always);
    natives.apart(apart, others);
  }

  // table: [{name: 'notes.get', sync: false}, ...]; a row is its index. One with
  // a source is done in here; one with a feature is kept until a run asks for it.
  const optional = [];
  function install(table) {
    const builtIns = Object.getOwnPropertyNames(world);
    const made = table.map((entry, row) => makeCall(entry, row, KIT));
    table.forEach(({ feature }, row) => {
      for (const [name, call] of made[row])
        if (feature) optional.push({ name, feature, call });
        else place(world, name, call);
    });
    setApart(builtIns, table, made);
  }

  function enable(features) {
    for (const { name, feature, call } of optional)
      if (features & feature) place(world, name, call);
    enableApart(features);
  }

  function settle(id, failed, value) {
    const call = pending.get(id);
    if (!call) return;
    pending.delete(id);
    if (failed) call.reject(hostError(value ?? {}, call.calledAt));
    else call.resolve(value);
  }

  function inject(values) {
    for (const key of Object.keys(values)) {
      if (inSession) natives.free(key); // what an earlier call declared would hide it
      define(world, key, values[key]);
    }
    define(world, 'context', values);
  }

  // ---- timers -------------------------------------------------------------

  const timers = new Map();
  let nextTimerId = 1;
  let nextTurn = 1;

  function addTimer(run, ms, args, every) {
    if (typeof run !== 'function') throw new TypeError('a timer needs a function, not text');
    const wait = Math.min(Math.max(Number(ms) || 0, every ? 1 : 0), 2 ** 31 - 1);
    const id = nextTimerId++;
    const timer = { id, due: monotonic() + wait, turn: nextTurn++, run, args, every: every ? wait : 0 };
    timers.set(id, timer);
    pushTimer(timer);
    return id;
  }

  // A binary heap of timers by when they are due; cleared ones are passed over.
  const heap = [];
  const earlier = (a, b) => a.due < b.due || (a.due === b.due && a.turn < b.turn);
  function pushTimer(timer) {
    let i = heap.length;
    for (heap[i] = timer; i > 0;) {
      const up = (i - 1) >> 1;
      if (!earlier(timer, heap[up])) break;
      heap[i] = heap[up];
      heap[i = up] = timer;
    }
  }
  function popTimer() {
    const first = heap[0];
    const last = heap[heap.length - 1];
    heap.length -= 1;
    const n = heap.length;
    for (let i = 0; i < n;) {
      let down = 2 * i + 1;
      if (down + 1 < n && earlier(heap[down + 1], heap[down])) down++;
      if (down >= n || !earlier(heap[down], last)) {
        heap[i] = last;
        break;
      }
      heap[i] = heap[down];
      i = down;
    }
    return first;
  }
  function firstTimer() {
    while (heap.length && timers.get(heap[0].id) !== heap[0]) popTimer();
    return heap.length ? heap[0] : null;
  }

  // Runs the one timer that is due first; was there one?
  function runTimers() {
    const timer = firstTimer();
    if (!timer || timer.due > monotonic()) return false;
    popTimer();
    if (timer.every) {
      timer.due += timer.every;
      timer.turn = nextTurn++;
      pushTimer(timer);
    } else timers.delete(timer.id);
    try {
      apply(timer.run, undefined, timer.args);
    } catch (error) {
      Promise.reject(error);
    }
    return true;
  }

  // [milliseconds until the next timer, or -1; host calls in flight]
  function nextTimer() {
    const timer = firstTimer();
    return [timer ? Math.max(timer.due - monotonic(), 0) : -1, pending.size];
  }

  const clearTimer = (id) => { timers.delete(id); };

  // ---- the code's result --------------------------------------------------

  const NOTHING = Symbol('no return');
  class Last {
    constructor(value) { this.value = value; }
  }
  const SCRIPT = 1;
  const isFunction = (v) => typeof v === 'function' && !/^class\b/.test(apply(toSource, v, []));
  let readMain = () => undefined;

  // Does the code call main() itself? Then it is not called again.
  function callsMain(main) {
    const rest = natives.code().replace(apply(toSource, main, []), '')
      .replace(/\/\*[^]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, '');
    return /\bmain\s*\(|\(\s*main\s*\)/.test(rest);
  }

  // `form`: see script.c.
  const SESSION = 2;
  function conclude(value, form) {
    if (form === SESSION) {
      const last = natives.completion(value);
      if (!last) return value;
      const main = natives.main();
      return isFunction(main) && !callsMain(main) ? main() : last[0];
    }
    if (form !== SCRIPT && value !== NOTHING && !(value instanceof Last)) return value;
    const main = readMain();
    if (main && isFunction(main) && !callsMain(main)) return main();
    return value === NOTHING ? undefined : value.value;
  }

  const done = (value) => natives.done(false, value);
  const failed = (error) => natives.done(true, error);

  // A promise is waited for as it is; the standard's way asks its `then`, which the code may
  // have changed.
  function finish(value) {
    then(natives.isPromise(value) ? value : new Promise((resolve) => { resolve(value); }), done, failed);
  }

  function drive(promise, form) {
    then(promise, (value) => {
      try {
        finish(conclude(value, form));
      } catch (error) {
        failed(error);
      }
    }, failed);
  }

  // ---- sessions -----------------------------------------------------------

  let inSession = false;
  function begin(session, trace, count) {
    inSession = session;
    if (session) file = `call-${count}.js`;
    tracing = trace;
    calls.enter = trace ? enterTraced : natives.enter;
    if (session && !Object.hasOwn(world, 'state')) define(world, 'state', {});
  }

  // What does not outlive an evaluation: what it waited for, and its clocks.
  function rest() {
    pending.clear();
    timers.clear();
    heap.length = 0;
    origin = null;
    indent = '';
    tracing = false;
    calls.enter = natives.enter;
    sources.clear();
    for (const forget of restings) forget();
    theirTimers.clear();
    disableApart();
    for (const { name, call } of optional) displace(name, call);
  }

  // ---- structuredClone ----------------------------------------------------

  const cloneError = (what) => typed('DataCloneError', `${what} cannot be cloned`);

  function cloneObject(v, seen) {
    const keep = (copy) => { seen.set(v, copy); return copy; };
    if (v instanceof Date) return keep(new Date(v.getTime()));
    if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
    if (v instanceof ArrayBuffer) return keep(v.slice(0));
    if (v instanceof SharedArrayBuffer) return keep(v); // its bytes are shared, also with the clone
    if (ArrayBuffer.isView(v)) {
      const buffer = clone(v.buffer, seen);
      return keep(new v.constructor(buffer, v.byteOffset, v instanceof DataView ? v.byteLength : v.length));
    }
    if (v instanceof Map) {
      const copy = keep(new Map());
      for (const [k, x] of v) copy.set(clone(k, seen), clone(x, seen));
      return copy;
    }
    if (v instanceof Set) {
      const copy = keep(new Set());
      for (const x of v) copy.add(clone(x, seen));
      return copy;
    }
    if (v instanceof Error) {
      const copy = keep(typed(v.name, v.message));
      define(copy, 'stack', v.stack);
      if ('cause' in v) define(copy, 'cause', clone(v.cause, seen));
      return copy;
    }
    if (v instanceof Promise || v instanceof WeakMap) throw cloneError(inspect(v));
    const copy = keep(isArray(v) ? new Array(v.length) : {});
    for (const key of Object.keys(v)) copy[key] = clone(v[key], seen);
    return copy;
  }

  function clone(v, seen) {
    if (typeof v === 'function' || typeof v === 'symbol') throw cloneError(inspect(v));
    if (typeof v !== 'object' || v === null) return v;
    return seen.has(v) ? seen.get(v) : cloneObject(v, seen);
  }

  // ---- text ---------------------------------------------------------------

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') {
      return natives.encode(String(text).toWellFormed());
    }
    encodeInto(text, target) {
      let read = 0;
      let written = 0;
      for (const char of String(text).toWellFormed()) {
        const bytes = natives.encode(char);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += char.length;
      }
      return { read, written };
    }
  }

  const asBytes = (input) => {
    if (input === undefined) return new Uint8Array();
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    return new Uint8Array(input);
  };

  // How many bytes at `i` are one character, or the part of one that is replaced
  // as a whole (WHATWG Encoding, "maximal subpart"); negative for the latter.
  function utf8Step(b, i) {
    const c = b[i];
    if (c < 0x80) return 1;
    const size = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (!size) return -1;
    const low = c === 0xe0 ? 0xa0 : c === 0xf0 ? 0x90 : 0x80;
    const high = c === 0xed ? 0x9f : c === 0xf4 ? 0x8f : 0xbf;
    for (let k = 1; k < size; k++) {
      const d = b[i + k];
      if (d === undefined || d < (k === 1 ? low : 0x80) || d > (k === 1 ? high : 0xbf)) return -k;
    }
    return size;
  }

  function decodeBroken(b) {
    let text = '';
    let good = 0;
    for (let i = 0; i < b.length;) {
      const step = utf8Step(b, i);
      if (step < 0) {
        text += natives.decode(b.slice(good, i)) + '\ufffd';
        good = i - step;
      }
      i += Math.abs(step);
    }
    return text + natives.decode(b.slice(good));
  }

  // Bytes at the end that are a character begun but not ended.
  function unfinished(b) {
    for (let back = 1; back <= Math.min(3, b.length); back++) {
      const i = b.length - back;
      if ((b[i] & 0xc0) === 0x80) continue;
      const step = b[i] < 0x80 ? 1 : utf8Step(b, i);
      return step < 0 && -step === back && b[i] >= 0xc2 && b[i] < 0xf5 ? back : 0;
    }
    return 0;
  }

  const ENCODINGS = new Map(Object.entries({
    'utf-8': 'utf-8', utf8: 'utf-8', 'unicode-1-1-utf-8': 'utf-8',
    'utf-16le': 'utf-16le', 'utf-16': 'utf-16le', ucs2: 'utf-16le',
    latin1: 'windows-1252', ascii: 'windows-1252', 'us-ascii': 'windows-1252',
    'iso-8859-1': 'windows-1252', 'windows-1252': 'windows-1252',
  }));
  const WINDOWS_1252 = '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
    '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

  class TextDecoder {
    #fatal; #ignoreBom; #encoding; #rest = new Uint8Array(); #begun = false;
    constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
      this.#encoding = ENCODINGS.get(String(label).trim().toLowerCase());
      if (!this.#encoding) throw new RangeError(`'${label}' is no encoding that is known here`);
      this.#fatal = Boolean(fatal);
      this.#ignoreBom = Boolean(ignoreBOM);
    }
    get encoding() { return this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBom; }
    decode(input, { stream = false } = {}) {
      let bytes = asBytes(input);
      if (this.#rest.length) {
        const joined = new Uint8Array(this.#rest.length + bytes.length);
        joined.set(this.#rest);
        joined.set(bytes, this.#rest.length);
        bytes = joined;
      }
      const keep = !stream ? 0 : this.#encoding === 'utf-8' ? unfinished(bytes)
        : this.#encoding === 'utf-16le' ? bytes.length % 2 : 0;
      this.#rest = bytes.slice(bytes.length - keep);
      let text = this.#decodeAll(keep ? bytes.subarray(0, bytes.length - keep) : bytes);
      if (!this.#begun && text && !this.#ignoreBom && text[0] === '\ufeff') text = text.slice(1);
      this.#begun = stream && (this.#begun || text.length > 0);
      return text;
    }
    #decodeAll(bytes) {
      if (this.#encoding === 'windows-1252') {
        let text = '';
        for (const b of bytes) text += b >= 0x80 && b < 0xa0 ? WINDOWS_1252[b - 0x80] : String.fromCharCode(b);
        return text;
      }
      if (this.#encoding === 'utf-16le') {
        const units = new Uint16Array(bytes.slice(0, bytes.length & ~1).buffer);
        let text = '';
        for (const unit of units) text += String.fromCharCode(unit);
        if (bytes.length % 2) text += '\ufffd';
        if (this.#fatal && (!text.isWellFormed() || bytes.length % 2)) throw new TypeError('the bytes are not valid UTF-16');
        return text.toWellFormed();
      }
      if (natives.isUtf8(bytes)) return natives.decode(bytes);
      if (this.#fatal) throw new TypeError('the bytes are not valid UTF-8');
      return decodeBroken(bytes);
    }
  }

  // ---- crypto -------------------------------------------------------------

  const RANDOM_MAX = 65536;
  const crypto = {
    getRandomValues(array) {
      if (!ArrayBuffer.isView(array) || array instanceof DataView || array instanceof world.Float32Array ||
          array instanceof world.Float64Array)
        throw typed('TypeMismatchError', 'getRandomValues needs an integer typed array');
      if (array.byteLength > RANDOM_MAX)
        throw typed('QuotaExceededError', `at most ${RANDOM_MAX} bytes at a time`);
      natives.fillRandom(asBytes(array));
      return array;
    },
    randomUUID() {
      const b = new Uint8Array(16);
      natives.fillRandom(b);
      b[6] = (b[6] & 0x0f) | 0x40;
      b[8] = (b[8] & 0x3f) | 0x80;
      const hex = Array.from(b, (x) => x.toString(16).padStart(2, '0')).join('');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
  };
  define(Math, 'random', natives.random);

  // ---- events and abortion ------------------------------------------------

  class Event {
    constructor(type, init = {}) { this.type = String(type); Object.assign(this, init); }
  }
  class EventTarget {
    #listeners = new Map();
    addEventListener(type, run, options = {}) {
      const list = this.#listeners.get(type) ?? [];
      if (!list.some((one) => one.run === run)) list.push({ run, once: Boolean(options?.once) });
      this.#listeners.set(type, list);
    }
    removeEventListener(type, run) {
      this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((one) => one.run !== run));
    }
    dispatchEvent(event) {
      event.target ??= this;
      for (const { run, once } of [...(this.#listeners.get(event.type) ?? [])]) {
        if (once) this.removeEventListener(event.type, run);
        if (typeof run === 'function') apply(run, this, [event]);
        else run.handleEvent(event);
      }
      return true;
    }
  }
  class AbortSignal extends EventTarget {
    aborted = false;
    reason = undefined;
    onabort = null;
    throwIfAborted() { if (this.aborted) throw this.reason; }
    static abort(reason) { const c = new AbortController(); c.abort(reason); return c.signal; }
    static timeout(ms) {
      const c = new AbortController();
      addTimer(() => c.abort(typed('TimeoutError', `no answer within ${ms} ms`)), ms, [], false);
      return c.signal;
    }
    static any(signals) {
      const c = new AbortController();
      for (const s of signals) {
        if (s.aborted) { c.abort(s.reason); break; }
        s.addEventListener('abort', () => c.abort(s.reason), { once: true });
      }
      return c.signal;
    }
  }
  class AbortController {
    signal = new AbortSignal();
    abort(reason = typed('AbortError', 'this operation was aborted')) {
      const { signal } = this;
      if (signal.aborted) return;
      signal.aborted = true;
      signal.reason = reason;
      const event = new Event('abort');
      if (typeof signal.onabort === 'function') apply(signal.onabort, signal, [event]);
      signal.dispatchEvent(event);
    }
  }

  // ---- the clock ----------------------------------------------------------

  // Counted from the first look: the baked runtime's own origin is of another day.
  let origin = null;
  const performance = {
    now() { origin ??= monotonic(); return monotonic() - origin; },
    get timeOrigin() { const now = this.now(); return Date.now() - now; },
  };

  const [makeIntl, ...intlParts] = intl;
  makeIntl(natives, world, define, ...intlParts);

  const { URL, URLSearchParams } = makeUrl({ world, define, encode: natives.encode, decode: natives.decode, isUtf8: natives.isUtf8, decodeBroken });

  expose({
    console, performance, crypto, TextEncoder, TextDecoder, URL, URLSearchParams, Event, EventTarget,
    AbortController, AbortSignal,
    setTimeout: (run, ms, ...args) => addTimer(run, ms, args, false),
    setInterval: (run, ms, ...args) => addTimer(run, ms, args, true),
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
    sleep: (ms) => new Promise((resolve) => { addTimer(resolve, ms, [], false); }),
    queueMicrotask: (run) => {
      if (typeof run !== 'function') throw new TypeError('queueMicrotask needs a function');
      then(Promise.resolve(), () => { run(); });
    },
    structuredClone: (v) => clone(v, new Map()),
    __main: (read) => { readMain = read; },
    __last: (value) => new Last(value),
    __nothing: NOTHING,
    __spread: (v) => {
      if (v instanceof Set) return [...v];
      const keys = [...v.keys()];
      return keys.every((k) => typeof k === 'string') ? Object.fromEntries(v) : [...v];
    },
  });

  return { install, enable, begin, rest, inject, drive, settle, nextTimer, runTimers, describe };
});
