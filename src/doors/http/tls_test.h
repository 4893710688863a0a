/* http/tls_test.h - certificates made on the spot, and a client's end of TLS for tests
 * that write and read plain bytes.
 */
#pragma once
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

static inline void put_file(const char *path, const gnutls_datum_t *text)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    must(fd >= 0 && write(fd, text->data, text->size) == (ssize_t)text->size);
    close(fd);
    gnutls_free(text->data);
}

/* A key and a certificate for localhost that it signed itself, in DIR/NAME.key and
 * DIR/NAME.crt. */
static inline void make_certificate(const char *dir, const char *name, unsigned serial)
{
    char path[256];
    unsigned char number[1] = {(unsigned char)serial};
    gnutls_datum_t text;
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    must(gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&crt) == 0);
    must(gnutls_x509_privkey_generate(key, GNUTLS_PK_EC,
                                      GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
                                      0) == 0);
    must(gnutls_x509_crt_set_version(crt, 3) == 0);
    must(gnutls_x509_crt_set_serial(crt, number, 1) == 0);
    must(gnutls_x509_crt_set_activation_time(crt, time(NULL) - 3600) == 0);
    must(gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 3600) == 0);
    must(gnutls_x509_crt_set_dn(crt, "CN=localhost", NULL) == 0);
    must(gnutls_x509_crt_set_key(crt, key) == 0);
    must(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0) == 0);
    must(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text) == 0);
    (void)snprintf(path, sizeof path, "%s/%s.key", dir, name);
    put_file(path, &text);
    must(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &text) == 0);
    (void)snprintf(path, sizeof path, "%s/%s.crt", dir, name);
    put_file(path, &text);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

/* ---- a client ----------------------------------------------------------- */

/* One connection: what is written to `plain` goes through the session, and back. */
struct tunnel {
    int plain, secret;
};

static inline bool all_written(gnutls_session_t session, const char *at, size_t n)
{
    while (n) {
        ssize_t sent = gnutls_record_send(session, at, n);
        if (sent < 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

static inline bool all_handed_on(int fd, const char *at, ssize_t n)
{
    return n > 0 && send(fd, at, (size_t)n, MSG_NOSIGNAL) == n;
}

static inline void tunnel_carry(struct tunnel *t, gnutls_session_t session)
{
    char piece[16 * 1024];
    struct pollfd both[2] = {{.fd = t->plain, .events = POLLIN},
                             {.fd = t->secret, .events = POLLIN}};
    for (;;) {
        bool pending = gnutls_record_check_pending(session) > 0;
        if (!pending && poll(both, 2, -1) < 0)
            return;
        if (!pending && both[0].revents) {
            ssize_t n = recv(t->plain, piece, sizeof piece, 0);
            if (n <= 0 || !all_written(session, piece, (size_t)n))
                return;
        }
        if (pending || both[1].revents) {
            ssize_t n = gnutls_record_recv(session, piece, sizeof piece);
            if (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED)
                continue;
            if (!all_handed_on(t->plain, piece, n))
                return;
        }
    }
}

static inline unsigned peer_serial(gnutls_session_t session)
{
    unsigned n;
    unsigned char number[20];
    size_t size = sizeof number;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
    gnutls_x509_crt_t crt;
    must(chain && gnutls_x509_crt_init(&crt) == 0);
    must(gnutls_x509_crt_import(crt, chain, GNUTLS_X509_FMT_DER) == 0);
    must(gnutls_x509_crt_get_serial(crt, number, &size) == 0);
    gnutls_x509_crt_deinit(crt);
    return number[size - 1];
}

/* A session with the peer; NULL: none was established. */
static inline gnutls_session_t session_begin(int fd, const char *priorities,
                                             gnutls_certificate_credentials_t *none)
{
    gnutls_session_t session;
    must(gnutls_certificate_allocate_credentials(none) == 0);
    must(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL) == 0);
    must(gnutls_priority_set_direct(session, priorities, NULL) == 0);
    must(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, *none) == 0);
    gnutls_transport_set_int(session, fd);
    int r;
    do
        r = gnutls_handshake(session);
    while (r < 0 && !gnutls_error_is_fatal(r));
    if (r == 0)
        return session;
    gnutls_deinit(session);
    return NULL;
}

static inline void session_end(gnutls_session_t session,
                               gnutls_certificate_credentials_t none)
{
    if (session)
        gnutls_deinit(session);
    gnutls_certificate_free_credentials(none);
}

static inline void *tunnel_main(void *arg)
{
    struct tunnel *t = arg;
    gnutls_certificate_credentials_t none;
    gnutls_session_t session = session_begin(t->secret, "NORMAL", &none);
    if (session)
        tunnel_carry(t, session);
    session_end(session, none);
    close(t->secret);
    close(t->plain);
    free(t);
    return NULL;
}

/* Owns `secret`, a connected socket; returns the plain end. */
static inline int tunnel_open(int secret)
{
    int both[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
    struct tunnel *t = mem_new(sizeof *t);
    *t = (struct tunnel){.plain = both[1], .secret = secret};
    pthread_t thread;
    must(pthread_create(&thread, NULL, tunnel_main, t) == 0);
    pthread_detach(thread);
    return both[0];
}

/* The serial of the certificate that a handshake shows; 0: there was no session. */
static inline unsigned handshake(int secret, const char *priorities)
{
    gnutls_certificate_credentials_t none;
    gnutls_session_t session = session_begin(secret, priorities, &none);
    unsigned serial = session ? peer_serial(session) : 0;
    session_end(session, none);
    close(secret);
    return serial;
}
