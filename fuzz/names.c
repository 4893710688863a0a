/* One text as a title, a type, a path, a date, and as what an agent names a note by, in a
 * vault beside which lies what nobody may reach. */
#include <fcntl.h>
#include <sys/stat.h>

#include "driver.h"
#include "notes/name.h"
#include "notes/notes.h"
#include "os/os.h"

/* ---- names -------------------------------------------------------------- */

static void holds_name(struct str name)
{
    holds(name.n > 0 && name.n <= NAME_STEM_MAX && str_is_utf8(name));
    holds(name.at[0] != '.' && name.at[0] != ' ');
    holds(name.at[name.n - 1] != '.' && name.at[name.n - 1] != ' ');
    for (size_t i = 0; i < name.n; i++)
        holds((unsigned char)name.at[i] >= ' ' &&
              !strchr("/\\:*?\"<>|#^[]\x7f", name.at[i]));
}

static void check_title(struct str title)
{
    scoped_buf struct buf name, again, path, line;
    buf_init(&name, 1000);
    buf_init(&again, 1000);
    buf_init(&path, 1000);
    buf_init(&line, NAME_TITLE_MAX);
    name_put_title(title, &line);
    holds(!line.failed && str_is_utf8(buf_view(&line)));
    for (size_t i = 0; i < line.n; i++)
        holds((unsigned char)line.at[i] >= ' ');

    if (!name_from_title(title, &name)) {
        holds(name.n == 0);
        return;
    }
    struct str made = buf_view(&name);
    holds_name(made);
    /* What we make we accept: as a title, as a type, as part of a path. */
    holds(name_from_title(made, &again) && str_eq(buf_view(&again), made));
    holds(made.n > 100 || name_is_type(made));
    buf_printf(&path, "%.*s/%.*s.md", STR_ARGS(made), STR_ARGS(made));
    holds(name_is_path(buf_view(&path)));
    holds(str_eq(name_type(buf_view(&path)), made));
    holds(str_eq(name_stem(buf_view(&path)), made));
}

static void check_path(struct str path)
{
    if (!name_is_path(path))
        return;
    holds(str_is_utf8(path) && !memchr(path.at, '\0', path.n));
    holds(path.at[0] != '/' && path.at[0] != '.');
    holds(!memmem(path.at, path.n, "//", 2) && !memmem(path.at, path.n, "/.", 2));
    holds(str_ends(path, ".md") && is_inside(name_file(path), path));
    holds(is_inside(name_stem(path), path) && name_stem(path).n > 0);
}

static void check_date(struct str text)
{
    int64_t ms, again;
    if (!date_read(text, &ms))
        return;
    char utc[25];
    date_format(ms, utc);
    /* Zones may lead out of the years that four digits can say. */
    if (ms >= -62167219200000 && ms < 253402300800000)
        holds(date_read(str_of(utc), &again) && again == ms);
}

/* ---- a vault ------------------------------------------------------------ */

#define OUTSIDE "nobody may read this"

static void put_file(int dir, const char *path, const char *text)
{
    int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    holds(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void put_link(int dir, const char *to, const char *path)
{
    holds(symlinkat(to, dir, path) == 0 || errno == EEXIST);
}

static void put_folder(int dir, const char *path)
{
    holds(mkdirat(dir, path, 0700) == 0 || errno == EEXIST);
}

/* Beside the program; what an earlier run left is used again. */
static struct vault *make_vault(void)
{
    char top[600], path[620];
    (void)snprintf(top, sizeof top, "%s.vault", program_invocation_name);
    (void)snprintf(path, sizeof path, "%s/vault", top);
    put_folder(AT_FDCWD, top);
    int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    holds(dir >= 0);
    put_folder(dir, "vault");
    put_folder(dir, "vault/project");
    put_folder(dir, "vault/.hidden");
    put_folder(dir, "outside");
    put_file(dir, "Secret.md", OUTSIDE);
    put_file(dir, "outside/Secret.md", OUTSIDE);
    put_file(dir, "vault/.hidden/Secret.md", OUTSIDE);
    put_file(dir, "vault/.Secret.md", OUTSIDE);
    put_file(dir, "vault/Secret.txt", OUTSIDE);
    put_link(dir, "../Secret.md", "vault/link.md");
    put_link(dir, "../outside", "vault/away");
    put_file(dir, "vault/Inside.md", "---\nid: n-1\ntitle: In here\n---\n\ninside");
    put_file(dir, "vault/project/Plan.md", "inside");
    close(dir);
    struct err e = {0};
    struct vault *v = vault_open(path, &e);
    holds(v != NULL);
    return v;
}

static struct vault *vault;

static void close_vault(void)
{
    vault_close(vault);
}

static void check_identifier(struct str text, struct arena *a)
{
    if (!vault) {
        vault = make_vault();
        (void)atexit(close_vault);
    }
    scoped_buf struct buf quoted, answer;
    buf_init(&quoted, (size_t)1 << 20);
    buf_init(&answer, (size_t)1 << 20);
    struct json_writer w = json_writer(&quoted), out = json_writer(&answer);
    json_put_str(&w, text);
    struct err e = {0};
    const struct json *identifier = json_read(buf_view(&quoted), a, &e);
    holds(identifier != NULL && str_eq(json_str(identifier), text));
    if (!notes_get(vault, identifier, &out, &e)) {
        holds_error(&e);
        holds(answer.n == 0 && (e.code == ERR_INVALID || e.code == ERR_CONFLICT));
        return;
    }
    const struct json *note = json_read(buf_view(&answer), a, &e);
    holds(note != NULL);
    if (json_is(note, JSON_NULL))
        return;
    struct str path = json_str(json_get(note, "path"));
    holds(str_is(json_str(json_get(note, "content")), "inside"));
    holds(str_is(path, "Inside.md") || str_is(path, "project/Plan.md"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
    check_path(text);
    check_date(text);
    if (name_is_type(text))
        holds_name(text);
    /* These come as JSON strings. */
    if (str_is_utf8(text)) {
        check_title(text);
        check_identifier(text, a);
    }
    return 0;
}
