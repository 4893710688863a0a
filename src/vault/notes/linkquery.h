/* notes/linkquery.h - the statements of a linker. Of linkindex.c and linksettle.c alone. */
#pragma once
#include "notes/linkindex.h"

enum linker_query {
    FIND_NAME,
    ADD_NAME,
    TOUCH_NAME,
    ADD_LINK,
    ADD_SUBNOTE,
    ADD_TAGS,
    DROP_TAGS,
    ADD_ALIAS,
    TOUCH_ALIASES,
    DROP_ALIASES,
    TOUCH_TEXT,
    TOUCH_OTHER,
    TOUCH_LINKED,
    TOUCH_SUBNOTES,
    DROP_LINKS,
    DROP_SUBNOTES,
    DROP_MEANING,
    REOPEN_CYCLES,
    BY_NAME, /* of enum resolve_way */
    BY_NAME_LAST = BY_NAME + RESOLVE_WAYS - 1,
    IS_USED,
    SET_NAME,
    REOPEN_SUBNOTES,
    DROP_NAME,
    ADD_BROKEN,
    DROP_BROKEN,
    RENAME_LINK,
    RENAME_SUBNOTE,
    LINKER_QUERIES,
};

/* Ready to be bound. NULL and *e. */
struct query *linker_query(struct linker *l, enum linker_query w, struct err *e);
/* Runs it to its end: one that stands on a row would keep the transaction from ending. */
bool linker_run(struct query *q, struct err *e);
/* The same, with one argument. */
bool linker_run_with(struct linker *l, enum linker_query w, int64_t key, struct err *e);
