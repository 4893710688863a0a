/* Hides paths on the disk from the bearer of a token for some vaults.
 *
 * Messages come from every room below, and many name a file, for the user who has to fix
 * it. So all of them pass here before they leave. */
#include "os/os.h"
#include "place/place.h"

#define INSTEAD "(a path of the server)"

static bool ends_path(char c)
{
    return c == '\0' || strchr(" \t\n\"'`()<>[]{},;", c);
}

/* The length of the path that begins here; 0: none. A colon before a number or a space
 * ends it: "policy.json:3:7". */
static size_t path_length(const char *s)
{
    size_t n = 0;
    while (!ends_path(s[n]) &&
           !(s[n] == ':' && (s[n + 1] == ' ' || (s[n + 1] >= '0' && s[n + 1] <= '9'))))
        n++;
    return n > 1 && s[1] != '/' ? n : 0;
}

/* Whether its first folder exists on this disk. Other paths, such as /vault of a tool or
 * /workspaces of REST, reveal nothing. */
static bool is_real(struct str path)
{
    char first[256];
    struct err none = {0};
    size_t n = 1;
    while (n < path.n && path.at[n] != '/')
        n++;
    if (n >= sizeof first)
        return false;
    memcpy(first, path.at, n);
    first[n] = '\0';
    scoped_fd int dir = os_dir_open(first, &none);
    return dir >= 0;
}

static bool was_reported(struct str said, struct str path)
{
    return said.n && memmem(said.at, said.n, path.at, path.n);
}

bool paths_hidden(const struct caller *who)
{
    return who->grant && who->grant->vaults.given;
}

void paths_hide(const struct caller *who, struct str said, struct err *e)
{
    if (!paths_hidden(who) || !strchr(e->msg, '/'))
        return;
    scoped_buf struct buf text;
    buf_init(&text, 4 * sizeof e->msg);
    for (const char *at = e->msg; *at;) {
        bool begins = *at == '/' && (at == e->msg || ends_path(at[-1]) || at[-1] == ':');
        size_t n = begins ? path_length(at) : 0;
        struct str path = {at, n};
        if (n && is_real(path) && !was_reported(said, path)) {
            buf_cstr(&text, INSTEAD);
            at += n;
        } else {
            buf_char(&text, *at++);
        }
    }
    struct str shown = str_cut(buf_view(&text), sizeof e->msg - 1);
    memcpy(e->msg, shown.at, shown.n);
    e->msg[shown.n] = '\0';
}
