// A small language: tokens, a parser by recursive descent, and two ways to run it.
const source = `
let total = 0; let i = 0;
fn square(x) { x * x }
fn gcd(a, b) { if b == 0 { a } else { gcd(b, a - (a / b) * b) } }
while i < 60 { total = total + square(i) - gcd(i * 6, 84) * (i + 3) / 2; i = i + 1; }
total`;

function tokenize(text) {
  const tokens = [];
  let at = 0;
  while (at < text.length) {
    const c = text[at];
    if (c === ' ' || c === '\n') { at++; continue; }
    let end = at + 1;
    if (c >= '0' && c <= '9') {
      while (text[end] >= '0' && text[end] <= '9') end++;
      tokens.push({ kind: 'number', value: Number(text.slice(at, end)), at });
    } else if (c >= 'a' && c <= 'z') {
      while (text[end] >= 'a' && text[end] <= 'z') end++;
      tokens.push({ kind: 'name', value: text.slice(at, end), at });
    } else {
      if (c === '=' && text[end] === '=') end++;
      tokens.push({ kind: 'sign', value: text.slice(at, end), at });
    }
    at = end;
  }
  tokens.push({ kind: 'end', value: '', at });
  return tokens;
}

class Parser {
  constructor(text) {
    this.tokens = tokenize(text);
    this.next = 0;
  }
  peek() { return this.tokens[this.next].value; }
  take(value) {
    const token = this.tokens[this.next++];
    if (value !== undefined && token.value !== value) throw new SyntaxError(`'${value}' at ${token.at}, not '${token.value}'`);
    return token;
  }
  accept(value) { return this.peek() === value && (this.next++, true); }
  block(end) {
    const body = [];
    while (this.peek() !== end) {
      body.push(this.statement());
      this.accept(';');
    }
    this.take(end);
    return { type: 'block', body };
  }
  braces() { this.take('{'); return this.block('}'); }
  statement() {
    if (this.accept('let')) return this.assignment();
    if (this.accept('while')) return { type: 'while', test: this.expression(0), body: this.braces() };
    if (this.accept('fn')) {
      const name = this.take().value, names = [];
      this.take('(');
      while (!this.accept(')')) { names.push(this.take().value); this.accept(','); }
      return { type: 'fn', name, names, body: this.braces() };
    }
    if (this.tokens[this.next].kind === 'name' && this.tokens[this.next + 1].value === '=') return this.assignment();
    return this.expression(0);
  }
  assignment() {
    const name = this.take().value;
    this.take('=');
    return { type: 'set', name, value: this.expression(0) };
  }
  expression(least) {
    let left = this.primary();
    for (;;) {
      const sign = this.peek(), rank = Parser.ranks[sign] ?? 0;
      if (rank <= least) return left;
      this.next++;
      left = { type: 'binary', sign, left, right: this.expression(rank) };
    }
  }
  primary() {
    if (this.accept('(')) { const inner = this.expression(0); this.take(')'); return inner; }
    if (this.accept('if')) {
      const test = this.expression(0), yes = this.braces();
      return { type: 'if', test, yes, no: this.accept('else') ? this.braces() : null };
    }
    const token = this.take();
    if (token.kind === 'number') return { type: 'number', value: token.value };
    if (token.kind !== 'name') throw new SyntaxError(`'${token.value}' at ${token.at} begins no value`);
    if (!this.accept('(')) return { type: 'get', name: token.value };
    const args = [];
    while (!this.accept(')')) { args.push(this.expression(0)); this.accept(','); }
    return { type: 'call', name: token.value, args };
  }
  static ranks = { '==': 1, '<': 2, '+': 3, '-': 3, '*': 4, '/': 4 };
}

const operate = {
  '==': (a, b) => a === b, '<': (a, b) => a < b, '+': (a, b) => a + b, '-': (a, b) => a - b,
  '*': (a, b) => a * b, '/': (a, b) => Math.trunc(a / b),
};

function run(node, scope) {
  switch (node.type) {
    case 'number': return node.value;
    case 'get': return scope.get(node.name);
    case 'set': scope.set(node.name, run(node.value, scope)); return 0;
    case 'fn': scope.set(node.name, node); return 0;
    case 'binary': return operate[node.sign](run(node.left, scope), run(node.right, scope));
    case 'if': return run(node.test, scope) ? run(node.yes, scope) : node.no ? run(node.no, scope) : 0;
    case 'while': { while (run(node.test, scope)) run(node.body, scope); return 0; }
    case 'block': { let last = 0; for (const one of node.body) last = run(one, scope); return last; }
    case 'call': {
      const f = scope.get(node.name), inner = new Map([[node.name, f]]);
      f.names.forEach((name, i) => inner.set(name, run(node.args[i], scope)));
      return run(f.body, inner);
    }
  }
}

// The same as closures: what is known of a node is decided once.
function compile(node) {
  switch (node.type) {
    case 'number': return () => node.value;
    case 'get': return (scope) => scope[node.name];
    case 'set': { const value = compile(node.value); return (scope) => { scope[node.name] = value(scope); return 0; }; }
    case 'fn': { const body = compile(node.body); return (scope) => { scope[node.name] = { body, names: node.names }; return 0; }; }
    case 'binary': {
      const left = compile(node.left), right = compile(node.right), f = operate[node.sign];
      return (scope) => f(left(scope), right(scope));
    }
    case 'if': {
      const test = compile(node.test), yes = compile(node.yes), no = node.no ? compile(node.no) : () => 0;
      return (scope) => (test(scope) ? yes(scope) : no(scope));
    }
    case 'while': {
      const test = compile(node.test), body = compile(node.body);
      return (scope) => { while (test(scope)) body(scope); return 0; };
    }
    case 'block': {
      const body = node.body.map(compile);
      return (scope) => { let last = 0; for (const one of body) last = one(scope); return last; };
    }
    case 'call': {
      const args = node.args.map(compile);
      return (scope) => {
        const f = scope[node.name], inner = { [node.name]: f };
        f.names.forEach((name, i) => { inner[name] = args[i](scope); });
        return f.body(inner);
      };
    }
  }
}

let check = 0, tokens = 0;
for (let round = 0; round < 16; round++) {
  const parser = new Parser(source + ' + ' + round);
  const tree = parser.block('');
  tokens += parser.tokens.length;
  check += run(tree, new Map()) + compile(tree)({});
}
let failure = '';
try { new Parser('let x = ;;').block('}'); } catch (e) { failure = e.constructor.name; }
return [check, tokens, failure].join(' ');
