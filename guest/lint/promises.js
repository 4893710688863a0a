// Promises that end where a value is meant, and nothing fails: in a text, in arithmetic, in
// what is told as JSON, in what filter asks. The code succeeds, and its answer is wrong.
//
// A function of (tree) that answers these rules.
(function (tree) {
  'use strict';
  const { isFunction, UP } = tree;
  const SHORT = 60; // as much of the code as a suggestion repeats
  const LOGGING = /^console\.(log|info|warn|error|debug|table)$/;

  // What answers this promise: a call of the API, or a function that the code declares.
  function promiser(c, { call }) {
    if (call?.row) return call.row.name;
    return call?.node?.type === 'CallExpression' ? c.text(call.node.callee) : 'an async function';
  }

  // Told once of each call, with the await that is missing.
  function notAwaited(c, node, shape, what) {
    const made = shape.call?.node ?? node;
    if (c.told.has(made)) return;
    c.told.add(made);
    const inside = node.start <= made.start && made.end <= node.end;
    const awaited = inside ? node : made;
    c.add('missing-await', 'warning', awaited, `${promiser(c, shape)} answers a promise; ${what}`, `await ${c.text(awaited)}`);
  }

  function asValue(c, node, what) {
    const shape = c.shapes.of(node);
    if (shape.kind === 'promise') notAwaited(c, node, shape, what);
  }

  // A value that is told as JSON: what is a promise in it would be {}. The whole of a result
  // is awaited: `settled`.
  function asJson(c, root, settled = false, what = 'as JSON that is {}') {
    const stack = [[root, settled]];
    while (stack.length) {
      const [node, awaited] = stack.pop();
      if (!node) continue;
      const shape = c.shapes.of(node);
      if (node.type === 'ObjectExpression') for (const p of node.properties) stack.push([p.value, false]);
      else if (node.type === 'ArrayExpression') for (const e of node.elements) if (e?.type !== 'SpreadElement') stack.push([e, false]);
      if (shape.kind === 'promise' && !awaited) notAwaited(c, node, shape, what);
      if (shape.kind === 'array' && shape.of.kind === 'promise')
        c.add('missing-await', 'warning', node, `${c.text(node)} is an array of promises, for which nothing waits`,
          node.end - node.start > SHORT ? 'Put await Promise.all(...) around it.' : `await Promise.all(${c.text(node, SHORT)})`);
    }
  }

  // Is what it returns the result: at the top level, or in the main() that is called by itself?
  function isOfResult(node) {
    let n = node[UP];
    while (n && !isFunction(n)) n = n[UP];
    return !n || (n.type === 'FunctionDeclaration' && n.id?.name === 'main' && n[UP]?.type === 'Program');
  }

  // The arguments of a call.
  function handed(c, node) {
    const { callee } = node;
    const [first] = node.arguments;
    const name = c.name(callee);
    if (name === 'JSON.stringify') asJson(c, first);
    if (LOGGING.test(name ?? '')) for (const a of node.arguments) asJson(c, a, false, 'what is logged is the promise');
    if (name === 'String' || name === 'Number') asValue(c, first, `${name} needs its value`);
  }

  return { promiser, asValue, asJson, isOfResult, handed };
});
