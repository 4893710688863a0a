/* Connections of this process, of other accounts, and without an owner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/skip_test.h"
#include "http/account.h"

#define NOBODY 65534

struct pair {
    int listener, fd, accepted; /* -1: none */
    struct sockaddr_storage at;
    socklen_t size;
};

static struct accounts accounts;

static void listen_at(struct pair *p, int family, const char *address)
{
    *p = (struct pair){.fd = -1, .accepted = -1};
    if (family == AF_INET) {
        struct sockaddr_in *in = (struct sockaddr_in *)&p->at;
        *in = (struct sockaddr_in){.sin_family = AF_INET};
        assert_int_equal(inet_pton(AF_INET, address, &in->sin_addr), 1);
        p->size = sizeof *in;
    } else {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&p->at;
        *in6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
        assert_int_equal(inet_pton(AF_INET6, address, &in6->sin6_addr), 1);
        p->size = sizeof *in6;
    }
    p->listener = socket(family, SOCK_STREAM, 0);
    assert_true(p->listener >= 0);
    int off = 0;
    if (family == AF_INET6)
        (void)setsockopt(p->listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&p->at, p->size), 0);
    assert_int_equal(listen(p->listener, 4), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&p->at, &p->size), 0);
}

static void close_pair(struct pair *p)
{
    int all[] = {p->listener, p->fd, p->accepted};
    for (size_t i = 0; i < LENGTH(all); i++)
        if (all[i] >= 0)
            close(all[i]);
}

static void connect_to(struct pair *p, const struct sockaddr *sa, socklen_t size)
{
    p->fd = socket(sa->sa_family, SOCK_STREAM, 0);
    assert_int_equal(connect(p->fd, sa, size), 0);
    p->accepted = accept(p->listener, NULL, NULL);
    assert_true(p->accepted >= 0);
}

/* ---- tests ------------------------------------------------------------------- */

static void our_own_connection_is_known(void **state)
{
    (void)state;
    static const struct {
        int family;
        const char *address;
    } cases[] = {{AF_INET, "127.0.0.1"}, {AF_INET, "127.1.2.3"}, {AF_INET6, "::1"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct pair p;
        listen_at(&p, cases[i].family, cases[i].address);
        connect_to(&p, (struct sockaddr *)&p.at, p.size);
        assert_int_equal(account_of_tcp(&accounts, p.accepted), ACCOUNT_OWN);
        close_pair(&p);
    }
}

/* Each end may see the other as IPv4 or as IPv4 within IPv6. */
static void an_address_of_either_kind_is_the_same(void **state)
{
    (void)state;
    struct pair p;
    listen_at(&p, AF_INET6, "::");
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = ((struct sockaddr_in6 *)&p.at)->sin6_port,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    connect_to(&p, (struct sockaddr *)&v4, sizeof v4);
    assert_int_equal(account_of_tcp(&accounts, p.accepted), ACCOUNT_OWN);
    close_pair(&p);

    listen_at(&p, AF_INET, "127.0.0.1");
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6,
                                  .sin6_port = ((struct sockaddr_in *)&p.at)->sin_port};
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr), 1);
    connect_to(&p, (struct sockaddr *)&mapped, sizeof mapped);
    assert_int_equal(account_of_tcp(&accounts, p.accepted), ACCOUNT_OWN);
    close_pair(&p);
}

/* The kernel reports root as such a socket's owner. */
static void a_socket_that_was_closed_is_nobodys(void **state)
{
    (void)state;
    struct pair p;
    listen_at(&p, AF_INET, "127.0.0.1");
    connect_to(&p, (struct sockaddr *)&p.at, p.size);
    assert_int_equal(send(p.fd, "GET", 3, 0), 3);
    close(p.fd);
    p.fd = -1;
    assert_int_equal(account_of_tcp(&accounts, p.accepted), ACCOUNT_UNKNOWN);
    close_pair(&p);
}

static void one_that_says_no_more_is_still_its_owners(void **state)
{
    (void)state;
    struct pair p;
    listen_at(&p, AF_INET, "127.0.0.1");
    connect_to(&p, (struct sockaddr *)&p.at, p.size);
    assert_int_equal(shutdown(p.fd, SHUT_WR), 0);
    assert_int_equal(account_of_tcp(&accounts, p.accepted), ACCOUNT_OWN);
    close_pair(&p);
}

/* The kernel reports a listener at an address without connections. */
static void who_listens_where_a_peer_was_is_not_the_peer(void **state)
{
    (void)state;
    struct pair p, other;
    listen_at(&p, AF_INET, "127.0.0.1");
    listen_at(&other, AF_INET, "127.0.0.1");
    p.fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(p.fd, (struct sockaddr *)&p.at, p.size), 0);
    assert_int_equal(account_of_tcp(&accounts, other.listener), ACCOUNT_UNKNOWN);
    assert_int_equal(account_of_tcp(&accounts, -1), ACCOUNT_UNKNOWN);
    close_pair(&p);
    close_pair(&other);
}

static void need_root(void)
{
    if (geteuid() == 0)
        return;
    skip_system("only root can become another account");
}

/* Connects as another account and stays until the test is done. */
static pid_t connect_as_nobody(const struct sockaddr *sa, socklen_t size, int gate[2])
{
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    char byte;
    close(gate[1]);
    int fd = setuid(NOBODY) == 0 ? socket(sa->sa_family, SOCK_STREAM, 0) : -1;
    bool ok = fd >= 0 && connect(fd, sa, size) == 0;
    (void)!read(gate[0], &byte, 1); /* its end */
    _exit(ok ? 0 : 1);
}

static void end_child(pid_t child, int gate[2])
{
    int status;
    close(gate[0]);
    close(gate[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void another_account_is_told(void **state)
{
    (void)state;
    need_root();
    struct pair p;
    int gate[2];
    listen_at(&p, AF_INET, "127.0.0.1");
    pid_t child = connect_as_nobody((struct sockaddr *)&p.at, p.size, gate);
    p.accepted = accept(p.listener, NULL, NULL);
    assert_int_equal(account_of_tcp(&accounts, p.accepted), ACCOUNT_OTHER);
    struct accounts theirs = accounts;
    theirs.own = NOBODY;
    assert_int_equal(account_of_tcp(&theirs, p.accepted), ACCOUNT_OWN);
    /* In a namespace that does not map it, that number may be anybody. */
    theirs.has_overflow = true;
    theirs.overflow = NOBODY;
    assert_int_equal(account_of_tcp(&theirs, p.accepted), ACCOUNT_UNKNOWN);
    end_child(child, gate);
    close_pair(&p);
}

static void root_is_trusted_by_all(void **state)
{
    (void)state;
    need_root();
    struct pair p;
    struct accounts theirs = accounts;
    theirs.own = 1234;
    listen_at(&p, AF_INET, "127.0.0.1");
    connect_to(&p, (struct sockaddr *)&p.at, p.size);
    assert_int_equal(account_of_tcp(&theirs, p.accepted), ACCOUNT_OWN);
    close_pair(&p);
}

static void the_peer_of_a_socket_in_the_file_system_is_told(void **state)
{
    (void)state;
    int both[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
    assert_int_equal(account_of_unix(&accounts, both[0]), ACCOUNT_OWN);
    assert_int_equal(account_of_unix(&accounts, -1), ACCOUNT_UNKNOWN);
    struct accounts theirs = accounts;
    theirs.own = geteuid() + 1;
    assert_int_equal(account_of_unix(&theirs, both[0]),
                     geteuid() == 0 ? ACCOUNT_OWN : ACCOUNT_OTHER);
    close(both[0]);
    close(both[1]);
}

static void without_the_kernels_word_nobody_is_known(void **state)
{
    (void)state;
    struct err e = {0};
    struct accounts mute;
    accounts_init(&mute);
    close(mute.fd);
    mute.fd = -1;
    struct pair p;
    listen_at(&p, AF_INET, "127.0.0.1");
    connect_to(&p, (struct sockaddr *)&p.at, p.size);
    assert_int_equal(account_of_tcp(&mute, p.accepted), ACCOUNT_UNKNOWN);
    assert_false(accounts_work(&mute, &e));
    assert_non_null(strstr(e.msg, "sock_diag is refused"));
    accounts_done(&mute);
    close_pair(&p);
    e = (struct err){0};
    assert_true(accounts_work(&accounts, &e));
}

static int begin(void **state)
{
    (void)state;
    accounts_init(&accounts);
    return 0;
}

static int end(void **state)
{
    (void)state;
    accounts_done(&accounts);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_connection_is_known),
        cmocka_unit_test(an_address_of_either_kind_is_the_same),
        cmocka_unit_test(a_socket_that_was_closed_is_nobodys),
        cmocka_unit_test(one_that_says_no_more_is_still_its_owners),
        cmocka_unit_test(who_listens_where_a_peer_was_is_not_the_peer),
        cmocka_unit_test(another_account_is_told),
        cmocka_unit_test(root_is_trusted_by_all),
        cmocka_unit_test(the_peer_of_a_socket_in_the_file_system_is_told),
        cmocka_unit_test(without_the_kernels_word_nobody_is_known),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
