// Places for the notes of a graph: links pull, near notes push each other away, all are drawn to the middle. A step is
// one round over all notes; pushes are only of notes in the same and the next fields of a grid, so a round is linear.
export interface Layout {
  readonly x: Float64Array; readonly y: Float64Array; readonly degree: Uint32Array; readonly from: Uint32Array; readonly to: Uint32Array;
  readonly byDegree: number[]; // the most linked first
  step: () => boolean; // false: it is done
}

const ROUNDS = 260;
const REACH = 60; // how far a push goes
const LINK = 28; // how long a link likes to be
const FIELD_MAX = 24; // notes of a field that push: a crowd does not cost more

export function layOut(count: number, pairs: number[][]): Layout {
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  const dx = new Float64Array(count);
  const dy = new Float64Array(count);
  const degree = new Uint32Array(count);
  const ends: [number, number][] = [];
  for (const [of, ...others] of pairs) for (const other of others) if (of !== other) { ends.push([of, other]); degree[of]++; degree[other]++; }
  const from = Uint32Array.from(ends, ([a]) => a);
  const to = Uint32Array.from(ends, ([, b]) => b);
  for (let i = 0; i < count; i++) { // a spiral of even density: the same picture each time
    const turn = i * 2.399963;
    const far = 14 * Math.sqrt(i);
    x[i] = far * Math.cos(turn);
    y[i] = far * Math.sin(turn);
  }
  let round = 0;
  const push = (a: number, b: number, heat: number) => {
    let ex = x[a] - x[b];
    let ey = y[a] - y[b];
    let d = ex * ex + ey * ey;
    if (d > REACH * REACH) return;
    if (d < 0.01) { ex = (a % 7) - 3 || 1; ey = (b % 5) - 2 || 1; d = ex * ex + ey * ey; }
    const force = (heat * 420) / (d + 30);
    dx[a] += ex * force * 0.1; dy[a] += ey * force * 0.1;
    dx[b] -= ex * force * 0.1; dy[b] -= ey * force * 0.1;
  };
  const step = (): boolean => {
    if (round++ >= ROUNDS) return false;
    const heat = 1 - round / (ROUNDS + 1);
    dx.fill(0);
    dy.fill(0);
    const fields = new Map<number, number[]>();
    const keyOf = (fx: number, fy: number): number => fx * 100003 + fy;
    for (let i = 0; i < count; i++) {
      const key = keyOf(Math.floor(x[i] / REACH), Math.floor(y[i] / REACH));
      const list = fields.get(key);
      if (list) list.push(i);
      else fields.set(key, [i]);
    }
    for (let i = 0; i < count; i++) {
      const fx = Math.floor(x[i] / REACH);
      const fy = Math.floor(y[i] / REACH);
      for (let ox = 0; ox <= 1; ox++) for (let oy = ox ? -1 : 0; oy <= 1; oy++) {
        const others = fields.get(keyOf(fx + ox, fy + oy));
        if (!others) continue;
        const skip = Math.max(1, Math.ceil(others.length / FIELD_MAX));
        for (let k = (i + round) % skip; k < others.length; k += skip) {
          const j = others[k];
          if (ox || oy || j > i) push(i, j, heat * skip);
        }
      }
    }
    for (let l = 0; l < from.length; l++) {
      const [a, b] = [from[l], to[l]];
      const [ex, ey] = [x[b] - x[a], y[b] - y[a]];
      const d = Math.sqrt(ex * ex + ey * ey) || 1;
      const pull = ((d - LINK) / d) * 0.5;
      const share = degree[b] / (degree[a] + degree[b]);
      dx[a] += ex * pull * share; dy[a] += ey * pull * share;
      dx[b] -= ex * pull * (1 - share); dy[b] -= ey * pull * (1 - share);
    }
    for (let i = 0; i < count; i++) {
      const most = 30 * heat + 1;
      const vx = dx[i] - x[i] * 0.012;
      const vy = dy[i] - y[i] * 0.012;
      const v = Math.sqrt(vx * vx + vy * vy) || 1;
      const k = Math.min(v, most) / v;
      x[i] += vx * k;
      y[i] += vy * k;
    }
    return true;
  };
  const byDegree = Array.from({ length: count }, (_, i) => i).sort((a, b) => degree[b] - degree[a]);
  return { x, y, degree, from, to, byDegree, step };
}
