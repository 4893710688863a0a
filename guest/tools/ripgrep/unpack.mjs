// Writes the module that npm's package holds: node unpack.mjs PACKAGE OUT.
import { writeFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';

const [, , folder, out] = process.argv;
const { getCompressedBytes } = await import(folder + '/lib/_rg.wasm.mjs');
writeFileSync(out, brotliDecompressSync(getCompressedBytes()));
