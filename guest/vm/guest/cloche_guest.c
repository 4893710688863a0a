/* cloche-guest: programs of a machine call Cloche's API, with the rights of the command that they
 * belong to. One small static program, with two sides: the client that scripts run, and the
 * relay that the host runs beside a command (abi/callback.h). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "abi/callback.h"

static const char usage[] =
    "usage: cloche-guest [-r] CALL [WORD...]\n"
    "\n"
    "Calls Cloche's API from a command that was run with calls: true, and prints the answer as\n"
    "JSON. Each WORD is an argument: text, :=JSON, or an object or array as JSON. KEY=TEXT and\n"
    "KEY:=JSON become members of one object, the last argument. KEY=@FILE, KEY:=@FILE and @FILE\n"
    "stand for what is in a file, @- for standard input.\n"
    "\n"
    "  -r    prints a text without quotes, and of a program's result (tools.run) its output\n"
    "\n"
    "  cloche-guest notes.search query=shed limit:=3\n"
    "  cloche-guest -r notes.getContent my-note\n"
    "  ls | cloche-guest -r tools.run wc args:='[\"-l\"]' stdin=@- | cat -n\n"
    "  cloche-guest customFunctions.add :=2 :=3\n"
    "  cloche-guest api.search note\n"
    "\n"
    "It exits with 0, with 1 if the call failed, and with 2 if none was made.\n";

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "cloche-guest: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    return 2;
}

static bool write_all(int fd, const void *at, size_t n)
{
    const char *p = at;
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* false: the end came first. */
static bool read_all(int fd, void *at, size_t n)
{
    char *p = at;
    while (n) {
        ssize_t k = read(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static bool set_address(struct sockaddr_un *a, const char *path)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n >= sizeof a->sun_path)
        return false;
    memcpy(a->sun_path, path, n + 1);
    return true;
}

/* ---- the client ----------------------------------------------------------------------- */

struct bytes {
    char *at;
    size_t n, room;
};

static bool put(struct bytes *b, const void *at, size_t n)
{
    if (b->n + n > CALLBACK_REQUEST_MAX + 4)
        return false;
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n) + 4096;
        b->at = realloc(b->at, b->room);
        if (!b->at)
            return false;
    }
    memcpy(b->at + b->n, at, n);
    b->n += n;
    return true;
}

static bool put_item(struct bytes *b, uint32_t kind, const void *at, size_t n)
{
    struct callback_item_head head = {kind, (uint32_t)n};
    return put(b, &head, sizeof head) && put(b, at, n);
}

/* Behind the item's head, which is completed. */
static bool put_file(struct bytes *b, const char *path)
{
    char piece[65536];
    struct callback_item_head head = {CALLBACK_BYTES, 0};
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : 0;
    size_t at = b->n;
    ssize_t n = 0;
    if (fd < 0)
        return false;
    bool ok = put(b, &head, sizeof head);
    while (ok && (n = read(fd, piece, sizeof piece)) > 0)
        ok = put(b, piece, (size_t)n);
    if (!ok)
        errno = EFBIG;
    head.n = (uint32_t)(b->n - at - sizeof head);
    if (ok)
        memcpy(b->at + at, &head, sizeof head);
    if (fd > 0)
        close(fd);
    return ok && n == 0;
}

/* Of "key=" in "key=@file", and of "key:="; 0: it has no such form. A key is a name, so that JSON
 * and most text is none. */
static size_t key_length(const char *word)
{
    size_t n = 0;
    while ((word[n] >= 'a' && word[n] <= 'z') || (word[n] >= 'A' && word[n] <= 'Z') ||
           word[n] == '_' || (n && word[n] >= '0' && word[n] <= '9'))
        n++;
    size_t colon = word[n] == ':';
    return n && word[n + colon] == '=' ? n + colon + 1 : 0;
}

static bool put_word(struct bytes *b, const char *word)
{
    size_t key = key_length(word);
    if (word[key] != '@')
        return put_item(b, CALLBACK_WORD, word, strlen(word));
    return put_item(b, CALLBACK_WORD, word, key) && put_file(b, word + key + 1);
}

/* Raw output is printed byte for byte. */
static int print_answer(int fd, bool raw)
{
    uint32_t n;
    uint8_t status;
    if (!read_all(fd, &n, sizeof n) || n < 1 || n > CALLBACK_ANSWER_MAX + 1 ||
        !read_all(fd, &status, 1))
        return fail("there was no answer", "the command may have ended");
    char *text = malloc(n);
    if (!text || !read_all(fd, text, n - 1))
        return fail("the answer is not whole", NULL);
    bool ok = status == CALLBACK_OK;
    bool ended = (ok && raw) || (n > 1 && text[n - 2] == '\n');
    if (!write_all(ok ? 1 : 2, text, n - 1) ||
        (!ended && !write_all(ok ? 1 : 2, "\n", 1)))
        return fail("the answer cannot be written", strerror(errno));
    return ok ? 0 : 1;
}

static int ask(char **words, bool raw)
{
    const char *path = getenv(CALLBACK_ENV);
    struct bytes b = {0};
    uint32_t n = 0;
    struct sockaddr_un address;
    if (!path || !*path)
        return fail("this command may not call back: run it with calls: true", NULL);
    bool ok = put(&b, &n, sizeof n) && (!raw || put_item(&b, CALLBACK_RAW, "", 0));
    for (; ok && *words; words++)
        if (!put_word(&b, *words))
            return fail(*words, strerror(errno));
    if (!ok)
        return fail("no memory", NULL);
    n = (uint32_t)b.n - (uint32_t)sizeof n;
    memcpy(b.at, &n, sizeof n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || !set_address(&address, path) ||
        connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return fail("the command that it belongs to has ended", strerror(errno));
    (void)signal(SIGPIPE, SIG_IGN);
    if (!write_all(fd, b.at, b.n))
        return fail("the request cannot be sent", strerror(errno));
    return print_answer(fd, raw);
}

/* ---- the relay ------------------------------------------------------------------------- */

static struct client {
    int fd; /* 0: none */
    uint32_t number;
} clients[CALLBACK_CLIENTS];
static uint32_t last_number;

static bool tell(uint32_t client, const void *at, size_t n)
{
    struct callback_head head = {client, (uint32_t)n};
    return write_all(1, &head, sizeof head) && write_all(1, at, n);
}

/* A client that does not read for long is left; the others must not wait for it. */
static void admit(int listener)
{
    struct timeval patience = {.tv_sec = 10};
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd <= 0)
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    for (size_t i = 0; i < CALLBACK_CLIENTS; i++)
        if (!clients[i].fd) {
            clients[i] = (struct client){fd, ++last_number};
            return;
        }
    close(fd);
}

static void leave(struct client *c)
{
    close(c->fd);
    *c = (struct client){0};
}

static bool hear(struct client *c)
{
    char piece[CALLBACK_PIECE];
    ssize_t n = read(c->fd, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    uint32_t number = c->number;
    if (n <= 0)
        leave(c);
    return tell(number, piece, n > 0 ? (size_t)n : 0);
}

/* One piece from the host. false: the end. */
static bool carry(void)
{
    static char piece[CALLBACK_PIECE];
    struct callback_head head;
    if (!read_all(0, &head, sizeof head) || head.n > sizeof piece ||
        !read_all(0, piece, head.n))
        return false;
    for (size_t i = 0; i < CALLBACK_CLIENTS; i++)
        if (clients[i].fd && clients[i].number == head.client &&
            (!head.n || !write_all(clients[i].fd, piece, head.n)))
            leave(&clients[i]);
    return true;
}

static bool relay(int listener)
{
    struct pollfd p[CALLBACK_CLIENTS + 2] = {{.fd = 0, .events = POLLIN},
                                             {.fd = listener, .events = POLLIN}};
    for (size_t i = 0; i < CALLBACK_CLIENTS; i++)
        p[i + 2] =
            (struct pollfd){.fd = clients[i].fd ? clients[i].fd : -1, .events = POLLIN};
    if (poll(p, CALLBACK_CLIENTS + 2, -1) < 0)
        return errno == EINTR;
    for (size_t i = 0; i < CALLBACK_CLIENTS; i++)
        if (p[i + 2].revents && !hear(&clients[i]))
            return false;
    if (p[0].revents && !carry())
        return false;
    if (p[1].revents)
        admit(listener);
    return true;
}

static const char *served;

static void end_serving(int number)
{
    (void)number;
    (void)unlink(served);
    _exit(0);
}

static int serve(const char *path)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)umask(077);
    (void)signal(SIGPIPE, SIG_IGN);
    served = path;
    (void)signal(SIGTERM, end_serving);
    if (fd < 0 || !set_address(&address, path) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(fd, CALLBACK_CLIENTS) < 0 || !tell(0, "", 0))
        return fail(path, strerror(errno));
    while (relay(fd))
        ;
    (void)unlink(path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--serve"))
        return serve(argv[2]);
    bool raw = argc > 1 && !strcmp(argv[1], "-r");
    char **words = argv + 1 + raw;
    if (*words && !strcmp(*words, "--help")) {
        (void)fputs(usage, stdout);
        return 0;
    }
    if (!*words || **words == '-') {
        (void)fputs(usage, stderr);
        return 2;
    }
    return ask(words, raw);
}
