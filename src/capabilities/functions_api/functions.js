// customFunctions as code sees it: every function that is registered, under its name. One is
// asked of the host when its name is first looked up, compiled when it is first called, and
// kept until the evaluation ends; what arguments fit is checked at each call.
//
// An expression (call, callSync, kit) => {call, globals}, for the row customFunctions. The host
// answers names to no argument, and a definition to a name. Taken into the program by
// calls_functions.c; the shapes of arguments are described in functioning.h.
(call, callSync, kit) => {
  'use strict';
  const { apply } = Reflect;
  const { then } = Promise.prototype;
  const { isArray } = Array;
  const { parse, stringify } = JSON;
  const { calls } = kit;
  const said = { ...console }; // whatever the code makes of console
  const isAsync = (f) => Object.getPrototypeOf(f) === AsyncFunction;
  const AsyncFunction = Object.getPrototypeOf(async function () {});

  // ---- what fits ---------------------------------------------------------------

  const CLASSES = new Map(Object.entries({
    Date, RegExp, Map, Set, WeakMap, WeakSet, Promise, Error, ArrayBuffer, DataView, Uint8Array, Int8Array,
    Uint8ClampedArray, Uint16Array, Int16Array, Uint32Array, Int32Array, Float32Array, Float64Array, BigInt64Array,
    BigUint64Array, URL, URLSearchParams, AbortSignal,
  }));
  // Values within the arguments of one call that are looked at, and how deep: what is beyond is
  // accepted. A value may contain itself.
  const LOOKS = 100000;
  const DEEP = 64;
  let looks = 0;

  const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function';
  const isRecord = (v) => isObject(v) && !isArray(v);
  const isPlain = (v) => isRecord(v) && (Object.getPrototypeOf(v) === Object.prototype || Object.getPrototypeOf(v) === null);
  // A failure: the shape that was expected of a value, and the way to it, grown at its front.
  const miss = (expected, value) => ({ expected, value, path: '', depth: 0 });
  const inside = (failure, step) => {
    failure.path = step + failure.path;
    failure.depth++;
    return failure;
  };
  const member = (key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${stringify(key)}]`);

  // A function (value, depth) => failure or null for each shape, made when first needed.
  class Shapes {
    constructor({ types, texts = [] }, open = []) {
      this.types = types;
      this.texts = texts;
      this.made = [];
      // What may have more keys than it names: types of the API, parts of an intersection.
      this.open = new Set(open);
      for (const shape of types) for (const part of shape?.and ?? []) this.open.add(part);
    }
    at(index) {
      return (this.made[index] ??= this.make(index));
    }
    look(index, value, depth) {
      return depth > DEEP || --looks < 0 ? null : this.at(index)(value, depth);
    }
    make(index) {
      const shape = this.types[index] ?? 'any';
      const plain = (fits) => (v) => (fits(v) ? null : miss(index, v));
      if (shape === 'any') return () => null;
      if (shape === 'never') return (v) => miss(index, v);
      if (shape === 'null') return plain((v) => v === null);
      if (shape === 'object') return plain(isObject);
      if (typeof shape === 'string') return plain((v) => typeof v === shape);
      if ('is' in shape) return plain((v) => v === shape.is);
      if (shape.or) return this.either(index, shape.or);
      if (shape.and) return (v, d) => this.each(shape.and, v, d);
      if ('array' in shape) return this.list(index, [], 0, shape.array);
      if (shape.tuple) return this.list(index, shape.tuple, shape.optional ?? 0, shape.rest);
      if (shape.fields) return this.record(index, shape);
      if (CLASSES.has(shape.class)) return plain((v) => v instanceof CLASSES.get(shape.class));
      return () => null;
    }
    each(indices, v, d) {
      for (const i of indices) {
        const failure = this.look(i, v, d);
        if (failure) return failure;
      }
      return null;
    }
    // What fits none is told of the part that it fits best: that which fails deepest inside.
    either(index, indices) {
      return (v, d) => {
        let best = null;
        for (const i of indices) {
          const failure = this.look(i, v, d);
          if (!failure) return null;
          if (failure.depth > (best?.depth ?? 0)) best = failure;
        }
        return best ?? miss(index, v);
      };
    }
    list(index, first, optional, rest) {
      return (v, d) => {
        if (!isArray(v) || v.length < first.length - optional || (rest === undefined && v.length > first.length))
          return miss(index, v);
        for (let i = 0; i < v.length; i++) {
          const failure = this.look(i < first.length ? first[i] : rest, v[i], d + 1);
          if (failure && !(v[i] === undefined && i < first.length && i >= first.length - optional))
            return inside(failure, `[${i}]`);
        }
        return null;
      };
    }
    record(index, { fields, optional = [], others }) {
      const known = Object.entries(fields);
      const may = new Set(optional);
      // A key that may be left out is lost without a word where it is misspelt.
      const closed = may.size > 0 && others === undefined && !this.open.has(index);
      return (v, d) => {
        if (v === null || v === undefined || (known.length > 0 && !isObject(v)) || (others !== undefined && !isRecord(v)))
          return miss(index, v);
        for (const [key, i] of known) {
          if (v[key] === undefined && may.has(key)) continue;
          const failure = this.look(i, v[key], d + 1);
          if (failure) return inside(failure, member(key));
        }
        if (others !== undefined)
          for (const key of Object.keys(v)) {
            const failure = Object.hasOwn(fields, key) ? null : this.look(others, v[key], d + 1);
            if (failure) return inside(failure, member(key));
          }
        if (closed && isPlain(v))
          for (const key of Object.keys(v))
            if (!Object.hasOwn(fields, key)) return inside({ ...miss(index, v[key]), known: known.map(([name]) => name) }, member(key));
        return null;
      };
    }
    // What a shape is called in messages.
    text(index, depth = 0) {
      const shape = this.types[index] ?? 'any';
      if (this.texts[index]) return this.texts[index];
      if (typeof shape === 'string') return shape;
      if ('is' in shape) return typeof shape.is === 'string' ? `'${shape.is}'` : String(shape.is);
      if (depth > 2) return '...';
      const all = (list) => list.slice(0, 8).map((i) => this.text(i, depth + 1));
      if (shape.or) return all(shape.or).join(' | ') + (shape.or.length > 8 ? ' | ...' : '');
      if (shape.and) return all(shape.and).join(' & ');
      if ('array' in shape) {
        const of = this.text(shape.array, depth + 1);
        return of.includes(' ') ? `(${of})[]` : `${of}[]`;
      }
      if (shape.tuple) return `[${all(shape.tuple).join(', ')}]`;
      return shape.class ?? 'object';
    }
  }

  const cut = (text, most) => (text.length > most ? `${text.slice(0, most)}...` : text);
  function told(v) {
    switch (typeof v) {
      case 'string': return `string ${cut(stringify(v), 60)}`;
      case 'number': case 'boolean': return `${typeof v} ${v}`;
      case 'bigint': return `bigint ${v}n`;
      case 'object': break;
      default: return typeof v;
    }
    if (v === null) return 'null';
    if (isArray(v)) return `an array of ${v.length}`;
    for (const [name, made] of CLASSES) if (v instanceof made) return name;
    return 'an object';
  }

  // ---- arguments ---------------------------------------------------------------

  const bad = (message) => kit.error('InvalidInput', message);

  function refuse(entry, parameter, failure) {
    const { shapes } = entry;
    if (failure.known)
      return bad(
        `customFunctions.${entry.name}: parameter '${parameter.name}' has an unknown key ${cut(parameter.name + failure.path, 200)}; ` +
          `${cut(failure.known.join(', '), 200)} ${failure.known.length === 1 ? 'is' : 'are'} accepted; it was not called`,
      );
    const at = failure.path ? `, at ${parameter.name}${cut(failure.path, 200)},` : '';
    const whole = failure.expected === parameter.shape && !failure.path; // as whoever declared it wrote it
    const came = failure.value === undefined ? (failure.path ? 'it is missing' : 'it is undefined') : `not ${told(failure.value)}`;
    return bad(
      `customFunctions.${entry.name}: parameter '${parameter.name}'${at} must be ${cut(whole ? parameter.type : shapes.text(failure.expected), 200)}, ` +
        `${came}; it was not called`,
    );
  }

  function tooMany(entry, count) {
    const names = entry.parameters.map((p) => p.name).join(', ');
    return bad(
      `customFunctions.${entry.name} takes ${entry.parameters.length ? `at most ${entry.parameters.length} (${cut(names, 200)})` : 'no arguments'}, ` +
        `not ${count}; it was not called`,
    );
  }

  // Puts defaults where nothing was given; throws where something does not fit.
  function checkArguments(entry, args) {
    const { parameters } = entry;
    const { length } = parameters;
    if (args.length > length && !entry.rest) throw tooMany(entry, args.length);
    for (let i = 0; i < length; i++) {
      const p = parameters[i];
      if (typeof args[i] === p.word) continue; // most are
      looks = LOOKS;
      if (p.rest) {
        const failure = args.length > i ? p.fits(args.slice(i), 0) : null;
        if (failure) throw refuse(entry, p, failure);
        continue;
      }
      if (args[i] === undefined) {
        if (p.fallback !== undefined) args[i] = parse(p.fallback);
        else if (p.optional) continue;
        else if (i >= args.length)
          throw bad(`customFunctions.${entry.name}: parameter '${p.name}'${p.type ? ` (${cut(p.type, 200)})` : ''} is missing; it was not called`);
      }
      const failure = p.fits(args[i], 0);
      if (failure) throw refuse(entry, p, failure);
    }
  }

  // ---- functions -----------------------------------------------------------------

  // Of one state of a world: a session's next call looks everything up anew.
  let state = 0;
  let bound = new Map();
  let listed = null;
  kit.onRest(() => {
    state++;
    bound = new Map();
    listed = null;
  });

  const WORDS = new Set(['string', 'number', 'boolean']);
  function lookUp(name) {
    let d;
    try {
      d = callSync(name);
    } catch (error) {
      if (error?.code === undefined) throw error; // not the host's word: out of stack, or of memory
      return { state, refused: [error.name, error.message] };
    }
    const shapes = new Shapes(d.shapes, d.open);
    return {
      state, name, shapes, apart: d.apart === true, number: d.number, file: d.file, code: d.code, run: null, isAsync: false,
      // Known before it is compiled: a refusal comes as its answers do.
      promises: d.promises || d.code?.includes(`async function ${name}(`) || d.code?.includes(`${name} = async `) === true,
      rest: Boolean(d.parameters.at(-1)?.rest),
      parameters: d.parameters.map((p, i) => {
        const shape = d.shapes.parameters[i];
        return {
          ...p, shape, word: WORDS.has(d.shapes.types[shape]) && !p.rest ? d.shapes.types[shape] : '',
          fits: (v, depth) => shapes.look(shape, v, depth),
          fallback: p.default === undefined ? undefined : stringify(p.default),
        };
      }),
    };
  }

  const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

  // Runs the code of a definition, which declares the function.
  function start(entry) {
    const { name } = entry;
    if (!NAME.test(name)) throw bad(`customFunctions: ${stringify(cut(name, 60))} is no name that code can declare`);
    let declare;
    try {
      declare = kit.source(entry.number, entry.file, `${entry.code}\n;return typeof ${name}==='undefined'?undefined:${name}`);
    } catch (error) {
      if (error?.name !== 'SyntaxError') throw error;
      throw kit.error('SyntaxError', `customFunctions.${name} cannot be run: ${error.message}`);
    }
    const run = declare();
    if (typeof run !== 'function')
      throw bad(`customFunctions.${name} cannot be run: its code declares no function ${name}`);
    entry.code = '';
    entry.isAsync = isAsync(run);
    return (entry.run = run);
  }

  // A promise is waited for where it fails: by who called.
  function settle(promise, visit) {
    const calledAt = new Error();
    return apply(then, promise, [
      (value) => {
        calls.left(visit);
        return value;
      },
      (error) => {
        kit.failed(visit, error);
        kit.follow(error, calledAt);
        throw error;
      },
    ]);
  }

  // A function in another language runs in a world of its own, and JSON goes between. Its
  // arguments are checked there.
  function runApart(entry, args) {
    for (const value of args)
      if (typeof value === 'function' || typeof value === 'symbol')
        throw bad(`customFunctions.${entry.name} takes values that JSON can tell, not a ${typeof value}; it was not called`);
    const told = callSync(entry.name, args.map((value) => (value === undefined ? {} : { value })), null, true);
    for (const { level, message } of told.logs ?? []) said[level](message);
    if (told.error) throw kit.error(told.error.name, told.error.message);
    return told.value;
  }
  function callApart(entry, args) {
    const visit = calls.enter(entry.number);
    try {
      const value = runApart(entry, args);
      calls.left(visit);
      return entry.promises ? Promise.resolve(value) : value;
    } catch (error) {
      kit.failed(visit, error);
      if (entry.promises) return Promise.reject(error);
      throw error;
    }
  }

  // What code calls. Every word of it is paid by every call.
  function bind(name) {
    let entry = lookUp(name);
    const bound = {
      [name](...args) {
        if (entry.state !== state) entry = lookUp(name);
        if (entry.refused) throw kit.error(...entry.refused);
        if (entry.apart) return callApart(entry, args);
        // What is refused before it is called is no call of it, nor a failure of its own.
        try {
          checkArguments(entry, args);
        } catch (error) {
          if (entry.promises) return Promise.reject(error);
          throw error;
        }
        const visit = calls.enter(entry.number);
        try {
          const run = entry.run ?? start(entry); // called by itself: it has no `this`
          const result = args.length === 1 ? run(args[0]) : args.length === 2 ? run(args[0], args[1]) : run(...args);
          if (typeof result === 'object' && result instanceof Promise) return settle(result, visit);
          calls.left(visit);
          return result;
        } catch (error) {
          kit.failed(visit, error);
          if (entry.isAsync) return Promise.reject(error);
          throw error;
        }
      },
    }[name];
    if (!entry.refused)
      Object.defineProperty(bound, 'length', { value: entry.parameters.filter((p) => !p.optional && !p.rest).length, configurable: true });
    return Object.freeze(bound);
  }

  const names = () => (listed ??= new Set(callSync()));

  // ---- the namespace ---------------------------------------------------------------

  // `then` and `toJSON` are nobody's: customFunctions can be the answer of an async function.
  const NOBODYS = new Set(['then', 'toJSON', ...Object.getOwnPropertyNames(Object.prototype)]);
  const isName = (key) => typeof key === 'string' && !NOBODYS.has(key);
  function named(key) {
    const f = bind(key);
    bound.set(key, f);
    return f;
  }
  const readOnly = () => {
    throw kit.error('PermissionDenied', 'customFunctions cannot be changed by code; register_custom_function keeps a function there');
  };
  const customFunctions = new Proxy({}, {
    get: (target, key, receiver) => bound.get(key) ?? (isName(key) ? named(key) : Reflect.get(target, key, receiver)),
    has: (target, key) => (isName(key) ? names().has(key) : key in target),
    ownKeys: () => [...names()],
    getOwnPropertyDescriptor: (target, key) =>
      // Without its value: Object.keys asks this of every name.
      isName(key) && names().has(key) ? { value: undefined, enumerable: true, configurable: true } : undefined,
    set: readOnly,
    defineProperty: readOnly,
    deleteProperty: readOnly,
    setPrototypeOf: readOnly,
    preventExtensions: readOnly,
  });
  kit.show(customFunctions, () => {
    const all = [...names()];
    return `customFunctions { ${all.slice(0, 100).join(', ')}${all.length > 100 ? `, ... ${all.length - 100} more` : ''} }`;
  });
  return { call: () => customFunctions, globals: { customFunctions } };
}
