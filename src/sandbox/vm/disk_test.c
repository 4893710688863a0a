/* A disk compared with an array. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "vm/disk.h"

#define BLOCKS 64u
#define BYTES (BLOCKS * DISK_BLOCK)

static uint8_t base_bytes[BYTES], expected[BYTES], got[BYTES];
static int base = -1;

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        base_bytes[i] = i / DISK_BLOCK % 3 ? (uint8_t)(i * 7 + i / DISK_BLOCK) : 0;
    memcpy(expected, base_bytes, BYTES);
    base = memfd_create("test", MFD_CLOEXEC);
    return base >= 0 && write(base, base_bytes, BYTES) == BYTES ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    os_close(base);
    return 0;
}

static struct disk *disk_with(uint64_t quota)
{
    return disk_open(&(struct disk_options){.base = base,
                                            .bytes = BYTES,
                                            .quota_bytes = quota,
                                            .folder = -1,
                                            .delta = {.fd = -1}});
}

static void assert_is_as_expected(struct disk *d)
{
    memset(got, 0xee, BYTES);
    assert_true(disk_read(d, 0, got, BYTES));
    assert_memory_equal(got, expected, BYTES);
}

static void it_begins_as_its_base(void **state)
{
    (void)state;
    scoped(disk_close) struct disk *d = disk_with(BYTES);
    assert_is_as_expected(d);
    assert_int_equal(disk_used(d), 0);
}

static uint32_t dice;
static uint32_t roll(uint32_t sides)
{
    dice = dice * 1664525 + 1013904223;
    return (dice >> 8) % sides;
}

static void whatever_is_done_to_it_reads_back(void **state)
{
    (void)state;
    static uint8_t bytes[BYTES];
    for (uint32_t seed = 1; seed <= 50; seed++) {
        scoped(disk_close) struct disk *d = disk_with(BYTES);
        memcpy(expected, base_bytes, BYTES);
        dice = seed;
        for (int k = 0; k < 60; k++) {
            uint32_t first = roll(BYTES / DISK_SECTOR);
            uint32_t most = BYTES / DISK_SECTOR - first;
            uint32_t count = roll(2) ? roll(12) : roll(most + 1);
            size_t at = (size_t)first * DISK_SECTOR;
            size_t n = (size_t)(count < most ? count : most) * DISK_SECTOR;
            if (roll(3) == 0) {
                assert_true(disk_zero(d, at, n));
                memset(expected + at, 0, n);
                continue;
            }
            memset(bytes, (int)roll(255) + 1, n);
            assert_true(disk_write(d, at, bytes, n));
            memcpy(expected + at, bytes, n);
        }
        assert_is_as_expected(d);
        assert_true(disk_used(d) <= BYTES);
    }
    memset(got, 0, BYTES); /* nothing was written to the base */
    assert_int_equal(pread(base, got, BYTES, 0), BYTES);
    assert_memory_equal(got, base_bytes, BYTES);
}

static void what_lies_outside_or_is_no_sector_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t at, n;
    } bad[] = {{1, 512},
               {0, 511},
               {BYTES, 512},
               {BYTES - 512, 1024},
               {UINT64_MAX - 511, 512},
               {512, UINT64_MAX - 511}};
    scoped(disk_close) struct disk *d = disk_with(BYTES);
    for (size_t i = 0; i < LENGTH(bad); i++) {
        assert_false(disk_read(d, bad[i].at, got, bad[i].n));
        assert_false(disk_write(d, bad[i].at, got, bad[i].n));
        assert_false(disk_zero(d, bad[i].at, bad[i].n));
    }
    assert_true(disk_read(d, BYTES, got, 0));
}

static void a_disk_that_may_not_be_written_is_not(void **state)
{
    (void)state;
    scoped(disk_close) struct disk *d =
        disk_open(&(struct disk_options){.base = base,
                                         .bytes = BYTES,
                                         .read_only = true,
                                         .quota_bytes = BYTES,
                                         .folder = -1});
    assert_false(disk_write(d, 0, got, 512));
    assert_false(disk_zero(d, 0, 512));
    assert_is_as_expected(d);
}

static void its_quota_counts_blocks_until_they_are_zeroed(void **state)
{
    (void)state;
    static uint8_t block[DISK_BLOCK] = {1};
    scoped(disk_close) struct disk *d = disk_with(3 * DISK_BLOCK);
    for (uint64_t k = 0; k < 3; k++)
        assert_true(disk_write(d, k * DISK_BLOCK, block, sizeof block));
    assert_int_equal(disk_used(d), 3 * DISK_BLOCK);
    assert_true(disk_write(d, DISK_BLOCK, block, 512)); /* over existing data */
    assert_false(disk_write(d, 5 * DISK_BLOCK, block, 512));
    assert_false(disk_write(d, 5 * DISK_BLOCK, block, sizeof block));
    assert_true(disk_zero(d, 0, DISK_BLOCK));
    assert_int_equal(disk_used(d), 2 * DISK_BLOCK);
    assert_true(disk_write(d, 5 * DISK_BLOCK, block, sizeof block));
    assert_true(disk_read(d, 0, got, DISK_BLOCK));
    for (size_t i = 0; i < DISK_BLOCK; i++)
        assert_int_equal(got[i], 0);
}

static void an_images_blocks_lie_between(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {2, 3, 40};
    static uint8_t blocks[3 * DISK_BLOCK], mark[DISK_SECTOR];
    scoped_fd int fd = memfd_create("test", MFD_CLOEXEC);
    memset(blocks, 0x42, sizeof blocks);
    memset(mark, 0x43, sizeof mark);
    assert_int_equal(pwrite(fd, blocks, sizeof blocks, 8192), sizeof blocks);
    scoped(disk_close) struct disk *d =
        disk_open(&(struct disk_options){.base = base,
                                         .bytes = BYTES,
                                         .quota_bytes = BYTES,
                                         .folder = -1,
                                         .delta = {fd, 8192, numbers, LENGTH(numbers)}});
    for (size_t k = 0; k < LENGTH(numbers); k++)
        memset(expected + (size_t)numbers[k] * DISK_BLOCK, 0x42, DISK_BLOCK);
    assert_is_as_expected(d);
    assert_true(disk_write(d, 3 * DISK_BLOCK + 512, mark, sizeof mark));
    memcpy(expected + 3 * DISK_BLOCK + 512, mark, sizeof mark);
    assert_true(disk_write(d, 7 * DISK_BLOCK, mark, sizeof mark));
    memcpy(expected + 7 * DISK_BLOCK, mark, sizeof mark);
    assert_is_as_expected(d);

    static const uint32_t changed[] = {2, 3, 7, 40};
    scoped_buf struct buf all;
    buf_init(&all, 4096);
    disk_changed(d, &all);
    assert_int_equal(all.n, sizeof changed);
    assert_memory_equal(all.at, changed, sizeof changed);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_begins_as_its_base),
        TEST(whatever_is_done_to_it_reads_back),
        TEST(what_lies_outside_or_is_no_sector_is_refused),
        TEST(a_disk_that_may_not_be_written_is_not),
        TEST(its_quota_counts_blocks_until_they_are_zeroed),
        TEST(an_images_blocks_lie_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
