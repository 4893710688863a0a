/* Trails read from their end, and foreign files that came with a vault. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "base/home_test.h"
#include "os/os.h"

#define LONG_LINE ((size_t)100000)

static char place[HOME_SIZE], vault[100];
static struct audit *audit;
static struct trail *trail;
static struct buf heard;

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    if (!home_make(place))
        return -1;
    (void)snprintf(vault, sizeof vault, "%s/vault", place);
    scoped_fd int dir = os_dir_make(vault, 0700, &e);
    audit = audit_open();
    trail = audit_trail(audit, vault);
    buf_init(&heard, 32 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    audit_close(audit);
    buf_done(&heard);
    return folder_remove(place);
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void append_many(unsigned n)
{
    char members[64];
    struct err e = {0};
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(members, sizeof members, "\"i\":%u", i);
        if (!trail_append(trail, str_of(members), "one", STR(""), false, &e))
            fail_msg("%s", e.msg);
    }
}

/* A foreign file, beside or in place of the trail's own. */
static int strange_file(const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/.cloche/audit/%s", vault, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static bool collect(void *arg, struct str line, struct err *e)
{
    (void)arg;
    (void)e;
    return buf_str(&heard, line) && buf_char(&heard, '\n');
}

static bool read_count(struct trail *t, trail_line_fn *each, void *arg, struct err *e)
{
    return trail_read(t, 100, TRAIL_AS_WRITTEN, each, arg, e);
}

typedef bool reading(struct trail *t, trail_line_fn *each, void *arg, struct err *e);

/* Fails, and names the file. */
static const char *heard_of_odd(reading *read, const char *file)
{
    struct err e = {0};
    char said[80];
    buf_clear(&heard);
    assert_false(read(trail, collect, NULL, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    (void)snprintf(said, sizeof said, "/.cloche/audit/%s has a line", file);
    assert_non_null(strstr(e.msg, said));
    return buf_cz(&heard);
}

static void a_hole_without_end_is_given_up_and_named(void **state)
{
    (void)state;
    append_many(5);
    int fd = strange_file("audit-400000.jsonl");
    assert_int_equal(ftruncate(fd, (off_t)300 << 30), 0);
    close(fd);
    reading *const all_ways[] = {trail_back, trail_each, read_count};
    for (size_t i = 0; i < LENGTH(all_ways); i++)
        assert_non_null(
            strstr(heard_of_odd(all_ways[i], "audit-400000.jsonl"), "\"i\":4"));
    scoped_buf struct buf found;
    buf_init(&found, 1 << 16);
    struct json_writer w = json_writer(&found);
    struct err e = {0};
    bool sound;
    assert_true(trail_verify(trail, &w, &sound, &e));
    assert_true(trail_bytes(trail) < (uint64_t)1 << 24); /* holes take no room */
}

static void a_hole_behind_our_records_is_found(void **state)
{
    (void)state;
    append_many(5);
    audit_close(audit);
    int fd = strange_file("audit-000001.jsonl");
    assert_int_equal(ftruncate(fd, (off_t)300 << 30), 0);
    close(fd);
    audit = audit_open();
    trail = audit_trail(audit, vault);
    scoped_buf struct buf found;
    buf_init(&found, 1 << 16);
    struct json_writer w = json_writer(&found);
    struct err e = {0};
    bool sound = true;
    assert_true(trail_verify(trail, &w, &sound, &e));
    assert_false(sound);
    assert_non_null(strstr(buf_cz(&found), "longer than any record"));
    append_many(5); /* continues in another file */
    assert_non_null(strstr(heard_of_odd(trail_back, "audit-000001.jsonl"), "\"i\":4"));
}

static void what_lies_before_a_long_line_is_told_from_either_end(void **state)
{
    (void)state;
    append_many(3);
    char *text = mem_new(LONG_LINE);
    memset(text, 'x', LONG_LINE);
    int fd = strange_file("audit-000002.jsonl");
    dprintf(fd, "{\"time\":\"2020\",\"first\":1}\n");
    assert_int_equal(write(fd, text, LONG_LINE), LONG_LINE);
    dprintf(fd, "\n{\"time\":\"2021\",\"last\":1}\n");
    close(fd);
    free(text);
    const char *said = heard_of_odd(trail_back, "audit-000002.jsonl");
    assert_non_null(strstr(said, "\"last\":1"));
    assert_null(strstr(said, "\"first\":1"));
    said = heard_of_odd(trail_each, "audit-000002.jsonl");
    assert_non_null(strstr(said, "\"first\":1"));
    assert_null(strstr(said, "\"last\":1"));
}

/* Also around the block sizes in which a file is read. */
static void the_newest_come_first_however_long_the_lines_are(void **state)
{
    (void)state;
    struct err e = {0};
    append_many(1);
    char *text = mem_new(AUDIT_RECORD_MAX);
    memset(text, 'x', AUDIT_RECORD_MAX);
    int fd = strange_file("audit-000002.jsonl");
    for (int i = 0; i < 400; i++) {
        int n = i % 4 == 0 ? (int)AUDIT_RECORD_MAX - i / 4 : i * 7;
        dprintf(fd, "%.*s%04d\n", n < 4 ? 0 : n - 4, text, i);
    }
    dprintf(fd, "this line has no end");
    close(fd);
    free(text);
    assert_true(trail_back(trail, collect, NULL, &e));
    const char *at = buf_cz(&heard);
    for (int next = 399; next >= 0; next--) {
        const char *line = at + strspn(at, "x");
        assert_int_equal(strtol(line, NULL, 10), next);
        at = strchr(line, '\n') + 1;
    }
    assert_non_null(strstr(at, "\"i\":0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_hole_without_end_is_given_up_and_named),
        test(a_hole_behind_our_records_is_found),
        test(what_lies_before_a_long_line_is_told_from_either_end),
        test(the_newest_come_first_however_long_the_lines_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
