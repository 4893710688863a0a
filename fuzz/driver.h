/* fuzz/driver.h - makes a program of a fuzz target, with any compiler.
 *
 * A target is one file fuzz/NAME.c, which includes this once and defines
 * LLVMFuzzerTestOneInput(), which ends the program when a property does not hold. The
 * program replays the files of fuzz/corpus/NAME and then mutations of them with the
 * words of fuzz/NAME.dict, the same ones each time:
 *
 *   NAME [-n COUNT] [-s SEED]    COUNT mutations (2000)
 *   NAME FILE...                 only these inputs, in this very process
 *
 * The input at which it died is left in NAME.crash beside the program. Of a file *.hex
 * the input is the bytes that its hexadecimal digits say, "#" begins a comment. Words
 * are written as libFuzzer has them. With -DLIBFUZZER there is no main(): libFuzzer
 * brings its own.
 */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- for the targets ---------------------------------------------------- */

/* A property, whatever the input. */
#define holds(x) ((x) ? (void)0 : holds_not(#x, __FILE__, __LINE__))

_Noreturn static void holds_not(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

/* What every failure promises (base.h): one line of text, and a code. */
static inline void holds_error(const struct err *e)
{
    holds(e->code != ERR_NONE && e->code != ERR_BUG);
    holds(e->msg[0] && str_is_utf8(str_of(e->msg)));
    for (const char *c = e->msg; *c; c++)
        holds((unsigned char)*c >= ' ' && *c != 0x7f);
}

/* Does the part lie inside the whole? */
static inline bool is_inside(struct str part, struct str whole)
{
    return part.n == 0 || (part.at >= whole.at && part.n <= whole.n &&
                           (size_t)(part.at - whole.at) <= whole.n - part.n);
}

/* Takes the first line off, for inputs of several parts. */
static inline struct str next_part(struct str *rest)
{
    const char *end = memchr(rest->at, '\n', rest->n);
    struct str line = {rest->at, end ? (size_t)(end - rest->at) : rest->n};
    size_t used = line.n + (end != NULL);
    rest->at += used;
    rest->n -= used;
    return line;
}

/* ---- the program -------------------------------------------------------- */

#ifndef LIBFUZZER

#define INPUT_MAX ((size_t)16 * 1024) /* bytes */
#define HANG_S 60u                    /* for one input */

/* What both processes see: the input that is tried. */
struct trial {
    size_t count, n;
    char at[INPUT_MAX];
};

struct texts {
    struct buf *all;
    size_t count;
};

struct driver {
    struct trial *trial;
    struct texts seeds, words;
    uint64_t random;
};

_Noreturn static void give_up(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s %s: %s\n", program_invocation_short_name, what, which,
            strerror(errno));
    exit(2);
}

static void try_input(struct str input)
{
    /* Of its exact size, so that the sanitizer sees a look past its end. */
    uint8_t *exact = malloc(input.n);
    must(exact != NULL);
    memcpy(exact, input.at, input.n);
    (void)alarm(HANG_S);
    (void)LLVMFuzzerTestOneInput(exact, input.n);
    free(exact);
}

/* ---- seeds and words ---- */

static struct buf *new_text(struct texts *t)
{
    t->all = realloc(t->all, (t->count + 1) * sizeof *t->all);
    must(t->all != NULL);
    buf_init(&t->all[t->count], INPUT_MAX);
    return &t->all[t->count++];
}

static void free_texts(struct texts *t)
{
    for (size_t i = 0; i < t->count; i++)
        buf_done(&t->all[i]);
    free(t->all);
}

static void load(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    char part[4096];
    size_t n = 0;
    while (f && (n = fread(part, 1, sizeof part, f)) > 0)
        buf_put(out, part, n);
    if (!f || ferror(f) || fclose(f) != 0)
        give_up("cannot read", path);
    errno = EFBIG;
    if (out->failed)
        give_up("cannot take", path);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static void decode_hex(struct buf *text)
{
    size_t n = 0;
    int high = -1;
    for (size_t i = 0; i < text->n; i++) {
        if (text->at[i] == '#')
            while (i + 1 < text->n && text->at[i] != '\n')
                i++;
        int digit = hex_digit(text->at[i]);
        if (digit >= 0 && high >= 0)
            text->at[n++] = (char)(high * 16 + digit);
        if (digit >= 0)
            high = high < 0 ? digit : -1;
    }
    text->n = n;
}

static void load_seed(const char *path, struct buf *out)
{
    load(path, out);
    if (str_ends(str_of(path), ".hex"))
        decode_hex(out);
}

static int is_seed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void load_seeds(struct texts *seeds)
{
    char folder[300], path[600];
    struct dirent **names;
    (void)snprintf(folder, sizeof folder, "fuzz/corpus/%s",
                   program_invocation_short_name);
    int n = scandir(folder, &names, is_seed, alphasort);
    if (n <= 0)
        give_up("there is no seed in", folder);
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        load_seed(path, new_text(seeds));
        free(names[i]);
    }
    free(names);
}

/* What stands between the quotes of "a\"\\\x0a". */
static void decode_word(struct str line, struct buf *out)
{
    for (size_t i = 1; i + 1 < line.n; i++) {
        bool hex = line.at[i] == '\\' && line.at[i + 1] == 'x' && i + 4 < line.n;
        if (hex) {
            buf_char(out,
                     (char)(hex_digit(line.at[i + 2]) * 16 + hex_digit(line.at[i + 3])));
            i += 3;
        } else {
            i += line.at[i] == '\\';
            buf_char(out, line.at[i]);
        }
    }
}

static void load_words(struct texts *words)
{
    char path[300];
    scoped_buf struct buf text;
    buf_init(&text, INPUT_MAX);
    (void)snprintf(path, sizeof path, "fuzz/%s.dict", program_invocation_short_name);
    load(path, &text);
    for (struct str rest = buf_view(&text); rest.n;) {
        struct str line = next_part(&rest);
        if (str_starts(line, "\"") && str_ends(line, "\""))
            decode_word(line, new_text(words));
    }
}

/* ---- mutations ---- */

/* xorshift64*: Vigna, An experimental exploration of Marsaglia's xorshift generators. */
static size_t below(struct driver *d, size_t n)
{
    d->random ^= d->random >> 12;
    d->random ^= d->random << 25;
    d->random ^= d->random >> 27;
    return n ? (size_t)((d->random * 0x2545f4914f6cdd1du) >> 16) % n : 0;
}

/* Somewhere in it a piece, mostly a short one. */
static struct str piece_of(struct driver *d, struct str s)
{
    size_t from = below(d, s.n), n = 1 + below(d, (size_t)1 << below(d, 10));
    return (struct str){s.at + from, n < s.n - from ? n : s.n - from};
}

/* Puts `s` in the place of `gone` bytes at `at`, as far as there is room. */
static void put_in(struct trial *t, size_t at, size_t gone, struct str s)
{
    char copy[INPUT_MAX];
    size_t room = INPUT_MAX - (t->n - gone);
    s.n = s.n < room ? s.n : room;
    memcpy(copy, s.at, s.n); /* it may be a piece of the same input */
    memmove(t->at + at + s.n, t->at + at + gone, t->n - at - gone);
    memcpy(t->at + at, copy, s.n);
    t->n += s.n - gone;
}

static struct str any_word(struct driver *d)
{
    return buf_view(&d->words.all[below(d, d->words.count)]);
}

static void mutate(struct driver *d)
{
    static const char signs[] = "\0\n\r\t \"\\/.:-[]{}0aA\x7f\x80\xff";
    struct trial *t = d->trial;
    struct str whole = {t->at, t->n}, piece = piece_of(d, whole);
    size_t at = below(d, t->n + 1), in = (size_t)(piece.at - t->at);
    struct str sign = {&signs[below(d, sizeof signs - 1)], 1};
    switch (below(d, 10)) {
    case 0:
        if (t->n)
            t->at[in] = (char)(t->at[in] ^ (1 << below(d, 8)));
        break;
    case 1:
        put_in(t, at, 0, sign);
        break;
    case 2:
        put_in(t, in, piece.n > 0, sign);
        break;
    case 3:
    case 4:
        put_in(t, at, 0, any_word(d));
        break;
    case 5:
        put_in(t, in, piece.n, any_word(d));
        break;
    case 6:
        put_in(t, in, piece.n, STR(""));
        break;
    case 7:
        put_in(t, at, 0, piece);
        break;
    case 8:
        for (size_t n = (size_t)1 << below(d, 11); n > 0; n--)
            put_in(t, in, 0, (struct str){t->at + in, piece.n});
        break;
    default:
        put_in(t, at, 0, piece_of(d, buf_view(&d->seeds.all[below(d, d->seeds.count)])));
    }
}

static void take_seed(struct driver *d, size_t i)
{
    struct str seed = buf_view(&d->seeds.all[i]);
    d->trial->n = seed.n;
    memcpy(d->trial->at, seed.at, seed.n);
}

static void try_trial(struct driver *d)
{
    try_input((struct str){d->trial->at, d->trial->n});
    d->trial->count++;
}

static void try_all(struct driver *d, size_t mutations, uint64_t seed)
{
    for (size_t i = 0; i < d->seeds.count; i++) {
        take_seed(d, i);
        try_trial(d);
    }
    for (size_t i = 0; i < mutations; i++) {
        /* Each from its own number, so that more of them begin with the same ones. */
        d->random = (seed << 40) + i + 1;
        for (int k = 0; k < 8; k++)
            (void)below(d, 1);
        take_seed(d, below(d, d->seeds.count));
        for (size_t k = 1 + below(d, 6); k > 0; k--)
            mutate(d);
        try_trial(d);
    }
}

/* ---- whole ---- */

static int tell_death(const struct trial *t, int status)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s.crash", program_invocation_name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(t->at, 1, t->n, f) != t->n || fclose(f) != 0)
        give_up("cannot write", path);
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s\n", strsignal(WTERMSIG(status)));
    fprintf(stderr, "%s: died at input %zu; again: %s %s\n",
            program_invocation_short_name, t->count + 1, program_invocation_name, path);
    return 1;
}

static int try_apart(size_t mutations, uint64_t seed)
{
    struct driver d = {.trial = mmap(NULL, sizeof *d.trial, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    if (d.trial == MAP_FAILED)
        give_up("cannot map", "memory");
    load_seeds(&d.seeds);
    load_words(&d.words);
    pid_t child = fork();
    if (child < 0)
        give_up("cannot make", "a process");
    if (child == 0)
        try_all(&d, mutations, seed);
    free_texts(&d.seeds);
    free_texts(&d.words);
    if (child == 0)
        exit(0); /* where leaks are looked for */
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            give_up("cannot wait for", "a process");
    if (status != 0)
        return tell_death(d.trial, status);
    printf("%s: %zu inputs\n", program_invocation_short_name, d.trial->count);
    return 0;
}

int main(int argc, char **argv)
{
    size_t mutations = 2000;
    uint64_t seed = 0;
    for (int c; (c = getopt(argc, argv, "n:s:")) != -1;) {
        if (c == 'n')
            mutations = strtoul(optarg, NULL, 10);
        else if (c == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    if (optind == argc)
        return try_apart(mutations, seed);
    for (int i = optind; i < argc; i++) {
        scoped_buf struct buf input;
        buf_init(&input, INPUT_MAX);
        load_seed(argv[i], &input);
        try_input(buf_view(&input));
    }
    printf("%s: %d inputs\n", program_invocation_short_name, argc - optind);
    return 0;
}

#endif
