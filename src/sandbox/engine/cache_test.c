/* The cache of compiled modules: used if whole, rebuilt if not, and never trusted if
 * others could write there. */
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/home_test.h"
#include "crypto/crypto.h"
#include "engine/fixture_test.h"

extern char **environ;

static const char seven[] = "(module (func (export \"n\") (result i32) (i32.const 7)))";
static const char eight[] = "(module (func (export \"n\") (result i32) (i32.const 8)))";

static char root[HOME_SIZE];
static char folder[128]; /* of the cached modules */

static int make_root(void **state)
{
    (void)state;
    if (!home_make(root))
        return -1;
    (void)snprintf(folder, sizeof folder, "%s/cloche/modules", root);
    struct err e = {0};
    struct engine_options o = {.memory = ENGINE_MEMORY_SLOTS};
    g = engine_open(&o, &e);
    return g ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)close_engine(state);
    return folder_remove(root);
}

/* Opens the module and calls it. */
static uint32_t ask(enum engine_kind kind, const char *text)
{
    scoped(module_close) struct module *m = module_of(kind, text);
    scoped(world_close) struct world *w = world_of(m);
    return call(w, "n");
}

/* ---- the folder's files ------------------------------------------------- */

static size_t count_files(const char *ending)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));)
        n += str_ends(str_of(entry->d_name), ending);
    if (d)
        closedir(d);
    return n;
}

/* The path of the only file with this ending. */
static const char *path_of(const char *ending)
{
    static char path[512];
    assert_int_equal(count_files(ending), 1);
    DIR *d = opendir(folder);
    for (struct dirent *entry; (entry = readdir(d));)
        if (str_ends(str_of(entry->d_name), ending))
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(d);
    return path;
}

static void read_all(const char *path, struct buf *out)
{
    struct err e = {0};
    buf_init(out, 64 << 20);
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && os_read_fd(fd, out, &e));
}

static void write_all(const char *path, struct str bytes)
{
    scoped_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.at, bytes.n), bytes.n);
}

static struct stat look(const char *path)
{
    struct stat st = {0};
    assert_int_equal(stat(path, &st), 0);
    return st;
}

static bool same_file(struct stat a, struct stat b)
{
    return a.st_ino == b.st_ino && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
           a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

/* Expects that the module works, and that its files are whole again. */
static void assert_mended(struct str whole)
{
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    scoped_buf struct buf now;
    read_all(path_of(".cwasm"), &now);
    assert_int_equal(now.n, whole.n);
    struct stat before = look(path_of(".cwasm"));
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_true(same_file(before, look(path_of(".cwasm")))); /* it was used */
}

/* ---- tests -------------------------------------------------------------- */

static void compiled_code_is_kept_and_taken_again(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/cloche", root);
    assert_int_equal(look(path).st_mode & 0777, 0700);
    strcpy(path, path_of(".cwasm"));
    assert_int_equal(look(path).st_mode & 0777, 0600);
    struct stat code = look(path), sum = look(path_of(".sum"));
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_true(same_file(code, look(path)));
    assert_true(same_file(sum, look(path_of(".sum"))));
}

static void each_module_and_each_way_to_compile_has_its_own(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_int_equal(ask(ENGINE_FOREIGN, seven), 7);
    assert_int_equal(ask(ENGINE_METERED, seven), 7);
    assert_int_equal(count_files(".cwasm"), 3);
    assert_int_equal(ask(ENGINE_OWN, eight), 8);
    assert_int_equal(count_files(".cwasm"), 4);
    engine_close(g);
    assert_int_equal(open_engine(ENGINE_MEMORY_SMALL), 0);
    g->options.no_cache = false;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_int_equal(count_files(".cwasm"), 5);
    assert_int_equal(count_files(".sum"), 5);
}

/* The code of `eight` with a valid sum under the key of `seven`: if it runs, the cache
 * was trusted. A user who can write this can write as we can. */
static void our_own_sum_alone_decides(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, eight), 8);
    scoped_buf struct buf other;
    read_all(path_of(".cwasm"), &other);
    assert_int_equal(unlink(path_of(".cwasm")), 0);
    assert_int_equal(unlink(path_of(".sum")), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    char key[CRYPTO_HASH_HEX] = "", sum[CRYPTO_SUM_HEX];
    memcpy(key, strrchr(path_of(".cwasm"), '/') + 1, sizeof key - 1);
    write_all(path_of(".cwasm"), buf_view(&other));
    crypto_sum_hex(str_of(key), buf_view(&other), sum);
    write_all(path_of(".sum"), str_of(sum));
    assert_int_equal(ask(ENGINE_OWN, seven), 8);
}

static void code_of_another_module_is_not_run(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, eight), 8);
    scoped_buf struct buf code, sum;
    read_all(path_of(".cwasm"), &code);
    read_all(path_of(".sum"), &sum);
    assert_int_equal(unlink(path_of(".cwasm")), 0);
    assert_int_equal(unlink(path_of(".sum")), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    scoped_buf struct buf whole;
    read_all(path_of(".cwasm"), &whole);
    write_all(path_of(".cwasm"), buf_view(&code));
    assert_mended(buf_view(&whole));
    write_all(path_of(".cwasm"), buf_view(&code));
    write_all(path_of(".sum"), buf_view(&sum)); /* right, but under another name */
    assert_mended(buf_view(&whole));
}

static void damaged_code_is_compiled_again(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    scoped_buf struct buf whole;
    read_all(path_of(".cwasm"), &whole);
    for (size_t i = 0; i < 40; i++) {
        scoped_buf struct buf damaged;
        read_all(path_of(".cwasm"), &damaged);
        damaged.at[i == 39 ? damaged.n - 1 : damaged.n * i / 39] ^= 1;
        write_all(path_of(".cwasm"), buf_view(&damaged));
        assert_mended(buf_view(&whole));
    }
}

static void cut_or_grown_code_is_compiled_again(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    scoped_buf struct buf whole;
    read_all(path_of(".cwasm"), &whole);
    size_t sizes[] = {0, 1, 100, 4096, whole.n / 2, whole.n - 1};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        write_all(path_of(".cwasm"), (struct str){whole.at, sizes[i]});
        assert_mended(buf_view(&whole));
    }
    buf_char(&whole, 'x');
    write_all(path_of(".cwasm"), buf_view(&whole));
    whole.n--;
    assert_mended(buf_view(&whole));
}

static void a_sum_that_is_missing_or_wrong_is_made_again(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    scoped_buf struct buf whole, sum;
    read_all(path_of(".cwasm"), &whole);
    read_all(path_of(".sum"), &sum);
    static const char zeros[] = "00000000000000000000000000000000";
    char longer[200];
    (void)snprintf(longer, sizeof longer, "%s\n", buf_cz(&sum));
    char path[512];
    strcpy(path, path_of(".sum"));
    const char *const wrong[] = {"", "x", zeros, longer};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        write_all(path, str_of(wrong[i]));
        assert_mended(buf_view(&whole));
        scoped_buf struct buf now;
        read_all(path, &now);
        assert_true(str_eq(buf_view(&now), buf_view(&sum)));
    }
    assert_int_equal(unlink(path), 0);
    assert_mended(buf_view(&whole));
    assert_int_equal(unlink(path_of(".cwasm")), 0);
    assert_mended(buf_view(&whole));
}

static void names_that_are_no_files_do_not_matter(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    char code[512];
    strcpy(code, path_of(".cwasm"));
    assert_int_equal(unlink(code), 0);
    assert_int_equal(mkdir(code, 0700), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_int_equal(rmdir(code), 0);
    assert_int_equal(symlink("/etc/passwd", code), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
}

static void a_folder_that_others_may_write_to_is_not_used(void **state)
{
    (void)state;
    char cloche[128];
    (void)snprintf(cloche, sizeof cloche, "%s/cloche", root);
    assert_int_equal(mkdir(cloche, 0700), 0);
    assert_int_equal(chmod(cloche, 0777), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_int_equal(count_files(".cwasm"), 0);
    assert_int_equal(chmod(cloche, 0755), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0770), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_int_equal(count_files(".cwasm"), 0);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_int_equal(count_files(".cwasm"), 1);
}

static void without_a_place_for_it_everything_still_works(void **state)
{
    (void)state;
    static const char *const places[] = {"/proc", "/dev/null", "/sys/kernel"};
    for (size_t i = 0; i < LENGTH(places); i++) {
        assert_int_equal(setenv("XDG_CACHE_HOME", places[i], 1), 0);
        assert_int_equal(ask(ENGINE_OWN, seven), 7);
    }
    assert_int_equal(setenv("XDG_CACHE_HOME", root, 1), 0);
}

static void a_folder_that_cannot_be_written_is_still_read(void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    struct stat before = look(path_of(".cwasm"));
    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_true(same_file(before, look(path_of(".cwasm"))));
    assert_int_equal(ask(ENGINE_OWN, eight), 8);
    assert_int_equal(chmod(folder, 0700), 0);
}

static void who_wants_no_cache_leaves_nothing(void **state)
{
    (void)state;
    g->options.no_cache = true;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    struct stat st;
    assert_int_not_equal(stat(folder, &st), 0);
}

/* Sets the times of both files of the only module. */
static void set_last_use(int64_t seconds)
{
    static const char *const endings[] = {".cwasm", ".sum"};
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    for (size_t i = 0; i < LENGTH(endings); i++)
        assert_int_equal(utimensat(AT_FDCWD, path_of(endings[i]), times, 0), 0);
}

static void the_least_recently_used_module_is_removed_where_the_limit_is_reached(
    void **state)
{
    (void)state;
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    char first[512];
    (void)snprintf(first, sizeof first, "%s", path_of(".cwasm"));
    int64_t one = look(first).st_size;
    set_last_use(1000000000);
    assert_int_equal(ask(ENGINE_OWN, seven), 7); /* which takes the time of this use */
    assert_true(look(first).st_mtim.tv_sec > 1000000000);
    set_last_use(1000000000);
    g->options.cache_bytes = (uint64_t)one * 3 / 2;
    assert_int_equal(ask(ENGINE_OWN, eight), 8);
    assert_int_equal(count_files(".cwasm"), 1);
    assert_string_not_equal(first, path_of(".cwasm"));
    assert_int_equal(ask(ENGINE_OWN, eight), 8);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
}

static struct stat compile_ahead(const char *text)
{
    struct err e = {0};
    scoped_buf struct buf wasm;
    assemble(text, &wasm);
    scoped_fd int dir = os_dir_make(folder, 0755, &e);
    if (!module_compile_ahead(g, ENGINE_FOREIGN, buf_view(&wasm), dir, &e))
        fail_msg("%s", e.msg);
    return look(path_of(".cwasm"));
}

static void what_was_compiled_ahead_is_used_where_the_cache_has_none(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/ahead", root);
    struct stat first = compile_ahead(seven);
    assert_int_equal(first.st_mode & 0777, 0644);
    assert_true(same_file(first, compile_ahead(seven))); /* it is there */
    g->options.ahead = folder;
    char copied[200];
    (void)snprintf(copied, sizeof copied, "%s/cloche/modules", root);
    for (int damaged = 0; damaged < 2; damaged++) {
        assert_int_equal(ask(ENGINE_FOREIGN, seven), 7);
        strcpy(folder, copied);
        assert_int_equal(count_files(".cwasm"), (size_t)damaged);
        (void)snprintf(folder, sizeof folder, "%s/ahead", root);
        /* A damaged file is compiled as if it were missing. */
        write_all(path_of(".cwasm"), STR("no code at all"));
    }
    assert_int_equal(ask(ENGINE_FOREIGN, seven), 7);
}

static void what_is_no_module_is_not_compiled_ahead(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int dir = os_dir_make(root, 0755, &e);
    assert_false(module_compile_ahead(g, ENGINE_FOREIGN, STR("no module"), dir, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void code_that_is_compiled_soon_does_the_same(void **state)
{
    (void)state;
    engine_close(g);
    struct err e = {0};
    g = engine_open(&(struct engine_options){.no_cache = true, .quick = true}, &e);
    assert_int_equal(ask(ENGINE_FOREIGN, seven), 7);
}

#define PROCESSES 4
#define ROUNDS 5

static int be_one_of_several(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct err e = {0};
        struct engine_options o = {0};
        g = engine_open(&o, &e);
        if (!g || ask(ENGINE_OWN, seven) != 7 || ask(ENGINE_FOREIGN, eight) != 8)
            return 1;
        engine_close(g);
    }
    return 0;
}

static void several_processes_share_one_cache(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    char self[] = "cache_test", flag[] = "--one-of-several";
    char *const argv[] = {self, flag, NULL};
    for (size_t i = 0; i < PROCESSES; i++)
        assert_int_equal(
            posix_spawn(&children[i], "/proc/self/exe", NULL, NULL, argv, environ), 0);
    for (size_t i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(".cwasm"), 2);
    assert_int_equal(count_files(".sum"), 2);
    assert_int_equal(count_files("tmp"), 0);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
}

/* Under a hash that the caller claims. */
static uint32_t ask_by(const char *hash, const char *text)
{
    struct err e = {0};
    scoped_buf struct buf wasm;
    assemble(text, &wasm);
    scoped(module_close) struct module *m = module_open(
        g, ENGINE_OWN,
        &(struct module_source){.wasm = buf_view(&wasm), .wasm_hash = hash}, &e);
    if (!m)
        fail_msg("%s", e.msg);
    scoped(world_close) struct world *w = world_of(m);
    return call(w, "n");
}

static void a_hash_that_is_known_finds_what_was_compiled(void **state)
{
    (void)state;
    char hash[CRYPTO_HASH_HEX];
    scoped_buf struct buf wasm;
    assemble(seven, &wasm);
    crypto_hash_hex(buf_view(&wasm), hash);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    struct stat before = look(path_of(".cwasm"));
    assert_int_equal(ask_by(hash, seven), 7);
    assert_true(same_file(before, look(path_of(".cwasm"))));
}

/* Otherwise a wrong claim would be trusted by everybody from then on. */
static void nothing_is_kept_under_a_hash_that_is_not_its_own(void **state)
{
    (void)state;
    char wrong[CRYPTO_HASH_HEX];
    scoped_buf struct buf wasm;
    assemble(eight, &wasm);
    crypto_hash_hex(buf_view(&wasm), wrong);
    assert_int_equal(ask_by(wrong, seven), 7);
    assert_int_equal(ask(ENGINE_OWN, eight), 8);
    assert_int_equal(ask(ENGINE_OWN, seven), 7);
    assert_int_equal(count_files(".cwasm"), 2);
}

#define in_a_new_folder(test) \
    cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return be_one_of_several();
    const struct CMUnitTest tests[] = {
        in_a_new_folder(compiled_code_is_kept_and_taken_again),
        in_a_new_folder(each_module_and_each_way_to_compile_has_its_own),
        in_a_new_folder(our_own_sum_alone_decides),
        in_a_new_folder(code_of_another_module_is_not_run),
        in_a_new_folder(damaged_code_is_compiled_again),
        in_a_new_folder(cut_or_grown_code_is_compiled_again),
        in_a_new_folder(a_sum_that_is_missing_or_wrong_is_made_again),
        in_a_new_folder(names_that_are_no_files_do_not_matter),
        in_a_new_folder(a_folder_that_others_may_write_to_is_not_used),
        in_a_new_folder(without_a_place_for_it_everything_still_works),
        in_a_new_folder(a_folder_that_cannot_be_written_is_still_read),
        in_a_new_folder(who_wants_no_cache_leaves_nothing),
        in_a_new_folder(
            the_least_recently_used_module_is_removed_where_the_limit_is_reached),
        in_a_new_folder(what_was_compiled_ahead_is_used_where_the_cache_has_none),
        in_a_new_folder(what_is_no_module_is_not_compiled_ahead),
        in_a_new_folder(code_that_is_compiled_soon_does_the_same),
        in_a_new_folder(a_hash_that_is_known_finds_what_was_compiled),
        in_a_new_folder(nothing_is_kept_under_a_hash_that_is_not_its_own),
        in_a_new_folder(several_processes_share_one_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
