'use strict';
const pkg = require('../node_modules/asciidoctor/package.json');
const core = require('../node_modules/@asciidoctor/core/package.json');
const syntax = require('../node_modules/asciidoctor/data/reference/syntax.adoc');

const SAMPLE = `= Title: A Subtitle
Author Name <a@example.com>
v1.0, 2020-01-01
:toc: left
:icons: font
:sectnums:

Preamble with *bold*, _italic_, \`mono\`, #mark#, ^sup^, ~sub~, link:a.html[text], https://example.com[site], <<one>> and a footnote:[note].

[[one]]
== Section & more

* item
** nested
. ordered
term:: description
* [x] done

NOTE: An admonition.

[source,js,linenums]
----
const a = 1; // <1>
----
<1> a callout

|===
|A |B

|1 |2
|===

[quote,Someone]
____
words
____

image::a.png[alt,100] ifdef::x[y]

====
example
====

[horizontal]
a:: b

'''

pass:[<b>] +++<i>+++ {author} (C) ... -- "\`quoted\`" kbd:[Ctrl] stem:[x^2]
`;

addProgram('asciidoctor', {
  files: {
    '/node_modules/asciidoctor/package.json': JSON.stringify(pkg),
    '/node_modules/asciidoctor/data/reference/syntax.adoc': syntax,
    '/node_modules/@asciidoctor/core/package.json': JSON.stringify(core),
  },
  async warm() {
    const { convert } = require('../node_modules/@asciidoctor/core/src/index.js');
    require('../node_modules/asciidoctor/lib/cli.js');
    for (const backend of ['html5', 'docbook5']) await convert(SAMPLE, { backend, standalone: true, safe: 'safe' });
  },
  start: () => require('../node_modules/asciidoctor/lib/cli.js').run(),
});
