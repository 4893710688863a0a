/* audit/audit.h - append-only audit trails, chained so that changes and truncation are
 * detected.
 *
 * A trail is a series of files of JSON lines, one record a line, each ending in a MAC over
 * itself and the MAC before it (HMAC-SHA-256). It is stored in the vault, under
 * ".cloche/audit", or in the user's state folder where the vault cannot be written or
 * there is none. The key and, for each trail, the number and MAC of its last record lie
 * in the state folder: a program that can write only the vault can neither forge a record
 * nor remove the last ones undetected. One that can read the user's own files can
 * (docs/auditing.md).
 *
 * Up to 64 processes append to one trail at a time, each to a lane of its own, a chain
 * of its own: none waits for another. A record that was appended outlasts a
 * kill -9 of ours; a power failure, too, after 50 ms, or at once where that is asked for.
 * Knows nothing of the records' contents.
 * Threads: safe, except open and close.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

#define AUDIT_RECORD_MAX ((size_t)32 << 10) /* bytes of one record */

struct audit;
struct trail;

/* Reads and creates nothing yet. */
struct audit *audit_open(void);
/* Syncs all records to the disk. NULL is fine. */
void audit_close(struct audit *a);
SCOPED(audit, audit_close);

/* The trail of the vault in this folder (its true path); NULL: the user's own, of what
 * has no vault. The same answer for the same path; until audit_close(). */
struct trail *audit_trail(struct audit *a, const char *vault);

/* ---- appending ---------------------------------------------------------- */

/* Can the next records be written for sure? Their room on the disk is taken before.
 * Cheap while all is well. false and ERR_IO or ERR_DENIED. */
bool trail_ready(struct trail *t, struct err *e);

/* A file that reaches this size is followed by a new one [16 MiB]. */
void trail_rotate_at(struct trail *t, uint64_t size_bytes);

/* An intent is recorded before something is done, and has one end: both have the
 * member "intent", a name that no two have. An intent whose process died without the end
 * gets one from whoever opens the trail next to append or settles it, once: its members,
 * less "call", with "event": "call", "result": "Interrupted", "begun": its time, and what
 * audit_on_interrupted() adds. */
enum trail_kind { TRAIL_PLAIN, TRAIL_INTENT, TRAIL_END };

/* A record: `members` is the inside of a JSON object, without braces, to which "n" and
 * "mac" are added. `state` is noted with it, 16 characters at most; where it is another than
 * the last record's, `before` (members, or empty) is appended first. */
struct trail_entry {
    struct str members, before;
    const char *state;
    enum trail_kind kind;
    bool lasting; /* it is on the disk when trail_put() returns */
    /* A line that is kept beside the record, outside of the chain, until a thousand more were
     * appended; empty: none. One that is longer, or cannot be written, is not kept. */
    struct str beside;
};
#define TRAIL_BESIDE_MAX ((size_t)4000) /* bytes */
/* false and *e: it was not appended; ERR_BUSY where 64 processes append already, ERR_LIMIT
 * (too long), ERR_IO. */
bool trail_put(struct trail *t, const struct trail_entry *entry, struct err *e);
bool trail_append(struct trail *t, struct str members, const char *state,
                  struct str before, bool lasting, struct err *e); /* a plain one */

/* Writes more members of the record of a call that was interrupted (pairs of an open
 * object): what it had changed in the vault of this folder (NULL: none). Nothing of this
 * room may be called. */
typedef void audit_interrupted_fn(void *arg, const char *vault, struct str intent,
                                  struct json_writer *w);
void audit_on_interrupted(struct audit *a, audit_interrupted_fn *fn, void *arg);
/* Ends what dead processes began; those that live are left alone. */
bool trail_settle(struct trail *t, struct err *e);

/* Limits the kept texts of this trail [256 MiB]; above, the oldest go first. */
void trail_keep_most(struct trail *t, uint64_t bytes);
/* Keeps a text beside the trail, once, under its SHA-256 in hexadecimal. */
bool trail_keep(struct trail *t, const char *sha256, struct str text, struct err *e);
/* Appends it to `out`; ERR_NOT_FOUND where it was not kept. */
bool trail_kept(struct trail *t, const char *sha256, struct buf *out, struct err *e);

/* The line beside the record of this number and MAC, appended to `out`. false: there is none
 * (any more), or *e is set. */
bool trail_beside(struct trail *t, uint64_t record, struct str mac, struct buf *out,
                  struct err *e);

/* The size of its files on the disk, without kept texts. */
uint64_t trail_bytes(struct trail *t);
/* How many records could not be appended since the start, of all trails. */
uint64_t audit_lost(const struct audit *a);
uint64_t audit_appended(const struct audit *a);

/* ---- names in a record ---------------------------------------------------- */

/* Names, each counted once, the first of them kept: up to TALLY_NAMES bytes, and a quarter of
 * a million told apart; behind that each is counted. One of zeros is empty. */
#define TALLY_NAMES ((size_t)64 << 10)
#define TALLY_NAME_MAX 1000u /* bytes of one; a longer one ends in an ellipsis */
struct tally {
    struct buf names;
    size_t kept;
    uint64_t count;
    struct map seen;
};
void tally_add(struct tally *t, struct str name);
/* The name kept behind this one; behind NULL the first. NULL: there is none. */
const char *tally_next(const struct tally *t, const char *name);
void tally_done(struct tally *t);

/* ---- reading ------------------------------------------------------------ */

/* A record as it stands in the file, without its line end. false ends the reading,
 * with *e set or not. */
typedef bool trail_line_fn(void *arg, struct str line, struct err *e);

/* Where a file has a line that is too long to be a record, what lies beyond it in that file is
 * not read. All else is, and then they fail with ERR_LIMIT and name the file. */

/* A call's record states when the call began, and is written when it has ended. */
enum trail_order {
    TRAIL_AS_WRITTEN, /* those of one process in their order */
    TRAIL_BY_TIME,
};
/* The last `count` records, oldest first; 0: all. */
bool trail_read(struct trail *t, uint64_t count, enum trail_order order,
                trail_line_fn *each, void *arg, struct err *e);
/* All records by their time, the newest first; reads no more of the files than it is asked
 * for, and takes no memory for them. */
bool trail_back(struct trail *t, trail_line_fn *each, void *arg, struct err *e);
/* All records, a chain after the other, each in its order; takes no memory for them. */
bool trail_each(struct trail *t, trail_line_fn *each, void *arg, struct err *e);
/* Goes on where the last call with this `place` ended; zeros before the first, which
 * begins at the end. */
struct trail_place {
    struct trail_spot {
        uint32_t file;
        uint64_t offset;
    } spots[2][64]; /* in the vault and aside; by the process that wrote */
    bool begun;
};
bool trail_follow(struct trail *t, struct trail_place *place, trail_line_fn *each,
                  void *arg, struct err *e);

/* Writes the records of all files that no process appends to, and whose records are all of before
 * `before` (a time as records state it; empty: of any time), to `fd`, chain by chain, each with
 * a line before and one behind it that say where it belongs. `remove`: and takes the files
 * out, once the copy is on the disk; the chain goes on from what is noted of them in the state
 * folder. {records, files, bytes, until: the last record's time, removed, busy: a process holds the newest}. */
bool trail_export(struct trail *t, int fd, struct str before, bool remove,
                  struct json_writer *out, struct err *e);
/* Checks what trail_export() wrote, of any trail of this user: [{"chain", "from", "to", "ok",
 * "why"?, "line"?}]. */
bool audit_verify_export(struct audit *a, int fd, struct json_writer *out, bool *sound,
                         struct err *e);

/* Checks every record: [{"folder", "lane"?, "records", "ok", "bad": {"record", "file", "line",
 * "why"}?, "missing": {"from", "to", "why"}?}], one for each place that has some.
 * `*sound`: nothing is wrong. */
bool trail_verify(struct trail *t, struct json_writer *out, bool *sound, struct err *e);
