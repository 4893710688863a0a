/* functions/reader.h - where one is in what is being read, and what is wrong there.
 *
 * Threads: one. Private to the room functions. */
#pragma once
#include "functions/functions.h"

#define READER_DEPTH 8u

struct reader {
    struct arena *arena;
    struct findings *found;
    const struct json *root; /* of the text; NULL: places are not told */
    struct str text;
    bool of_file;     /* hand-made, perhaps: less is asked for, others' fields are kept */
    int64_t usual_ms; /* when one was made that does not say it */
    struct reader_step {
        struct str key;
        size_t index; /* in an array, where the key is empty */
    } steps[READER_DEPTH];
    unsigned depth;
    const char *suggestion; /* for the next that is wrong, or NULL */
};

void reader_enter(struct reader *r, struct str key);
void reader_enter_at(struct reader *r, size_t index);
void reader_leave(struct reader *r);
/* Something is wrong at the place where one is, or with what should be there. */
void reader_wrong(struct reader *r, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Something is wrong at a byte of the text, which is no JSON. */
void reader_wrong_at(struct reader *r, size_t byte, const char *code,
                     const char *message);

/* Reads one definition; false only with *e. What is wrong is among the findings. */
bool reader_function(struct reader *r, const struct json *v, struct function *out,
                     struct err *e);
