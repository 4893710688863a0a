#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "nearby/nearby.h"
#include "os/os.h"

static void answer(void *arg, struct str request, struct buf *out)
{
    buf_printf(out, "%s heard %.*s", (const char *)arg, STR_ARGS(request));
}

struct heard {
    char text[400];
    unsigned count;
};

static bool hear(void *arg, struct str text)
{
    struct heard *h = arg;
    size_t n = strlen(h->text);
    (void)snprintf(h->text + n, sizeof h->text - n, "%.*s;", STR_ARGS(text));
    h->count++;
    return true;
}

static struct heard ask(const char *topic, const char *request)
{
    struct err e = {0};
    struct heard h = {0};
    if (!nearby_ask(topic, str_of(request), hear, &h, &e))
        fail_msg("%s", e.msg);
    return h;
}

static void all_that_listen_are_asked(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(ask("kettles", "boil").count, 0);
    struct nearby *one = nearby_listen("kettles", answer, (char[]){"one"}, &e);
    struct nearby *two = nearby_listen("kettles", answer, (char[]){"two"}, &e);
    struct nearby *other = nearby_listen("pans", answer, (char[]){"other"}, &e);
    assert_non_null(one);
    assert_non_null(two);
    assert_non_null(other);
    struct heard h = ask("kettles", "boil");
    assert_int_equal(h.count, 2);
    assert_non_null(strstr(h.text, "one heard boil;"));
    assert_non_null(strstr(h.text, "two heard boil;"));
    nearby_close(one);
    assert_string_equal(ask("kettles", "").text, "two heard ;");
    nearby_close(two);
    nearby_close(other);
    nearby_close(NULL);
    assert_int_equal(ask("kettles", "boil").count, 0);
}

static void what_a_killed_process_left_is_removed(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int folder = os_state_folder("nearby", &e);
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    (void)snprintf(sa.sun_path, sizeof sa.sun_path, "/proc/self/fd/%d/kettles-1-0",
                   folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    close(fd);
    assert_int_equal(ask("kettles", "boil").count, 0);
    assert_int_equal(faccessat(folder, "kettles-1-0", F_OK, 0), -1);
}

static void a_request_has_its_limit(void **state)
{
    (void)state;
    static char large[NEARBY_REQUEST_MAX + 1];
    struct err e = {0};
    struct heard h = {0};
    assert_false(nearby_ask("kettles", (struct str){large, sizeof large}, hear, &h, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void others_cannot_open_its_socket(void **state)
{
    (void)state;
    struct err e = {0};
    struct stat st;
    char name[40];
    scoped_fd int folder = os_state_folder("nearby", &e);
    struct nearby *n = nearby_listen("pots", answer, (char[]){"x"}, &e);
    assert_non_null(n);
    bool found = false;
    for (unsigned i = 0; i < 10 && !found; i++) {
        (void)snprintf(name, sizeof name, "pots-%d-%u", (int)getpid(), i);
        found = fstatat(folder, name, &st, 0) == 0;
    }
    assert_true(found);
    assert_int_equal(st.st_mode & 0777, 0600);
    nearby_close(n);
    assert_int_equal(fstatat(folder, name, &st, 0), -1);
}

int main(void)
{
    char home[] = "/tmp/nearby-XXXXXX";
    if (!mkdtemp(home) || setenv("XDG_STATE_HOME", home, 1) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_listen_are_asked),
        cmocka_unit_test(what_a_killed_process_left_is_removed),
        cmocka_unit_test(a_request_has_its_limit),
        cmocka_unit_test(others_cannot_open_its_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
