/* Links that are good once. What lies in the folder is the hash of one, in a file's name:
 * who could read the folder could not come in by it. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "desk/internal.h"
#include "os/os.h"

#define FOLDER "desk"
#define SERVING "serving"
#define LINK ".link"
#define LINKS_MAX 32u

int links_open(struct err *e)
{
    return os_state_folder(FOLDER, e);
}

static void file_of(struct str token, char out[static CRYPTO_HASH_HEX + sizeof LINK])
{
    char hex[CRYPTO_HASH_HEX];
    crypto_hash_hex(token, hex);
    (void)snprintf(out, CRYPTO_HASH_HEX + sizeof LINK, "%s" LINK, hex);
}

int64_t links_end(int dir, const char *name)
{
    struct err none = {0};
    scoped_buf struct buf text = buf_of(BUF_NAME);
    if (!os_read_file(dir, name, &text, NULL, &none))
        return 0;
    return strtoll(buf_cz(&text), NULL, 10);
}

struct tidying {
    int dir;
    int64_t now_ms;
    unsigned left;
};

static bool links_tidy(void *arg, const char *name, const struct os_stat *st,
                       struct err *e)
{
    (void)e;
    struct tidying *t = arg;
    struct err none = {0};
    if (!st->is_file || !str_ends(str_of(name), LINK))
        return true;
    if (links_end(t->dir, name) < t->now_ms)
        (void)os_drop(t->dir, name, &none);
    else
        t->left++;
    return true;
}

static bool make_link(int dir, char token[static CRYPTO_TOKEN], struct err *e)
{
    char name[CRYPTO_HASH_HEX + sizeof LINK], end[32];
    struct tidying t = {.dir = dir, .now_ms = os_real_ms()};
    if (!os_walk(dir, links_tidy, &t, e))
        return false;
    if (t.left >= LINKS_MAX)
        return err_set(e, ERR_BUSY,
                       "%u links are waiting to be used; another can be made when one "
                       "was, or is over",
                       LINKS_MAX);
    crypto_token(token);
    file_of(str_of(token), name);
    (void)snprintf(end, sizeof end, "%lld",
                   (long long)(t.now_ms + (int64_t)DESK_LINK_S * 1000));
    return os_write_file(dir, name, str_of(end), OS_CREATE, 0600, NULL, e);
}

bool links_take(int dir, struct str token)
{
    struct err e = {0};
    char name[CRYPTO_HASH_HEX + sizeof LINK];
    if (token.n != CRYPTO_TOKEN - 1)
        return false;
    file_of(token, name);
    bool good = links_end(dir, name) >= os_real_ms();
    /* The client that removes it comes in: of two that have it, one does. */
    return os_remove_file(dir, name, &e) && good;
}

void links_serve(int dir, const char *url)
{
    struct err none = {0};
    (void)os_write_file(dir, SERVING, str_of(url), OS_REPLACE, 0600, NULL, &none);
}

void links_unserve(int dir, const char *url)
{
    struct err none = {0};
    scoped_buf struct buf text = buf_of(BUF_NAME);
    /* A later server's stays. */
    if (os_read_file(dir, SERVING, &text, NULL, &none) && str_is(buf_view(&text), url))
        (void)os_drop(dir, SERVING, &none);
}

bool desk_link(const char *url, char out[static DESK_LINK_MAX], struct err *e)
{
    char token[CRYPTO_TOKEN];
    scoped_buf struct buf text = buf_of(BUF_NAME);
    scoped_fd int dir = links_open(e);
    if (dir < 0)
        return false;
    struct err none = {0};
    if (url)
        buf_printf(&text, "%.*s", STR_ARGS(str_cut(str_of(url), 150)));
    else if (!os_read_file(dir, SERVING, &text, NULL, &none) || !text.n)
        return err_set(e, ERR_NOT_FOUND,
                       "no running server found; start one with 'cloche serve', or "
                       "give its address with --url");
    if (!make_link(dir, token, e))
        return false;
    /* Behind the '#': it is sent to nobody, and stands in no log of a server. */
    (void)snprintf(out, DESK_LINK_MAX, "%s" DESK_PATH "#%s", buf_cz(&text), token);
    return true;
}
