/* Discovery of the table of host calls, for running code (api.*) and for agents before
 * they write any (search_api, describe_api). */
#include "api/api.h"
#include "calls/calls.h"
#include "discovery/discovery.api.h"
#include "discovery/discovery.h"
#include "discovery/meant.h"
#include "evaluating/evaluating.h"
#include "evaluation/evaluation.h"
#include "performing/performing.h"
#include "place/place.h"
#include "json/json.h"

#define ROWS_MAX ((size_t)8 << 20) /* bytes of rows of custom functions */
_Static_assert(API_FOUND_MAX == API_SEARCH_LIMIT_MOST, "what is asked for is found");

/* Merges both, best first: a custom function precedes API calls only with a higher score.
 * It gets up to half of the rows, so that neither hides the other. */
static void put_merged(const struct evaluation *v, const struct api_found *calls,
                       size_t call_count, const struct custom_found *own,
                       size_t own_count, struct json_writer *out)
{
    size_t i = 0, k = 0;
    while (i < call_count || k < own_count)
        if (k == own_count || (i < call_count && calls[i].score >= own[k].score))
            api_put_row(v, calls[i++].call, out);
        else
            json_put_raw(out, own[k++].row);
}

static void put_found(struct actions *a, const struct place *place,
                      const struct evaluation *v, struct str words, size_t limit,
                      struct json_writer *out)
{
    struct api_words read;
    struct api_found calls[API_FOUND_MAX];
    struct custom_found own[API_FOUND_MAX];
    const struct custom_code *custom = capability_custom();
    scoped(arena_free) struct arena *rows = arena_new(ROWS_MAX);
    api_words_read(words, &read);
    /* Without words the answer is the whole table of host calls. */
    size_t own_count = custom && read.count
                           ? custom->find(a, place, &read, own, (limit + 1) / 2, rows)
                           : 0;
    size_t count = api_find_scored(&read, calls, limit - own_count);
    json_open_array(out);
    put_merged(v, calls, count, own, own_count, out);
    json_close(out);
}

/* api.search("words"), api.search({query, limit?}) */
static bool call_search(struct calling *x, struct json_writer *out, struct err *e)
{
    const struct json *o = json_at(x->args, 0);
    bool plain = json_is(o, JSON_STRING);
    const struct json *query = plain ? o : json_get(o, "query");
    int64_t limit = json_int(plain ? NULL : json_get(o, "limit"), API_SEARCH_LIMIT_USUAL);
    if (!json_is(query, JSON_STRING))
        return err_set(e, ERR_INVALID,
                       "api.search needs search words, such as 'rename note', not %s",
                       json_type_name(json_type(query)));
    if (limit < 1 || limit > (int64_t)API_FOUND_MAX)
        return err_set(e, ERR_INVALID, "limit is %lld; 1 to %u is accepted",
                       (long long)limit, API_FOUND_MAX);
    put_found(x->v->actions, x->v->here, x->v, json_str(query), (size_t)limit, out);
    return true;
}

static bool describe(struct actions *a, const struct place *place,
                     const struct evaluation *v, struct str name, struct json_writer *out,
                     struct err *e)
{
    size_t count;
    const struct host_call_group *const *groups = host_call_groups(&count);
    for (size_t i = 0; i < count; i++)
        if (groups[i]->describes && groups[i]->describes(name))
            return groups[i]->describe(a, place, name, out, e);
    return api_describe(v, name, out, e);
}

static bool call_describe(struct calling *x, struct json_writer *out, struct err *e)
{
    const struct json *name = json_at(x->args, 0);
    if (json_is(name, JSON_OBJECT))
        name = json_get(name, "name");
    if (name && !json_is(name, JSON_STRING))
        return err_set(e, ERR_INVALID,
                       "api.describe needs a name, such as 'notes.get', not %s",
                       json_type_name(json_type(name)));
    return describe(x->v->actions, x->v->here, x->v, json_str(name), out, e);
}

/* ---- the same as actions ------------------------------------------------- */

static bool action_search_api(const struct action_call *c, struct answer *out,
                              struct err *e)
{
    const struct json *limit = json_get(c->arguments, "limit");
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "results");
    put_found(c->actions, c->place, NULL, json_str(json_get(c->arguments, "query")),
              (size_t)json_int(limit, API_SEARCH_LIMIT_USUAL), &w);
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}

static bool action_describe_api(const struct action_call *c, struct answer *out,
                                struct err *e)
{
    struct json_writer w = json_writer(&out->json);
    struct str name = json_str(json_get(c->arguments, "name"));
    return describe(c->actions, c->place, NULL, name, &w, e) &&
           buf_check(&out->json, "the answer", e);
}

/* ---- the rows ------------------------------------------------------------ */

/* Shared types that signatures name. */
static const struct api_type types[] = {
    API_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "api.search", .sync = true), .signature = API_SEARCH_SIGNATURE,
     .summary = "finds methods by what they do, best match first", .call = call_search,
     .level = LEVEL_ZERO, STEADY_QUESTION,
     .details =
         "Searches names, synonyms, parameters and summaries. limit is 8 by default, 50 at most.",
     .example = "api.search('who links to a note')",
     .words = "help find discover method function list available"},
    {CALL(.name = "api.describe", .sync = true), .signature = API_DESCRIBE_SIGNATURE,
     .summary = "describes a method, a namespace or a type, by name",
     .call = call_describe, .level = LEVEL_ZERO, STEADY_QUESTION,
     .details = "Without a name it lists all namespaces and types.",
     .errors = "NotFound: no such name; the message suggests similar names.",
     .example = "api.describe('notes.update')",
     .words = "help docs documentation signature usage man reference types schema"},
};
const struct host_call_group api_calls = {TABLE(rows), TYPES(types), .order = 110,
                                          .scopeless = true, .always = true};

static const struct action_row action_rows[] = {
    {SHOWN(.name = "search_api", .title = "Find methods",
           .description = "Find methods of evaluate_note_code by what they do.",
           SEARCH_API_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_search_api, .seldom = true, /* code has api.search */
     .needs = "api.search"},
    {SHOWN(.name = "describe_api", .title = "Describe a method",
           .description =
               "A method, namespace or type of evaluate_note_code: signature, options, "
               "errors, an example.",
           DESCRIBE_API_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_describe_api, .seldom = true, /* code has api.describe */
     .needs = "api.describe"},
};
static const struct action_group discovery = {action_rows, LENGTH(action_rows),
                                              .order = 40};

const struct capability discovery_capability = {
    .calls = CALLS(&api_calls), .actions = ACTIONS(&discovery), .meant = suggest_meant};
