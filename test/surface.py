"""The seed's 39 methods: for each a call, and the keys that its `// Returns:` line names.

A key that ends in `?` may be missing. A list of keys stands for rows of an array. The code
runs over a fresh copy of the sample vault, each alone, and returns the method's answer.
"""

G = "project/greenhouse"
B = "idea/bee-hotel"
READ = f"const note = await notes.get('{G}');"
CHILD = f"await hierarchy.addSubnote({{parent_id: '{G}', child_id: '{B}'}});"
TYPE = "await noteTypes.create({type_name: 'tool', description: 'Things to lend'});"
VAULT = "{id: 'other', name: 'Other', path: 'other'}"

NOTE = "id title content metadata content_hash links type created updated"
LINK = "source_note_id target_note_id link_text link_type"
PLACE = "parent_id child_id depth position"
PLACED = "success parentId childId operation timestamp hierarchyUpdated error?"
VAULT_KEYS = "id name path description? last_accessed created"

SURFACE = {
    "notes.create": ("return notes.create({type: 'meeting', title: 'Standup', content: 'x', "
                     "metadata: {tags: ['a']}})", "id type title filename path created"),
    "notes.get": (f"return notes.get('{G}')", NOTE),
    "notes.update": (READ + "return notes.update({identifier: note.id, content: note.content + "
                     "'x', contentHash: note.content_hash, metadata: {done: true}})",
                     "id updated timestamp"),
    "notes.delete": (f"return notes.delete({{identifier: '{G}', confirm: true}})",
                     "id deleted timestamp backup_path? warnings?"),
    "notes.list": ("return notes.list({typeName: 'project', limit: 100})",
                   ["id title type created updated size tags path"]),
    "notes.rename": (READ + "return notes.rename({identifier: note.id, new_title: 'Glasshouse', "
                     "content_hash: note.content_hash})",
                     "success notesUpdated? linksUpdated? new_id?"),
    "notes.move": (READ + "return notes.move({identifier: note.id, new_type: 'idea', "
                   "content_hash: note.content_hash})",
                   "success old_id new_id old_type new_type filename title timestamp "
                   "links_updated? notes_with_updated_links?"),
    "notes.search": ("return notes.search({query: 'rain', limit: 5})",
                     ["note_id title excerpt score type? created?"]),
    "noteTypes.create": ("return noteTypes.create({type_name: 'tool', description: 'Things', "
                         "agent_instructions: 'Say who has it.', metadata_schema: {type: 'object', "
                         "properties: {owner: {type: 'string'}}}})", "name filename path created"),
    "noteTypes.list": (TYPE + "return noteTypes.list()",
                       ["name description noteCount filename"]),
    "noteTypes.get": (TYPE + "return noteTypes.get('tool')",
                      "name purpose path instructions metadata_schema content_hash"),
    "noteTypes.update": (TYPE + "return noteTypes.update({type_name: 'tool', "
                         "description: 'To lend'})", "raw parsed"),
    "noteTypes.delete": (TYPE + "return noteTypes.delete({type_name: 'tool', action: 'error'})",
                         "success notesAffected"),
    "vaults.getCurrent": ("return vaults.getCurrent()", VAULT_KEYS),
    "vaults.list": ("return vaults.list()", [VAULT_KEYS]),
    "vaults.create": (f"return vaults.create({VAULT})", VAULT_KEYS),
    "vaults.switch": (f"await vaults.create({VAULT}); return vaults.switch('other')", None),
    "vaults.update": (f"await vaults.create({VAULT}); "
                      "return vaults.update({id: 'other', name: 'Another'})", None),
    "vaults.remove": (f"await vaults.create({VAULT}); return vaults.remove('other')", None),
    "links.getForNote": (f"return links.getForNote('{G}')",
                         "outgoing_internal outgoing_external incoming"),
    "links.getBacklinks": (f"return links.getBacklinks('{G}')", [LINK]),
    "links.findBroken": (READ + "await notes.update({identifier: note.id, content: "
                         "'[[no/such note]]'}); return links.findBroken()", [LINK]),
    "links.searchBy": (f"return links.searchBy({{has_links_to: ['{G}']}})",
                       ["id title type created updated content_hash metadata"]),
    "links.migrate": ("return links.migrate()", "total_notes processed errors error_details?"),
    "hierarchy.addSubnote": (f"return hierarchy.addSubnote({{parent_id: '{G}', child_id: '{B}', "
                             "position: 0})", PLACED),
    "hierarchy.removeSubnote": (CHILD + f"return hierarchy.removeSubnote({{parent_id: '{G}', "
                                f"child_id: '{B}'}})", PLACED),
    "hierarchy.reorder": (CHILD + f"return hierarchy.reorder({{parent_id: '{G}', "
                          f"child_ids: ['{B}']}})",
                          "success parentId operation timestamp hierarchyUpdated error?"),
    "hierarchy.getPath": (CHILD + f"return hierarchy.getPath('{B}')", str),
    "hierarchy.getDescendants": (CHILD + f"return hierarchy.getDescendants({{note_id: '{G}', "
                                 "max_depth: 3})", [PLACE]),
    "hierarchy.getChildren": (CHILD + f"return hierarchy.getChildren('{G}')", [PLACE]),
    "hierarchy.getParents": (CHILD + f"return hierarchy.getParents('{B}')", [PLACE]),
    "relationships.get": (f"return relationships.get('{G}')",
                          "content_links hierarchy_links external_links"),
    "relationships.getRelated": (f"return relationships.getRelated({{note_id: '{G}', "
                                 "max_results: 5})", ["noteId strength relationship_types"]),
    "relationships.findPath": (f"return relationships.findPath({{start_note_id: '{G}', "
                               f"end_note_id: 'person/marta', max_depth: 5}})",
                               ["noteId relationship"]),
    "relationships.getClusteringCoefficient": (
        f"return relationships.getClusteringCoefficient('{G}')", float),
    "utils.generateId": ("return utils.generateId()", str),
    "utils.parseLinks": ("return utils.parseLinks('[[a/b]] and [[c|d]]')", str),
    "utils.formatDate": ("return utils.formatDate('2026-01-02')", str),
    "utils.sanitizeTitle": ("return utils.sanitizeTitle('a/b: c?')", str),
}
