/* Sockets in the file system: permissions, existing files, and what is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/home_test.h"
#include "http/local.h"

static char folder[HOME_SIZE];
static char path[64];

static int new_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    return fd;
}

static bool is_there(void)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static bool can_connect(void)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    (void)snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
    int fd = new_socket();
    bool ok = connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0;
    close(fd);
    return ok;
}

static enum err_code try(struct local *l, int *fd, const char *at)
{
    struct err e = {0};
    *l = (struct local){.dir = -1};
    *fd = new_socket();
    enum err_code code = local_bind(l, *fd, at, &e) ? ERR_NONE : e.code;
    if (code) {
        close(*fd);
        local_remove(l);
    }
    return code;
}

static void it_is_for_this_account_alone_and_goes_with_its_server(void **state)
{
    (void)state;
    struct local l;
    int fd;
    struct stat st;
    mode_t before = umask(0);
    assert_int_equal(try(&l, &fd, path), ERR_NONE);
    umask(before);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(can_connect());
    close(fd);
    local_remove(&l);
    assert_false(is_there());
    local_remove(&l);
}

static void one_that_nobody_listens_on_is_replaced(void **state)
{
    (void)state;
    struct local dead, l;
    int fd;
    assert_int_equal(try(&dead, &fd, path), ERR_NONE);
    close(fd); /* as after a kill */
    assert_true(is_there());
    assert_int_equal(try(&l, &fd, path), ERR_NONE);
    assert_true(can_connect());
    local_remove(&dead); /* another server's now */
    assert_true(can_connect());
    close(fd);
    local_remove(&l);
    assert_false(is_there());
}

static void one_that_somebody_listens_on_stays(void **state)
{
    (void)state;
    struct local first, second;
    int fd, other;
    assert_int_equal(try(&first, &fd, path), ERR_NONE);
    assert_int_equal(try(&second, &other, path), ERR_CONFLICT);
    assert_true(can_connect());
    close(fd);
    local_remove(&first);
}

static void what_is_no_socket_stays(void **state)
{
    (void)state;
    struct local l;
    int fd;
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(try(&l, &fd, path), ERR_CONFLICT);
    assert_true(is_there());
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/nowhere", path), 0);
    assert_int_equal(try(&l, &fd, path), ERR_CONFLICT);
    assert_int_equal(unlink(path), 0);
}

static void a_folder_that_others_may_write_is_refused(void **state)
{
    (void)state;
    struct local l;
    int fd;
    assert_int_equal(try(&l, &fd, "/tmp/cloche.sock"), ERR_DENIED);
    assert_int_equal(chmod(folder, 0770), 0);
    assert_int_equal(try(&l, &fd, path), ERR_DENIED);
    assert_false(is_there());
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(try(&l, &fd, path), ERR_NONE);
    close(fd);
    local_remove(&l);
    assert_int_equal(try(&l, &fd, "/nowhere/at/all"), ERR_NOT_FOUND);
}

static void a_path_that_does_not_fit_is_told(void **state)
{
    (void)state;
    struct local l;
    int fd;
    char large[300];
    memset(large, 'x', sizeof large);
    large[0] = '/';
    large[sizeof large - 1] = 0;
    assert_int_equal(try(&l, &fd, large), ERR_INVALID);
    assert_int_equal(try(&l, &fd, "relative"), ERR_INVALID);
    assert_int_equal(try(&l, &fd, "/tmp/"), ERR_INVALID);
}

static int begin(void **state)
{
    (void)state;
    if (!folder_make(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/s", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return rmdir(folder); /* nothing is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_for_this_account_alone_and_goes_with_its_server),
        cmocka_unit_test(one_that_nobody_listens_on_is_replaced),
        cmocka_unit_test(one_that_somebody_listens_on_stays),
        cmocka_unit_test(what_is_no_socket_stays),
        cmocka_unit_test(a_folder_that_others_may_write_is_refused),
        cmocka_unit_test(a_path_that_does_not_fit_is_told),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
