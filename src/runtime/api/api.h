/* api/api.h - the API documentation made from the table of host calls: search,
 * descriptions, TypeScript declarations, reference pages, and the nearest name to an
 * unknown one. Strings borrow from the table's rows and the shared types. Threads:
 * safe. */
#pragma once
#include "base/base.h"

struct evaluation;
struct host_call;
struct json_writer;

/* The API as TypeScript declarations, as the reference page (Markdown), or as a text for
 * people that answers a name or search words (empty: a list of everything).
 * ERR_NOT_FOUND: nothing matches the words. */
enum api_document { API_DOCUMENT_TYPES, API_DOCUMENT_REFERENCE, API_DOCUMENT_WORDS };
bool api_write_document(enum api_document what, struct str words, struct buf *out,
                        struct err *e);

/* One overload "(a: A, b?: B): R", whose parts borrow from it. */
struct api_signature {
    struct str parameters, returns; /* "a: A, b?: B" and "R" */
};
struct api_signature api_signature_read(struct str overload);
/* Takes the first line off `*rest`; false: it is empty. A signature has one overload a
 * line, the usual one first. */
bool api_next_line(struct str *rest, struct str *line);

/* One parameter, or one member of an object type. */
struct api_field {
    struct str name, type;
    bool optional;
};

/* Takes the next field off a list, which commas, semicolons or lines separate. */
bool api_next_field(struct str *list, struct api_field *out);
/* The text between the braces of an object type, itself or by name; else empty. */
struct str api_members(struct str type);
/* Walks the names of a call's options, over all overloads: begins as {.overloads = its
 * signature}; false: there is no further one. */
struct api_options {
    struct str overloads, parameters, members;
};
bool api_next_option(struct api_options *o, struct str *name);
#define API_FOUND_MAX 50u
/* The rows that match the words best (names, synonyms, parameters, summaries), best
 * first; returns their number, at most `max` (API_FOUND_MAX). */
size_t api_find(struct str words, const struct host_call **out, size_t max);
/* The score of some texts for some words: API_FITS and above is worth showing; without
 * words everything is. A word counts by the weight of the text that contains it. */
#define API_FITS 2.0
#define API_TEXTS_MAX 8u
struct api_text {
    struct str text;
    double weight; /* 10 for a name, less for descriptions */
};
double api_worth(struct str words, const struct api_text *texts, size_t count);
/* Scores of several kinds of things that can be compared: the words are read once, each
 * with its weight (a word that matches most calls weighs little). */
#define API_WORD_MAX 24u /* letters; of a longer word its beginning */
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
/* `name` is the thing's name. It counts by the part of it that the words cover: "get
 * note" covers all of getNote, and half of getNoteOfToday. "daily note" is dailyNote itself, which doubles its score. 0 without words. */
double api_score(const struct api_words *words, struct str name,
                 const struct api_text *texts, size_t count);
/* The row of that name, or NULL. */
const struct host_call *api_call_named(struct str name);
/* The call or namespace that is most likely meant by an unknown name: "notes.serach",
 * "notes.getAll", "note"; NULL where none is near. */
const char *api_nearest(struct str name, char out[static 64]);
/* The one of `count` names that a misspelt one means, or NULL. */
const char *api_nearest_of(struct str name, const char *const *names, size_t count);
/* Writes {name, signature, summary}. With `v`, which may be NULL, also "allowed": false
 * for what this evaluation may not call. */
void api_put_row(const struct evaluation *v, const struct host_call *c,
                 struct json_writer *out);
/* Describes a call, a namespace or a shared type; all namespaces where `name` is empty.
 * ERR_NOT_FOUND names the nearest. */
bool api_describe(const struct evaluation *v, struct str name, struct json_writer *out,
                  struct err *e);
/* TypeScript declarations: of one feature, or of what is always there (0); and all. */
void api_write_part(uint32_t feature, struct buf *out);
void api_write_types(struct buf *out);
