/* catalogue/records.h - the installed tools on disk, in "tools/" of the data folder:
 *
 *   records/ID.json         a tool for all vaults: the seed's StoredWasmTool
 *   records/ID@VAULT.json   one for this vault alone
 *   modules/SHA256.wasm     its wasmBinary
 *   off.json                what is switched off and has no record, or for a vault only
 *   changes                 another file after every change
 *   lock                    held by who changes anything
 *
 * A record appears, changes and goes with one rename; a module is there before the first
 * record that names it, and goes after the last one. What a process that died has left is
 * swept away by the next change. Private to catalogue.
 */
#pragma once
#include "catalogue/internal.h"
#include "catalogue/signature.h"

#define RECORDS_DIR "tools"
#define RECORDS_MAX 1000u /* tools */
#define VAULT_NAME_MAX 64u

/* The contents of a record, to be written. */
struct record {
    const char *id;
    const char *vault; /* NULL: all */
    struct str manifest;
    const char *wasm_sha256; /* "": it is a command of the machine, without a module */
    uint64_t wasm_bytes;
    const char *key; /* whose signature it has; "": none */
    bool enabled;
    int64_t installed_ms, updated_ms;
};

/* Adds the rows of all that are installed, and the switches. */
void records_load(struct catalogue *c, struct snapshot *s);

/* Between its beginning and its end nobody else changes anything. */
struct edit {
    int dir, lock; /* of "tools/" */
};
bool edit_begin(struct catalogue *c, struct edit *ed, struct err *e);
/* Tells the others, sweeps away what no record names; also after a failure. */
void edit_end(struct edit *ed);

bool record_write(struct edit *ed, const struct record *r, struct err *e);
bool record_remove(struct edit *ed, const struct tool *t, struct err *e);
bool module_write(struct edit *ed, const char *sha256, struct str wasm, struct err *e);
/* Switches a tool on or off, for a vault or (NULL) for all. */
bool switch_write(struct edit *ed, const char *id, const char *vault, bool on,
                  struct err *e);
