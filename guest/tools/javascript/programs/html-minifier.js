'use strict';
const pkg = require('../node_modules/html-minifier-terser/package.json');

const SAMPLE = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title> A  title </title><style> p { color : red } </style>
<script type="text/javascript">var a = 1; function f() { return a + 1 }</script><link rel="stylesheet" href="a.css" type="text/css"></head>
<body class="b  a"><!-- note --><p style="color: red;" onclick="f(); return false;">Text <b>bold</b> &amp; <a href="http://example.com/x">link</a></p>
<input type="text" disabled="disabled" value=""><ul><li>1</li><li>2</li></ul><pre>  kept </pre><table><tr><td>x</td></tr></table></body></html>`;

addProgram('html-minifier', {
  files: { '/node_modules/html-minifier-terser/package.json': JSON.stringify(pkg) },
  async warm() {
    const { minify } = require('../node_modules/html-minifier-terser/src/htmlminifier.js');
    await minify(SAMPLE, {
      collapseWhitespace: true, removeComments: true, minifyCSS: true, minifyJS: true, minifyURLs: 'http://example.com/',
      removeOptionalTags: true, removeAttributeQuotes: true, collapseBooleanAttributes: true, sortAttributes: true, sortClassName: true,
    });
  },
  start: () => require('../node_modules/html-minifier-terser/cli.js'),
});
