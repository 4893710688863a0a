/* mcp/mcp.h - the Model Context Protocol: what actions can do, told and called
 * as tools, and what workspaces show, over stdio and over HTTP.
 *
 * Serves both eras at once: the one that `initialize` opens (2025-11-25,
 * 2025-06-18, 2025-03-26) and the one in which every request carries its own
 * `_meta` (2026-07-28). Knows nothing of what the actions do.
 * Source: the specification's pages of 2025-11-25 and 2026-07-28.
 * Threads: safe.
 */
#pragma once
#include "actions/actions.h"
#include "base/base.h"
#include "http/http.h"
#include "workspaces/workspaces.h"

#define MCP_LINE_MAX ((size_t)16 * 1024 * 1024) /* bytes of a message on stdio */

struct mcp;

/* Both are borrowed until mcp_close(). NULL and ERR_BUG: a schema among the actions is no
 * JSON object. */
struct mcp *mcp_open(struct actions *a, struct workspaces *w, struct err *e);
void mcp_close(struct mcp *m); /* NULL is fine; nothing may be served any more */
SCOPED(mcp, mcp_close);

/* The HTTP server's route for /mcp; valid until mcp_close(). */
struct http_route mcp_route(struct mcp *m);
/* As http_expel(), for what goes on behind its request: tasks. */
void mcp_expel(struct mcp *m, bool (*stays)(void *arg, const void *left), void *arg);

/* Zero means the value in brackets. */
struct mcp_stdio_options {
    int in, out;         /* descriptors; both 0 means standard input and output */
    bool has_stop;       /* `stop` is a descriptor: once it can be read, the input */
    int stop;            /* ends, and what runs is cancelled */
    unsigned threads;    /* [8], at least 2: one reads, the others run calls */
    size_t thread_stack; /* bytes [4 MiB], never less */
    unsigned queue_max;  /* calls that wait for a thread [256]; beyond: an error */
    unsigned drain_ms;   /* at the end of input, until calls are cancelled [6000] */
};

/* Serves one client until its input ends; every request read before is
 * answered. While it serves standard output, what anything else prints there
 * goes to standard error. false and ERR_IO: no threads, or the input cannot be
 * read. */
bool mcp_serve_stdio(struct mcp *m, const struct mcp_stdio_options *o, struct err *e);
