// What would help against a failure, seen from the code alone: which value was a promise,
// which property is not there, which name was meant. It speaks where that is likely right,
// and is silent else.
//
// A function of (lint) that answers explain({code, line, column, message, own, typescript}): {} or
// {suggestion} or {note: id | true}: notes.get answered null there, for that id if the code
// spells it. The place is as the engine tells it (quickjs/own.sed): a call and a look into
// a value stand at their last name, a pattern at its first, for...of at what it goes over.
(function (lint) {
  'use strict';
  const { Check, isFunction, UP, pushChildren, calls, spaces, aliasOf } = lint;
  const { unwrap } = lint.shapes;
  const { nearest, isNear, meant, optionMeant, METHODS, ARRAY_ONLY, INTL, NAMES, SENTENCES } = lint.words;
  const TEXT_MAX = 60;
  let checked; // the code that is looked into
  // Methods of texts that write HTML, which nobody means.
  const QUAINT = new Set(['anchor', 'big', 'blink', 'bold', 'fixed', 'fontcolor', 'fontsize', 'italics', 'link', 'small', 'strike', 'sub', 'sup']);
  const METHODS_OF_TEXTS = Object.getOwnPropertyNames(String.prototype).filter((name) => !QUAINT.has(name));
  const isOwn = (prototype, name) => Object.hasOwn(prototype, name) && !(name in Object.prototype);

  // ---- places ---------------------------------------------------------------------------

  function offsetOf(c, line, column) {
    const from = c.lines[line - 1];
    if (from === undefined) return -1;
    let at = from;
    for (let i = 1; i < column; i++) at += c.code.codePointAt(at) > 0xffff ? 2 : 1;
    return at;
  }

  function nameStart(node) {
    for (let n = unwrap(node); ; n = unwrap(n)) {
      if (n.type === 'MemberExpression' && !n.computed) return n.property.start;
      if (n.type === 'MemberExpression') n = n.object;
      else if (n.type === 'CallExpression') n = n.callee;
      else return n.start;
    }
  }

  const isCall = (n) => n.type === 'CallExpression' || n.type === 'NewExpression';
  const calledAt = (c, at) => c.nodes.find((n) => isCall(n) && (n.type === 'NewExpression' ? n.callee.start : nameStart(n.callee)) === at) ??
    c.nodes.find((n) => n.type === 'TaggedTemplateExpression' && nameStart(n.tag) === at);

  // The member that was looked for in nothing.
  const lookedAt = (c, at, name) => c.nodes.find((n) => n.type === 'MemberExpression' &&
    (n.computed ? nameStart(n.object) === at : n.property.start === at && (name === null || n.property.name === name)));

  const firstOf = (p) => (p.type === 'ObjectPattern' ? p.properties[0] : p.type === 'ArrayPattern' ? p.elements[0] : null);
  const patternAt = (c, at) => c.nodes.find((n) => firstOf(n)?.start === at);

  // What a pattern takes apart: an expression, and the way to it.
  function takenApart(pattern) {
    let n = pattern;
    if (n[UP]?.type === 'AssignmentPattern') n = n[UP];
    const up = n[UP];
    if (up?.type === 'VariableDeclarator') {
      const loop = up[UP][UP];
      return loop?.type === 'ForOfStatement' && loop.left === up[UP] ? { element: loop.right } : { value: up.init };
    }
    if (up?.type === 'AssignmentExpression') return { value: up.right };
    if (up && isFunction(up)) return { parameter: up, index: up.params.indexOf(n) };
    return null;
  }

  // ---- words ------------------------------------------------------------------------------

  const text = (c, node) => c.text(node, TEXT_MAX);
  // A tool by its own name: the row of all of them is called "tools.*".
  const nameOf = (c, call) => (call.row.name.endsWith('.*') ? (c.name(call.node.callee) ?? call.row.name) : call.row.name);
  const who = (call) => (call?.row ? nameOf(checked, call) : call?.own ? (call.own.id?.name ?? 'an async function') : 'it');
  // So that something may stand behind it.
  const whole = (c, node) => (/^(Await|Conditional|Logical|Arrow)/.test(node.type) ? `(${text(c, node)})` : text(c, node));

  function awaiting(c, shape, node) {
    const binding = node.type === 'Identifier' ? c.scopes.find(node.name, node) : null;
    const isOne = binding && (binding.source?.parameter || binding.source?.element);
    if (isOne) return `${node.name} is a promise here${shape.call?.row ? `, which ${who(shape.call)} answers` : ''}: await Promise.all(...) over the array first`;
    const init = shape.call?.node;
    const inside = init && node.start <= init.start && init.end <= node.end;
    if (init && !inside) return `${who(shape.call)} answers a promise, which is not awaited: await ${text(c, init)}`;
    return `${who(shape.call)} answers a promise, which is not awaited: (await ${text(c, node)})`;
  }

  // A property that a known value does not have; null: nobody knows better.
  function absence(c, absent, object, isCalled = false) {
    const { of, name } = absent;
    const call = who(of.call);
    if (of.kind === 'promise') return awaiting(c, of, object);
    if (of.kind === 'array' || of.kind === 'tuple') {
      if (isCalled && Object.hasOwn(METHODS, name)) return `In JavaScript that is ${METHODS[name]}`;
      if (of.of?.members?.has(name)) return `${text(c, object)} is an array: each of its rows has '${name}'`;
      const near = nearest(name, Object.getOwnPropertyNames(Array.prototype));
      if (isNear(near, name)) return `Did you mean '${near}'?`;
      if (of.call?.inner) return `${text(c, object)} is the array itself, without '${name}'`;
      return of.call ? `${call} answers the array itself, without '${name}'` : `${text(c, object)} is an array`;
    }
    if (of.kind === 'string') {
      if (Object.hasOwn(METHODS, name) && !ARRAY_ONLY.has(name)) return `In JavaScript that is ${METHODS[name]}`;
      const other = otherKind(c, object, name, true);
      if (other) return other;
      const near = nearest(name, METHODS_OF_TEXTS);
      if (isNear(near, name)) return `Did you mean '${near}'?`;
      return name in Array.prototype ? `${text(c, object)} is a text, not an array` : null;
    }
    const arrays = [...of.members].filter(([, type]) => type.trim().endsWith('[]'));
    const array = arrays.find(([key]) => key === 'rows' || key === 'results') ?? arrays[0];
    if (isCalled && name in Array.prototype)
      return `${text(c, object)} is an object, not an array${array ? `: ${call} answers {${[...of.members.keys()].join(', ')}}, of which '${array[0]}' is the array` : ''}`;
    const { members } = of;
    if (isCalled && members.has('content_hash') && /^(save|update|write|set|commit|put|store|append|delete|remove|rename)$/.test(name)) {
      const meant = /^(delete|remove)$/.test(name) ? 'delete' : name === 'rename' ? 'rename' : 'update';
      return `A note is a plain value, without methods: await notes.${meant}({identifier: ${text(c, object)}.id${meant === 'delete' ? '' : ', ...'}})`;
    }
    if (members.has('stdout') && members.has('exitCode') && (isCalled || /^(output|out|text|data|content)$/.test(name)))
      return `${call} answers an object: what the command printed is ${text(c, object)}.stdout`;
    const has = of.call?.inner ? `${text(c, object)} has` : `${call} answers`;
    const known = [...members.keys()];
    const near = meant(name, members);
    const fuller = { body: 'content', text: 'content', markdown: 'content', frontmatter: 'metadata', content: 'content', links: 'links', metadata: 'metadata' }[name];
    if (fuller && members.has('id') && !members.has(near ?? fuller))
      return `${has} no ${fuller}: (await notes.get(${whole(c, object)}.${members.has('note_id') ? 'note_id' : 'id'})).${fuller}`;
    if (near) return `${has} no '${name}'. Did you mean '${near}'?`;
    if (members.has('metadata') && !members.has('properties_cut')) return `${has} no '${name}'; frontmatter is in ${whole(c, object)}.metadata, and there are: ${known.join(', ')}`;
    return `${has} no '${name}'; there are: ${known.join(', ')}`;
  }

  // Was it notes.get that answered null?
  function nullNote(shape) {
    if (shape.call?.row?.name !== 'notes.get' || shape.call.inner) return null;
    const first = unwrap(shape.call.node.arguments[0]);
    const id = first?.type === 'ObjectExpression' ? first.properties.find((p) => (p.key?.name ?? p.key?.value) === 'identifier')?.value : first;
    return { note: id?.type === 'Literal' && typeof id.value === 'string' ? id.value : true };
  }

  // `x.toFixed(2)` of a text, `x.getFullYear()` of what is no Date.
  function otherKind(c, object, name, isText) {
    if (isText && isOwn(Number.prototype, name)) return `${text(c, object)} is a text: Number(${text(c, object)}).${name}(...)`;
    if (isOwn(Date.prototype, name)) return `${text(c, object)} is ${isText ? 'a text' : 'no Date'}: new Date(${text(c, object)}).${name}(...)`;
    if (isOwn(Number.prototype, name)) return `${text(c, object)} is not a number: Number(${text(c, object)}).${name}(...)`;
    return null;
  }

  const say = (suggestion) => (suggestion ? { suggestion: /[.?!)`]$/.test(suggestion) ? suggestion : `${suggestion}.` } : {});

  // ---- what is nothing, and was looked into --------------------------------------------

  function nothing(c, node) {
    node = unwrap(node);
    const shape = c.shapes.of(node);
    const isNote = nullNote(shape);
    const name = node.type === 'Identifier' && !c.scopes.find(node.name, node) ? node.name : null;
    if (name && Object.hasOwn(SENTENCES, name)) return say(SENTENCES[name]);
    if (shape.metadata && shape.call?.row.name !== 'notes.get')
      return say(`${who(shape.call)} answers metadata only where fields asks for it: fields: ['id', 'title', 'metadata']`);
    if (shape.kind === 'promise') return say(awaiting(c, shape, node));
    if (shape.kind === 'absent') return say(absence(c, shape, node.type === 'MemberExpression' ? node.object : originOf(c, node) ?? node));
    if (isNote) return isNote;
    if (node.type === 'MemberExpression') {
      const object = c.shapes.of(node.object);
      const space = node.object.type === 'Identifier' && !node.computed && !c.scopes.find(node.object.name, node) ? node.object.name : null;
      if (space && spaces().get(space)?.size && spaces().get(node.property.name)?.size)
        return say(`${node.property.name} stands by itself: ${node.property.name}.${node[UP].property?.name ?? '...'}, without ${space}`);
      if (space === 'crypto') return say('crypto has randomUUID and getRandomValues alone');
      if (object.metadata) return say(`This note's frontmatter has no '${node.computed ? text(c, node.property) : node.property.name}': test for it, or look at Object.keys(${text(c, node.object)})`);
      const inner = node.object.type === 'MemberExpression' ? c.shapes.of(node.object.object) : null;
      if (inner?.metadata) return say(`This note's frontmatter has no '${text(c, node.object).split('.').pop()}' of that kind: look at ${text(c, node.object)} first`);
      if (object.kind === 'array' || object.kind === 'tuple') return say(`${text(c, node.object)} has no such element: look at its length first`);
    }
    if (node.type === 'CallExpression' && /^(find|findLast|at|pop|shift|match|exec)$/.test(node.callee.property?.name)) return say(`${text(c, node)} found nothing: test for that first`);
    const source = node.type === 'Identifier' ? c.scopes.find(node.name, node)?.source?.value : null;
    const found = unwrap(source);
    if (found?.type === 'CallExpression' && /^(find|findLast|at|pop|shift|match|exec)$/.test(found.callee.property?.name ?? ''))
      return say(`${text(c, found)} found nothing: test for that first`);
    if (found?.type === 'MemberExpression' && found.computed) return say(`${text(c, found)} is not there: test for that first`);
    return {};
  }

  // The expression that a name was taken from.
  function originOf(c, node) {
    const binding = node.type === 'Identifier' ? c.scopes.find(node.name, node) : null;
    return binding?.source?.value ?? null;
  }

  // ---- what is no function ---------------------------------------------------------------

  function notOfIntl(name) {
    const near = nearest(name, INTL);
    return say(isNear(near, name) ? `Did you mean Intl.${near}?` : `Intl has ${INTL.join(', ')}, and no ${name}`);
  }

  function notFunction(c, node) {
    const callee = unwrap(node.callee ?? node.tag);
    if (callee.type === 'Identifier') return noFunction(c, callee);
    if (callee.type !== 'MemberExpression' || callee.computed) return {};
    const name = callee.property.name;
    const object = unwrap(callee.object);
    const space = object.type === 'Identifier' && !c.scopes.find(object.name, object) ? object.name : null;
    if (space && spaces().get(space)?.size) return unknownCall(c, space, name);
    if (space === 'Intl') return notOfIntl(name);
    const called = c.name(object);
    if (called && object.type === 'MemberExpression' && calls().has(called)) return say(`${called} is a function itself: ${called}(...)`);
    const shape = c.shapes.of(object);
    if (shape.kind === 'promise') return say(awaiting(c, shape, object));
    const property = c.shapes.property(shape, name);
    if (property.kind === 'absent') return say(absence(c, property, object, true));
    if (shape.kind === 'absent') return say(absence(c, shape, object.object ?? object));
    if (Object.hasOwn(METHODS, name)) return say(`In JavaScript that is ${METHODS[name]}`);
    if (/^(map|filter|forEach|reduce|find|some|every|join)$/.test(name)) return say(`${text(c, object)} is not an array: look at it with console.log, or take Object.values or Object.entries of an object`);
    const other = otherKind(c, object, name, shape.kind === 'string');
    if (other) return say(other);
    const names = [...Object.getOwnPropertyNames(Array.prototype), ...METHODS_OF_TEXTS];
    const near = nearest(name, names);
    return isNear(near, name) ? say(`Did you mean '${near}'?`) : {};
  }

  function noFunction(c, callee) {
    const shape = c.shapes.of(callee);
    if (shape.kind === 'promise') return say(awaiting(c, shape, callee));
    if (!c.scopes.find(callee.name, callee)) {
      if (Object.hasOwn(SENTENCES, callee.name)) return say(SENTENCES[callee.name]);
      if (spaces().get(callee.name)?.size) return say(`${callee.name} is a namespace: api.describe('${callee.name}') lists its methods`);
    }
    if (shape.kind !== 'any' && shape.kind !== 'function') return say(`${callee.name} is a value here, which another declaration of that name may hide`);
    return {};
  }

  function unknownCall(c, space, name) {
    const own = space === 'customFunctions' ? c.functions : null;
    if (own) return say(lint.unknownFunction(c, name));
    const near = lint.meantCalls(space, name);
    if (near.length === 1) return say(`Did you mean ${near[0]}? See api.describe('${near[0]}')`);
    if (near.length) return say(`Did you mean ${near.join(' or ')}?`);
    return say(`There is no ${space}.${name}: ${lint.listed(space)}`);
  }

  // ---- names that nobody declared ------------------------------------------------------------

  // The namespace that is meant, with the method that is asked of it.
  function spaceLike(name, method) {
    const all = [...spaces().keys()].filter((s) => spaces().get(s).size);
    const near = nearest(name, all);
    const space = spaces().get(`${name}s`)?.size ? `${name}s` : name.length > 3 && isNear(near, name) ? near : null;
    return space && `Did you mean ${space}${method && spaces().get(space).has(method) ? `.${method}` : ''}?`;
  }

  function undefinedName(c, name, node) {
    const own = c.functions?.find((f) => f.name === name);
    if (own) return say(`Custom functions are called by customFunctions.${name}(...)`);
    const alias = aliasOf(name);
    if (alias) return say(`Did you mean ${alias}? See api.describe('${alias}')`);
    if (Object.hasOwn(SENTENCES, name)) return say(SENTENCES[name]);
    if (Object.hasOwn(NAMES, name)) return say(`In JavaScript that is ${NAMES[name]}`);
    const inner = node?.[UP]?.type === 'MemberExpression' && !node[UP].computed && node[UP].object === node ? node[UP].property.name : null;
    if (inner && spaces().get(inner)?.size) return say(`${inner} stands by itself: ${inner}.${node[UP][UP].property?.name ?? '...'}, without ${name}`);
    const space = spaceLike(name, inner);
    if (space) return say(space);
    for (const names of [node ? c.scopes.visible(node) : [], [...lint.globals]]) {
      const near = nearest(name, names.filter((other) => other !== name && other.length > 2));
      if (isNear(near, name)) return say(`Did you mean ${near}?`);
    }
    if (node?.[UP]?.type === 'CallExpression' && node[UP].callee === node && (name in Array.prototype || name in String.prototype))
      return say(`Did you mean value.${name}(...)?`);
    for (const [other, methods] of spaces()) if (methods.has(name)) return say(`Did you mean ${other}.${name}?`);
    const outer = node && declaredElsewhere(c, name);
    if (outer) return say(`'${name}' is declared in line ${outer}, in a block that ends before this: declare it outside`);
    return say(`Declare ${name}, or give it by \`context\``);
  }

  function declaredElsewhere(c, name) {
    for (const table of c.scopes.tables.values()) if (table.has(name)) return c.place(table.get(name).node.start)[0];
    return 0;
  }

  // ---- arguments -----------------------------------------------------------------------------

  // A field that the call does not take: 'notes.list knows no field "folder"; it takes ...'.
  function badOption(c, call, message) {
    const [, whose, wrong, list] = /^(\S+) knows no (?:field )?"([^"]*)"; it takes (.*)$/.exec(message) ?? [];
    if (!wrong) return null;
    const name = c.name(call.callee) ?? whose;
    const near = optionMeant(wrong, list.split(/, | and /));
    const describe = `See api.describe('${name}')`;
    if (whose === 'fields') return wrong === 'content' || wrong === 'body' ? 'Lists have no content: (await notes.get(id)).content' : null;
    if (name === 'notes.update' && /^(append|prepend|section|heading|position|mode)$/.test(wrong))
      return `notes.updateSection adds to a section, or replaces it; for the whole: content: note.content + '...'. ${describe}`;
    if (/^notes\.(create|update)$/.test(name) && !near) return `Frontmatter goes into metadata: {${wrong}: ...}. ${describe}`;
    if (name === 'notes.list' && !near && /^(tags?|metadata|status|query|where|filter)$/.test(wrong))
      return 'notes.searchAdvanced takes tags, metadata and more; notes.list takes a type alone';
    return near ? `Did you mean '${near}'? ${describe}` : null;
  }

  // Something in a call's arguments that is a promise, or a property that is not there.
  function badArgument(c, node) {
    const stack = [...(node.arguments ?? [])];
    while (stack.length) {
      const n = unwrap(stack.shift());
      if (!n || isFunction(n)) continue;
      if (/^(Identifier|MemberExpression|CallExpression)$/.test(n.type)) {
        const shape = c.shapes.of(n);
        if (shape.kind === 'promise') return say(awaiting(c, shape, n));
        if (shape.kind === 'absent') return say(absence(c, shape, n.type === 'MemberExpression' ? n.object : originOf(c, n) ?? n));
        if (n.type === 'Identifier') continue;
      }
      if (n.type === 'Property') stack.push(n.value);
      else pushChildren(n, stack);
    }
    return {};
  }

  function notIterable(c, at) {
    const loop = c.nodes.find((n) => n.type === 'ForOfStatement' && n.right.start === at);
    const spread = c.nodes.find((n) => n.type === 'SpreadElement' && nameStart(n.argument) === at);
    const pattern = patternAt(c, at);
    const call = calledAt(c, at);
    const source = loop ? loop.right : spread ? spread.argument : pattern ? takenApart(pattern)?.value : null;
    if (!source) return call ? iterated(c, call) : {};
    return turned(c, source);
  }

  // list.map(undefined)
  function notGiven(c, call) {
    const first = unwrap(call.arguments[0]);
    const found = badArgument(c, call);
    if (found.suggestion || !first) return found;
    const name = call.callee.property?.name ?? text(c, call.callee);
    if (first.type === 'CallExpression') return say(`${text(c, first)} is called at once: ${name}((x) => ${text(c, first)})`);
    return say(`${name} takes a function: ${name}((x) => ...)`);
  }

  // `new Map(x)`, Promise.all(x)
  function iterated(c, call) {
    const first = call.arguments?.[0];
    const found = badArgument(c, call);
    return found.suggestion || !first || first.type === 'SpreadElement' ? found : turned(c, first);
  }

  function turned(c, source) {
    const shape = c.shapes.of(source);
    const found = nothing(c, source);
    if (found.suggestion || found.note) return found;
    if (shape.kind === 'object') {
      const list = [...shape.members].find(([, type]) => type.trim().endsWith('[]'));
      return say(list ? `${who(shape.call)} answers an object: its '${list[0]}' is the array` : `${text(c, source)} is an object: Object.entries(...) goes over its members`);
    }
    if (/^(Literal|TemplateLiteral)$/.test(unwrap(source).type)) return say(`${text(c, source)} is not an array`);
    const [, nothingThere] = /^(undefined|null) is not/.exec(c.message) ?? [];
    if (nothingThere) return text(c, source) === nothingThere ? {} : say(`${text(c, source)} is ${nothingThere} here: test for that first`);
    return say(`${text(c, source)} is not an array: Object.entries(...) goes over an object`);
  }

  // ---- code that is no JavaScript --------------------------------------------------------------

  const SYNTAX = [
    [/^\s*```/m, 'Send the code alone, without the fence of Markdown (```).'],
    [/^\s*(def\s+\w+\s*\(.*\)|class\s+\w+.*|if\s.+|elif\s.+|else|for\s+\w+\s+in\s.+|while\s.+|try|except.*|with\s.+)\s*:\s*$/m, 'That is Python; code here is JavaScript or TypeScript.'],
    [/^\s*(from\s+[\w.]+\s+import\s|import\s+[\w.]+\s*$)/m, 'That is Python; code here is JavaScript or TypeScript, and nothing can be imported.'],
    [/^\s*import\s+.*\sfrom\s+['"]|^\s*import\s+['"]/m, 'Nothing can be imported; the API needs no import: api.describe() lists it.'],
    [/\bf(['"])(?:(?!\1).)*\{/, 'That is Python; in JavaScript a template is `text ${value}`.'],
    [/\b(and|or|not)\s+\w/, 'In JavaScript that is &&, || and !.'],
    [/^\s*(interface\s+\w+|type\s+\w+(<.*>)?\s*=|enum\s+\w+|declare\s)|(?:const|let|var)\s+\w+\s*:\s*[\w<>[\]|{} ]+=|\)\s*:\s*[\w<>[\]|]+\s*(=>|\{)|\bas\s+(const|any|unknown|string|number|[A-Z]\w*)\b|\(\s*\w+\??\s*:\s*[\w<>[\]|]+/m,
      "That is TypeScript: call it with language: 'typescript'."],
    [/^\s*#(?!!)/m, 'Comments begin with //.'],
    [/\bSELECT\b[^]*\bFROM\b/i, "SQL goes into notes.searchSQL({query: 'SELECT ...'}).", null, /^\s*SELECT/i],
    [/^\s*\{\s*"/, 'JSON alone is not code: return it, or put parentheses around it.'],
  ];

  function syntax({ code, line, message, typescript }) {
    const lines = code.split('\n');
    const near = lines.slice(Math.max(0, line - 2), line + 1).join('\n');
    for (const [pattern, advice, said, whole] of SYNTAX) {
      if ((said && !said.test(near)) || (typescript && advice.startsWith('That is TypeScript'))) continue;
      if (whole ? whole.test(code) : pattern.test(near) || pattern.test(lines[0])) return say(advice);
    }
    if (/expecting ';'|Unexpected (token|identifier)|await/.test(message) && /\bawait\b/.test(lines[line - 1] ?? '') && /function|=>/.test(code))
      return say('await is allowed in async functions only: async function ..., async () => ...');
    return {};
  }

  // ---- all of it ------------------------------------------------------------------------------------

  function reason(c, at, message) {
    const property = /^cannot (?:read|set) property '([^']*)' of/.exec(message);
    const missing = /^'?([\w$]+)'? is not defined$/.exec(message);
    const call = calledAt(c, at);
    if (call?.type === 'NewExpression' && /Error$/.test(call.callee.name ?? '')) return {}; // the code's own words
    if (missing) return undefinedName(c, missing[1], c.nodes.find((n) => n.type === 'Identifier' && n.start === at));
    if (/not iterable/.test(message)) return notIterable(c, at);
    if (/was given is not a function$/.test(message)) return call ? notGiven(c, call) : {};
    if (/not a (function|constructor)$/.test(message)) return call ? notFunction(c, call) : {};
    if (property) {
      const pattern = patternAt(c, at);
      const node = lookedAt(c, at, property[1]) ?? lookedAt(c, at, null);
      const source = pattern && !node ? takenApart(pattern) : null;
      if (node) return nothing(c, node.object);
      const target = c.nodes.find((n) => n.type === 'AssignmentExpression' && n.start === at && n.left.type === 'MemberExpression');
      if (target) return nothing(c, target.left.object);
      return source?.value ? nothing(c, source.value) : {};
    }
    if (/ is not initialized$/.test(message)) return tooEarly(c, at);
    if (/is read-only$/.test(message)) return say('It is a constant: declare it with let');
    if (/^could not load module/.test(message)) return say('Nothing can be loaded; the API needs no import: api.describe() lists it');
    if (/^E[A-Z]+: /.test(message)) return say(noFile(message));
    if (call && /JSON\.parse$/.test(text(c, call.callee))) return parsed(c, call);
    if (!call) return {};
    const found = badArgument(c, call);
    return found.suggestion ? found : say(badOption(c, call, message) ?? notInJson(message) ?? badQuery(c, message));
  }

  // What was to be handed over, and JSON does not have.
  const NOT_IN_JSON = {
    NaN: 'Arithmetic with undefined, or with a text that is not a number, gives NaN: test for it first, or give null',
    infinite: 'Test for it first, or give null', 'an invalid date': 'new Date(...) was given a value that is not a date: test for it first, or give null',
    'a function': 'Call it, or leave it out', 'a symbol': 'Leave it out', 'a promise': 'Await it first',
  };
  const notInJson = (message) => NOT_IN_JSON[/ is (.+), which JSON does not have/.exec(message)?.[1]] ?? null;

  // const notes = await notes.list()
  function tooEarly(c, at) {
    const node = c.nodes.find((n) => n.type === 'Identifier' && n.start === at);
    if (node && spaces().get(node.name)?.size) return say(`The variable '${node.name}' hides the API of that name: give it another name`);
    return say('It is used before its declaration');
  }

  function badQuery(c, message) {
    if (/cannot modify|not authorized|readonly/.test(message)) return 'SQL only reads: notes.create, notes.update and notes.delete change notes';
    const near = /no such table: (\w+)/.exec(message)?.[1];
    if (near) return `The tables are notes, tags, metadata, links, hierarchy and types. api.describe('notes.searchSQL') has their columns`;
    // Since 3.46 SQLite asks whether a name in double quotes was meant for a text.
    const column = /no such column: "?(.+?)"?(?: - should this be .*)?$/.exec(message)?.[1];
    if (!column) return null;
    if (c.code.includes(`"${column}"`)) return `In SQL a text is in single quotes: '${column}'`;
    return `api.describe('notes.searchSQL') has the columns of all tables; a key of a note's own is json_extract(metadata, '$.${column}')`;
  }

  // fs, whose files are the evaluation's own.
  function noFile(message) {
    const [, code, path] = /^(E[A-Z]+): .*?'([^']*)'/.exec(message) ?? [];
    if (code !== 'ENOENT') return null;
    if (/\.md$|^\/?vault\b/.test(path)) return 'fs has files of this evaluation alone; notes are read with notes.get, and listed with notes.list';
    return /\/[^/]/.test(path) ? 'fs has files of this evaluation alone; fs.mkdir(folder, {recursive: true}) makes the folders of a path' : 'fs has files of this evaluation alone: those that it has written';
  }

  function parsed(c, call) {
    const found = badArgument(c, call);
    const shape = c.shapes.of(call.arguments[0]);
    if (found.suggestion) return found;
    if (shape.kind !== 'string' && shape.kind !== 'any') return say(`${text(c, call.arguments[0])} is a value already: it needs no JSON.parse`);
    if (call.arguments[0]?.type === 'Literal') return say('JSON wants its names and texts in double quotes');
    if (/content$/.test(text(c, call.arguments[0]))) return say('A note is Markdown: its frontmatter is read already, as note.metadata');
    return {};
  }

  return function explain(question) {
    const c = new Check(question.code, ~0, question.own);
    checked = c;
    if (/^\s*```/.test(question.code) || !lint.parse(c)) return syntax(question);
    lint.gather(c);
    if (c.nodes.some((n) => /^(Import|Export)\w*Declaration$/.test(n.type))) return say('Nothing can be imported or exported; the API needs no import: api.describe() lists it');
    const at = question.line ? offsetOf(c, question.line, question.column) : -1;
    c.message = question.message;
    return reason(c, at, question.message);
  };
});
