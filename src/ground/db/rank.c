/* BM25 as FTS5 has it, within bounds, and with the weight of a word that Lucene gives it: one
 * that most notes have weighs little, and not nothing.
 *
 * FTS5's own gathers every place where every phrase of a query is found in a row, 12 bytes
 * each: a note of 16 MB that says one word, and a query that says it 32 times, are 3 GB
 * and a minute in which nothing can stop it. This one counts, and stops counting where more
 * changes nothing: beyond the first thousands a score is the same to many digits. */
#include <math.h>

#include "db/inner.h"

#define HITS_MAX 20000 /* of one phrase in one row */
#define K1 1.2
#define B 0.75

/* State of a query; kept by FTS5 as long as it runs. */
struct ranking {
    double average; /* tokens of a row */
    int phrases;
    double idf[];
};

static int count_row(const Fts5ExtensionApi *api, Fts5Context *fts, void *arg)
{
    (void)api, (void)fts;
    ++*(sqlite3_int64 *)arg;
    return SQLITE_OK;
}

static int weigh(const Fts5ExtensionApi *api, Fts5Context *fts, struct ranking *r)
{
    sqlite3_int64 rows = 0, tokens = 0;
    int rc = api->xRowCount(fts, &rows);
    if (rc == SQLITE_OK)
        rc = api->xColumnTotalSize(fts, -1, &tokens);
    r->average = rows > 0 ? (double)tokens / (double)rows : 1;
    for (int i = 0; rc == SQLITE_OK && i < r->phrases; i++) {
        sqlite3_int64 hits = 0;
        rc = api->xQueryPhrase(fts, i, &hits, count_row);
        r->idf[i] = log1p(((double)(rows - hits) + 0.5) / ((double)hits + 0.5));
    }
    return rc;
}

static int ranking_of(const Fts5ExtensionApi *api, Fts5Context *fts, struct ranking **out)
{
    *out = api->xGetAuxdata(fts, 0);
    if (*out)
        return SQLITE_OK;
    int phrases = api->xPhraseCount(fts);
    struct ranking *r =
        sqlite3_malloc64(sizeof *r + (sqlite3_uint64)phrases * sizeof *r->idf);
    if (!r)
        return SQLITE_NOMEM;
    r->phrases = phrases;
    int rc = weigh(api, fts, r);
    if (rc == SQLITE_OK)
        rc = api->xSetAuxdata(fts, r, sqlite3_free); /* which frees it if it fails */
    else
        sqlite3_free(r);
    *out = rc == SQLITE_OK ? r : NULL;
    return rc;
}

/* How often the phrase is there, each time with its column's weight. */
static int frequency(const Fts5ExtensionApi *api, Fts5Context *fts, int phrase,
                     int weights, sqlite3_value **values, double *out)
{
    Fts5PhraseIter it;
    int column = -1, offset = 0, left = HITS_MAX;
    int rc = api->xPhraseFirst(fts, phrase, &it, &column, &offset);
    for (*out = 0; rc == SQLITE_OK && column >= 0 && left; left--) {
        *out += column < weights ? sqlite3_value_double(values[column]) : 1.0;
        api->xPhraseNext(fts, &it, &column, &offset);
    }
    return rc;
}

static void bm25_rank(const Fts5ExtensionApi *api, Fts5Context *fts,
                      sqlite3_context *context, int weights, sqlite3_value **values)
{
    struct ranking *r = NULL;
    int size = 0;
    double score = 0;
    int rc = ranking_of(api, fts, &r);
    if (rc == SQLITE_OK)
        rc = api->xColumnSize(fts, -1, &size);
    for (int i = 0; rc == SQLITE_OK && i < r->phrases; i++) {
        double n;
        rc = frequency(api, fts, i, weights, values, &n);
        score += r->idf[i] * (n * (K1 + 1)) /
                 (n + K1 * (1 - B + B * (double)size / r->average));
    }
    if (rc == SQLITE_OK)
        sqlite3_result_double(context, -score);
    else
        sqlite3_result_error_code(context, rc);
}

bool db_add_rank(struct db *d, struct err *e)
{
    fts5_api *api = NULL;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(d->raw, "SELECT fts5(?1)", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_pointer(stmt, 1, (void *)&api, "fts5_api_ptr", NULL);
    if (rc == SQLITE_OK)
        (void)sqlite3_step(stmt);
    (void)sqlite3_finalize(stmt);
    if (!api)
        return err_set(e, ERR_IO, "SQLite has no full-text search (FTS5)");
    rc = api->xCreateFunction(api, "capped_bm25", NULL, bm25_rank, NULL);
    return rc == SQLITE_OK || db_failed(d, rc, "use", e);
}
