/* Machines with a kernel of our own (guest/vm/probe), which speaks init's protocol and
 * obeys the test. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "engine/traps_test.h"
#include "os/os.h"
#include "vm/frames.h"
#include "vm/image.h"

#define KERNEL "build/probe/machine.Image"
#define RAM_MB 64u
#define OUT_MAX ((size_t)64 << 20)

/* ---- a folder with an image ---------------------------------------------------- */

static struct engine *g;
static char top[HOME_SIZE];

static const char *in_top(const char *name)
{
    static char path[4][128];
    static int turn;
    char *p = path[turn++ % 4];
    (void)snprintf(p, 128, "%s/%s", top, name);
    return p;
}

static void make_file(const char *name, const char *from, off_t size)
{
    struct err e = {0};
    scoped_buf struct buf bytes;
    buf_init(&bytes, 1 << 20);
    scoped_fd int to = open(in_top(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    scoped_fd int in = from ? open(from, O_RDONLY | O_CLOEXEC) : -1;
    assert_true(to >= 0 && (!from || (in >= 0 && os_read_fd(in, &bytes, &e))));
    assert_int_equal(write(to, bytes.at ? bytes.at : "", bytes.n), bytes.n);
    assert_int_equal(ftruncate(to, size ? size : (off_t)bytes.n), 0);
}

static int make_image(void **state)
{
    (void)state;
    struct err e = {0};
    const char *guest = getenv("CLOCHE_GUEST");
    char *whole = realpath(guest ? guest : "build/guest", NULL);
    assert_true(folder_make(top));
    assert_true(whole && symlink(whole, in_top("guest")) == 0);
    free(whole);
    assert_int_equal(mkdir(in_top("vm"), 0755), 0);
    make_file("vm/Image", KERNEL, 0);
    make_file("vm/root.erofs", NULL, 65536);
    make_file("vm/disk.ext4", NULL, 16 << 20);
    static char ahead[128]; /* the engine borrows it */
    (void)snprintf(ahead, sizeof ahead, "%s/guest/ahead", top);
    g = engine_open(&(struct engine_options){.ahead = ahead}, &e);
    scoped(images_close) struct images *i = images_open_raw(g, in_top("vm"), NULL, &e);
    if (!i || !images_bake(i, RAM_MB, &e))
        fail_msg("%s", e.msg);
    return 0;
}

static int remove_image(void **state)
{
    (void)state;
    engine_close(g);
    return folder_remove(top);
}

static struct images *open_images(void)
{
    struct err e = {0};
    struct images *i = images_open_raw(g, in_top("vm"), in_top("cache"), &e);
    if (!i)
        fail_msg("%s", e.msg);
    return i;
}

/* ---- the test's side -------------------------------------------------------------- */

struct speaker {
    struct machine *machine;
    struct frames frames;
    uint32_t last; /* id of a command */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t ready, done;
    struct buf out;
    struct err end;
    int ended;
    uint64_t computed_ns; /* CPU time of the machine's thread */
};

static void said(void *arg, struct str bytes)
{
    struct speaker *s = arg;
    struct frame f;
    struct err e = {0};
    while (frames_next(&s->frames, &bytes, &f, &e) == FRAMES_ONE) {
        pthread_mutex_lock(&s->lock);
        s->ready += f.verb == VM_READY;
        if (f.verb == VM_OUT)
            buf_str(&s->out, f.payload);
        if (f.verb == VM_EXIT)
            s->done = f.id;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    assert_int_equal(e.code, ERR_NONE);
}

static void ended(void *arg, const struct err *why)
{
    struct speaker *s = arg;
    pthread_mutex_lock(&s->lock);
    s->end = *why;
    s->ended++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static uint64_t most_ns = UINT64_MAX; /* that a machine may use */

static bool computed(void *arg, uint64_t cpu_ns, struct err *why)
{
    struct speaker *s = arg;
    assert_true(cpu_ns >= s->computed_ns);
    s->computed_ns = cpu_ns;
    return cpu_ns < most_ns || err_set(why, ERR_LIMIT, "others have used it up");
}

static void send_frame(struct speaker *s, uint32_t id, uint16_t verb, struct str payload)
{
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    frame_put(&b, id, verb, payload);
    machine_send(s->machine, buf_view(&b));
}

static bool wait_for(struct speaker *s, const uint32_t *what, uint32_t value)
{
    pthread_mutex_lock(&s->lock);
    while (*what != value && !s->ended)
        pthread_cond_wait(&s->changed, &s->lock);
    bool came = *what == value;
    pthread_mutex_unlock(&s->lock);
    return came;
}

static struct speaker *speaker_with(struct images *i, struct machine_options o)
{
    struct err e = {0};
    struct speaker *s = mem_new(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    frames_init(&s->frames);
    buf_init(&s->out, OUT_MAX);
    o.ram_mb = o.ram_mb ? o.ram_mb : RAM_MB;
    o.disk_bytes = o.disk_bytes ? o.disk_bytes : 1 << 20;
    o.cpu_ns = o.cpu_ns ? o.cpu_ns : UINT64_MAX;
    struct machine_events events = {said, ended, computed, s};
    s->machine = machine_open(i, &o, &events, &e);
    if (!s->machine)
        fail_msg("%s", e.msg);
    struct vm_resume r = {0};
    send_frame(s, 0, VM_RESUME, (struct str){(const char *)&r, sizeof r});
    assert_true(wait_for(s, &s->ready, 1));
    return s;
}

static struct speaker *speaker_new(struct images *i)
{
    return speaker_with(i, (struct machine_options){0});
}

static void speaker_free(struct speaker *s)
{
    machine_close(s->machine);
    assert_int_equal(s->ended, 1); /* once, whatever happened */
    frames_done(&s->frames);
    buf_done(&s->out);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
SCOPED(speaker, speaker_free);

static void tell(struct speaker *s, const char *words)
{
    struct vm_exec_head head = {.session = 1};
    buf_clear(&s->out);
    send_frame(s, ++s->last, VM_TEXT, str_of(words));
    send_frame(s, s->last, VM_EXEC, (struct str){(const char *)&head, sizeof head});
}

static const char *ask(struct speaker *s, const char *words)
{
    tell(s, words);
    if (!wait_for(s, &s->done, s->last))
        fail_msg("%s: %s", words, s->end.msg);
    return buf_cz(&s->out);
}

static void assert_ends(struct speaker *s, enum err_code code, const char *why)
{
    uint32_t never = 0;
    (void)wait_for(s, &never, 1);
    assert_int_equal(s->end.code, code);
    if (!strstr(s->end.msg, why))
        fail_msg("'%s' does not say '%s'", s->end.msg, why);
}

/* ---- behaviour ----------------------------------------------------------------------- */

static void a_machine_goes_on_from_its_image(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    scoped(speaker_free) struct speaker *s = speaker_new(i);
    assert_string_equal(ask(s, "print hello"), "hello");
    assert_string_equal(ask(s, "print again"), "again");
    assert_int_equal(ask(s, "flood 10000000") != NULL, 1);
    assert_int_equal(s->out.n, 10000000);
}

static void machines_of_one_image_share_nothing(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    scoped(speaker_free) struct speaker *a = speaker_new(i);
    scoped(speaker_free) struct speaker *b = speaker_new(i);
    assert_string_equal(ask(a, "touch 2000"), "2000");
    assert_string_equal(ask(a, "write 20 65"), "ok");
    assert_string_equal(ask(a, "read 19"), "65");
    assert_string_equal(ask(b, "read 19"), "0");
    scoped(speaker_free) struct speaker *c = speaker_new(i);
    assert_string_equal(ask(c, "read 19"), "0");
}

static void a_hundred_machines_have_chance_and_time_of_their_own(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    static char seen[100][32];
    for (size_t k = 0; k < LENGTH(seen); k++) {
        scoped(speaker_free) struct speaker *s = speaker_new(i);
        uint64_t first = strtoull(ask(s, "time"), NULL, 10);
        assert_true(strtoull(ask(s, "time"), NULL, 10) > first);
        (void)snprintf(seen[k], sizeof seen[k], "%s", ask(s, "entropy"));
        for (size_t n = 0; n < k; n++)
            assert_string_not_equal(seen[n], seen[k]);
    }
}

static void how_a_machine_ended_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *words, *why;
    } ends[] = {{"off", "switched off from within"},
                {"reboot", "restarted from within"},
                {"panic", "kernel gave up: Kernel panic - not syncing: it was told to"},
                {"halt", "waits for interrupts"},
                {"astray", "trap handler"}};
    scoped(images_close) struct images *i = open_images();
    for (size_t k = 0; k < LENGTH(ends); k++) {
        scoped(speaker_free) struct speaker *s = speaker_new(i);
        tell(s, ends[k].words);
        assert_ends(s, ERR_GUEST, ends[k].why);
        machine_send(s->machine, STR("nobody hears that"));
        assert_int_equal(machine_usage(s->machine).memory_bytes, 0);
    }
}

static void a_machine_that_computes_is_stopped_at_once(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    scoped(speaker_free) struct speaker *s = speaker_new(i);
    tell(s, "spin");
    machine_stop(s->machine,
                 &(struct err){.code = ERR_DENIED, .msg = "as the test said"});
    machine_stop(s->machine, &(struct err){.code = ERR_BUSY, .msg = "too late"});
    assert_ends(s, ERR_DENIED, "as the test said");
    scoped(speaker_free) struct speaker *other = speaker_new(i);
    tell(other, "spin"); /* closed while it runs */
}

static void computing_time_is_limited(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    scoped(speaker_free) struct speaker *s =
        speaker_with(i, (struct machine_options){.cpu_ns = 100000000});
    tell(s, "spin");
    assert_ends(s, ERR_LIMIT, "computing time");
    /* Short steps count by the time that passed, which on a busy computer is more. */
    assert_true(machine_usage(s->machine).cpu_ns >= 90000000);
}

static void whoever_counts_computing_time_can_end_it(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    most_ns = 100000000;
    scoped(speaker_free) struct speaker *s = speaker_new(i);
    tell(s, "spin");
    assert_ends(s, ERR_LIMIT, "others have used it up");
    assert_true(s->computed_ns >= most_ns);
    assert_int_equal(machine_usage(s->machine).cpu_ns, s->computed_ns);
    most_ns = UINT64_MAX;
    scoped(speaker_free) struct speaker *idle = speaker_new(i);
    assert_string_equal(ask(idle, "read 19"), "0");
    assert_true(machine_usage(idle->machine).cpu_ns > 0); /* at this moment, not later */
}

static void what_may_be_written_to_the_disk_is_limited(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    scoped(speaker_free) struct speaker *s =
        speaker_with(i, (struct machine_options){.disk_bytes = 65536});
    assert_string_equal(ask(s, "write 128 7"), "ok");
    assert_string_equal(ask(s, "write 129 8"), "failed");
    assert_string_equal(ask(s, "read 127"), "8");
    assert_string_equal(ask(s, "read 128"), "0");
    assert_string_equal(ask(s, "print on"), "on");
}

static bool has_nameless_file_in(const char *folder)
{
    bool has = false;
    for (int fd = 0; fd < 256 && !has; fd++) {
        char name[64], path[512];
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(name, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        has = !strncmp(path, folder, strlen(folder)) && strstr(path, " (deleted)");
    }
    return has;
}

static void what_is_written_to_the_disk_takes_no_memory(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    scoped(speaker_free) struct speaker *s = speaker_new(i);
    assert_false(has_nameless_file_in(in_top("cache/")));
    assert_string_equal(ask(s, "write 20 65"), "ok");
    assert_true(has_nameless_file_in(in_top("cache/")));
}

static void many_machines_run_at_once(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    struct speaker *s[16];
    for (size_t k = 0; k < LENGTH(s); k++)
        s[k] = speaker_new(i);
    for (size_t k = 0; k < LENGTH(s); k++)
        tell(s[k], k % 4 == 3 ? "spin" : "flood 1000000");
    for (size_t k = 0; k < LENGTH(s); k++)
        if (k % 4 != 3)
            assert_true(wait_for(s[k], &s[k]->done, 1));
    for (size_t k = 0; k < LENGTH(s); k++)
        speaker_free(s[k]);
}

/* ---- images ------------------------------------------------------------------------------ */

static ino_t cached_file(unsigned *count)
{
    struct err e = {0};
    struct stat st = {0};
    char command[256], name[256] = "";
    (void)e;
    *count = 0;
    (void)snprintf(command, sizeof command, "ls %s/cache/*.mem 2>/dev/null", top);
    FILE *f = popen(command, "re");
    while (f && fgets(name, sizeof name, f))
        ++*count;
    pclose(f);
    name[strcspn(name, "\n")] = 0;
    assert_int_equal(stat(name, &st), 0);
    return st.st_ino;
}

static void *use_other_size(void *images)
{
    struct speaker *s = speaker_with(images, (struct machine_options){.ram_mb = 80});
    assert_string_equal(ask(s, "print hello"), "hello");
    speaker_free(s);
    return NULL;
}

static void another_size_is_baked_once_and_kept(void **state)
{
    (void)state;
    unsigned count;
    struct images *i = open_images(), *other = open_images();
    pthread_t t[4];
    for (size_t k = 0; k < LENGTH(t); k++)
        pthread_create(&t[k], NULL, use_other_size, k % 2 ? i : other);
    for (size_t k = 0; k < LENGTH(t); k++)
        pthread_join(t[k], NULL);
    ino_t file = cached_file(&count);
    assert_int_equal(count, 1);
    images_close(i);
    images_close(other);
    i = open_images();
    use_other_size(i);
    assert_int_equal(cached_file(&count), file);
    images_close(i);
}

static void assert_no_machine(struct images *i, uint32_t ram_mb, enum err_code code)
{
    struct err e = {0};
    struct machine_events none = {.output = said, .ended = ended};
    struct machine_options o = {
        .ram_mb = ram_mb, .disk_bytes = 4096, .cpu_ns = UINT64_MAX};
    assert_null(machine_open(i, &o, &none, &e));
    assert_int_equal(e.code, code);
}

static void sizes_that_no_machine_has_are_refused(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(images_close) struct images *i = open_images();
    assert_no_machine(i, 63, ERR_INVALID);
    assert_no_machine(i, 1025, ERR_INVALID);
    scoped(images_close) struct images *alone =
        images_open_raw(g, in_top("vm"), NULL, &e);
    assert_no_machine(alone, 128, ERR_NOT_FOUND);
    assert_null(images_open(g, in_top("nowhere"), NULL, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void an_image_that_is_damaged_or_anothers_is_refused(void **state)
{
    (void)state;
    static const struct {
        off_t at;
        size_t cut; /* 0: the byte there is changed */
    } damages[] = {{0, 0}, {20, 0}, {50, 0}, {0, 1}, {0, 5000}};
    char command[512], file[128];
    (void)snprintf(file, sizeof file, "%s/vm/machine-64.mem", top);
    for (size_t k = 0; k < LENGTH(damages); k++) {
        (void)snprintf(command, sizeof command,
                       "cp --sparse=always %s %s/kept && chmod 600 %s", file, top, file);
        assert_int_equal(system(command), 0);
        scoped_fd int fd = open(file, O_RDWR | O_CLOEXEC);
        char byte;
        assert_int_equal(pread(fd, &byte, 1, damages[k].at), 1);
        byte ^= 1;
        struct stat st;
        assert_int_equal(fstat(fd, &st), 0);
        if (damages[k].cut)
            assert_int_equal(ftruncate(fd, st.st_size - (off_t)damages[k].cut), 0);
        else
            assert_int_equal(pwrite(fd, &byte, 1, damages[k].at), 1);
        scoped(images_close) struct images *i = open_images();
        assert_no_machine(i, RAM_MB, ERR_INVALID);
        (void)snprintf(command, sizeof command, "mv %s/kept %s", top, file);
        assert_int_equal(system(command), 0);
    }
}

static void an_image_that_is_cut_short_costs_its_machines_alone(void **state)
{
    (void)state;
    scoped(images_close) struct images *i = open_images();
    scoped(speaker_free) struct speaker *s =
        speaker_with(i, (struct machine_options){.ram_mb = 96});
    unsigned count;
    (void)cached_file(&count);
    char command[256];
    (void)snprintf(command, sizeof command,
                   "chmod 600 %s/cache/machine-96-*.mem && truncate "
                   "-s 0 %s/cache/machine-96-*.mem",
                   top, top);
    assert_int_equal(system(command), 0);
    tell(s, "print hello");
    assert_ends(s, ERR_IO, "was truncated");
    scoped(speaker_free) struct speaker *whole = speaker_new(i);
    assert_string_equal(ask(whole, "print hello"), "hello");
}

static void sizes_are_so_many_and_no_more(void **state)
{
    (void)state;
    unsigned count;
    scoped(images_close) struct images *i = open_images();
    for (uint32_t k = 0; k < IMAGE_SIZES_MAX; k++)
        speaker_free(speaker_with(i, (struct machine_options){.ram_mb = 128 + k}));
    assert_no_machine(i, 256, ERR_LIMIT);
    scoped(speaker_free) struct speaker *known =
        speaker_with(i, (struct machine_options){.ram_mb = 128});
    assert_string_equal(ask(known, "print hello"), "hello");
    (void)cached_file(&count);
    assert_int_equal(count, IMAGE_SIZES_MAX);
}

static void baking_can_be_cancelled(void **state)
{
    (void)state;
    struct err e = {0};
    struct cancel cancel;
    cancel_init(&cancel);
    cancel_fire(&cancel);
    scoped(images_close) struct images *i = open_images();
    struct machine_events none = {.output = said, .ended = ended};
    struct machine_options o = {
        .ram_mb = 112, .disk_bytes = 4096, .cpu_ns = UINT64_MAX, .cancel = &cancel};
    assert_null(machine_open(i, &o, &none, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_goes_on_from_its_image),
        cmocka_unit_test(machines_of_one_image_share_nothing),
        cmocka_unit_test(a_hundred_machines_have_chance_and_time_of_their_own),
        cmocka_unit_test(how_a_machine_ended_is_told),
        cmocka_unit_test(a_machine_that_computes_is_stopped_at_once),
        cmocka_unit_test(computing_time_is_limited),
        cmocka_unit_test(whoever_counts_computing_time_can_end_it),
        cmocka_unit_test(what_may_be_written_to_the_disk_is_limited),
        cmocka_unit_test(what_is_written_to_the_disk_takes_no_memory),
        cmocka_unit_test(many_machines_run_at_once),
        cmocka_unit_test(another_size_is_baked_once_and_kept),
        cmocka_unit_test(sizes_that_no_machine_has_are_refused),
        cmocka_unit_test(an_image_that_is_damaged_or_anothers_is_refused),
        cmocka_unit_test(an_image_that_is_cut_short_costs_its_machines_alone),
        cmocka_unit_test(baking_can_be_cancelled),
        cmocka_unit_test(sizes_are_so_many_and_no_more),
    };
    return cmocka_run_group_tests(tests, make_image, remove_image);
}
