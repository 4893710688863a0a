// The rules of the linter, over the syntax tree that acorn makes of an agent's code.
//
// A function of (acorn, makeShapes, words, makePromises, makeSlips) that answers {install, check, kit}. It informs, and
// protects nobody: the sandbox does. So a rule speaks only where it is nearly sure: what the code declares
// under the name of an API is not looked at as one, and a name that is tested by typeof
// is known to be missing, perhaps.
(function (acorn, makeShapes, words, makePromises, makeSlips) {
  'use strict';
  const FINDINGS_MAX = 50;
  const LISTED_MAX = 12; // methods of a namespace that are told instead of api.describe
  const PARSING = {
    ecmaVersion: 'latest',
    sourceType: 'script',
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
    allowImportExportEverywhere: true,
    allowHashBang: true,
  };

  // ---- the API ----------------------------------------------------------------

  // name -> {name, sync, writes, feature, options: [..] or null, returns, words}; "tools.*"
  // is every other name in tools. Rows {type, definition} are of types that `returns` names.
  let calls = new Map();
  let spaces = new Map(); // "notes" -> Set of methods; a global's Set is empty
  let types = null;

  function install(table) {
    calls = new Map(table.filter((row) => row.name).map((row) => [row.name, row]));
    types = new shapes.Types(new Map(table.filter((row) => row.type).map((row) => [row.type, row.definition])));
    spaces = new Map();
    for (const { name } of calls.values()) {
      const [space, ...rest] = name.split('.');
      if (!spaces.has(space)) spaces.set(space, new Set());
      if (rest.length) spaces.get(space).add(rest.join('.'));
    }
  }

  // What a namespace has: all of it, where that is little.
  function listed(space) {
    const methods = [...(spaces.get(space) ?? [])].filter((method) => method !== '*');
    return methods.length <= LISTED_MAX ? `${space} has ${methods.join(', ')}` : `api.describe('${space}') lists its methods`;
  }

  // Names that say nothing of what they are for: in another namespace they are another thing.
  const COMMON = new Set(['get', 'list', 'create', 'update', 'delete', 'rename', 'describe', 'search', 'run', 'exec', 'pipe', 'switch', 'restore', 'move', 'batch', 'history', 'stat']);
  const bare = (method) => method.toLowerCase().replace(/^(get|list|find|fetch|load|read|show)(?=.)/, '').replace(/s$/, '');

  // The calls that are meant by one that is not there: a slip, a word for what one does, a
  // name that is longer, the same name in another namespace; at most three.
  function meantCalls(space, method) {
    const here = [...(spaces.get(space) ?? [])].map((name) => calls.get(`${space}.${name}`)).filter(Boolean);
    const name = (row) => row.name.slice(space.length + 1);
    const near = nearest(method, here.map(name));
    if (near && isNear(near, method)) return [`${space}.${near}`];
    const alike = here.filter((row) => bare(name(row)) === bare(method) || (name(row) !== 'get' && `${name(row)}All` === method));
    if (alike.length === 1) return [alike[0].name];
    if (!COMMON.has(method)) for (const [other, methods] of spaces) if (other !== space && methods.has(method) && !calls.get(`${other}.${method}`)?.feature) return [`${other}.${method}`];
    const lower = method.toLowerCase();
    const longer = lower.length < 4 ? [] : here.filter((row) => name(row).toLowerCase().endsWith(lower) ||
      (name(row).length > 4 && lower.startsWith(name(row).toLowerCase())));
    const told = longer.length === 1 ? longer : here.filter((row) => row.words?.includes(method));
    if (told.length) return told.length < 4 ? told.map((row) => row.name) : [];
    const elsewhere = aliasOf(method);
    return elsewhere ? [elsewhere] : [];
  }

  // The call that other APIs call so: "createNote".
  function aliasOf(name) {
    for (const row of calls.values()) if (row.words?.includes(name) && /[A-Z]/.test(name)) return row.name;
    return null;
  }

  // ---- the tree ---------------------------------------------------------------

  const isNode = (v) => v !== null && typeof v === 'object' && typeof v.type === 'string';
  const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
  const isFunction = (n) => FUNCTIONS.has(n.type);
  const UP = Symbol('the node above'); // which for...in passes over

  // Appends the nodes right below this one.
  function pushChildren(node, out) {
    for (const key in node) {
      const v = node[key];
      if (v === null || typeof v !== 'object') continue;
      if (Array.isArray(v)) {
        for (let i = 0; i < v.length; i++) if (isNode(v[i])) out.push(v[i]);
      } else if (typeof v.type === 'string') {
        out.push(v);
      }
    }
  }

  // All nodes, those above before those below, each with its parent under UP. Not
  // recursive: code may be nested deeply.
  function flatten(root) {
    const all = [root];
    for (let i = 0; i < all.length; i++) {
      const first = all.length;
      pushChildren(all[i], all);
      for (let k = first; k < all.length; k++) all[k][UP] = all[i];
    }
    return all;
  }

  const shapes = makeShapes({ isFunction, UP });
  const { nearest, isNear, meant, optionMeant } = words;
  const { promiser, asValue, asJson, isOfResult, handed } = makePromises({ isFunction, UP });
  const SLIPS = makeSlips({ isFunction, some, UP, unwrap: shapes.unwrap });

  // What the language and the sandbox bring.
  const GLOBALS = new Set([...Object.getOwnPropertyNames(globalThis), 'arguments', 'console', 'crypto', 'performance',
    'TextEncoder', 'TextDecoder', 'URL', 'URLSearchParams', 'Event', 'EventTarget', 'AbortController', 'AbortSignal', 'Intl',
    'setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'sleep', 'queueMicrotask', 'structuredClone', 'atob', 'btoa',
    'context', 'fetch', 'Headers', 'Request', 'Response', 'require', 'eval', 'Function']);
  for (const ours of ['acorn', 'print']) GLOBALS.delete(ours);

  // Those of one function's own body: not of functions in it.
  function some(root, test) {
    const stack = [root];
    while (stack.length) {
      const node = stack.pop();
      if (test(node)) return true;
      if (node === root || !isFunction(node)) pushChildren(node, stack);
    }
    return false;
  }

  function declared(node, names) {
    const bind = (pattern) => {
      if (!pattern) return;
      if (pattern.type === 'Identifier') names.add(pattern.name);
      else if (pattern.type === 'ObjectPattern') pattern.properties.forEach((p) => bind(p.value ?? p.argument));
      else if (pattern.type === 'ArrayPattern') pattern.elements.forEach(bind);
      else if (pattern.type === 'AssignmentPattern') bind(pattern.left);
      else if (pattern.type === 'RestElement') bind(pattern.argument);
    };
    switch (node.type) {
      case 'VariableDeclarator': case 'ClassDeclaration': case 'ClassExpression':
        return bind(node.id);
      case 'CatchClause':
        return bind(node.param);
      case 'AssignmentExpression':
        return bind(node.left);
      case 'ImportSpecifier': case 'ImportDefaultSpecifier': case 'ImportNamespaceSpecifier':
        return bind(node.local);
      default:
        if (!isFunction(node)) return;
        bind(node.id);
        node.params.forEach(bind);
    }
  }

  // ---- one check --------------------------------------------------------------

  class Check {
    // `own`: what one call finds besides, {names: [..], functions: [{name, min, max, async}],
    // open: it may find more than is known here}; undefined: nobody said.
    constructor(code, given, own) {
      this.code = code;
      this.given = given; // features that the call will have, as bits
      this.own = own;
      this.functions = own?.functions;
      this.found = [];
      this.declared = new Set();
      this.lines = [0];
      for (let i = code.indexOf('\n'); i >= 0; i = code.indexOf('\n', i + 1)) this.lines.push(i + 1);
    }

    // Lines and columns from 1, columns in characters.
    place(offset) {
      let low = 0;
      let high = this.lines.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.lines[middle] <= offset) low = middle;
        else high = middle - 1;
      }
      return [low + 1, Array.from(this.code.slice(this.lines[low], offset)).length + 1];
    }

    add(rule, severity, node, message, suggestion) {
      if (!this.hasRoom(severity)) return;
      const [line, column] = this.place(node.start);
      const [endLine, endColumn] = this.place(node.end);
      if (this.found.some((f) => f.rule === rule && f.severity === severity && f.line === line && f.column === column)) return; // told once
      this.found.push({
        rule, severity, message, line, column, endLine, endColumn,
        ...(suggestion && { suggestion }),
      });
    }

    hasRoom() {
      return this.found.length < FINDINGS_MAX;
    }

    text(node, max = 40) {
      const text = this.code.slice(node.start, node.end).replace(/\s+/g, ' ');
      return text.length > max ? `${text.slice(0, max)}...` : text;
    }

    // The API call that this node is: its row, or undefined.
    api(node) {
      if (node?.type !== 'CallExpression') return undefined;
      const name = this.name(node.callee) ?? this.alias(node.callee);
      if (!name) return undefined;
      const own = name.startsWith('customFunctions.') ? this.functions?.find((f) => name.endsWith(`.${f.name}`)) : undefined;
      if (own) return { name, sync: !own.async, writes: true, own };
      return calls.get(name) ?? calls.get(`${name.split('.')[0]}.*`);
    }

    // "notes.get" of a member of a namespace that the code did not declare itself.
    name(node) {
      if (node.type === 'Identifier') return this.declared.has(node.name) ? null : node.name;
      if (node.type !== 'MemberExpression' || node.object.type !== 'Identifier') return null;
      if (this.declared.has(node.object.name)) return null;
      if (node.computed)
        return typeof node.property.value === 'string' ? `${node.object.name}.${node.property.value}` : null;
      return `${node.object.name}.${node.property.name}`;
    }

    // "notes.get" of `get` after `const {get} = notes`, and of `n.get` after `const n = notes`.
    alias(node) {
      const of = node.type === 'MemberExpression' && !node.computed ? node.object : node;
      const binding = of.type === 'Identifier' ? this.scopes?.find(of.name, of) : null;
      const space = binding?.source?.value;
      if (space?.type !== 'Identifier' || binding.writes.length || !spaces.get(space.name)?.size || this.scopes.find(space.name, space)) return null;
      const path = binding.path.map((step) => step.name);
      if (of !== node) path.push(node.property.name);
      return path.length === 1 && path[0] ? `${space.name}.${path[0]}` : null;
    }

    promise(node) {
      const row = this.api(node);
      return row && !row.sync ? row : undefined;
    }

    // The statement whose value is the result: the last of all.
    isResult(node) {
      const { body } = this.tree;
      return node === body[body.length - 1];
    }
  }

  // ---- the rules: one for each kind of node -------------------------------------

  const EXITS = ['BreakStatement', 'ReturnStatement', 'ThrowStatement', 'YieldExpression', 'AwaitExpression'];
  const ABSENT = {
    process: 'pass values in `context`',
    module: 'the result is what the code returns',
    exports: 'the result is what the code returns',
    global: 'declare what you need',
    globalThis: 'declare what you need',
    window: 'this is not a browser',
    document: 'this is not a browser',
    localStorage: 'store lasting data in notes',
    XMLHttpRequest: 'fetch is there with enableNetwork',
    Buffer: 'Uint8Array, TextEncoder and TextDecoder are there',
  };
  const FEATURES = { fetch: [1, 'enableNetwork'], fs: [2, 'enableFileSystem'] };
  const PURE = new Set(['replace', 'replaceAll', 'trim', 'toUpperCase', 'toLowerCase', 'concat', 'filter',
    'slice', 'padStart', 'padEnd', 'toSorted', 'toReversed']);

  const isTrue = (test) => !test || (test.type === 'Literal' && Boolean(test.value));

  function endless(c, loop) {
    if (!isTrue(loop.test)) return;
    const leaves = some(loop.body, (n) => EXITS.includes(n.type) ||
      (n.type === 'ContinueStatement' && n.label));
    if (leaves) return;
    c.add('unbounded-loop', 'warning', loop, 'this loop has no end: no break, return, throw or await leaves it',
      'Give it a condition, or a break.');
  }

  // What a loop or a callback goes over: the list call itself, where it has no bound.
  function unbounded(c, source) {
    let node = source?.type === 'AwaitExpression' ? source.argument : source;
    if (node?.type === 'Identifier') {
      const init = c.inits.get(node.name);
      node = init?.type === 'AwaitExpression' ? init.argument : init;
    }
    const row = c.api(node);
    if (row?.name !== 'notes.list') return null;
    const options = node.arguments[0];
    return !options || (options.type === 'ObjectExpression' && options.properties.length === 0) ? node : null;
  }

  function loopOver(c, loop) {
    const list = unbounded(c, loop.right);
    let write;
    if (list && some(loop.body, (n) => (write = c.api(n))?.writes))
      c.add('unlimited-writes', 'warning', loop.right,
        `${write.name} for every note of the vault: the list has no limit and no typeName`,
        'Name a type or a limit, and look at what it would change first.');
    if (loop.await || some(loop.body, (n) => /^(Break|Return)Statement$/.test(n.type) || c.api(n)?.writes)) return;
    const awaits = [];
    some(loop.body, (n) => {
      if (n.type === 'AwaitExpression' && c.promise(n.argument)) awaits.push(n);
      return false;
    });
    if (awaits.length)
      c.add('await-in-loop', 'hint', awaits[0],
        `${c.api(awaits[0].argument).name} is awaited once for each turn; these calls could be made together`,
        'await Promise.all(list.map(async (item) => ...))');
  }

  function statement(c, node) {
    const { expression } = node;
    const result = c.isResult(node) && !c.returns;
    if (result) asJson(c, expression, true);
    if (expression.type === 'CallExpression') {
      const row = c.promise(expression);
      if (row && !result)
        c.add('unawaited-call', 'warning', expression,
          `${row.name} is not awaited: it is done, but what follows does not wait for it, and its failure fails the whole`,
          `await ${c.text(expression)}`);
      const { callee } = expression;
      const method = callee.type === 'MemberExpression' && !callee.computed ? callee.property.name : null;
      if (method === 'forEach' && expression.arguments[0]?.async)
        c.add('async-foreach', 'warning', callee.property,
          'forEach does not wait for an async function: what follows runs before it is done',
          'for (const item of list) { ... }, or await Promise.all(list.map(async (item) => ...))');
      if (PURE.has(method) && !result && !c.name(callee)?.startsWith('fs.'))
        c.add('unused-result', 'warning', expression, `${method} changes nothing: it answers something new, which is dropped`);
    }
    if (expression.type === 'AwaitExpression' && !result) {
      const row = c.promise(expression.argument);
      if (row && !row.writes && row.reads && !inTry(node))
        c.add('unused-result', 'warning', expression, `what ${row.name} answers is not used`);
    }
  }

  // To ask for something that may fail is a way to test for it.
  function inTry(node) {
    for (let n = node; n && !isFunction(n); n = n[UP]) if (n[UP]?.type === 'TryStatement' && n[UP].block === n) return true;
    return false;
  }

  // A promise where its value is meant.
  function promiseAs(c, node, what) {
    const row = c.promise(node);
    if (row)
      c.add('missing-await', 'warning', node, `${row.name} answers a promise; ${what}`, `(await ${c.text(node)})`);
  }

  function member(c, node) {
    const property = node.computed ? null : node.property.name;
    if (!['then', 'catch', 'finally'].includes(property)) {
      promiseAs(c, node.object, `it has no '${property ?? 'such'}' of its own`);
      if (c.promise(node.object)) c.told.add(node.object);
      if (node.object.type === 'Identifier' && c.promised.has(node.object.name)) {
        const { row, init } = c.promised.get(node.object.name);
        c.promised.delete(node.object.name);
        c.told.add(init);
        c.add('missing-await', 'warning', init, `${row.name} answers a promise, and '${c.text(node)}' looks into it`,
          `await ${c.text(init)}`);
      }
    }
    unknownProperty(c, node);
    const space = node.object.type === 'Identifier' ? node.object.name : null;
    const methods = space && !c.declared.has(space) ? spaces.get(space) : undefined;
    if (!methods?.size || property === null || methods.has(property) || methods.has('*') || node.optional) return;
    if (!node[UP] || node[UP].type !== 'CallExpression' || node[UP].callee !== node || node[UP].optional) return;
    if (Object.hasOwn(Object.prototype, property)) return;
    const near = meantCalls(space, property);
    c.add('unknown-api', 'error', node, `there is no ${space}.${property}`,
      near.length ? `Did you mean ${near.join(' or ')}?` : `${listed(space)}.`);
  }

  // A property that what a call answers does not have, and nobody has given it.
  function unknownProperty(c, node) {
    if (node.computed || node.optional || c.givenProperties.has(node.property.name)) return;
    absent(c, node.property, c.shapes.property(c.shapes.of(node.object), node.property.name));
  }

  const whose = (c, node, call) => (call.inner && node[UP].type === 'MemberExpression' ? `${c.text(node[UP].object)} has`
    : `${call.row.name.endsWith('.*') ? (c.name(call.node.callee) ?? call.row.name) : call.row.name} answers`);

  function absent(c, node, shape) {
    if (shape.kind !== 'absent') return;
    const { of, name } = shape;
    const call = of.kind === 'promise' ? promiser(c, of) : of.call?.row?.name;
    if (!call || !of.call?.node) return;
    if (of.kind === 'promise') {
      if (c.told.has(of.call.node)) return;
      c.told.add(of.call.node);
      c.add('missing-await', 'warning', node, `${call} answers a promise, which has no '${name}'`, `await ${c.text(of.call.node)}`);
    } else if (of.kind === 'object') {
      const near = meant(name, of.members);
      c.add('unknown-property', 'warning', node, `${whose(c, node, of.call)} no '${name}'; known are: ${[...of.members.keys()].join(', ')}`,
        near && `Did you mean '${near}'?`);
    } else if (of.kind === 'array')
      c.add('unknown-property', 'warning', node, `${whose(c, node, of.call)} no '${name}': it is an array`);
  }

  // const {results} = await notes.search(...)
  function takenApart(c, node) {
    for (const p of node.properties) {
      if (p.type !== 'Property' || p.computed || p.value.type === 'AssignmentPattern') continue;
      for (const one of shapes.namesOf(p.value))
        if (one.path.length === 0) absent(c, p.key, c.shapes.named(one.node, 0));
    }
  }

  // ---- custom functions ---------------------------------------------------------

  function unknownFunction(c, name) {
    const near = nearest(name, c.functions.map((f) => f.name));
    if (near) return `Did you mean customFunctions.${near}?`;
    return c.functions.length ? `There are: ${c.functions.slice(0, 20).map((f) => f.name).join(', ')}.` : 'None is registered in this vault.';
  }

  function customCall(c, node) {
    const { callee } = node;
    if (!c.functions || callee.optional || node.optional) return;
    const [space, name] = (c.name(callee) ?? c.alias(callee) ?? '').split('.');
    if (space !== 'customFunctions' || !name) return;
    const f = c.functions.find((one) => one.name === name);
    const n = node.arguments.length;
    if (!f)
      c.add('unknown-function', 'error', callee, `there is no custom function '${name}'`, unknownFunction(c, name));
    else if (node.arguments.some((a) => a.type === 'SpreadElement')) return;
    else if (n > f.max)
      c.add('function-arguments', 'warning', node.arguments[f.max], `customFunctions.${name} takes ${f.max || 'no'} argument${f.max === 1 ? '' : 's'}, not ${n}`, f.signature);
    else if (n < f.min)
      c.add('function-arguments', 'warning', node, `customFunctions.${name} needs ${f.min} argument${f.min === 1 ? '' : 's'}, not ${n || 'none'}`, f.signature);
  }

  function options(c, node) {
    const row = c.api(node);
    const given = node.arguments.find((a) => a.type === 'ObjectExpression');
    if (!row?.options?.length || !given) return;
    for (const p of given.properties) {
      if (p.type !== 'Property' || p.computed) continue;
      const key = p.key.name ?? String(p.key.value);
      if (row.options.includes(key)) continue;
      const near = optionMeant(key, row.options);
      c.add('unknown-option', 'warning', p.key, `${row.name} has no option '${key}'; known are: ${[...new Set(row.options)].join(', ')}`,
        near && `Did you mean '${near}'?`);
    }
  }

  function call(c, node) {
    const { callee } = node;
    const name = c.name(callee);
    const first = node.arguments[0];
    if (name === 'eval')
      c.add('no-eval', 'error', node, 'eval is refused: code made from text cannot be run', 'Write the code itself.');
    if (name === 'Function')
      c.add('no-eval', 'error', node, 'the Function constructor is refused: code made from text cannot be run',
        'Write a function.');
    if (name === 'require')
      c.add('no-import', 'error', node, 'require is not there: nothing can be loaded',
        'api.describe() lists the API.');
    if (/^set(Timeout|Interval)$/.test(name ?? '') && first?.type === 'Literal' && typeof first.value === 'string')
      c.add('no-eval', 'error', first, `${name} takes a function, not text`, '() => { ... }');
    if (callee.type === 'MemberExpression' && callee.property.name === 'constructor' && node.arguments.length &&
        node.arguments.every((a) => a.type === 'Literal' && typeof a.value === 'string'))
      c.add('no-eval', 'error', node, 'the constructors of functions are refused: code made from text cannot be run');
    if (callee.type === 'MemberExpression' && callee.property.name === 'catch' && first && isFunction(first) &&
        first.body.type === 'BlockStatement' && isEmpty(c, first.body))
      c.add('swallowed-error', 'warning', first, 'this hides every failure', 'Log it, or catch what you expect.');
    options(c, node);
    customCall(c, node);
    handed(c, node);
  }

  const isEmpty = (c, block) => block.body.length === 0 && !/\S/.test(c.code.slice(block.start + 1, block.end - 1));

  function identifier(c, node) {
    const up = node[UP];
    const { name } = node;
    if (!up || (up.type === 'UnaryExpression' && up.operator === 'typeof')) return;
    if (up.type === 'MemberExpression' && up.property === node && !up.computed) return;
    if (/^(Property|MethodDefinition|PropertyDefinition)$/.test(up.type) && up.key === node && !up.computed && !up.shorthand) return;
    if (/^(LabeledStatement|BreakStatement|ContinueStatement|MetaProperty|ExportSpecifier|ImportSpecifier)$/.test(up.type)) return;
    if (c.tested.has(name)) return;
    undefinedName(c, node);
    if (c.declared.has(name) || up.type === 'UnaryExpression') return;
    if (Object.hasOwn(ABSENT, name))
      c.add('absent-global', 'warning', node, `'${name}' is not there`, `${ABSENT[name][0].toUpperCase()}${ABSENT[name].slice(1)}.`);
    else if (Object.hasOwn(FEATURES, name) && !(c.given & FEATURES[name][0]))
      c.add('absent-global', 'warning', node, `'${name}' is there only with ${FEATURES[name][1]}`,
        `Ask for it in the call: ${FEATURES[name][1]}: true, where the person's policy allows it.`);
  }

  // A name that is nowhere declared. Each is told once.
  function undefinedName(c, node) {
    const { name } = node;
    if (!c.own || c.own.open || c.undefinedNames.has(name)) return;
    if (GLOBALS.has(name) || spaces.has(name) || Object.hasOwn(ABSENT, name) || Object.hasOwn(FEATURES, name)) return;
    if (c.own.names?.includes(name) || c.scopes.loose.has(name) || c.scopes.find(name, node)) return;
    c.undefinedNames.add(name);
    const seen = [...c.scopes.visible(node), ...(c.own.names ?? []), ...spaces.keys()];
    const near = aliasOf(name) ?? (name.length > 3 ? nearest(name, seen) : null);
    c.add('undefined-name', c.own.unsure ? 'warning' : 'error', node, `'${name}' is not defined`,
      near && (near.includes('.') || isNear(near, name)) ? `Did you mean '${near}'?`
        : Object.hasOwn(words.SENTENCES, name) ? words.SENTENCES[name] : 'Declare it, or give it by the context of the call.');
  }

  function declaration(c, node) {
    if (node.id.type !== 'Identifier' || !node.init) return;
    const { name } = node.id;
    if (spaces.has(name) && node[UP].kind !== 'var' &&
        some(node.init, (n) => n.type === 'MemberExpression' && n.object.type === 'Identifier' && n.object.name === name))
      c.add('shadowed-api', 'error', node, `'${name}' here is the variable itself, which has no value yet: not the API`,
        'Give the variable another name.');
  }

  const RULES = {
    WhileStatement: endless,
    DoWhileStatement: endless,
    ForStatement: endless,
    ForOfStatement(c, node) {
      promiseAs(c, node.right, 'for...of needs its value');
      loopOver(c, node);
    },
    ExpressionStatement: statement,
    MemberExpression: member,
    CallExpression: call,
    NewExpression(c, node) {
      if (c.name(node.callee) === 'Function')
        c.add('no-eval', 'error', node, 'the Function constructor is refused: code made from text cannot be run',
          'Write a function.');
    },
    ReturnStatement(c, node) { if (isOfResult(node)) asJson(c, node.argument, true); },
    BinaryExpression(c, node) {
      for (const side of [node.left, node.right])
        if (!/^(===?|!==?|instanceof|in)$/.test(node.operator)) asValue(c, side, `'${node.operator}' needs its value`);
    },
    TemplateLiteral(c, node) {
      if (node[UP].type !== 'TaggedTemplateExpression') for (const one of node.expressions) asValue(c, one, 'the text needs its value');
    },
    SpreadElement(c, node) { promiseAs(c, node.argument, 'spreading needs its value'); },
    IfStatement(c, node) { promiseAs(c, node.test, 'which is always true'); },
    ImportDeclaration(c, node) {
      c.add('no-import', 'error', node, 'import is not there: nothing can be loaded', 'api.describe() lists the API.');
    },
    ImportExpression(c, node) {
      c.add('no-import', 'error', node, 'import() is not there: nothing can be loaded', 'api.describe() lists the API.');
    },
    ExportNamedDeclaration: exported,
    ExportDefaultDeclaration: exported,
    ExportAllDeclaration: exported,
    WithStatement(c, node) {
      c.add('no-with', 'warning', node, 'with hides which names are meant', 'Name the object.');
    },
    CatchClause(c, node) {
      if (isEmpty(c, node.body) && some(node[UP].block, (n) => n.type === 'AwaitExpression' || c.api(n)))
        c.add('swallowed-error', 'warning', node, 'this hides every failure, also those that you do not expect',
          'Look at error.name, log it, or say in a comment why it does not matter.');
    },
    Identifier: identifier,
    ObjectPattern: takenApart,
    VariableDeclarator: declaration,
  };

  function exported(c, node) {
    c.add('no-import', 'error', node, 'export has no meaning here', 'Return the result.');
  }

  // ---- all of it ----------------------------------------------------------------

  // What several rules ask for, gathered on the first way through.
  function gather(c) {
    c.inits = new Map();
    c.promised = new Map();
    c.tested = new Set();
    c.undefinedNames = new Set();
    c.told = new Set(); // calls whose missing await was told
    c.givenProperties = new Set();
    c.scopes = new shapes.Scopes(c.nodes);
    const assigned = new Set();
    for (const node of c.nodes) {
      declared(node, c.declared);
      if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.init) {
        if (c.inits.has(node.id.name)) assigned.add(node.id.name);
        c.inits.set(node.id.name, node.init);
      }
      if (node.type === 'AssignmentExpression' && node.left.type === 'Identifier') assigned.add(node.left.name);
      if (node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression' && !node.left.computed)
        c.givenProperties.add(node.left.property.name);
      if (node.type === 'UnaryExpression' && node.operator === 'typeof' && node.argument.type === 'Identifier')
        c.tested.add(node.argument.name);
    }
    for (const name of assigned) c.inits.delete(name);
    // Parameters of the same name would be another variable.
    for (const node of c.nodes)
      if (isFunction(node)) {
        const inner = new Set();
        declared({ type: node.type, id: null, params: node.params }, inner);
        for (const name of inner) c.inits.delete(name);
      }
    for (const [name, init] of c.inits) {
      const row = c.promise(init);
      if (row) c.promised.set(name, { row, init });
    }
    c.shapes = new shapes.Shapes(c.scopes, types, (node) => c.api(node));
    c.returns = some({ type: 'Program', body: c.tree.body }, (n) => n.type === 'ReturnStatement');
  }

  // The code ends with a declaration. Where that is a function which nobody calls, nothing was
  // done at all; a session keeps it.
  function noResult(c) {
    const last = c.tree.body[c.tree.body.length - 1];
    if (c.returns || !/^(Variable|Function)Declaration$/.test(last?.type) || c.declared.has('main')) return;
    const id = last.id ?? last.declarations[0].id;
    const fn = last.id ? last : last.declarations[0].init;
    const called = c.nodes.some((n) => n.type === 'Identifier' && n.name === id.name && n !== id);
    if (fn && isFunction(fn) && !called && !c.own?.open)
      c.add('no-result', 'warning', id, `${id.name} is declared, but not called: nothing is done, and the result is null`, `return await ${id.name}();`);
    else if (last.type === 'VariableDeclaration')
      c.add('no-result', 'hint', last, 'the code ends with a declaration, so its result is null', 'Return what you want to see.');
  }

  // false: it is no JavaScript, which is then what was found.
  function parse(c) {
    try {
      c.tree = acorn.parse(c.code, PARSING);
    } catch (error) {
      if (typeof error.pos !== 'number') throw error;
      const at = { start: error.pos, end: Math.min((error.raisedAt ?? error.pos) + 1, c.code.length) };
      c.add('syntax', 'error', at, error.message.replace(/ \(\d+:\d+\)$/, ''));
      return false;
    }
    c.nodes = flatten(c.tree);
    return true;
  }

  function rules(c) {
    gather(c);
    for (const node of c.nodes) {
      RULES[node.type]?.(c, node);
      SLIPS[node.type]?.(c, node);
    }
  }

  function check(code, given, own) {
    const c = new Check(code, given, own);
    if (!parse(c)) return c.found;
    rules(c);
    noResult(c);
    return c.found.sort((a, b) => a.line - b.line || a.column - b.column);
  }

  // For review.js, which looks through functions that are kept.
  const kit = { Check, isNode, isFunction, some, UP, pushChildren, declared, parse, gather, rules, shapes, words, meantCalls, listed, aliasOf,
    unknownFunction, globals: GLOBALS, spaces: () => spaces, calls: () => calls };
  return { install, check, kit };
});
