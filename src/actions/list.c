/* The table of actions: what each is called, takes and answers. */
#include "actions/internal.h"

/* Hosts cut descriptions at 2,048 bytes. */
static const char evaluate_description[] =
    "Run JavaScript (ES2023) over the notes vault in a fresh sandbox. The code is the body "
    "of an async function: use await and return a value. One program can replace many tool "
    "calls.\n"
    "\n"
    "notes.get(id) -> {id, title, content, metadata, content_hash, links, type, created, "
    "updated, path} | null; id is 'type/name', a path or a unique title\n"
    "notes.list({typeName?, limit?}) -> [{id, title, type, created, updated, size, tags, path}]\n"
    "notes.search({query, typeFilter?, limit?, useRegex?}) -> [{id, title, excerpt, score, "
    "type, created}]\n"
    "notes.create({type, title, content, metadata?}) -> {id, path, ...}\n"
    "notes.update({identifier, content?, metadata?, contentHash?}) -> {id, updated}; metadata "
    "is merged, null removes a key; Conflict if the note changed since it was read\n"
    "notes.delete({identifier, confirm?}) -> {id, deleted, backup_path}; goes to a trash\n"
    "utils.formatDate(date, 'YYYY-MM-DD'), utils.parseLinks(text), utils.sanitizeTitle(text), "
    "utils.generateId()\n"
    "console.log(...) is captured. No network, no files, no require.\n"
    "\n"
    "Example:\n"
    "const open = [];\n"
    "for (const n of await notes.list({typeName: 'project'})) {\n"
    "  const note = await notes.get(n.id);\n"
    "  const todos = note.content.split('\\n').filter((l) => l.includes('TODO:'));\n"
    "  if (todos.length) open.push({id: n.id, todos});\n"
    "}\n"
    "return open;";

#define STRING "{\"type\":\"string\"}"
#define NOTE_TYPE \
    "{\"type\":\"string\",\"description\":\"folder of the note, such as 'meeting'\"}"
#define METADATA "{\"type\":\"object\",\"description\":\"frontmatter values by key\"}"

static const char evaluate_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"code\":{\"type\":\"string\",\"description\":\"JavaScript to run\"},"
    "\"language\":{\"type\":\"string\",\"enum\":[\"javascript\",\"typescript\"],"
    "\"description\":\"javascript by default\"},"
    "\"timeout\":{\"type\":\"integer\",\"minimum\":1,"
    "\"description\":\"computing time in ms, 5000 by default\"},"
    "\"memoryLimit\":{\"type\":\"integer\",\"minimum\":8,"
    "\"description\":\"memory in MB, 128 by default\"},"
    "\"allowedAPIs\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
    "\"description\":\"only these may be called, such as 'notes.get' or 'utils'\"},"
    "\"context\":{\"type\":\"object\",\"description\":\"values the code finds as variables\"},"
    "\"enableFileSystem\":{\"type\":\"boolean\"},"
    "\"enableNetwork\":{\"type\":\"boolean\"}},"
    "\"required\":[\"code\"],\"additionalProperties\":false}";

static const char evaluate_output[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"success\":{\"type\":\"boolean\"},"
    "\"result\":{\"description\":\"what the code returned, as JSON\"},"
    "\"error\":{\"type\":\"string\"},"
    "\"errorDetails\":{\"type\":\"object\",\"properties\":{"
    "\"type\":" STRING ",\"message\":" STRING ",\"code\":" STRING ",\"name\":" STRING ","
    "\"line\":{\"type\":\"integer\"},\"column\":{\"type\":\"integer\"},"
    "\"frame\":" STRING ",\"stack\":" STRING ",\"preview\":" STRING ","
    "\"suggestion\":" STRING ",\"retry\":{\"type\":\"boolean\"},"
    "\"changed\":{\"type\":\"boolean\"}}},"
    "\"executionTime\":{\"type\":\"number\",\"description\":\"ms\"},"
    "\"logs\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"level\":" STRING ",\"message\":" STRING "}}},"
    "\"stats\":{\"type\":\"object\",\"properties\":{"
    "\"compute_ms\":{\"type\":\"number\"},\"host_ms\":{\"type\":\"number\"},"
    "\"peak_memory_bytes\":{\"type\":\"integer\"},\"host_calls\":{\"type\":\"integer\"}}},"
    "\"truncated\":{\"type\":\"boolean\"}},"
    "\"required\":[\"success\",\"executionTime\",\"logs\",\"stats\",\"truncated\"]}";

static const char get_input[] =
    "{\"type\":\"object\",\"properties\":{\"identifier\":{\"type\":\"string\",\"minLength\":1,"
    "\"description\":\"id ('type/name'), path or unique title\"}},"
    "\"required\":[\"identifier\"],\"additionalProperties\":false}";

static const char get_output[] =
    "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"title\":" STRING ","
    "\"content\":" STRING ",\"metadata\":{\"type\":\"object\"},\"content_hash\":" STRING
    ","
    "\"links\":{\"type\":\"array\"},\"type\":" STRING ",\"created\":" STRING ","
    "\"updated\":" STRING ",\"path\":" STRING "},"
    "\"required\":[\"id\",\"title\",\"content\",\"content_hash\",\"type\"]}";

static const char search_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"query\":{\"type\":\"string\",\"minLength\":1},"
    "\"typeFilter\":" NOTE_TYPE ","
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000},"
    "\"useRegex\":{\"type\":\"boolean\"}},"
    "\"required\":[\"query\"],\"additionalProperties\":false}";

static const char search_output[] =
    "{\"type\":\"object\",\"properties\":{\"results\":{\"type\":\"array\",\"items\":"
    "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"note_id\":" STRING ","
    "\"title\":" STRING ",\"excerpt\":" STRING ",\"score\":{\"type\":\"number\"},"
    "\"type\":" STRING ",\"created\":" STRING "}}}},\"required\":[\"results\"]}";

static const char create_input[] =
    "{\"type\":\"object\",\"properties\":{\"type\":" NOTE_TYPE ",\"title\":" STRING ","
    "\"content\":{\"type\":\"string\",\"description\":\"Markdown\"},"
    "\"metadata\":" METADATA "},"
    "\"required\":[\"type\",\"title\",\"content\"],\"additionalProperties\":false}";

static const char create_output[] =
    "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"type\":" STRING ","
    "\"title\":" STRING ",\"filename\":" STRING ",\"path\":" STRING ",\"created\":" STRING
    "},"
    "\"required\":[\"id\",\"path\"]}";

static const char update_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"identifier\":{\"type\":\"string\",\"minLength\":1},"
    "\"content\":{\"type\":\"string\",\"description\":\"the new body, Markdown\"},"
    "\"contentHash\":{\"type\":\"string\","
    "\"description\":\"content_hash of the version that was read\"},"
    "\"metadata\":" METADATA ",\"force\":{\"type\":\"boolean\","
    "\"description\":\"change it whatever it is now\"}},"
    "\"required\":[\"identifier\"],\"additionalProperties\":false}";

static const char update_output[] = "{\"type\":\"object\",\"properties\":{\"id\":" STRING
                                    ",\"updated\":{\"type\":\"boolean\"},"
                                    "\"timestamp\":" STRING ",\"content_hash\":" STRING
                                    "},\"required\":[\"id\",\"updated\"]}";

const struct action_row action_rows[] = {
    {{.name = "evaluate_note_code",
      .title = "Run code over the notes",
      .description = evaluate_description,
      .input_schema = evaluate_input,
      .output_schema = evaluate_output,
      .destructive = true},
     action_evaluate,
     NULL,
     action_evaluate_refused},
    {{.name = "get_note",
      .title = "Read a note",
      .description = "Read one note: its Markdown, metadata, links and content_hash.",
      .input_schema = get_input,
      .output_schema = get_output,
      .read_only = true,
      .idempotent = true},
     action_get_note,
     "notes.get",
     NULL},
    {{.name = "search_notes",
      .title = "Search the notes",
      .description =
          "Full-text search over titles, bodies and tags, best first. With useRegex "
          "the query is a regular expression (PCRE2).",
      .input_schema = search_input,
      .output_schema = search_output,
      .read_only = true,
      .idempotent = true},
     action_search_notes,
     "notes.search",
     NULL},
    {{.name = "create_note",
      .title = "Create a note",
      .description =
          "Create a Markdown note in the folder of its type. Fails if the name is "
          "taken.",
      .input_schema = create_input,
      .output_schema = create_output},
     action_create_note,
     "notes.create",
     NULL},
    {{.name = "update_note",
      .title = "Change a note",
      .description =
          "Replace a note's body and merge its metadata (null removes a key). Give "
          "the contentHash from get_note: if the note has changed since, nothing "
          "is written.",
      .input_schema = update_input,
      .output_schema = update_output,
      .destructive = true},
     action_update_note,
     "notes.update",
     NULL},
};
const size_t action_count = LENGTH(action_rows);
