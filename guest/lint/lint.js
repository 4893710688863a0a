// The rules of the linter, over the syntax tree that acorn makes of an agent's code.
//
// A function of (acorn) that answers {install, check}. It informs, and protects nobody:
// the sandbox does. So a rule speaks only where it is nearly sure: what the code declares
// under the name of an API is not looked at as one, and a name that is tested by typeof
// is known to be missing, perhaps.
(function (acorn) {
  'use strict';
  const FINDINGS_MAX = 50;
  const PARSING = {
    ecmaVersion: 'latest',
    sourceType: 'script',
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
    allowImportExportEverywhere: true,
    allowHashBang: true,
  };

  // ---- the API ----------------------------------------------------------------

  // name -> {name, sync, writes, feature, options: [..] or null}; "tools.*" is every other
  // name in tools
  let calls = new Map();
  let spaces = new Map(); // "notes" -> Set of methods; a global's Set is empty

  function install(table) {
    calls = new Map(table.map((row) => [row.name, row]));
    spaces = new Map();
    for (const { name } of table) {
      const [space, ...rest] = name.split('.');
      if (!spaces.has(space)) spaces.set(space, new Set());
      if (rest.length) spaces.get(space).add(rest.join('.'));
    }
  }

  function distance(a, b) {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let k = 1; k <= b.length; k++)
        next[k] = Math.min(row[k] + 1, next[k - 1] + 1, row[k - 1] + (a[i - 1] === b[k - 1] ? 0 : 1));
      row = next;
    }
    return row[b.length];
  }

  function nearest(wrong, names) {
    let best = null;
    let least = Math.max(2, Math.floor(wrong.length / 3)) + 1;
    for (const name of names) {
      const far = distance(wrong.toLowerCase(), name.toLowerCase());
      if (far < least) [best, least] = [name, far];
    }
    return best;
  }

  function nearestCall(space, method) {
    const here = nearest(method, spaces.get(space));
    if (here) return `${space}.${here}`;
    for (const [other, methods] of spaces) if (methods.has(method)) return `${other}.${method}`;
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
    constructor(code, given) {
      this.code = code;
      this.given = given; // features that the call will have, as bits
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
      const name = this.name(node.callee);
      return name ? (calls.get(name) ?? calls.get(`${name.split('.')[0]}.*`)) : undefined;
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
    process: 'values come in by `context`',
    module: 'the result is what the code returns',
    exports: 'the result is what the code returns',
    global: 'declare what you need',
    globalThis: 'declare what you need',
    window: 'this is no browser',
    document: 'this is no browser',
    localStorage: 'what is to last goes into notes',
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
      if (node.object.type === 'Identifier' && c.promised.has(node.object.name)) {
        const { row, init } = c.promised.get(node.object.name);
        c.promised.delete(node.object.name);
        c.add('missing-await', 'warning', init, `${row.name} answers a promise, and '${c.text(node)}' looks into it`,
          `await ${c.text(init)}`);
      }
    }
    const space = node.object.type === 'Identifier' ? node.object.name : null;
    const methods = space && !c.declared.has(space) ? spaces.get(space) : undefined;
    if (!methods?.size || property === null || methods.has(property) || methods.has('*') || node.optional) return;
    if (!node[UP] || node[UP].type !== 'CallExpression' || node[UP].callee !== node || node[UP].optional) return;
    if (Object.hasOwn(Object.prototype, property)) return;
    const near = nearestCall(space, property);
    c.add('unknown-api', 'error', node, `there is no ${space}.${property}`,
      near ? `Did you mean ${near}?` : `api.describe('${space}') lists what there is.`);
  }

  function options(c, node) {
    const row = c.api(node);
    const given = node.arguments.find((a) => a.type === 'ObjectExpression');
    if (!row?.options?.length || !given) return;
    for (const p of given.properties) {
      if (p.type !== 'Property' || p.computed) continue;
      const key = p.key.name ?? String(p.key.value);
      if (row.options.includes(key)) continue;
      const near = nearest(key, row.options);
      c.add('unknown-option', 'warning', p.key, `${row.name} has no option '${key}'; known are: ${row.options.join(', ')}`,
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
        'api.describe() lists what there is.');
    if (/^set(Timeout|Interval)$/.test(name ?? '') && first?.type === 'Literal' && typeof first.value === 'string')
      c.add('no-eval', 'error', first, `${name} takes a function, not text`, '() => { ... }');
    if (callee.type === 'MemberExpression' && callee.property.name === 'constructor' && node.arguments.length &&
        node.arguments.every((a) => a.type === 'Literal' && typeof a.value === 'string'))
      c.add('no-eval', 'error', node, 'the constructors of functions are refused: code made from text cannot be run');
    if (callee.type === 'MemberExpression' && callee.property.name === 'catch' && first && isFunction(first) &&
        first.body.type === 'BlockStatement' && isEmpty(c, first.body))
      c.add('swallowed-error', 'warning', first, 'this hides every failure', 'Log it, or catch what you expect.');
    options(c, node);
  }

  const isEmpty = (c, block) => block.body.length === 0 && !/\S/.test(c.code.slice(block.start + 1, block.end - 1));

  function identifier(c, node) {
    const up = node[UP];
    const { name } = node;
    if (c.declared.has(name) || !up || up.type === 'UnaryExpression') return;
    if (up.type === 'MemberExpression' && up.property === node && !up.computed) return;
    if (/^(Property|MethodDefinition|PropertyDefinition)$/.test(up.type) && up.key === node && !up.computed && !up.shorthand) return;
    if (/^(LabeledStatement|BreakStatement|ContinueStatement|MetaProperty)$/.test(up.type)) return;
    if (c.tested.has(name)) return;
    if (Object.hasOwn(ABSENT, name))
      c.add('absent-global', 'warning', node, `'${name}' is not there`, `${ABSENT[name][0].toUpperCase()}${ABSENT[name].slice(1)}.`);
    else if (Object.hasOwn(FEATURES, name) && !(c.given & FEATURES[name][0]))
      c.add('absent-global', 'warning', node, `'${name}' is there only with ${FEATURES[name][1]}`,
        `Ask for it in the call: ${FEATURES[name][1]}: true, where the person's policy allows it.`);
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
    SpreadElement(c, node) { promiseAs(c, node.argument, 'spreading needs its value'); },
    IfStatement(c, node) { promiseAs(c, node.test, 'which is always true'); },
    ImportDeclaration(c, node) {
      c.add('no-import', 'error', node, 'import is not there: nothing can be loaded', 'api.describe() lists what there is.');
    },
    ImportExpression(c, node) {
      c.add('no-import', 'error', node, 'import() is not there: nothing can be loaded', 'api.describe() lists what there is.');
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
    const assigned = new Set();
    for (const node of c.nodes) {
      declared(node, c.declared);
      if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.init) {
        if (c.inits.has(node.id.name)) assigned.add(node.id.name);
        c.inits.set(node.id.name, node.init);
      }
      if (node.type === 'AssignmentExpression' && node.left.type === 'Identifier') assigned.add(node.left.name);
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
    c.returns = some({ type: 'Program', body: c.tree.body }, (n) => n.type === 'ReturnStatement');
  }

  function noResult(c) {
    const last = c.tree.body[c.tree.body.length - 1];
    if (c.returns || last?.type !== 'VariableDeclaration' || c.declared.has('main')) return;
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
    for (const node of c.nodes) RULES[node.type]?.(c, node);
  }

  function check(code, given) {
    const c = new Check(code, given);
    if (!parse(c)) return c.found;
    rules(c);
    noResult(c);
    return c.found.sort((a, b) => a.line - b.line || a.column - b.column);
  }

  // For review.js, which looks through functions that are kept.
  const kit = { Check, isNode, isFunction, some, UP, pushChildren, declared, parse, rules, spaces: () => spaces };
  return { install, check, kit };
});
