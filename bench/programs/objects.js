// Objects made, read, changed and dropped: classes, closures, trees, maps.
class Shape {
  #id;
  constructor(id) { this.#id = id; }
  get id() { return this.#id; }
  area() { return 0; }
}
class Box extends Shape {
  constructor(id, w, h) {
    super(id);
    this.w = w;
    this.h = h;
  }
  area() { return this.w * this.h; }
}
class Disc extends Shape {
  constructor(id, r) {
    super(id);
    this.r = r;
  }
  area() { return 3 * this.r * this.r; }
}

function insert(node, key) {
  if (!node) return { key, left: null, right: null, count: 1 };
  if (key === node.key) node.count++;
  else if (key < node.key) node.left = insert(node.left, key);
  else node.right = insert(node.right, key);
  return node;
}
const depth = (node) => (node ? 1 + Math.max(depth(node.left), depth(node.right)) : 0);

const counter = () => {
  let n = 0;
  return { add: (by) => (n += by), read: () => n };
};

let area = 0;
for (let i = 0; i < 24000; i++) {
  const shape = i % 2 ? new Box(i, i % 7, i % 11) : new Disc(i, i % 5);
  area += shape.area() + (shape.id & 1);
}

let seed = 42, tree = null;
for (let i = 0; i < 9000; i++) {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  tree = insert(tree, (seed >> 8) % 3000);
}

const counters = Array.from({ length: 50 }, counter);
for (let i = 0; i < 20000; i++) counters[i % 50].add(i % 3);
let total = 0;
for (const c of counters) total += c.read();

const byName = new Map(), bag = {};
for (let i = 0; i < 12000; i++) {
  const name = 'k' + (i % 500);
  byName.set(name, (byName.get(name) ?? 0) + i);
  bag[name] = (bag[name] || 0) + 1;
}
let merged = 0;
for (let i = 0; i < 3000; i++) {
  const { a, ...rest } = { a: i, b: i + 1, c: i + 2, ...{ d: 4 } };
  merged += a + rest.b + rest.d;
}
return [area, depth(tree), total, byName.get('k7'), Object.keys(bag).length, merged].join(' ');
