/* Changing what is installed, one process at a time. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "catalogue/records.h"

#define LOCK_WAIT_MS 20000u
#define SWITCHES_MAX ((size_t)1 << 20)

bool edit_begin(struct catalogue *c, struct edit *ed, struct err *e)
{
    *ed = (struct edit){.dir = -1, .lock = -1};
    scoped_fd int data = os_data_dir(NULL, e);
    if (data < 0 || !os_make_dirs(data, RECORDS_DIR "/records", e) ||
        !os_make_dirs(data, RECORDS_DIR "/modules", e))
        return false;
    if (c->data < 0)
        return err_set(e, ERR_IO, "the data folder was not there when this began");
    ed->dir = os_open_beneath(data, RECORDS_DIR, O_RDONLY | O_DIRECTORY, 0, e);
    if (ed->dir >= 0)
        ed->lock = os_lock(ed->dir, "lock", 0, LOCK_WAIT_MS, e);
    return ed->lock >= 0;
}

/* ---- unreferenced modules ------------------------------------------------ */

/* The modules that records name, one after the other. */
static bool tools_collect(void *arg, const char *name, const struct os_stat *st,
                          struct err *e)
{
    struct edit *ed = ((void **)arg)[0];
    struct buf *named = ((void **)arg)[1];
    scoped_buf struct buf text;
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    buf_init(&text, BUF_LIST);
    struct err why = {0};
    if (!st->is_file)
        return true;
    /* A record that cannot be read now may be mended: nothing is swept then. */
    const struct json *record = os_read_file(ed->dir, name, &text, NULL, &why)
                                    ? json_read(buf_view(&text), a, &why)
                                    : NULL;
    struct str sha256 = json_str(json_get(json_get(record, "wasmBinary"), "sha256"));
    if (!sha256.n && json_is(json_get(record, "machine"), JSON_OBJECT))
        return true;
    if (sha256.n != 64)
        return err_set(e, ERR_INVALID, "%s cannot be read", name);
    return buf_str(named, sha256);
}

static bool module_is_named(const struct buf *named, struct str sha256)
{
    for (size_t i = 0; i + 64 <= named->n; i += 64)
        if (memcmp(named->at + i, sha256.at, 64) == 0)
            return true;
    return false;
}

static bool sweep_module(void *arg, const char *name, const struct os_stat *st,
                         struct err *e)
{
    struct edit *ed = ((void **)arg)[0];
    struct str file = str_of(name + strlen("modules/"));
    struct err none = {0};
    (void)e;
    if (st->is_file && !(file.n == 69 && module_is_named(((void **)arg)[1], file)))
        (void)os_remove_file(ed->dir, name, &none);
    return true;
}

/* Removes a killed write's drafts beside its file; the walk does not see it. */
static void sweep_drafts(int dir, const char *folder)
{
    struct err none = {0};
    int fd = os_open_beneath(dir, folder, O_RDONLY | O_DIRECTORY, 0, &none);
    DIR *all = fd >= 0 ? fdopendir(fd) : NULL;
    if (!all) {
        os_close(fd);
        return;
    }
    for (struct dirent *n; (n = readdir(all));)
        if (str_starts(str_of(n->d_name), ".cloche-") &&
            str_ends(str_of(n->d_name), ".tmp"))
            (void)unlinkat(fd, n->d_name, 0);
    (void)closedir(all);
}

static void edit_sweep(struct edit *ed)
{
    static const char *const folders[] = {".", "records", "modules"};
    for (size_t i = 0; i < LENGTH(folders); i++)
        sweep_drafts(ed->dir, folders[i]);
    struct err none = {0};
    scoped_buf struct buf named = buf_of(BUF_LIST);
    void *arg[] = {ed, &named};
    if (os_walk_from(ed->dir, "records", tools_collect, arg, &none) && !named.failed)
        (void)os_walk_from(ed->dir, "modules", sweep_module, arg, &none);
}

void edit_end(struct edit *ed)
{
    struct err none = {0};
    if (ed->lock >= 0) {
        /* Another inode, time and size: one of them shows on every file system. */
        char text[65];
        struct os_stamp before = os_stamp(ed->dir, "changes");
        size_t n = 1 + before.size % 64;
        memset(text, '.', n);
        edit_sweep(ed);
        (void)os_write_file(ed->dir, "changes", (struct str){text, n}, OS_REPLACE, 0600,
                            NULL, &none);
    }
    os_close(ed->lock);
    os_close(ed->dir);
    *ed = (struct edit){.dir = -1, .lock = -1};
}

/* ---- records and modules -------------------------------------------------- */

static void record_name(const char *id, const char *vault, char name[static 160])
{
    (void)snprintf(name, 160, "records/%s%s%s.json", id, vault ? "@" : "",
                   vault ? vault : "");
}

bool record_write(struct edit *ed, const struct record *r, struct err *e)
{
    char name[160];
    scoped_buf struct buf text = buf_of(BUF_LIST);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_cstr(&w, "id", r->id);
    json_pair_raw(&w, "manifest", r->manifest);
    json_key(&w, *r->wasm_sha256 ? "wasmBinary" : "machine");
    json_open_object(&w);
    if (*r->wasm_sha256) {
        json_pair_cstr(&w, "sha256", r->wasm_sha256);
        json_pair_int(&w, "size", (int64_t)r->wasm_bytes);
    }
    if (r->key[0])
        json_pair_cstr(&w, "signedBy", r->key);
    json_close(&w);
    json_pair_cstr(&w, "source", "user");
    json_pair_bool(&w, "enabled", r->enabled);
    json_pair_int(&w, "installedAt", r->installed_ms);
    json_pair_int(&w, "updatedAt", r->updated_ms);
    json_close(&w);
    buf_char(&text, '\n');
    record_name(r->id, r->vault, name);
    return buf_check(&text, "the record", e) &&
           os_write_file(ed->dir, name, buf_view(&text), OS_REPLACE, 0600, NULL, e);
}

bool record_remove(struct edit *ed, const struct tool *t, struct err *e)
{
    char name[160];
    record_name(t->id, t->vault, name);
    return os_remove_file(ed->dir, name, e);
}

bool module_write(struct edit *ed, const char *sha256, struct str wasm, struct err *e)
{
    char name[90];
    (void)snprintf(name, sizeof name, "modules/%s.wasm", sha256);
    return os_write_file(ed->dir, name, wasm, OS_REPLACE, 0600, NULL, e);
}

/* ---- switches ------------------------------------------------------------ */

static bool is_switch(const struct json *row, const char *id, const char *vault)
{
    const struct json *own = json_get(row, "vault");
    return str_is(json_str(json_get(row, "id")), id) &&
           (vault ? own && str_is(json_str(own), vault) : !own);
}

bool switch_write(struct edit *ed, const char *id, const char *vault, bool on,
                  struct err *e)
{
    struct err why = {0};
    scoped_buf struct buf old, text;
    scoped(arena_free) struct arena *a = arena_new(8 * SWITCHES_MAX);
    buf_init(&old, SWITCHES_MAX);
    buf_init(&text, SWITCHES_MAX);
    if (!os_read_file(ed->dir, "off.json", &old, NULL, &why) && why.code != ERR_NOT_FOUND)
        return err_pass(e, &why);
    const struct json *file = old.n ? json_read(buf_view(&old), a, e) : NULL;
    if (e->code)
        return err_wrap(e, RECORDS_DIR "/off.json is damaged, and stays as it is");
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_int(&w, "version", 1);
    json_key(&w, "off");
    json_open_array(&w);
    struct json_iter it = json_iter(json_get(file, "off"));
    while (json_next(&it))
        if (!is_switch(it.value, id, vault))
            json_put(&w, it.value);
    if (!on) {
        json_open_object(&w);
        json_pair_cstr(&w, "id", id);
        if (vault)
            json_pair_cstr(&w, "vault", vault);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    buf_char(&text, '\n');
    return buf_check(&text, "the list of switches", e) &&
           os_write_file(ed->dir, "off.json", buf_view(&text), OS_REPLACE, 0600, NULL, e);
}
