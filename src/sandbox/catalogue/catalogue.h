/* catalogue/catalogue.h - which command-line tools there are: those built in, and those
 * that a person installed.
 *
 * A tool is a manifest (what it is, which parameters it takes, what it may use) and a
 * Wasm module, or a command of the Linux machine that the manifest names. Built-in tools lie beside the program, in `tools/` of the guests' folder;
 * installed ones in `tools/` of the user's data folder, for every vault or for one.
 * Nothing is ever read from a vault. Only a person installs, removes, switches and trusts:
 * no door of this room that changes anything may be reachable by code or an agent.
 *
 * Threads: safe. Processes: any number. A tool that was found stays valid until
 * tool_release(), whatever is installed or removed meanwhile; other processes' changes
 * are seen at the next call.
 * Source: the manifest's schema, docs/tool-manifest.schema.json; packages, docs/tools.md.
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"
#include "json/json.h"

struct catalogue;

struct catalogue_options {
    const char *guest_dir; /* the built-in ones are in its "tools/" */
    struct engine *engine; /* borrowed; NULL: one of its own, when first needed */
    const char *compiler;  /* the program `cloche`, which compiles strangers' modules in
                              a process apart; NULL: found beside the guests */
    bool (*taken)(
        struct str name); /* is it another thing's name, which a tool of that name
                                       would hide behind? NULL: none is */
};
/* Ends the program when there is no memory; what cannot be read shows at the calls. */
struct catalogue *catalogue_open(const struct catalogue_options *o);
void catalogue_close(struct catalogue *c); /* NULL is fine; no tool may be held */
SCOPED(catalogue, catalogue_close);

/* ---- a tool -------------------------------------------------------------- */

enum tool_style { TOOL_CLI, TOOL_JSON, TOOL_POSITIONAL };
/* A tool's access to files that it is shown; in its own memory it may do all. */
enum tool_access { TOOL_NO_FILES, TOOL_READ, TOOL_WRITE, TOOL_READWRITE };
const char *tool_access_name(enum tool_access access); /* "readwrite", as manifests say */
/* Objects, and arrays in arrays, are items alone. */
enum tool_type { TOOL_STRING, TOOL_NUMBER, TOOL_BOOLEAN, TOOL_ARRAY, TOOL_OBJECT };
const char *tool_type_name(enum tool_type type); /* "string", as JSON Schema says */

struct tool_parameter {
    const char *name, *description;
    enum tool_type type, items;       /* `items`: of an array */
    const struct json *choices;       /* an array; NULL: anything of the type */
    const struct json *default_value; /* NULL: none */
    bool required;
    const char *flag; /* "-i": instead of "--name"; NULL */
    int position;     /* from 1, among what has no flag; 0: none */
};

struct tool_exit {
    uint32_t code;
    const char *means;
};

struct tool {
    const char *id; /* a UUID; of a built-in tool, always the same */
    const char *name, *version, *description, *category;
    const char *author, *license, *homepage; /* NULL where the manifest has none */
    struct {
        enum tool_style style;
        enum tool_access access;
        uint64_t memory_bytes;
        uint32_t timeout_ms;
        const char *stdin_parameter;   /* whose value is standard input; NULL: none */
        bool private_files;            /* what it makes is for its owner alone */
        const struct tool_exit *exits; /* codes that are answers and no failures */
        size_t exit_count;
    } execution;
    /* Of the runtime "vm": a program of the Linux machine, by its name or path, and the
     * words before the call's own, up to a NULL. NULL: it is a module. */
    const char *const *command;
    bool returns_object; /* stdout is JSON */
    const char *returns;
    const struct tool_parameter *parameters; /* in the manifest's order */
    size_t parameter_count;
    const struct json *manifest; /* without the fields that nobody knows */
    bool builtin, enabled;
    const char *vault;  /* installed for this vault's id alone; NULL: for all */
    const char *signer; /* the trusted key that signed it, by its name; NULL */
    int64_t installed_ms, updated_ms; /* since 1970; 0: built in */
    /* The same pointer for all tools of one module (argv[0] tells which). */
    const char *module_name;
    const char
        *sha256; /* of the module, in hexadecimal; with a command of the manifest */
    const char *data_dir; /* its read-only files, shown at "/"; NULL: none */
};

/* A machine's memory, where the manifest of a command does not say it, and the least. */
#define TOOL_MACHINE_BYTES ((uint64_t)512 << 20)
#define TOOL_MACHINE_LEAST ((uint64_t)64 << 20)

/* The meaning of an exit code other than 0 that is no failure ("no line matched"); NULL:
 * it is a failure. */
const char *tool_exit_means(const struct tool *t, uint32_t code);

/* The values of "runtime" in manifests. */
#define TOOL_RUNTIME_MODULE "wasm"
#define TOOL_RUNTIME_MACHINE "vm"
/* Appends the command of a tool that has one, for a person: words as a shell takes them. */
void tool_put_command(const struct tool *t, struct buf *out);

#define TOOL_NAME_MAX 64u
#define TOOL_ID 37 /* a UUID and a NUL */

/* Do all clients take it as a function that a model calls? Those of OpenAI and VS Code take
 * names of up to 64 bytes, of which a list of tools prepends five; Gemini takes parameters
 * of letters, digits and '_' that do not begin with a digit. One name that is not taken
 * makes them refuse the whole list. */
bool tool_suits_clients(const struct tool *t);
#define TOOL_CLIENTS_NAME_MAX 59u

/* The enabled tool of that name which a call in this vault (an id; empty: none) means: the
 * vault's own first, then the user's, then the built-in one. NULL and ERR_NOT_FOUND,
 * suggesting the nearest, or ERR_DENIED (it is disabled). Whether policy demands a
 * signature is for guard to say. */
const struct tool *tool_find(struct catalogue *c, struct str name, struct str vault,
                             struct err *e);
void tool_release(struct catalogue *c, const struct tool *t); /* NULL is fine */

/* Compiling a large module takes a minute. `fn` is called on the thread that waits, about
 * once a second while it goes on; `simply`: what would take too much is being compiled
 * again without optimisation. false: it is to be called off (ERR_CANCELLED). NULL for a
 * watch: nobody wants to know. */
struct tool_watch {
    bool (*fn)(void *arg, const char *tool, unsigned seconds, bool simply);
    void *arg;
};
/* Its module, compiled when first needed, and loaded now. Valid while the tool is held.
 * ERR_INVALID: it is no module that can run here, or a command of the machine. */
struct loadable *tool_module(struct catalogue *c, const struct tool *t,
                             const struct tool_watch *watch, struct err *e);

/* All that tool_find() could mean, disabled ones among them, by name. The list holds
 * each. */
#define TOOL_EVERY_VAULT STR("*") /* for `vault`: whichever they are installed for */
struct tool_list {
    const struct tool **tools;
    size_t count;
    const char *problems; /* records that cannot be read and are left out, a line each */
    struct snapshot *held;
};
bool tool_list(struct catalogue *c, struct str vault, struct tool_list *out,
               struct err *e);
void tool_list_release(struct catalogue *c, struct tool_list *l); /* zeros are fine */

/* May there be any tool at all: built in, or installed by the person? Looks at two files. */
bool catalogue_is_filled(const char *guest_dir);
/* Grows with every change of what there is; for news to clients. Cheap. */
uint64_t catalogue_version(struct catalogue *c);

/* ---- packages: for persons ------------------------------------------------ */

#define TOOL_ZIP_MAX ((size_t)50 << 20) /* bytes */
#define TOOL_KEY_TEXT 52                /* "ed25519:", 43 characters and a NUL */

/* The findings of a check, a line each: "execution.timeout is 0; a whole number ...". */
struct tool_notes {
    struct buf errors, warnings;
    size_t error_count, warning_count; /* also of lines that there was no room for */
};
void tool_notes_init(struct tool_notes *n);
void tool_notes_done(struct tool_notes *n);
/* Is this a manifest? ERR_INVALID, all that is wrong in `notes`. */
bool tool_manifest_check(struct str text, struct tool_notes *notes, struct err *e);

/* A ZIP, taken apart and checked; nothing of it is kept anywhere, and its module is not
 * compiled yet. ERR_INVALID (no such ZIP, manifest or signature), ERR_LIMIT (too large,
 * also when it is expanded), ERR_DENIED (changed after it was signed). */
struct tool_package;
struct tool_package *tool_package_open(struct catalogue *c, struct str zip,
                                       struct tool_notes *notes, struct err *e);
void tool_package_close(struct tool_package *p); /* NULL is fine */
SCOPED(tool_package, tool_package_close);
/* The tool to be installed: no id, no times; the signer, where that key is trusted. */
const struct tool *tool_package_tool(const struct tool_package *p);
const char *tool_package_sha256(const struct tool_package *p); /* of the ZIP */
const char *tool_package_key(const struct tool_package *p); /* who signed; "": nobody */

enum tool_replace {
    TOOL_NEW,          /* ERR_CONFLICT where the name is taken, also by a built-in one */
    TOOL_MAY_REPLACE,  /* updates, or takes a built-in tool's place */
    TOOL_MUST_REPLACE, /* ERR_NOT_FOUND where nothing is installed by that name */
};
/* Whole or not at all, whatever happens meanwhile. Links its module, if it has one, with
 * what there is for tools, and compiles it in a process apart: ERR_INVALID, ERR_LIMIT. An update keeps
 * id, times and switch, and needs the same signature (ERR_DENIED). `vault`: an id, or
 * NULL for all. */
bool tool_install(struct catalogue *c, const struct tool_package *p, const char *vault,
                  enum tool_replace replace, const struct tool_watch *watch,
                  char id[static TOOL_ID], struct err *e);
/* Can it be the id of a vault: letters, digits, '.', '_' and '-', the first no sign?
 * ERR_INVALID. */
bool vault_id_check(const char *vault, struct err *e);
/* ERR_NOT_FOUND; ERR_INVALID: a built-in one is disabled instead. */
bool tool_remove(struct catalogue *c, const char *name, const char *vault, struct err *e);
/* Enables or disables it: for all vaults, or for one. */
bool tool_switch(struct catalogue *c, const char *name, const char *vault, bool on,
                 struct err *e);

/* ---- proposals: an agent proposes, a person installs ---------------------- */

/* Keeps a ZIP until a person has decided about it, at most a week; the approval's digest
 * is tool_package_sha256(). ERR_BUSY: too many wait. */
bool tool_propose(const struct tool_package *p, struct str zip, struct err *e);
/* Writes the proposal for the person: {kind, name, version, description, fileAccess,
 * size, sha256, signer, ...}, all of it texts. */
void tool_proposal_shown(struct catalogue *c, const struct tool_package *p,
                         struct json_writer *out);
/* After the word: installs what has that hash, in the place of another where there is
 * one, or forgets it. As tool_install(), or ERR_NOT_FOUND. */
bool tool_proposal_install(struct catalogue *c, const char *sha256,
                           const struct tool_watch *watch, struct err *e);
void tool_proposal_drop(const char *sha256);

/* ---- signatures ------------------------------------------------------------ */

/* Appends the same ZIP with a signature of that key (a seed of 32 bytes), in the place of
 * another where there was one. `key`: the public key. */
bool tool_sign(struct str zip, const unsigned char *secret, struct buf *out,
               char key[static TOOL_KEY_TEXT], struct err *e);
/* Adds a trusted signer. ERR_CONFLICT: the name or key is there already. */
bool tool_trust(const char *name, const char *key, struct err *e);
bool tool_distrust(const char *name, struct err *e);
bool tool_trusted(struct json_writer *out, struct err *e); /* [{name, key, added}] */

/* The process apart, which tool_install() begins as `cloche compile-module`; the exit
 * code. */
int tool_compile_main(int argc, char **argv);
