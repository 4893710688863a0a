/* catalogue/package.h - a tool's ZIP: opened, expanded within limits, checked. Private to
 * catalogue; struct tool_package is the door's. */
#pragma once
#include "catalogue/catalogue.h"

#define PACKAGE_EXPANDED_MAX ((uint64_t)200 << 20) /* bytes of all files together */
#define PACKAGE_RATIO_MAX 100u                     /* of those to the ZIP's own */
#define PACKAGE_WASM_MAX ((size_t)20 << 20)

/* A file in it, as far as a signature covers it. */
struct package_file {
    struct str name;
    char sha256[65];
};

/* The contents of a ZIP: every file was expanded and its sum checked. */
struct package {
    struct arena *arena; /* of all but the bufs */
    struct package_file *files;
    size_t count;
    struct buf manifest, wasm, signature; /* the files; a missing signature is empty */
    struct str wasm_name; /* empty: there is no module, but a command of the machine */
    char sha256[65], wasm_sha256[65]; /* of the whole ZIP, and of the module */
};
/* Begins empty; ended by package_done(), also after a failure. */
bool package_read(struct str zip, struct package *p, struct err *e);
void package_done(struct package *p);
