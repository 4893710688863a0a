// Which binding a name means, and what is known of a value without running anything: what
// the API's calls answer, followed through awaits, loops, callbacks and patterns.
//
// A function of (tree) that answers {read, Scopes, Shapes}. A shape is one of
//   {kind: 'promise', of, call?}     call: the API call or the function that answers it
//   {kind: 'array', of} {kind: 'tuple', items} {kind: 'object', members, what}
//   {kind: 'string' | 'number' | 'boolean' | 'function'} {kind: 'space', name}
//   {kind: 'absent', of, name}       a property that a known shape does not have
// or ANY: nothing is known. `call` is the row and the node that a shape came from; `inner`: it
// is a part of what that answers.
(function (tree) {
  'use strict';
  const { isFunction, UP } = tree;
  const ANY = { kind: 'any' };
  const STRING = { kind: 'string' };
  const NUMBER = { kind: 'number' };
  const BOOLEAN = { kind: 'boolean' };
  const DEPTH = 24;

  // ---- types as signatures spell them ------------------------------------------------

  // The parts of `text` between those `stops` that stand outside of brackets and quotes.
  function split(text, stops) {
    const parts = [];
    let depth = 0;
    let from = 0;
    for (let i = 0; i < text.length; i++) {
      const c = text[i];
      if (depth === 0 && stops.includes(c)) {
        parts.push(text.slice(from, i).trim());
        from = i + 1;
      } else if (c === "'" || c === '"') {
        const end = text.indexOf(c, i + 1);
        i = end < 0 ? text.length : end;
      } else if ('([{<'.includes(c)) depth++;
      else if (')]}'.includes(c) || (c === '>' && text[i - 1] !== '=')) depth--;
    }
    parts.push(text.slice(from).trim());
    return parts.filter(Boolean);
  }

  const NOTHING = new Set(['null', 'undefined', 'void', 'DryRun']);

  class Types {
    constructor(definitions) {
      this.definitions = definitions; // name -> text
      this.known = new Map();
    }

    read(text, depth = 0) {
      const known = this.known.get(text);
      if (known) return known;
      if (depth > 8) return ANY;
      const shape = this.make(text.trim(), depth + 1);
      this.known.set(text, shape);
      return shape;
    }

    make(text, depth) {
      const choices = split(text, '|').filter((part) => !NOTHING.has(part));
      if (choices.length > 1) {
        const shapes = choices.map((part) => this.read(part, depth));
        return shapes.every((s) => s.kind === shapes[0].kind && s.kind in { string: 1, number: 1, boolean: 1 }) ? shapes[0] : ANY;
      }
      const one = choices[0] ?? '';
      if (one.endsWith('[]')) return { kind: 'array', of: this.read(one.slice(0, -2), depth) };
      if (one.startsWith('(') && one.endsWith(')')) return this.read(one.slice(1, -1), depth);
      const promise = /^Promise<(.*)>$/s.exec(one);
      if (promise) return { kind: 'promise', of: this.read(promise[1], depth) };
      if (one.startsWith("'") || one === 'string') return STRING;
      if (one === 'number' || /^\d/.test(one)) return NUMBER;
      if (one === 'boolean' || one === 'true' || one === 'false') return BOOLEAN;
      const parts = split(one, '&');
      if (parts.length > 1) return this.join(parts.map((part) => this.read(part, depth)));
      if (one.startsWith('{')) return this.object(one.slice(1, -1));
      return this.definitions.has(one) ? this.read(this.definitions.get(one), depth) : ANY;
    }

    object(text) {
      const members = new Map();
      for (const field of split(text, ',;\n')) {
        const [, name, type] = /^([\w$]+)\??(?:\([^)]*\))?\s*:\s*(.*)$/s.exec(field) ?? [];
        if (!name) return ANY; // an index signature: any key
        members.set(name, type);
      }
      return { kind: 'object', members };
    }

    join(shapes) {
      if (shapes.some((s) => s.kind !== 'object')) return ANY;
      return { kind: 'object', members: new Map(shapes.flatMap((s) => [...s.members])) };
    }
  }

  // ---- scopes ---------------------------------------------------------------------------

  const BLOCKS = new Set(['BlockStatement', 'ForStatement', 'ForInStatement', 'ForOfStatement', 'SwitchStatement', 'CatchClause',
    'StaticBlock', 'Program']);
  const isScope = (n) => BLOCKS.has(n.type) || isFunction(n) || n.type === 'ClassExpression';

  // Every name of a pattern with the way to its value: [{name, node, path}].
  function namesOf(pattern, path = []) {
    if (!pattern) return [];
    switch (pattern.type) {
      case 'Identifier': return [{ name: pattern.name, node: pattern, path }];
      case 'AssignmentPattern': return namesOf(pattern.left, path);
      case 'RestElement': return namesOf(pattern.argument, [...path, { rest: true }]);
      case 'ArrayPattern': return pattern.elements.flatMap((e, i) => namesOf(e, [...path, { index: i }]));
      case 'ObjectPattern': return pattern.properties.flatMap((p) => p.type === 'RestElement' ? namesOf(p.argument, [...path, { rest: true }])
        : namesOf(p.value, [...path, p.computed ? { rest: true } : { name: p.key.name ?? String(p.key.value), node: p }]));
      default: return [];
    }
  }

  class Scopes {
    constructor(nodes) {
      this.tables = new Map(); // a scope's node -> Map of its names
      this.loose = new Set(); // assigned to, and declared nowhere
      for (const node of nodes) this.declare(node);
      for (const node of nodes) this.write(node);
    }

    scopeOf(node, isVar) {
      let n = node[UP] ?? node;
      while (n[UP] && !(isVar ? isFunction(n) : isScope(n))) n = n[UP];
      return n;
    }

    put(scope, binding) {
      const table = this.tables.get(scope) ?? new Map();
      this.tables.set(scope, table);
      const before = table.get(binding.name);
      if (before) before.source = null; // twice: nobody knows
      else table.set(binding.name, { ...binding, writes: [] });
    }

    declare(node) {
      if (node.type === 'VariableDeclaration') {
        const up = node[UP];
        const loop = (up?.type === 'ForOfStatement' || up?.type === 'ForInStatement') && up.left === node ? up : null;
        for (const d of node.declarations)
          for (const one of namesOf(d.id)) {
            const source = loop ? (loop.type === 'ForOfStatement' ? { element: loop.right } : { type: 'string' })
              : d.init ? { value: d.init } : {};
            this.put(this.scopeOf(node, node.kind === 'var'), { ...one, source, declarator: d });
          }
      } else if (isFunction(node)) {
        node.params.forEach((p, index) => {
          for (const one of namesOf(p)) this.put(node, { ...one, source: { parameter: node, index } });
        });
        if (node.type === 'FunctionDeclaration') this.put(this.scopeOf(node), { name: node.id.name, node: node.id, path: [], source: { value: node } });
        else if (node.id) this.put(node, { name: node.id.name, node: node.id, path: [], source: { value: node } });
      } else if (node.type === 'ClassDeclaration') {
        this.put(this.scopeOf(node), { name: node.id.name, node: node.id, path: [], source: null });
      } else if (node.type === 'ClassExpression' && node.id) {
        this.put(node, { name: node.id.name, node: node.id, path: [], source: null });
      } else if (node.type === 'CatchClause') {
        for (const one of namesOf(node.param)) this.put(node, { ...one, source: null });
      } else if (/^Import(Default|Namespace)?Specifier$/.test(node.type)) {
        this.put(this.scopeOf(node), { name: node.local.name, node: node.local, path: [], source: null });
      }
    }

    write(node) {
      const target = node.type === 'AssignmentExpression' ? node.left : node.type === 'UpdateExpression' ? node.argument
        : /^For(In|Of)Statement$/.test(node.type) && node.left.type !== 'VariableDeclaration' ? node.left : null;
      for (const one of namesOf(target)) {
        const binding = this.find(one.name, node);
        const plain = node.type === 'AssignmentExpression' && node.operator === '=' && one.path.length === 0;
        if (binding) binding.writes.push(plain ? node.right : null);
        else this.loose.add(one.name);
      }
    }

    find(name, node) {
      for (let n = node; n; n = n[UP]) {
        const binding = this.tables.get(n)?.get(name);
        if (binding) return binding;
      }
      return null;
    }

    // The names that can be seen from here.
    visible(node) {
      const names = new Set();
      for (let n = node; n; n = n[UP]) for (const name of this.tables.get(n)?.keys() ?? []) names.add(name);
      return [...names];
    }
  }

  // ---- shapes -----------------------------------------------------------------------------

  const SAME = new Set(['filter', 'slice', 'sort', 'reverse', 'toSorted', 'toReversed', 'concat', 'splice', 'with']);
  const ELEMENT = new Set(['find', 'findLast', 'at', 'pop', 'shift']);
  const CALLBACKS = new Set(['map', 'filter', 'forEach', 'find', 'findLast', 'findIndex', 'some', 'every', 'flatMap']);
  // What a call with dry_run answers is another thing.
  const isDry = (node) => node.arguments.some((a) => a.type === 'ObjectExpression' &&
    a.properties.some((p) => p.type === 'SpreadElement' || (p.key.name ?? p.key.value) === 'dry_run'));
  const unwrap = (node) => (node?.type === 'ChainExpression' ? node.expression : node);

  class Shapes {
    // `api(node)`: the row of an API call; `types`: a Types.
    constructor(scopes, types, api) {
      this.scopes = scopes;
      this.types = types;
      this.api = api;
      this.known = new Map();
    }

    of(node, depth = 0) {
      node = unwrap(node);
      if (!node || depth > DEPTH) return ANY;
      const known = this.known.get(node);
      if (known) return known;
      this.known.set(node, ANY); // what hangs on itself
      const shape = this.make(node, depth + 1) ?? ANY;
      this.known.set(node, shape);
      return shape;
    }

    make(node, depth) {
      switch (node.type) {
        case 'Literal': return typeof node.value === 'string' ? STRING : typeof node.value === 'number' ? NUMBER : ANY;
        case 'TemplateLiteral': return STRING;
        case 'AwaitExpression': return this.settled(this.of(node.argument, depth));
        case 'Identifier': return this.named(node, depth);
        case 'MemberExpression': return this.member(node, depth);
        case 'CallExpression': return this.call(node, depth);
        case 'ArrayExpression': return { kind: 'tuple', items: node.elements.map((e) => (!e || e.type === 'SpreadElement' ? ANY : this.of(e, depth))) };
        case 'LogicalExpression': return node.operator === '&&' ? this.of(node.right, depth) : this.of(node.left, depth);
        case 'FunctionExpression': case 'ArrowFunctionExpression': case 'FunctionDeclaration': return { kind: 'function', node };
        default: return ANY;
      }
    }

    settled(shape) {
      return shape.kind === 'promise' ? shape.of : shape;
    }

    named(node, depth) {
      const binding = this.scopes.find(node.name, node);
      return binding ? this.bound(binding, depth) : ANY;
    }

    bound(binding, depth = 0) {
      const { source, writes, path } = binding;
      if (!source) return ANY;
      let shape;
      if (source.value ?? source.element) {
        if (writes.length) return ANY;
        shape = source.value ? this.of(source.value, depth) : this.element(this.of(source.element, depth));
      } else if (source.parameter) {
        shape = writes.length ? ANY : this.parameter(source, depth);
      } else if (source.type) shape = STRING;
      else shape = writes.length === 1 && writes[0] ? this.of(writes[0], depth) : ANY;
      for (const step of path) shape = this.step(shape, step);
      return shape;
    }

    step(shape, step) {
      if (step.rest) return ANY;
      if (step.index !== undefined) return shape.kind === 'tuple' ? (shape.items[step.index] ?? ANY) : this.element(shape);
      return this.property(shape, step.name);
    }

    element(shape) {
      if (shape.kind === 'array') return shape.of;
      if (shape.kind === 'tuple') return shape.items.length && shape.items.every((s) => s.kind === shape.items[0].kind) ? shape.items[0] : ANY;
      return shape.kind === 'string' ? STRING : ANY;
    }

    // What `shape.name` is.
    property(shape, name) {
      switch (shape.kind) {
        case 'object':
          if (shape.members.has(name)) {
            const of = this.types.read(shape.members.get(name));
            return of.kind === 'any' && name === 'metadata' ? { kind: 'any', metadata: true, call: shape.call } : this.from(of, shape.call && { ...shape.call, inner: true });
          }
          return name in Object.prototype ? ANY : { kind: 'absent', of: shape, name };
        case 'array': case 'tuple':
          if (name === 'length') return NUMBER;
          return name in Array.prototype ? ANY : { kind: 'absent', of: shape, name };
        case 'string':
          if (name === 'length') return NUMBER;
          return name in String.prototype ? ANY : { kind: 'absent', of: shape, name };
        case 'promise':
          return name in Promise.prototype ? ANY : { kind: 'absent', of: shape, name };
        default:
          return ANY;
      }
    }

    member(node, depth) {
      const of = this.of(node.object, depth);
      if (!node.computed) return this.property(of, node.property.name);
      if (node.property.type === 'Literal' && typeof node.property.value === 'string') return this.property(of, node.property.value);
      if (of.kind === 'tuple' && typeof node.property.value === 'number') return of.items[node.property.value] ?? ANY;
      return this.element(of);
    }

    call(node, depth) {
      const row = this.api(node);
      if (row) {
        const of = row.returns && !isDry(node) ? this.settled(this.types.read(row.returns)) : ANY;
        const inner = this.from(of, { row, node });
        return row.sync ? inner : { kind: 'promise', of: inner, call: { row, node } };
      }
      const callee = unwrap(node.callee);
      if (callee.type === 'Identifier') return this.ownCall(this.of(callee, depth), node, depth);
      if (callee.type !== 'MemberExpression' || callee.computed) return isFunction(callee) ? this.ownCall({ kind: 'function', node: callee }, node, depth) : ANY;
      return this.method(node, callee, depth);
    }

    ownCall(f, node, depth) {
      const shape = this.answered(f, depth);
      return shape.kind === 'promise' && shape.call?.own ? { ...shape, call: { ...shape.call, node } } : shape;
    }

    // Which call a value came from, and those in it.
    from(shape, call) {
      if (shape.kind === 'any' || !call) return shape;
      return shape.kind === 'array' ? { ...shape, call, of: this.from(shape.of, call) } : { ...shape, call };
    }

    method(node, callee, depth) {
      const name = callee.property.name;
      if (callee.object.type === 'Identifier' && !this.scopes.find(callee.object.name, node)) {
        const what = `${callee.object.name}.${name}`;
        if (/^Promise\.(all|allSettled|race|any)$/.test(what)) return { ...this.together(what, node.arguments[0], depth), call: { row: { name: what }, node } };
        if (what === 'Object.keys') return { kind: 'array', of: STRING };
        if (what === 'JSON.stringify') return STRING;
      }
      const of = this.of(callee.object, depth);
      if (of.kind === 'promise') return /^(then|catch|finally)$/.test(name) ? { kind: 'promise', of: ANY } : ANY;
      if (of.kind === 'array' || of.kind === 'tuple') {
        if (SAME.has(name)) return of.kind === 'array' ? of : { kind: 'array', of: this.element(of) };
        if (ELEMENT.has(name)) return this.element(of);
        if (name === 'join') return STRING;
      }
      if (/^reduce(Right)?$/.test(name) && node.arguments[0]?.async && isFunction(node.arguments[0])) return { kind: 'promise', of: ANY, call: { own: node.arguments[0], node } };
      if (name === 'map' && node.arguments.length) return this.mapped(of, this.answered(this.of(node.arguments[0], depth), depth));
      if (of.kind === 'string' && name === 'split') return { kind: 'array', of: STRING };
      if (of.kind === 'string' && /^(trim|toLowerCase|toUpperCase|replace|replaceAll|slice|substring|concat|padStart|padEnd|repeat)$/.test(name)) return STRING;
      return ANY;
    }

    // Of a value that nobody knows, an async callback tells that it is an array.
    mapped(of, each) {
      const isArray = of.kind === 'array' || of.kind === 'tuple';
      return isArray || (of.kind === 'any' && each.kind === 'promise') ? { kind: 'array', of: each } : ANY;
    }

    together(what, list, depth) {
      if (what !== 'Promise.all') return { kind: 'promise', of: ANY };
      const of = this.of(list, depth);
      if (of.kind === 'tuple') return { kind: 'promise', of: { kind: 'tuple', items: of.items.map((s) => this.settled(s)) } };
      return { kind: 'promise', of: of.kind === 'array' ? { kind: 'array', of: this.settled(of.of) } : ANY };
    }

    // What a function answers that is called.
    answered(f, depth) {
      if (f.kind !== 'function') return ANY;
      const { node } = f;
      let of = ANY;
      if (node.body.type !== 'BlockStatement') of = this.of(node.body, depth);
      else {
        const last = node.body.body[node.body.body.length - 1];
        if (last?.type === 'ReturnStatement') of = this.of(last.argument, depth);
      }
      if (node.generator) return ANY;
      return node.async ? { kind: 'promise', of: this.settled(of), call: { own: node } } : of;
    }

    // What a callback is handed.
    parameter({ parameter: fn, index }, depth) {
      const call = fn[UP];
      const callee = call?.type === 'CallExpression' ? unwrap(call.callee) : null;
      if (callee?.type !== 'MemberExpression' || callee.computed || call.arguments[0] !== fn) return ANY;
      const name = callee.property.name;
      const of = this.of(callee.object, depth);
      if (name === 'then') return index === 0 ? this.settled(of) : ANY;
      if (of.kind !== 'array' && of.kind !== 'tuple') return ANY;
      if (CALLBACKS.has(name)) return index === 0 ? this.element(of) : index === 1 ? NUMBER : of;
      if (name === 'reduce') return index === 1 ? this.element(of) : ANY;
      return /^(sort|toSorted)$/.test(name) ? this.element(of) : ANY;
    }
  }

  return { ANY, Types, Scopes, Shapes, namesOf, unwrap };
});
