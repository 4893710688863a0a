'use strict';
const pkg = require('../node_modules/svgo/package.json');

const SAMPLE = `<?xml version="1.0"?><!-- drawn --><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="100" height="100" viewBox="0 0 100 100">
<style>.a{fill:#ff0000;stroke:none} g > path:hover { opacity: .5 }</style><defs><linearGradient id="g"><stop offset="0"/></linearGradient></defs>
<g transform="translate(10 10) rotate(45)"><path class="a" d="M 10 10 L 20.00001 20 C 1 2 3 4 5 6 Q 7 8 9 10 A 5 5 0 0 1 20 20 Z"/><rect x="0" y="0" width="10" height="10" fill="rgb(0, 128, 0)"/></g>
<use xlink:href="#g"/><text x="1">é</text><circle cx="5" cy="5" r="2" style="fill: url(#g)"/></svg>`;

addProgram('svgo', {
  files: { '/node_modules/svgo/package.json': JSON.stringify(pkg) },
  warm() {
    const { optimize } = require('../node_modules/svgo/lib/svgo-node.js');
    require('../node_modules/svgo/lib/svgo/coa.js');
    optimize(SAMPLE, { multipass: true });
    optimize(SAMPLE, { js2svg: { pretty: true } });
  },
  start: () => require('../node_modules/svgo/bin/svgo.js'),
});
