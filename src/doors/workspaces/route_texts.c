/* Texts of the OpenAPI document for each operation besides its table's row: a group, and what
 * a caller has to know. */
#include "workspaces/route.h"

#define GROUP_WORKSPACES "Workspaces"
#define GROUP_NOTES "Notes"
#define GROUP_FINDING "Finding"
#define GROUP_HISTORY "History"
#define GROUP_CODE "Code"
#define GROUP_FUNCTIONS "Functions"
#define GROUP_TOOLS "Tools"
#define GROUP_MACHINES "Machines"
#define GROUP_SERVER "Server"

const struct route_group route_groups[] = {
    {GROUP_WORKSPACES, "Vaults: folders of Markdown notes."},
    {GROUP_NOTES, "Notes, one by one and as a list."},
    {GROUP_FINDING, "Queries, full text, links, classes."},
    {GROUP_HISTORY, "What notes held before, and the way back."},
    {GROUP_CODE, "Programs over the notes, in a sandbox."},
    {GROUP_FUNCTIONS, "Custom functions, which programs call by name."},
    {GROUP_TOOLS, "Command-line programs in WebAssembly."},
    {GROUP_MACHINES, "Linux machines in WebAssembly."},
    {GROUP_SERVER, "What was done, and this document."},
};
const size_t route_group_count = LENGTH(route_groups);

#define WHOLE                                                                                \
    "Without limit the answer is the whole list of one moment, or an error where it is too " \
    "large for one answer; with limit it is a page, and Link has the next one."
#define VERSION                                                                            \
    "If-Match (or content_hash in the body) names the version that was read: 428 without " \
    "it, 412 where the note is another one by now."

static const struct route_text texts[] = {
    {"listWorkspaces", GROUP_WORKSPACES, "A token that names vaults sees those alone."},
    {"getWorkspace", GROUP_WORKSPACES, "Its name, and what is said about it."},
    {"listNotes", GROUP_NOTES,
     "Rows with id, title, class, properties and updated_at, or with the members that fields "
     "names. " WHOLE},
    {"createNote", GROUP_NOTES,
     "The body is the whole file, or its parts: title, class, content and properties. 409 "
     "where a note has that name, 400 where the schema of its class does not fit."},
    {"queryNotes", GROUP_FINDING,
     "Compares fields and properties with values ($eq, $lt, $in, $contains ...), sorts, and "
     "answers rows as the list of notes does. " WHOLE},
    {"searchNotes", GROUP_FINDING,
     "Finds words in titles, bodies and tags, with an excerpt around the place. " WHOLE
     " No search goes beyond 10,000 notes."},
    {"listLinks", GROUP_FINDING,
     "Every relationship from note to note: links in the text, and of kind hierarchy what "
     "stands beneath a note, whose line is 0. By the path of the source. " WHOLE},
    {"listClasses", GROUP_FINDING,
     "Classes are folders and what is described of them. Fields are those of the class's "
     "schema; what notes have besides is inferred, and says so."},
    {"getClass", GROUP_FINDING, "One row of the list of classes."},
    {"evaluate", GROUP_CODE,
     "Takes the arguments of evaluate_note_code and answers as it does: also where the code "
     "failed, with the status of its error."},
    {"runScript", GROUP_CODE,
     "The script's one way out is host.call(method, path, body), which makes requests to "
     "these routes under the caller's rights; computing is limited by fuel."},
    {"listRecords", GROUP_SERVER,
     "The audit of the workspace, for the person of this machine and for tokens with the "
     "scope audit. Without limit the last 100; Link has those before them."},
    {"listFunctions", GROUP_FUNCTIONS,
     "Each with its signature, without its code. " WHOLE},
    {"registerFunction", GROUP_FUNCTIONS,
     "Its code is checked, its types are, and its examples run; what is wrong is told with "
     "line and column in errors, and then nothing is kept."},
    {"deleteFunctions", GROUP_FUNCTIONS,
     "Refused where others call one of them, unless force is true. Versions are kept."},
    {"validateFunction", GROUP_FUNCTIONS,
     "Answers 200 also for what is wrong, and says in errors why."},
    {"exportFunctions", GROUP_FUNCTIONS, "The answer is what the import takes."},
    {"importFunctions", GROUP_FUNCTIONS,
     "The body is a file of functions, as the export answers it."},
    {"listFunctionBackups", GROUP_FUNCTIONS,
     "The last ten are kept; each change of the functions makes one."},
    {"backupFunctions", GROUP_FUNCTIONS, "Keeps all functions as they are now."},
    {"restoreFunctions", GROUP_FUNCTIONS,
     "Takes back all functions at once; without a name to the last backup that is whole."},
    {"getFunctionStats", GROUP_FUNCTIONS,
     "How often functions run, fail and are reused, in all."},
    {"listFunctionTemplates", GROUP_FUNCTIONS, "Their names, and what each is for."},
    {"getFunctionTemplate", GROUP_FUNCTIONS,
     "A definition that can be registered as it is; name gives it another name."},
    {"listFunctionVersions", GROUP_FUNCTIONS,
     "With from (and to) also what differs between two of them."},
    {"getStatsOfFunction", GROUP_FUNCTIONS, "Its runs, failures and times."},
    {"testFunction", GROUP_FUNCTIONS,
     "With args one run, else its examples. What it writes is thrown away."},
    {"duplicateFunction", GROUP_FUNCTIONS,
     "The copy has versions of its own, beginning with 1."},
    {"rollbackFunction", GROUP_FUNCTIONS,
     "The older version is checked as a new one is."},
    {"getFunction", GROUP_FUNCTIONS,
     "Its definition and declaration; the ETag is its version."},
    {"updateFunction", GROUP_FUNCTIONS,
     "Checked as a new one is. If-Match names the version that it is about."},
    {"deleteFunction", GROUP_FUNCTIONS,
     "Refused where others call it, unless force is true."},
    {"listTools", GROUP_TOOLS, "Those that are installed."},
    {"getTool", GROUP_TOOLS, "Its parameters as a JSON Schema, its limits and examples."},
    {"runTool", GROUP_TOOLS,
     "Permission is the policy's: a tool may have to wait for a person's word. A program "
     "that failed is an answer, too: success is false, and exitCode says how."},
    {"listMachines", GROUP_MACHINES,
     "Those of this caller alone, also those that have ended, with the reason."},
    {"startMachine", GROUP_MACHINES,
     "Commands start one by themselves: this is for another size, or a further one."},
    {"execInMachine", GROUP_MACHINES,
     "The command's exit code is in the answer: also one that is not 0 is 200. The shell "
     "and its files stay for the next command of the session."},
    {"stopMachine", GROUP_MACHINES, "What runs in it ends, and its files are gone."},
    {"describe", GROUP_SERVER,
     "Made from the table that the server works by; needs no rights beyond coming in."},
    {"listRevisions", GROUP_HISTORY, "Also of a note that was deleted. " WHOLE},
    {"getRevision", GROUP_HISTORY,
     "With Accept: text/markdown the file as it was, byte for byte."},
    {"restoreRevision", GROUP_HISTORY,
     "Over a note that is there it wants If-Match; a deleted one comes back."},
    {"getNote", GROUP_NOTES,
     "With Accept: text/markdown the file, byte for byte. The ETag is its content_hash."},
    {"replaceNote", GROUP_NOTES, "The note keeps its id. " VERSION},
    {"updateNote", GROUP_NOTES,
     "All changes of the body or none: properties where they stand (section or "
     "frontmatter), content, class, title; links to the note follow. " VERSION},
    {"deleteNote", GROUP_NOTES,
     "409 where other notes link to it or stand beneath it, unless confirm is true."},
};

const struct route_text *route_text_of(const struct route *r)
{
    static const struct route_text none = {"", GROUP_SERVER, ""};
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (!strcmp(texts[i].operation, r->operation))
            return &texts[i];
    return &none;
}
