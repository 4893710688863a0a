/* Mounts: the server has the trees, init in the machine binds its folders to their places. */
#include "vm/mounts.h"

#include <errno.h>
#include <stdio.h>

#include "fuse/fuse.h"
#include "os/os.h"
#include "vfs/vfs.h"
#include "vm/internal.h"

_Static_assert(VM_FILES_BYTES == FUSE_REQUEST_MAX, "a request fits");
_Static_assert(VM_MOUNTS_MAX == FUSE_MOUNTS_MAX, "the same mounts");

/* With vm.lock, as all of them. */
struct vm_mounted_at {
    struct vm_mounted_at *next;
    uint32_t number;
    bool writable;
    bool answered, leaving;
    uint32_t failed; /* errno of the machine's */
    char *label;     /* NULL: none */
    char place[];
};

/* ---- places ------------------------------------------------------------------------- */

static bool cut_word(char *text, const char *word)
{
    char *colon = strrchr(text, ':');
    if (!colon || strcmp(colon + 1, word))
        return false;
    *colon = '\0';
    return true;
}

bool vm_mount_read(const char *text, struct vm_mount_words *w, struct err *e)
{
    *w = (struct vm_mount_words){0};
    bool fits = (size_t)snprintf(w->host, sizeof w->host, "%s", text) < sizeof w->host;
    w->apply = cut_word(w->host, "apply");
    w->links = cut_word(w->host, "links");
    if (!cut_word(w->host, "rw") && !(w->read_only = cut_word(w->host, "ro")))
        w->overlay = cut_word(w->host, "overlay");
    fits = fits && (!w->apply || w->overlay);
    /* The last part that begins with a slash: a host's folder may have a colon. */
    char *colon = strrchr(w->host, ':');
    if (fits && colon && colon != w->host && colon[1] == '/' &&
        (size_t)snprintf(w->place, sizeof w->place, "%s", colon + 1) < sizeof w->place) {
        *colon = '\0';
        return true;
    }
    return err_set(e, ERR_INVALID,
                   "--mount is '%.200s'; HOST:/guest, such as .:/work, with ':ro', "
                   "':overlay', ':overlay:apply' or ':links' at its end, is accepted",
                   text);
}

/* One way to write it: no empty name, no "." or "..". */
static bool place_is_sound(const char *place)
{
    if (place[0] != '/' || !place[1] || strlen(place) >= VM_MOUNT_PLACE_MAX)
        return false;
    for (const char *at = place; *at;) {
        struct str name = {at + 1, strcspn(at + 1, "/")};
        if (!name.n || name.n > VFS_NAME_MAX || str_is(name, ".") || str_is(name, ".."))
            return false;
        at += 1 + name.n;
    }
    return true;
}

/* Folders that the machine itself could not go on without. */
static bool place_is_vital(const char *place)
{
    static const char *const vital[] = {"/proc", "/sys", "/dev", "/run",
                                        "/usr",  "/etc", "/bin", "/lib"};
    for (size_t i = 0; i < LENGTH(vital); i++) {
        size_t n = strlen(vital[i]);
        if (!strncmp(place, vital[i], n) && (!place[n] || (place[n] == '/' && i < 4)))
            return true;
    }
    return false;
}

static struct vm_mounted_at *mounted_at(struct vm *m, const char *place)
{
    struct vm_mounted_at *x = m->mounts;
    while (x && strcmp(x->place, place))
        x = x->next;
    return x;
}

static bool place_check(struct vm *m, const char *place, struct err *e)
{
    if (!place_is_sound(place) || place_is_vital(place))
        return err_set(
            e, ERR_INVALID,
            "nothing is mounted at '%.200s' of a machine; an absolute path such "
            "as '/work', without '..' and not of the system's own, is accepted",
            place);
    pthread_mutex_lock(&m->lock);
    bool there = mounted_at(m, place) != NULL;
    pthread_mutex_unlock(&m->lock);
    return !there ||
           err_set(e, ERR_CONFLICT, "'%.200s' of the machine is mounted already", place);
}

static void mounted_remove(struct vm *m, struct vm_mounted_at *x)
{
    struct vm_mounted_at **at = &m->mounts;
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    free(x->label);
    free(x);
}

void mounts_free_all(struct vm *m)
{
    while (m->mounts)
        mounted_remove(m, m->mounts);
    fuse_free(m->files);
}

void mounts_places(const struct vm *m, struct buf *out)
{
    for (const struct vm_mounted_at *x = m->mounts; x; x = x->next)
        buf_put(out, x->place, strlen(x->place) + 1);
}

/* Number 0 is nobody's: the answer is not waited for, and whatever it is, the place is free or
 * was not in use. */
void mounts_take_past(struct vm *m, struct str place)
{
    scoped_buf struct buf payload = buf_of(sizeof(struct vm_mount_head) + place.n);
    struct vm_mount_head head = {.number = 0};
    buf_put(&payload, &head, sizeof head);
    buf_str(&payload, place);
    if (!payload.failed && place.n)
        port_send_frame(m, 0, VM_UNMOUNT, buf_view(&payload));
}

/* ---- the exchange -------------------------------------------------------------------- */

bool mounts_heard(struct vm *m, struct str payload)
{
    struct vm_mounted said;
    if (payload.n != sizeof said)
        return false;
    memcpy(&said, payload.at, sizeof said);
    if (!said.number)
        return true;
    struct vm_mounted_at *x = m->mounts;
    while (x && x->number != said.number)
        x = x->next;
    if (!x || x->answered)
        return false;
    x->answered = true;
    x->failed = said.failed;
    pthread_cond_broadcast(&m->ready);
    return true;
}

/* Sends it and waits for the answer. */
static bool ask(struct vm *m, struct vm_mounted_at *x, enum vm_verb verb, struct err *e)
{
    scoped_buf struct buf payload;
    struct vm_mount_head head = {.number = x->number, .read_only = !x->writable};
    uint64_t until = os_mono_ns() + m->timeouts->start_ns;
    buf_init(&payload, sizeof head + VM_MOUNT_PLACE_MAX);
    buf_put(&payload, &head, sizeof head);
    buf_cstr(&payload, x->place);
    x->answered = false;
    port_send_frame(m, 0, verb, buf_view(&payload));
    while (!x->answered && !m->over)
        if (!os_cond_wait(&m->ready, &m->lock, until) && os_mono_ns() >= until)
            return err_set(e, ERR_TIMEOUT, "the machine did not mount '%.200s' in time",
                           x->place);
    return port_over(m, false, e) &&
           (!x->failed || err_set(e, ERR_INVALID, "the machine cannot mount '%.200s': %s",
                                  x->place, strerror((int)(x->failed & 4095))));
}

static bool mount_begin(struct vm *m, const struct vm_mount *what, uint32_t number,
                        struct err *e)
{
    size_t n = strlen(what->place) + 1;
    struct vm_mounted_at *x = mem_new(sizeof *x + n);
    *x = (struct vm_mounted_at){.number = number,
                                .writable = what->writable,
                                .label = what->label ? mem_strdup(what->label) : NULL};
    memcpy(x->place, what->place, n);
    struct vm_mounted_at **last = &m->mounts;
    while (*last)
        last = &(*last)->next;
    *last = x;
    if (port_over(m, false, e) && ask(m, x, VM_MOUNT, e))
        return true;
    mounted_remove(m, x);
    return false;
}

bool vm_mount(struct vm *m, const struct vm_mount *what, struct err *e)
{
    uint32_t number;
    if (!place_check(m, what->place, e) ||
        !fuse_add(m->files, what->tree, what->at, what->alone, &number, e))
        return false;
    pthread_mutex_lock(&m->lock);
    bool ok = mount_begin(m, what, number, e);
    pthread_mutex_unlock(&m->lock);
    if (!ok)
        (void)fuse_remove(m->files, number);
    return ok;
}

struct vfs *vm_unmount(struct vm *m, const char *place)
{
    struct err none = {0};
    uint32_t number = 0;
    pthread_mutex_lock(&m->lock);
    struct vm_mounted_at *x = mounted_at(m, place);
    if (x && !x->leaving) {
        x->leaving = true; /* nobody else takes it away while the lock is not held */
        number = x->number;
        if (!m->over)
            (void)ask(m, x, VM_UNMOUNT, &none);
        mounted_remove(m, x);
    }
    pthread_mutex_unlock(&m->lock);
    return number ? fuse_remove(m->files, number) : NULL;
}

bool vm_look(struct vm *m, const char *place,
             void (*look)(void *arg, struct vfs *tree, const char *at), void *arg)
{
    pthread_mutex_lock(&m->lock);
    const struct vm_mounted_at *x = mounted_at(m, place);
    uint32_t number = x && !x->leaving ? x->number : 0;
    pthread_mutex_unlock(&m->lock);
    return number && fuse_look(m->files, number, look, arg);
}

bool vm_each_mount(struct vm *m,
                   bool (*each)(void *arg, const char *place, const char *label,
                                bool writable),
                   void *arg)
{
    bool goes_on = true;
    pthread_mutex_lock(&m->lock);
    for (const struct vm_mounted_at *x = m->mounts; x && goes_on; x = x->next)
        goes_on = !x->label || each(arg, x->place, x->label, x->writable);
    pthread_mutex_unlock(&m->lock);
    return goes_on;
}
