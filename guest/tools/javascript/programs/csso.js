'use strict';
const pkg = require('../node_modules/csso/package.json');

const SAMPLE = `@charset "utf-8"; @import url("a.css") print; :root { --x: 1px } /*! kept */
.a, #b > .c:not(:hover)::before { color: #ff0000; margin: 0px 0px 0px 0px; background: url("x.png") no-repeat }
@media (min-width: 100px) and (max-width: calc(100% - 2em)) { .a { color: red; font: bold 12px/1.5 "Arial", serif } .d {} }
@font-face { font-family: x; src: local(x) } @keyframes k { from { top: 0 } 50.0% { top: .50em } } .a { color: #ff0000 } .e{color:red}`;

addProgram('csso', {
  files: { '/node_modules/csso/package.json': JSON.stringify(pkg) },
  warm() {
    const csso = require('../node_modules/csso/cjs/index.cjs');
    require('../node_modules/csso-cli/lib/index.js');
    csso.minify(SAMPLE, { sourceMap: true, filename: 'a.css', forceMediaMerge: true });
  },
  start: () => require('../node_modules/csso-cli/bin/csso'),
});
