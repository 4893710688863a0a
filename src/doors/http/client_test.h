/* http/client_test.h - shared by the room's tests: a meeting place of handlers and test,
 * and a client that sends raw requests. Included by one file a program. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system_test.h"
#include "http/http.h"

/* ---- a place where handlers and the test meet --------------------------- */

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned started, stopped, dropped;
    bool open; /* handlers at the gate may go on */
};

static struct meeting meet = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};

__attribute__((unused)) static void note(unsigned *what)
{
    pthread_mutex_lock(&meet.lock);
    (*what)++;
    pthread_cond_broadcast(&meet.changed);
    pthread_mutex_unlock(&meet.lock);
}

__attribute__((unused)) static void await(const unsigned *what, unsigned n)
{
    pthread_mutex_lock(&meet.lock);
    while (*what < n)
        pthread_cond_wait(&meet.changed, &meet.lock);
    pthread_mutex_unlock(&meet.lock);
}

__attribute__((unused)) static void open_gate(bool open)
{
    pthread_mutex_lock(&meet.lock);
    meet.open = open;
    pthread_cond_broadcast(&meet.changed);
    pthread_mutex_unlock(&meet.lock);
}

/* ---- a client ----------------------------------------------------------- */

static uint16_t port; /* of the server under test */

__attribute__((unused)) static int call(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    return fd;
}

static void say(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(int fd, const char *fmt, ...)
{
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_true(n > 0 && (size_t)n < sizeof text);
    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

/* Sends the first lines of a request; the caller ends the headers. */
__attribute__((unused)) static void ask(int fd, const char *method, const char *target)
{
    say(fd, "%s %s HTTP/1.1\r\nHost: localhost:%u\r\n", method, target, port);
}

__attribute__((unused)) static const char *get(const char *target, const char *headers)
{
    int fd = call();
    ask(fd, "GET", target);
    say(fd, "%sConnection: close\r\n\r\n", headers);
    return hear(fd);
}

#define assert_status(text, status) \
    assert_memory_equal((text), "HTTP/1.1 " #status " ", sizeof "HTTP/1.1 " #status)
#define assert_says(text, part) assert_non_null(strstr((text), (part)))
