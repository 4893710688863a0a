/* The folders of saved copies: one for each payer, in the folder that vms_options.copies
 * names. What is written has another name until it is complete. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "vm/saved.h"
#include "vm/shelf.h"

#define LOCK "lock"
#define NAMES_LOCK "names.lock"
#define LOCK_WAIT_MS 30000u
#define ENTRIES_MAX 4096u

static const char *const endings[] = {[VM_SAVED_SNAPSHOT] = ".snapshot",
                                      [VM_SAVED_KEPT] = ".machine"};

const char *vm_saved_kind_name(enum vm_saved_kind k)
{
    return k == VM_SAVED_KEPT ? "machine" : "snapshot";
}

bool vm_saved_check_name(struct str name, struct err *e)
{
    bool fine = name.n > 0 && name.n <= VM_NAME_MAX && !strchr("._-", name.at[0]);
    for (size_t i = 0; i < name.n && fine; i++)
        fine = name.at[i] && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789._-",
                                    name.at[i]);
    if (fine && name.n > 3 && !memcmp(name.at, "vm_", 3))
        return err_set(e, ERR_INVALID, "a name does not begin with vm_, as handles do");
    return fine || err_set(e, ERR_INVALID,
                           "a name has from 1 to %u characters of letters, digits, '.', "
                           "'_' and '-', and begins with a letter or digit",
                           VM_NAME_MAX);
}

/* ---- folders ------------------------------------------------------------------------ */

static bool is_payer(struct str payer)
{
    bool fine = payer.n > 0 && payer.n <= 128;
    for (size_t i = 0; i < payer.n && fine; i++)
        fine = payer.at[i] && strchr("0123456789abcdefghijklmnopqrstuvwxyz", payer.at[i]);
    return fine;
}

/* -1 and ERR_NOT_FOUND: it has none, and is not to get one. */
static int shelf_open(const struct vms *s, struct str payer, bool make, struct err *e)
{
    char path[4096];
    struct err none = {0};
    if (!s->o.copies || !is_payer(payer)) {
        err_set(e, ERR_NOT_FOUND, "there is no folder for copies of machines");
        return -1;
    }
    int n = snprintf(path, sizeof path, "%s/%.*s", s->o.copies, STR_ARGS(payer));
    if (n < 0 || n >= (int)sizeof path) {
        err_set(e, ERR_INVALID, "the path of the folder for copies is too long");
        return -1;
    }
    int fd = make ? os_dir_make(path, 0700, e) : os_dir_open(path, &none);
    if (fd < 0 && !make)
        err_set(e, none.code == ERR_NOT_FOUND ? ERR_NOT_FOUND : ERR_IO,
                "no copy of a machine is saved");
    return fd;
}

static void file_name(enum vm_saved_kind kind, struct str name, char out[static 96])
{
    (void)snprintf(out, 96, "%.*s%s", STR_ARGS(str_cut(name, VM_NAME_MAX)),
                   endings[kind]);
}

/* The name and kind of a file of the folder; false: it is none of ours. */
static bool file_is(const char *file, struct vm_saved *out)
{
    struct err none = {0};
    for (enum vm_saved_kind k = 0; k < LENGTH(endings); k++) {
        size_t n = strlen(file), end = strlen(endings[k]);
        if (n <= end || n - end > VM_NAME_MAX || strcmp(file + n - end, endings[k]) != 0)
            continue;
        *out = (struct vm_saved){.kind = k};
        memcpy(out->name, file, n - end);
        return vm_saved_check_name(str_of(out->name), &none);
    }
    return false;
}

/* Calls `each` for the names in the folder; false from it ends that. */
static void folder_each(int folder, bool (*each)(void *arg, int folder, const char *name),
                        void *arg)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        os_close(fd);
        return;
    }
    struct dirent *at;
    for (unsigned n = 0; n < ENTRIES_MAX && (at = readdir(d)); n++)
        if (!each(arg, folder, at->d_name))
            break;
    closedir(d);
}

int shelf_lock_name(const struct vms *s, struct str payer, struct str name, struct err *e)
{
    uint8_t hash[CRYPTO_BLAKE2B];
    uint64_t key;
    scoped_fd int folder = shelf_open(s, payer, true, e);
    if (folder < 0)
        return -1;
    crypto_blake2b(name, hash);
    memcpy(&key, hash, sizeof key);
    struct err why = {0};
    int lock = os_lock(folder, NAMES_LOCK, key >> 2, 0, &why);
    if (lock < 0 && why.code == ERR_BUSY)
        err_set(e, ERR_BUSY, "the machine \"%.*s\" runs in another program",
                STR_ARGS(str_cut(name, VM_NAME_MAX)));
    else if (lock < 0)
        err_pass(e, &why);
    return lock;
}

/* ---- saving ----------------------------------------------------------------------------- */

struct sum {
    const char *but; /* a file that is about to be replaced */
    unsigned count;
    uint64_t bytes;
};

static bool add_file(void *arg, int folder, const char *name)
{
    struct sum *sum = arg;
    struct vm_saved one;
    struct stat st;
    if (file_is(name, &one) && strcmp(name, sum->but) != 0 &&
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        sum->count++;
        sum->bytes += (uint64_t)st.st_size;
    }
    return true;
}

/* Nobody else writes here: what is not complete is of a program that ended. */
static bool remove_draft(void *arg, int folder, const char *name)
{
    (void)arg;
    size_t n = strlen(name);
    if (name[0] == '.' && n > 4 && !strcmp(name + n - 4, ".tmp"))
        (void)unlinkat(folder, name, 0);
    return true;
}

static bool refuse_quota(const struct vm_shelf *shelf, struct err *e)
{
    struct err why = *e;
    if (!shelf->hint)
        return false;
    *e = (struct err){0};
    return err_set(e, why.code, "%.280s; %s", why.msg, shelf->hint);
}

/* What a new file may have; 0: as much as it likes. */
static bool room_left(int folder, const struct vm_shelf *shelf, const char *file,
                      uint64_t *most, struct err *e)
{
    struct sum sum = {.but = file};
    folder_each(folder, add_file, &sum);
    *most = 0;
    if (shelf->count && sum.count >= shelf->count)
        return err_set(e, ERR_LIMIT,
                       "%u copies of machines are saved, as many as may be: remove one",
                       sum.count) ||
               refuse_quota(shelf, e);
    if (shelf->bytes && sum.bytes >= shelf->bytes)
        return err_set(e, ERR_LIMIT,
                       "the copies of machines that are saved have %" PRIu64
                       " MB, as many as they may: remove one",
                       sum.bytes >> 20) ||
               refuse_quota(shelf, e);
    *most = shelf->bytes ? shelf->bytes - sum.bytes : 0;
    return true;
}

static bool save_as(const struct vms *s, int folder, const struct vm_shelf *shelf,
                    const struct saved_place *p, const struct vm_copy *c,
                    struct saved_head *head, struct err *e)
{
    char file[96], draft[112];
    uint64_t most;
    file_name(p->kind, p->name, file);
    (void)snprintf(draft, sizeof draft, ".%s.tmp", file);
    folder_each(folder, remove_draft, NULL);
    if (!room_left(folder, shelf, file, &most, e))
        return false;
    scoped_fd int fd =
        os_open_beneath(folder, draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, e);
    if (fd < 0)
        return false;
    bool ok =
        saved_write(fd, s->images, p, shelf->label ? shelf->label : "", c, most, head, e);
    if (!ok && e->code == ERR_LIMIT)
        (void)refuse_quota(shelf, e);
    ok = ok && ((renameat(folder, draft, folder, file) == 0 && fsync(folder) == 0) ||
                err_set(e, ERR_IO, "a machine cannot be saved: %m"));
    if (!ok)
        (void)unlinkat(folder, draft, 0);
    return ok;
}

static void tell(const struct vms *s, struct str payer, const struct saved_head *h,
                 uint64_t bytes, struct vm_saved *out)
{
    (void)snprintf(out->payer, sizeof out->payer, "%.*s", STR_ARGS(payer));
    (void)snprintf(out->label, sizeof out->label, "%.*s", (int)sizeof h->label - 1,
                   h->label);
    out->ram_mb = h->ram_mb;
    out->made_ms = h->made_ms;
    out->bytes = bytes;
    out->fits = !s->images || !memcmp(h->key, images_key(s->images), sizeof h->key);
}

bool vm_save(struct vms *s, const struct vm_shelf *shelf, enum vm_saved_kind kind,
             struct str name, const struct vm_copy *c, struct vm_saved *out,
             struct err *e)
{
    struct saved_place p = {shelf->payer, name, kind};
    struct saved_head head;
    if (!vm_saved_check_name(name, e))
        return false;
    scoped_fd int folder = shelf_open(s, shelf->payer, true, e);
    scoped_fd int lock = folder < 0 ? -1 : os_lock(folder, LOCK, 0, LOCK_WAIT_MS, e);
    if (lock < 0 || !save_as(s, folder, shelf, &p, c, &head, e))
        return err_wrap(e, "the machine was not saved");
    if (!out)
        return true;
    *out = (struct vm_saved){.kind = kind};
    (void)snprintf(out->name, sizeof out->name, "%.*s", STR_ARGS(name));
    tell(s, shelf->payer, &head, saved_bytes(&head), out);
    return true;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int open_saved(const struct vms *s, const struct saved_place *p, struct err *e)
{
    char file[96];
    struct err why = {0};
    if (!vm_saved_check_name(p->name, e))
        return -1;
    scoped_fd int folder = shelf_open(s, p->payer, false, &why);
    file_name(p->kind, p->name, file);
    int fd =
        folder < 0 ? -1 : os_open_beneath(folder, file, O_RDONLY | O_NOFOLLOW, 0, &why);
    if (fd < 0 && why.code == ERR_NOT_FOUND)
        err_set(e, ERR_NOT_FOUND, "you have no %s \"%.*s\"",
                p->kind == VM_SAVED_KEPT ? "machine that is kept under the name"
                                         : "snapshot",
                STR_ARGS(p->name));
    else if (fd < 0)
        err_pass(e, &why);
    return fd;
}

struct vm_copy *vm_saved_open(struct vms *s, struct str payer, enum vm_saved_kind kind,
                              struct str name, struct err *e)
{
    struct saved_place p = {payer, name, kind};
    if (!vms_ready(s, e))
        return NULL;
    scoped_fd int fd = open_saved(s, &p, e);
    struct vm_copy *c = fd < 0 ? NULL : saved_read(fd, s->images, &p, e);
    if (!c && fd >= 0) {
        struct err why = *e;
        *e = (struct err){0};
        err_set(e, why.code, "the %s \"%.*s\" cannot be used: %.300s",
                vm_saved_kind_name(kind), STR_ARGS(name), why.msg);
    }
    return c;
}

bool vm_saved_remove(struct vms *s, struct str payer, enum vm_saved_kind kind,
                     struct str name, struct err *e)
{
    char file[96];
    struct saved_place p = {payer, name, kind};
    scoped_fd int fd = open_saved(s, &p, e);
    if (fd < 0)
        return false;
    scoped_fd int lock = kind == VM_SAVED_KEPT ? shelf_lock_name(s, payer, name, e) : -1;
    if (kind == VM_SAVED_KEPT && lock < 0)
        return false;
    scoped_fd int folder = shelf_open(s, payer, false, e);
    file_name(kind, name, file);
    return folder >= 0 && ((unlinkat(folder, file, 0) == 0 && fsync(folder) == 0) ||
                           err_set(e, ERR_IO, "it cannot be removed: %m"));
}

/* ---- listing -------------------------------------------------------------------------------- */

struct listing {
    const struct vms *all;
    struct str payer;
    struct vm_saved *at;
    size_t n, room;
};

static bool list_file(void *arg, int folder, const char *file)
{
    struct listing *l = arg;
    struct vm_saved one;
    struct saved_head head;
    struct stat st;
    struct err none = {0};
    if (!file_is(file, &one))
        return true;
    scoped_fd int fd = os_open_beneath(folder, file, O_RDONLY | O_NOFOLLOW, 0, &none);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return true;
    struct saved_place p = {l->payer, str_of(one.name), one.kind};
    (void)snprintf(one.payer, sizeof one.payer, "%.*s", STR_ARGS(l->payer));
    one.bytes = (uint64_t)st.st_size;
    if (saved_read_head(fd, &p, &head, &none))
        tell(l->all, l->payer, &head, one.bytes, &one);
    if (!array_fit(l->at, l->room, l->n, &none))
        return false;
    l->at[l->n++] = one;
    return true;
}

static bool list_payer(void *arg, int folder, const char *name)
{
    struct listing *l = arg;
    struct err none = {0};
    if (!is_payer(str_of(name)))
        return true;
    scoped_fd int fd =
        os_open_beneath(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &none);
    l->payer = str_of(name);
    if (fd >= 0)
        folder_each(fd, list_file, l);
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct vm_saved *x = a, *y = b;
    int order = strcmp(x->payer, y->payer);
    order = order ? order : strcmp(x->name, y->name);
    return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

bool vm_saved_list(struct vms *s, struct str payer, vm_saved_fn *each, void *arg,
                   struct err *e)
{
    struct listing l = {.all = s, .payer = payer};
    struct err why = {0};
    scoped_fd int fd = payer.n       ? shelf_open(s, payer, false, &why)
                       : s->o.copies ? os_dir_open(s->o.copies, &why)
                                     : -1;
    if (fd < 0 && why.code && why.code != ERR_NOT_FOUND) {
        err_pass(e, &why);
        return false;
    }
    if (fd >= 0)
        folder_each(fd, payer.n ? list_file : list_payer, &l);
    if (l.n)
        qsort(l.at, l.n, sizeof *l.at, by_name);
    for (size_t i = 0; i < l.n; i++)
        each(arg, &l.at[i]);
    free(l.at);
    return true;
}
