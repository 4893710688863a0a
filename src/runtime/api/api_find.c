/* Search in the API by words, and the call that a wrong name means.
 *
 * The table is small: every search reads every row. */
#include <ctype.h>
#include <stdio.h>

#include "api/api.h"
#include "calls/calls.h"
#include "capability/capability.h"

#define QUERY_WORDS_MAX API_WORDS_MAX
#define WORD_MAX API_WORD_MAX
/* Scores: the least that search shows, and a match without doubt. */
#define FITS API_FITS
#define FITS_WELL 8.0

/* ---- words --------------------------------------------------------------- */

/* Takes the next word off a text, in lower case: words end at other characters than
 * letters and digits and, as in "getForNote", before a capital. */
static bool next_word(struct str *rest, struct api_word *out)
{
    size_t i = 0;
    while (i < rest->n && !isalnum((unsigned char)rest->at[i]) && rest->at[i] > 0)
        i++;
    out->n = 0;
    bool small = false; /* a lower-case letter was seen */
    for (; i < rest->n; i++) {
        unsigned char c = (unsigned char)rest->at[i];
        if ((c < 0x80 && !isalnum(c)) || (small && isupper(c)))
            break;
        small = islower(c) || isdigit(c);
        if (out->n < WORD_MAX)
            out->at[out->n++] = (char)tolower(c);
    }
    *rest = (struct str){rest->at + i, rest->n - i};
    return out->n > 0;
}

/* Words that do not tell calls apart. */
static bool is_noise(const struct api_word *w)
{
    static const char noise[] =
        " a an and are as at by can do for from how i in into is it me my "
        "of on or that the their them then this to what which with you ";
    char padded[WORD_MAX + 3];
    (void)snprintf(padded, sizeof padded, " %.*s ", (int)w->n, w->at);
    return strstr(noise, padded) != NULL;
}

static struct str word_str(const struct api_word *w)
{
    return (struct str){w->at, w->n};
}

/* Similarity of two words: 1 equal, 0 none. Endings may differ ("rename", "renaming"),
 * and so may spellings. */
static double likeness(const struct api_word *a, const struct api_word *b)
{
    size_t least = a->n < b->n ? a->n : b->n, most = a->n < b->n ? b->n : a->n;
    size_t common = 0;
    while (common < least && a->at[common] == b->at[common])
        common++;
    if (common == most)
        return 1;
    if (common == least && least >= 3)
        return most - least <= 2 ? 0.9 : 0.6;
    if (common >= 4 && common + 3 >= most)
        return 0.5;
    bool one_slip =
        least >= 4 && most - least <= 1 && str_distance(word_str(a), word_str(b)) <= 1;
    return one_slip ? 0.4 : 0;
}

static double best_in(struct str text, const struct api_word *w)
{
    double best = 0;
    struct api_word other;
    while (best < 1 && next_word(&text, &other)) {
        double fits = likeness(&other, w);
        best = fits > best ? fits : best;
    }
    return best;
}

/* ---- search -------------------------------------------------------------- */

/* Names of parameters and of options. */
static double best_in_parameters(const struct host_call *c, const struct api_word *w)
{
    double best = 0;
    struct str name;
    struct api_options all = {.overloads = str_of(c->signature)};
    while (api_next_option(&all, &name)) {
        double fits = best_in(name, w);
        best = fits > best ? fits : best;
    }
    return best;
}

static double together(const double *parts, size_t count)
{
    double best = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        best = parts[i] > best ? parts[i] : best;
        sum += parts[i];
    }
    return best + sum / 10;
}

/* The score of a word in a row, by the text that has it. */
static double worth(const struct host_call *c, const struct api_word *w)
{
    struct str space = api_namespace(c);
    const char *method = c->row.name + space.n;
    const double parts[] = {
        10 * best_in(str_of(method), w), 7 * best_in(str_of(c->words), w),
        6 * best_in(space, w),           4 * best_in(str_of(c->summary), w),
        4 * best_in_parameters(c, w),    1.5 * best_in(str_of(c->details), w),
    };
    return together(parts, LENGTH(parts));
}

/* The weight of a word: one that matches most rows weighs little. */
static double weight_of(const struct api_word *w)
{
    size_t count, fitting = 0;
    const struct host_call *const *calls = host_calls_listed(&count);
    for (size_t i = 0; i < count; i++)
        fitting += worth(calls[i], w) >= 3;
    return 0.25 + (double)(count - fitting) / (double)count;
}

void api_words_read(struct str words, struct api_words *out)
{
    struct api_word w;
    out->count = 0;
    while (out->count < API_WORDS_MAX && next_word(&words, &w)) {
        if (is_noise(&w))
            continue;
        w.weight = weight_of(&w);
        out->all[out->count++] = w;
    }
}

/* Sorts, best first; equal ones in the table's order. */
static size_t take_best(struct api_found *all, size_t count, double least,
                        struct api_found *out, size_t max)
{
    size_t n = 0;
    for (; n < max; n++) {
        size_t best = 0;
        for (size_t i = 1; i < count; i++)
            if (all[i].score > all[best].score)
                best = i;
        if (!count || all[best].score < least)
            break;
        out[n] = all[best];
        all[best].score = -1;
    }
    return n;
}

/* The fraction of a name that these words cover. */
static double coverage(const struct api_words *words, struct str name)
{
    size_t all = 0, meant = 0;
    struct api_word w;
    while (next_word(&name, &w)) {
        double best = 0;
        if (is_noise(&w))
            continue;
        for (size_t i = 0; i < words->count; i++) {
            double fits = likeness(&w, &words->all[i]);
            best = fits > best ? fits : best;
        }
        all++;
        meant += best >= 0.6;
    }
    return all ? (double)meant / (double)all : 0;
}

/* Rows of at least this score; all rows where no word counts. */
static size_t find_above(const struct api_words *words, double least,
                         struct api_found *out, size_t max)
{
    size_t count;
    const struct host_call *const *calls = host_calls_listed(&count);
    struct api_found all[HOST_CALLS_MAX];
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct api_found){.call = calls[i]};
        for (size_t k = 0; k < words->count; k++)
            all[i].score += words->all[k].weight * worth(calls[i], &words->all[k]);
        /* "get a note" covers all of notes.get, and a part of links.getForNote. */
        if (coverage(words, str_of(calls[i]->row.name)) == 1)
            all[i].score *= 1.25;
    }
    /* Without search words everything is shown. */
    return take_best(all, count, words->count ? least : least - FITS, out, max);
}

size_t api_find_scored(const struct api_words *words, struct api_found *out, size_t max)
{
    return find_above(words, FITS, out, max < API_FOUND_MAX ? max : API_FOUND_MAX);
}

size_t api_find(struct str words, const struct host_call **out, size_t max)
{
    struct api_words read;
    struct api_found found[API_FOUND_MAX];
    api_words_read(words, &read);
    size_t n = api_find_scored(&read, found, max);
    for (size_t i = 0; i < n; i++)
        out[i] = found[i].call;
    return n;
}

#define NAME_WORTH 8.0 /* between a method's name and its namespace's */
#define NAME_ITSELF \
    2.0 /* times the score, where the words are a whole name and nothing else */

double api_score(const struct api_words *words, struct str name,
                 const struct api_text *texts, size_t count)
{
    double sum = 0, parts[API_TEXTS_MAX + 1];
    must(count <= API_TEXTS_MAX);
    double covered = coverage(words, name), of_name = NAME_WORTH * covered;
    bool itself = covered >= 1;
    for (size_t k = 0; k < words->count; k++) {
        const struct api_word *w = &words->all[k];
        double in_name = best_in(name, w);
        itself = itself && in_name >= 1;
        parts[count] = of_name * in_name;
        for (size_t i = 0; i < count; i++)
            parts[i] = texts[i].weight * best_in(texts[i].text, w);
        sum += w->weight * together(parts, count + 1);
    }
    return itself ? NAME_ITSELF * sum : sum;
}

double api_worth(struct str words, const struct api_text *texts, size_t count)
{
    double sum = 0, parts[API_TEXTS_MAX];
    size_t used = 0;
    struct api_word w;
    must(count <= API_TEXTS_MAX);
    while (used < QUERY_WORDS_MAX && next_word(&words, &w)) {
        if (is_noise(&w))
            continue;
        used++;
        for (size_t i = 0; i < count; i++)
            parts[i] = texts[i].weight * best_in(texts[i].text, &w);
        sum += together(parts, count);
    }
    return used ? sum : FITS;
}

/* ---- the nearest name ---------------------------------------------------- */

/* The number of typos that a word of this length may have. */
static size_t slips(size_t n)
{
    return n < 4 ? 1 : n < 8 ? 2 : 3;
}

const char *api_nearest_of(struct str name, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t least = slips(name.n) + 1;
    for (size_t i = 0; i < count; i++) {
        size_t d = str_distance(name, str_of(names[i]));
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

/* Whether `word` is a synonym of the row, ignoring case. */
static bool is_synonym(const struct host_call *c, struct str word)
{
    const char *at = c->words;
    while (at && *at) {
        size_t n = strcspn(at, " ");
        if (n == word.n && strncasecmp(at, word.at, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

/* Distance of a row from an unknown dotted name: one typo, a synonym, more typos; then a
 * synonym, or the method itself, in another namespace. */
static size_t row_distance(const struct host_call *c, struct str space, struct str method)
{
    struct str own_space = api_namespace(c);
    struct str own =
        str_of(c->row.name + own_space.n + (c->row.name[own_space.n] == '.'));
    size_t of_space = str_distance(space, own_space);
    size_t of_method = str_distance(method, own);
    bool near_space = of_space <= slips(space.n);
    size_t least = SIZE_MAX;
    if (near_space && of_method <= slips(method.n))
        least = 2 * (of_space + of_method);
    else if (of_method <= (own.n > 4) && own.n > 3)
        least = 21 + of_method;
    size_t synonym = near_space ? 3 + 2 * of_space : 23;
    return is_synonym(c, method) && synonym < least ? synonym : least;
}

static const struct host_call *nearest_row(struct str space, struct str method)
{
    size_t count, least = SIZE_MAX;
    const struct host_call *const *calls = host_calls_listed(&count), *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = row_distance(calls[i], space, method);
        if (d < least) {
            least = d;
            best = calls[i];
        }
    }
    return best;
}

/* "note" means the namespace notes. */
static struct str nearest_space(struct str name)
{
    size_t count, least = slips(name.n) + 1;
    const struct host_call *const *calls = host_calls_listed(&count);
    struct str best = {0};
    for (size_t i = 0; i < count; i++) {
        struct str space = api_namespace(calls[i]);
        size_t d = str_distance(name, space);
        if (d < least) {
            least = d;
            best = space;
        }
    }
    return best;
}

static bool has_each_word(const struct host_call *c, const struct api_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        if (worth(c, &words->all[i]) < FITS)
            return false;
    return true;
}

/* each: "undefined_name" is a variable, and not notes.rename: no row has "undefined". */
static const struct host_call *fitting_row(struct str words, bool each)
{
    struct api_words read;
    struct api_found found;
    api_words_read(words, &read);
    if (!find_above(&read, FITS_WELL, &found, 1))
        return NULL;
    return !each || has_each_word(found.call, &read) ? found.call : NULL;
}

const char *api_nearest(struct str name, char out[static 64])
{
    const char *dot = memchr(name.at, '.', name.n);
    size_t n = dot ? (size_t)(dot - name.at) : name.n;
    struct str space = {name.at, n};
    struct str method = {name.at + n + 1, dot ? name.n - n - 1 : 0};
    const struct host_call *row = dot ? nearest_row(space, method) : NULL;
    if (!row && !dot && nearest_space(name).n) {
        (void)snprintf(out, 64, "%.*s", STR_ARGS(nearest_space(name)));
        return out;
    }
    /* "getNote" alone, or joined words: "notes.findBrokenLinks". */
    if (!row && !dot)
        row = nearest_row((struct str){"", 0}, name);
    if (!row)
        row = fitting_row(dot ? method : name, !dot);
    if (!row)
        return NULL;
    (void)snprintf(out, 64, "%s", row->row.name);
    return out;
}
