/* Trails: appended records are there, in order, and every change shows. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "base/home_test.h"
#include "base/kill_test.h"
#include "os/os.h"

static char place[HOME_SIZE], vault[100], folder[120];
static struct audit *audit;
static struct trail *trail;
static struct arena *arena;

static void open_again(void)
{
    audit_close(audit);
    audit = audit_open();
    trail = audit_trail(audit, vault);
}

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    if (!home_make(place))
        return -1;
    (void)snprintf(vault, sizeof vault, "%s/vault", place);
    (void)snprintf(folder, sizeof folder, "%s/.cloche/audit", vault);
    scoped_fd int dir = os_dir_make(vault, 0700, &e);
    arena = arena_new((size_t)64 << 20);
    open_again();
    return 0;
}

static int end(void **state)
{
    (void)state;
    audit_close(audit);
    audit = NULL;
    arena_free(arena);
    return folder_remove(place);
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

static bool try_append(const char *members, const char *state, bool lasting,
                       struct err *e)
{
    return trail_append(trail, str_of(members), state, STR("\"event\":\"policy\""),
                        lasting, e);
}

static void append(const char *members)
{
    struct err e = {0};
    if (!try_append(members, "one", false, &e))
        fail_msg("%s", e.msg);
}

static void append_many(unsigned n)
{
    char members[64];
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(members, sizeof members, "\"i\":%u", i);
        append(members);
    }
}

static bool collect(void *arg, struct str line, struct err *e)
{
    struct buf *b = arg;
    (void)e;
    return buf_str(b, line) && buf_char(b, '\n');
}

/* All records, one a line; lives in the arena. */
static const char *all(void)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 32 << 20);
    if (!trail_read(trail, 0, TRAIL_AS_WRITTEN, collect, &b, &e))
        fail_msg("%s", e.msg);
    return arena_copy(arena, buf_cz(&b), b.n, &e);
}

/* The first place's findings, or NULL where there is none. */
static const struct json *verify(bool *sound)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_writer w = json_writer(&b);
    if (!trail_verify(trail, &w, sound, &e))
        fail_msg("%s", e.msg);
    return json_at(json_read(buf_view(&b), arena, &e), 0);
}

static void assert_sound(int64_t records)
{
    bool sound;
    const struct json *v = verify(&sound);
    if (!sound)
        fail_msg("%.*s %.*s", STR_ARGS(json_str(json_get(json_get(v, "bad"), "why"))),
                 STR_ARGS(json_str(json_get(json_get(v, "missing"), "why"))));
    assert_int_equal(json_int(json_get(v, "records"), 0), records);
}

static void assert_bad(int64_t record)
{
    bool sound;
    const struct json *v = verify(&sound);
    assert_false(sound);
    assert_int_equal(json_int(json_get(json_get(v, "bad"), "record"), -1), record);
}

static void assert_missing(int64_t from, int64_t to)
{
    bool sound;
    const struct json *v = json_get(verify(&sound), "missing");
    assert_false(sound);
    assert_int_equal(json_int(json_get(v, "from"), -1), from);
    assert_int_equal(json_int(json_get(v, "to"), -1), to);
}

static int open_file(unsigned file, int flags)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/audit-%06u.jsonl", folder, file);
    return open(path, flags | O_CLOEXEC);
}

static struct str read_file(unsigned file)
{
    struct err e = {0};
    scoped_fd int fd = open_file(file, O_RDONLY);
    scoped_buf struct buf b;
    buf_init(&b, 32 << 20);
    assert_true(fd >= 0 && os_read_fd(fd, &b, &e));
    return (struct str){arena_copy(arena, b.at, b.n, &e), b.n};
}

static void write_file(unsigned file, struct str bytes)
{
    scoped_fd int fd = open_file(file, O_WRONLY | O_TRUNC | O_CREAT);
    assert_int_equal(write(fd, bytes.at, bytes.n), bytes.n);
}

/* ---- appending ---------------------------------------------------------- */

static void records_are_there_in_order_and_verify(void **state)
{
    (void)state;
    append("\"a\":1");
    append("\"b\":2");
    const char *text = all();
    /* The file's beginning, the state that was new, and the two. */
    assert_non_null(strstr(text, "{\"n\":1,\"time\":"));
    assert_non_null(strstr(text, "{\"n\":2,\"event\":\"policy\",\"mac\""));
    assert_non_null(strstr(text, "{\"n\":3,\"a\":1,\"mac\""));
    assert_non_null(strstr(text, "{\"n\":4,\"b\":2,\"mac\""));
    assert_sound(4);
    open_again();
    append("\"c\":3");
    assert_sound(5);
}

static void a_new_state_is_told_before_the_record(void **state)
{
    (void)state;
    struct err e = {0};
    append("\"a\":1");
    assert_true(try_append("\"b\":2", "two", true, &e));
    open_again();
    assert_true(try_append("\"c\":3", "two", true, &e));
    assert_non_null(strstr(all(), "{\"n\":4,\"event\":\"policy\""));
    assert_non_null(strstr(all(), "{\"n\":6,\"c\":3"));
    assert_sound(6);
}

static void files_go_on_in_new_ones(void **state)
{
    (void)state;
    trail_rotate_at(trail, 1000);
    append_many(40);
    scoped_fd int third = open_file(3, O_RDONLY);
    assert_true(third >= 0);
    bool sound;
    (void)verify(&sound);
    assert_true(sound);
    const char *text = all();
    unsigned next = 0;
    for (const char *at = text; (at = strstr(at, "\"i\":")); at++)
        assert_int_equal(strtoul(at + 4, NULL, 10), next++);
    assert_int_equal(next, 40);
}

static void the_last_ones_come_from_more_than_one_file(void **state)
{
    (void)state;
    struct err e = {0};
    trail_rotate_at(trail, 1000);
    append_many(40);
    for (uint64_t n = 1; n < 30; n += 7) {
        scoped_buf struct buf b;
        buf_init(&b, 1 << 20);
        assert_true(trail_read(trail, n, TRAIL_AS_WRITTEN, collect, &b, &e));
        unsigned lines = 0;
        for (size_t i = 0; i < b.n; i++)
            lines += b.at[i] == '\n';
        assert_int_equal(lines, n);
        assert_non_null(strstr(buf_cz(&b), "\"i\":39,"));
    }
}

static void following_sees_what_comes(void **state)
{
    (void)state;
    struct err e = {0};
    struct trail_place at = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    append("\"before\":1");
    trail_rotate_at(trail, 1000);
    assert_true(trail_follow(trail, &at, collect, &b, &e));
    assert_int_equal(b.n, 0);
    append_many(20);
    assert_true(trail_follow(trail, &at, collect, &b, &e));
    for (unsigned i = 0; i < 20; i++) {
        char one[20];
        (void)snprintf(one, sizeof one, "\"i\":%u,", i);
        assert_non_null(strstr(buf_cz(&b), one));
    }
    buf_clear(&b);
    assert_true(trail_follow(trail, &at, collect, &b, &e));
    assert_int_equal(b.n, 0);
}

static void a_record_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    buf_cstr(&b, "\"a\":\"");
    while (b.n < AUDIT_RECORD_MAX)
        buf_char(&b, 'x');
    buf_cstr(&b, "\"");
    assert_false(trail_append(trail, buf_view(&b), "", STR(""), false, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void kept_texts_are_found_again(void **state)
{
    (void)state;
    static const char sha[] =
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 100);
    assert_false(trail_kept(trail, sha, &b, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    e = (struct err){0};
    assert_true(trail_keep(trail, sha, STR("abc"), &e));
    assert_true(trail_keep(trail, sha, STR("abc"), &e));
    assert_true(trail_kept(trail, sha, &b, &e));
    assert_string_equal(buf_cz(&b), "abc");
    assert_false(trail_kept(trail, "../../key", &b, &e));
}

static void put_beside(const char *members, struct str beside)
{
    struct err e = {0};
    const struct trail_entry entry = {
        .members = str_of(members), .state = "one", .beside = beside};
    assert_true(trail_put(trail, &entry, &e));
}

struct last {
    uint64_t n;
    char mac[65];
};

static bool take_last(void *arg, struct str line, struct err *e)
{
    struct last *l = arg;
    const struct json *r = json_read(line, arena, e);
    l->n = (uint64_t)json_int(json_get(r, "n"), 0);
    (void)snprintf(l->mac, sizeof l->mac, "%s", json_cstr(json_get(r, "mac")));
    return r != NULL;
}

static struct last last_record(void)
{
    struct last l = {0};
    struct err e = {0};
    assert_true(trail_read(trail, 1, TRAIL_AS_WRITTEN, take_last, &l, &e));
    return l;
}

static bool is_beside(const struct last *l, const char *text)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, TRAIL_BESIDE_MAX);
    bool found = trail_beside(trail, l->n, str_of(l->mac), &b, &e);
    assert_int_equal(e.code, ERR_NONE);
    return found && !strcmp(buf_cz(&b), text);
}

static void a_line_beside_a_record_stays_for_a_while(void **state)
{
    (void)state;
    put_beside("\"a\":1", STR("a rather long line"));
    struct last first = last_record(), none;
    assert_true(is_beside(&first, "a rather long line"));
    append("\"a\":2");
    none = last_record();
    assert_false(is_beside(&none, ""));
    open_again();
    assert_true(is_beside(&first, "a rather long line"));
    none = first;
    none.mac[0] = none.mac[0] == '0' ? '1' : '0';
    assert_false(is_beside(&none, "a rather long line"));
    append_many(1022);
    assert_true(is_beside(&first, "a rather long line"));
    put_beside("\"a\":3", STR("short"));
    assert_false(is_beside(&first, "a rather long line"));
    struct last last = last_record();
    assert_true(is_beside(&last, "short"));
}

static void what_is_no_line_is_not_kept_beside(void **state)
{
    (void)state;
    static char much[TRAIL_BESIDE_MAX + 1];
    memset(much, 'x', sizeof much);
    put_beside("\"a\":1", (struct str){much, sizeof much});
    struct last l = last_record();
    assert_false(is_beside(&l, ""));
    put_beside("\"a\":2", STR("two\nlines"));
    l = last_record();
    assert_false(is_beside(&l, "two"));
}

static void what_lies_in_the_place_of_lines_is_left_alone(void **state)
{
    (void)state;
    char name[140], other[140];
    append("\"a\":1");
    (void)snprintf(name, sizeof name, "%s/beside.ring", folder);
    (void)snprintf(other, sizeof other, "%s/other", place);
    assert_int_equal(mkfifo(name, 0600), 0);
    put_beside("\"a\":2", STR("text"));
    struct last l = last_record();
    assert_false(is_beside(&l, "text"));
    (void)unlink(name);
    scoped_fd int fd = open(other, O_CREAT | O_RDWR, 0600);
    assert_int_equal(link(other, name), 0);
    put_beside("\"a\":3", STR("text"));
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
}

/* ---- tampering ---------------------------------------------------------- */

static void a_change_of_any_byte_is_found(void **state)
{
    (void)state;
    append_many(3);
    assert_sound(5);
    struct str whole = read_file(1);
    char *copy = arena_get(arena, whole.n, &(struct err){0});
    for (size_t i = 0; i < whole.n; i++) {
        memcpy(copy, whole.at, whole.n);
        copy[i] ^= 1;
        write_file(1, (struct str){copy, whole.n});
        bool sound;
        (void)verify(&sound);
        if (sound)
            fail_msg("byte %zu of %zu", i, whole.n);
    }
    write_file(1, whole);
    assert_sound(5);
}

static size_t line_start(struct str text, unsigned line)
{
    size_t at = 0;
    while (line-- > 0)
        at =
            (size_t)((const char *)memchr(text.at + at, '\n', text.n - at) - text.at) + 1;
    return at;
}

static void the_first_bad_record_is_named(void **state)
{
    (void)state;
    append_many(8);
    struct str whole = read_file(1);
    size_t fourth = line_start(whole, 3), sixth = line_start(whole, 5);
    char *copy = arena_copy(arena, whole.at, whole.n, &(struct err){0});
    copy[sixth + 8] ^= 1;
    write_file(1, (struct str){copy, whole.n});
    assert_bad(6);
    copy[fourth + 8] ^= 1;
    write_file(1, (struct str){copy, whole.n});
    assert_bad(4);
    /* Removed, and swapped. */
    memcpy(copy, whole.at, fourth);
    size_t fifth = line_start(whole, 4);
    memcpy(copy + fourth, whole.at + fifth, whole.n - fifth);
    write_file(1, (struct str){copy, whole.n - (fifth - fourth)});
    assert_bad(4);
    memcpy(copy, whole.at, fourth);
    memcpy(copy + fourth, whole.at + fifth, sixth - fifth);
    memcpy(copy + fourth + (sixth - fifth), whole.at + fourth, fifth - fourth);
    memcpy(copy + sixth, whole.at + sixth, whole.n - sixth);
    write_file(1, (struct str){copy, whole.n});
    assert_bad(4);
    write_file(1, whole);
    assert_sound(10);
}

static void a_cut_tail_shows_and_stays_visible(void **state)
{
    (void)state;
    append_many(8);
    struct str whole = read_file(1);
    write_file(1, (struct str){whole.at, line_start(whole, 7)});
    assert_missing(8, 10);
    /* Further records do not hide it. */
    append("\"later\":1");
    assert_non_null(strstr(all(), "the last one was cut"));
    assert_bad(8);
    open_again();
    append("\"later\":2");
    assert_bad(8);
}

static void a_cut_within_a_record_shows(void **state)
{
    (void)state;
    append_many(3);
    struct str whole = read_file(1);
    write_file(1, (struct str){whole.at, whole.n - 1});
    bool sound;
    (void)verify(&sound);
    assert_false(sound);
    write_file(1, (struct str){whole.at, whole.n - 40});
    assert_bad(5);
}

static void a_removed_file_and_a_removed_folder_show(void **state)
{
    (void)state;
    char command[200];
    trail_rotate_at(trail, 1000);
    append_many(40);
    (void)snprintf(command, sizeof command, "rm %s/audit-000002.jsonl", folder);
    assert_int_equal(system(command), 0);
    bool sound;
    const struct json *v = verify(&sound);
    assert_false(sound);
    assert_true(
        str_is(json_str(json_get(json_get(v, "bad"), "file")), "audit-000002.jsonl"));
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    v = verify(&sound);
    assert_false(sound);
    assert_non_null(json_get(v, "missing"));
    /* Also by a process that had it open, and goes on. */
    append("\"later\":1");
    (void)verify(&sound);
    assert_false(sound);
}

static void what_was_added_by_another_shows(void **state)
{
    (void)state;
    append_many(3);
    struct str whole = read_file(1);
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    buf_str(&b, whole);
    buf_str(&b, (struct str){whole.at + line_start(whole, 4),
                             whole.n - line_start(whole, 4)});
    write_file(1, buf_view(&b));
    assert_bad(6);
    append("\"later\":1");
    assert_non_null(strstr(all(), "the last one was added to"));
    assert_bad(6);
}

static void no_record_passes_in_another_trail(void **state)
{
    (void)state;
    append_many(3);
    char command[400], other[110];
    (void)snprintf(other, sizeof other, "%s/other", place);
    (void)snprintf(command, sizeof command, "cp -r %s %s", vault, other);
    assert_int_equal(system(command), 0);
    trail = audit_trail(audit, other);
    bool sound;
    (void)verify(&sound);
    assert_false(sound); /* no end of it is recorded here */
    append("\"mine\":1");
    const struct json *v = verify(&sound);
    assert_true(sound);
    assert_non_null(json_get(v, "before"));
    trail = audit_trail(audit, vault);
    assert_sound(5);
}

/* ---- several, and the end of one ---------------------------------------- */

static void *append_from_thread(void *arg)
{
    (void)arg;
    append_many(50);
    return NULL;
}

static void threads_append_whole_records(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (size_t i = 0; i < LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, append_from_thread, NULL), 0);
    for (size_t i = 0; i < LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
    assert_sound(8 * 50 + 2);
    assert_int_equal(audit_appended(audit), 400);
}

static _Noreturn void child(unsigned n, bool lasting)
{
    struct audit *own = audit_open();
    struct trail *t = audit_trail(own, vault);
    for (unsigned i = 0; n == 0 || i < n; i++) {
        struct err e = {0};
        if (!trail_append(t, STR("\"child\":1"), "one", STR(""), lasting, &e))
            _exit(1);
    }
    audit_close(own);
    _exit(0);
}

static void processes_append_to_one_trail(void **state)
{
    (void)state;
    pid_t pids[4];
    for (size_t i = 0; i < LENGTH(pids); i++)
        if ((pids[i] = fork()) == 0)
            child(50, i == 0);
    append_many(50);
    for (size_t i = 0; i < LENGTH(pids); i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    bool sound;
    (void)verify(&sound);
    assert_true(sound);
    unsigned records = 0;
    for (const char *at = all(); (at = strstr(at, "\"child\":1")); at++)
        records++;
    assert_int_equal(records, 200);
}

static void one_that_is_killed_leaves_a_sound_trail(void **state)
{
    (void)state;
    unsigned killed = 0;
    for (unsigned round = 0; round < 30; round++) {
        pid_t pid = fork();
        if (pid == 0)
            child(0, round % 3 == 0);
        killed += kill_at_stop(pid, 1 + 7 * round);
        append("\"mine\":1");
        struct err e = {0};
        bool sound;
        scoped_buf struct buf b;
        buf_init(&b, 1 << 20);
        struct json_writer w = json_writer(&b);
        if (!trail_verify(trail, &w, &sound, &e) || !sound)
            fail_msg("round %u: %s %s", round, e.msg, buf_cz(&b));
    }
    assert_true(killed > 0);
}

/* ---- where it cannot be written ----------------------------------------- */

static void a_full_disk_is_told_and_leaves_no_half_record(void **state)
{
    (void)state;
    append_many(3);
    struct err e = {0};
    struct rlimit old,
        tight = {.rlim_cur = read_file(1).n + 30, .rlim_max = RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    bool ok = try_append("\"lost\":1", "one", false, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(ok);
    assert_int_equal(e.code, ERR_IO);
    assert_int_equal(audit_lost(audit), 1);
    assert_sound(5);
    e = (struct err){0};
    assert_true(trail_ready(trail, &e));
    append("\"again\":1");
    assert_sound(6);
}

static void a_folder_that_is_a_link_is_left_for_the_users_own(void **state)
{
    (void)state;
    char path[200], own[100];
    struct err e = {0};
    (void)snprintf(own, sizeof own, "%s/elsewhere", place);
    scoped_fd int dir = os_dir_make(own, 0700, &e);
    (void)snprintf(path, sizeof path, "%s/.cloche", vault);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(own, folder), 0);
    append("\"a\":1");
    assert_sound(3);
    (void)snprintf(path, sizeof path, "%s/audit-000001.jsonl", own);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_file_that_stands_in_the_way_is_never_written(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int dir = os_dir_open(vault, &e);
    assert_true(os_make_dirs(dir, ".cloche/audit", &e));
    write_file(1, STR("a stranger's\n"));
    append("\"a\":1");
    assert_true(str_is(read_file(1), "a stranger's\n"));
    assert_sound(3);
}

static void without_a_place_for_the_key_nothing_is_appended(void **state)
{
    (void)state;
    struct err e = {0};
    (void)setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
    assert_false(trail_ready(trail, &e));
    e = (struct err){0};
    assert_false(try_append("\"a\":1", "one", false, &e));
    (void)setenv("XDG_STATE_HOME", place, 1);
    append("\"a\":1");
    assert_sound(3);
}

static void the_users_own_trail_needs_no_vault(void **state)
{
    (void)state;
    trail = audit_trail(audit, NULL);
    append("\"a\":1");
    assert_sound(3);
    open_again();
    bool sound;
    assert_null(verify(&sound));
    assert_true(sound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(records_are_there_in_order_and_verify),
        test(a_new_state_is_told_before_the_record),
        test(files_go_on_in_new_ones),
        test(the_last_ones_come_from_more_than_one_file),
        test(following_sees_what_comes),
        test(a_record_that_is_too_long_is_refused),
        test(kept_texts_are_found_again),
        test(a_line_beside_a_record_stays_for_a_while),
        test(what_is_no_line_is_not_kept_beside),
        test(what_lies_in_the_place_of_lines_is_left_alone),
        test(a_change_of_any_byte_is_found),
        test(the_first_bad_record_is_named),
        test(a_cut_tail_shows_and_stays_visible),
        test(a_cut_within_a_record_shows),
        test(a_removed_file_and_a_removed_folder_show),
        test(what_was_added_by_another_shows),
        test(no_record_passes_in_another_trail),
        test(threads_append_whole_records),
        test(processes_append_to_one_trail),
        test(one_that_is_killed_leaves_a_sound_trail),
        test(a_full_disk_is_told_and_leaves_no_half_record),
        test(a_folder_that_is_a_link_is_left_for_the_users_own),
        test(a_file_that_stands_in_the_way_is_never_written),
        test(without_a_place_for_the_key_nothing_is_appended),
        test(the_users_own_trail_needs_no_vault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
