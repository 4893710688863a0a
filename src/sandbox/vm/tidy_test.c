/* What tidy removes from the cache, and what it keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/home_test.h"
#include "vm/tidy.h"

static char top[HOME_SIZE];
static int folder;

static int open_folder(void **state)
{
    (void)state;
    folder = folder_make(top) ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return folder < 0;
}

static int remove_folder(void **state)
{
    (void)state;
    close(folder);
    return rmdir(top); /* nothing is left */
}

static void put(const char *name, long used)
{
    int fd = openat(folder, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
    struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

/* Removes it, too. */
static bool is_there(const char *name)
{
    return unlinkat(folder, name, 0) == 0;
}

static void of_images_those_stay_that_were_used_last(void **state)
{
    (void)state;
    put("machine-64-0000000000000001.mem", 1000);
    put("machine-65-0000000000000001.mem", 3000);
    put("machine-66-0000000000000001.mem", 2000);
    put("machines.lock", 1);
    put("another.mem", 1);
    int used = openat(folder, "machine-64-0000000000000001.mem", O_RDONLY | O_CLOEXEC);
    tidy_used(used);
    close(used);
    tidy_images(folder, 2);
    assert_true(is_there("machine-64-0000000000000001.mem"));
    assert_true(is_there("machine-65-0000000000000001.mem"));
    assert_false(is_there("machine-66-0000000000000001.mem"));
    assert_true(is_there("machines.lock") && is_there("another.mem"));
}

static void drafts_go_whose_size_is_locked(void **state)
{
    (void)state;
    put(".machine-64-0000000000000001.mem.17.tmp", 1000);
    put(".machine-64-0000000000000002.mem.99.tmp", 1000);
    put(".machine-640-0000000000000001.mem.17.tmp", 1000);
    put("machine-64-0000000000000001.mem", 1000);
    tidy_drafts(folder, 64);
    assert_false(is_there(".machine-64-0000000000000001.mem.17.tmp"));
    assert_false(is_there(".machine-64-0000000000000002.mem.99.tmp"));
    assert_true(is_there(".machine-640-0000000000000001.mem.17.tmp"));
    assert_true(is_there("machine-64-0000000000000001.mem"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_images_those_stay_that_were_used_last),
        cmocka_unit_test(drafts_go_whose_size_is_locked),
    };
    return cmocka_run_group_tests(tests, open_folder, remove_folder);
}
