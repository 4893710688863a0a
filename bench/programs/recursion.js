// Calls that call themselves: fib, eight queens, Hanoi, a deep sum.
function fib(n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

function queens(n, row, columns, left, right) {
  if (row === n) return 1;
  let found = 0;
  for (let c = 0; c < n; c++) {
    const bit = 1 << c, l = 1 << (row + c), r = 1 << (row - c + n);
    if (columns & bit || left & l || right & r) continue;
    found += queens(n, row + 1, columns | bit, left | l, right | r);
  }
  return found;
}

function hanoi(n, from, to, by) {
  return n === 0 ? 0 : hanoi(n - 1, from, by, to) + 1 + hanoi(n - 1, by, to, from);
}

const sum = (n) => (n === 0 ? 0 : n + sum(n - 1));

let deep = 0;
for (let i = 0; i < 300; i++) deep += sum(500);
return [fib(26), queens(8, 0, 0, 0, 0), hanoi(16, 'a', 'b', 'c'), deep].join(' ');
