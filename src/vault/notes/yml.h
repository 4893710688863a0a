/* notes/yml.h - YAML to JSON values and back. The sole owner of <yaml.h>.
 *
 * Reads one block mapping by the core schema of YAML 1.2: null, booleans, numbers,
 * strings. Timestamps, .inf and .nan stay strings; so do whole numbers beyond
 * 2^53, which JavaScript would change. Bounded: aliases are counted by what they
 * expand to, depth and nodes are capped.
 * Source: YAML 1.2.2, chapter 10.3. Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

#define YML_TEXT_MAX (256u * 1024)  /* bytes read */
#define YML_JSON_MAX (1024u * 1024) /* bytes it may expand to */
#define YML_DEPTH_MAX 32u
#define YML_NODES_MAX 20000u
#define YML_ANCHORS_MAX 1000u
#define YML_KEY_MAX 200u                 /* bytes of a key that is written */
#define YML_WHOLE_MAX 9007199254740992.0 /* 2^53 */

/* The place of a key of the outermost mapping. */
struct yml_key {
    struct str name;
    size_t line; /* its first, from 0 */
    size_t stop; /* the value reaches at least to the end of the line before */
};

struct yml {
    const struct json *all; /* an object, never NULL */
    struct yml_key *keys;   /* in their order */
    size_t key_count;
    size_t column; /* where the keys begin */
    bool by_lines; /* no two keys share a line: each may be changed alone */
};

/* NULL-safe only for `text`. Lives in the arena. false and ERR_INVALID: what is
 * wrong, and in which line (counted from 1). */
bool yml_read(struct str text, struct arena *a, struct yml *out, struct err *e);

/* Offsets at which lines begin, as the parser counts them: LF, CRLF, CR, NEL, LS
 * and PS end one. `*count` starts, and behind them the text's length. In the
 * arena; NULL and ERR_LIMIT. */
size_t *yml_lines(struct str text, struct arena *a, size_t *count, struct err *e);

/* Can this be written as the value of `key`, and be read back equal? false and
 * ERR_INVALID: `key` is named in the message. */
bool yml_can_write(struct str key, const struct json *value, struct err *e);
/* Appends "key: value" with its line end(s) `eol`, behind `column` spaces. */
void yml_put_pair(struct buf *out, size_t column, const char *eol, struct str key,
                  const struct json *value);
/* The same for a string. */
void yml_put_string(struct buf *out, size_t column, const char *eol, const char *key,
                    struct str value);
/* May the text stand as a value without quotes? */
bool yml_is_plain(struct str text);
