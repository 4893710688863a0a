#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/frames.h"
#include "vm/keep.h"

/* ---- frames ------------------------------------------------------------------- */

static void put_some(struct buf *stream, struct str large)
{
    frame_put(stream, 1, VM_OUT, STR("hello"));
    frame_put(stream, 0, VM_READY, STR(""));
    frame_put_all(stream, 7, VM_ERR, large);
    frame_put_u32(stream, 9, VM_CREDIT, 77);
}

/* Reads all, in pieces of `step` bytes, and describes the frames in one text. */
static void read_all(struct str stream, size_t step, struct buf *told)
{
    struct frames f;
    struct frame one;
    struct err e = {0};
    frames_init(&f);
    for (size_t at = 0; at < stream.n; at += step) {
        struct str in = {stream.at + at, stream.n - at < step ? stream.n - at : step};
        while (frames_next(&f, &in, &one, &e) == FRAMES_ONE) {
            buf_printf(told, "%u %u:", one.id, one.verb);
            buf_str(told, one.payload);
        }
        assert_int_equal(in.n, 0);
    }
    assert_int_equal(e.code, ERR_NONE);
    frames_done(&f);
}

static void frames_are_read_wherever_they_are_cut(void **state)
{
    (void)state;
    static char large[VM_FRAME_MAX + 10];
    struct buf stream, whole, cut;
    memset(large, 'l', sizeof large);
    buf_init(&stream, 1 << 20);
    buf_init(&whole, 1 << 20);
    put_some(&stream, (struct str){large, sizeof large});
    read_all(buf_view(&stream), stream.n, &whole);
    assert_true(str_starts(buf_view(&whole), "1 66:hello0 64:7 67:lll"));
    static const size_t steps[] = {1, 2, 3, 11, 12, 13, 100, 65536, 65547, 65549};
    for (size_t i = 0; i < LENGTH(steps); i++) {
        buf_init(&cut, 1 << 20);
        read_all(buf_view(&stream), steps[i], &cut);
        assert_true(str_eq(buf_view(&cut), buf_view(&whole)));
        buf_done(&cut);
    }
    buf_done(&whole);
    buf_done(&stream);
}

static void expect_broken(const void *at, size_t n, size_t step)
{
    struct frames f;
    struct frame one;
    struct err e = {0};
    enum frames_found found = FRAMES_NONE;
    frames_init(&f);
    for (size_t i = 0; i < n && found == FRAMES_NONE; i += step) {
        struct str in = {(const char *)at + i, n - i < step ? n - i : step};
        found = frames_next(&f, &in, &one, &e);
    }
    assert_int_equal(found, FRAMES_BROKEN);
    assert_int_equal(e.code, ERR_GUEST);
    frames_done(&f);
}

static void what_is_no_frame_is_told_by_its_head(void **state)
{
    (void)state;
    uint32_t long_one[3] = {VM_FRAME_MAX + 1, 1, VM_OUT},
             odd[3] = {0, 1, 0x10000 | VM_OUT};
    expect_broken(long_one, sizeof long_one, sizeof long_one);
    expect_broken(long_one, sizeof long_one, 5);
    expect_broken(odd, sizeof odd, sizeof odd);
    expect_broken(odd, sizeof odd, 1);
}

/* ---- bounded copies ---------------------------------------------------------------- */

/* `want` has a "|" where bytes are left out. */
static void expect_kept(size_t max, const char *const *parts, const char *want,
                        uint64_t lost)
{
    struct keep k;
    struct buf out;
    size_t gap;
    scoped_buf struct buf marked;
    buf_init(&marked, 1000);
    keep_init(&k, max);
    for (; *parts; parts++)
        keep_put(&k, str_of(*parts));
    assert_int_equal(keep_end(&k, &out, &gap), lost);
    buf_put(&marked, out.at, gap);
    buf_cstr(&marked, lost ? "|" : "");
    buf_put(&marked, out.at + gap, out.n - gap);
    assert_string_equal(buf_cz(&marked), want);
    buf_done(&out);
    keep_done(&k);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void short_output_is_kept_as_it_is(void **state)
{
    (void)state;
    expect_kept(10, PARTS(""), "", 0);
    expect_kept(10, PARTS("abc", "de"), "abcde", 0);
    expect_kept(10, PARTS("abcdefghij"), "abcdefghij", 0);
    expect_kept(10, PARTS("abcdefg", "hi", "j"), "abcdefghij", 0);
}

static void of_long_output_the_first_and_the_last_part_are_kept(void **state)
{
    (void)state;
    expect_kept(10, PARTS("abcdefghijk"), "abcde|ghijk", 1);
    expect_kept(10, PARTS("abcdefghij", "k", "l"), "abcde|hijkl", 2);
    expect_kept(10, PARTS("abcdefghij", "0123456789", "XYZ"), "abcde|89XYZ", 13);
}

static void however_much_comes_is_counted(void **state)
{
    (void)state;
    static char many[1234567 + 10 + 1];
    memset(many, 'm', sizeof many - 1);
    expect_kept(10, PARTS(many), "mmmmm|mmmmm", 1234567);
}

static void no_character_is_cut_in_two(void **state)
{
    (void)state;
    /* Three bytes each: the first half ends in one, the second begins in one. */
    expect_kept(10, PARTS("\u20ac\u20ac\u20ac\u20ac\u20ac"), "\u20ac|\u20ac", 9);
    /* Invalid UTF-8 stays as it is. */
    expect_kept(6, PARTS("a\xff\xff", "bcd", "\xff\xff\xff"), "a\xff\xff|\xff\xff\xff",
                3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_read_wherever_they_are_cut),
        cmocka_unit_test(what_is_no_frame_is_told_by_its_head),
        cmocka_unit_test(short_output_is_kept_as_it_is),
        cmocka_unit_test(of_long_output_the_first_and_the_last_part_are_kept),
        cmocka_unit_test(however_much_comes_is_counted),
        cmocka_unit_test(no_character_is_cut_in_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
