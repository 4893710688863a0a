/* api/api.h - the table of host calls, told to those who have never seen it: what agents
 * search and read, TypeScript declarations, reference pages, the nearest name to one that
 * is not there. All is made from the rows of the table and from the shared types below;
 * strings borrow from both. Threads: safe. */
#pragma once
#include "base/base.h"

struct evaluation;
struct host_call;
struct json_writer;

/* The API that code finds, from the table of host calls: as TypeScript declarations, as
 * the reference page (Markdown), or what a name or some words mean (empty: a list of
 * everything), for people. ERR_NOT_FOUND: the words mean nothing. */
enum actions_api { ACTIONS_API_TYPES, ACTIONS_API_REFERENCE, ACTIONS_API_WORDS };
bool actions_api(enum actions_api what, struct str words, struct buf *out, struct err *e);

/* One overload "(a: A, b?: B): R". The parts borrow from it. */
struct api_signature {
    struct str parameters, returns; /* "a: A, b?: B" and "R" */
};
struct api_signature api_signature_read(struct str overload);
/* The first line of `*rest`, which then begins behind it; false: there is none. A
 * signature with several lines has several overloads, the usual one first. */
bool api_next_line(struct str *rest, struct str *line);

/* One parameter, or one member of an object type. */
struct api_field {
    struct str name, type;
    bool optional;
};

/* Takes the next field off a list, separated by commas, semicolons or lines. */
bool api_next_field(struct str *list, struct api_field *out);
/* What stands between the braces of an object type, given itself or by name; empty
 * where it is none. */
struct str api_members(struct str type);
#define API_FOUND_MAX 50u
/* The rows that fit best to some words (names, synonyms, parameters, summaries),
 * best first; answers how many, `max` (API_FOUND_MAX at most). */
size_t api_find(struct str words, const struct host_call **out, size_t max);
/* How well a thing's texts fit some words: API_FITS and above is worth showing; where
 * the words say nothing, all is. A word counts by the text that it stands in. */
#define API_FITS 2.0
#define API_TEXTS_MAX 8u
struct api_text {
    struct str text;
    double weight; /* 10 for a name, less for what only tells */
};
double api_worth(struct str words, const struct api_text *texts, size_t count);
/* The same for several kinds of things, whose scores can be held against each other: the
 * words, each with what it tells (one that fits most calls tells little), are read once. */
#define API_WORD_MAX 24u /* letters; longer words are compared by their beginning */
#define API_WORDS_MAX 16u
struct api_words {
    struct api_word {
        char at[API_WORD_MAX];
        size_t n;
        double weight;
    } all[API_WORDS_MAX];
    size_t count;
};
struct api_found {
    const struct host_call *call;
    double score;
};
void api_words_read(struct str words, struct api_words *out);
size_t api_find_scored(const struct api_words *words, struct api_found *out, size_t max);
/* `name`: of what it is about. It counts as far as the words are those of it: "get note" is
 * all of getNote, and half of getNoteOfToday. 0 without words. */
double api_score(const struct api_words *words, struct str name,
                 const struct api_text *texts, size_t count);
/* The row of that name; NULL. */
const struct host_call *api_call_named(struct str name);
/* The name of a call or namespace that is most likely meant by one that is not
 * there: "notes.serach", "notes.getAll", "note"; NULL where nothing is near. */
const char *api_nearest(struct str name, char out[static 64]);
/* Which of `count` names is meant by a misspelt one; NULL. */
const char *api_nearest_of(struct str name, const char *const *names, size_t count);
/* {name, signature, summary}. `v`, where it is not NULL, adds "allowed": false to what this
 * evaluation may not call. */
void api_put_row(const struct evaluation *v, const struct host_call *c,
                 struct json_writer *out);
/* What there is to know of a call, a namespace or a shared type; of all namespaces
 * where `name` is empty. ERR_NOT_FOUND names the nearest. */
bool api_describe(const struct evaluation *v, struct str name, struct json_writer *out,
                  struct err *e);
/* TypeScript declarations of everything that code finds, and of its parts: what comes with
 * one feature; 0: what is always there. */
void api_write_part(uint32_t feature, struct buf *out);
void api_write_types(struct buf *out);
