"""Stubs of the API that Python code has in an evaluation (docs/python.md).

Made of the table of host calls by `make reference`; do not edit.
"""
import datetime
from typing import Any, Callable, List, Literal, NoReturn, overload

class Record(dict[str, Any]):
    def __getattr__(self, name: str) -> Any: ...

class HostCallError(Exception):
    name: str
    code: str | None
    message: str
    retry: bool

custom_functions: Any
context: Record


class Metadata(Record):
    ...

class Note(Record):
    id: str
    type: str
    title: str
    filename: str
    path: str
    created: str
    updated: str | None
    uid: str | None | None
    content: str | None
    metadata: Metadata | None
    content_hash: str | None
    links: List[NoteLink] | None
    size: float | None
    tags: List[str] | None
    aliases: List[str] | None
    frontmatter_error: str | None

class FullNote(Record):
    id: str
    uid: str | None
    title: str
    content: str
    metadata: Metadata
    content_hash: str
    links: List[NoteLink]
    type: str
    created: str
    updated: str
    path: str
    filename: str
    size: float
    tags: List[str]
    aliases: List[str] | None
    frontmatter_error: str | None
    properties: Metadata | None
    markdown: str | None

class NoteLink(Record):
    target: str
    label: str | None
    kind: Literal['wiki'] | Literal['markdown'] | Literal['external']
    line: float

NoteField = Literal['id'] | Literal['title'] | Literal['type'] | Literal['created'] | Literal['updated'] | Literal['size'] | Literal['tags'] | Literal['path'] | Literal['uid'] | Literal['filename'] | Literal['content_hash'] | Literal['metadata'] | Literal['aliases'] | Literal['properties']

class NoteRow(Record):
    id: str
    title: str
    type: str
    created: str
    updated: str
    size: float
    tags: List[str]
    path: str
    uid: str | None | None
    filename: str | None
    content_hash: str | None
    metadata: Metadata | None
    aliases: List[str] | None
    properties: Metadata | None
    properties_cut: List[str] | None

class SearchHit(Record):
    id: str
    note_id: str
    title: str
    excerpt: str
    score: float
    type: str
    created: str

SearchField = Literal['id'] | Literal['note_id'] | Literal['title'] | Literal['excerpt'] | Literal['score'] | Literal['type'] | Literal['created']

class CreatedNote(Record):
    id: str
    type: str
    title: str
    filename: str
    path: str
    created: str

class UpdatedNote(Record):
    id: str
    updated: bool
    timestamp: str
    content_hash: str

class DeletedNote(Record):
    id: str
    deleted: bool
    timestamp: str
    backup_path: str | None
    warnings: List[str] | None

class RenamedNote(Record):
    success: bool
    notes_updated: float
    links_updated: float
    new_id: str
    path: str
    content_hash: str

class RenamedHeading(Record):
    id: str
    heading: str
    links_updated: float
    notes_with_updated_links: float
    content_hash: str

class DailyNote(Record):
    id: str
    path: str
    title: str
    date: str
    exists: bool
    created: bool

class MovedNote(Record):
    success: bool
    old_id: str
    new_id: str
    old_type: str
    new_type: str
    filename: str
    title: str
    timestamp: str
    links_updated: float
    notes_with_updated_links: float
    path: str
    content_hash: str

class NoteSections(Record):
    id: str
    content_hash: str
    sections: List[dict[str, Any]]

class UpdatedSection(Record):
    id: str
    updated: bool
    heading: str
    timestamp: str
    content_hash: str

class BatchResult(Record):
    success: bool
    results: List[Any]

class Revision(Record):
    revision: float
    updated_at: str
    author: str
    content_hash: str
    summary: str
    size: float
    action: str
    path: str
    backup_path: str | None

OldNote = Any

class RestoredNote(Record):
    id: str
    restored: bool
    path: str
    revision: float | None
    backup_path: str | None
    timestamp: str
    content_hash: str

class Task(Record):
    note_id: str
    path: str
    line: float
    status: Literal['open'] | Literal['done'] | Literal['cancelled']
    mark: str
    text: str
    tags: List[str]
    due: str | None
    scheduled: str | None
    start: str | None
    finished: str | None
    priority: float | None

class RenamedTag(Record):
    tag: str
    new_tag: str
    notes: float | None
    replaced: float | None
    timestamp: str
    hidden: str | None

class RefusedUndo(Record):
    id: str
    path: str
    reason: str
    changed_by: str | None
    call: str | None
    revision: float | None
    diff: str
    diff_since: str

class UndoneCalls(Record):
    undone: float
    timestamp: str
    notes: List[dict[str, Any]] | None
    kept: float
    refused: List[RefusedUndo] | None
    hidden: str | None

UndoTrial = Any

class LoggedCall(Record):
    call: str | None
    author: str
    time: str
    notes: float
    cursor: float
    changes: List[dict[str, Any]]
    more: float | None

class TrashedNote(Record):
    backup_path: str
    id: str
    path: str
    type: str
    deleted_at: str | None
    size: float

class DryRun(Record):
    dry_run: Literal[True]
    changes: List[dict[str, Any]]
    hidden: str | None
    others: float | None

class MetadataFilter(Record):
    key: str
    value: Any | None
    operator: Literal['='] | Literal['!='] | Literal['>'] | Literal['>='] | Literal['<'] | Literal['<='] | Literal['in'] | Literal['contains'] | Literal['exists'] | None

class AdvancedHit(Record):
    id: str
    title: str
    type: str
    created: str
    updated: str
    size: float
    tags: List[str]
    path: str
    excerpt: str | None
    score: float | None
    uid: str | None
    filename: str | None
    content_hash: str | None
    metadata: Metadata | None

class Link(Record):
    source: str
    target: str
    text: str
    kind: Literal['wiki'] | Literal['markdown'] | Literal['hierarchy']
    line: float
    ambiguous: Literal[True] | None

class LinkRow(Record):
    source_note_id: str
    target_note_id: str | None
    target: str
    link_text: str
    link_type: Literal['wiki'] | Literal['markdown']
    line: float
    file: Literal[True] | None
    ambiguous: Literal[True] | None

class ExternalLink(Record):
    source_note_id: str
    url: str
    link_text: str
    link_type: Literal['external']
    line: float

class NoteLinks(Record):
    outgoing_internal: List[LinkRow]
    outgoing_external: List[ExternalLink]
    incoming: List[LinkRow]

BrokenLink = Any

class LinkedNote(Record):
    id: str
    title: str
    type: str
    created: str
    updated: str
    content_hash: str
    metadata: Metadata

class LinkMigration(Record):
    total_notes: float
    processed: float
    errors: float
    error_details: List[dict[str, Any]] | None

class Attachment(Record):
    path: str
    size: float
    updated: str
    links: float

class AttachedFile(Record):
    path: str
    media_type: str
    size: float
    content_hash: str
    base64: str | None
    text: str | None

class MovedAttachment(Record):
    success: bool
    old_path: str
    path: str
    links_updated: float
    notes_with_updated_links: float

class HierarchyRow(Record):
    parent_id: str
    child_id: str
    depth: float
    position: float

class HierarchyChange(Record):
    success: bool
    parent_id: str
    child_id: str | None
    operation: Literal['add'] | Literal['remove'] | Literal['reorder']
    timestamp: str
    hierarchy_updated: bool
    content_hash: str
    previous_hash: str
    error: str | None

class NoteRelationships(Record):
    content_links: dict[str, Any]
    hierarchy_links: dict[str, Any]
    external_links: List[ExternalLink]

class RelatedNote(Record):
    note_id: str
    strength: float
    relationship_types: List[Literal['link'] | Literal['backlink'] | Literal['child'] | Literal['parent'] | Literal['sibling'] | Literal['shared_link'] | Literal['shared_tag']]

class PathStep(Record):
    note_id: str
    relationship: Literal['start'] | Literal['link'] | Literal['backlink'] | Literal['child'] | Literal['parent']

class RequestOptions(Record):
    method: str | None
    headers: Any | None
    body: Any | None
    redirect: Literal['follow'] | Literal['manual'] | Literal['error'] | None
    signal: Any | None

class ApiRow(Record):
    name: str
    signature: str
    summary: str
    allowed: Literal[False] | None
    custom: str | None

class FileEntry(Record):
    name: str
    parent_path: str
    def is_file(self) -> bool:
        ...
    def is_directory(self) -> bool:
        ...
    def is_symbolic_link(self) -> bool:
        ...

class FileStats(Record):
    size: float
    mode: float
    dev: float
    ino: float
    nlink: float
    atime_ms: float
    mtime_ms: float
    ctime_ms: float
    atime: datetime.datetime
    mtime: datetime.datetime
    ctime: datetime.datetime
    def is_file(self) -> bool:
        ...
    def is_directory(self) -> bool:
        ...
    def is_symbolic_link(self) -> bool:
        ...

class ToolFiles(Record):
    ...

class ToolOptions(Record):
    args: List[str] | None
    stdin: str | bytes | dict[str, Any] | None
    files: ToolFiles | None
    cwd: str | None
    timeout: float | None
    arguments: Metadata | None

class ToolResult(Record):
    success: bool
    stdout: str | bytes
    stderr: str
    exit_code: float
    result: Any | None
    outcome: str | None
    returns: Literal['object'] | None
    hint: str | None
    error: str | None
    error_details: dict[str, Any] | None
    files: List[dict[str, Any]]
    stats: dict[str, Any]
    changed: Literal[True] | None
    vault: dict[str, Any] | None
    stages: List[Any] | None
    truncated: dict[str, Any] | None

class ToolRow(Record):
    name: str
    version: str
    category: str
    description: str
    source: Literal['builtin'] | Literal['user']

class ToolDescription(Record):
    name: str
    description: str
    category: str
    version: str
    source: Literal['builtin'] | Literal['user']
    file_access: Literal['none'] | Literal['read'] | Literal['write'] | Literal['readwrite']
    license: str | None
    homepage: str | None
    signer: str | None
    runtime: Literal['wasm'] | Literal['vm']
    timeout: float
    memory_limit: float
    returns: Literal['string'] | Literal['object']
    parameters: Metadata
    examples: List[Any] | None

class VmOptions(Record):
    stdin: str | bytes | dict[str, Any] | None
    cwd: str | None
    env: dict[str, Any] | None
    timeout_ms: float | None
    session: str | None
    terminal: bool | dict[str, Any] | None
    machine: str | None
    mounts: List[VmMount] | None
    files: dict[str, Any] | None
    calls: bool | None
    network: bool | None
    max_output: float | None

VmMount = str | dict[str, Any]

class VmResult(Record):
    success: bool
    stdout: str | bytes
    stderr: str | bytes
    exit_code: float
    error: str | None
    error_details: dict[str, Any] | None
    timed_out: Literal[True] | None
    cancelled: Literal[True] | None
    shell_ended: Literal[True] | None
    held: Literal[True] | None
    out_of_memory: Literal[True] | None
    restarted: str | None
    network_refused: List[str] | None
    changed: Literal[True] | None
    vault: dict[str, Any] | None
    files: List[dict[str, Any]] | None
    files_left_out: float | None
    applied: List[VmApplied] | None
    truncated: dict[str, Any] | None
    machine: str
    stats: dict[str, Any]

class VmMachine(Record):
    machine: str
    state: Literal['running'] | Literal['stopped'] | Literal['failed']
    default: bool
    name: str | None
    reason: str | None
    ramMB: float
    network: bool
    started: str
    idle_ms: float
    idle_limit_ms: float
    compute_ms: float
    memory_bytes: float
    disk_bytes: float
    commands: float
    sessions: float
    ports: List[VmPort] | None

class VmSnapshot(Record):
    name: str
    kind: Literal['snapshot'] | Literal['machine']
    default: bool
    ramMB: float
    bytes: float
    made: str
    usable: bool
    machine: str | None
    note: str | None

class VmApplied(Record):
    at: str
    mount: str
    applied: bool
    created: List[str]
    changed: List[str]
    deleted: List[str]
    more: float | None
    conflicts: List[str] | None

class VmPort(Record):
    machine: str | None
    port: float
    host_port: float | None
    address: str | None
    url: str | None
    closed: Literal[True] | None

class VmFile(Record):
    path: str
    size: float
    offset: float
    length: float
    content: str | bytes
    next: float | None
    mime_type: str | None
    modified: str
    mode: str
    version: str
    machine: str

class VmWritten(Record):
    path: str
    size: float
    machine: str

class VmEntry(Record):
    name: str
    type: Literal['file'] | Literal['folder'] | Literal['link'] | Literal['pipe'] | Literal['socket'] | Literal['device'] | Literal['other']
    size: float
    mode: str
    modified: str
    target: str | None
    name_base64: str | None

class VmFolder(Record):
    path: str
    entries: List[VmEntry]
    total: float
    more: Literal[True] | None
    machine: str

def fetch(input: Any, init: RequestOptions | dict[str, Any] = ..., *, method: Any = ..., headers: Any = ..., body: Any = ..., data: Any = ..., json: Any = ..., params: Any = ..., redirect: Any = ..., allow_redirects: Any = ..., auth: Any = ..., timeout: Any = ..., signal: Any = ...) -> Any:
    """sends an HTTP request; only with enableNetwork, to hosts that the policy allows"""

class _Notes:
    def create(self, options: dict[str, Any] = ..., *, type: Any = ..., type_id: Any = ..., folder: Any = ..., title: Any = ..., content: Any = ..., metadata: Any = ..., dry_run: Any = ...) -> CreatedNote | DryRun:
        """creates a note in the folder of its type"""
    def get(self, identifier: str | dict[str, Any] = ..., *, properties: Any = ..., markdown: Any = ...) -> FullNote | None:
        """one note with its content, by id ('type/name'), uid, path or unique title"""
    def update(self, options: dict[str, Any] = ..., *, identifier: Any = ..., content: Any = ..., content_hash: Any = ..., metadata: Any = ..., markdown: Any = ..., force: Any = ..., dry_run: Any = ...) -> UpdatedNote | DryRun:
        """replaces a note's content, or merges its metadata, or both"""
    def delete(self, options: str | dict[str, Any] = ..., *, identifier: Any = ..., confirm: Any = ..., content_hash: Any = ..., dry_run: Any = ...) -> DeletedNote | DryRun:
        """moves a note to the trash"""
    def list(self, options: str | None | dict[str, Any] = ..., *, type_name: Any = ..., type: Any = ..., folder: Any = ..., recursive: Any = ..., limit: Any = ..., cursor: Any = ..., order: Any = ..., fields: Any = ...) -> List[NoteRow]:
        """notes without their content, most recently updated first"""
    def search(self, options: str | dict[str, Any] = ..., *, query: Any = ..., type_filter: Any = ..., type: Any = ..., limit: Any = ..., use_regex: Any = ..., exact: Any = ..., fields: Any = ..., cursor: Any = ...) -> List[SearchHit]:
        """full-text search over titles, contents and tags, best match first"""
    def rename(self, options: dict[str, Any] = ..., *, identifier: Any = ..., new_title: Any = ..., content_hash: Any = ..., force: Any = ..., dry_run: Any = ...) -> RenamedNote | DryRun:
        """gives a note another title and file name, and updates the links to it"""
    def move(self, options: dict[str, Any] = ..., *, identifier: Any = ..., new_type: Any = ..., folder: Any = ..., content_hash: Any = ..., force: Any = ..., dry_run: Any = ...) -> MovedNote | DryRun:
        """moves a note to another type, which is its first folder, and updates the links to it"""
    def get_sections(self, identifier: str | dict[str, Any] = ...) -> NoteSections:
        """the sections of a note: the text below each heading of level 2"""
    def update_section(self, options: dict[str, Any] = ..., *, identifier: Any = ..., heading: Any = ..., content: Any = ..., mode: Any = ..., occurrence: Any = ..., content_hash: Any = ..., force: Any = ..., dry_run: Any = ...) -> UpdatedSection | DryRun:
        """changes one section of a note and no other"""
    def rename_heading(self, options: dict[str, Any] = ..., *, identifier: Any = ..., heading: Any = ..., new_heading: Any = ..., occurrence: Any = ..., content_hash: Any = ..., force: Any = ..., dry_run: Any = ...) -> RenamedHeading | DryRun:
        """gives a heading another text, and updates the links that name it"""
    def daily(self, options: dict[str, Any] | None = ..., *, date: Any = ..., create: Any = ..., dry_run: Any = ...) -> DailyNote | DryRun:
        """the daily note of a day, made of its template if it is not there"""
    def rename_tag(self, options: dict[str, Any] = ..., *, tag: Any = ..., new_tag: Any = ..., dry_run: Any = ...) -> RenamedTag | DryRun:
        """gives a tag another name in all notes, as one change"""
    def batch(self, options: dict[str, Any] = ..., *, changes: Any = ..., dry_run: Any = ...) -> BatchResult | DryRun:
        """several changes of notes, all or nothing"""
    def history(self, options: str | dict[str, Any] = ..., *, identifier: Any = ..., limit: Any = ..., cursor: Any = ...) -> List[Revision]:
        """the revisions of a note, newest first"""
    def get_revision(self, options: dict[str, Any] = ..., *, identifier: Any = ..., revision: Any = ...) -> OldNote:
        """a note at one of its revisions"""
    def restore(self, options: dict[str, Any] = ..., *, identifier: Any = ..., revision: Any = ..., content_hash: Any = ..., force: Any = ..., dry_run: Any = ...) -> RestoredNote | DryRun:
        """restores a note to a revision, or from the trash"""
    def undo(self, options: dict[str, Any] = ..., *, call: Any = ..., since: Any = ..., agent: Any = ..., dry_run: Any = ...) -> UndoneCalls | UndoTrial:
        """undoes what calls did to notes, including links, as one change"""
    def log(self, options: dict[str, Any] | None = ..., *, call: Any = ..., since: Any = ..., agent: Any = ..., limit: Any = ..., cursor: Any = ..., diff: Any = ...) -> List[LoggedCall]:
        """the calls that changed notes, newest first, with their changes"""
    def list_trash(self, options: dict[str, Any] | None = ..., *, limit: Any = ..., cursor: Any = ...) -> List[TrashedNote]:
        """deleted notes, most recently deleted first"""
    def search_advanced(self, options: dict[str, Any] = ..., *, query: Any = ..., type: Any = ..., tags: Any = ..., metadata: Any = ..., metadata_filters: Any = ..., content_contains: Any = ..., created_after: Any = ..., created_before: Any = ..., created_within: Any = ..., updated_after: Any = ..., updated_before: Any = ..., updated_within: Any = ..., sort: Any = ..., limit: Any = ..., cursor: Any = ..., fields: Any = ...) -> dict[str, Any]:
        """notes by type, tags, metadata, dates and words, sorted and in pages"""
    def search_by_text(self, options: str | dict[str, Any] = ..., *, query: Any = ..., type: Any = ..., limit: Any = ..., fields: Any = ..., cursor: Any = ...) -> List[SearchHit]:
        """notes that contain these words, without special characters"""
    def tasks(self, options: dict[str, Any] | None = ..., *, status: Any = ..., type: Any = ..., folder: Any = ..., tag: Any = ..., query: Any = ..., due_before: Any = ..., due_after: Any = ..., limit: Any = ...) -> List[Task]:
        """tasks of all notes ('- [ ] call Ann'), those that are due first"""
    def search_sql(self, options: str | dict[str, Any] = ..., *, query: Any = ..., params: Any = ..., limit: Any = ..., timeout: Any = ...) -> dict[str, Any]:
        """one SELECT (SQLite) over views of the vault; it can change nothing"""

notes: _Notes

class _NoteTypes:
    def create(self, options: dict[str, Any] = ..., *, type_name: Any = ..., description: Any = ..., agent_instructions: Any = ..., metadata_schema: Any = ...) -> dict[str, Any]:
        """describes a type of notes: its purpose, instructions for writing them, their metadata"""
    def list(self, options: dict[str, Any] | None = ..., *, fields: Any = ...) -> List[dict[str, Any]]:
        """all types: existing folders, and described names"""
    def get(self, type_name: str | dict[str, Any] = ...) -> dict[str, Any]:
        """the purpose of a type, instructions for its notes, and its metadata schema"""
    def update(self, options: dict[str, Any] = ..., *, type_name: Any = ..., description: Any = ..., instructions: Any = ..., agent_instructions: Any = ..., metadata_schema: Any = ..., content_hash: Any = ...) -> dict[str, Any]:
        """changes the description of a type"""
    def delete(self, options: dict[str, Any] = ..., *, type_name: Any = ..., action: Any = ..., target_type: Any = ..., confirm: Any = ...) -> dict[str, Any]:
        """deletes a type: only an empty one, or with its notes moved to another type or the trash"""

note_types: _NoteTypes

class _Utils:
    def generate_id(self) -> str:
        """a new random id"""
    def parse_links(self, content: str) -> List[str]:
        """the text inside each [[...]] of a text"""
    def format_date(self, date: str | float | datetime.datetime = ..., pattern: str = ...) -> str:
        """a date as ISO 8601, or by a pattern"""
    def sanitize_title(self, title: str) -> str:
        """a title with letters, digits, spaces and hyphens only"""
    def progress(self, done: float, total: float = ..., message: str = ...) -> None:
        """reports the progress of this evaluation to its client"""

utils: _Utils

class _Links:
    def get_for_note(self, identifier: str | dict[str, Any] = ...) -> NoteLinks:
        """all links of a note: to notes, to URLs, and from other notes"""
    def get_backlinks(self, identifier: str | dict[str, Any] = ...) -> List[LinkRow]:
        """the links that lead to a note"""
    def list(self, options: dict[str, Any] | None = ..., *, limit: Any = ..., cursor: Any = ..., hierarchy: Any = ...) -> List[Link]:
        """all links of the vault that lead to a note"""
    def find_broken(self, options: dict[str, Any] | None = ..., *, limit: Any = ..., cursor: Any = ...) -> List[BrokenLink]:
        """links to notes, headings, blocks and files that are not there"""
    def search_by(self, options: dict[str, Any] = ..., *, has_links_to: Any = ..., linked_from: Any = ..., external_domains: Any = ..., broken_links: Any = ..., limit: Any = ..., cursor: Any = ...) -> List[LinkedNote]:
        """the notes with certain links"""
    def migrate(self, force: bool | dict[str, Any] | None = ...) -> LinkMigration:
        """brings the index of links up to date"""

links: _Links

class _Attachments:
    def list(self, options: dict[str, Any] | None = ..., *, folder: Any = ..., orphans: Any = ..., limit: Any = ..., cursor: Any = ...) -> List[Attachment]:
        """images, PDFs and other files that are no notes, by path"""
    def read(self, options: str | dict[str, Any] = ..., *, path: Any = ...) -> AttachedFile:
        """the content of an attachment, as base64 or as text"""
    def move(self, options: dict[str, Any] = ..., *, path: Any = ..., to: Any = ..., dry_run: Any = ...) -> MovedAttachment | DryRun:
        """renames or moves an attachment, and updates the links to it"""

attachments: _Attachments

class _Hierarchy:
    def add_subnote(self, options: dict[str, Any] = ..., *, parent_id: Any = ..., child_id: Any = ..., position: Any = ..., dry_run: Any = ...) -> HierarchyChange | DryRun:
        """puts a note beneath another"""
    def remove_subnote(self, options: dict[str, Any] = ..., *, parent_id: Any = ..., child_id: Any = ..., dry_run: Any = ...) -> HierarchyChange | DryRun:
        """detaches a subnote from its parent; both stay"""
    def reorder(self, options: dict[str, Any] = ..., *, parent_id: Any = ..., child_ids: Any = ..., dry_run: Any = ...) -> HierarchyChange | DryRun:
        """changes the order of a note's subnotes"""
    def get_path(self, note_id: str | dict[str, Any] = ...) -> List[str]:
        """the ids from the topmost note down to this one"""
    def get_descendants(self, options: str | dict[str, Any] = ..., *, note_id: Any = ..., max_depth: Any = ...) -> List[HierarchyRow]:
        """everything beneath a note, level by level"""
    def get_children(self, note_id: str | dict[str, Any] = ...) -> List[HierarchyRow]:
        """the subnotes of a note, in their order"""
    def get_parents(self, note_id: str | dict[str, Any] = ...) -> List[HierarchyRow]:
        """the notes that have this one as a subnote"""

hierarchy: _Hierarchy

class _Relationships:
    def get(self, note_id: str | dict[str, Any] = ...) -> NoteRelationships:
        """all connections of a note: links, hierarchy, URLs"""
    def get_related(self, options: str | dict[str, Any] = ..., *, note_id: Any = ..., max_results: Any = ...) -> List[RelatedNote]:
        """the notes most closely related to a note, strongest first"""
    def find_path(self, options: dict[str, Any] = ..., *, start_note_id: Any = ..., end_note_id: Any = ..., max_depth: Any = ...) -> List[PathStep] | None:
        """the shortest path from one note to another"""
    def get_clustering_coefficient(self, note_id: str | dict[str, Any] = ...) -> float:
        """how closely a note's neighbours are connected with each other, 0 to 1"""

relationships: _Relationships

class _Vaults:
    def get_current(self) -> dict[str, Any] | None:
        """the vault that all other calls work in"""
    def list(self) -> List[dict[str, Any]]:
        """the vaults that can be reached"""
    def create(self, options: dict[str, Any] = ..., *, id: Any = ..., name: Any = ..., path: Any = ..., description: Any = ..., initialize: Any = ..., switch_to: Any = ...) -> dict[str, Any]:
        """registers a folder as a vault, and makes it"""
    def switch(self, vault_id: str | dict[str, Any] = ..., *, id: Any = ...) -> None:
        """switches to another vault"""
    def update(self, options: dict[str, Any] = ..., *, id: Any = ..., name: Any = ..., description: Any = ...) -> None:
        """changes a vault's name or description"""
    def remove(self, vault_id: str | dict[str, Any] = ..., *, id: Any = ...) -> None:
        """takes a vault from the list; its files stay as they are"""

vaults: _Vaults

class _Api:
    def search(self, words: str | dict[str, Any] = ..., *, query: Any = ..., limit: Any = ...) -> List[ApiRow]:
        """finds methods by what they do, best match first"""
    def describe(self, name: str = ...) -> Any:
        """describes a method, a namespace or a type, by name"""

api: _Api

class _Fs:
    @overload
    def read_file(self, path: str) -> bytes:
        """a file as bytes, or as text with an encoding such as 'utf8'; only with enableFileSystem"""
    @overload
    def read_file(self, path: str, *, encoding: str) -> str:
        ...
    @overload
    def read_file(self, path: str, options: str) -> str:
        ...
    @overload
    def read_file(self, path: str, given: dict[str, Any]) -> Any:
        ...
    def write_file(self, path: str, data: str | bytes, options: str | dict[str, Any] = ..., *, encoding: Any = ..., flag: Any = ...) -> None:
        """creates or replaces a file"""
    def append_file(self, path: str, data: str | bytes, options: str | dict[str, Any] = ..., *, encoding: Any = ...) -> None:
        """appends to a file, which is created if it is missing"""
    @overload
    def readdir(self, path: str, *, recursive: bool = ..., with_file_types: Literal[False] = ...) -> List[str]:
        """the names in a folder"""
    @overload
    def readdir(self, path: str, *, recursive: bool = ..., with_file_types: Literal[True]) -> List[FileEntry]:
        ...
    @overload
    def readdir(self, path: str, given: dict[str, Any]) -> Any:
        ...
    def mkdir(self, path: str, options: dict[str, Any] = ..., *, recursive: Any = ...) -> str | None:
        """creates a folder"""
    def rm(self, path: str, options: dict[str, Any] = ..., *, recursive: Any = ..., force: Any = ...) -> None:
        """removes a file, or with recursive a folder and its contents"""
    def rmdir(self, path: str) -> None:
        """removes an empty folder"""
    def unlink(self, path: str) -> None:
        """removes a file"""
    def rename(self, old_path: str, new_path: str) -> None:
        """moves a file or folder, replacing the target"""
    def copy_file(self, from_: str, to: str, mode: float = ...) -> None:
        """copies a file"""
    def stat(self, path: str) -> FileStats:
        """the kind, size and times of a path"""
    def lstat(self, path: str) -> FileStats:
        """the same, without following a symbolic link"""
    def exists(self, path: str) -> bool:
        """whether a path exists"""
    def access(self, path: str, mode: float = ...) -> None:
        """fails if a path does not exist, or is not writable (fs.constants.W_OK)"""
    def truncate(self, path: str, size: float = ...) -> None:
        """truncates a file, or extends it with zeros"""

fs: _Fs

class _Tools:
    def run(self, name: str, options: ToolOptions | dict[str, Any] | List[Any] = ..., *, args: Any = ..., stdin: Any = ..., files: Any = ..., cwd: Any = ..., timeout: Any = ..., arguments: Any = ...) -> ToolResult:
        """runs a command-line tool; tools.jq(options) is tools.run('jq', options)"""
    def pipe(self, stages: List[Any], shared: dict[str, Any] = ..., *, stdin: Any = ..., files: Any = ..., cwd: Any = ..., timeout: Any = ...) -> ToolResult:
        """runs tools concurrently, each one's standard output being the next one's input"""
    def list(self, options: dict[str, Any] = ..., *, category: Any = ...) -> List[ToolRow]:
        """lists the command-line tools"""
    def describe(self, name: str) -> ToolDescription:
        """describes a command-line tool: parameters, limits, licence"""
    def __getattr__(self, name: str) -> Callable[..., ToolResult]: ...
    def __getitem__(self, name: str) -> Callable[..., ToolResult]: ...

tools: _Tools

class _Vm:
    @overload
    def exec(self, command: str | List[str], options: VmOptions | dict[str, Any] = ..., *, stdin: Any = ..., cwd: Any = ..., env: Any = ..., timeout_ms: Any = ..., session: Any = ..., terminal: Any = ..., machine: Any = ..., mounts: Any = ..., files: Any = ..., calls: Any = ..., network: Any = ..., max_output: Any = ...) -> VmResult:
        """runs a command in a Linux machine (Debian: bash, python3, git) that starts in milliseconds"""
    @overload
    def exec(self, given: dict[str, Any]) -> VmResult:
        ...
    def start(self, options: dict[str, Any] = ..., *, ram_mb: Any = ..., disk_mb: Any = ..., cpu_seconds: Any = ..., network: Any = ..., mac: Any = ..., mounts: Any = ..., keep: Any = ..., name: Any = ..., plain: Any = ...) -> VmMachine:
        """starts a Linux machine; the first one is the default of vm.exec"""
    def stop(self, options: dict[str, Any] = ..., *, machine: Any = ..., session: Any = ...) -> dict[str, Any]:
        """stops a Linux machine and discards its contents, or ends one of its sessions"""
    def expose(self, options: dict[str, Any] = ..., *, port: Any = ..., host_port: Any = ..., machine: Any = ..., close: Any = ...) -> VmPort:
        """exposes a port of a Linux machine to the person at this computer"""
    def apply(self, options: dict[str, Any] = ..., *, at: Any = ..., machine: Any = ..., dry_run: Any = ...) -> VmApplied:
        """writes all that changed in an overlay of a Linux machine to its folder, or lists it"""
    def list(self) -> List[VmMachine]:
        """lists your Linux machines, including the last ones that ended"""
    def snapshot(self, options: dict[str, Any] = ..., *, name: Any = ..., machine: Any = ...) -> VmSnapshot:
        """saves a Linux machine under a name, with its memory and disk"""
    def restore(self, options: dict[str, Any] = ..., *, name: Any = ..., network: Any = ..., mac: Any = ..., mounts: Any = ...) -> VmMachine:
        """starts a Linux machine from a snapshot"""
    def fork(self, options: dict[str, Any] = ..., *, machine: Any = ..., network: Any = ..., mac: Any = ..., mounts: Any = ...) -> VmMachine:
        """copies a running Linux machine, in milliseconds"""
    def snapshots(self, options: dict[str, Any] = ..., *, delete: Any = ..., kind: Any = ...) -> dict[str, Any]:
        """lists your saved Linux machines, or removes one"""
    @overload
    def read(self, path: str, options: dict[str, Any] = ..., *, offset: Any = ..., length: Any = ..., encoding: Any = ..., machine: Any = ...) -> VmFile:
        """reads a file of a Linux machine, or a part of it, as text or bytes"""
    @overload
    def read(self, given: dict[str, Any]) -> VmFile:
        ...
    @overload
    def write(self, path: str, content: str | bytes, options: dict[str, Any] = ..., *, append: Any = ..., mode: Any = ..., machine: Any = ...) -> VmWritten:
        """writes a file of a Linux machine, from text or bytes"""
    @overload
    def write(self, given: dict[str, Any]) -> VmWritten:
        ...
    @overload
    def ls(self, path: str = ..., options: dict[str, Any] = ..., *, limit: Any = ..., after: Any = ..., machine: Any = ...) -> VmFolder:
        """lists a folder of a Linux machine"""
    @overload
    def ls(self, given: dict[str, Any]) -> VmFolder:
        ...

vm: _Vm

class Busy(HostCallError): ...
class Conflict(HostCallError): ...
class InvalidInput(HostCallError): ...
class IoError(HostCallError): ...
class LimitExceeded(HostCallError): ...
class NoVault(HostCallError): ...
class NotFound(HostCallError): ...
class PermissionDenied(HostCallError): ...
class Timeout(HostCallError): ...
