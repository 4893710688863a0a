// Typed arrays: CRC-32, SHA-256, a picture of the Mandelbrot set, a matrix, a sort.
const bytes = new Uint8Array(16384);
for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 31 + (i >> 5)) & 255;

const crcTable = new Uint32Array(256);
for (let i = 0; i < 256; i++) {
  let c = i;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  crcTable[i] = c;
}
let crc = -1;
for (let i = 0; i < bytes.length; i++) crc = crcTable[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);

const K = new Uint32Array(64), H = new Uint32Array(8);
for (let n = 2, i = 0; i < 64; n++) {
  let prime = true;
  for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
  if (!prime) continue;
  K[i] = (Math.cbrt(n) % 1) * 0x100000000;
  if (i < 8) H[i] = (Math.sqrt(n) % 1) * 0x100000000;
  i++;
}
const W = new Uint32Array(64), view = new DataView(bytes.buffer);
for (let at = 0; at + 64 <= 6144; at += 64) {
  for (let i = 0; i < 16; i++) W[i] = view.getUint32(at + i * 4);
  for (let i = 16; i < 64; i++) {
    const x = W[i - 15], y = W[i - 2];
    W[i] = W[i - 16] + W[i - 7] + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3) +
      ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10);
  }
  let [a, b, c, d, e, f, g, h] = H;
  for (let i = 0; i < 64; i++) {
    const t = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + K[i] + W[i] | 0;
    const u = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0;
    h = g; g = f; f = e; e = d + t | 0; d = c; c = b; b = a; a = t + u | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((x, i) => { H[i] += x; });
}

const side = 56, picture = new Uint8ClampedArray(side * side);
for (let y = 0; y < side; y++)
  for (let x = 0; x < side; x++) {
    let re = 0, im = 0, n = 0;
    for (; n < 40 && re * re + im * im < 4; n++)
      [re, im] = [re * re - im * im + x / side * 3 - 2, 2 * re * im + y / side * 2 - 1];
    picture[y * side + x] = n * 7;
  }
const floats = new Float64Array(6000).map((_, i) => Math.sin(i) * 1000).sort();
let sum = 0;
for (const p of picture) sum += p;
const copy = new Float32Array(floats.subarray(100, 5000)).reverse();
return [crc >>> 0, Array.from(H, (x) => x.toString(16)).join(''), sum, Math.floor(floats[99]), Math.floor(copy[7])].join(' ');
