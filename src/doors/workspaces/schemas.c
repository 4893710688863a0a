/* JSON Schemas of the routes' bodies and answers, by which bodies are
 * checked before a route sees them, and of which the OpenAPI document is made. */
#include "workspaces/route.h"

#define STRING "{\"type\":\"string\"}"
#define NUMBER "{\"type\":\"integer\"}"
#define DATE "{\"type\":\"string\",\"format\":\"date-time\"}"
#define NULLABLE_STRING "{\"type\":[\"string\",\"null\"]}"
#define PROPERTIES \
    "{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"values by key: sections of level 2, and the frontmatter\"}"
#define HASH \
    "{\"type\":\"string\",\"description\":\"sha256: and 64 digits, of the file's bytes; the ETag\"}"
#define MEANT \
    "\"content_hash\":{\"type\":\"string\",\"description\":\"the version that is meant, as If-Match says it\"}"

#define ROW_PROPERTIES                                                            \
    "\"id\":" STRING ",\"title\":" STRING ",\"class\":" STRING                    \
    ",\"properties\":" PROPERTIES ",\"updated_at\":" DATE ",\"created_at\":" DATE \
    ",\"tags\":{\"type\":\"array\",\"items\":" STRING "},\"content_hash\":" HASH  \
    ",\"path\":" STRING ",\"uid\":" NULLABLE_STRING ",\"size\":" NUMBER

#define LINK                                                                                       \
    "{\"type\":\"object\",\"properties\":{\"source\":" STRING ",\"target\":" STRING                \
    ",\"text\":" STRING                                                                            \
    ",\"kind\":{\"type\":\"string\",\"enum\":[\"wiki\",\"markdown\",\"external\",\"hierarchy\"]}," \
    "\"line\":" NUMBER "},\"required\":[\"source\",\"target\",\"text\",\"kind\","                  \
    "\"line\"],\"additionalProperties\":false}"

#define REVISION_PROPERTIES                                              \
    "\"revision\":" NUMBER ",\"updated_at\":" DATE ",\"author\":" STRING \
    ",\"content_hash\":" HASH ",\"summary\":" STRING ",\"size\":" NUMBER \
    ",\"action\":" STRING ",\"path\":" STRING ",\"backup_path\":" STRING
#define REVISION_REQUIRED \
    "\"revision\",\"updated_at\",\"author\",\"content_hash\",\"summary\",\"size\""

#define TOOL_PROPERTIES                                               \
    "\"name\":" STRING ",\"version\":" STRING ",\"category\":" STRING \
    ",\"description\":" STRING                                        \
    ",\"source\":{\"type\":\"string\",\"enum\":[\"builtin\",\"user\"]}"
#define TOOL_REQUIRED "\"name\",\"version\",\"category\",\"description\",\"source\""
#define TOOL_FILE                                                               \
    "{\"type\":\"object\",\"properties\":{\"name\":" STRING ",\"size\":" NUMBER \
    ",\"text\":" STRING ",\"base64\":" STRING "},\"required\":[\"name\",\"size\"]}"

#define BOOLEAN "{\"type\":\"boolean\"}"
/* Any members: generators take an object that says nothing of them for an empty one. */
#define ANY_MEMBERS "\"additionalProperties\":true"
#define OBJECT "{\"type\":\"object\"," ANY_MEMBERS "}"
#define OBJECTS "{\"type\":\"array\",\"items\":" OBJECT "}"
#define STRINGS "{\"type\":\"array\",\"items\":" STRING "}"
#define DEFINITION                                                                           \
    "\"name\":" STRING ",\"description\":" STRING                                            \
    ",\"parameters\":{\"type\":\"object\","                                                  \
    "\"description\":\"{name: {type, description?, optional?, default?}}, in their "         \
    "order\",\"additionalProperties\":{\"type\":\"object\",\"properties\":{\"type\":" STRING \
    "},\"required\":[\"type\"]}},\"returnType\":" STRING ",\"code\":" STRING                 \
    ",\"tags\":" STRINGS ",\"examples\":" OBJECTS
#define MAKER "\"createdBy\":{\"type\":\"string\",\"enum\":[\"user\",\"agent\"]}"
#define FORCE "\"force\":" BOOLEAN ",\"dryRun\":" BOOLEAN
#define METADATA                                                                                \
    "\"metadata\":{\"type\":\"object\",\"properties\":{\"createdAt\":" DATE                     \
    ",\"updatedAt\":" DATE                                                                      \
    ",\"createdBy\":{\"type\":\"string\",\"enum\":[\"agent\",\"user\"]},\"usageCount\":" NUMBER \
    ",\"lastUsed\":" DATE ",\"version\":" NUMBER "},\"required\":[\"createdBy\"]}"
#define FINDINGS "\"errors\":" OBJECTS ",\"warnings\":" OBJECTS
#define FUNCTION_MEMBERS                                                              \
    "\"function\":{\"type\":\"object\",\"properties\":{\"id\":" STRING "," DEFINITION \
    "," METADATA "},\"required\":[\"name\",\"parameters\",\"returnType\",\"code\"]}," \
    "\"version\":" NUMBER ",\"signature\":" STRING ",\"typeDefinition\":" STRING      \
    ",\"usage\":" STRING

const struct schema schemas[] = {
    {"Workspace", "{\"type\":\"object\",\"properties\":{\"id\":" STRING
                  ",\"name\":" STRING ",\"description\":" STRING ",\"created_at\":" DATE
                  "},\"required\":[\"id\",\"name\"],\"additionalProperties\":false}"},
    {"NoteRow",
     "{\"type\":\"object\",\"properties\":{" ROW_PROPERTIES ",\"type\":" STRING
     ",\"properties_cut\":{\"type\":\"array\",\"items\":" STRING
     ",\"description\":\"the properties that are told in part\"}},\"additionalProperties\":false}"},
    {"Note", "{\"type\":\"object\",\"properties\":{" ROW_PROPERTIES
             ",\"markdown\":" STRING ",\"links\":{\"type\":\"array\",\"items\":" LINK "},"
             "\"frontmatter_error\":" STRING "},"
             "\"required\":[\"id\",\"title\",\"class\",\"properties\",\"updated_at\","
             "\"markdown\",\"content_hash\",\"links\",\"tags\"],"
             "\"additionalProperties\":false}"},
    {"NewNote",
     "{\"type\":\"object\",\"properties\":{"
     "\"markdown\":{\"type\":\"string\",\"description\":\"the whole file; its first "
     "heading is the title, its frontmatter tells the class\"},"
     "\"title\":{\"type\":\"string\",\"minLength\":1},\"content\":" STRING ","
     "\"class\":{\"type\":\"string\",\"minLength\":1},"
     "\"type\":{\"type\":\"string\",\"minLength\":1,\"description\":\"another word for "
     "class\"},\"properties\":{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"go to the "
     "frontmatter\"}},"
     "\"additionalProperties\":false}"},
    {"WholeNote",
     "{\"type\":\"object\",\"properties\":{\"markdown\":{\"type\":\"string\","
     "\"description\":\"the whole file, frontmatter and all\"}," MEANT
     "},\"required\":[\"markdown\"],\"additionalProperties\":false}"},
    {"NotePatch",
     "{\"type\":\"object\",\"properties\":{"
     "\"title\":{\"type\":\"string\",\"minLength\":1,\"description\":\"renames the note; "
     "links to it follow\"},"
     "\"class\":{\"type\":\"string\",\"minLength\":1,\"description\":\"moves it; links "
     "follow\"},"
     "\"content\":{\"type\":\"string\",\"description\":\"what stands behind the "
     "frontmatter\"},"
     "\"markdown\":{\"type\":\"string\",\"description\":\"the whole file\"},"
     "\"properties\":{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"merged key by key, null "
     "removes: the section of level 2 of that name, else the key of the "
     "frontmatter\"}," MEANT "},\"additionalProperties\":false}"},
    {"Query",
     "{\"type\":\"object\",\"properties\":{"
     "\"filter\":{\"type\":[\"object\",\"null\"],\"additionalProperties\":true,\"description\":\"fields with values, or "
     "with operators: {class: 'Task', 'properties.Due': {$lt: '2026-01-01'}}; $and, $or, "
     "$not\"},"
     "\"sort\":{\"type\":[\"string\",\"array\",\"object\",\"null\"],\"items\":{\"type\":["
     "\"string\",\"object\"]},\"description\":\"a "
     "field, -field for the other way round, several, or {field: 'desc'}\"},"
     "\"fields\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"string\"},\"description\":"
     "\"which members the rows have: the names that filter and sort know, or properties\"},"
     "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000,\"description\":\"rows "
     "of one page; without it the answer is the whole list, or an error\"},"
     "\"cursor\":{\"type\":[\"string\",\"null\"]}},\"additionalProperties\":false}"},
    {"SearchHit",
     "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"title\":" STRING
     ",\"class\":" STRING ",\"excerpt\":" STRING
     ",\"score\":{\"type\":\"number\"}},\"required\":[\"id\",\"title\",\"class\","
     "\"excerpt\",\"score\"],\"additionalProperties\":false}"},
    {"Link", LINK},
    {"Class",
     "{\"type\":\"object\",\"properties\":{\"name\":" STRING
     ",\"description\":" NULLABLE_STRING
     ",\"fields\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
     "\"name\":" STRING ",\"type\":{},\"required\":{\"type\":\"boolean\"},"
     "\"inferred\":{\"type\":\"boolean\",\"description\":\"no schema declares it: notes have "
     "it, and this is what their values are\"},"
     "\"notes\":{\"type\":\"integer\",\"description\":\"how many have it\"}},"
     "\"required\":[\"name\",\"type\",\"required\"]}},"
     "\"fields_omitted\":{\"type\":\"integer\",\"description\":\"further ones that fewer notes "
     "have\"}},"
     "\"required\":[\"name\",\"description\",\"fields\"],"
     "\"additionalProperties\":false}"},
    {"Evaluation",
     "{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"the arguments of evaluate_note_code, which "
     "tools/list describes\",\"properties\":{\"code\":" STRING ",\"language\":" STRING
     ",\"timeout\":" NUMBER ",\"memoryLimit\":" NUMBER ",\"allowedAPIs\":" STRINGS
     ",\"context\":" OBJECT ",\"cache\":" BOOLEAN ",\"enableFileSystem\":" BOOLEAN
     ",\"enableNetwork\":" BOOLEAN ",\"session\":" STRING ",\"trace\":" BOOLEAN
     ",\"typesOnly\":" BOOLEAN "},\"required\":[\"code\"]}"},
    {"Script", "{\"type\":\"object\",\"properties\":{\"code\":" STRING
               ",\"fuel\":{\"type\":\"integer\",\"minimum\":1},\"memoryLimit\":{"
               "\"type\":\"integer\",\"minimum\":8,\"description\":\"MB\"}},"
               "\"required\":[\"code\"],\"additionalProperties\":false}"},
    {"Evaluated",
     "{\"type\":\"object\",\"properties\":{\"success\":{\"type\":\"boolean\"},"
     "\"result\":{},\"error\":" NULLABLE_STRING
     ",\"errorDetails\":{\"type\":[\"object\",\"null\"],\"additionalProperties\":true},\"executionTime\":{\"type\":"
     "\"number\"},\"logs\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
     "\"properties\":{\"level\":" STRING ",\"message\":" STRING
     "}}},\"stats\":{\"type\":\"object\",\"additionalProperties\":true},"
     "\"truncated\":{\"type\":\"boolean\"}},\"required\":[\"success\",\"result\","
     "\"logs\",\"stats\"]}"},
    {"Record",
     "{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"docs/auditing.md\",\"properties\":{\"time\":" DATE
     ",\"event\":" STRING ",\"caller\":" STRING ",\"action\":" STRING
     ",\"workspace\":" STRING ",\"result\":" STRING ",\"code\":{\"type\":\"string\","
     "\"description\":\"its SHA-256\"},\"mac\":" STRING
     "},\"required\":[\"time\",\"event\",\"mac\"]}"},
    {"Description",
     "{\"type\":\"object\",\"additionalProperties\":true,\"required\":[\"openapi\",\"info\","
     "\"paths\"]}"},
    {"DeletedNote",
     "{\"type\":\"object\",\"properties\":{\"id\":" STRING
     ",\"deleted\":{\"type\":\"boolean\",\"enum\":[true]},\"backup_path\":" STRING
     "},\"required\":[\"id\",\"deleted\",\"backup_path\"],"
     "\"additionalProperties\":false}"},
    {"Revision",
     "{\"type\":\"object\",\"properties\":{" REVISION_PROPERTIES
     "},\"required\":[" REVISION_REQUIRED "],\"additionalProperties\":false}"},
    {"OldNote", "{\"type\":\"object\",\"properties\":{" REVISION_PROPERTIES
                ",\"markdown\":" STRING "},\"required\":[" REVISION_REQUIRED
                ",\"markdown\"],\"additionalProperties\":false}"},
    {"Tool", "{\"type\":\"object\",\"properties\":{" TOOL_PROPERTIES
             "},\"required\":[" TOOL_REQUIRED "],\"additionalProperties\":false}"},
    {"ToolDescription",
     "{\"type\":\"object\",\"properties\":{" TOOL_PROPERTIES
     ",\"fileAccess\":{\"type\":\"string\",\"enum\":[\"none\",\"read\",\"write\",\"readwrite\"]},"
     "\"license\":" STRING ",\"homepage\":" STRING ",\"signer\":" STRING
     ",\"timeout\":" NUMBER ",\"memoryLimit\":" NUMBER
     ",\"returns\":{\"type\":\"string\",\"enum\":[\"string\",\"object\"]},"
     "\"parameters\":{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"a JSON Schema\"},"
     "\"examples\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":true}}},\"required\":[" TOOL_REQUIRED
     ",\"fileAccess\",\"timeout\",\"memoryLimit\",\"returns\",\"parameters\"],"
     "\"additionalProperties\":false}"},
    {"MachineOptions",
     "{\"type\":\"object\",\"properties\":{\"ramMB\":{\"type\":\"integer\",\"minimum\":64,"
     "\"maximum\":1024,\"description\":\"512 where nothing is said\"},\"diskMB\":{\"type\":\"integer\",\"minimum\":1,"
     "\"maximum\":2048,\"description\":\"that it may write\"},\"cpuSeconds\":{\"type\":\"integer\","
     "\"minimum\":1,\"description\":\"computing time, in all\"}},"
     "\"additionalProperties\":false}"},
    {"Machine",
     "{\"type\":\"object\",\"properties\":{\"machine\":{\"type\":\"string\",\"description\":\""
     "its handle, good for this caller alone\"},\"state\":{\"type\":\"string\",\"enum\":[\"running\","
     "\"stopped\",\"failed\"]},\"default\":{\"type\":\"boolean\"},\"reason\":" STRING
     ",\"ramMB\":" NUMBER ",\"started\":" DATE ",\"idle_ms\":" NUMBER
     ",\"idle_limit_ms\":" NUMBER ",\"compute_ms\":" NUMBER ",\"memory_bytes\":" NUMBER
     ",\"disk_bytes\":" NUMBER ",\"commands\":" NUMBER ",\"sessions\":" NUMBER
     "},\"required\":[\"machine\",\"state\",\"default\",\"ramMB\",\"started\"],"
     "\"additionalProperties\":false}"},
    {"MachineCommand",
     "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":[\"string\",\"array\"],"
     "\"items\":" STRING
     ",\"description\":\"text for bash, or words that are run as they "
     "are\"},\"stdin\":{\"type\":[\"string\",\"object\"],\"description\":\"text, or "
     "{base64}\"},\"cwd\":" STRING
     ",\"env\":{\"type\":\"object\",\"additionalProperties\":" STRING
     "},\"timeoutMs\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"60000 where nothing is said\"},"
     "\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"the same\"},"
     "\"session\":{\"type\":\"string\",\"description\":\"which of the machine's shells; else the one named default\"},\"machine\":" STRING
     ",\"maxOutput\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"bytes of each stream; 1048576 where nothing is said\"}},"
     "\"required\":[\"command\"],\"additionalProperties\":false}"},
    {"MachineResult",
     "{\"type\":\"object\",\"properties\":{\"success\":{\"type\":\"boolean\"},"
     "\"stdout\":" STRING ",\"stderr\":" STRING
     ",\"stdoutEncoding\":{\"type\":\"string\",\"enum\":[\"base64\"]},"
     "\"stderrEncoding\":{\"type\":\"string\",\"enum\":[\"base64\"]},\"exitCode\":" NUMBER
     ",\"error\":" STRING
     ",\"errorDetails\":{\"type\":\"object\",\"additionalProperties\":true},\"timedOut\":{\"type\":\"boolean\",\"enum\":[true]},"
     "\"cancelled\":{\"type\":\"boolean\",\"enum\":[true]},\"shellEnded\":{\"type\":\"boolean\",\"enum\":[true]},\"held\":{\"type\":\"boolean\",\"enum\":[true]},\"outOfMemory\":{\"type\":\"boolean\",\"enum\":[true]},\"restarted\":" STRING
     ",\"truncated\":{\"type\":\"object\",\"additionalProperties\":true},\"machine\":" STRING
     ",\"stats\":{\"type\":\"object\",\"additionalProperties\":true}},\"required\":[\"success\",\"stdout\",\"stderr\","
     "\"exitCode\",\"machine\",\"stats\"],\"additionalProperties\":false}"},
    {"StoppedMachine",
     "{\"type\":\"object\",\"properties\":{\"machine\":" STRING ",\"stopped\":{\"type\":"
     "\"boolean\"}},\"required\":[\"stopped\"],\"additionalProperties\":false}"},
    {"ToolArguments",
     "{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"the tool's own parameters by name, and "
     "these\",\"properties\":{\"args\":{\"type\":\"array\",\"items\":" STRING
     ",\"description\":\"as on a "
     "command line\"},\"stdin\":{\"description\":\"a text, or {base64}\"},"
     "\"files\":{\"description\":\"{name: text or {base64}}, in /work\"},"
     "\"cwd\":{},\"timeout\":{}}}"},
    {"ToolResult",
     "{\"type\":\"object\",\"properties\":{\"success\":{\"type\":\"boolean\"},"
     "\"stdout\":" STRING ",\"stderr\":" STRING ",\"exitCode\":" NUMBER
     ",\"stdoutEncoding\":{\"type\":\"string\",\"enum\":[\"base64\"]},\"outcome\":" STRING
     ",\"returns\":{\"type\":\"string\",\"enum\":[\"object\"]},\"hint\":" STRING ","
     "\"error\":" STRING
     ",\"errorDetails\":{\"type\":\"object\",\"additionalProperties\":true},"
     "\"files\":{\"type\":\"array\",\"items\":" TOOL_FILE "},"
     "\"changed\":{\"type\":\"boolean\",\"enum\":[true]},\"vault\":{\"type\":\"object\",\"additionalProperties\":true},"
     "\"stats\":{\"type\":\"object\",\"additionalProperties\":true},\"truncated\":{\"type\":\"object\",\"additionalProperties\":true}},"
     "\"required\":[\"success\",\"stdout\",\"stderr\",\"exitCode\",\"files\","
     "\"stats\"]}"},
    {"FunctionRow",
     "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"name\":" STRING
     ",\"signature\":" STRING ",\"description\":" STRING ",\"returnType\":" STRING
     ",\"parameters\":{\"type\":\"object\",\"additionalProperties\":true},\"tags\":" STRINGS
     "," METADATA "},\"required\":[\"id\",\"name\",\"signature\","
     "\"description\",\"parameters\",\"returnType\",\"tags\",\"metadata\"]}"},
    {"NewFunction", "{\"type\":\"object\",\"properties\":{" DEFINITION "," MAKER "," FORCE
                    "},\"required\":[\"name\",\"description\",\"parameters\","
                    "\"returnType\",\"code\"],\"additionalProperties\":false}"},
    {"FunctionDraft",
     "{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"a NewFunction, right or wrong\"}"},
    {"FunctionPatch", "{\"type\":\"object\",\"properties\":{" DEFINITION
                      ",\"note\":" STRING ",\"expectedVersion\":" NUMBER "," MAKER
                      "," FORCE "},\"additionalProperties\":false}"},
    {"FunctionTold", "{\"type\":\"object\",\"properties\":{" FUNCTION_MEMBERS
                     ",\"origin\":" STRING "},\"required\":[\"function\",\"signature\","
                     "\"typeDefinition\",\"usage\"]}"},
    {"KeptFunction",
     "{\"type\":\"object\",\"properties\":{\"success\":{\"type\":\"boolean\",\"enum\":[true]},\"action\":" STRING
     ",\"dryRun\":{\"type\":\"boolean\",\"enum\":[true]}," FUNCTION_MEMBERS "," FINDINGS
     ",\"tests\":{\"type\":\"object\",\"additionalProperties\":true}},\"required\":[\"success\",\"action\",\"function\","
     "\"warnings\"]}"},
    {"FunctionValidity", "{\"type\":\"object\",\"properties\":{\"valid\":" BOOLEAN
                         "," FINDINGS "},\"required\":[\"valid\",\"errors\","
                         "\"warnings\"]}"},
    {"FunctionCopy",
     "{\"type\":\"object\",\"properties\":{\"newName\":" STRING ",\"description\":" STRING
     "},\"required\":[\"newName\"],\"additionalProperties\":false}"},
    {"FunctionRollback",
     "{\"type\":\"object\",\"properties\":{\"version\":{\"type\":\"integer\",\"minimum\":1},"
     "\"expectedVersion\":" NUMBER "," FORCE
     "},\"required\":[\"version\"],\"additionalProperties\":false}"},
    {"FunctionTest",
     "{\"type\":\"object\",\"properties\":{\"args\":{\"description\":\"by "
     "name, or an array; none: all of its examples run\"},\"dryRun\":" BOOLEAN
     ",\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"ms of a run, "
     "waiting included (5000)\"}},\"additionalProperties\":false}"},
    {"FunctionTested",
     "{\"type\":\"object\",\"properties\":{\"success\":" BOOLEAN ",\"name\":" STRING
     ",\"dryRun\":" BOOLEAN "},\"required\":[\"success\",\"name\",\"dryRun\"]}"},
    {"FunctionVersions",
     "{\"type\":\"object\",\"properties\":{\"versions\":" OBJECTS
     ",\"diff\":{\"type\":\"object\",\"additionalProperties\":true}},\"required\":[\"versions\"]}"},
    {"FunctionStats", "{\"type\":\"object\",\"additionalProperties\":true}"},
    {"FunctionFile", "{\"type\":\"object\",\"properties\":{\"version\":" NUMBER
                     ",\"functions\":" OBJECTS "},\"required\":[\"functions\"]}"},
    {"AnyFunctionFile",
     "{\"type\":[\"object\",\"array\"],\"additionalProperties\":true,\"items\":{\"type\":\"object\",\"additionalProperties\":true},\"description\":\"what export "
     "answers, or another of those that docs/functions.md tells of\"}"},
    {"FunctionImport", "{\"type\":\"object\",\"properties\":{\"success\":" BOOLEAN
                       ",\"functions\":" OBJECTS "},\"required\":[\"success\"]}"},
    {"FunctionBackup", "{\"type\":\"object\",\"properties\":{\"backup\":" STRING
                       "},\"required\":[\"backup\"]}"},
    {"FunctionBackups",
     "{\"type\":\"object\",\"properties\":{\"success\":" BOOLEAN ",\"backup\":" STRING
     ",\"backups\":" OBJECTS "},\"required\":[\"success\",\"backup\",\"backups\"]}"},
    {"FunctionRestore",
     "{\"type\":\"object\",\"properties\":{\"backup\":{\"type\":\"string\",\"description\":"
     "\"none: the last good one\"}},\"additionalProperties\":false}"},
    {"FunctionsRestored", "{\"type\":\"object\",\"properties\":{\"success\":" BOOLEAN
                          "},\"required\":[\"success\"]}"},
    {"FunctionTemplate", "{\"type\":\"object\",\"properties\":{\"template\":" STRING
                         ",\"description\":" STRING "},\"required\":[\"template\"]}"},
    {"DeletedFunctions",
     "{\"type\":\"object\",\"properties\":{\"success\":{\"type\":\"boolean\",\"enum\":[true]},"
     "\"dryRun\":{\"type\":\"boolean\",\"enum\":[true]},\"deleted\":" STRINGS "," FINDINGS
     "},\"required\":[\"success\",\"deleted\",\"warnings\"]}"},
    {"Problem",
     "{\"type\":\"object\",\"properties\":{\"type\":" STRING ",\"title\":" STRING
     ",\"status\":" NUMBER ",\"detail\":" STRING ",\"instance\":" STRING
     ",\"code\":{\"type\":\"string\",\"description\":\"the same in every error of this "
     "kind: NOT_FOUND, CONFLICT, INVALID, DENIED ...\"},"
     "\"retry\":{\"type\":\"boolean\",\"description\":\"may the same request succeed "
     "later?\"},\"errors\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
     "\"properties\":{\"field\":" STRING ",\"detail\":" STRING ",\"message\":" STRING
     ",\"code\":" STRING ",\"line\":" NUMBER ",\"column\":" NUMBER
     "}}},\"warnings\":" OBJECTS
     ",\"tests\":{\"type\":\"object\",\"additionalProperties\":true}},\"required\":[\"type\",\"title\","
     "\"status\",\"detail\",\"code\"]}"},
};
const size_t schema_count = LENGTH(schemas);

const char *schema_named(const char *name)
{
    for (size_t i = 0; i < schema_count; i++)
        if (!strcmp(schemas[i].name, name))
            return schemas[i].text;
    return "";
}
