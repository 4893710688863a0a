/* The certificate in use, and those before it: a handshake that has begun with one may
 * still need it, and each costs some kilobytes in months.
 */
#include "http/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <sys/stat.h>

#include "os/os.h"

#define FILE_MAX ((size_t)1024 * 1024)
#define CHAIN_MAX 16u
#define LOOK_AGAIN_NS 1000000000ull

struct pair_of_files {
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned n;
    gnutls_privkey_t key;
    struct pair_of_files *older;
};

struct tls {
    char *cert_path, *key_path;
    pthread_mutex_t lock;
    struct pair_of_files *now;
    struct os_stamp cert_stamp, key_stamp; /* of what was read, or tried, last */
    uint64_t looked_ns;
};

static void pair_free(struct pair_of_files *p)
{
    for (unsigned i = 0; i < p->n; i++)
        gnutls_pcert_deinit(&p->chain[i]);
    if (p->key)
        gnutls_privkey_deinit(p->key);
    free(p);
}
SCOPED(pair_of_files, pair_free);

/* ---- reading ---------------------------------------------------------------- */

/* The paths are the person's own, and links on the way are usual: certificates are renewed
 * by turning one. */
static struct os_stamp stamp_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return (struct os_stamp){0};
    return (struct os_stamp){st.st_ino, (uint64_t)st.st_size,
                             st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec};
}

static bool read_pem(const char *path, struct buf *out, struct err *e)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_DENIED,
                       "cannot read '%.160s': %m", path);
    return os_read_fd(fd, out, e) || err_wrap(e, "'%.160s'", path);
}

/* The library compares them, where they become credentials. */
static bool belong_together(gnutls_datum_t cert, gnutls_datum_t key)
{
    gnutls_certificate_credentials_t both;
    if (gnutls_certificate_allocate_credentials(&both) < 0)
        return false;
    int r = gnutls_certificate_set_x509_key_mem(both, &cert, &key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(both);
    return r >= 0;
}

static struct pair_of_files *pair_read(const struct tls *t, struct err *e)
{
    scoped_buf struct buf cert_text, key_text;
    buf_init(&cert_text, FILE_MAX);
    buf_init(&key_text, FILE_MAX);
    if (!read_pem(t->cert_path, &cert_text, e) || !read_pem(t->key_path, &key_text, e))
        return NULL;
    gnutls_datum_t cert = {(unsigned char *)cert_text.at, (unsigned)cert_text.n};
    gnutls_datum_t key = {(unsigned char *)key_text.at, (unsigned)key_text.n};

    scoped(pair_free) struct pair_of_files *p = mem_new(sizeof *p);
    p->n = CHAIN_MAX;
    int r =
        gnutls_pcert_list_import_x509_raw(p->chain, &p->n, &cert, GNUTLS_X509_FMT_PEM, 0);
    if (r < 0) {
        p->n = 0;
        err_set(e, ERR_INVALID, "'%.120s' holds no PEM certificate: %s", t->cert_path,
                gnutls_strerror(r));
        return NULL;
    }
    r = gnutls_privkey_init(&p->key);
    if (r >= 0)
        r = gnutls_privkey_import_x509_raw(p->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (r < 0) {
        err_set(e, ERR_INVALID,
                "'%.120s' holds no PEM private key without a passphrase: %s", t->key_path,
                gnutls_strerror(r));
        return NULL;
    }
    if (!belong_together(cert, key)) {
        err_set(e, ERR_INVALID,
                "the key in '%.120s' is not that of the certificate in "
                "'%.120s'",
                t->key_path, t->cert_path);
        return NULL;
    }
    return take(p);
}

struct tls *tls_open(const char *cert_path, const char *key_path, struct err *e)
{
    struct tls *t = mem_new(sizeof *t);
    os_brief_mutex(&t->lock);
    t->cert_path = mem_strdup(cert_path);
    t->key_path = mem_strdup(key_path);
    t->cert_stamp = stamp_of(cert_path);
    t->key_stamp = stamp_of(key_path);
    t->looked_ns = os_mono_ns();
    t->now = pair_read(t, e);
    if (t->now)
        return t;
    tls_close(t);
    return NULL;
}

void tls_close(struct tls *t)
{
    if (!t)
        return;
    while (t->now) {
        struct pair_of_files *older = t->now->older;
        pair_free(t->now);
        t->now = older;
    }
    free(t->cert_path);
    free(t->key_path);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- handshakes --------------------------------------------------------------- */

/* Two files are not exchanged in one moment: a pair that does not fit is tried again when
 * either changes, and the old one holds until then. The lock is held. */
static void look_again(struct tls *t)
{
    uint64_t now = os_mono_ns();
    if (now - t->looked_ns < LOOK_AGAIN_NS)
        return;
    t->looked_ns = now;
    struct os_stamp cert = stamp_of(t->cert_path);
    struct os_stamp key = stamp_of(t->key_path);
    if (os_same_stamp(&cert, &t->cert_stamp) && os_same_stamp(&key, &t->key_stamp))
        return;
    t->cert_stamp = cert;
    t->key_stamp = key;
    struct err e = {0};
    struct pair_of_files *p = pair_read(t, &e);
    if (!p) {
        log_line(LOG_WARN, "the certificate in use stays: %s%s", e.msg, ERR_ORIGIN(&e));
        return;
    }
    p->older = t->now;
    t->now = p;
}

static _Thread_local struct tls *serving;

void tls_serve_here(struct tls *t)
{
    serving = t;
}

int tls_retrieve(gnutls_session_t session, const gnutls_datum_t *ca, int n_ca,
                 const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
                 gnutls_pcert_st **chain, unsigned *n, gnutls_privkey_t *key)
{
    (void)session, (void)ca, (void)n_ca, (void)algorithms, (void)n_algorithms;
    pthread_mutex_lock(&serving->lock);
    look_again(serving);
    *chain = serving->now->chain;
    *n = serving->now->n;
    *key = serving->now->key;
    pthread_mutex_unlock(&serving->lock);
    return 0;
}
