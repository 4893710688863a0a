// Arrays: filled, sorted, mapped, spliced; a sieve, a matrix, a queue.
let seed = 7;
const random = (n) => {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return (seed >> 8) % n;
};

const numbers = [];
for (let i = 0; i < 20000; i++) numbers.push(random(100000));
const sorted = numbers.slice().sort((a, b) => a - b);
const sums = numbers.map((x) => x * 2).filter((x) => x % 3 === 0).reduce((a, x) => (a + x) | 0, 0);

const composite = new Array(60000).fill(false);
let primes = 0;
for (let i = 2; i < composite.length; i++) {
  if (composite[i]) continue;
  primes++;
  for (let k = i * 2; k < composite.length; k += i) composite[k] = true;
}

const size = 40;
const matrix = (f) => Array.from({ length: size }, (_, y) => Array.from({ length: size }, (_, x) => f(x, y)));
const a = matrix((x, y) => x + y), b = matrix((x, y) => x * y % 7);
let trace = 0;
for (let y = 0; y < size; y++)
  for (let x = 0; x < size; x++) {
    let cell = 0;
    for (let k = 0; k < size; k++) cell += a[y][k] * b[k][x];
    if (x === y) trace += cell;
  }

const queue = [];
let served = 0;
for (let i = 0; i < 3000; i++) {
  queue.push(i, i + 1);
  if (i % 3) served += queue.shift();
}
const list = [];
for (let i = 0; i < 1500; i++) list.splice(list.length >> 1, 0, i);
for (let i = 0; i < 700; i++) list.splice(i, 1);
const groups = Object.groupBy ? Object.groupBy(numbers.slice(0, 3000), (x) => x % 10) : {};
const flat = [...numbers.slice(0, 2000), ...sorted.slice(-2000)].flatMap((x) => [x, -x]);
return [sorted[10000], sums, primes, trace, served, list.indexOf(1499), Object.keys(groups).length,
  flat.length, sorted.includes(numbers[5]), sorted.findLastIndex((x) => x < 500)].join(' ');
