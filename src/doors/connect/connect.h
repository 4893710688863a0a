/* connect/connect.h - entries of this server in the settings files of MCP clients: where a client
 * keeps them, the file with the entry or without it, and a trial of the server as the client would
 * start it. Nothing is written here. Threads: safe.
 * Source: the documentation of each client, November 2026.
 */
#pragma once
#include "base/base.h"

/* A client that is known. */
struct connect_client {
    const char *id, *title; /* "claude-desktop", "Claude Desktop" */
    const char *note;       /* what to do before or after the change; NULL */
};
const struct connect_client *connect_clients(size_t *count);
/* NULL and ERR_INVALID, with the ids that there are. */
const struct connect_client *connect_find(const char *id, struct err *e);

/* Where the client keeps its settings for all projects: of the places that it knows the first
 * that is there, else the first. The caller frees. NULL and ERR_NOT_FOUND: there is no home folder. */
char *connect_path(const struct connect_client *c, struct err *e);

/* What the entry starts. */
struct connect_server {
    const char *name;         /* of the entry: letters, digits, '-' and '_' */
    const char *const *words; /* the program's absolute path, its arguments, NULL */
};
/* Does the file's text have an entry of that name? ERR_INVALID: the text cannot be read, says why. */
bool connect_has(const struct connect_client *c, struct str text, const char *name,
                 bool *there, struct err *e);
/* Appends the text with the entry, or without the one of that name; all else in it stays byte
 * for byte. An empty text becomes a whole file. ERR_INVALID, ERR_LIMIT. */
bool connect_set(const struct connect_client *c, struct str text,
                 const struct connect_server *s, struct buf *out, struct err *e);
bool connect_remove(const struct connect_client *c, struct str text, const char *name,
                    struct buf *out, struct err *e);

/* Starts the server, shakes hands, asks for its tools, and ends it. The count of tools, and what
 * the server calls itself (at most 63 bytes). ERR_IO, ERR_TIMEOUT; the message holds the last
 * line that the server wrote on stderr, if it ended by itself. */
struct connect_answer {
    size_t tools;
    char name[64], version[64];
};
bool connect_try(const struct connect_server *s, unsigned timeout_ms,
                 struct connect_answer *out, struct err *e);
