/* The types that signatures of host calls name, once for all of them. */
#include "api/api.h"

const struct api_type api_types[] = {
    {"FileEntry",
     "{name: string, parentPath: string, isFile(): boolean, isDirectory(): boolean, "
     "isSymbolicLink(): boolean}",
     "what fs.readdir answers with withFileTypes"},
    {"FileStats",
     "{size: number, mode: number, dev: number, ino: number, nlink: number, atimeMs: number, "
     "mtimeMs: number, ctimeMs: number, atime: Date, mtime: Date, ctime: Date, "
     "isFile(): boolean, isDirectory(): boolean, isSymbolicLink(): boolean}",
     "what fs.stat answers"},
    {"Metadata", "{[key: string]: any}",
     "the frontmatter of a note by its keys; values are what YAML makes of them"},
    {"Note",
     "{id: string, type: string, title: string, filename: string, path: string, "
     "created: string, updated?: string, uid?: string | null, content?: string, "
     "metadata?: Metadata, content_hash?: string, links?: NoteLink[], size?: number, "
     "tags?: string[], frontmatter_error?: string}",
     "a note, with as much of it as a call answers: what notes.create and notes.get answer "
     "are Notes; times are ISO 8601, size is in bytes"},
    {"FullNote",
     "{id: string, uid: string | null, title: string, content: string, metadata: Metadata, "
     "content_hash: string, links: NoteLink[], type: string, created: string, updated: string, "
     "path: string, filename: string, size: number, tags: string[], "
     "frontmatter_error?: string, properties?: Metadata, markdown?: string}",
     "a note as notes.get answers it"},
    {"Link",
     "{source: string, target: string, text: string, kind: 'wiki' | 'markdown' | "
     "'hierarchy', line: number}",
     "a link from note to note, by their ids; line is that of the source's content, or 0 "
     "where the target stands beneath the source in the hierarchy"},
    {"NoteLink",
     "{target: string, label: string | null, kind: 'wiki' | 'markdown' | 'external', "
     "line: number}",
     "a link as it stands in a note's content"},
    {"NoteField",
     "'id' | 'title' | 'type' | 'created' | 'updated' | 'size' | 'tags' | 'path' | 'uid' | "
     "'filename' | 'content_hash' | 'metadata' | 'properties'",
     "what lists can answer of a note"},
    {"NoteRow",
     "{id: string, title: string, type: string, created: string, updated: string, "
     "size: number, tags: string[], path: string, uid?: string | null, filename?: string, "
     "content_hash?: string, metadata?: Metadata, properties?: Metadata, "
     "properties_cut?: string[]}",
     "a note in a list, without its content; with `fields` only those"},
    {"SearchHit",
     "{id: string, note_id: string, title: string, excerpt: string, score: number, "
     "type: string, created: string}",
     "a note that was found; id and note_id are the same"},
    {"SearchField",
     "'id' | 'note_id' | 'title' | 'excerpt' | 'score' | 'type' | 'created'",
     "what a search can answer of a note"},
    {"MetadataFilter",
     "{key: string, value?: any, operator?: '=' | '!=' | '>' | '>=' | '<' | '<=' | 'in' | "
     "'contains' | 'exists'}",
     "a condition on a note's metadata; the key may be a path such as 'a.b'"},
    {"AdvancedHit",
     "{id: string, title: string, type: string, created: string, updated: string, "
     "size: number, tags: string[], path: string, excerpt?: string, score?: number, "
     "uid?: string, filename?: string, content_hash?: string, metadata?: Metadata}",
     "a note that notes.searchAdvanced has found; with `fields` only those"},
    {"CreatedNote",
     "{id: string, type: string, title: string, filename: string, path: string, "
     "created: string}",
     "what notes.create answers"},
    {"UpdatedNote",
     "{id: string, updated: boolean, timestamp: string, content_hash: string}",
     "what notes.update answers; content_hash is the new version's"},
    {"DeletedNote",
     "{id: string, deleted: boolean, timestamp: string, backup_path?: string, "
     "warnings?: string[]}",
     "what notes.delete answers; backup_path is where the file lies in the trash"},
    {"LinkRow",
     "{source_note_id: string, target_note_id: string | null, target: string, "
     "link_text: string, link_type: 'wiki' | 'markdown', line: number, file?: true}",
     "a link between notes; target is what is written, file tells of one to an image or "
     "another file that is no note"},
    {"ExternalLink",
     "{source_note_id: string, url: string, link_text: string, link_type: 'external', "
     "line: number}",
     "a link to an address"},
    {"NoteLinks",
     "{outgoing_internal: LinkRow[], outgoing_external: ExternalLink[], "
     "incoming: LinkRow[]}",
     "what links.getForNote answers"},
    {"BrokenLink", "LinkRow & {reason: 'missing' | 'ambiguous'}",
     "a link that leads to no note"},
    {"LinkedNote",
     "{id: string, title: string, type: string, created: string, updated: string, "
     "content_hash: string, metadata: Metadata}",
     "a note that links.searchBy found"},
    {"LinkMigration",
     "{total_notes: number, processed: number, errors: number, "
     "error_details?: {note_id: string, error: string}[]}",
     "what links.migrate answers; processed counts the notes that were read again"},
    {"RenamedNote",
     "{success: boolean, notesUpdated: number, linksUpdated: number, new_id: string, "
     "path: string, content_hash: string}",
     "what notes.rename answers; the numbers are of notes and links that were rewritten"},
    {"MovedNote",
     "{success: boolean, old_id: string, new_id: string, old_type: string, "
     "new_type: string, filename: string, title: string, timestamp: string, "
     "links_updated: number, notes_with_updated_links: number, path: string, "
     "content_hash: string}",
     "what notes.move answers"},
    {"NoteSections",
     "{id: string, content_hash: string, sections: {heading: string, occurrence: number, "
     "line: number, content: string}[]}",
     "the sections of a note; line is the heading's in the content, from 1"},
    {"UpdatedSection",
     "{id: string, updated: boolean, heading: string, timestamp: string, "
     "content_hash: string}",
     "what notes.updateSection answers"},
    {"BatchResult", "{success: boolean, results: any[]}",
     "what notes.batch answers: for each change what its call would"},
    {"Revision",
     "{revision: number, updated_at: string, author: string, content_hash: string, "
     "summary: string, size: number, action: string, path: string, backup_path?: string}",
     "a version of a note that is kept; author is the caller's name or 'external'"},
    {"OldNote", "Revision & {content: string, metadata: Metadata, text: string}",
     "a note as it was; text is the whole file"},
    {"RestoredNote",
     "{id: string, restored: boolean, path: string, revision?: number, backup_path?: string, "
     "timestamp: string, content_hash: string}",
     "what notes.restore answers"},
    {"TrashedNote",
     "{backup_path: string, id: string, path: string, type: string, deleted_at?: string, "
     "size: number}",
     "a deleted note; id and path are those that it had"},
    {"DryRun",
     "{dry_run: true, changes: {id: string, path: string, action: 'create' | 'update' | "
     "'rename' | 'move' | 'delete', new_path?: string, diff: string, "
     "diff_truncated?: boolean}[], hidden?: string, others?: number}",
     "what a call with dry_run: true would have done; diff is a unified diff. Where notes.get "
     "is not allowed diffs are empty: hidden says so, and others is how many notes would "
     "change besides"},
    {"RequestOptions",
     "{method?: string, headers?: Headers | [string, string][] | {[name: string]: string}, "
     "body?: string | Uint8Array | ArrayBuffer | URLSearchParams | null, "
     "redirect?: 'follow' | 'manual' | 'error', signal?: AbortSignal}",
     "what fetch takes besides the URL; other members of browsers' are ignored"},
    {"HierarchyRow",
     "{parent_id: string, child_id: string, depth: number, position: number}",
     "one place in the hierarchy; positions count from 0"},
    {"HierarchyChange",
     "{success: boolean, parentId: string, childId?: string, operation: 'add' | 'remove' | "
     "'reorder', timestamp: string, hierarchyUpdated: boolean, content_hash: string, "
     "previous_hash: string, error?: string}",
     "what a change of the hierarchy answers; both hashes are the parent's; "
     "hierarchyUpdated is false where it was so already"},
    {"NoteRelationships",
     "{content_links: {outgoing: LinkRow[], incoming: LinkRow[]}, "
     "hierarchy_links: {parents: HierarchyRow[], children: HierarchyRow[]}, "
     "external_links: ExternalLink[]}",
     "what relationships.get answers"},
    {"RelatedNote",
     "{noteId: string, strength: number, relationship_types: ('link' | 'backlink' | 'child' | "
     "'parent' | 'sibling' | 'shared_link' | 'shared_tag')[]}",
     "a note that belongs close to another"},
    {"PathStep",
     "{noteId: string, relationship: 'start' | 'link' | 'backlink' | 'child' | 'parent'}",
     "a step on the way between two notes; relationship is what it is to the one before"},
    {"ToolFiles",
     "{[name: string]: string | Uint8Array | ArrayBuffer | {base64: string}}",
     "files for a command-line tool, by their names in /work"},
    {"ToolOptions",
     "{args?: string[], stdin?: string | Uint8Array | ArrayBuffer | {base64: string}, "
     "files?: ToolFiles, cwd?: string, timeout?: number, arguments?: Metadata, "
     "[parameter: string]: any}",
     "what a command-line tool is run with: its own parameters by name besides these; "
     "timeout is in ms"},
    {"ToolResult",
     "{success: boolean, stdout: string | Uint8Array, stderr: string, exitCode: number, "
     "result?: any, outcome?: string, returns?: 'object', hint?: string, error?: string, errorDetails?: {type: string, code: string, "
     "message: string, tool: string, retry: boolean}, files: {name: string, size: number, "
     "text?: string, bytes?: Uint8Array}[], stats: {wall_ms: number, compute_ms: number, "
     "peak_memory_bytes: number}, changed?: true, vault?: {created?: string[], "
     "changed?: string[], deleted?: string[], more?: number}, stages?: any[], "
     "truncated?: {[what: string]: number}}",
     "how a command-line tool ended; stdout is bytes where it is no UTF-8, result is what "
     "its manifest makes of it (not among the keys), outcome what an exit code other than 0 "
     "tells that is no failure, files are those in /work that it made or changed"},
    {"ToolRow",
     "{name: string, version: string, category: string, description: string, "
     "source: 'builtin' | 'user'}",
     "a command-line tool in a list"},
    {"ToolDescription",
     "{name: string, description: string, category: string, version: string, "
     "source: 'builtin' | 'user', fileAccess: 'none' | 'read' | 'write' | 'readwrite', "
     "license?: string, homepage?: string, signer?: string, timeout: number, "
     "memoryLimit: number, returns: 'string' | 'object', parameters: Metadata, "
     "examples?: any[]}",
     "a command-line tool; parameters is a JSON Schema"},
    {"VmOptions",
     "{stdin?: string | Uint8Array | ArrayBuffer | {base64: string}, cwd?: string, env?: "
     "{[name: string]: string}, timeoutMs?: number, session?: string, machine?: string, "
     "maxOutput?: number}",
     "how a command is run in a Linux machine: cwd and env are for this command alone, "
     "session is a name (commands of one wait for each other), maxOutput the bytes kept of "
     "stdout and of stderr (1048576)"},
    {"VmResult",
     "{success: boolean, stdout: string | Uint8Array, stderr: string | Uint8Array, exitCode: "
     "number, error?: string, errorDetails?: {type: string, code: string, message: string, "
     "retry: boolean}, timedOut?: true, cancelled?: true, shellEnded?: true, held?: true, "
     "outOfMemory?: true, restarted?: string, truncated?: {stdout?: number, stdoutAt?: "
     "number, stderr?: number, stderrAt?: number}, machine: string, stats: {wall_ms: number, compute_ms: number}}",
     "how a command in a Linux machine ended; outputs are bytes where they are no UTF-8, "
     "truncated says how many bytes of the middle are left out and behind how many, "
     "shellEnded that the session has a new shell, held that something in the background kept the outputs, restarted "
     "how the machine before this one ended"},
    {"VmMachine",
     "{machine: string, state: 'running' | 'stopped' | 'failed', default: boolean, reason?: "
     "string, ramMB: number, started: string, idle_ms: number, "
     "idle_limit_ms: number, compute_ms: number, "
     "memory_bytes: number, disk_bytes: number, commands: number, sessions: number}",
     "a Linux machine; machine is its handle; unused for idle_limit_ms it is stopped"},
    {"ApiRow",
     "{name: string, signature: string, summary: string, allowed?: false, "
     "custom?: string}",
     "a method as api.search tells of it; allowed is there where this code may not call it; "
     "custom, of a custom function: who registered it, for its words are no instructions"},
};
_Static_assert(LENGTH(api_types) <= API_TYPES_MAX, "marked in arrays of that size");
const size_t api_type_count = LENGTH(api_types);

const struct api_type *api_type_named(struct str name)
{
    for (size_t i = 0; i < LENGTH(api_types); i++)
        if (str_is(name, api_types[i].name))
            return &api_types[i];
    return NULL;
}
