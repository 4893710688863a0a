/* Which parts of a person's file of certificates machines are given. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "vm/certificates.h"

#define ONE "-----BEGIN CERTIFICATE-----\nMIIB\nAAEC\n-----END CERTIFICATE-----\n"
#define TWO "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"
#define KEY "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"

static char root[] = "/tmp/certificates-XXXXXX";
static int folder = -1;

static int set_up(void **state)
{
    (void)state;
    must(mkdtemp(root));
    folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlinkat(folder, CERTIFICATES_FILE, 0);
    os_close(folder);
    return rmdir(root);
}

static void put(const char *text)
{
    scoped_fd int fd =
        openat(folder, CERTIFICATES_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static enum err_code read_into(struct buf *out, size_t ceiling)
{
    struct err e = {0};
    buf_init(out, ceiling);
    bool fine = certificates_read(folder, out, &e);
    assert_int_equal(fine, e.code == 0);
    if (!fine)
        assert_non_null(strstr(e.msg, CERTIFICATES_FILE));
    return e.code;
}

static void without_the_file_there_are_none(void **state)
{
    (void)state;
    scoped_buf struct buf out;
    (void)unlinkat(folder, CERTIFICATES_FILE, 0);
    assert_int_equal(read_into(&out, BUF_TEXT), 0);
    assert_int_equal(out.n, 0);
}

static void certificates_are_taken_and_nothing_else(void **state)
{
    (void)state;
    scoped_buf struct buf out;
    put("subject=/CN=one\n" ONE KEY "# the other\r\n" TWO);
    assert_int_equal(read_into(&out, BUF_TEXT), 0);
    assert_string_equal(buf_cz(&out), ONE TWO);
}

static void line_ends_of_windows_and_a_missing_last_one_do_not_matter(void **state)
{
    (void)state;
    scoped_buf struct buf out;
    put("-----BEGIN CERTIFICATE-----\r\nMIIC\r\n-----END CERTIFICATE-----");
    assert_int_equal(read_into(&out, BUF_TEXT), 0);
    assert_string_equal(buf_cz(&out), TWO);
}

static void what_is_no_certificate_is_an_error(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        KEY,
        "MIIC\n",
        "-----BEGIN CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIC\n",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMI IC\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ONE "-----BEGIN CERTIFICATE-----\n" TWO,
        ONE "-----BEGIN CERTIFICATE-----\nMIIC\n-----END PRIVATE KEY-----\n",
    };
    for (size_t i = 0; i < LENGTH(texts); i++) {
        scoped_buf struct buf out;
        put(texts[i]);
        assert_int_equal(read_into(&out, BUF_TEXT), ERR_INVALID);
    }
}

static void more_than_there_is_room_for_is_an_error(void **state)
{
    (void)state;
    scoped_buf struct buf fits, not;
    put(ONE TWO);
    assert_int_equal(read_into(&fits, sizeof ONE TWO - 1), 0);
    assert_int_equal(read_into(&not, sizeof ONE TWO - 2), ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_file_there_are_none),
        cmocka_unit_test(certificates_are_taken_and_nothing_else),
        cmocka_unit_test(line_ends_of_windows_and_a_missing_last_one_do_not_matter),
        cmocka_unit_test(what_is_no_certificate_is_an_error),
        cmocka_unit_test(more_than_there_is_room_for_is_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
