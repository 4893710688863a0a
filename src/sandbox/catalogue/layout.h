/* catalogue/layout.h - how a ZIP is laid out, before anything in it is expanded.
 *
 * Reads the directory and every file's own header, and refuses what two readers could
 * understand differently, or what is made to harm. Private to catalogue.
 * Source: PKWARE's APPNOTE.TXT 6.3.10, 4.3 and 4.4.
 */
#pragma once
#include "base/base.h"

#define LAYOUT_FILES_MAX 100u    /* folders are not counted, */
#define LAYOUT_ENTRIES_MAX 1000u /* but all together are */

struct layout_entry {
    struct str name;       /* bytes of whatever encoding; borrowed from the ZIP */
    uint64_t packed, size; /* bytes, as the directory says */
    uint64_t from, to;     /* of its header and its bytes in the ZIP */
    bool is_folder;
};
struct layout {
    struct layout_entry *all; /* in the directory's order */
    size_t count;
};
/* `out` lives in the arena. false and ERR_INVALID, or ERR_LIMIT (too many files). */
bool layout_read(struct str zip, struct arena *a, struct layout *out, struct err *e);
