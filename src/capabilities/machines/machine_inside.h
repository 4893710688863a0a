/* machines/machine_inside.h - a command of our own in a machine, for what callers ask about
 * its files. Private to the room. */
#pragma once
#include "machines/machine_files.h"
#include "machines/machine_use.h"

/* One such command. Set by its caller, down to `request`; `path` options are words[0]. */
struct inside {
    const struct tool_call *call;
    const char *name;        /* of the host call: "vm.read" */
    const char *script;      /* for bash; its words are $1 and up */
    const struct str *words; /* any bytes but NUL */
    size_t word_count;
    struct str machine;         /* its handle; empty: the default one */
    struct str input;           /* no pointer: none */
    uint64_t output_bytes;      /* kept of standard output; more is an error */
    bool starts;                /* the default machine, if none runs */
    const struct json *request; /* as a person is shown it */

    struct vm_result result;
    char handle[VM_HANDLE];
    uint64_t begun_ns;
    struct machine_use use;
    struct str command;
};
/* Runs it, if the policy or a person allows it. false and *e: it did not end with exit code 0.
 * Its last words become the error, as of a program that names a path: "No such file or
 * directory" is ERR_NOT_FOUND and so on. inside_done() is called in any case. */
bool inside_run(struct inside *in, struct err *e);
/* Frees and accounts for it, with the outcome of the whole call. */
void inside_done(struct inside *in, const struct err *e);

/* A path: text, or {base64} of its bytes; made absolute, in the arena. */
bool inside_path(const struct json *v, struct arena *a, struct str *out, struct err *e);
bool inside_handle(const struct json *v, struct str *out, struct err *e);
/* "path", and "pathBase64" where it is not UTF-8. */
void inside_put_path(struct str path, struct json_writer *w);
/* Sets ERR_GUEST: the machine's answer cannot be read. Returns false. */
bool inside_garbled(struct err *e);
