#include "http/tls_test.h"
#include "base/home_test.h"
#include "http/client_test.h"

static char folder[HOME_SIZE];
static char path_text[8][64];

/* FOLDER/NAME, in a rotating buffer. */
static const char *in_folder(const char *name)
{
    static unsigned turn;
    char *text = path_text[turn++ % LENGTH(path_text)];
    (void)snprintf(text, sizeof path_text[0], "%s/%s", folder, name);
    return text;
}

static void copy_file(const char *from, const char *to)
{
    scoped_buf struct buf text;
    buf_init(&text, 1 << 20);
    int fd = open(in_folder(from), O_RDONLY);
    assert_true(fd >= 0);
    ssize_t n = read(fd, buf_room(&text, 1 << 16), 1 << 16);
    assert_true(n > 0);
    close(fd);
    /* Replaced as a whole, as tools that renew certificates do. */
    const char *beside = in_folder("beside");
    fd = open(beside, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_int_equal(write(fd, text.at, (size_t)n), n);
    close(fd);
    assert_int_equal(rename(beside, in_folder(to)), 0);
}

static bool begin(void *arg, struct http_request *rq, struct http_response *rs,
                  void **work)
{
    (void)arg;
    (void)work;
    http_say(rs, 200, "local=%d", http_is_local(rq));
    return true;
}

static const struct http_route routes[] = {{.path = "/", .begin = begin}};

static struct http_server *open_with(const char *cert, const char *key, struct err *e)
{
    struct http_options o = {.listen = "127.0.0.1:0",
                             .routes = routes,
                             .n_routes = 1,
                             .workers = 1,
                             .tls_cert = cert,
                             .tls_key = key};
    struct http_server *s = http_open(&o, e);
    if (s)
        port = (uint16_t)atoi(strrchr(http_url(s), ':') + 1);
    return s;
}

static void a_server_with_a_certificate_speaks_tls(void **state)
{
    (void)state;
    struct err e = {0};
    struct http_server *s = open_with(in_folder("one.crt"), in_folder("one.key"), &e);
    assert_non_null(s);
    assert_memory_equal(http_url(s), "https://127.0.0.1:", 18);
    int fd = tunnel_open(call());
    ask(fd, "GET", "/");
    say(fd, "Connection: close\r\n\r\n");
    const char *heard = hear(fd);
    assert_status(heard, 200);
    assert_says(heard, "local=1");
    /* Plain HTTP gets no answer. */
    fd = call();
    say(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); /* once: it may hang up */
    assert_null(strstr(hear(fd), "HTTP/"));
    http_close(s, 0);
}

static void old_versions_of_tls_are_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct http_server *s = open_with(in_folder("one.crt"), in_folder("one.key"), &e);
    assert_int_equal(handshake(call(), "NORMAL:-VERS-ALL:+VERS-TLS1.3"), 1);
    assert_int_equal(handshake(call(), "NORMAL:-VERS-ALL:+VERS-TLS1.2"), 1);
    assert_int_equal(handshake(call(), "NORMAL:-VERS-ALL:+VERS-TLS1.1"), 0);
    assert_int_equal(handshake(call(), "NORMAL:-VERS-ALL:+VERS-TLS1.0"), 0);
    http_close(s, 0);
}

static void files_that_are_no_pair_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *cert, *key;
        enum err_code code;
        const char *says;
    } wrong[] = {
        {"one.crt", "two.key", ERR_INVALID, "is not that of"},
        {"one.key", "one.key", ERR_INVALID, "holds no PEM certificate"},
        {"one.crt", "one.crt", ERR_INVALID, "holds no PEM private key"},
        {"one.crt", "none.key", ERR_NOT_FOUND, "none.key"},
        {"none.crt", "one.key", ERR_NOT_FOUND, "none.crt"},
        {"one.crt", NULL, ERR_INVALID, "both"},
        {NULL, "one.key", ERR_INVALID, "both"},
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct err e = {0};
        assert_null(open_with(wrong[i].cert ? in_folder(wrong[i].cert) : NULL,
                              wrong[i].key ? in_folder(wrong[i].key) : NULL, &e));
        assert_int_equal(e.code, wrong[i].code);
        assert_says(e.msg, wrong[i].says);
    }
}

/* Files are looked at once a second at most: handshakes until then. */
static void a_new_certificate_is_taken_up(void **state)
{
    (void)state;
    struct err e = {0};
    copy_file("one.crt", "now.crt");
    copy_file("one.key", "now.key");
    struct http_server *s = open_with(in_folder("now.crt"), in_folder("now.key"), &e);
    assert_int_equal(handshake(call(), "NORMAL"), 1);
    copy_file("two.crt", "now.crt"); /* the key is not there yet */
    assert_int_equal(handshake(call(), "NORMAL"), 1);
    copy_file("two.key", "now.key");
    unsigned serial = 0;
    while ((serial = handshake(call(), "NORMAL")) == 1)
        ; /* or the test never ends */
    assert_int_equal(serial, 2);
    http_close(s, 0);
}

static int make_folder(void **state)
{
    (void)state;
    must(folder_make(folder));
    make_certificate(folder, "one", 1);
    make_certificate(folder, "two", 2);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_with_a_certificate_speaks_tls),
        cmocka_unit_test(old_versions_of_tls_are_refused),
        cmocka_unit_test(files_that_are_no_pair_are_refused),
        cmocka_unit_test(a_new_certificate_is_taken_up),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
