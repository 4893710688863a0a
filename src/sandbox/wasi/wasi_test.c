/* Every function of the interface: the test module re-exports its imports, so that a test
 * chooses the arguments and the memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/traps_test.h"
#include "os/os.h"
#include "wasi/internal.h"

#define MEMORY 0x20000u /* bytes */

static struct engine *g;
static struct module *m;
static struct vfs *v;
static struct wasi *s;
static struct world *w;
static struct buf out;

/* ---- a module that only hands on ---------------------------------------- */

static void put_u32_leb(struct buf *b, uint32_t n)
{
    for (; n > 127; n >>= 7)
        buf_char(b, (char)(n | 128));
    buf_char(b, (char)n);
}

static void put_name(struct buf *b, const char *name)
{
    put_u32_leb(b, (uint32_t)strlen(name));
    buf_cstr(b, name);
}

static void put_section(struct buf *b, char id, struct buf *content)
{
    buf_char(b, id);
    put_u32_leb(b, (uint32_t)content->n);
    buf_str(b, buf_view(content));
    buf_clear(content);
}

static void put_type(struct buf *b, const char *type)
{
    const char *colon = strchr(type, ':');
    const char *sides[] = {type, colon + 1};
    size_t counts[] = {(size_t)(colon - type), strlen(colon + 1)};
    buf_char(b, 0x60);
    for (int side = 0; side < 2; side++) {
        put_u32_leb(b, (uint32_t)counts[side]);
        for (size_t i = 0; i < counts[side]; i++)
            buf_char(b, sides[side][i] == 'i' ? 0x7f : 0x7e);
    }
}

static void make_module(struct buf *b)
{
    scoped_buf struct buf part;
    size_t n;
    const struct engine_import *rows = wasi_imports(&n);
    buf_init(&part, 65536);
    buf_put(b, "\0asm\1\0\0\0", 8);
    put_u32_leb(&part, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        put_type(&part, rows[i].type);
    put_section(b, 1, &part);
    put_u32_leb(&part, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        put_name(&part, rows[i].module);
        put_name(&part, rows[i].name);
        buf_char(&part, 0);
        put_u32_leb(&part, (uint32_t)i);
    }
    put_section(b, 2, &part);
    buf_put(&part, "\1\0\2", 3);
    put_section(b, 5, &part);
    put_u32_leb(&part, (uint32_t)n + 2);
    for (size_t i = 0; i < n; i++) {
        put_name(&part, rows[i].name);
        buf_char(&part, 0);
        put_u32_leb(&part, (uint32_t)i);
    }
    put_name(&part, "_start"); /* proc_exit(i32) under another name */
    buf_char(&part, 0);
    put_u32_leb(&part, (uint32_t)n - 2);
    put_name(&part, "memory");
    buf_put(&part, "\2\0", 2);
    put_section(b, 7, &part);
}

static int open_module(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf wasm;
    buf_init(&wasm, 65536);
    make_module(&wasm);
    g = engine_open(&(struct engine_options){.no_cache = true}, &e);
    struct module_source from = {.wasm = buf_view(&wasm)};
    from.imports = wasi_imports(&from.import_count);
    m = g ? module_open(g, ENGINE_FOREIGN, &from, &e) : NULL;
    if (!m)
        fail_msg("%s", e.msg);
    return 0;
}

static int close_module(void **state)
{
    (void)state;
    module_close(m);
    engine_close(g);
    return 0;
}

/* ---- a world for each test ---------------------------------------------- */

static void begin_as_told(struct wasi_options o)
{
    struct err e = {0};
    s = wasi_new(&o, &e);
    w = s ? world_open(m, &(struct world_limits){0}, s, &e) : NULL;
    if (!w)
        fail_msg("%s", e.msg);
}

static void begin(struct wasi_options o)
{
    if (!o.vfs)
        o.vfs = v;
    begin_as_told(o);
}

static void finish(void)
{
    world_close(take(w));
    wasi_free(take(s));
}

static int make(void **state)
{
    (void)state;
    static const char *const args[] = {"program", "--flag", "é"};
    static const char *const env[] = {"A=1"};
    buf_init(&out, 10);
    v = vfs_new(&(struct vfs_quota){.bytes = 1 << 20, .files = 100, .open = 2000});
    begin((struct wasi_options){.args = args,
                                .arg_count = 3,
                                .env = env,
                                .env_count = 1,
                                .input = STR("input"),
                                .output = &out,
                                .errors = &out});
    return 0;
}

static int end(void **state)
{
    (void)state;
    finish();
    assert_int_equal(vfs_usage(v).open, 0);
    vfs_free(take(v));
    buf_done(&out);
    return 0;
}

/* The function's result. Arguments end at the first that is not given. */
#define CALL(name, ...) \
    call(#name, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)
static uint16_t call(const char *name, const uint64_t *arguments, size_t n)
{
    struct err e = {0};
    uint64_t cells[10];
    memcpy(cells, arguments, n * sizeof *cells);
    if (!world_call(w, name, cells, n, &e))
        fail_msg("%s: %s", name, e.msg);
    return (uint16_t)cells[0];
}

static char *at(uint32_t address)
{
    return world_slice(w, address, 1);
}

static uint32_t u32(uint32_t address)
{
    uint32_t n;
    memcpy(&n, world_slice(w, address, 4), 4);
    return n;
}

static uint64_t u64(uint32_t address)
{
    uint64_t n;
    memcpy(&n, world_slice(w, address, 8), 8);
    return n;
}

static void set_u32(uint32_t address, uint32_t n)
{
    memcpy(world_slice(w, address, 4), &n, 4);
}

static void set_u64(uint32_t address, uint64_t n)
{
    memcpy(world_slice(w, address, 8), &n, 8);
}

/* Texts lie here; two at a time. */
#define PATH 0x1000u
#define PATH2 0x3000u
static uint32_t put(uint32_t address, const char *text)
{
    memcpy(at(address), text, strlen(text));
    return (uint32_t)strlen(text);
}

#define PATHED(name, path, ...) CALL(name, 3, PATH, put(PATH, path), ##__VA_ARGS__)

enum {
    OK = 0,
    ACCES = 2,
    BADF = 8,
    EXIST = 20,
    FAULT = 21,
    FBIG = 22,
    ILSEQ = 25,
    INVAL = 28,
    ISDIR = 31,
    LOOP = 32,
    MFILE = 33,
    NAMETOOLONG = 37,
    NOENT = 44,
    NOSPC = 51,
    NOTDIR = 54,
    NOTEMPTY = 55,
    NOTSOCK = 57,
    PERM = 63,
    SPIPE = 70,
    NOTCAPABLE = 76,
};

#define ANSWER 0x100u
#define OF_CREATE 1u
#define OF_DIRECTORY 2u
#define OF_EXCLUSIVE 4u
#define OF_TRUNCATE 8u
#define FOLLOW 1u
#define READS (BIT(RIGHT_READ) | BIT(RIGHT_READDIR))
#define WRITES BIT(RIGHT_WRITE)

static uint16_t try_open(const char *path, uint32_t oflags, uint64_t rights)
{
    return CALL(path_open, 3, FOLLOW, PATH, put(PATH, path), oflags, rights, 0, 0,
                ANSWER);
}

static uint32_t open_at(const char *path, uint32_t oflags, uint64_t rights)
{
    assert_int_equal(try_open(path, oflags, rights), OK);
    return u32(ANSWER);
}

/* One iovec at 0x200 over `n` bytes at 0x2000. */
#define IOV 0x200u
#define BYTES 0x2000u
static void set_iov(uint32_t i, uint32_t address, uint32_t n)
{
    set_u32(IOV + 8 * i, address);
    set_u32(IOV + 8 * i + 4, n);
}

static void write_text(uint32_t fd, const char *text)
{
    set_iov(0, BYTES, put(BYTES, text));
    assert_int_equal(CALL(fd_write, fd, IOV, 1, ANSWER), OK);
    assert_int_equal(u32(ANSWER), strlen(text));
}

static void assert_reads(uint32_t fd, const char *text)
{
    memset(at(BYTES), 0, 64);
    set_iov(0, BYTES, 3);
    set_iov(1, BYTES + 3, 60);
    assert_int_equal(CALL(fd_read, fd, IOV, 2, ANSWER), OK);
    assert_int_equal(u32(ANSWER), strlen(text));
    assert_memory_equal(at(BYTES), text, strlen(text));
}

/* ---- the program's surroundings ----------------------------------------- */

static void arguments_and_environment_arrive(void **state)
{
    (void)state;
    assert_int_equal(CALL(args_sizes_get, ANSWER, ANSWER + 4), OK);
    assert_int_equal(u32(ANSWER), 3);
    assert_int_equal(u32(ANSWER + 4), 8 + 7 + 3);
    assert_int_equal(CALL(args_get, 0x400, 0x500), OK);
    assert_string_equal(at(u32(0x404)), "--flag");
    assert_string_equal(at(u32(0x408)), "é");
    assert_int_equal(CALL(environ_sizes_get, ANSWER, ANSWER + 4), OK);
    assert_int_equal(u32(ANSWER + 4), 4);
    assert_int_equal(CALL(environ_get, 0x400, 0x500), OK);
    assert_string_equal(at(u32(0x400)), "A=1");
    assert_int_equal(CALL(args_get, MEMORY - 4, 0x500), FAULT);
    assert_int_equal(CALL(args_get, 0x400, MEMORY - 4), FAULT);
}

static void arguments_that_are_too_long_are_refused(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(free) char *text = malloc(WASI_STRINGS_MAX + 1);
    memset(text, 'x', WASI_STRINGS_MAX);
    text[WASI_STRINGS_MAX] = '\0';
    const char *const args[] = {text};
    assert_null(wasi_new(&(struct wasi_options){.args = args, .arg_count = 1}, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void clocks_go_on(void **state)
{
    (void)state;
    for (uint32_t id = 0; id < 4; id++) {
        assert_int_equal(CALL(clock_time_get, id, 0, ANSWER), OK);
        uint64_t before = u64(ANSWER);
        assert_int_equal(CALL(clock_time_get, id, 0, ANSWER), OK);
        assert_true(u64(ANSWER) >= before);
        assert_int_equal(CALL(clock_res_get, id, ANSWER), OK);
    }
    assert_int_equal(CALL(clock_time_get, 4, 0, ANSWER), INVAL);
    assert_int_equal(CALL(clock_res_get, 77, ANSWER), INVAL);
    assert_int_equal(CALL(clock_time_get, 0, 0, MEMORY - 7), FAULT);
}

static void random_bytes_differ_unless_frozen(void **state)
{
    (void)state;
    assert_int_equal(CALL(random_get, BYTES, 32), OK);
    assert_int_equal(CALL(random_get, BYTES + 32, 32), OK);
    assert_memory_not_equal(at(BYTES), at(BYTES + 32), 32);
    assert_int_equal(CALL(random_get, MEMORY - 8, 16), FAULT);
    char first[32];
    for (int i = 0; i < 2; i++) {
        finish();
        begin((struct wasi_options){.frozen = true});
        assert_int_equal(CALL(clock_time_get, 0, 0, ANSWER), OK);
        assert_int_equal(u64(ANSWER), 1000);
        assert_int_equal(CALL(random_get, BYTES, 32), OK);
        if (i == 0)
            memcpy(first, at(BYTES), 32);
    }
    assert_memory_equal(at(BYTES), first, 32);
}

static void a_program_ends_with_its_exit_code(void **state)
{
    (void)state;
    struct err e = {0};
    uint64_t cell = 42;
    uint32_t code;
    assert_false(wasi_exited(s, &code));
    assert_false(world_call(w, "proc_exit", &cell, 1, &e));
    assert_true(wasi_exited(s, &code));
    assert_int_equal(code, 42);
    e = (struct err){0};
    assert_false(world_call(w, "proc_raise", &cell, 1, &e));
    assert_int_equal(e.code, ERR_GUEST);
}

static void there_are_no_sockets(void **state)
{
    (void)state;
    assert_int_equal(CALL(sock_shutdown, 1, 0), NOTSOCK);
    assert_int_equal(CALL(sock_recv, 3, 0, 0, 0, 0, 0), NOTSOCK);
    assert_int_equal(CALL(sock_send, 9, 0, 0, 0, 0), BADF);
    assert_int_equal(CALL(sock_accept, 9, 0, 0), BADF);
}

/* ---- streams ------------------------------------------------------------ */

static void streams_are_bytes_with_an_end(void **state)
{
    (void)state;
    assert_reads(0, "input");
    assert_reads(0, "");
    write_text(1, "12345");
    write_text(2, "678");
    write_text(1, "90lost");
    assert_true(str_is(buf_view(&out), "1234567890"));
    assert_int_equal(wasi_lost(s), 4);
    assert_int_equal(CALL(fd_write, 0, IOV, 1, ANSWER), BADF);
    assert_int_equal(CALL(fd_read, 1, IOV, 1, ANSWER), BADF);
    assert_int_equal(CALL(fd_seek, 1, 0, 0, ANSWER), SPIPE);
    assert_int_equal(CALL(fd_pwrite, 1, IOV, 1, 0, ANSWER), SPIPE);
}

static void a_stream_is_a_terminal_or_a_device_only_where_it_is_said(void **state)
{
    (void)state;
    finish();
    begin((struct wasi_options){.streams = {WASI_DEVICE, WASI_TERMINAL}});
    /* by which the C library distinguishes them */
    const uint64_t seeks = 1 << 2 | 1 << 5;
    for (int stream = 0; stream < 3; stream++) {
        assert_int_equal(CALL(fd_fdstat_get, (uint64_t)stream, ANSWER), OK);
        assert_int_equal(*at(ANSWER), stream == 2 ? 0 : 2);
        assert_int_equal(u64(ANSWER + 8) & seeks, stream == 0 ? seeks : 0);
        assert_int_equal(CALL(fd_filestat_get, (uint64_t)stream, ANSWER), OK);
        assert_int_equal(*at(ANSWER + 16), stream == 2 ? 0 : 2);
    }
    assert_int_equal(CALL(fd_seek, 0, 0, 0, ANSWER), SPIPE);
}

/* fcntl(F_GETFL) of the C library is made of these. */
static void a_stream_may_be_read_or_written_as_it_is(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        finish();
        begin((struct wasi_options){.streams = {kind ? WASI_DEVICE : WASI_PIPE,
                                                kind ? WASI_TERMINAL : WASI_PIPE}});
        for (int stream = 0; stream < 3; stream++) {
            assert_int_equal(CALL(fd_fdstat_get, (uint64_t)stream, ANSWER), OK);
            uint64_t read = BIT(RIGHT_READ), both = u64(ANSWER + 8) & (read | WRITES);
            assert_int_equal(both, stream == 0 ? read : WRITES);
            assert_int_equal(u64(ANSWER + 16), 0);
        }
        assert_int_equal(CALL(fd_fdstat_set_rights, 0, WRITES, 0), NOTCAPABLE);
        assert_int_equal(CALL(fd_fdstat_set_rights, 1, BIT(RIGHT_READ), 0), NOTCAPABLE);
    }
}

static int say_so(void *arg, const void *from, size_t n, size_t *done)
{
    buf_put(arg, from, n);
    *done = n;
    return n > 3 ? EPIPE : 0;
}

static int tell_x(void *arg, void *to, size_t n, size_t *done)
{
    (void)arg;
    memset(to, 'x', n);
    *done = n;
    return 0;
}

static void streams_may_be_functions(void **state)
{
    (void)state;
    finish();
    begin((struct wasi_options){.read = tell_x, .write = say_so, .stream_arg = &out});
    assert_int_equal(CALL(fd_read, 0, IOV, 0, ANSWER), OK);
    set_iov(0, BYTES, 4);
    assert_int_equal(CALL(fd_read, 0, IOV, 1, ANSWER), OK);
    assert_memory_equal(at(BYTES), "xxxx", 4);
    write_text(1, "abc");
    assert_true(str_is(buf_view(&out), "abc"));
}

/* ---- files -------------------------------------------------------------- */

static void the_root_is_open_from_the_start(void **state)
{
    (void)state;
    assert_int_equal(CALL(fd_prestat_get, 3, ANSWER), OK);
    assert_int_equal(u32(ANSWER), 0);
    assert_int_equal(u32(ANSWER + 4), 1);
    assert_int_equal(CALL(fd_prestat_dir_name, 3, ANSWER, 1), OK);
    assert_int_equal(*at(ANSWER), '/');
    assert_int_equal(CALL(fd_prestat_dir_name, 3, ANSWER, 0), NAMETOOLONG);
    assert_int_equal(CALL(fd_prestat_get, 4, ANSWER), BADF);
    assert_int_equal(CALL(fd_prestat_get, 0, ANSWER), BADF);
}

static void chosen_folders_are_open_instead(void **state)
{
    (void)state;
    static const char *const folders[] = {"/work"};
    struct err e = {0};
    struct wasi_options o = {.vfs = v, .folders = folders, .folder_count = 1};
    assert_null(wasi_new(&o, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(vfs_mkdir(v, NULL, STR("/work")), 0);
    assert_int_equal(vfs_put(v, STR("/secret"), STR("s")), 0);
    finish();
    begin(o);
    assert_int_equal(CALL(fd_prestat_get, 3, ANSWER), OK);
    assert_int_equal(u32(ANSWER + 4), 5);
    assert_int_equal(try_open("../secret", 0, READS), PERM);
    assert_int_equal(try_open("/secret", 0, READS), PERM);
}

/* Not even by a link that was in the tree before. */
static void without_the_root_links_stay_beneath_the_folder(void **state)
{
    (void)state;
    static const char *const folders[] = {"/work"};
    struct vfs_quota quota = {.bytes = 1000, .files = 10, .open = 10};
    struct vfs *tree = vfs_new(&quota);
    assert_int_equal(vfs_mkdir(tree, NULL, STR("/work")), 0);
    assert_int_equal(vfs_put(tree, STR("/secret"), STR("s")), 0);
    assert_int_equal(vfs_symlink(tree, STR("/secret"), NULL, STR("/work/a")), 0);
    assert_int_equal(vfs_symlink(tree, STR("../secret"), NULL, STR("/work/b")), 0);
    finish();
    begin((struct wasi_options){.vfs = tree, .folders = folders, .folder_count = 1});
    assert_int_equal(try_open("a", 0, READS), PERM);
    assert_int_equal(try_open("b", 0, READS), PERM);
    finish();
    vfs_free(tree);
    begin((struct wasi_options){0});
}

static void without_a_tree_there_are_no_files(void **state)
{
    (void)state;
    finish();
    begin_as_told((struct wasi_options){0});
    assert_int_equal(CALL(fd_prestat_get, 3, ANSWER), BADF);
    assert_int_equal(try_open("x", OF_CREATE, WRITES), BADF);
}

static void a_file_is_written_and_read(void **state)
{
    (void)state;
    uint32_t fd = open_at("f", OF_CREATE, READS | WRITES);
    write_text(fd, "hello");
    assert_int_equal(CALL(fd_tell, fd, ANSWER), OK);
    assert_int_equal(u64(ANSWER), 5);
    assert_int_equal(CALL(fd_seek, fd, (uint64_t)-4, 2, ANSWER), OK);
    assert_int_equal(u64(ANSWER), 1);
    assert_reads(fd, "ello");
    set_iov(0, BYTES, 2);
    assert_int_equal(CALL(fd_pread, fd, IOV, 1, 3, ANSWER), OK);
    assert_memory_equal(at(BYTES), "lo", 2);
    set_iov(0, PATH, put(PATH, "J"));
    assert_int_equal(CALL(fd_pwrite, fd, IOV, 1, 0, ANSWER), OK);
    assert_int_equal(CALL(fd_seek, fd, 0, 0, ANSWER), OK);
    assert_reads(fd, "Jello");
    assert_int_equal(CALL(fd_filestat_set_size, fd, 2), OK);
    assert_int_equal(CALL(fd_filestat_get, fd, ANSWER), OK);
    assert_int_equal(u64(ANSWER + 32), 2);
    assert_int_equal(*at(ANSWER + 16), 4);
    assert_int_equal(CALL(fd_allocate, fd, 8, 8), OK);
    assert_int_equal(CALL(fd_filestat_get, fd, ANSWER), OK);
    assert_int_equal(u64(ANSWER + 32), 16);
    assert_int_equal(CALL(fd_sync, fd), OK);
    assert_int_equal(CALL(fd_datasync, fd), OK);
    assert_int_equal(CALL(fd_advise, fd, 0, 0, 1), OK);
    assert_int_equal(CALL(fd_close, fd), OK);
    assert_int_equal(CALL(fd_close, fd), BADF);
}

static void appending_goes_to_the_end(void **state)
{
    (void)state;
    uint32_t fd = open_at("f", OF_CREATE, READS | WRITES);
    write_text(fd, "one");
    assert_int_equal(CALL(fd_seek, fd, 0, 0, ANSWER), OK);
    assert_int_equal(CALL(fd_fdstat_set_flags, fd, 1), OK);
    write_text(fd, "two");
    assert_int_equal(CALL(fd_tell, fd, ANSWER), OK);
    assert_int_equal(u64(ANSWER), 6);
    /* But a path that is named is followed. */
    set_iov(0, BYTES, put(BYTES, "O"));
    assert_int_equal(CALL(fd_pwrite, fd, IOV, 1, 0, ANSWER), OK);
    assert_int_equal(CALL(fd_seek, fd, 0, 0, ANSWER), OK);
    assert_reads(fd, "Onetwo");
    assert_int_equal(CALL(fd_fdstat_set_flags, fd, 0x100), INVAL);
    assert_int_equal(CALL(fd_fdstat_get, fd, ANSWER), OK);
    assert_int_equal(*at(ANSWER + 2), 1);
}

static void rights_only_become_fewer(void **state)
{
    (void)state;
    uint32_t fd = open_at("f", OF_CREATE, READS | WRITES);
    assert_int_equal(CALL(fd_fdstat_set_rights, fd, READS, 0), OK);
    assert_int_equal(CALL(fd_fdstat_set_rights, fd, READS | WRITES, 0), NOTCAPABLE);
    set_iov(0, BYTES, 1);
    assert_int_equal(CALL(fd_write, fd, IOV, 1, ANSWER), NOTCAPABLE);
    assert_int_equal(CALL(fd_read, fd, IOV, 1, ANSWER), OK);
    fd = open_at("f", 0, READS);
    set_iov(0, BYTES, 1);
    assert_int_equal(CALL(fd_write, fd, IOV, 1, ANSWER), BADF);
}

/* Go asks for it whenever it opens a file. */
static void the_right_to_set_a_size_alone_is_no_wish_to_write(void **state)
{
    (void)state;
    (void)open_at("f", OF_CREATE, READS | WRITES);
    uint32_t fd = open_at("f", 0, READS | BIT(RIGHT_SET_SIZE));
    set_iov(0, BYTES, 1);
    assert_int_equal(CALL(fd_read, fd, IOV, 1, ANSWER), OK);
    assert_int_equal(CALL(fd_filestat_set_size, fd, 0), INVAL);
}

/* As ftruncate() says it. */
static void a_size_is_not_set_through_a_reader(void **state)
{
    (void)state;
    (void)open_at("f", OF_CREATE, READS | WRITES);
    uint32_t fd = open_at("f", 0, READS | BIT(RIGHT_SET_SIZE));
    assert_int_equal(CALL(fd_filestat_set_size, fd, 0), INVAL);
    assert_int_equal(CALL(fd_filestat_set_size, 0, 0), INVAL);
    fd = open_at("f", 0, WRITES | BIT(RIGHT_SET_SIZE));
    assert_int_equal(CALL(fd_filestat_set_size, fd, 3), OK);
}

/* As the C library does: a file opened beneath a folder has the folder's inheriting
 * rights. */
static void rights_that_were_given_away_are_not_handed_on(void **state)
{
    (void)state;
    assert_int_equal(PATHED(path_create_directory, "d"), OK);
    uint32_t d = open_at("d", OF_DIRECTORY, RIGHTS_ALL & ~RIGHTS_NOT_FOLDER);
    assert_int_equal(CALL(fd_fdstat_get, d, ANSWER), OK);
    uint64_t base = u64(ANSWER + 8), all = u64(ANSWER + 16);
    assert_int_equal(base, RIGHTS_ALL & ~RIGHTS_NOT_FOLDER);
    assert_int_equal(all, RIGHTS_ALL);
    assert_int_equal(CALL(fd_fdstat_set_rights, d, base & ~BIT(RIGHT_PATH_SET_SIZE),
                          all & ~BIT(RIGHT_WRITE)),
                     OK);
    assert_int_equal(CALL(fd_fdstat_set_rights, d, base, 0), NOTCAPABLE);
    assert_int_equal(CALL(fd_fdstat_set_rights, d, 0, all), NOTCAPABLE);
    uint32_t n = put(PATH, "f");
    assert_int_equal(
        CALL(path_open, d, 0, PATH, n, OF_CREATE, READS | WRITES, 0, 0, 0x180), OK);
    set_iov(0, BYTES, 1);
    assert_int_equal(CALL(fd_write, u32(0x180), IOV, 1, ANSWER), NOTCAPABLE);
    assert_int_equal(CALL(path_open, d, 0, PATH, n, OF_TRUNCATE, WRITES, 0, 0, ANSWER),
                     NOTCAPABLE);
    assert_int_equal(CALL(fd_fdstat_set_rights, d, BIT(RIGHT_READDIR), 0), OK);
    assert_int_equal(CALL(path_open, d, 0, PATH, n, 0, READS, 0, 0, ANSWER), NOTCAPABLE);
    uint32_t to = put(PATH2, "g");
    assert_int_equal(CALL(path_rename, 3, PATH, n, d, PATH2, to), NOTCAPABLE);
    assert_int_equal(CALL(path_symlink, PATH, n, d, PATH2, to), NOTCAPABLE);
    assert_int_equal(CALL(path_link, 3, 0, PATH, n, d, PATH2, to), NOTCAPABLE);
    assert_int_equal(CALL(fd_readdir, d, BYTES, 100, 0, ANSWER), OK);
}

static void a_folder_is_no_file(void **state)
{
    (void)state;
    uint32_t d = open_at(".", OF_DIRECTORY, READS);
    set_iov(0, BYTES, 1);
    assert_int_equal(CALL(fd_read, d, IOV, 1, ANSWER), ISDIR);
    assert_int_equal(CALL(fd_pread, d, IOV, 1, 0, ANSWER), ISDIR);
    assert_int_equal(CALL(fd_write, d, IOV, 1, ANSWER), BADF);
    assert_int_equal(CALL(fd_pwrite, d, IOV, 1, 0, ANSWER), BADF);
    assert_int_equal(CALL(fd_seek, d, 0, 0, ANSWER), BADF);
    assert_int_equal(CALL(fd_tell, d, ANSWER), BADF);
    assert_int_equal(CALL(fd_allocate, d, 0, 1), BADF);
    assert_int_equal(CALL(fd_filestat_set_size, d, 0), ISDIR);
    assert_int_equal(try_open(".", OF_DIRECTORY, READS | WRITES), ISDIR);
}

static void opening_says_why_not(void **state)
{
    (void)state;
    assert_int_equal(PATHED(path_create_directory, "d"), OK);
    assert_int_equal(PATHED(path_create_directory, "d"), EXIST);
    assert_int_equal(try_open("none", 0, READS), NOENT);
    assert_int_equal(try_open("d", OF_CREATE | OF_EXCLUSIVE, READS), EXIST);
    assert_int_equal(try_open("d", OF_TRUNCATE, WRITES), ISDIR);
    assert_int_equal(try_open("d", 0, READS | WRITES), ISDIR);
    assert_int_equal(try_open("f", OF_CREATE | OF_DIRECTORY, READS), INVAL);
    assert_int_equal(try_open("f/", OF_CREATE, WRITES), ISDIR);
    (void)open_at("f", OF_CREATE, WRITES);
    assert_int_equal(try_open("f", OF_DIRECTORY, READS), NOTDIR);
    assert_int_equal(try_open("../f", 0, READS), PERM);
    assert_int_equal(try_open("/f", 0, READS), PERM);
    assert_int_equal(try_open("d/../../f", 0, READS), PERM);
    assert_int_equal(CALL(path_open, 99, 0, PATH, 1, 0, READS, 0, 0, ANSWER), BADF);
    assert_int_equal(CALL(path_open, 1, 0, PATH, 1, 0, READS, 0, 0, ANSWER), NOTDIR);
    assert_int_equal(CALL(path_open, 3, 0, PATH, 1, 1, WRITES, 0, 0, MEMORY - 3), FAULT);
    assert_int_equal(CALL(path_open, 3, 0, MEMORY - 1, 2, 0, READS, 0, 0, ANSWER), FAULT);
    assert_int_equal(CALL(path_open, 3, 0, PATH, 4096, 0, READS, 0, 0, ANSWER),
                     NAMETOOLONG);
    put(PATH, "\xff");
    assert_int_equal(CALL(path_open, 3, 0, PATH, 1, 0, READS, 0, 0, ANSWER), ILSEQ);
    *at(PATH) = '\0';
    assert_int_equal(CALL(path_open, 3, 0, PATH, 1, 0, READS, 0, 0, ANSWER), INVAL);
}

static void names_are_made_moved_and_removed(void **state)
{
    (void)state;
    assert_int_equal(PATHED(path_create_directory, "d"), OK);
    (void)open_at("d/f", OF_CREATE, WRITES);
    uint32_t n = put(PATH2, "g");
    assert_int_equal(PATHED(path_rename, "d/f", 3, PATH2, n), OK);
    assert_int_equal(PATHED(path_remove_directory, "d"), OK);
    assert_int_equal(PATHED(path_remove_directory, "g"), NOTDIR);
    n = put(PATH2, "h");
    assert_int_equal(CALL(path_link, 3, 0, PATH, put(PATH, "g"), 3, PATH2, n), OK);
    assert_int_equal(CALL(path_link, 3, 1, PATH, put(PATH, "g"), 3, PATH2, n), INVAL);
    assert_int_equal(PATHED(path_unlink_file, "g"), OK);
    assert_int_equal(PATHED(path_unlink_file, "g"), NOENT);
    n = put(PATH2, "l");
    assert_int_equal(CALL(path_symlink, PATH, put(PATH, "h"), 3, PATH2, n), OK);
    /* A link to the link, not to its target. */
    uint32_t again = put(BYTES, "m");
    assert_int_equal(CALL(path_link, 3, 0, PATH, put(PATH, "l"), 3, BYTES, again), OK);
    assert_int_equal(PATHED(path_unlink_file, "m"), OK);
    assert_int_equal(PATHED(path_readlink, "l", BYTES, 9, ANSWER), OK);
    assert_int_equal(u32(ANSWER), 1);
    assert_int_equal(*at(BYTES), 'h');
    assert_int_equal(CALL(path_filestat_get, 3, 0, PATH, put(PATH, "l"), BYTES), OK);
    assert_int_equal(*at(BYTES + 16), 7);
    assert_int_equal(CALL(path_filestat_get, 3, FOLLOW, PATH, put(PATH, "l"), BYTES), OK);
    assert_int_equal(*at(BYTES + 16), 4);
    assert_int_equal(CALL(path_open, 3, 0, PATH, put(PATH, "l"), 0, READS, 0, 0, ANSWER),
                     LOOP);
}

/* If the guest has the root, from any folder. */
static void links_lead_where_they_say(void **state)
{
    (void)state;
    assert_int_equal(PATHED(path_create_directory, "d"), OK);
    (void)open_at("f", OF_CREATE, WRITES);
    uint32_t d = open_at("d", OF_DIRECTORY, READS);
    uint32_t n = put(PATH2, "above"), far = put(BYTES, "far");
    assert_int_equal(CALL(path_symlink, PATH, put(PATH, "../f"), d, PATH2, n), OK);
    assert_int_equal(CALL(path_symlink, PATH, put(PATH, "/f"), d, BYTES, far), OK);
    assert_int_equal(CALL(path_open, d, FOLLOW, PATH2, n, 0, READS, 0, 0, ANSWER), OK);
    assert_int_equal(CALL(path_open, d, FOLLOW, BYTES, far, 0, READS, 0, 0, ANSWER), OK);
    assert_int_equal(
        CALL(path_open, d, 0, PATH, put(PATH, "../f"), 0, READS, 0, 0, ANSWER), PERM);
}

static void times_are_set_as_asked(void **state)
{
    (void)state;
    uint32_t fd = open_at("f", OF_CREATE, WRITES);
    assert_int_equal(CALL(fd_filestat_set_times, fd, 5, 6, 1 | 4), OK);
    assert_int_equal(CALL(fd_filestat_get, fd, BYTES), OK);
    assert_int_equal(u64(BYTES + 40), 5);
    assert_int_equal(u64(BYTES + 48), 6);
    uint32_t n = put(PATH, "f");
    assert_int_equal(CALL(path_filestat_set_times, 3, FOLLOW, PATH, n, 7, 0, 1), OK);
    assert_int_equal(CALL(path_filestat_set_times, 3, FOLLOW, PATH, n, 0, 0, 8), OK);
    assert_int_equal(CALL(fd_filestat_get, fd, BYTES), OK);
    assert_int_equal(u64(BYTES + 40), 7);
    assert_true(u64(BYTES + 48) > 6);
    assert_int_equal(CALL(fd_filestat_set_times, fd, 5, 6, 1 | 2), INVAL);
}

/* The name of the first entry from that cookie on; "": there are no more. */
static const char *entry(uint32_t fd, uint64_t cookie, uint32_t room)
{
    static char name[64];
    assert_int_equal(CALL(fd_readdir, fd, BYTES, room, cookie, ANSWER), OK);
    uint32_t n = u32(ANSWER) ? u32(BYTES + 16) : 0;
    if (n) {
        assert_int_equal(u64(BYTES), cookie + 1);
        assert_int_not_equal(u64(BYTES + 8), 0);
        memcpy(name, at(BYTES + 24), n);
    }
    name[n] = '\0';
    return name;
}

static void folders_are_read_in_pieces(void **state)
{
    (void)state;
    char name[16];
    assert_string_equal(entry(3, 0, 100), ".");
    assert_string_equal(entry(3, 1, 100), "..");
    assert_string_equal(entry(3, 2, 100), "");
    for (int i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(PATHED(path_create_directory, name), OK);
    }
    /* Room for one entry and a half: the cut one is read again by its cookie. */
    (void)entry(3, 0, 40);
    for (uint64_t i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "n%d", (int)i);
        assert_string_equal(entry(3, 2 + i, 40), name);
        assert_int_equal(*at(BYTES + 20), 3);
    }
    assert_string_equal(entry(3, 7, 40), "");
    assert_string_equal(entry(3, UINT64_MAX - 1, 40), "");
    assert_int_equal(CALL(fd_readdir, 3, MEMORY - 8, 40, 0, ANSWER), FAULT);
    assert_int_equal(CALL(fd_readdir, 1, BYTES, 40, 0, ANSWER), NOTDIR);
}

static void cookies_stay_good_while_the_folder_changes(void **state)
{
    (void)state;
    assert_int_equal(PATHED(path_create_directory, "a"), OK);
    assert_int_equal(PATHED(path_create_directory, "b"), OK);
    assert_int_equal(PATHED(path_create_directory, "d"), OK);
    assert_string_equal(entry(3, 0, 40), ".");
    assert_string_equal(entry(3, 2, 40), "a");
    assert_int_equal(PATHED(path_remove_directory, "a"), OK);
    assert_int_equal(PATHED(path_create_directory, "c"), OK);
    assert_string_equal(entry(3, 3, 40), "b"); /* not skipped */
    assert_string_equal(entry(3, 4, 40), "d");
    assert_string_equal(entry(3, 5, 40), "");
    (void)entry(3, 0, 100); /* from the beginning: as it is now */
    assert_string_equal(entry(3, 2, 40), "b");
    assert_string_equal(entry(3, 3, 40), "c");
}

/* ---- hostile guests ----------------------------------------------------- */

static void iovecs_are_checked_before_anything_moves(void **state)
{
    (void)state;
    uint32_t fd = open_at("f", OF_CREATE, READS | WRITES);
    set_iov(0, BYTES, 4);
    set_iov(1, MEMORY - 4, 8);
    assert_int_equal(CALL(fd_write, fd, IOV, 2, ANSWER), FAULT);
    set_iov(1, UINT32_MAX, UINT32_MAX);
    assert_int_equal(CALL(fd_write, fd, IOV, 2, ANSWER), FAULT);
    assert_int_equal(CALL(fd_write, fd, IOV, UINT32_MAX, ANSWER), FAULT);
    assert_int_equal(CALL(fd_write, fd, IOV, WASI_IOVECS_MAX + 1, ANSWER), INVAL);
    assert_int_equal(CALL(fd_write, fd, UINT32_MAX, 1, ANSWER), FAULT);
    assert_int_equal(CALL(fd_write, fd, IOV, 1, MEMORY), FAULT);
    assert_int_equal(CALL(fd_filestat_get, fd, BYTES), OK);
    assert_int_equal(u64(BYTES + 32), 0);
}

static int swallow(void *arg, const void *from, size_t n, size_t *done)
{
    (void)from;
    *(uint64_t *)arg += n;
    *done = n;
    return 0;
}

/* A thousand iovecs over the same memory: one call moves up to its limit, and returns the
 * number. */
static void one_call_moves_no_more_than_it_may(void **state)
{
    (void)state;
    uint64_t moved = 0;
    finish();
    begin((struct wasi_options){.write = swallow, .stream_arg = &moved});
    for (uint32_t i = 0; i < WASI_IOVECS_MAX; i++)
        set_iov(i, 0, MEMORY);
    assert_int_equal(CALL(fd_write, 1, IOV, WASI_IOVECS_MAX, ANSWER), OK);
    assert_int_equal(u32(ANSWER), WASI_MOVE_MAX);
    assert_int_equal(moved, WASI_MOVE_MAX);
}

static void offsets_that_overflow_are_refused(void **state)
{
    (void)state;
    uint32_t fd = open_at("f", OF_CREATE, READS | WRITES);
    set_iov(0, BYTES, 4);
    assert_int_equal(CALL(fd_pwrite, fd, IOV, 1, UINT64_MAX, ANSWER), INVAL);
    assert_int_equal(CALL(fd_pwrite, fd, IOV, 1, INT64_MAX, ANSWER), NOSPC);
    assert_int_equal(CALL(fd_pread, fd, IOV, 1, UINT64_MAX, ANSWER), OK);
    assert_int_equal(u32(ANSWER), 0);
    assert_int_equal(CALL(fd_seek, fd, (uint64_t)-1, 0, ANSWER), INVAL);
    assert_int_equal(CALL(fd_seek, fd, INT64_MAX, 0, ANSWER), OK);
    assert_int_equal(CALL(fd_seek, fd, 1, 1, ANSWER), INVAL);
    assert_int_equal(CALL(fd_seek, fd, 0, 3, ANSWER), INVAL);
    assert_int_equal(CALL(fd_write, fd, IOV, 1, ANSWER), NOSPC);
    assert_int_equal(CALL(fd_filestat_set_size, fd, UINT64_MAX), NOSPC);
    assert_int_equal(CALL(fd_allocate, fd, UINT64_MAX, UINT64_MAX), FBIG);
    assert_int_equal(vfs_usage(v).bytes, 0);
}

static void descriptors_run_out(void **state)
{
    (void)state;
    uint16_t answer = OK;
    uint32_t n = 0;
    for (; answer == OK && n < 5000; n++)
        answer = try_open(".", 0, READS);
    assert_int_equal(answer, MFILE);
    assert_int_equal(n, WASI_FDS_MAX - 4 + 1);
    assert_int_equal(CALL(fd_close, 500), OK);
    assert_int_equal(open_at(".", 0, READS), 500);
}

static void descriptors_can_be_renumbered(void **state)
{
    (void)state;
    uint32_t a = open_at("a", OF_CREATE, READS | WRITES);
    uint32_t b = open_at("b", OF_CREATE, READS | WRITES);
    write_text(a, "a");
    assert_int_equal(CALL(fd_renumber, a, b), OK);
    assert_int_equal(CALL(fd_tell, b, ANSWER), OK);
    assert_int_equal(u64(ANSWER), 1);
    assert_int_equal(CALL(fd_tell, a, ANSWER), BADF);
    assert_int_equal(CALL(fd_renumber, b, b), OK);
    assert_int_equal(CALL(fd_renumber, b, 900), BADF);
    assert_int_equal(CALL(fd_renumber, b, 1), OK); /* standard output, now a file */
    write_text(1, "b");
    assert_int_equal(out.n, 0);
}

static void huge_random_requests_are_refused(void **state)
{
    (void)state;
    assert_int_equal(CALL(random_get, 0, UINT32_MAX), FAULT);
    assert_int_equal(CALL(random_get, 0, MEMORY), OK);
}

/* ---- waiting ------------------------------------------------------------ */

static void subscribe(uint32_t i, uint8_t type, uint32_t id, uint64_t timeout_ns,
                      uint16_t flags)
{
    uint32_t to = BYTES + 48 * i;
    memset(at(to), 0, 48);
    set_u64(to, 100 + i);
    *at(to + 8) = (char)type;
    set_u32(to + 16, id);
    set_u64(to + 24, timeout_ns);
    set_u32(to + 40, flags);
}

static void time_passes_until_the_first_is_due(void **state)
{
    (void)state;
    subscribe(0, 0, 1, (uint64_t)3600 * 1000000000, 0);
    subscribe(1, 0, 1, 2000000, 0);
    uint64_t before = os_mono_ns();
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 2, ANSWER), OK);
    assert_true(os_mono_ns() - before >= 2000000);
    assert_int_equal(u32(ANSWER), 1);
    assert_int_equal(u64(0x4000), 101);
}

static void files_and_past_times_are_ready_at_once(void **state)
{
    (void)state;
    subscribe(0, 1, 0, 0, 0);
    subscribe(1, 2, 77, 0, 0);
    subscribe(2, 0, 0, 1, 1); /* absolute: one nanosecond after 1970 */
    subscribe(3, 0, 9, 0, 0);
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 4, ANSWER), OK);
    assert_int_equal(u32(ANSWER), 4);
    assert_int_equal(*at(0x4000 + 8), OK);
    assert_int_equal(*at(0x4000 + 32 + 8), BADF);
    assert_int_equal(*at(0x4000 + 96 + 8), INVAL);
}

/* Standard input of which nothing, then three bytes, then the end is there. */
struct source {
    uint64_t waited_until;
    size_t bytes;
    int answer;
};

static int is_ready(void *arg, uint64_t until_ns, size_t *bytes)
{
    struct source *from = arg;
    from->waited_until = until_ns;
    *bytes = from->bytes;
    return from->answer;
}

static void standard_input_is_waited_for(void **state)
{
    (void)state;
    struct source from = {.answer = EAGAIN};
    finish();
    begin((struct wasi_options){.read = tell_x, .ready = is_ready, .stream_arg = &from});
    subscribe(0, 1, 0, 0, 0);
    subscribe(1, 0, 1, 1000, 0);
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 2, ANSWER), OK);
    assert_int_equal(u32(ANSWER), 1); /* the time has passed */
    assert_int_equal(u64(0x4000), 101);
    assert_int_equal(CALL(fd_fdstat_set_flags, 0, FDFLAG_NONBLOCK), OK);
    set_iov(0, 0x5000, 4);
    assert_int_equal(CALL(fd_read, 0, IOV, 1, ANSWER), 6 /* AGAIN */);
    from = (struct source){.bytes = 3};
    subscribe(1, 0, 1, (uint64_t)3600 * 1000000000, 0);
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 2, ANSWER), OK);
    assert_int_equal(u32(ANSWER), 1);
    assert_int_equal(u64(0x4000), 100);
    assert_int_equal(u64(0x4010), 3);
    assert_int_equal(u32(0x4018), 0);
    assert_true(from.waited_until > os_mono_ns());
    from.bytes = 0;
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 2, ANSWER), OK);
    assert_int_equal(u32(0x4018), 1); /* the writer has hung up */
    assert_int_equal(CALL(fd_read, 0, IOV, 1, ANSWER), OK);
}

static void a_poll_tells_how_much_there_is(void **state)
{
    (void)state;
    uint32_t fd = open_at("f", OF_CREATE, READS | WRITES);
    write_text(fd, "12345");
    subscribe(0, 1, fd, 0, 0);
    subscribe(1, 1, 0, 0, 0);
    subscribe(2, 2, 1, 0, 0);
    subscribe(3, 0, 2, 1000, 0); /* sleeping uses no CPU time */
    assert_int_equal(CALL(fd_seek, fd, 2, 0, ANSWER), OK);
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 4, ANSWER), OK);
    assert_int_equal(u32(ANSWER), 4);
    assert_int_equal(u64(0x4010), 3);
    assert_int_equal(u64(0x4030), 5); /* "input" */
    assert_int_equal(*at(0x4000 + 96 + 8), 58 /* NOTSUP */);
}

static void sleep_ends_when_the_guest_must(void **state)
{
    (void)state;
    finish();
    begin((struct wasi_options){.until_ns = os_mono_ns()});
    subscribe(0, 0, 1, UINT64_MAX, 0);
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 1, ANSWER), OK);
    finish();
    struct cancel c;
    cancel_init(&c);
    cancel_fire(&c);
    begin((struct wasi_options){.cancel = &c});
    subscribe(0, 0, 1, UINT64_MAX, 0);
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 1, ANSWER), OK);
}

static void subscriptions_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 0, ANSWER), INVAL);
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, UINT32_MAX, ANSWER), FAULT);
    assert_int_equal(CALL(poll_oneoff, 0, 0, WASI_POLL_MAX + 1, ANSWER), INVAL);
    subscribe(0, 7, 0, 0, 0);
    assert_int_equal(CALL(poll_oneoff, BYTES, 0x4000, 1, ANSWER), INVAL);
}

static void unknown_errnos_are_told_as_io(void **state)
{
    (void)state;
    assert_int_equal(wasi_errno(0), 0);
    assert_int_equal(wasi_errno(ENOENT), 44);
    assert_int_equal(wasi_errno(-1), 29);
    assert_int_equal(wasi_errno(100000), 29);
    assert_int_equal(wasi_errno(ENOTBLK), 29);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make, end)
    const struct CMUnitTest tests[] = {
        T(arguments_and_environment_arrive),
        T(arguments_that_are_too_long_are_refused),
        T(clocks_go_on),
        T(random_bytes_differ_unless_frozen),
        T(a_program_ends_with_its_exit_code),
        T(there_are_no_sockets),
        T(streams_are_bytes_with_an_end),
        T(a_stream_is_a_terminal_or_a_device_only_where_it_is_said),
        T(streams_may_be_functions),
        T(the_root_is_open_from_the_start),
        T(chosen_folders_are_open_instead),
        T(without_the_root_links_stay_beneath_the_folder),
        T(without_a_tree_there_are_no_files),
        T(a_file_is_written_and_read),
        T(appending_goes_to_the_end),
        T(rights_only_become_fewer),
        T(a_stream_may_be_read_or_written_as_it_is),
        T(a_size_is_not_set_through_a_reader),
        T(the_right_to_set_a_size_alone_is_no_wish_to_write),
        T(rights_that_were_given_away_are_not_handed_on),
        T(a_folder_is_no_file),
        T(opening_says_why_not),
        T(names_are_made_moved_and_removed),
        T(links_lead_where_they_say),
        T(times_are_set_as_asked),
        T(folders_are_read_in_pieces),
        T(cookies_stay_good_while_the_folder_changes),
        T(iovecs_are_checked_before_anything_moves),
        T(one_call_moves_no_more_than_it_may),
        T(offsets_that_overflow_are_refused),
        T(descriptors_run_out),
        T(descriptors_can_be_renumbered),
        T(huge_random_requests_are_refused),
        T(time_passes_until_the_first_is_due),
        T(files_and_past_times_are_ready_at_once),
        T(standard_input_is_waited_for),
        T(a_poll_tells_how_much_there_is),
        T(sleep_ends_when_the_guest_must),
        T(subscriptions_are_bounded),
        T(unknown_errnos_are_told_as_io),
    };
    return cmocka_run_group_tests(tests, open_module, close_module);
}
