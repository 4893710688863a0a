// Made by dev/client-types from `cloche api --types`; do not edit.

/** The frontmatter of a note; values as YAML reads them. */
type Metadata = {[key: string]: any};

/** A note as notes.get returns it. */
interface FullNote {
  id: string;
  uid: string | null;
  title: string;
  content: string;
  metadata: Metadata;
  content_hash: string;
  links: NoteLink[];
  type: string;
  created: string;
  updated: string;
  path: string;
  filename: string;
  size: number;
  tags: string[];
  aliases?: string[];
  frontmatter_error?: string;
  properties?: Metadata;
  markdown?: string;
}

/** A link as it is written in a note's content. */
interface NoteLink {
  target: string;
  label: string | null;
  kind: 'wiki' | 'markdown' | 'external';
  line: number;
}

/** Fields of a note in lists. */
type NoteField = 'id' | 'title' | 'type' | 'created' | 'updated' | 'size' | 'tags' | 'path' | 'uid' | 'filename' | 'content_hash' | 'metadata' | 'aliases' | 'properties';

/** A note in a list, without its content; with `fields` only these. */
interface NoteRow {
  id: string;
  title: string;
  type: string;
  created: string;
  updated: string;
  size: number;
  tags: string[];
  path: string;
  uid?: string | null;
  filename?: string;
  content_hash?: string;
  metadata?: Metadata;
  aliases?: string[];
  properties?: Metadata;
  properties_cut?: string[];
}

/** A note found by a search; id and note_id are the same. */
interface SearchHit {
  id: string;
  note_id: string;
  title: string;
  excerpt: string;
  score: number;
  type: string;
  created: string;
}

/** Fields of a note in search results. */
type SearchField = 'id' | 'note_id' | 'title' | 'excerpt' | 'score' | 'type' | 'created';

/** The result of notes.create. */
interface CreatedNote {
  id: string;
  type: string;
  title: string;
  filename: string;
  path: string;
  created: string;
}

/** The result of notes.update; content_hash is the new version's. */
interface UpdatedNote {
  id: string;
  updated: boolean;
  timestamp: string;
  content_hash: string;
}

/** The result of notes.delete; backup_path is the file's path in the trash. */
interface DeletedNote {
  id: string;
  deleted: boolean;
  timestamp: string;
  backup_path?: string;
  warnings?: string[];
}

/** The result of notes.rename, with the numbers of rewritten notes and links. */
interface RenamedNote {
  success: boolean;
  notesUpdated: number;
  linksUpdated: number;
  new_id: string;
  path: string;
  content_hash: string;
}

/** The result of notes.renameHeading. */
interface RenamedHeading {
  id: string;
  heading: string;
  links_updated: number;
  notes_with_updated_links: number;
  content_hash: string;
}

/** The note of a day, which is there or not. */
interface DailyNote {
  id: string;
  path: string;
  title: string;
  date: string;
  exists: boolean;
  created: boolean;
}

/** The result of notes.move. */
interface MovedNote {
  success: boolean;
  old_id: string;
  new_id: string;
  old_type: string;
  new_type: string;
  filename: string;
  title: string;
  timestamp: string;
  links_updated: number;
  notes_with_updated_links: number;
  path: string;
  content_hash: string;
}

/** The sections of a note; line is the heading's in the content, from 1. */
interface NoteSections {
  id: string;
  content_hash: string;
  sections: {heading: string, occurrence: number, line: number, content: string}[];
}

/** The result of notes.updateSection. */
interface UpdatedSection {
  id: string;
  updated: boolean;
  heading: string;
  timestamp: string;
  content_hash: string;
}

/** The result of notes.batch: for each change the result of its call. */
interface BatchResult {
  success: boolean;
  results: any[];
}

/** A stored version of a note; author is the caller's name or 'external'. */
interface Revision {
  revision: number;
  updated_at: string;
  author: string;
  content_hash: string;
  summary: string;
  size: number;
  action: string;
  path: string;
  backup_path?: string;
}

/** An earlier version of a note; text is the whole file. */
type OldNote = Revision & {content: string, metadata: Metadata, text: string};

/** The result of notes.restore. */
interface RestoredNote {
  id: string;
  restored: boolean;
  path: string;
  revision?: number;
  backup_path?: string;
  timestamp: string;
  content_hash: string;
}

/** A task of a note; mark is the character in [ ], or Logseq's word; priority is 1, the highest, to 5. */
interface Task {
  note_id: string;
  path: string;
  line: number;
  status: 'open' | 'done' | 'cancelled';
  mark: string;
  text: string;
  tags: string[];
  due?: string;
  scheduled?: string;
  start?: string;
  finished?: string;
  priority?: number;
}

/** The result of notes.renameTag: so many notes were changed, in so many places. */
interface RenamedTag {
  tag: string;
  new_tag: string;
  notes?: number;
  replaced?: number;
  timestamp: string;
  hidden?: string;
}

/** A note that notes.undo did not change; revision is the one that it would restore. */
interface RefusedUndo {
  id: string;
  path: string;
  reason: string;
  changed_by?: string;
  call?: string;
  revision?: number;
  diff: string;
  diff_since: string;
}

/** The result of notes.undo: undone and kept count notes. */
interface UndoneCalls {
  undone: number;
  timestamp: string;
  notes?: {id: string, path: string, action: 'create' | 'update' | 'move' | 'delete', content_hash?: string}[];
  kept: number;
  refused?: RefusedUndo[];
  hidden?: string;
}

/** The result of notes.undo with dry_run. */
type UndoTrial = DryRun & {kept: number, refused?: RefusedUndo[]};

/** A call that changed notes. */
interface LoggedCall {
  call?: string;
  author: string;
  time: string;
  notes: number;
  cursor: number;
  changes: {id: string, path: string, action: string, revision: number, summary: string, old_path?: string, diff?: string, diff_truncated?: boolean}[];
  more?: number;
}

/** A deleted note; id and path are its former ones. */
interface TrashedNote {
  backup_path: string;
  id: string;
  path: string;
  type: string;
  deleted_at?: string;
  size: number;
}

/** The changes that a call with dry_run: true would make; diff is a unified diff. If notes.get is not allowed, diffs are empty: hidden says so, and others counts further notes that would change. */
interface DryRun {
  dry_run: true;
  changes: {id: string, path: string, action: 'create' | 'update' | 'rename' | 'move' | 'delete', new_path?: string, diff: string, diff_truncated?: boolean}[];
  hidden?: string;
  others?: number;
}

/** A condition on a note's metadata; the key may be a path such as 'a.b'. */
interface MetadataFilter {
  key: string;
  value?: any;
  operator?: '=' | '!=' | '>' | '>=' | '<' | '<=' | 'in' | 'contains' | 'exists';
}

/** A note found by notes.searchAdvanced; with `fields` only these. */
interface AdvancedHit {
  id: string;
  title: string;
  type: string;
  created: string;
  updated: string;
  size: number;
  tags: string[];
  path: string;
  excerpt?: string;
  score?: number;
  uid?: string;
  filename?: string;
  content_hash?: string;
  metadata?: Metadata;
}

/** A link from note to note, by their ids; line is the line in the source's content, or 0 if the target is a subnote of the source or the link stands in its frontmatter or in a canvas, whose path is the source. */
interface Link {
  source: string;
  target: string;
  text: string;
  kind: 'wiki' | 'markdown' | 'hierarchy';
  line: number;
  ambiguous?: true;
}

/** A link between notes; target is what is written, file tells of one to an image or another file that is no note, ambiguous of a name that several notes have. */
interface LinkRow {
  source_note_id: string;
  target_note_id: string | null;
  target: string;
  link_text: string;
  link_type: 'wiki' | 'markdown';
  line: number;
  file?: true;
  ambiguous?: true;
}

/** A link to a URL. */
interface ExternalLink {
  source_note_id: string;
  url: string;
  link_text: string;
  link_type: 'external';
  line: number;
}

/** The result of links.getForNote. */
interface NoteLinks {
  outgoing_internal: LinkRow[];
  outgoing_external: ExternalLink[];
  incoming: LinkRow[];
}

/** A link that leads to no note, or to one without the heading or block that it names in fragment, or an embed or link of a file that is not there. */
type BrokenLink = LinkRow & {reason: 'missing' | 'ambiguous' | 'heading' | 'block' | 'file', fragment?: string};

/** A note that links.searchBy found. */
interface LinkedNote {
  id: string;
  title: string;
  type: string;
  created: string;
  updated: string;
  content_hash: string;
  metadata: Metadata;
}

/** The result of links.migrate; processed counts the notes that were read again. */
interface LinkMigration {
  total_notes: number;
  processed: number;
  errors: number;
  error_details?: {note_id: string, error: string}[];
}

/** One place in the hierarchy; positions count from 0. */
interface HierarchyRow {
  parent_id: string;
  child_id: string;
  depth: number;
  position: number;
}

/** The result of a change of the hierarchy; both hashes are the parent's; hierarchyUpdated is false if nothing had to change. */
interface HierarchyChange {
  success: boolean;
  parentId: string;
  childId?: string;
  operation: 'add' | 'remove' | 'reorder';
  timestamp: string;
  hierarchyUpdated: boolean;
  content_hash: string;
  previous_hash: string;
  error?: string;
}

/** The result of relationships.get. */
interface NoteRelationships {
  content_links: {outgoing: LinkRow[], incoming: LinkRow[]};
  hierarchy_links: {parents: HierarchyRow[], children: HierarchyRow[]};
  external_links: ExternalLink[];
}

/** A note that is related to another. */
interface RelatedNote {
  noteId: string;
  strength: number;
  relationship_types: ('link' | 'backlink' | 'child' | 'parent' | 'sibling' | 'shared_link' | 'shared_tag')[];
}

/** A step of a path between two notes; relationship is its relation to the previous one. */
interface PathStep {
  noteId: string;
  relationship: 'start' | 'link' | 'backlink' | 'child' | 'parent';
}

declare const notes: {
  /** Creates a note in the folder of its type. The title becomes the file's name; type is 'note' by default. type_id is another word for type; folder is any folder, such as 'project/garden', or '' for the root, and its first one is the type. markdown is the whole file, kept as it is: its frontmatter gives the type, and title or first heading the title, unless they are given. Fails with: Conflict: the name is taken. InvalidInput: an unknown field, or metadata that the type's schema does not allow. */
  create(options: {type?: string, type_id?: string, folder?: string, title: string, content?: string, metadata?: Metadata, dry_run?: false} | {markdown: string, type?: string, folder?: string, title?: string, dry_run?: false}): Promise<CreatedNote>;
  create(options: {type?: string, type_id?: string, folder?: string, title: string, content?: string, metadata?: Metadata, dry_run: true} | {markdown: string, type?: string, folder?: string, title?: string, dry_run: true}): Promise<DryRun>;
  /** One note with its content, by id ('type/name'), uid, path or unique title. null if there is none. content is the text after the frontmatter; metadata is the frontmatter without id, type, title, created and updated; properties: true adds an object of these and of the texts under the headings of level 2; markdown: true adds the whole file. Fails with: Conflict: several notes have this title; the message names them. */
  get(identifier: string | {identifier: string, properties?: boolean, markdown?: boolean}): Promise<FullNote | null>;
  /** Replaces a note's content, or merges its metadata, or both. metadata is merged key by key, null removes a key. markdown replaces the whole file including the frontmatter. Without contentHash the change applies to the version that this code read last; a note that it has not read is changed only with force. Fails with: Conflict: the note changed since that version; nothing is written. NotFound. InvalidInput: not read before, and neither contentHash nor force is given. */
  update(options: {identifier: string, content?: string, contentHash?: string, content_hash?: string, metadata?: Metadata, markdown?: string, force?: boolean, dry_run?: false}): Promise<UpdatedNote>;
  update(options: {identifier: string, content?: string, contentHash?: string, content_hash?: string, metadata?: Metadata, markdown?: string, force?: boolean, dry_run: true}): Promise<DryRun>;
  update(identifier: string, changes: {content?: string, contentHash?: string, content_hash?: string, metadata?: Metadata, markdown?: string, force?: boolean, dry_run?: false}): Promise<UpdatedNote>;
  update(identifier: string, changes: {content?: string, contentHash?: string, content_hash?: string, metadata?: Metadata, markdown?: string, force?: boolean, dry_run: true}): Promise<DryRun>;
  /** Moves a note to the trash. If other notes link to it, nothing is done and warnings lists them, unless confirm is true. backup_path is the file's new path. With contentHash only that version is deleted. Fails with: NotFound. Conflict: contentHash is given, and the note changed since. */
  delete(options: string | {identifier: string, confirm?: boolean, contentHash?: string, content_hash?: string, dry_run?: false}): Promise<DeletedNote>;
  delete(options: string | {identifier: string, confirm?: boolean, contentHash?: string, content_hash?: string, dry_run: true}): Promise<DryRun>;
  /** Notes without their content, most recently updated first. limit is 1,000 by default, 10,000 at most; cursor is the id of the last row of the page before, with order: 'path' its path. folder: the notes in it, with recursive also those in folders inside of it. fields picks the fields of the rows, also uid, filename, content_hash, metadata and properties: metadata and the texts under headings of level 2, the long ones cut (properties_cut names them). Fails with: InvalidInput: an unknown field. */
  list(options?: string | null | {typeName?: string, type?: string, folder?: string, recursive?: boolean, limit?: number, cursor?: string, order?: 'updated' | 'path', fields?: NoteField[]}): Promise<NoteRow[]>;
  /** Full-text search over titles, contents and tags, best match first. Words are joined by AND, or by OR if that finds nothing; "quotes" make a phrase. useRegex: a regular expression (PCRE2) over titles and single lines. exact: the title or file name equals the query. limit is 50 by default, 1,000 at most; cursor is the id of the last row of the previous page. Fails with: LimitExceeded: a regular expression that backtracks too much. */
  search(options: string | {query: string, typeFilter?: string, type?: string, limit?: number, useRegex?: boolean, exact?: boolean, fields?: SearchField[], cursor?: string}): Promise<SearchHit[]>;
  /** Gives a note another title and file name, and updates the links to it. It stays in its folder. Links in other notes and in itself are rewritten, keeping headings and labels, all or none of them; code blocks are left alone. The note must be as this code read it last, unless contentHash or force is given. Fails with: Conflict: the name is taken, the note changed, or the new name would break links to other notes. NotFound. InvalidInput. */
  rename(options: {identifier: string, new_title: string, contentHash?: string, content_hash?: string, force?: boolean, dry_run?: false}): Promise<RenamedNote>;
  rename(options: {identifier: string, new_title: string, contentHash?: string, content_hash?: string, force?: boolean, dry_run: true}): Promise<DryRun>;
  /** Moves a note to another type, which is its first folder, and updates the links to it. Links in other notes are rewritten, and the note's own relative links go on to lead where they did, all or none of them. folder is any folder, '' the root; with new_type those inside of the type stay. The version that this code read last must be the note's, unless contentHash or force is given. Fails with: Conflict: the name is taken there, or the note changed. NotFound. InvalidInput. */
  move(options: {identifier: string, new_type?: string, folder?: string, contentHash?: string, content_hash?: string, force?: boolean, dry_run?: false}): Promise<MovedNote>;
  move(options: {identifier: string, new_type?: string, folder?: string, contentHash?: string, content_hash?: string, force?: boolean, dry_run: true}): Promise<DryRun>;
  /** The sections of a note: the text below each heading of level 2. occurrence counts sections with the same name, from 1. Fails with: NotFound. */
  getSections(identifier: string | {identifier: string}): Promise<NoteSections>;
  /** Changes one section of a note and no other. heading is the text of a heading of level 2; occurrence selects among several with the same text. mode is replace by default; create adds a section at the end, remove deletes one. The note must be as this code read it last, unless contentHash or force is given. Fails with: NotFound: no such note or section; the message lists the existing ones. InvalidInput: another heading would be damaged; nothing is written. Conflict. */
  updateSection(options: {identifier: string, heading: string, content?: string, mode?: 'replace' | 'append' | 'prepend' | 'remove' | 'create', occurrence?: number, contentHash?: string, content_hash?: string, force?: boolean, dry_run?: false}): Promise<UpdatedSection>;
  updateSection(options: {identifier: string, heading: string, content?: string, mode?: 'replace' | 'append' | 'prepend' | 'remove' | 'create', occurrence?: number, contentHash?: string, content_hash?: string, force?: boolean, dry_run: true}): Promise<DryRun>;
  /** Gives a heading another text, and updates the links that name it. Links as [[note#Heading]], [[#Heading]], [x](note.md#heading) and cards of canvases follow, all or none. A heading of any level; occurrence says which of several with the same text. The version that this code read last must be the note's, unless contentHash or force is given. Fails with: NotFound: no such note or heading. Conflict: several headings have the text, or the note changed. */
  renameHeading(options: {identifier: string, heading: string, new_heading: string, occurrence?: number, contentHash?: string, content_hash?: string, force?: boolean, dry_run?: false}): Promise<RenamedHeading>;
  renameHeading(options: {identifier: string, heading: string, new_heading: string, occurrence?: number, contentHash?: string, content_hash?: string, force?: boolean, dry_run: true}): Promise<DryRun>;
  /** The daily note of a day, made of its template if it is not there. date is a day, as '2026-12-01', or 'today' (the default), 'yesterday' or 'tomorrow' in the person's time zone. Folder, format of the name and template are those of the vault's settings: of Obsidian, Logseq or Foam, or of .cloche/settings.json. Without create: true nothing is made, and exists says whether it is there. Fails with: InvalidInput: date is no day, or the vault's format is not valid. Conflict: a note of that name is elsewhere. */
  daily(options?: {date?: string, create?: boolean, dry_run?: false} | null): Promise<DailyNote>;
  daily(options?: {date?: string, create?: boolean, dry_run: true} | null): Promise<DryRun>;
  /** Gives a tag another name in all notes, as one change. Tags of the frontmatter and #tags of the text, whatever their case, and those beneath it: with project, project/active becomes the new tag's. Everything else in the notes stays byte for byte. A note that has both tags has the new one twice. Fails with: NotFound: no note has it. InvalidInput: new_tag is no tag. Conflict: a note changed meanwhile; nothing was written. */
  renameTag(options: {tag: string, new_tag: string, dry_run?: false}): Promise<RenamedTag>;
  renameTag(options: {tag: string, new_tag: string, dry_run: true}): Promise<DryRun>;
  /** Several changes of notes, all or nothing. Each change has an action and the options of the call of that name; they are made in order, at most 1,000. results are the results of the calls. Each call must be permitted, too. Fails with: Those of the calls; the message names the change, and nothing is written. */
  batch(options: {changes: {action: 'create' | 'update' | 'delete' | 'rename' | 'move' | 'updateSection' | 'restore', [option: string]: any}[], dry_run?: false}): Promise<BatchResult>;
  batch(options: {changes: {action: 'create' | 'update' | 'delete' | 'rename' | 'move' | 'updateSection' | 'restore', [option: string]: any}[], dry_run: true}): Promise<DryRun>;
  /** The revisions of a note, newest first. Every change is kept with its author; a version written by another program is kept as 'external' when it is overwritten. Deleted notes have a history, too. limit is 100 by default, 1,000 at most; cursor is the revision of the last row of the previous page. Fails with: NotFound: no such note exists or existed. */
  history(options: string | {identifier: string, limit?: number, cursor?: number}): Promise<Revision[]>;
  /** A note at one of its revisions. content and metadata as in notes.get; text is the whole file. Fails with: NotFound: no such note, or the revision is no longer stored. */
  getRevision(options: {identifier: string, revision: number}): Promise<OldNote>;
  /** Restores a note to a revision, or from the trash. The file becomes byte for byte what it was, as a new revision. An existing note must be as this code read it last, unless contentHash or force is given. A deleted note returns to its place. Fails with: Conflict: the note changed since, or another has its name. NotFound. */
  restore(options: {identifier: string, revision: number, contentHash?: string, content_hash?: string, force?: boolean, dry_run?: false} | {backup_path: string, dry_run?: false}): Promise<RestoredNote>;
  restore(options: {identifier: string, revision: number, contentHash?: string, content_hash?: string, force?: boolean, dry_run: true} | {backup_path: string, dry_run: true}): Promise<DryRun>;
  /** Undoes what calls did to notes, including links, as one change. call is the id of a call, from notes.log or the audit; since is a date, or '30m', '1h', '2d' before now; agent is a caller's name. All given conditions must match, and one is required. Every note that was changed, created, moved or deleted becomes byte for byte what it was; other notes' links follow the names. A note that somebody changed since stays, and refused shows it: diff is what was not undone, diff_since what came after it. So does one that needs a call which is not permitted, such as notes.delete. An undoing is undone as other calls are. Fails with: NotFound: no such call changed a note. InvalidInput. Conflict: a note changed meanwhile; nothing was written. */
  undo(options: {call?: string, since?: string, agent?: string, dry_run?: boolean}): Promise<UndoneCalls | UndoTrial>;
  /** The calls that changed notes, newest first, with their changes. limit is 20 by default, 1,000 at most; cursor is that of the last row of the previous page. diff adds the unified diff of each change. At most 200 changes of a call are listed; more counts the rest. Fails with: InvalidInput. */
  log(options?: {call?: string, since?: string, agent?: string, limit?: number, cursor?: number, diff?: boolean} | null): Promise<LoggedCall[]>;
  /** Deleted notes, most recently deleted first. limit is 100 by default, 1,000 at most; cursor is the backup_path of the last row of the previous page. notes.restore({backup_path}) restores one. */
  listTrash(options?: {limit?: number, cursor?: string} | null): Promise<TrashedNote[]>;
  /** Notes by type, tags, metadata, dates and words, sorted and in pages. All given conditions must match. tags: all of them. metadata: {key: value}, a list means any of its values. A key may be a path ('a.b'); a list matches a condition if one of its elements does; != also matches a missing key. Dates are inclusive after, exclusive before; within is '7d', '12h', '2w'. sort by title, type, created, updated, size, id, path, score or 'metadata.KEY'; by score, then newest first, without it. limit is 50, at most 1,000; cursor is what the page before has answered. Fails with: InvalidInput: names the field and what it accepts. LimitExceeded: more than 3 s. */
  searchAdvanced(options?: {query?: string, type?: string | string[], tags?: string | string[], metadata?: Metadata, metadata_filters?: MetadataFilter[], content_contains?: string, created_after?: string, created_before?: string, created_within?: string, updated_after?: string, updated_before?: string, updated_within?: string, sort?: {field: string, order?: 'asc' | 'desc'}[], limit?: number, cursor?: string, fields?: (keyof AdvancedHit)[]}): Promise<{results: AdvancedHit[], total: number, has_more: boolean, cursor?: string, query_time_ms: number}>;
  /** Notes that contain these words, without special characters. Like notes.search, but quotes and operators are plain text. */
  searchByText(options: string | {query: string, type?: string, limit?: number, fields?: SearchField[], cursor?: string}): Promise<SearchHit[]>;
  /** Tasks of all notes ('- [ ] call Ann'), those that are due first. status is open by default. tag is one of the task's own line, or one beneath it. due_before and due_after are days and exclude themselves. Dates and priorities are read in the signs of Obsidian's Tasks, in inline fields ([due:: 2026-12-01]) and as Logseq writes them (TODO, DEADLINE). Those without a date come last, by path and line. limit is 1,000 by default, at most 10,000. Fails with: InvalidInput: names the option and what it accepts. */
  tasks(options?: {status?: 'open' | 'done' | 'cancelled' | 'all', type?: string, folder?: string, tag?: string, query?: string, due_before?: string, due_after?: string, limit?: number} | null): Promise<Task[]>;
  /** One SELECT (SQLite) over views of the vault; it can change nothing. Views: notes(id, uid, title, type, path, filename, created, updated, size, content_hash, tags, metadata, content), tags(note_id, tag), metadata(note_id, key, value, type), links(source_note_id, target_note_id, target, link_text, link_type, line), hierarchy(parent_id, child_id, position), tasks(note_id, line, status, mark, text, tags, due, scheduled, start, finished, priority), types(name, note_count, updated). Times are ISO texts; notes.tags and notes.metadata are JSON for json_extract() and json_each(). params fill ? or :name. limit is 1,000 rows, at most 10,000; timeout is 3,000 ms, at most 10,000. Fails with: InvalidInput: SQLite's message about the query. PermissionDenied: PRAGMA, ATTACH, WITH RECURSIVE, other tables, anything that writes. Timeout. LimitExceeded. */
  searchSQL(options: string | {query: string, params?: any[] | {[name: string]: any}, limit?: number, timeout?: number}): Promise<{columns: string[], rows: {[column: string]: any}[], row_count: number, truncated: boolean, query_time_ms: number}>;
};

declare const noteTypes: {
  /** Describes a type of notes: its purpose, instructions for writing them, their metadata. metadata_schema is {type: 'object', properties: {name: {type, enum, minimum, pattern, format ...}}, required: [...]} or {fields: [{name, type, required, options, min, max, pattern}]}; notes.create and notes.update are checked against it. Keys that it does not name are allowed unless additionalProperties is false. Fails with: Conflict: the type is described already. InvalidInput: a schema that cannot be checked; the message names the field. */
  create(options: {type_name: string, description: string, agent_instructions?: string | string[], metadata_schema?: object}): Promise<{name: string, filename: string, path: string, created: string}>;
  /** All types: existing folders, and described names. filename is null if a type has no description. fields: true adds the properties of its notes (keys of the frontmatter and sections of level 2), independent of the schema: type is inferred from the values, notes counts the notes; the 200 most frequent. Callers that may not read notes get hidden instead. */
  list(options?: {fields?: boolean} | null): Promise<{name: string, description: string, noteCount: number, filename: string | null, fields?: {name: string, type: string, notes: number}[], fields_omitted?: number, hidden?: string}[]>;
  /** The purpose of a type, instructions for its notes, and its metadata schema. schema_error says why a schema that a person wrote cannot be read. Fails with: NotFound: neither a folder nor a description; the message names the types. */
  get(typeName: string | {type_name: string}): Promise<{name: string, purpose: string, path: string, instructions: string | string[], metadata_schema: object | null, content_hash: string | null, schema_error?: string}>;
  /** Changes the description of a type. Parts that are not given stay unchanged. Existing notes are not checked again. With content_hash only that version is changed. Fails with: Conflict: it changed since content_hash. NotFound. InvalidInput: a schema that cannot be checked. */
  update(options: {type_name: string, description?: string, instructions?: string | string[], agent_instructions?: string | string[], metadata_schema?: object, content_hash?: string}): Promise<{raw: string, parsed: {description: string, agentInstructions: string | string[], metadataSchema?: object}}>;
  /** Deletes a type: only an empty one, or with its notes moved to another type or the trash. 'error' (the default) refuses if there are notes; 'migrate' moves them to target_type and rewrites links; 'delete' moves them to the trash and needs confirm: true. All or nothing. Fails with: Conflict: it has notes, or one of them could not be moved. NotFound. */
  delete(options: {type_name: string, action?: 'error' | 'migrate' | 'delete', target_type?: string, confirm?: boolean}): Promise<{success: boolean, notesAffected: number}>;
};

declare const links: {
  /** All links of a note: to notes, to URLs, and from other notes. target_note_id is null where a link is broken: no note is called so. Where several are, it is the one with the shortest path, and ambiguous. Links in code blocks do not count. link_type is 'wiki', 'markdown' or 'external'; line counts from 1 in the content. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  getForNote(identifier: string | {identifier: string}): Promise<NoteLinks>;
  /** The links that lead to a note. Links by id, path, uid, title or file name are included. Sorted by the path of the linking note. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  getBacklinks(identifier: string | {identifier: string}): Promise<LinkRow[]>;
  /** All links of the vault that lead to a note. Sorted by the path of the linking note. With hierarchy: true also parents and subnotes, as rows of kind 'hierarchy' with line 0. limit is 10,000 by default and at most; cursor is the source of the last row, and a page ends with a whole note. Fails with: InvalidInput: the cursor's note is gone. */
  list(options?: {limit?: number, cursor?: string, hierarchy?: boolean} | null): Promise<Link[]>;
  /** Links to notes, headings, blocks and files that are not there. reason is 'missing', or 'ambiguous' where several notes have that uid; 'heading' or 'block' where the note has none that is called as fragment says; 'file' of an image or another file. limit is 10,000 by default and at most; cursor is the source_note_id of the last row, and a page ends with a whole note. */
  findBroken(options?: {limit?: number, cursor?: string} | null): Promise<BrokenLink[]>;
  /** The notes with certain links. All given criteria must match, each with any of its strings. A domain includes its subdomains. broken_links: false finds the notes without any. limit is 1,000 by default, 10,000 at most; cursor is the id of the last row. Fails with: NotFound: a named note does not exist. */
  searchBy(options: {has_links_to?: string | string[], linked_from?: string | string[], external_domains?: string | string[], broken_links?: boolean, limit?: number, cursor?: string}): Promise<LinkedNote[]>;
  /** Brings the index of links up to date. Every call does this by itself; force rebuilds the whole index. Notes are not changed. errors counts notes that cannot be read. */
  migrate(force?: boolean | {force?: boolean} | null): Promise<LinkMigration>;
};

declare const hierarchy: {
  /** Puts a note beneath another. The list is in the parent's frontmatter, under the key subnotes. Without position the note comes last, or keeps its place; positions count from 0. A note may have several parents. Fails with: Conflict: the parent is beneath the child already. InvalidInput: they are the same note. NotFound. */
  addSubnote(options: {parent_id: string, child_id: string, position?: number, dry_run?: false}): Promise<HierarchyChange>;
  addSubnote(options: {parent_id: string, child_id: string, position?: number, dry_run: true}): Promise<DryRun>;
  /** Detaches a subnote from its parent; both stay. Fails with: NotFound: it is not a subnote of that parent. */
  removeSubnote(options: {parent_id: string, child_id: string, dry_run?: false}): Promise<HierarchyChange>;
  removeSubnote(options: {parent_id: string, child_id: string, dry_run: true}): Promise<DryRun>;
  /** Changes the order of a note's subnotes. child_ids must be exactly its subnotes, each once. Fails with: InvalidInput: names missing subnotes, and ids that are not subnotes. */
  reorder(options: {parent_id: string, child_ids: string[], dry_run?: false}): Promise<HierarchyChange>;
  reorder(options: {parent_id: string, child_ids: string[], dry_run: true}): Promise<DryRun>;
  /** The ids from the topmost note down to this one. If a note has several parents, the one whose path comes first is used. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  getPath(noteId: string | {note_id: string}): Promise<string[]>;
  /** Everything beneath a note, level by level. depth is 1 for its children. A note with several parents has a row for each of them; its descendants are listed once. Fails with: LimitExceeded: more than 100,000 rows; give max_depth. NotFound: no such note. Conflict: several notes have that title. */
  getDescendants(options: string | {note_id: string, max_depth?: number}): Promise<HierarchyRow[]>;
  /** The subnotes of a note, in their order. Entries that match no note, repeat one or close a cycle are left out. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  getChildren(noteId: string | {note_id: string}): Promise<HierarchyRow[]>;
  /** The notes that have this one as a subnote. Sorted by the parents' paths; position is the note's place in each list. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  getParents(noteId: string | {note_id: string}): Promise<HierarchyRow[]>;
};

declare const relationships: {
  /** All connections of a note: links, hierarchy, URLs. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  get(noteId: string | {note_id: string}): Promise<NoteRelationships>;
  /** The notes most closely related to a note, strongest first. Counts links in both directions, parents, children, siblings, links to the same notes, and shared tags; strength is from 0 to 1. Links and tags shared by more than 1,000 notes are ignored. max_results is 10 by default, 1,000 at most. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  getRelated(options: string | {note_id: string, max_results?: number}): Promise<RelatedNote[]>;
  /** The shortest path from one note to another. The path uses links and the hierarchy in any direction. The first step is the start itself; relationship is a note's relation to the previous one. null: there is no path of at most max_depth steps, 10 by default, 100 at most. Among several paths it is always the same. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  findPath(options: {start_note_id: string, end_note_id: string, max_depth?: number}): Promise<PathStep[] | null>;
  /** How closely a note's neighbours are connected with each other, 0 to 1. The share of pairs of its neighbours (by links or hierarchy) that are directly connected. 0 if there are fewer than two. Fails with: NotFound: no such note. Conflict: several notes have that title. */
  getClusteringCoefficient(noteId: string | {note_id: string}): Promise<number>;
};

declare const vaults: {
  /** The vault that all other calls work in. null where no vault is open. */
  getCurrent(): Promise<{id: string, name: string, path: string, description?: string, last_accessed: string, created: string} | null>;
  /** The vaults that can be reached. Those given to this program with --vault and those that code has made since; or else all that the user has registered. */
  list(): Promise<{id: string, name: string, path: string, description?: string, last_accessed: string, created: string}[]>;
  /** Registers a folder as a vault, and makes it. A relative path is in the user's folder of vaults. Only a person can register other folders (cloche vault add DIR). initialize: false accepts only an existing folder; switch_to switches to the new vault. Fails with: PermissionDenied: the folder is not one that code may choose. Conflict: the id or the folder is taken, or the folder lies within another vault. */
  create(options: {id: string, name: string, path: string, description?: string, initialize?: boolean, switch_to?: boolean}): Promise<{id: string, name: string, path: string, description?: string, last_accessed: string, created: string}>;
  /** Switches to another vault. Holds for all calls made after it, and for later evaluations of the same session. Nobody else's vault changes. Fails with: NotFound: no vault has this id; the message names those there are. */
  switch(vaultId: string | {id: string}): Promise<void>;
  /** Changes a vault's name or description. Fails with: NotFound. InvalidInput: it was given with --vault and is not registered. */
  update(options: {id: string, name?: string, description?: string}): Promise<void>;
  /** Takes a vault from the list; its files stay as they are. Fails with: NotFound. InvalidInput: it was given with --vault and is not registered. */
  remove(vaultId: string | {id: string}): Promise<void>;
};

export { notes, noteTypes, links, hierarchy, relationships, vaults };
export type {
  AdvancedHit,
  BatchResult,
  BrokenLink,
  CreatedNote,
  DailyNote,
  DeletedNote,
  DryRun,
  ExternalLink,
  FullNote,
  HierarchyChange,
  HierarchyRow,
  Link,
  LinkMigration,
  LinkRow,
  LinkedNote,
  LoggedCall,
  Metadata,
  MetadataFilter,
  MovedNote,
  NoteField,
  NoteLink,
  NoteLinks,
  NoteRelationships,
  NoteRow,
  NoteSections,
  OldNote,
  PathStep,
  RefusedUndo,
  RelatedNote,
  RenamedHeading,
  RenamedNote,
  RenamedTag,
  RestoredNote,
  Revision,
  SearchField,
  SearchHit,
  Task,
  TrashedNote,
  UndoTrial,
  UndoneCalls,
  UpdatedNote,
  UpdatedSection,
};
