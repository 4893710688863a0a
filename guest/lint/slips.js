// The rules for code that runs, and answers something else than its author meant: a callback
// that returns nothing, a comparison that is never true, arithmetic with texts.
//
// A function of (kit) that answers rules, one for each kind of node, as those of lint.js.
(function (kit) {
  'use strict';
  const { isFunction, some, UP, unwrap } = kit;
  const CALLBACKS = new Set(['map', 'flatMap', 'filter', 'find', 'findLast', 'findIndex', 'findLastIndex', 'some', 'every', 'sort', 'toSorted', 'reduce']);
  const TESTS = new Set(['filter', 'find', 'findLast', 'findIndex', 'findLastIndex', 'some', 'every']);
  const READERS = /^(Object\.(keys|values|entries)|JSON\.stringify|Array\.from|structuredClone)$/;

  const methodOf = (node) => (node.callee.type === 'MemberExpression' && !node.callee.computed ? node.callee.property.name : null);
  const isArray = (shape) => shape.kind === 'array' || shape.kind === 'tuple';

  function callbacks(c, node) {
    const method = methodOf(node);
    const fn = node.arguments[0];
    if (!CALLBACKS.has(method) || !fn || !isFunction(fn) || fn.generator) return;
    if (fn.async && TESTS.has(method)) {
      c.add('async-callback', 'warning', node.callee.property, `${method} does not await its callback: a promise counts as true`,
        'Ask for all of it first: await Promise.all(list.map(async (item) => ...)); then compare.');
      return;
    }
    if (fn.async) return; // made for what they do: await Promise.all(list.map(async ...))
    const used = node[UP].type !== 'ExpressionStatement' || (c.isResult(node[UP]) && !c.returns);
    if (!used || fn.body.type !== 'BlockStatement' || !fn.body.body.length) return;
    if (some(fn, (n) => (n.type === 'ReturnStatement' && n.argument) || n.type === 'ThrowStatement')) return;
    c.add('no-return', 'warning', fn, `the function given to ${method} returns nothing: each of its values is undefined`,
      `${method}((x) => value), or return the value inside of the braces.`);
  }

  // sort((a, b) => a > b)
  function comparator(c, node) {
    const fn = node.arguments[0];
    if (!/^(sort|toSorted)$/.test(methodOf(node) ?? '') || fn?.type !== 'ArrowFunctionExpression') return;
    if (fn.body.type === 'BinaryExpression' && /^(<|>|<=|>=)$/.test(fn.body.operator))
      c.add('boolean-comparator', 'warning', fn.body, 'a comparison for sort is a number, below, above or equal to zero: true and false do not sort',
        '(a, b) => a - b for numbers, a.localeCompare(b) for texts.');
  }

  function readers(c, node) {
    if (!READERS.test(c.name(node.callee) ?? '')) return;
    const shape = node.arguments[0] && c.shapes.of(node.arguments[0]);
    if (shape?.kind === 'promise' && shape.call?.row)
      c.add('missing-await', 'warning', node.arguments[0], `${shape.call.row.name} answers a promise; ${c.name(node.callee)} needs its value`,
        `await ${c.text(shape.call.node)}`);
  }

  function texts(c, node) {
    if (!/^(-|\*|\/|%)$/.test(node.operator)) return;
    for (const side of [node.left, node.right]) {
      const shape = c.shapes.of(side);
      if (shape.kind !== 'string' || !shape.call || unwrap(side).type !== 'MemberExpression') continue;
      const isDate = /^(created|updated|date|timestamp)$/.test(unwrap(side).property.name);
      c.add('text-arithmetic', 'warning', side, `${c.text(side)} is a text: ${c.text(node)} is NaN`,
        isDate ? `new Date(${c.text(side)})` : `Number(${c.text(side)})`);
      return;
    }
  }

  function comparison(c, node) {
    if (!/^[!=]==?$/.test(node.operator)) return;
    for (const side of [node.left, node.right])
      if (/^(Array|Object)Expression$/.test(side.type))
        c.add('never-equal', 'warning', node, `${c.text(node)} is always ${node.operator[0] === '!'}: no other value is this very ${side.type === 'ArrayExpression' ? 'array' : 'object'}`,
          side.type === 'ArrayExpression' ? 'Compare its length.' : 'Compare Object.keys(value).length.');
  }

  function test(c, node) {
    if (node.test?.type === 'AssignmentExpression' && node.test.operator === '=')
      c.add('assignment-as-test', 'warning', node.test, `${c.text(node.test)} assigns, and does not compare`, 'Compare with ===.');
  }

  // `return`, and its value in the next line.
  function loneReturn(c, node) {
    const list = node.argument ? null : node[UP].body ?? node[UP].consequent;
    const next = Array.isArray(list) ? list[list.indexOf(node) + 1] : null;
    if (next?.type === 'ExpressionStatement')
      c.add('lone-return', 'warning', node, 'return ends with its line: the value in the next line is not returned', 'Begin the value in the same line.');
  }

  function overIndexes(c, node) {
    if (isArray(c.shapes.of(node.right)))
      c.add('for-in-array', 'warning', node.right, 'for...in goes over the indexes of an array, as texts', `for (const item of ${c.text(node.right)})`);
  }

  // n.content = ... of a note that was read, in code that writes nothing and looks at it no more.
  function unsaved(c, node) {
    let root = node.left;
    while (root.type === 'MemberExpression') root = root.object;
    if (node[UP].test === node || node.left.type !== 'MemberExpression' || root.type !== 'Identifier') return;
    if (c.shapes.of(root).call?.row?.name !== 'notes.get' || c.shapes.of(root).call.inner) return;
    const binding = c.scopes.find(root.name, root);
    const later = (n) => n.type === 'Identifier' && n.name === root.name && n.start > node.end;
    if (c.nodes.some((n) => later(n) || c.api(n)?.writes) || inLoop(binding, node)) return;
    c.add('unsaved-change', 'warning', node, `${c.text(node.left)} is changed here alone: the note stays as it is`,
      `await notes.update({identifier: ${root.name}.id, ...})`);
  }

  // Another turn may look at it.
  function inLoop(binding, node) {
    for (let n = node; n && n !== binding?.node; n = n[UP]) {
      if (/^(For|While|DoWhile)\w*Statement$/.test(n.type)) return !(binding.node.start >= n.start);
    }
    return false;
  }

  return {
    CallExpression(c, node) {
      callbacks(c, node);
      comparator(c, node);
      readers(c, node);
    },
    BinaryExpression(c, node) {
      texts(c, node);
      comparison(c, node);
    },
    IfStatement: test,
    WhileStatement: test,
    ReturnStatement: loneReturn,
    ForInStatement: overIndexes,
    AssignmentExpression: unsaved,
  };
});
