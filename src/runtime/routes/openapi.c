/* The OpenAPI document, made of the table of routes and the schemas: what is in one of
 * them is in it, and nothing else is. Source: OpenAPI 3.1.1. */
#include "routes/internal.h"

#include <stdio.h>

#ifndef CLOCHE_VERSION /* the build says it */
#define CLOCHE_VERSION "0.0.0"
#endif

static void put_ref(struct json_writer *w, const char *kind, struct str name)
{
    char ref[100];
    (void)snprintf(ref, sizeof ref, "#/components/%s/%.*s", kind, STR_ARGS(name));
    json_open_object(w);
    json_pair_cstr(w, "$ref", ref);
    json_close(w);
}

/* "Note", or "NoteRow[]". */
static void put_schema_ref(struct json_writer *w, const char *name)
{
    struct str s = str_of(name);
    bool list = str_ends(s, "[]");
    if (list) {
        json_open_object(w);
        json_pair_cstr(w, "type", "array");
        json_key(w, "items");
        s.n -= 2;
    }
    put_ref(w, "schemas", s);
    if (list)
        json_close(w);
}

static void openapi_put_bytes(struct json_writer *w)
{
    json_pair_raw(w, "content",
                  STR("{\"application/octet-stream\":{\"schema\":{\"type\":\"string\","
                      "\"format\":\"binary\"}}}"));
}

/* `also`: another type that it may have, plain text (NULL: none). */
static void openapi_put_content(struct json_writer *w, const char *schema,
                                const char *also, bool patch)
{
    const char *types[] = {"application/json",
                           patch ? "application/merge-patch+json" : NULL};
    json_key(w, "content");
    json_open_object(w);
    for (size_t i = 0; i < LENGTH(types); i++) {
        if (!types[i])
            continue;
        json_key(w, types[i]);
        json_open_object(w);
        json_key(w, "schema");
        put_schema_ref(w, schema);
        json_close(w);
    }
    if (also)
        json_pair_raw(w, also, STR("{\"schema\":{\"type\":\"string\"}}"));
    json_close(w);
}

/* ---- parameters ------------------------------------------------------------- */

static void openapi_put_parameter(struct json_writer *w, const char *in, struct str name,
                                  const char *description, struct str schema,
                                  bool required)
{
    json_open_object(w);
    json_pair_str(w, "name", name);
    json_pair_cstr(w, "in", in);
    json_pair_cstr(w, "description", description);
    if (required)
        json_pair_bool(w, "required", true);
    json_pair_raw(w, "schema", schema);
    json_close(w);
}

static const struct route_parameter any_path[] = {
    {"workspace_id", "a workspace's id, as /workspaces lists it",
     "{\"type\":\"string\"}"},
    {NULL, "its name", "{\"type\":\"string\"}"}};

/* That of the group, or one of every path. */
static const struct route_parameter *variable_of(const struct route_group *g,
                                                 struct str name)
{
    const struct route_parameter *p = g->variables;
    while (p && p->name && !str_is(name, p->name))
        p++;
    return p && p->name ? p : &any_path[!str_is(name, any_path[0].name)];
}

/* Parameters in the path: the names in its braces. */
static void put_path_parameters(struct json_writer *w, const struct route_group *g,
                                const char *pattern)
{
    for (const char *at = strchr(pattern, '{'); at; at = strchr(at + 1, '{')) {
        struct str name = {at + 1, strcspn(at + 1, "}")};
        const struct route_parameter *p = variable_of(g, name);
        openapi_put_parameter(w, "path", name, p->description, str_of(p->schema), true);
    }
}

static void openapi_put_parameters(struct json_writer *w, const struct route_group *g,
                                   const struct route *r)
{
    static const char text[] = "{\"type\":\"string\"}";
    json_key(w, "parameters");
    json_open_array(w);
    put_path_parameters(w, g, r->pattern);
    for (const struct route_parameter *p = r->parameters; p && p->name; p++)
        openapi_put_parameter(w, "query", str_of(p->name), p->description,
                              str_of(p->schema), false);
    if (r->flags & ROUTE_IF_MATCH)
        openapi_put_parameter(
            w, "header", STR("If-Match"),
            r->flags & ROUTE_NEEDS_MATCH
                ? "the ETag of the version that was read; * takes any. Needed, "
                  "unless the body has content_hash"
                : "the ETag of the version that is meant",
            str_of(text), false);
    if (r->flags & ROUTE_BYTES_OUT)
        openapi_put_parameter(w, "header", STR("Range"),
                              "bytes=FIRST-LAST, FIRST- or -COUNT: one part of the file",
                              str_of(text), false);
    if (!strcmp(r->method, "GET"))
        openapi_put_parameter(w, "header", STR("If-None-Match"),
                              "an ETag: 304, where it is still that", str_of(text),
                              false);
    json_close(w);
}

/* ---- responses --------------------------------------------------------------- */

static void put_header(struct json_writer *w, const char *name, const char *description)
{
    json_key(w, name);
    json_open_object(w);
    json_pair_cstr(w, "description", description);
    json_pair_raw(w, "schema", STR("{\"type\":\"string\"}"));
    json_close(w);
}

static void openapi_put_headers(struct json_writer *w, const struct route *r)
{
    json_key(w, "headers");
    json_open_object(w);
    if (r->etag || !strcmp(r->method, "GET"))
        put_header(w, "ETag", r->etag ? r->etag : "of this answer");
    if (r->status == 201 || !strcmp(r->method, "PATCH"))
        put_header(w, "Location", r->location ? r->location : "its path");
    for (const struct route_parameter *p = r->parameters; p && p->name; p++)
        if (!strcmp(p->name, "cursor"))
            put_header(w, "Link", "rel=\"next\": the next page, where there is one");
    json_close(w);
}

static void put_success(struct json_writer *w, const struct route *r)
{
    char status[12];
    (void)snprintf(status, sizeof status, "%d", r->status ? r->status : 200);
    json_key(w, status);
    json_open_object(w);
    json_pair_cstr(w, "description", r->summary);
    openapi_put_headers(w, r);
    if (r->flags & ROUTE_BYTES_OUT)
        openapi_put_bytes(w);
    else
        openapi_put_content(w, r->answer,
                            r->flags & ROUTE_MARKDOWN_OUT ? "text/markdown"
                            : r->flags & ROUTE_EVENTS     ? "text/event-stream"
                                                          : NULL,
                            false);
    json_close(w);
    if (r->flags & ROUTE_BYTES_OUT) {
        json_key(w, "206");
        json_open_object(w);
        json_pair_cstr(w, "description", "The part that Range names.");
        openapi_put_bytes(w);
        json_close(w);
        json_pair_raw(w, "416", STR("{\"$ref\":\"#/components/responses/Problem\"}"));
    }
    if (!strcmp(r->method, "GET"))
        json_pair_raw(w, "304", STR("{\"description\":\"It is what you have.\"}"));
}

static void put_responses(struct json_writer *w, const struct route *r)
{
    const struct {
        const char *status;
        bool may;
    } problems[] = {
        {"400", true},
        {"401", true},
        {"403", true},
        {"404", strchr(r->pattern, '{') != NULL},
        {"406", true},
        {"409", strcmp(r->method, "GET") != 0 && strchr(r->pattern, '{') != NULL},
        {"412", (r->flags & ROUTE_IF_MATCH) != 0},
        {"413", r->body != NULL || (r->answer && str_ends(str_of(r->answer), "[]"))},
        {"415", r->body != NULL},
        {"428", (r->flags & ROUTE_IF_MATCH) != 0},
        {"429", true},
        {"503", true},
    };
    json_key(w, "responses");
    json_open_object(w);
    put_success(w, r);
    for (size_t i = 0; i < LENGTH(problems); i++)
        if (problems[i].may) {
            json_key(w, problems[i].status);
            put_ref(w, "responses", STR("Problem"));
        }
    json_key(w, "default");
    if ((r->flags & ROUTE_OUTSIDE) && r->answer && !(r->flags & ROUTE_BYTES_IN)) {
        json_open_object(w);
        json_pair_cstr(
            w, "description",
            "The code failed, and this says where; the status is its error's.");
        openapi_put_content(w, r->answer, NULL, false);
        json_close(w);
    } else {
        put_ref(w, "responses", STR("Problem"));
    }
    json_close(w);
}

/* ---- all of it ------------------------------------------------------------------ */

static void put_operation(struct json_writer *w, const struct route_group *g,
                          const struct route *r)
{
    char method[8] = "";
    for (size_t i = 0; r->method[i] && i < sizeof method - 1; i++)
        method[i] = (char)(r->method[i] | 0x20);
    json_key(w, method);
    json_open_object(w);
    json_pair_cstr(w, "operationId", r->operation);
    json_key(w, "tags");
    json_open_array(w);
    json_put_cstr(w, g->tag);
    json_close(w);
    json_pair_cstr(w, "summary", r->summary);
    json_pair_cstr(w, "description", r->description);
    openapi_put_parameters(w, g, r);
    if (r->flags & ROUTE_BYTES_IN) {
        json_key(w, "requestBody");
        json_open_object(w);
        json_pair_bool(w, "required", true);
        openapi_put_bytes(w);
        json_close(w);
    } else if (r->body) {
        json_key(w, "requestBody");
        json_open_object(w);
        json_pair_bool(w, "required", true);
        openapi_put_content(w, r->body,
                            r->flags & ROUTE_MARKDOWN_IN ? "text/markdown" : NULL,
                            !strcmp(method, "patch"));
        json_close(w);
    }
    put_responses(w, r);
    json_close(w);
}

static void put_paths(struct json_writer *w)
{
    json_key(w, "paths");
    json_open_object(w);
    struct route_walk walk = {0};
    const char *before = NULL;
    for (const struct route *r; (r = route_walk_next(&walk)); before = r->pattern) {
        bool first = !before || strcmp(r->pattern, before) != 0;
        if (first && before)
            json_close(w);
        if (first) {
            json_key(w, r->pattern);
            json_open_object(w);
        }
        put_operation(w, walk.group, r);
    }
    json_close(w);
    json_close(w);
}

static void put_groups(struct json_writer *w)
{
    json_key(w, "tags");
    json_open_array(w);
    for (const struct route_group *g = NULL; (g = route_group_after(g ? g->order : 0));) {
        if (!g->about)
            continue;
        json_open_object(w);
        json_pair_cstr(w, "name", g->tag);
        json_pair_cstr(w, "description", g->about);
        json_close(w);
    }
    json_close(w);
}

static void put_components(struct json_writer *w)
{
    json_key(w, "components");
    json_open_object(w);
    json_key(w, "schemas");
    json_open_object(w);
    for (const struct route_group *g = NULL; (g = route_group_after(g ? g->order : 0));)
        for (size_t i = 0; i < g->schema_count; i++)
            json_pair_raw(w, g->schemas[i].name, str_of(g->schemas[i].text));
    json_close(w);
    json_pair_raw(
        w, "responses",
        STR("{\"Problem\":{\"description\":\"It was not done; RFC 9457.\",\"content\":{"
            "\"application/problem+json\":{\"schema\":{\"$ref\":"
            "\"#/components/schemas/Problem\"}}}}}"));
    json_pair_raw(w, "securitySchemes",
                  STR("{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"},\"key\":{"
                      "\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"X-API-Key\"}}"));
    json_close(w);
}

bool route_openapi(struct route_call *c, struct err *e)
{
    struct json_writer w = route_writer(c);
    json_open_object(&w);
    json_pair_cstr(&w, "openapi", "3.1.1");
    json_key(&w, "info");
    json_open_object(&w);
    json_pair_cstr(&w, "title", "Cloche");
    json_pair_cstr(&w, "version", CLOCHE_VERSION);
    json_pair_cstr(&w, "summary", "Folders of Markdown notes, for programs.");
    json_pair_raw(&w, "license",
                  STR("{\"name\":\"Apache License 2.0\",\"identifier\":\"Apache-2.0\"}"));
    json_close(&w);
    json_pair_raw(&w, "servers", STR("[{\"url\":\"/\"}]"));
    /* On the machine itself nothing is asked for, unless the server was told to. */
    json_pair_raw(&w, "security", STR("[{},{\"bearer\":[]},{\"key\":[]}]"));
    put_groups(&w);
    put_paths(&w);
    put_components(&w);
    json_close(&w);
    return buf_check(&c->out->body, "the document", e);
}
