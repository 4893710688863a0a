/* sql/pool.h - the processes of a pool, and who may have one. Private to sql. */
#pragma once
#include "apart/apart.h"
#include "sql/sql.h"

struct process {
    struct process *next;
    struct apart *apart;
    int socket; /* does not block */
    uint64_t inode;
    bool is_used; /* it has answered before */
    char path[];  /* of the file; empty: not to be kept */
};

/* The right to have a process busy, for one query; lies on the stack of who has it. */
struct turn {
    struct turn *next;
    const char *who;
};

/* ERR_NONE, or why nobody waits for the query any more: ERR_CANCELLED, ERR_TIMEOUT. */
enum err_code query_stopped(const struct sql_caller *by, const struct sql_query *q);
#define LOOK_MS 20 /* between two looks at that */

/* Waits for one. ERR_CANCELLED, ERR_BUSY. */
bool turn_take(const struct sql_caller *by, struct turn *s, const struct sql_query *q,
               struct err *e);
void turn_leave(struct sql_pool *p, struct turn *s);

/* An idle process that has this file open; NULL: there is none. */
struct process *process_idle(struct sql_pool *p, const struct sql_source *source);
/* A new one, which has been told what to open. */
struct process *process_begin(struct sql_pool *p, const struct sql_source *source,
                              struct err *e);
/* Keeps it for the next, or ends it. */
void process_keep(struct sql_pool *p, struct process *w);
void process_end(struct process *w); /* NULL is fine */
