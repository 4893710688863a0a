// What the linter says of a custom function's code besides its rules: what is not safe to
// keep, what is too much, and what the function hangs on.
//
// A function of (lint) that answers review({code, name}). The code is kept and run by
// others later, so what an evaluation may only be warned of is an error here where it can
// never work, or would change the world of whoever calls the function.
(function (lint) {
  'use strict';
  const { Check, isNode, isFunction, some, UP } = lint;

  const LINES_MAX = 120;
  const BRANCHES_MAX = 20;
  const NESTING_MAX = 5;
  const PARAMETERS_MAX = 5;
  const USES_MAX = 200;
  const NAME_MAX = 80;

  const BUILTINS = new Set(['Object', 'Array', 'String', 'Number', 'Boolean', 'BigInt', 'Symbol', 'Function', 'Promise',
    'Map', 'Set', 'WeakMap', 'WeakSet', 'Date', 'RegExp', 'Error', 'TypeError', 'RangeError', 'JSON', 'Math', 'Reflect',
    'Proxy', 'Iterator', 'ArrayBuffer', 'SharedArrayBuffer', 'Atomics', 'Uint8Array', 'DataView', 'TextEncoder', 'TextDecoder', 'URL', 'console',
    'setTimeout', 'queueMicrotask', 'structuredClone']);
  const ABSENT = new Set(['process', 'module', 'exports', 'global', 'globalThis', 'window', 'self', 'document',
    'localStorage', 'XMLHttpRequest', 'Deno', 'Bun', 'WebAssembly']);
  const LOOPS = new Set(['ForStatement', 'ForInStatement', 'ForOfStatement', 'WhileStatement', 'DoWhileStatement']);
  const BRANCHES = new Set([...LOOPS, 'IfStatement', 'ConditionalExpression', 'CatchClause']);
  const NESTS = new Set([...LOOPS, 'IfStatement', 'SwitchStatement', 'TryStatement']);

  // ---- small things --------------------------------------------------------------

  // The text that an expression of constants comes to; null: nobody knows without a run.
  function text(node, depth = 0) {
    if (!node || depth > 32) return null;
    if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
    if (node.type === 'TemplateLiteral') {
      let whole = node.quasis[0].value.cooked;
      for (let i = 0; i < node.expressions.length; i++) {
        const part = text(node.expressions[i], depth + 1);
        if (part === null) return null;
        whole += part + node.quasis[i + 1].value.cooked;
      }
      return whole;
    }
    if (node.type === 'BinaryExpression' && node.operator === '+') {
      const left = text(node.left, depth + 1);
      const right = left === null ? null : text(node.right, depth + 1);
      return right === null ? null : left + right;
    }
    if (node.type === 'CallExpression' && node.callee.type === 'MemberExpression' &&
        node.callee.property.name === 'join' && node.callee.object.type === 'ArrayExpression') {
      const parts = node.callee.object.elements.map((n) => text(n, depth + 1));
      const by = node.arguments.length ? text(node.arguments[0], depth + 1) : ',';
      return by === null || parts.includes(null) ? null : parts.join(by);
    }
    return null;
  }

  const key = (node) => (node.computed ? text(node.property) : node.property.name);

  // Is the identifier a value here, and not the name of a property or a label?
  function isValue(node) {
    const up = node[UP];
    if (!up) return false;
    if (up.type === 'MemberExpression') return up.object === node || up.computed;
    if (/^(Property|MethodDefinition|PropertyDefinition)$/.test(up.type)) return up.value === node || up.computed || up.shorthand;
    return !/^(LabeledStatement|BreakStatement|ContinueStatement|MetaProperty)$/.test(up.type);
  }

  const isAsked = (node) => node[UP].type === 'UnaryExpression' && node[UP].operator === 'typeof';

  // The name that a chain of members begins with: "Array" of Array.prototype.at.
  function root(node) {
    while (node?.type === 'MemberExpression') node = node.object;
    return node?.type === 'Identifier' ? node.name : null;
  }

  // ---- what is not safe to keep -----------------------------------------------------

  function hidden(c, node) {
    const name = key(node);
    if (name === '__proto__')
      c.add('prototype-access', c.written.has(node) ? 'error' : 'warning', node,
        '__proto__ leads to what all objects share', 'Object.getPrototypeOf(), or an object of your own.');
    // esbuild joins parts that are constant, so the text may stand there as a whole.
    if (node.computed && /^(constructor|eval|Function|__proto__|prototype)$/.test(name ?? ''))
      c.add('obfuscated-code', 'error', node.property, `the name '${name}' is written as a text`,
        'Write names as they are, so that whoever reads the code sees what it does.');
    if (name === 'constructor' && node.object.type === 'MemberExpression' && key(node.object) === 'constructor')
      c.add('no-eval', 'error', node, 'the constructors of functions are refused: code made from text cannot be run');
  }

  // What is written to: the API and what the language brings are everybody's.
  function target(c, node) {
    if (node.type === 'Identifier') {
      if (!c.declared.has(node.name) && (lint.spaces().has(node.name) || BUILTINS.has(node.name)))
        c.add('shared-state', 'error', node, `'${node.name}' is not the function's own: it must not be replaced`,
          'Use a variable of your own.');
      return;
    }
    if (node.type !== 'MemberExpression') return;
    const from = root(node);
    if (from === null || c.declared.has(from)) return;
    if (BUILTINS.has(from) || lint.spaces().has(from))
      c.add('shared-state', 'error', node, `${c.text(node)} is shared with all code of the evaluation: it must not be changed`,
        'Use an object or a function of your own.');
  }

  const DEFINERS = new Set(['Object.defineProperty', 'Object.defineProperties', 'Object.assign', 'Object.setPrototypeOf',
    'Reflect.set', 'Reflect.defineProperty', 'Reflect.setPrototypeOf', 'Reflect.deleteProperty']);

  function definer(c, node) {
    const name = c.name(node.callee);
    const first = node.arguments[0];
    if (!DEFINERS.has(name) || !first) return;
    const from = root(first);
    const isShared = from !== null && !c.declared.has(from) && (BUILTINS.has(from) || lint.spaces().has(from));
    if (isShared) target(c, first);
    else if (/setPrototypeOf$/.test(name))
      c.add('prototype-access', 'warning', node, `${name} changes what an object inherits`, 'Make the object with Object.create().');
  }

  function value(c, node) {
    const { name } = node;
    const up = node[UP];
    if (c.declared.has(name) || !isValue(node) || isAsked(node)) return;
    if (up.type === 'BinaryExpression' && up.operator === 'instanceof') return;
    const isCallee = /^(CallExpression|NewExpression)$/.test(up.type) && up.callee === node;
    if ((name === 'eval' || name === 'Function') && !isCallee && !(up.type === 'MemberExpression' && up.property.name === 'prototype'))
      c.add('no-eval', 'error', node, `${name} is refused, by whatever name it is called`, 'Write the code itself.');
    if ((name === 'require' || name === 'importScripts') && !isCallee)
      c.add('no-import', 'error', node, `${name} is not there: nothing can be loaded`, 'api.describe() lists the API.');
    if (ABSENT.has(name) && up.type === 'MemberExpression' && up.object === node && !up.optional && !c.tested.has(name))
      c.add('absent-global', 'error', up, `'${name}' is not there, so ${c.text(up)} fails`,
        'What the world has is told by api.describe() and docs/evaluating.md.');
  }

  function literal(c, node) {
    const { value: v } = node;
    if (typeof v !== 'string' || v.length < 400 || /\s/.test(v)) return;
    if (/^[A-Za-z0-9+/=_-]+$/.test(v) || /^(\\x|%|[0-9a-f]{2}){100}/i.test(v))
      c.add('obfuscated-code', 'warning', node, `a text of ${v.length} characters that cannot be read`,
        'Keep data in a note, and read it from there.');
  }

  function codes(c, node) {
    const name = c.name(node.callee);
    if (!/^String\.from(CharCode|CodePoint)$/.test(name ?? '') || node.arguments.length < 8) return;
    if (node.arguments.every((a) => a.type === 'Literal'))
      c.add('obfuscated-code', 'warning', node, 'a text is spelt by its character codes', 'Write the text itself.');
  }

  // Names and signs of programs that make code unreadable.
  function obfuscation(c, source) {
    const dark = new Set();
    for (const node of c.nodes) if (node.type === 'Identifier' && /^_0x[0-9a-f]{3,}$/i.test(node.name)) dark.add(node.name);
    const escapes = source.match(/\\x[0-9a-f]{2}|\\u00[2-7][0-9a-f]|\\u\{0*[2-7][0-9a-f]\}/gi)?.length ?? 0;
    const plain = source.replace(/[\s\w]/g, '').length;
    const at = { start: 0, end: 0 };
    if (dark.size >= 3)
      c.add('obfuscated-code', 'error', at, `names such as ${[...dark][0]} are those of code that was made unreadable`,
        'Register the code as it was written.');
    if (escapes >= 16 && escapes * 8 > source.length)
      c.add('obfuscated-code', 'error', at, `${escapes} plain characters are written as escapes`, 'Write the characters themselves.');
    if (source.length >= 400 && plain * 10 > source.replace(/\s/g, '').length * 8)
      c.add('obfuscated-code', 'error', at, 'the code is nearly all signs', 'Register the code as it was written.');
  }

  // ---- how much it is -----------------------------------------------------------------

  // Of one function's own body: branches, and how deep they stand in each other.
  function measure(fn) {
    let branches = 1;
    let nesting = 0;
    let statements = 0;
    const stack = [[fn.body, 0]];
    while (stack.length) {
      const [node, depth] = stack.pop();
      if (isFunction(node)) continue;
      if (BRANCHES.has(node.type) || (node.type === 'SwitchCase' && node.test)) branches++;
      if (node.type === 'LogicalExpression' || (node.type === 'AssignmentExpression' && /^(&&|\|\||\?\?)=$/.test(node.operator))) branches++;
      if (/Statement$/.test(node.type) && node.type !== 'BlockStatement') statements++;
      const isElseIf = node.type === 'IfStatement' && node[UP].type === 'IfStatement' && node[UP].alternate === node;
      const inner = NESTS.has(node.type) && !isElseIf ? depth + 1 : depth;
      if (inner > nesting) nesting = inner;
      const below = [];
      lint.pushChildren(node, below);
      for (const n of below) stack.push([n, inner]);
    }
    return { branches, nesting, statements };
  }

  function complexity(c, source, bound) {
    const all = c.nodes.filter(isFunction);
    const result = { lines: source.trim() ? source.trim().split('\n').length : 0, functions: all.length, cyclomatic: 0, nesting: 0,
      statements: 0, parameters: bound ? bound.node.params.length : 0, awaitsInLoops: 0 };
    for (const fn of all) {
      const m = measure(fn);
      result.cyclomatic = Math.max(result.cyclomatic, m.branches);
      result.nesting = Math.max(result.nesting, m.nesting);
      result.statements += m.statements;
      const name = fn.id?.name ?? (fn[UP].type === 'VariableDeclarator' ? fn[UP].id.name : undefined);
      const what = name ? `'${name}'` : 'a function in it';
      if (m.branches > BRANCHES_MAX)
        c.add('complexity', 'warning', fn, `${what} has ${m.branches} ways through it; more than ${BRANCHES_MAX} are hard to test`,
          'Split it: functions beside it, or custom functions of their own.');
      if (m.nesting > NESTING_MAX)
        c.add('deep-nesting', 'warning', fn, `${what} nests ${m.nesting} deep; more than ${NESTING_MAX} is hard to follow`,
          'Return early, or move the inner part to a function.');
    }
    if (result.lines > LINES_MAX)
      c.add('long-function', 'warning', { start: 0, end: 0 }, `the code has ${result.lines} lines; more than ${LINES_MAX} are hard to keep in mind`,
        'Register its parts as functions of their own: they call each other by customFunctions.');
    if (result.parameters > PARAMETERS_MAX)
      c.add('many-parameters', 'warning', bound.node, `${result.parameters} parameters; more than ${PARAMETERS_MAX} are easily given in the wrong order`,
        'Take one object with named fields.');
    result.awaitsInLoops = loopAwaits(c);
    return result;
  }

  function inLoop(node) {
    for (let n = node; n[UP] && !isFunction(n); n = n[UP])
      if (LOOPS.has(n[UP].type) && (n[UP].body === n || n[UP].test === n || n[UP].update === n)) return true;
    return false;
  }

  function loopAwaits(c) {
    return c.nodes.filter((n) => n.type === 'AwaitExpression' && inLoop(n)).length;
  }

  // notes.list() answers a page of what may be ten thousand rows.
  function unlimited(c, node) {
    const row = c.api(node);
    if (row?.name !== 'notes.list') return;
    const first = node.arguments[0];
    const isOpen = !first || (first.type === 'ObjectExpression' &&
      !first.properties.some((p) => p.type === 'SpreadElement' || /^(limit|typeName|type|cursor)$/.test(p.key.name ?? p.key.value)));
    if (isOpen)
      c.add('unbounded-list', 'warning', node, 'notes.list without a limit or a typeName goes through the whole vault, 1,000 notes at a time',
        "notes.list({typeName: '...', limit: 100})");
  }

  // ---- what it hangs on ------------------------------------------------------------------

  function uses(c) {
    const functions = new Map();
    const dynamic = [];
    const called = new Set();
    const use = (name, node) => {
      if (name.length > NAME_MAX) name = `${name.slice(0, NAME_MAX)}...`; // no function is called so
      const [line, column] = c.place(node.start);
      if (!functions.has(name) && functions.size < USES_MAX) functions.set(name, { name, line, column });
    };
    for (const node of c.nodes) {
      const row = c.api(node);
      if (row && called.size < USES_MAX) called.add((c.name(node.callee) ?? c.alias(node.callee)).slice(0, NAME_MAX));
      if (node.type !== 'Identifier' || node.name !== 'customFunctions' || c.declared.has('customFunctions') || !isValue(node)) continue;
      const up = node[UP];
      const name = up.type === 'MemberExpression' && up.object === node ? key(up) : null;
      if (name !== null) use(name, up);
      else if (up.type === 'VariableDeclarator' && up.init === node && up.id.type === 'ObjectPattern' &&
          up.id.properties.every((p) => p.type === 'Property' && !p.computed))
        for (const p of up.id.properties) use(p.key.name ?? String(p.key.value), p);
      else if (!isAsked(node) && !(up.type === 'BinaryExpression' && up.operator === 'in') && dynamic.length < USES_MAX) {
        const [line, column] = c.place(up.start);
        dynamic.push({ line, column });
      }
    }
    return { functions: [...functions.values()], dynamic, calls: [...called].sort() };
  }

  // ---- the name ------------------------------------------------------------------------

  // The function that the code binds at its top level: {node, kind}.
  function binding(c, name) {
    let others = [];
    for (const node of c.tree.body) {
      const declared = node.type === 'FunctionDeclaration' ? [[node.id.name, node]]
        : node.type === 'VariableDeclaration' ? node.declarations.filter((d) => d.id.type === 'Identifier').map((d) => [d.id.name, d.init])
          : node.type === 'ClassDeclaration' ? [[node.id.name, null]] : [];
      for (const [own, fn] of declared) {
        if (own === name) {
          if (fn && isFunction(fn)) return { node: fn, kind: fn.type === 'ArrowFunctionExpression' ? 'arrow' : 'function' };
          c.add('no-binding', 'error', node, `'${name}' is not a function in the code`, `async function ${name}(...) { ... }`);
          return null;
        }
        if (fn && isFunction(fn)) others.push(own);
      }
    }
    others = others.slice(0, 5);
    c.add('no-binding', 'error', c.tree.body[0] ?? { start: 0, end: 0 },
      `the code declares no function '${name}' at its top level` + (others.length ? `; it declares ${others.join(', ')}` : ''),
      others.length === 1 ? `Call it '${name}', or register it as '${others[0]}'.` : `async function ${name}(...) { ... }`);
    return null;
  }

  // Beside functions, constants may stand; what does something would do it with each load.
  function topLevel(c) {
    for (const node of c.tree.body) {
      if (isFunction(node)) continue;
      if (node.type === 'ReturnStatement' || some(node, (n) => n.type === 'ReturnStatement'))
        c.add('top-level-return', 'error', node, 'a return is outside of every function', 'Declare the function; its caller calls it.');
      else if (some(node, (n) => n.type === 'AwaitExpression'))
        c.add('top-level-await', 'error', node, 'an await is outside of every function', 'Await inside of the function.');
      else if (some(node, (n) => c.api(n)))
        c.add('top-level-call', 'warning', node, 'this runs when the function is first looked up, not when it is called', 'Call it inside of the function.');
    }
  }

  // ---- all of it ---------------------------------------------------------------------------

  const FINDINGS_MAX = 40; // errors, and others: what is harmless cannot hide what is not

  class Review extends Check {
    hasRoom(severity) {
      let room = FINDINGS_MAX;
      for (const f of this.found) if ((f.severity === 'error') === (severity === 'error')) room--;
      return room > 0;
    }
  }

  // Two rules may speak of one thing: the graver stands first.
  function once(found) {
    const seen = new Set();
    return found.filter((f) => {
      const at = `${f.rule}:${f.line}:${f.column}`;
      return !seen.has(at) && seen.add(at);
    });
  }

  const ERRORS = new Set(['unbounded-loop']); // of lint's own warnings, those that are errors here
  const OWN = { MemberExpression: hidden, Identifier: value, Literal: literal };
  OWN.CallExpression = (c, node) => { definer(c, node); codes(c, node); unlimited(c, node); };
  OWN.AssignmentExpression = (c, node) => target(c, node.left);
  OWN.UpdateExpression = (c, node) => target(c, node.argument);
  OWN.UnaryExpression = (c, node) => { if (node.operator === 'delete') target(c, node.argument); };

  function written(c) {
    c.written = new Set();
    for (const n of c.nodes) {
      if (n.type === 'AssignmentExpression') for (let m = n.left; isNode(m); m = m.object) c.written.add(m);
    }
  }

  // A declared name that is only assigned to is no declaration.
  function ownNames(c) {
    const declared = new Set();
    for (const node of c.nodes) if (node.type !== 'AssignmentExpression') lint.declared(node, declared);
    c.declared = declared;
  }

  const order = { error: 0, warning: 1, hint: 2 };

  return function review({ code, source, name }) {
    const c = new Review(code, ~0);
    const answer = { findings: c.found, uses: { functions: [], dynamic: [], calls: [] }, complexity: null, binding: null };
    if (!lint.parse(c)) return answer;
    lint.rules(c);
    for (const f of c.found) if (ERRORS.has(f.rule)) f.severity = 'error';
    ownNames(c);
    written(c);
    const bound = binding(c, name);
    for (const node of c.nodes) OWN[node.type]?.(c, node);
    topLevel(c);
    obfuscation(c, source);
    answer.uses = uses(c);
    answer.complexity = complexity(c, source, bound);
    if (bound) {
      const [line, column] = c.place(bound.node.start);
      answer.binding = { kind: bound.kind, async: bound.node.async, generator: Boolean(bound.node.generator),
        parameters: bound.node.params.length, line, column };
    }
    c.found.sort((a, b) => order[a.severity] - order[b.severity] || a.line - b.line || a.column - b.column);
    answer.findings = once(c.found);
    return answer;
  };
});
