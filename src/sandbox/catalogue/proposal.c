/* A ZIP that waits for a person's word: kept by its hash in the state folder, so that
 * what is installed is what was looked at. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "catalogue/catalogue.h"
#include "catalogue/internal.h"
#include "catalogue/manifest.h"
#include "crypto/crypto.h"
#include "os/os.h"

#define FOLDER "proposals"
#define PROPOSALS_MAX 16u
#define KEEP_NS ((int64_t)7 * 24 * 3600 * 1000000000)

static int proposals_open_folder(struct err *e)
{
    scoped_fd int state = os_state_dir(NULL, e);
    if (state < 0 || !os_make_dirs(state, FOLDER, e))
        return -1;
    return os_open_beneath(state, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
}

static bool is_hash(struct str s)
{
    return s.n == CRYPTO_SHA256_HEX - 1 && str_is_hex(s);
}

/* How many wait; those that nobody decided for long go. */
static size_t count_waiting(int dir)
{
    size_t n = 0;
    struct err none = {0};
    int again = os_open_beneath(dir, ".", O_RDONLY | O_DIRECTORY, 0, &none);
    DIR *all = again >= 0 ? fdopendir(again) : NULL;
    if (!all) {
        os_close(again);
        return 0;
    }
    for (struct dirent *d; (d = readdir(all));) {
        struct os_stat st;
        none = (struct err){0};
        if (d->d_name[0] == '.' || !os_stat_beneath(dir, d->d_name, &st, &none))
            continue;
        if (st.mtime_ns < os_real_ms() * 1000000 - KEEP_NS)
            (void)unlinkat(again, d->d_name, 0);
        else
            n++;
    }
    (void)closedir(all);
    return n;
}

bool tool_propose(const struct tool_package *p, struct str zip, struct err *e)
{
    const char *name = tool_package_sha256(p);
    scoped_fd int dir = proposals_open_folder(e);
    if (dir < 0)
        return false;
    if (!os_stamp(dir, name).inode && count_waiting(dir) >= PROPOSALS_MAX)
        return err_set(e, ERR_BUSY,
                       "%u tools already wait for a person's approval ('cloche "
                       "approvals list'); nothing was proposed",
                       PROPOSALS_MAX);
    return os_write_file(dir, name, zip, OS_REPLACE, 0600, NULL, e);
}

static void put_label(struct json_writer *w, const char *label, const char *text)
{
    if (text)
        json_pair_cstr(w, label, text);
}

/* All of it: that is what is decided about. */
static void put_command(struct json_writer *w, const struct tool *t)
{
    scoped_buf struct buf text;
    buf_init(&text, MANIFEST_MAX);
    tool_put_command(t, &text);
    put_label(w, "runs in a Linux machine", buf_cz(&text));
    w->out->failed |= text.failed;
}

void tool_proposal_shown(struct catalogue *c, const struct tool_package *p,
                         struct json_writer *w)
{
    struct err none = {0};
    const struct tool *t = tool_package_tool(p);
    const char *key = tool_package_key(p);
    char size[40];
    (void)snprintf(size, sizeof size, "%zu bytes", tool_package_size(p));
    struct tool_list l = {0};
    const struct tool *now = NULL;
    if (tool_list(c, STR(""), &l, &none))
        for (size_t i = 0; i < l.count && !now; i++)
            now = strcmp(l.tools[i]->name, t->name) ? NULL : l.tools[i];
    json_open_object(w);
    put_label(w, "kind", "install");
    put_label(w, "name", t->name);
    put_label(w, "version", t->version);
    put_label(w, "description", t->description);
    put_label(w, "fileAccess", tool_access_name(t->execution.access));
    if (t->command)
        put_command(w, t);
    else
        put_label(w, "size", size);
    put_label(w, "sha256", tool_package_sha256(p));
    put_label(w, "signer", t->signer ? t->signer : key[0] ? key : "nobody");
    put_label(w, "license", t->license);
    if (now)
        put_label(w, "takes the place of",
                  now->builtin ? "a built-in tool" : now->version);
    json_close(w);
    tool_list_release(c, &l);
}

/* Returns only bytes that have that hash. */
static bool read_proposal(const char *sha256, struct buf *zip, struct err *e)
{
    char now[CRYPTO_SHA256_HEX];
    scoped_fd int dir = is_hash(str_of(sha256)) ? proposals_open_folder(e) : -1;
    struct err why = {0};
    if (dir >= 0 && os_read_file(dir, sha256, zip, NULL, &why)) {
        crypto_sha256_hex(buf_view(zip), now);
        if (!strcmp(now, sha256))
            return true;
    }
    return err_set(e, ERR_NOT_FOUND,
                   "the proposed ZIP is not there any more; nothing was installed");
}

void tool_proposal_drop(const char *sha256)
{
    struct err none = {0};
    scoped_fd int dir = is_hash(str_of(sha256)) ? proposals_open_folder(&none) : -1;
    if (dir >= 0)
        (void)os_remove_file(dir, sha256, &none);
}

bool tool_proposal_install(struct catalogue *c, const char *sha256,
                           const struct tool_watch *watch, struct err *e)
{
    char id[TOOL_ID];
    struct tool_notes notes;
    scoped_buf struct buf zip = buf_of(TOOL_ZIP_MAX);
    if (!read_proposal(sha256, &zip, e))
        return false;
    tool_notes_init(&notes);
    scoped(tool_package_close) struct tool_package *p =
        tool_package_open(c, buf_view(&zip), &notes, e);
    tool_notes_done(&notes);
    bool ok = p && tool_install(c, p, NULL, TOOL_MAY_REPLACE, watch, id, e);
    if (ok)
        tool_proposal_drop(sha256);
    return ok;
}
