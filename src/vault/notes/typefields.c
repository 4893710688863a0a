/* The properties that the notes of each type have, and their kinds. */
#include "notes/types.h"

#include "notes/find.h"

#define FIELDS_MAX 200 /* of one type */
#define TIME_MAX_NS 3000000000u

/* Kinds of values of one property: bits of a mask. A section is a text, whatever it
 * stands for. */
enum look {
    LOOK_TEXT = 1,
    LOOK_DATE = 2,
    LOOK_TIME = 4,
    LOOK_NUMERAL = 8, /* a text */
    LOOK_NUMBER = 16,
    LOOK_WORD = 32, /* true or false, as a text */
    LOOK_BOOLEAN = 64,
    LOOK_ARRAY = 128,
    LOOK_OBJECT = 256,
};

static const char *field_type(int64_t looks)
{
    static const struct {
        int64_t looks;
        const char *type;
    } kinds[] = {
        {LOOK_DATE, "date"},
        {LOOK_DATE | LOOK_TIME, "datetime"},
        {LOOK_NUMERAL | LOOK_NUMBER, "number"},
        {LOOK_WORD | LOOK_BOOLEAN, "boolean"},
        {LOOK_TEXT | LOOK_DATE | LOOK_TIME | LOOK_NUMERAL | LOOK_WORD, "string"},
        {LOOK_ARRAY, "array"},
        {LOOK_OBJECT, "object"},
    };
    for (size_t i = 0; i < LENGTH(kinds); i++)
        if (!(looks & ~kinds[i].looks))
            return kinds[i].type;
    return "any";
}

#define DAY "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"

static const char sql[] =
    "WITH looks AS (SELECT n.type AS type, j.key AS name, CASE j.type"
    " WHEN 'integer' THEN 16 WHEN 'real' THEN 16 WHEN 'true' THEN 64 WHEN 'false' THEN 64"
    " WHEN 'array' THEN 128 WHEN 'object' THEN 256"
    " ELSE CASE WHEN j.value GLOB '" DAY "' THEN 2 WHEN j.value GLOB '" DAY
    "[T ]*' AND julianday(j.value) IS NOT NULL THEN 4"
    " WHEN lower(j.value) IN ('true', 'false') THEN 32"
    " WHEN length(j.value) < 40 AND json_valid(j.value)"
    " AND json_type(j.value) IN ('integer', 'real') THEN 8 ELSE 1 END END AS look,"
    " count(*) AS notes FROM notes n, json_each(n.properties) j"
    " WHERE j.type <> 'null' AND j.value <> '' GROUP BY 1, 2, 3),"
    " fields AS (SELECT type, name, sum(look) AS looks, sum(notes) AS notes FROM looks"
    " GROUP BY 1, 2)"
    " SELECT type, name, looks, notes, row_number() OVER (PARTITION BY type"
    " ORDER BY notes DESC, name), count(*) OVER (PARTITION BY type) FROM fields"
    " ORDER BY 1, 5";

enum column { TYPE, NAME, LOOKS, NOTES, RANK, TOTAL };

static void end_type(struct json_writer *w, int64_t total)
{
    json_close(w);
    json_pair_int(w, "omitted", total > FIELDS_MAX ? total - FIELDS_MAX : 0);
    json_close(w);
}

static bool fields_work(struct db *db, void *arg, struct err *e)
{
    struct buf *out = arg;
    buf_clear(out);
    struct json_writer w = json_writer(out);
    scoped(query_end) struct query *q = db_query(db, sql, e);
    if (!q)
        return false;
    int64_t total = 0;
    bool any = false;
    json_open_object(&w);
    while (query_next(q, e)) {
        int64_t rank = query_int(q, RANK);
        if (rank == 1) {
            if (any)
                end_type(&w, total);
            json_key_str(&w, query_str(q, TYPE));
            json_open_object(&w);
            json_key(&w, "fields");
            json_open_array(&w);
        }
        any = true;
        total = query_int(q, TOTAL);
        if (rank > FIELDS_MAX)
            continue;
        json_open_object(&w);
        json_pair_str(&w, "name", query_str(q, NAME));
        json_pair_cstr(&w, "type", field_type(query_int(q, LOOKS)));
        json_pair_int(&w, "notes", query_int(q, NOTES));
        json_close(&w);
    }
    if (any)
        end_type(&w, total);
    json_close(&w);
    return e->code == ERR_NONE;
}

static bool within_time(struct db *db, void *arg, struct err *e)
{
    struct err why = {0};
    db_set_deadline(db, os_mono_ns() + TIME_MAX_NS);
    bool ok = fields_work(db, arg, &why);
    db_set_deadline(db, 0);
    if (!ok && why.code == ERR_TIMEOUT)
        return err_set(e, ERR_LIMIT, "the vault has too many properties to list in %u s",
                       (unsigned)(TIME_MAX_NS / 1000000000u));
    return ok || err_pass(e, &why);
}

const struct json *types_fields(struct vault *v, struct arena *a, struct err *e)
{
    scoped_buf struct buf text = buf_of(FIND_ANSWER_MAX);
    return index_use(v, within_time, &text, e) &&
                   buf_check(&text, "the fields of types", e)
               ? json_read(buf_view(&text), a, e)
               : NULL;
}
