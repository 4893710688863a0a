/* cloche tool sign and cloche tool trust: who vouches for a package, and whose word
 * counts. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/subcommand.h"
#include "cli/tool.h"
#include "crypto/crypto.h"
#include "os/os.h"
#include "json/json.h"

#define KEY_FILE_MAX 256u
#define KEY_HEAD "cloche tool key 1 " /* then the secret as base64url */

struct sign_command {
    const char *words[3], *key[2], *output[2];
    bool make, json, help;
};

/* ---- the key's file ------------------------------------------------------- */

static bool make_key(const char *path, struct err *e)
{
    unsigned char secret[CRYPTO_SIGN_SECRET];
    scoped_buf struct buf text = buf_of(KEY_FILE_MAX);
    os_random(secret, sizeof secret);
    buf_cstr(&text, KEY_HEAD);
    crypto_base64url(secret, sizeof secret, &text);
    buf_char(&text, '\n');
    explicit_bzero(secret, sizeof secret);
    scoped_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, text.at, text.n) == (ssize_t)text.n && fsync(fd) == 0;
    explicit_bzero(text.at, text.n);
    if (ok)
        return true;
    err_set(e, ERR_IO, "cannot make the key's file %.200s: %m", path);
    if (fd >= 0)
        (void)unlink(path); /* half a key would keep the next try from making it */
    return false;
}

static bool sign_read_key(const char *path, unsigned char *secret, struct err *e)
{
    struct stat st;
    struct err none = {0};
    scoped_buf struct buf text, bytes;
    buf_init(&text, KEY_FILE_MAX);
    buf_init(&bytes, BUF_NAME);
    if (!tool_read_file(path, "the key's file", &text, e))
        return false;
    if (stat(path, &st) == 0 && (st.st_mode & 077))
        return err_set(e, ERR_DENIED,
                       "%.200s can be read by others; 'chmod 600' it, and make another "
                       "key if somebody may have",
                       path);
    struct str key = str_trim(buf_view(&text));
    size_t head = strlen(KEY_HEAD);
    bool ok =
        str_starts(key, KEY_HEAD) &&
        crypto_base64url_read((struct str){key.at + head, key.n - head}, &bytes, &none) &&
        bytes.n == CRYPTO_SIGN_SECRET;
    if (ok)
        memcpy(secret, bytes.at, bytes.n);
    explicit_bzero(text.at, text.n);
    return ok ||
           err_set(e, ERR_INVALID,
                   "%.200s is not a key file; 'cloche tool sign --new-key' makes one",
                   path);
}

/* ---- sign ------------------------------------------------------------------ */

static bool write_whole(const char *path, struct str bytes, struct err *e)
{
    const char *slash = strrchr(path, '/');
    scoped(free) char *folder =
        slash ? strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
    scoped_fd int dir = folder ? os_dir_open(folder, e) : -1;
    return dir >= 0 &&
           os_write_file(dir, slash ? slash + 1 : path, bytes, OS_REPLACE, 0644, NULL, e);
}

static bool package_sign(const struct sign_command *c, struct err *e)
{
    unsigned char secret[CRYPTO_SIGN_SECRET];
    char key[TOOL_KEY_TEXT];
    scoped_buf struct buf zip, out;
    buf_init(&zip, TOOL_ZIP_MAX);
    buf_init(&out, TOOL_ZIP_MAX);
    if (!tool_read_file(c->words[0], "ZIP file", &zip, e) ||
        (c->make && !make_key(c->key[0], e)) || !sign_read_key(c->key[0], secret, e))
        return false;
    bool ok = tool_sign(buf_view(&zip), secret, &out, key, e);
    explicit_bzero(secret, sizeof secret);
    const char *to = c->output[0] ? c->output[0] : c->words[0];
    if (!ok || !write_whole(to, buf_view(&out), e))
        return false;
    printf("%s\n", key);
    return true;
}

int tool_signed(int argc, char **argv)
{
    struct sign_command c = {0};
    struct err e = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--key", c.key, "FILE", "your secret key; keep it to yourself"),
        OPTION_FLAG("--new-key", &c.make, "make that file, with a new key in it"),
        OPTION_VALUE("--output", c.output, "FILE",
                     "write the signed ZIP there, not in place"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage = "cloche tool sign ZIP --key FILE [OPTIONS]\n\nPuts your signature "
                 "(Ed25519) into a tool's ZIP, over all files in it, and prints the\n"
                 "public key, which others give to 'cloche tool trust add'.",
        OPTION_ROWS(rows, &c.help),
        .words = c.words,
        .max = 1,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    if (!use.given || !c.key[0])
        err_set(&e, ERR_INVALID, "cloche tool sign is followed by a ZIP and --key FILE");
    return !e.code && package_sign(&c, &e) ? EXIT_DONE : cli_fail(&e);
}

/* ---- trust ----------------------------------------------------------------- */

static bool list_keys(void *command, struct err *e)
{
    bool as_json = ((const struct sign_command *)command)->json;
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    scoped_buf struct buf text = buf_of(BUF_LIST);
    struct json_writer w = json_writer(&text);
    if (!tool_trusted(&w, e))
        return false;
    if (as_json)
        cli_put_line(buf_view(&text));
    struct json_iter it = json_iter(as_json ? NULL : json_read(buf_view(&text), a, e));
    while (json_next(&it))
        printf("%-20.*s %.*s\n", SPELT_ARGS(json_str(json_get(it.value, "name"))),
               SPELT_ARGS(json_str(json_get(it.value, "key"))));
    return true;
}

static bool record_key(const char *event, const char *name, struct err *e)
{
    return tool_record(event, &(struct tool){.name = name, .version = ""}, NULL, NULL, e);
}

static bool trust(void *command, struct err *e)
{
    const struct sign_command *c = command;
    return tool_trust(c->words[1], c->words[2], e) &&
           record_key("tool trust", c->words[1], e);
}

static bool distrust(void *command, struct err *e)
{
    const struct sign_command *c = command;
    return tool_distrust(c->words[1], e) && record_key("tool distrust", c->words[1], e);
}

static const struct verb verbs[] = {
    {.name = "list", .run = list_keys},
    {.name = "add", .takes = "a NAME and a KEY", .least = 2, .most = 2, .run = trust},
    {.name = "remove", .takes = "a NAME", .least = 1, .most = 1, .run = distrust},
};

int tool_trusts(int argc, char **argv)
{
    struct sign_command c = {0};
    const struct option_row rows[] = {
        OPTION_FLAG("--json", &c.json, "list: print JSON"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche tool trust (add NAME KEY | list | remove NAME)\n\nWhose "
            "signatures count: KEY is what 'cloche tool sign' printed for its owner.\n"
            "The policy's tools.requireSignature keeps agents from all other tools.",
        OPTION_ROWS(rows, &c.help),
        OPTION_WORDS(c.words),
    };
    return verbs_command("tool trust", verbs, LENGTH(verbs), &use, &c, argc, argv);
}
