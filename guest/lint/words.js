// Which name is meant by one that is not there, and what other places call otherwise: other
// APIs of notes, Python, Node.js, browsers.
(function () {
  'use strict';

  // ---- names that are meant ------------------------------------------------------------

  // Letters to be put in, taken out, replaced, or changed with their neighbour.
  function distance(a, b) {
    let before = [];
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let k = 1; k <= b.length; k++) {
        next[k] = Math.min(row[k] + 1, next[k - 1] + 1, row[k - 1] + (a[i - 1] === b[k - 1] ? 0 : 1));
        if (i > 1 && k > 1 && a[i - 1] === b[k - 2] && a[i - 2] === b[k - 1]) next[k] = Math.min(next[k], before[k - 2] + 1);
      }
      [before, row] = [row, next];
    }
    return row[b.length];
  }

  function nearest(wrong, names) {
    let best = null;
    let least = Math.max(2, Math.floor(wrong.length / 3)) + 1;
    for (const name of names) {
      const far = distance(wrong.toLowerCase(), name.toLowerCase());
      if (far < least) [best, least] = [name, far];
    }
    return best;
  }

  // A slip of the fingers, and not another word.
  const isNear = (near, name) => near !== null && name.length > 2 &&
    distance(near.toLowerCase(), name.toLowerCase()) <= (name.length > 6 ? 2 : 1);
  const ALIASES = {
    content: ['body', 'text', 'markdown', 'raw', 'contents', 'value'], metadata: ['frontmatter', 'frontMatter', 'meta', 'fm', 'data', 'attributes', 'fields'],
    tags: ['tag', 'labels', 'keywords'], title: ['name', 'heading', 'label'], id: ['slug', 'identifier', 'noteId', 'note_id', 'key', '_id'],
    content_hash: ['hash', 'contentHash', 'etag', 'version'], created: ['createdAt', 'created_at', 'date', 'ctime', 'created_on'],
    updated: ['updatedAt', 'updated_at', 'modified', 'modifiedAt', 'modified_at', 'mtime', 'lastModified', 'last_modified'],
    type: ['typeName', 'type_name', 'noteType', 'category', 'kind', 'class', 'folder'], path: ['file', 'filepath', 'filePath', 'file_path'],
    excerpt: ['snippet', 'match', 'preview', 'highlight', 'context'], score: ['rank', 'relevance'], source_note_id: ['source', 'from', 'id', 'note_id'],
    target_note_id: ['target_id', 'to', 'target'], noteId: ['id', 'note_id'], child_id: ['id', 'child', 'note_id'], parent_id: ['parent', 'id'], results: ['items', 'hits', 'notes', 'data', 'rows'],
    rows: ['results', 'items', 'data'], noteCount: ['count', 'note_count', 'notes'], metadata_schema: ['schema', 'metadataSchema', 'fields', 'properties'], new_id: ['id', 'newId'],
  };
  // Which of `members` is meant by a name that is not there; null.
  function meant(wrong, members) {
    for (const name of members.keys()) if (ALIASES[name]?.includes(wrong)) return name;
    const near = nearest(wrong, members.keys());
    return isNear(near, wrong) ? near : null;
  }

  // Of a call's options.
  const OPTIONS = {
    identifier: ['id', 'noteId', 'note_id', 'path', 'note'], query: ['q', 'text', 'search', 'term', 'keyword', 'sql'], content: ['body', 'text', 'contents'],
    metadata: ['frontmatter', 'meta', 'properties', 'fm'], typeName: ['folder', 'category', 'note_type', 'noteType'], type: ['types', 'category', 'folder', 'note_type', 'noteType'],
    new_title: ['title', 'newTitle', 'name', 'new_name', 'newName'], new_type: ['type', 'newType', 'typeName', 'to'], parent_id: ['parent', 'parentId'], child_id: ['child', 'childId'],
    child_ids: ['children', 'childIds', 'order'], note_id: ['id', 'noteId', 'identifier'], type_name: ['name', 'typeName', 'type'], key: ['field', 'name', 'property'], operator: ['op', 'operation'],
    order: ['sort', 'sortBy', 'orderBy', 'direction'], sort: ['orderBy', 'order', 'sortBy', 'order_by'], limit: ['max', 'count', 'size', 'first', 'top', 'maxResults'], contentHash: ['hash', 'version', 'etag'],
    useRegex: ['regex', 'regexp'], max_results: ['limit', 'max'], start_note_id: ['from', 'start', 'source'], end_note_id: ['to', 'end', 'target'], metadata_schema: ['schema', 'fields'],
    title: ['name'], confirm: ['force', 'yes'], cursor: ['offset', 'page', 'after'],
  };
  function optionMeant(wrong, options) {
    for (const name of options) if (OPTIONS[name]?.includes(wrong)) return name;
    const near = nearest(wrong, options);
    return isNear(near, wrong) || (near && near.replace(/_/g, '').toLowerCase() === wrong.replace(/_/g, '').toLowerCase()) ? near : null;
  }

  // ---- what other places call otherwise ----------------------------------------------

  const METHODS = {
    append: 'push', add: 'push', extend: 'push(...items)', insert: 'splice', remove: 'filter', contains: 'includes',
    startswith: 'startsWith', endswith: 'endsWith', strip: 'trim', lstrip: 'trimStart', rstrip: 'trimEnd', lower: 'toLowerCase',
    upper: 'toUpperCase', items: 'Object.entries(value)', each: 'forEach', collect: 'map', select: 'filter',
    first: '[0]', last: 'at(-1)', count: 'length', size: 'length', len: 'length', isEmpty: 'length === 0',
    unique: '[...new Set(list)]', uniq: '[...new Set(list)]', sum: 'reduce', groupBy: 'Object.groupBy(list, (x) => ...)', sortBy: 'sort((a, b) => ...)', pluck: 'map',
    format: 'a template: `${value}`', isdigit: '/^\\d+$/.test(text)', splitlines: "split('\\n')", toList: '[...value]', toArray: '[...value]',
  };
  const ARRAY_ONLY = new Set(['append', 'add', 'extend', 'insert', 'remove', 'each', 'collect', 'select', 'first', 'last', 'unique', 'uniq', 'sum',
    'groupBy', 'sortBy', 'pluck']);
  const NAMES = {
    print: 'console.log(...)', puts: 'console.log(...)', echo: 'console.log(...)', alert: 'console.log(...)', log: 'console.log(...)',
    len: 'value.length', str: 'String(value)', int: 'Number(text)', float: 'Number(text)', range: 'Array.from({length: n}, (_, i) => i)',
    None: 'null', nil: 'null', NULL: 'null', True: 'true', False: 'false', sum: 'list.reduce((a, b) => a + b, 0)', sorted: 'list.toSorted(...)', dict: '{}',
    enumerate: 'list.entries()', isinstance: 'instanceof, or typeof', any: 'list.some(...)', all: 'list.every(...)', self: 'this',
    min: 'Math.min(...)', max: 'Math.max(...)', abs: 'Math.abs(...)', round: 'Math.round(...)', sprintf: 'a template: `${value}`', uuid: 'crypto.randomUUID()',
    setImmediate: 'queueMicrotask(...)', delay: 'sleep(ms)', wait: 'sleep(ms)',
  };
  const SENTENCES = {
    fetch: "The network is available only with enableNetwork, to hosts that the person's policy names.",
    axios: "There is fetch, with enableNetwork, where the person's policy names the host.",
    XMLHttpRequest: "There is fetch, with enableNetwork, where the person's policy names the host.",
    fs: 'Files are available only with enableFileSystem; read notes with notes.get.',
    open: 'Files are available only with enableFileSystem; read notes with notes.get.',
    path: 'There is no module path; ids are texts such as \'meeting/Standup\', to be split at the slash.',
    os: 'There is no operating system here; api.describe() lists the API.',
    require: 'Nothing can be loaded; api.describe() lists the API.',
    process: 'There is no process; pass values in `context`.',
    Deno: 'This is not Deno; api.describe() lists the API.', Bun: 'This is not Bun; api.describe() lists the API.',
    __dirname: 'There are no files around the code; notes are read with notes.get.',
    globalThis: 'There is no global object; declare what you need.', global: 'There is no global object; declare what you need.',
    window: 'This is not a browser; api.describe() lists the API.', document: 'This is not a browser; api.describe() lists the API.',
    localStorage: 'What is to last goes into notes, or into a session.', Buffer: 'Uint8Array, TextEncoder and TextDecoder are there.',
    _: 'lodash is not there; arrays have map, filter, toSorted, and Object.groupBy groups.', lodash: 'lodash is not there; arrays have map, filter, toSorted, and Object.groupBy groups.',
    moment: 'There are Date and utils.formatDate(date, pattern).', dayjs: 'There are Date and utils.formatDate(date, pattern).',
    DateTime: 'There are Date and utils.formatDate(date, pattern).', datetime: 'There are Date and utils.formatDate(date, pattern).',
    yaml: 'Frontmatter is read already: note.metadata.', YAML: 'Frontmatter is read already: note.metadata.', matter: 'Frontmatter is read already: note.metadata.',
    json: "JSON is spelt in capitals: JSON.parse, JSON.stringify.", math: 'It is spelt Math.', date: 'It is spelt Date.', re: 'Regular expressions are written /.../.',
    app: 'This is not Obsidian; notes.get, notes.list and notes.search are there.', dv: 'This is not Dataview; notes.searchAdvanced and notes.searchSQL are there.',
    tp: 'This is not Templater; notes.create and utils.formatDate are there.', input: 'Values come in by `context`; each of its keys is a variable.',
    args: 'Values come in by `context`; each of its keys is a variable.', arguments: 'Values come in by `context`; each of its keys is a variable.',
    params: 'Values come in by `context`; each of its keys is a variable.', host: 'host.call is for run_script; here are notes.get, notes.list and others: api.describe() lists them.',
    db: 'notes.searchSQL({query}) asks in SQL.', tags: "notes.searchSQL('SELECT tag, count(*) AS n FROM tags GROUP BY tag') lists all tags.",
    functions: 'Custom functions are called by customFunctions.name(...).', customFunction: 'Custom functions are called by customFunctions.name(...).',
    Temporal: 'Temporal is not there; Date, Intl.DateTimeFormat and utils.formatDate(date, pattern) are.',
    ...Object.fromEntries(['Blob', 'File', 'FileReader', 'FormData', 'DOMParser', 'XMLSerializer', 'Image', 'Worker', 'WebSocket', 'EventSource', 'BroadcastChannel', 'MessageChannel',
      'ReadableStream', 'WritableStream', 'TransformStream', 'CompressionStream', 'indexedDB', 'sessionStorage', 'navigator', 'location', 'history', 'screen', 'self',
      'requestAnimationFrame', 'prompt', 'confirm', 'cheerio', 'puppeteer', 'child_process', 'WebAssembly'].map((name) => [name, `${name} is not there; api.describe() lists the API.`])),
    importScripts: 'Nothing can be loaded; api.describe() lists the API.', module: 'The result is what the code returns.', exports: 'The result is what the code returns.',
  };

  // What code has of Intl (guest/intl).
  const INTL = ['Collator', 'DateTimeFormat', 'ListFormat', 'Locale', 'NumberFormat', 'PluralRules', 'RelativeTimeFormat', 'Segmenter', 'getCanonicalLocales', 'supportedValuesOf'];

  return { nearest, isNear, meant, optionMeant, METHODS, ARRAY_ONLY, INTL, NAMES, SENTENCES };
})()
