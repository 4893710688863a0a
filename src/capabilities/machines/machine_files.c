/* Files of machines: vm.read and vm.write. Each is a command of bash, apart from all
 * sessions; its standard error begins with a line about the file, or says what is wrong. */
#include "machines/machine_files.h"

#include <stdio.h>

#include "crypto/crypto.h"
#include "machines/machine_inside.h"
#include "machines/vm_files.api.h"
#include "tools/tools.h"

/* $1 path, $2 offset, $3 bytes. */
static const char read_script[] =
    "no() { printf '%s: %s\\n' \"$1\" \"$2\" >&2; exit 1; }\n"
    "[ -e \"$1\" ] || no \"$1\" 'No such file or directory'\n"
    "[ ! -d \"$1\" ] || no \"$1\" 'Is a directory'\n"
    "[ -f \"$1\" ] || no \"$1\" 'Not a regular file'\n"
    "exec 9<\"$1\" || exit 1\n"
    "stat -L -c '%s %.9Y %a %i' /proc/self/fd/9 >&2 || exit 1\n"
    "exec dd iflag=skip_bytes,count_bytes,fullblock skip=\"$2\" count=\"$3\" bs=64K "
    "status=none <&9\n";

/* $1 path, $2 mode or nothing, $3 1: appended. A new file stands beside the old one until it
 * is whole. */
static const char write_script[] =
    "no() { printf '%s: %s\\n' \"$1\" \"$2\" >&2; exit 1; }\n"
    "umask 022; p=$1; d=${p%/*}\n"
    "[ -z \"$d\" ] || [ -d \"$d\" ] || mkdir -p -- \"$d\" || exit 1\n"
    "[ ! -L \"$p\" ] || { p=$(readlink -m -- \"$p\" && echo .) && p=${p%??}; } || exit 1\n"
    "[ ! -d \"$p\" ] || no \"$p\" 'Is a directory'\n"
    "[ ! -e \"$p\" ] || [ -f \"$p\" ] || no \"$p\" 'Not a regular file'\n"
    "if [ \"$3\" = 1 ]; then\n"
    "  cat >>\"$p\" || exit 1\n"
    "  [ -z \"$2\" ] || chmod -- \"$2\" \"$p\" || exit 1\n"
    "else\n"
    "  t=$(mktemp -- \"${p%/*}/.cloche.XXXXXX\") || exit 1\n"
    "  trap 'rm -f -- \"$t\"' EXIT\n"
    "  cat >\"$t\" || exit 1\n"
    "  if [ -n \"$2\" ]; then chmod -- \"$2\" \"$t\"\n"
    "  elif [ -e \"$p\" ]; then chmod --reference=\"$p\" -- \"$t\"\n"
    "  else chmod 644 -- \"$t\"; fi || exit 1\n"
    "  mv -fT -- \"$t\" \"$p\" || exit 1\n"
    "fi\n"
    "stat -L -c '%s %.9Y %a %i' -- \"$p\" >&2\n";

/* ---- images ------------------------------------------------------------------------- */

const char *machine_image_type(struct str s)
{
    static const struct {
        const char *begins, *type;
        size_t n;
    } kinds[] = {{"\x89PNG\r\n\x1a\n", "image/png", 8},
                 {"\xff\xd8\xff", "image/jpeg", 3},
                 {"GIF87a", "image/gif", 6},
                 {"GIF89a", "image/gif", 6}};
    for (size_t i = 0; i < LENGTH(kinds); i++)
        if (s.n > kinds[i].n && !memcmp(s.at, kinds[i].begins, kinds[i].n))
            return kinds[i].type;
    bool webp = s.n > 12 && !memcmp(s.at, "RIFF", 4) && !memcmp(s.at + 8, "WEBP", 4);
    return webp ? "image/webp" : NULL;
}

/* ---- the line about a file -------------------------------------------------------------- */

struct about {
    uint64_t size, inode, seconds, nanos;
    char mode[5];
};

static bool take_number(struct str *s, char end, uint64_t *out)
{
    size_t i = 0;
    *out = 0;
    for (; i < s->n && char_is_digit(s->at[i]); i++) {
        if (i == 18)
            return false;
        *out = *out * 10 + (uint64_t)(s->at[i] - '0');
    }
    if (i == 0 || i == s->n || s->at[i] != end)
        return false;
    *s = (struct str){s->at + i + 1, s->n - i - 1};
    return true;
}

static bool read_about(struct str line, struct about *a, struct err *e)
{
    uint64_t mode;
    bool negative = false; /* before 1970: shown as 1970 */
    bool ok = take_number(&line, ' ', &a->size);
    if (ok && line.n && line.at[0] == '-') {
        negative = true;
        line = (struct str){line.at + 1, line.n - 1};
    }
    ok = ok && take_number(&line, '.', &a->seconds) && take_number(&line, ' ', &a->nanos);
    size_t digits = 0;
    while (ok && digits < line.n && char_is_digit(line.at[digits]))
        digits++;
    ok = ok && digits >= 1 && digits <= 4;
    if (ok)
        (void)snprintf(a->mode, sizeof a->mode, "%.*s", (int)digits, line.at);
    ok = ok && take_number(&line, ' ', &mode) && take_number(&line, '\n', &a->inode);
    if (negative)
        a->seconds = a->nanos = 0;
    return ok || inside_garbled(e);
}

/* Changes whenever the file does, as far as its times tell. */
static void put_version(const struct about *a, struct json_writer *w)
{
    char text[100], hex[CRYPTO_HASH_HEX];
    (void)snprintf(text, sizeof text, "%llu %llu.%llu %llu", (unsigned long long)a->size,
                   (unsigned long long)a->seconds, (unsigned long long)a->nanos,
                   (unsigned long long)a->inode);
    crypto_hash_hex(str_of(text), hex);
    json_pair_str(w, "version", (struct str){hex, 24});
}

/* ---- read ---------------------------------------------------------------------------------- */

struct wanted {
    struct str path, machine, content;
    uint64_t offset, length;
    bool coded, append;
    struct str mode;
};

static bool read_number(struct str key, const struct json *v, int64_t low, uint64_t high,
                        uint64_t *out, struct err *e)
{
    int64_t n = json_is_int(v) ? json_int(v, 0) : low - 1;
    *out = (uint64_t)n;
    return (n >= low && *out <= high) ||
           err_set(e, ERR_INVALID, "%.*s is not a whole number from %lld to %llu",
                   STR_ARGS(key), (long long)low, (unsigned long long)high);
}

static bool read_encoding(const struct json *v, bool *coded, struct err *e)
{
    struct str word = json_str(v);
    *coded = str_is(word, "base64");
    return *coded || str_is(word, "text") ||
           err_set(e, ERR_INVALID, "encoding is \"text\" or \"base64\"");
}

static bool read_option(struct wanted *f, const struct tool_call *c, struct str key,
                        const struct json *v, struct err *e)
{
    if (str_is(key, "path"))
        return inside_path(v, c->arena, &f->path, e);
    if (str_is(key, "machine"))
        return inside_handle(v, &f->machine, e);
    if (str_is(key, "offset"))
        return read_number(key, v, 0, (uint64_t)1 << 53, &f->offset, e);
    if (str_is(key, "length"))
        return read_number(key, v, 1, VM_READ_LENGTH_MOST, &f->length, e);
    if (str_is(key, "encoding"))
        return read_encoding(v, &f->coded, e);
    return call_option_unknown(key, VM_READ_KEYS, "nothing was read", e);
}

/* Bytes at the end of a character that is cut, so that text is split between characters. */
static size_t cut_character(struct str s)
{
    for (size_t back = 1; back <= 3 && back < s.n; back++) {
        unsigned char c = (unsigned char)s.at[s.n - back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return whole > back ? back : 0;
    }
    return 0;
}

static bool put_content(struct str bytes, bool coded, struct json_writer *w)
{
    if (!coded && str_is_utf8(bytes)) {
        json_pair_str(w, "content", bytes);
        return true;
    }
    scoped_buf struct buf text = buf_of(bytes.n / 3 * 4 + 8);
    (void)crypto_base64(bytes.at ? bytes.at : "", bytes.n, &text);
    json_pair_str(w, "content", buf_view(&text));
    json_pair_cstr(w, "contentEncoding", "base64");
    return false;
}

static void put_file(const struct wanted *f, const struct about *a, struct str bytes,
                     const char *handle, struct json_writer *w)
{
    const char *type = f->offset ? NULL : machine_image_type(bytes);
    bool more = f->offset + bytes.n < a->size && bytes.n > 0;
    size_t cut = more && !f->coded ? cut_character(bytes) : 0;
    if (cut && str_is_utf8((struct str){bytes.at, bytes.n - cut}))
        bytes.n -= cut;
    json_open_object(w);
    inside_put_path(f->path, w);
    json_pair_int(w, "size", (int64_t)a->size);
    json_pair_int(w, "offset", (int64_t)f->offset);
    json_pair_int(w, "length", (int64_t)bytes.n);
    (void)put_content(bytes, f->coded, w);
    if (more)
        json_pair_int(w, "next", (int64_t)(f->offset + bytes.n));
    if (type)
        json_pair_cstr(w, "mimeType", type);
    json_pair_time(w, "modified", (int64_t)(a->seconds * 1000 + a->nanos / 1000000));
    json_pair_cstr(w, "mode", a->mode);
    put_version(a, w);
    json_pair_cstr(w, "machine", handle);
    json_close(w);
}

bool machines_read(const struct tool_call *c, const struct json *options,
                   struct json_writer *out, struct err *e)
{
    struct wanted f = {.length = VM_READ_LENGTH_USUAL};
    struct json_iter it = json_iter(options);
    while (json_next(&it))
        if (!json_is(it.value, JSON_NULL) && !read_option(&f, c, it.key, it.value, e))
            return false;
    char offset[24], length[24];
    (void)snprintf(offset, sizeof offset, "%llu", (unsigned long long)f.offset);
    (void)snprintf(length, sizeof length, "%llu", (unsigned long long)f.length);
    const struct str words[] = {f.path, str_of(offset), str_of(length)};
    struct inside in = {.call = c,
                        .name = "vm.read",
                        .script = read_script,
                        .words = words,
                        .word_count = LENGTH(words),
                        .machine = f.machine,
                        .output_bytes = f.length,
                        .request = options};
    struct about about;
    bool ok =
        inside_run(&in, e) && read_about(buf_view(&in.result.stderr_bytes), &about, e);
    if (ok)
        put_file(&f, &about, buf_view(&in.result.stdout_bytes), in.handle, out);
    inside_done(&in, e);
    return ok && buf_check(out->out, "the answer", e);
}

/* ---- write ------------------------------------------------------------------------------ */

static bool read_mode(const struct json *v, struct str *mode, struct err *e)
{
    *mode = json_str(v);
    bool ok = mode->n == 3 || mode->n == 4;
    for (size_t i = 0; i < mode->n && ok; i++)
        ok = mode->at[i] >= '0' && mode->at[i] <= '7';
    return ok ||
           err_set(e, ERR_INVALID,
                   "mode is three or four octal digits as a string, such as \"755\"; "
                   "nothing was written");
}

static bool write_option(struct wanted *f, const struct tool_call *c, struct str key,
                         const struct json *v, struct err *e)
{
    if (str_is(key, "path"))
        return inside_path(v, c->arena, &f->path, e);
    if (str_is(key, "machine"))
        return inside_handle(v, &f->machine, e);
    if (str_is(key, "content"))
        return argument_bytes(v, "content", c->arena, &f->content, e);
    if (str_is(key, "append"))
        return read_flag("append", v, &f->append, "nothing was written", e);
    if (str_is(key, "mode"))
        return read_mode(v, &f->mode, e);
    return call_option_unknown(key, VM_WRITE_KEYS, "nothing was written", e);
}

static bool check_written(const struct wanted *f, struct err *e)
{
    if (!f->content.at)
        return err_set(e, ERR_INVALID,
                       "vm.write has no content; a string, or {base64}, is accepted, and "
                       "\"\" for an empty file; nothing was written");
    return (f->path.n && f->path.at[f->path.n - 1] != '/') || !f->path.n ||
           err_set(e, ERR_INVALID, "the path '%.*s' names a folder; nothing was written",
                   STR_ARGS(str_cut(f->path, 200)));
}

bool machines_write(const struct tool_call *c, const struct json *options,
                    struct json_writer *out, struct err *e)
{
    struct wanted f = {0};
    struct json_iter it = json_iter(options);
    while (json_next(&it))
        if (!json_is(it.value, JSON_NULL) && !write_option(&f, c, it.key, it.value, e))
            return false;
    if (!check_written(&f, e))
        return false;
    const struct str words[] = {f.path, f.mode, f.append ? STR("1") : STR("")};
    struct inside in = {.call = c,
                        .name = "vm.write",
                        .script = write_script,
                        .words = words,
                        .word_count = LENGTH(words),
                        .machine = f.machine,
                        .input = f.content.n ? f.content : STR(""),
                        .starts = true,
                        .request = options};
    struct about about;
    bool ok =
        inside_run(&in, e) && read_about(buf_view(&in.result.stderr_bytes), &about, e);
    if (ok) {
        json_open_object(out);
        inside_put_path(f.path, out);
        json_pair_int(out, "size", (int64_t)about.size);
        json_pair_cstr(out, "machine", in.handle);
        json_close(out);
    }
    inside_done(&in, e);
    return ok && buf_check(out->out, "the answer", e);
}
