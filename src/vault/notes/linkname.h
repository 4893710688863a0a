/* notes/linkname.h - what links and lists of subnotes call notes. Pure text.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/markdown.h"
#include "json/json.h"

#define SUBNOTES_KEY "subnotes" /* of the frontmatter */

/* By what names the link calls its note, seen from the note `from`: `text`, and where
 * that is nobody's name, `other` (or empty). Both are cleared first. */
void link_name(const struct link *l, struct str from, struct buf *text,
               struct buf *other);
/* Makes `out`, which is empty, what an entry of the list of subnotes names: an
 * identifier, bare or in [[...]]. false: it is none. */
bool subnote_name(const struct json *entry, struct buf *out);

/* Appends a host with its labels turned round and in small letters, "com.example.www",
 * so that a domain stands together with all beneath it. */
void link_put_domain(struct str host, struct buf *out);
/* The same of an address's host; nothing where it has none. */
void link_put_host(struct str url, struct buf *out);

/* Does the target name a file that is no note, such as an image? */
bool link_is_file(enum link_kind kind, struct str name);
