"""Mistakes that models make in code over the sample vault, and what they are told.

FAILURES and FAILURES_TYPESCRIPT: (code, what the error begins with, (line, column) or None,
a part of the suggestion or None: there must be none). SILENT: code that succeeds and yet is
wrong, and a part of each warning that it gets."""

FAILURES = [
    ("const n = notes.get('project/greenhouse');\n"
     "return n.content.length",
     "TypeError", (2, 18), "notes.get answers a promise, which is not awaited: await"),
    ("for (const r of notes.list()) { console.log(r.id) }",
     "TypeError", (1, 17),
     "notes.list answers a promise, which is not awaited: (await notes.list())"),
    ("const rows = notes.list();\n"
     "return rows.map((r) => r.id)",
     "TypeError", (2, 13),
     "notes.list answers a promise, which is not awaited: await notes.list()"),
    ("return notes.list().map((r) => r.id)",
     "TypeError", (1, 21),
     "notes.list answers a promise, which is not awaited: (await notes.list())"),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "const all = rows.map(async (r) => await notes.get(r.id));\n"
     "return all.map((n) => n.title.toUpperCase())",
     "TypeError", (3, 31), "n is a promise here: await Promise.all(...) over the array first."),
    ("const all = (await notes.list()).map((r) => notes.get(r.id));\n"
     "return all.map((n) => n.content.length)",
     "TypeError", (2, 33),
     "n is a promise here, which notes.get answers: await Promise.all(...) over the array"),
    ("const {content} = notes.get('project/greenhouse');\n"
     "return content.length",
     "TypeError", (2, 16), "notes.get answers a promise, which is not awaited: (await"),
    ("const [first] = notes.list();\n"
     "return first",
     "TypeError", (1, 8),
     "notes.list answers a promise, which is not awaited: (await notes.list())"),
    ("return [...notes.list()]",
     "TypeError", (1, 18),
     "notes.list answers a promise, which is not awaited: (await notes.list())"),
    ("const n = notes.get('project/greenhouse');\n"
     "await notes.update({identifier: n.id, content: 'x'})",
     "InvalidInput", (2, 13), "notes.get answers a promise, which is not awaited: await"),
    ("const n = await notes.get('project/greenhouse');\n"
     "await notes.update({identifier: 'project/newsletter', content: "
     "notes.get('project/greenhouse').content, force: true})",
     "InvalidInput", (2, 13), "notes.get answers a promise, which is not awaited: (await"),
    ("async function load() { return await notes.get('project/greenhouse') }\n"
     "const n = load();\n"
     "return n.content.length",
     "TypeError", (3, 18), "load answers a promise, which is not awaited: await load()"),
    ("const hits = notes.search('garden');\n"
     "hits.forEach((h) => console.log(h.id))",
     "TypeError", (2, 6),
     "notes.search answers a promise, which is not awaited: await notes.search('garden')"),
    ("const t = noteTypes.list();\n"
     "return t.find((x) => x.name === 'project').noteCount",
     "TypeError", (2, 10),
     "noteTypes.list answers a promise, which is not awaited: await noteTypes.list()"),
    ("await Promise.all(notes.list().map((r) => notes.get(r.id)))",
     "TypeError", (1, 32),
     "notes.list answers a promise, which is not awaited: (await notes.list())"),
    ("const links1 = links.getForNote('project/greenhouse');\n"
     "return links1.incoming.length",
     "TypeError", (2, 24), "links.getForNote answers a promise, which is not awaited: await"),
    ("const found = {a: [1]}.b;\n"
     "for (const n of found) console.log(n)",
     "TypeError", (2, 17), "found is undefined here: test for that first."),
    ("return await links.searchBy({has_links_to: ['project/greenhous']})",
     "NotFound", (1, 20), "Did you mean 'project/greenhouse'?"),
    ("return await notes.searchSQL({query: 'WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x FROM a) SELECT x FROM a'})",
     "PermissionDenied", (1, 20), "One SELECT, with joins, WITH and subqueries, is accepted"),
    ("const {list} = notes;\n"
     "for (const r of list()) console.log(r.id)",
     "TypeError", (2, 17), "notes.list answers a promise, which is not awaited: (await list())"),
    ("return Promise.all(['project/greenhouse'].map((i) => notes.get(i))).map((n) => n.title)",
     "TypeError", (1, 69), "Promise.all answers a promise, which is not awaited: (await Promise.all("),
    ("const {results} = await notes.search('garden');\n"
     "return results.map((r) => r.id)",
     "TypeError", (2, 16), "notes.search answers the array itself, without 'results'."),
    ("const r = await notes.search('garden');\n"
     "return r.results.length",
     "TypeError", (2, 18), "notes.search answers the array itself, without 'results'."),
    ("const res = await notes.list({typeName: 'project'});\n"
     "return res.notes.map((n) => n.id)",
     "TypeError", (2, 18), "notes.list answers the array itself, without 'notes'."),
    ("const {notes: all} = await notes.list();\n"
     "return all.length",
     "TypeError", (2, 12), "notes.list answers the array itself, without 'notes'."),
    ("const {data} = await notes.list();\n"
     "return data.length",
     "TypeError", (2, 13), "notes.list answers the array itself, without 'data'."),
    ("const page = await notes.searchAdvanced({type: 'project'});\n"
     "return page.map((n) => n.id)",
     "TypeError", (2, 13),
     "page is an object, not an array: notes.searchAdvanced answers {results, total,"),
    ("for (const n of await notes.searchAdvanced({type: 'project'})) console.log(n.id)",
     "TypeError", (1, 17), "notes.searchAdvanced answers an object: its 'results' is the array."),
    ("const sql = await notes.searchSQL('SELECT id FROM notes');\n"
     "return sql.map((r) => r.id)",
     "TypeError", (2, 12),
     "sql is an object, not an array: notes.searchSQL answers {columns, rows, row_count,"),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.map((r) => r.content.length)",
     "TypeError", (2, 34), "notes.list answers no content: (await notes.get(r.id)).content."),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.filter((r) => r.metadata.status === 'active')",
     "TypeError", (2, 38),
     "notes.list answers metadata only where fields asks for it: fields: ['id', 'title',"),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.filter((r) => r.frontmatter.status === 'active')",
     "TypeError", (2, 41), "notes.list answers no 'frontmatter'. Did you mean 'metadata'?"),
    ("const hits = await notes.search('garden');\n"
     "return hits.map((h) => h.content.slice(0, 10))",
     "TypeError", (2, 34),
     "notes.search answers no content: (await notes.get(h.note_id)).content."),
    ("const hits = await notes.search('garden');\n"
     "return hits.map((h) => h.snippet.trim())",
     "TypeError", (2, 34), "notes.search answers no 'snippet'. Did you mean 'excerpt'?"),
    ("const l = await links.getForNote('project/greenhouse');\n"
     "return l.outgoing.map((x) => x.target)",
     "TypeError", (2, 19),
     "links.getForNote answers no 'outgoing'; there are: outgoing_internal,"),
    ("const b = await links.getBacklinks('project/greenhouse');\n"
     "return b.map((x) => x.source.id)",
     "TypeError", (2, 30),
     "links.getBacklinks answers no 'source'. Did you mean 'source_note_id'?"),
    ("const b = await links.getBacklinks('project/greenhouse');\n"
     "return b.backlinks.length",
     "TypeError", (2, 20), "links.getBacklinks answers the array itself, without 'backlinks'."),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.tag.length",
     "TypeError", (2, 14), "notes.get answers no 'tag'. Did you mean 'tags'?"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.body.split('\\n')",
     "TypeError", (2, 15), "notes.get answers no 'body'. Did you mean 'content'?"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.frontmatter.status",
     "TypeError", (2, 22), "notes.get answers no 'frontmatter'. Did you mean 'metadata'?"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.metadata.foo.bar",
     "TypeError", (2, 23), "This note's frontmatter has no 'foo': test for it, or look at"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.status.toUpperCase()",
     "TypeError", (2, 17),
     "notes.get answers no 'status'; frontmatter is in n.metadata, and there are: id,"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.metadata.owner.name.first",
     "TypeError", (2, 30),
     "This note's frontmatter has no 'owner' of that kind: look at n.metadata.owner first."),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.contnet.length",
     "TypeError", (2, 18), "notes.get answers no 'contnet'. Did you mean 'content'?"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.updatedAt.slice(0, 10)",
     "TypeError", (2, 20), "notes.get answers no 'updatedAt'. Did you mean 'updated'?"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.backlinks.length",
     "TypeError", (2, 20),
     "notes.get answers no 'backlinks'; frontmatter is in n.metadata, and there are: id,"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.data.title",
     "TypeError", (2, 15), "notes.get answers no 'data'. Did you mean 'metadata'?"),
    ("const n = (await notes.search('greenhouse'))[0];\n"
     "return n.note.title",
     "TypeError", (2, 15),
     "notes.search answers no 'note'; there are: id, note_id, title, excerpt, score,"),
    ("const {note} = await notes.get('project/greenhouse');\n"
     "return note.title",
     "TypeError", (2, 13), "notes.get answers no 'note'; frontmatter is in (await"),
    ("const made = await notes.create({type: 'idea', title: 'Made here'});\n"
     "return made.content.length",
     "TypeError", (2, 21),
     "notes.create answers no content: (await notes.get(made.id)).content."),
    ("const rows = await notes.list();\n"
     "return rows[1000].title",
     "TypeError", (2, 19), "rows has no such element: look at its length first."),
    ("const rows = await notes.list();\n"
     "return rows.find((r) => r.id === 'zz/none').title",
     "TypeError", (2, 45),
     "rows.find((r) => r.id === 'zz/none') found nothing: test for that first."),
    ("const hit = (await notes.search('zzzzzz'))[0];\n"
     "return hit.id",
     "TypeError", (2, 12),
     "(await notes.search('zzzzzz'))[0] is not there: test for that first."),
    ("const r = await relationships.get('project/greenhouse');\n"
     "return r.links.length",
     "TypeError", (2, 16),
     "relationships.get answers no 'links'; there are: content_links, hierarchy_links,"),
    ("const c = await hierarchy.getChildren('project/greenhouse');\n"
     "return c.children.length",
     "TypeError", (2, 19), "hierarchy.getChildren answers the array itself, without 'children'."),
    ("const v = await vaults.getCurrent();\n"
     "return v.notes.length",
     "TypeError", (2, 16),
     "vaults.getCurrent answers no 'notes'; there are: id, name, path, description,"),
    ("const {content} = await notes.get('zz/none');",
     "TypeError", (1, 8), "notes.get returned null: there is no note 'zz/none'."),
    ("const n = await notes.get('project/grenhouse');\n"
     "return n.content",
     "TypeError", (2, 10),
     "notes.get returned null: there is no note 'project/grenhouse'. Did you mean"),
    ("return (await notes.get('zz/none')).title",
     "TypeError", (1, 37), "notes.get returned null: there is no note 'zz/none'."),
    ("const ids = ['project/greenhouse', 'project/newsleter'];\n"
     "for (const id of ids) {\n"
     "  const n = await notes.get(id);\n"
     "  console.log(n.title.length);\n"
     "}",
     "TypeError", (4, 17),
     "notes.get returned null: there is no note 'project/newsleter'. Did you mean"),
    ("const all = await Promise.all(['person/oona', 'person/nobody'].map((id) => "
     "notes.get(id)));\n"
     "return all.map((n) => n.title)",
     "TypeError", (2, 25), "notes.get returned null: there is no note 'person/nobody'."),
    ("const n = await notes.get({identifier: 'idea/beehotel'});\n"
     "return n.title",
     "TypeError", (2, 10),
     "notes.get returned null: there is no note 'idea/beehotel'. Did you mean"),
    ("return await notes.serach('garden')",
     "TypeError", (1, 20),
     "Did you mean notes.search? See api.describe('notes.search')"),
    ("return await notes.find('garden')",
     "TypeError", (1, 20),
     "Did you mean notes.search? See api.describe('notes.search')"),
    ("return await notes.getAll()",
     "TypeError", (1, 20), "Did you mean notes.list? See api.describe('notes.list')"),
    ("return await notes.all()",
     "TypeError", (1, 20), "Did you mean notes.list or notes.batch?"),
    ("return await notes.query({type: 'project'})",
     "TypeError", (1, 20), "Did you mean notes.list or notes.search or notes.searchAdvanced?"),
    ("return await notes.save({identifier: 'project/greenhouse', content: 'x'})",
     "TypeError", (1, 20), "Did you mean notes.create or notes.update?"),
    ("return await notes.append('project/greenhouse', 'x')",
     "TypeError", (1, 20), "Did you mean notes.update or notes.updateSection?"),
    ("return await note.get('project/greenhouse')",
     "ReferenceError", (1, 14), "Did you mean notes.get?"),
    ("return await Notes.get('project/greenhouse')",
     "ReferenceError", (1, 14), "Did you mean notes.get?"),
    ("return await notetypes.list()",
     "ReferenceError", (1, 14), "Did you mean noteTypes.list?"),
    ("return await link.getBacklinks('project/greenhouse')",
     "ReferenceError", (1, 14), "Did you mean links.getBacklinks?"),
    ("return await notes.getBacklinks('project/greenhouse')",
     "TypeError", (1, 20),
     "Did you mean links.getBacklinks? See api.describe('links.getBacklinks')"),
    ("return await notes.types()",
     "TypeError", (1, 20), "There is no notes.types: api.describe('notes') lists its methods."),
    ("return await api.notes.list()",
     "TypeError", (1, 24), "notes stands by itself: notes.list, without api."),
    ("return await vault.list()",
     "ReferenceError", (1, 14), "Did you mean vaults.list?"),
    ("return await tags.list()",
     "ReferenceError", (1, 14),
     "notes.searchSQL('SELECT tag, count(*) AS n FROM tags GROUP BY tag') lists all tags."),
    ("return await hierarchy.getSubnotes('project/greenhouse')",
     "TypeError", (1, 24),
     "There is no hierarchy.getSubnotes: hierarchy has addSubnote, removeSubnote, reorder,"),
    ("return await hierarchy.children('project/greenhouse')",
     "TypeError", (1, 24),
     "Did you mean hierarchy.getChildren? See api.describe('hierarchy.getChildren')"),
    ("return await relationships.getRelatedNotes('project/greenhouse')",
     "TypeError", (1, 28),
     "Did you mean relationships.getRelated? See api.describe('relationships.getRelated')"),
    ("return utils.slugify('A b')",
     "TypeError", (1, 14),
     "There is no utils.slugify: utils has generateId, parseLinks, formatDate,"),
    ("return utils.parseFrontmatter('x')",
     "TypeError", (1, 14),
     "There is no utils.parseFrontmatter: utils has generateId,"),
    ("return await notes.exists('project/greenhouse')",
     "TypeError", (1, 20),
     "There is no notes.exists: api.describe('notes') lists its methods."),
    ("return await notes.count()",
     "TypeError", (1, 20), "Did you mean notes.list or notes.searchSQL?"),
    ("return await notes.list.all()",
     "TypeError", (1, 25), "notes.list is a function itself: notes.list(...)"),
    ("return await getNote('project/greenhouse')",
     "ReferenceError", (1, 14), "Did you mean notes.get? See api.describe('notes.get')"),
    ("return await listNotes()",
     "ReferenceError", (1, 14),
     "Did you mean notes.list? See api.describe('notes.list')"),
    ("return await searchNotes('garden')",
     "ReferenceError", (1, 14),
     "Did you mean notes.search? See api.describe('notes.search')"),
    ("return await createNote({type: 'idea', title: 'x'})",
     "ReferenceError", (1, 14),
     "Did you mean notes.create? See api.describe('notes.create')"),
    ("return await updateNote('project/greenhouse', {content: 'x'})",
     "ReferenceError", (1, 14),
     "Did you mean notes.update? See api.describe('notes.update')"),
    ("return await findBrokenLinks()",
     "ReferenceError", (1, 14),
     "Did you mean links.findBroken? See api.describe('links.findBroken')"),
    ("return await getBacklinks('project/greenhouse')",
     "ReferenceError", (1, 14), "Did you mean links.getBacklinks?"),
    ("return await listNoteTypes()",
     "ReferenceError", (1, 14),
     "Did you mean noteTypes.list? See api.describe('noteTypes.list')"),
    ("return await flint.notes.list()",
     "ReferenceError", (1, 14), "notes stands by itself: notes.list, without flint."),
    ("return await notes.get()",
     "InvalidInput", (1, 20),
     "See api.describe('notes.get'). For example: const note = await"),
    ("return await notes.get({id: 'project/greenhouse'})",
     "InvalidInput", (1, 20),
     "Did you mean 'identifier'? See api.describe('notes.get')"),
    ("return await notes.get(undefined)",
     "InvalidInput", (1, 20),
     "See api.describe('notes.get'). For example: const note = await"),
    ("return await notes.list({type_name: 'project'})",
     "InvalidInput", (1, 20),
     "Did you mean 'typeName'? See api.describe('notes.list')"),
    ("return await notes.list({typename: 'project'})",
     "InvalidInput", (1, 20),
     "Did you mean 'typeName'? See api.describe('notes.list')"),
    ("return await notes.list({folders: 'project'})",
     "InvalidInput", (1, 20),
     "Did you mean 'folder'? See api.describe('notes.list')"),
    ("return await notes.list({tags: ['garden']})",
     "InvalidInput", (1, 20),
     "notes.searchAdvanced takes tags, metadata and more; notes.list takes a type alone."),
    ("return await notes.list({limit: '5'})",
     "InvalidInput", (1, 20), "See api.describe('notes.list')"),
    ("return await notes.list(5)",
     "InvalidInput", (1, 20),
     "See api.describe('notes.list'). For example: const rows = await"),
    ("return await notes.list({limit: 100000})",
     "InvalidInput", (1, 20), "See api.describe('notes.list')"),
    ("return await notes.list({fields: ['id', 'content']})",
     "InvalidInput", (1, 20), "Lists have no content: (await notes.get(id)).content."),
    ("return await notes.search({q: 'garden'})",
     "InvalidInput", (1, 20),
     "Did you mean 'query'? See api.describe('notes.search')"),
    ("return await notes.search({text: 'garden'})",
     "InvalidInput", (1, 20),
     "Did you mean 'query'? See api.describe('notes.search')"),
    ("return await notes.search()",
     "InvalidInput", (1, 20),
     "See api.describe('notes.search'). For example: const hits = await"),
    ("return await notes.searchAdvanced({types: ['project']})",
     "InvalidInput", (1, 20),
     "Did you mean 'type'? See api.describe('notes.searchAdvanced')"),
    ("return await notes.searchAdvanced({metadata_filters: [{field: 'status', value: "
     "'active'}]})",
     "InvalidInput", (1, 20),
     "Did you mean 'key'? See api.describe('notes.searchAdvanced')"),
    ("return await notes.searchAdvanced({metadata_filters: [{key: 'budget', operator: "
     "'gt', value: 5}]})",
     "InvalidInput", (1, 20), "See api.describe('notes.searchAdvanced')"),
    ("return await notes.searchAdvanced({sort: 'updated'})",
     "InvalidInput", (1, 20), "See api.describe('notes.searchAdvanced')"),
    ("return await notes.searchAdvanced({sort: [{field: 'budgt'}]})",
     "InvalidInput", (1, 20), "See api.describe('notes.searchAdvanced')"),
    ("return await notes.searchSQL('SELECT titel FROM notes')",
     "InvalidInput", (1, 20), "api.describe('notes.searchSQL') has the columns of all tables; a key of a note's own is "
     "json_extract(metadata, '$.titel')"),
    ("return await notes.searchSQL('SELECT id FROM notes WHERE type = \"meeting minutes\"')",
     "InvalidInput", (1, 20), "In SQL a text is in single quotes: 'meeting minutes'."),
    ("return await notes.updateSection({identifier: 'project/greenhouse', heading: 'Taskz', "
     "content: 'x', force: true})",
     "NotFound", (1, 20), None),
    ("let n = 0;\nfor await (const p of notes.list()) n++;\nreturn n",
     "TypeError: the value after 'of' is not iterable", (2, 23),
     "notes.list answers a promise, which is not awaited: (await notes.list())"),
    ("return await notes.searchSQL('SELECT * FROM note')",
     "InvalidInput", (1, 20),
     "The tables are notes, tags, metadata, links, hierarchy and types."),
    ("return await notes.searchSQL('DELETE FROM notes')",
     "InvalidInput", (1, 20),
     "SQL only reads: notes.create, notes.update and notes.delete change notes."),
    ("return await notes.create({title: 'x y z', body: 'text'})",
     "InvalidInput", (1, 20),
     "Did you mean 'content'? See api.describe('notes.create')"),
    ("return await notes.create({type: 'idea', content: 'no title'})",
     "InvalidInput", (1, 20), "See api.describe('notes.create')"),
    ("return await notes.create('idea', 'Title', 'text')",
     "InvalidInput", (1, 20),
     "See api.describe('notes.create'). For example: await"),
    ("const t = 'Bee hotel'; return await notes.create({type: 'idea', title: "
     "'bee-hotel', metadata: {d: String(1)}})",
     "Conflict", (1, 43), "Choose another title, or change that note with notes.update."),
    ("return await notes.create({type: 'idea', title: 'new', tags: ['a']})",
     "InvalidInput", (1, 20),
     "Frontmatter goes into metadata: {tags: ...}. See api.describe('notes.create')"),
    ("return await notes.create({type: 'idea', title: 'new', frontmatter: {tags: ['a']}})",
     "InvalidInput", (1, 20),
     "Did you mean 'metadata'? See api.describe('notes.create')"),
    ("return await notes.update('project/greenhouse', 'new text')",
     "InvalidInput", (1, 20),
     "See api.describe('notes.update'). For example: const note = await"),
    ("return await notes.update({id: 'project/greenhouse', content: 'x'})",
     "InvalidInput", (1, 20),
     "Did you mean 'identifier'? See api.describe('notes.update')"),
    ("return await notes.update({identifier: 'project/greenhouse', content: 'x'})",
     "InvalidInput", (1, 20), "See api.describe('notes.update')"),
    ("return await notes.update({identifier: 'project/greenhouse', status: 'done', force: true})",
     "InvalidInput", (1, 20),
     "Frontmatter goes into metadata: {status: ...}. See api.describe('notes.update')"),
    ("return await notes.update({identifier: 'project/grenhouse', content: 'x', force: true})",
     "NotFound", (1, 20),
     "Did you mean 'project/greenhouse'? notes.list and notes.search answer the ids that"),
    ("return await notes.delete('project/greenhose')",
     "NotFound", (1, 20),
     "Did you mean 'project/greenhouse'? notes.list and notes.search answer the ids that"),
    ("return await notes.rename('project/greenhouse', 'New')",
     "InvalidInput", (1, 20),
     "See api.describe('notes.rename'). For example: const note = await"),
    ("return await notes.rename({identifier: 'project/greenhouse', title: 'New', force: true})",
     "InvalidInput", (1, 20),
     "Did you mean 'new_title'? See api.describe('notes.rename')"),
    ("return await notes.move({identifier: 'project/greenhouse', type: 'idea', force: true})",
     "InvalidInput", (1, 20),
     "Did you mean 'new_type'? See api.describe('notes.move')"),
    ("return await links.getBacklinks('project/greenhuose')",
     "NotFound", (1, 20),
     "Did you mean 'project/greenhouse'? notes.list and notes.search answer the ids that"),
    ("return await hierarchy.addSubnote({parent: 'project/greenhouse', child: 'idea/bee-hotel'})",
     "InvalidInput", (1, 24),
     "Did you mean 'parent_id'? See api.describe('hierarchy.addSubnote')"),
    ("return await hierarchy.addSubnote('project/greenhouse', 'idea/bee-hotel')",
     "InvalidInput", (1, 24),
     "See api.describe('hierarchy.addSubnote'). For example: await"),
    ("return await relationships.findPath('project/greenhouse', 'idea/bee-hotel')",
     "InvalidInput", (1, 28),
     "See api.describe('relationships.findPath'). For example: await"),
    ("return await noteTypes.get('projct')",
     "NotFound", (1, 24), "noteTypes.list answers what there is."),
    ("return await noteTypes.create({name: 'task', description: 'x'})",
     "InvalidInput", (1, 24),
     "Did you mean 'type_name'? See api.describe('noteTypes.create')"),
    ("return await vaults.switch('nosuch')",
     "NotFound", (1, 21), "vaults.list answers what there is."),
    ("const xs = [1];\n"
     "xs.append(2)",
     "TypeError", (2, 4), "In JavaScript that is push."),
    ("const xs = [1];\n"
     "return xs.contains(1)",
     "TypeError", (2, 11), "In JavaScript that is includes."),
    ("return len([1, 2])",
     "ReferenceError", (1, 8), "In JavaScript that is value.length."),
    ("print('x')",
     "ReferenceError", (1, 1), "In JavaScript that is console.log(...)"),
    ("return 'Abc'.lower()",
     "TypeError", (1, 14), "In JavaScript that is toLowerCase."),
    ("return ' a '.strip()",
     "TypeError", (1, 14), "In JavaScript that is trim."),
    ("return 'abc'.startswith('a')",
     "TypeError", (1, 14), "In JavaScript that is startsWith."),
    ("const d = {a: 1};\n"
     "for (const [k, v] of d.items()) console.log(k)",
     "TypeError", (2, 24), "In JavaScript that is Object.entries(value)"),
    ("const d = {a: 1};\n"
     "for (const k of d) console.log(k)",
     "TypeError", (2, 17), "d is not an array: Object.entries(...) goes over an object."),
    ("return range(5).map((x) => x)",
     "ReferenceError", (1, 8), "In JavaScript that is Array.from({length: n}, (_, i) => i)"),
    ("return str(5)",
     "ReferenceError", (1, 8), "In JavaScript that is String(value)"),
    ("const x = None",
     "ReferenceError", (1, 11), "In JavaScript that is null."),
    ("const x = True",
     "ReferenceError", (1, 11), "In JavaScript that is true."),
    ("for n in notes:\n"
     "    print(n)",
     "SyntaxError", (1, 5), "That is Python; code here is JavaScript or TypeScript."),
    ("def f(x):\n"
     "    return x",
     "SyntaxError", (1, 5), "That is Python; code here is JavaScript or TypeScript."),
    ("import json\n"
     "print(1)",
     "SyntaxError", (1, 8),
     "That is Python; code here is JavaScript or TypeScript, and nothing can be imported."),
    ("const s = f'{1}'",
     "SyntaxError", (1, 12), "That is Python; in JavaScript a template is `text ${value}`."),
    ("if (1 and 2) return 3",
     "SyntaxError", (1, 7), "In JavaScript that is &&, || and !."),
    ("const rows = await notes.list();\n"
     "return rows.size() > 1",
     "TypeError", (2, 13), "In JavaScript that is length."),
    ("const rows = await notes.list();\n"
     "return rows.first().id",
     "TypeError", (2, 13), "In JavaScript that is [0]."),
    ("const rows = await notes.list();\n"
     "return rows.each((r) => r.id)",
     "TypeError", (2, 13), "In JavaScript that is forEach."),
    ("const fs1 = require('fs');\n"
     "return fs1.readFileSync('x')",
     "TypeError", (1, 13), "Nothing can be loaded; api.describe() lists the API."),
    ("return fs.readFileSync('project/greenhouse.md', 'utf8')",
     "ReferenceError", (1, 8),
     "Files are available only with enableFileSystem; read notes with notes.get."),
    ("return process.env.HOME",
     "TypeError", (1, 16), "There is no process; pass values in `context`."),
    ("return await fetch('https://example.org')",
     "TypeError", (1, 14),
     "The network is available only with enableNetwork, to hosts that the person's policy"),
    ("import fs from 'fs'",
     "SyntaxError", (1, 8),
     "Nothing can be imported or exported; the API needs no import: api.describe()"),
    ("const fs2 = await import('fs');",
     "ReferenceError", None,
     "Nothing can be loaded; the API needs no import: api.describe() lists it"),
    ("return window.location.href",
     "ReferenceError", (1, 8), "This is not a browser; api.describe() lists the API."),
    ("return Buffer.from('x').toString('base64')",
     "ReferenceError", (1, 8), "Uint8Array, TextEncoder and TextDecoder are there."),
    ("return _.groupBy([1], (x) => x)",
     "ReferenceError", (1, 8),
     "lodash is not there; arrays have map, filter, toSorted, and Object.groupBy groups."),
    ("return moment().format('YYYY')",
     "ReferenceError", (1, 8), "There are Date and utils.formatDate(date, pattern)."),
    ("return app.vault.getFiles()",
     "ReferenceError", (1, 8),
     "This is not Obsidian; notes.get, notes.list and notes.search are there."),
    ("return dv.pages('#garden')",
     "ReferenceError", (1, 8),
     "This is not Dataview; notes.searchAdvanced and notes.searchSQL are there."),
    ("return globalThis.notes.list()",
     "TypeError", (1, 19), "There is no global object; declare what you need."),
    ("return host.call('GET', '/x')",
     "ReferenceError", (1, 8),
     "host.call is for run_script; here are notes.get, notes.list and others:"),
    ("return eval('1')",
     "EvalError", (1, 8), None),
    ("return new Function('return 1')()",
     "EvalError", (1, 12), None),
    ("module.exports = 5",
     "TypeError", (1, 1), "The result is what the code returns."),
    ("const n = await notes.get('project/greenhouse');\n"
     "return JSON.parse(n.content)",
     "SyntaxError", (2, 13),
     "A note is Markdown: its frontmatter is read already, as note.metadata."),
    ("const rows = await notes.list();\n"
     "return JSON.parse(rows)",
     "SyntaxError", (2, 13), "rows is a value already: it needs no JSON.parse."),
    ("return JSON.parse('{a: 1}')",
     "SyntaxError", (1, 13), "JSON wants its names and texts in double quotes."),
    ("return json.dumps({a: 1})",
     "ReferenceError", (1, 8), "JSON is spelt in capitals: JSON.parse, JSON.stringify."),
    ("{\"code\": \"return 1\"}",
     "SyntaxError", (1, 8), "JSON alone is not code: return it, or put parentheses around it."),
    ("```js\n"
     "return 1\n"
     "```",
     "TypeError", (1, 1), "Send the code alone, without the fence of Markdown (```)."),
    ("const x: string = 'a';\n"
     "return x",
     "SyntaxError", (1, 8), "That is TypeScript: call it with language: 'typescript'."),
    ("interface A { b: string }\n"
     "return 1",
     "SyntaxError", (1, 11), "That is TypeScript: call it with language: 'typescript'."),
    ("function f() { const n = await notes.get('x'); return n }\n"
     "return f()",
     "SyntaxError", (1, 32),
     "await is allowed in async functions only: async function ..., async () => ..."),
    ("[1].forEach((x) => { await notes.get('x') })",
     "SyntaxError", (1, 28),
     "await is allowed in async functions only: async function ..., async () => ..."),
    ("const total = 1;\n"
     "return totl",
     "ReferenceError", (2, 8), "Did you mean total?"),
    ("if (true) { const inner = 1 }\n"
     "return inner",
     "ReferenceError", (2, 8),
     "'inner' is declared in line 1, in a block that ends before this: declare it outside."),
    ("const a = {};\n"
     "return a.b.c",
     "TypeError", (2, 12), None),
    ("const a = [1, 2, 3];\n"
     "return a.mapp((x) => x)",
     "TypeError", (2, 10), "Did you mean 'map'?"),
    ("const a = 'abc';\n"
     "return a.map((x) => x)",
     "TypeError", (2, 10), "a is a text, not an array."),
    ("const a = {x: 1};\n"
     "return a.map((x) => x)",
     "TypeError", (2, 10),
     "a is not an array: look at it with console.log, or take Object.values or Object.entries"),
    ("nope()",
     "ReferenceError", (1, 1), "Declare nope, or give it by `context`"),
    ("const rows = await notes.list();\n"
     "return rows.map(rows.length)",
     "TypeError", (2, 13), "map takes a function: map((x) => ...)"),
    ("const c = 1;\n"
     "c = 2",
     "TypeError", (2, 1), "It is a constant: declare it with let."),
    ("const m = 'x'.match(/(y)/);\n"
     "return m[1]",
     "TypeError", (2, 8), "'x'.match(/(y)/) found nothing: test for that first."),
    ("return sort([3, 1])",
     "ReferenceError", (1, 8), "Did you mean value.sort(...)?"),
    ("const when = new date();\n"
     "return when",
     "ReferenceError", (1, 18), "It is spelt Date."),
    ("return math.max(1, 2)",
     "ReferenceError", (1, 8), "It is spelt Math."),
    ("const notes = await notes.list();\n"
     "return notes.length",
     "ReferenceError", (1, 21),
     "The variable 'notes' hides the API of that name: give it another name."),
    ("SELECT * FROM notes",
     "SyntaxError", (1, 15), "SQL goes into notes.searchSQL({query: 'SELECT ...'})."),
    ("# a comment\n"
     "return 1",
     "SyntaxError", (1, 1), "Comments begin with //."),
    ("return await notes.list({typeName: 'project'}",
     "SyntaxError", (1, 46), None),
    ("throw new Error(`nothing for ${String(5)}`)",
     "Error", (1, 11), None),
    ("return await notes.udpate({identifier: 'project/greenhouse', content: 'x'})",
     "TypeError", (1, 20),
     "Did you mean notes.update? See api.describe('notes.update')"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.links.outgoing.length",
     "TypeError", (2, 25), "n.links is the array itself, without 'outgoing'."),
    ("const rows = await notes.list();\n"
     "return rows.map((r) => r.tags.join(',').length).concat(rows.lenght.toFixed(1))",
     "TypeError", (2, 68), "Did you mean 'length'?"),
    ("await Promise.all([notes.get('person/oona'), notes.delete(String('person/none')), "
     "notes.list()])",
     "NotFound", (1, 52), "notes.list and notes.search answer the ids that there are."),
    ("const [a, b] = await Promise.all([notes.get('person/oona'), notes.list()]);\n"
     "return b.results.length",
     "TypeError", (2, 18), "notes.list answers the array itself, without 'results'."),
    ("const tree = await hierarchy.getDescendants('project/greenhouse');\n"
     "return tree[0].id.length",
     "TypeError", (2, 16), "tree has no such element: look at its length first."),
    ("notes.list().then((rows) => rows.items.length)",
     "TypeError", (1, 40), "notes.list answers the array itself, without 'items'."),
    ("const o = {};\n"
     "await notes.get(o.id.trim())",
     "TypeError", (2, 22), None),
    ("class Box { constructor(n) { this.n = n } }\n"
     "return new Box(1).size().x",
     "TypeError", (2, 19), "In JavaScript that is length."),
    ("let n;\n"
     "n = await notes.get('zz/none');\n"
     "return n.title",
     "TypeError", (3, 10), "notes.get returned null: there is no note 'zz/none'."),
    ("const n = await notes.get('project/greenhouse');\n"
     "const {owner} = n.metadata;\n"
     "return owner.name.first",
     "TypeError", (3, 19), None),
    ("return (await notes.list()).filter((n) => n.tags.contains('garden'))",
     "TypeError", (1, 50), "In JavaScript that is includes."),
    ("const byType = {};\n"
     "for (const n of await notes.list()) byType[n.type].push(n.id);",
     "TypeError", (2, 52), None),
    ("return undefinedFunction(await notes.list())",
     "ReferenceError", (1, 8), "Declare undefinedFunction, or give it by `context`"),
    ("const d = await notes.get('daily/2026-11-08');\n"
     "return d.content.match(/nothing here/)[1]",
     "TypeError", (2, 18), "d.content.match(/nothing here/) found nothing: test for that first."),
    ("const re = new Regex('x')",
     "ReferenceError", (1, 16), "Did you mean RegExp?"),
    ("return await customFunctions.nothing()",
     "NotFound", (1, 30), None),
    ("return await tools.nosuch()",
     "NotFound", (1, 20), "tools.list answers what there is."),
    ("return await tools.run('jq', ['.a'], '{}')",
     "InvalidInput: options are one object such as {args: ['-l'], stdin: 'text'}, not string",
     (1, 20), None),
    ("return await tools.pipe(['sort', 'uniq'], {stdin: 'b'})",
     "InvalidInput: each stage is an object such as {tool: 'sort', args: ['-u']}", (1, 20), None),
    # Values that JSON lacks are refused: null would remove a key.
    ("const n = await notes.get('project/greenhouse');\n"
     "return await notes.update({identifier: n.id, metadata: {budget: Number('nine')}})",
     "InvalidInput: metadata.budget is NaN", (2, 20), "gives NaN: test for it first, or give null."),
    ("const n = await notes.get('project/greenhouse');\n"
     "return await notes.update({identifier: n.id, metadata: {due: new Date('soon')}})",
     "InvalidInput: metadata.due is an invalid date", (2, 20), "test for it first, or give null."),
    ("return await notes.update('person/oona', {force: true, metadata: {since: 1 / 0}})",
     "InvalidInput: metadata.since is infinite", (1, 20), "Test for it first, or give null."),
    ("return await notes.create({type: 'idea', title: 'new', metadata: {n: "
     "notes.get('person/oona')}})",
     "InvalidInput: metadata.n is a promise", (1, 20),
     "notes.get answers a promise, which is not awaited: (await notes.get('person/oona'))"),
    ("return await notes.create({type: 'idea', title: 'new', metadata: {f: () => 1}})",
     "InvalidInput: metadata.f is a function", (1, 20), "Call it, or leave it out."),
    # Surplus arguments that were meant as options.
    ("return await notes.search('garden', {limit: 2})",
     "InvalidInput: notes.search takes 1 argument, not 2", (1, 20),
     "See api.describe('notes.search'). For example: const hits ="),
    ("return (await notes.search('garden', 'project')).length",
     "InvalidInput: notes.search takes 1 argument, not 2", (1, 21), "For example: const hits ="),
    ("return await notes.list('project', 5)",
     "InvalidInput: notes.list takes 1 argument, not 2", (1, 20), "For example: const rows ="),
    ("return await noteTypes.create('task', 'Things to do')",
     "InvalidInput: noteTypes.create takes 1 argument, not 2", (1, 24), "For example: await noteTypes"),
    # Methods of another type of value, of another namespace, or of a note.
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.title.toFixed(2)",
     "TypeError", (2, 16), "n.title is a text: Number(n.title).toFixed(...)"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.created.getFullYear()",
     "TypeError", (2, 18), "n.created is a text: new Date(n.created).getFullYear(...)"),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.metadata.due.getFullYear()",
     "TypeError", (2, 23), "n.metadata.due is no Date: new Date(n.metadata.due).getFullYear(...)"),
    ("const n = await notes.get('project/greenhouse');\n"
     "n.content += 'x'; await n.save()",
     "TypeError", (2, 27), "A note is a plain value, without methods: await notes.update({identifier: n.id, ...})"),
    ("return await links.get('project/greenhouse')",
     "TypeError", (1, 20), "links has getForNote, getBacklinks, list, findBroken, searchBy, migrate."),
    ("return await noteTypes.rename('task', 'todo')",
     "TypeError", (1, 24), "noteTypes has create, list, get, update, delete."),
    ("return await notes.getHistory('project/greenhouse')",
     "TypeError", (1, 20), "Did you mean notes.history?"),
    ("return await notes.listAll()",
     "TypeError", (1, 20), "Did you mean notes.list?"),
    ("return await functions.weekly()",
     "ReferenceError", (1, 14), "Custom functions are called by customFunctions.name(...)."),
    ("return Temporal.Now.plainDateISO()",
     "ReferenceError", (1, 8), "Temporal is not there; Date, Intl.DateTimeFormat and utils.formatDate(date, pattern) are."),
    ("return new Intl.DisplayNames(['en'], {type: 'region'}).of('DE')",
     "TypeError", (1, 12), "Intl has Collator, DateTimeFormat, ListFormat, Locale, NumberFormat, PluralRules, RelativeTimeFormat, Segmenter, "
     "getCanonicalLocales, supportedValuesOf, and no DisplayNames."),
    ("return new Intl.DateTimeFormt('de').format(0)",
     "TypeError", (1, 12), "Did you mean Intl.DateTimeFormat?"),
    ("return new Blob(['x']).size",
     "ReferenceError", (1, 12), "Blob is not there; api.describe() lists the API."),
    ("return await crypto.subtle.digest('SHA-256', new Uint8Array(1))",
     "TypeError", (1, 28), "crypto has randomUUID and getRandomValues alone."),
    ("const n = await notes.get('daily/2026-11-08');\n"
     "return await notes.update({identifier: n.id, append: '- done'})",
     "InvalidInput", (2, 20), "notes.updateSection adds to a section, or replaces it; for the whole:"),
    ("return await notes.rename({identifier: 'project/greenhouse', new_title: 'newsletter', "
     "force: true})",
     "Conflict", (1, 20), "Choose another title."),
]

FAILURES_TYPESCRIPT = [
    ("const n: any = notes.get('project/greenhouse');\n"
     "return n.content.length",
     "TypeError", (2, 18), "notes.get answers a promise, which is not awaited: await"),
    ("type Row = {id: string};\n"
     "const rows: Row[] = await notes.list();\n"
     "return rows\n"
     "  .filter((r) => r.id)\n"
     "  .mapp((r: Row) => String(r.id))",
     "TypeError", (5, 4), "Did you mean 'map'?"),
    ("interface A { b: string }\n"
     "const {results} = await notes.search('garden') as any;\n"
     "return results.map((r: any) => r.id)",
     "TypeError", (3, 16), "notes.search answers the array itself, without 'results'."),
    ("const x: number = 1;\n"
     "await notes.delete({identifier: String('zz/none'), confirm: Number(x) > 0});",
     "NotFound", (2, 13), "notes.list and notes.search answer the ids that there are."),
    ("enum E { A }\n"
     "throw new Error(`no ${E.A} ${String(1)}`)",
     "Error", (2, 11), None),
    ("const a: string = nope(String(1))",
     "ReferenceError", (1, 19), "Declare nope, or give it by `context`"),
    ("const n = await notes.get('zz/none');\n"
     "return n!.title",
     "TypeError", (2, 11), "notes.get returned null: there is no note 'zz/none'."),
    ("import fs from 'fs';\n"
     "return fs.readFileSync('x')",
     "SyntaxError", (1, 1),
     "Nothing can be imported or exported; the API needs no import: api.describe()"),
    ("const x: = 5",
     "SyntaxError", (1, 10), None),
]

SILENT = [
    ("const n = notes.get('project/greenhouse');\n"
     "return n.title",
     ["notes.get answers a promise, and 'n.title' looks into it"]),
    ("return notes.get('project/greenhouse').title",
     ["notes.get answers a promise; it has no 'title' of its own"]),
    ("return notes.list().length",
     ["notes.list answers a promise; it has no 'length' of its own"]),
    ("const ids = ['project/greenhouse'];\n"
     "return ids.map(async (id) => (await notes.get(id)).title)",
     ["is an array of promises, for which nothing waits"]),
    ("return {note: notes.get('project/greenhouse'), n: 1}",
     ["notes.get answers a promise; as JSON that is {}"]),
    ("const n = notes.list();\n"
     "return `there are ${n} notes`",
     ["notes.list answers a promise; the text needs its value"]),
    ("const all = await notes.list();\n"
     "return all.filter(async (r) => (await notes.get(r.id)).content.length > 1e6).length",
     ["filter does not await its callback: a promise counts as true"]),
    ("const {get} = notes;\n"
     "const n = get('project/greenhouse');\n"
     "return n.title",
     ["notes.get answers a promise, and 'n.title' looks into it"]),
    ("if (notes.get('zz/none')) return 'there'; return 'not there'",
     ["notes.get answers a promise; which is always true"]),
    ("const n = await notes.get('project/greenhouse');\n"
     "return await notes.update({identifier: n.id, content: n.body + 'x'})",
     ["notes.get answers no 'body'; known are: id, uid, title, content, metadata,"]),
    ("const n = await notes.get('project/greenhouse');\n"
     "return await notes.update({identifier: n.id, contentHash: n.hash, content: 'x'})",
     ["notes.get answers no 'hash'; known are: id, uid, title, content, metadata,"]),
    ("return await relationships.getRelated('project/greenhouse')",
     []),
    ("const n = await notes.get('project/greenhouse');\n"
     "return n.links.filter((l) => l.type.startsWith('w'))",
     ["l has no 'type'; known are: target, label, kind, line"]),
    ("return await notes.searchAdvanced({query: 'x', type: 'projct'})",
     ["notes.searchAdvanced: no note has the type 'projct'; there are: meeting, project,"]),
    ("return await notes.list({typeName: 'projct'})",
     ["notes.list: no note has the type 'projct'; there are: meeting, project, person,"]),
    ("return (await notes.searchAdvanced({tags: ['gardn']})).total",
     ["notes.searchAdvanced: no note has the tag 'gardn'; there are: garden, workshop,"]),
    # What the result loses on its way to JSON.
    ("const by = {};\n"
     "for (const n of await notes.list()) by[n.type]++;\n"
     "return by",
     [" is NaN, and null in JSON; so are 7 other values"]),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.map(async (r) => (await notes.get(r.id)).title)",
     ["is an array of promises, for which nothing waits"]),
    ("return {at: [1, new Date('soon')], more: new Map([['a', 1 / 0]]), left: () => 1}",
     ["result.more.a is infinite, and null in JSON",
      "result.at[1] is an invalid date, and null in JSON"]),
    ("return () => notes.list()",
     ["result is a function, and null in JSON"]),
    ("return [undefined, {a: undefined, f() {}}, null, new Date(0), 1e308]",
     []),
    # Code that runs, and does something else.
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.filter(async (r) => (await notes.get(r.id)).content.includes('TODO')).length",
     ["filter does not await its callback: a promise counts as true"]),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.map((r) => { r.id })",
     ["the function given to map returns nothing: each of its values is undefined"]),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "rows.map((r) => { console.log(r.id) });\n"
     "return rows.map((r) => { if (r.id) return 1; throw new Error('none') }).length",
     []),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return\n"
     "  rows.length",
     ["return ends with its line: the value in the next line is not returned"]),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "for (const r in rows) console.log(r);\n"
     "return rows.length",
     ["for...in goes over the indexes of an array, as texts"]),
    ("const n = await notes.get('project/greenhouse');\n"
     "if (n.tags == [] || n.metadata === {}) return 'none'\n"
     "return 'some'",
     ["n.tags == [] is always false", "n.metadata === {} is always false"]),
    ("let n = await notes.get('project/greenhouse');\n"
     "if (n.metadata.status = 'done') return 'done'",
     ["n.metadata.status = 'done' assigns, and does not compare"]),
    ("const n = await notes.get('project/greenhouse');\n"
     "n.metadata.reviewed = true;\n"
     "return 'done'",
     ["n.metadata.reviewed is changed here alone: the note stays as it is"]),
    ("const n = await notes.get('project/greenhouse');\n"
     "n.content += '\\n- done';\n"
     "return n.content.length",
     []),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.sort((a, b) => b.created - a.created)[0].id",
     ["b.created is a text: b.created - a.created is NaN"]),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.sort((a, b) => a.created > b.created)[0].id",
     ["a comparison for sort is a number"]),
    ("const rows = await notes.list({typeName: 'project'});\n"
     "return rows.sort((a, b) => a.size - b.size || new Date(a.created) - new Date(b.created))[0].id",
     []),
    ("return new Date(0).toLocaleDateString('de-DE', {month: 'long'})", []),
    ("const rows = notes.list();\n"
     "return Object.keys(rows).length",
     ["notes.list answers a promise; Object.keys needs its value"]),
    ("async function run() { return (await notes.list()).length }",
     ["run is declared, but not called: nothing is done"]),
    ("async function main() { return (await notes.list()).length }",
     []),
    # Filters that compare with another type of value, or with one that no note has.
    ("return (await notes.searchAdvanced({metadata: {status: 'activ'}})).total",
     ["notes.searchAdvanced: no note has the status 'activ'; there are: active, "]),
    ("return (await notes.searchAdvanced({metadata_filters: [{key: 'budget', operator: '>', "
     "value: '5'}]})).total",
     ["notes.searchAdvanced: 'budget' holds numbers, and the filter asks for the text \"5\""]),
    ("return (await notes.searchAdvanced({metadata_filters: [{key: 'owner', value: 5}]})).total",
     ["notes.searchAdvanced: 'owner' holds texts, and the filter asks for the number 5"]),
    ("return (await notes.searchAdvanced({metadata_filters: [{key: 'budget', operator: '>', "
     "value: 5e6}]})).total",
     []),
    # A dry run that changes nothing says why.
    ("return await notes.delete({identifier: 'project/greenhouse', dry_run: true})",
     ["notes.delete would change nothing: other notes link to this one, or are its subnotes"]),
    # Commands that fail, for who looks at their output alone.
    ("const r = await tools.jq({filter: '.a[', stdin: '{}'});\n"
     "return r.stdout",
     ["tools.run: a command ended with exit code 3: jq: error: syntax error"]),
    ("const {stdout} = await tools.pipe([{tool: 'jq', args: ['.a[']}, {tool: 'sort'}], "
     "{stdin: '{}'});\n"
     "return stdout.length",
     ["tools.pipe: a command ended with exit code 3"]),
    ("return await tools.jq({filter: '.a[', stdin: '{}'})", []),
    ("const r = await tools.jq({filter: '.a[', stdin: '{}'});\n"
     "if (!r.success) return 'no'", []),
    ("const r = await tools.jq({filter: '.a', stdin: '{}'});\n"
     "return r.output",
     ["tools.jq answers no 'output'; known are: success, stdout,"]),
    # Made for what they do.
    ("const rows = await notes.list({typeName: 'project'});\n"
     "await Promise.all(rows.map(async (r) => { console.log((await notes.get(r.id)).title) }));\n"
     "return rows.length", []),
]
