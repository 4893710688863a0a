/* Requests: what they are, their lengths, and the head of each reply. */
#include "fuse/internal.h"
#include "os/os.h"

#define MINOR 38u
#define MINOR_LEAST 31u
#define TIME_GRANULARITY 1u

/* ---- bodies ----------------------------------------------------------------------- */

const void *request_part(struct request *r, size_t n)
{
    const void *at = r->body.at;
    if (r->body.n < n)
        return NULL;
    r->body.at += n;
    r->body.n -= n;
    return at;
}

int request_name(struct request *r, struct str *out)
{
    const char *end = r->body.n ? memchr(r->body.at, 0, r->body.n) : NULL;
    if (!end)
        return EINVAL;
    *out = (struct str){r->body.at, (size_t)(end - r->body.at)};
    r->body.at += out->n + 1;
    r->body.n -= out->n + 1;
    if (out->n > VFS_NAME_MAX)
        return ENAMETOOLONG;
    bool is_path = !out->n || memchr(out->at, '/', out->n) || str_is(*out, ".") ||
                   str_is(*out, "..");
    return is_path ? EINVAL : 0;
}

void *request_reply(struct request *r, size_t n)
{
    if (n > r->room - r->n)
        return NULL;
    void *at = r->out + r->n;
    memset(at, 0, n);
    r->n += n;
    return at;
}

int request_handle(struct request *r, uint64_t id, struct handle **out)
{
    *out = handle_of(r->f, id);
    if (*out && (*out)->of == r->node)
        return 0;
    return r->node->mount && !r->node->mount->tree ? ENODEV : EBADF;
}

/* ---- the session -------------------------------------------------------------------- */

static void forget_all(struct fuse *f)
{
    for (uint32_t i = 1; i < f->handles.count; i++)
        if (f->handles.at[i])
            handle_close(f, f->handles.at[i]);
    for (uint32_t i = 2; i < f->inodes.count; i++)
        if (f->inodes.at[i]) {
            struct inode *n = f->inodes.at[i];
            inode_forget(f, n, n->lookups);
        }
}

static int on_init(struct request *r)
{
    /* Older kernels send less. */
    const struct fuse_init_in *in = (const void *)r->body.at;
    if (r->body.n < 16)
        return EINVAL;
    struct fuse_init_out *out = request_reply(r, sizeof *out);
    if (!out)
        return EINVAL;
    out->major = FUSE_KERNEL_VERSION;
    out->minor = in->minor < MINOR ? in->minor : MINOR;
    if (in->major > FUSE_KERNEL_VERSION)
        return 0; /* it asks again, with ours */
    if (in->major < FUSE_KERNEL_VERSION || in->minor < MINOR_LEAST)
        return EPROTO;
    forget_all(r->f);
    r->f->began = true;
    const uint32_t wanted = FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES |
                            FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS |
                            FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_DIO |
                            FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES | FUSE_CACHE_SYMLINKS |
                            FUSE_HANDLE_KILLPRIV;
    out->max_readahead = in->max_readahead;
    out->flags = wanted & in->flags;
    out->max_background = 64;
    out->congestion_threshold = 48;
    out->max_write = FUSE_DATA_MAX;
    out->max_pages = FUSE_DATA_MAX / 4096;
    out->time_gran = TIME_GRANULARITY;
    return 0;
}

static int on_destroy(struct request *r)
{
    forget_all(r->f);
    return 0;
}

static int on_forget(struct request *r)
{
    const struct fuse_forget_in *in = request_part(r, sizeof *in);
    if (in)
        inode_forget(r->f, r->node, in->nlookup);
    return 0;
}

static int on_batch_forget(struct request *r)
{
    const struct fuse_batch_forget_in *in = request_part(r, sizeof *in);
    const struct fuse_forget_one *one;
    for (uint32_t i = 0; in && i < in->count && (one = request_part(r, sizeof *one));
         i++) {
        struct inode *n = inode_of(r->f, one->nodeid);
        if (n)
            inode_forget(r->f, n, one->nlookup);
    }
    return 0;
}

static int on_release(struct request *r)
{
    const struct fuse_release_in *in = request_part(r, sizeof *in);
    struct handle *h;
    if (!in)
        return EINVAL;
    int failed = request_handle(r, in->fh, &h);
    if (!failed)
        handle_close(r->f, h);
    return failed;
}

/* ---- one request -------------------------------------------------------------------- */

enum { NO_REPLY = 1, ANY_NODE = 2 };

static const struct operation {
    request_fn *run;
    unsigned how;
} operations[] = {
    [FUSE_LOOKUP] = {on_lookup, 0},
    [FUSE_FORGET] = {on_forget, NO_REPLY},
    [FUSE_GETATTR] = {on_getattr, 0},
    [FUSE_SETATTR] = {on_setattr, 0},
    [FUSE_READLINK] = {on_readlink, 0},
    [FUSE_SYMLINK] = {on_symlink, 0},
    [FUSE_MKNOD] = {on_mknod, 0},
    [FUSE_MKDIR] = {on_mkdir, 0},
    [FUSE_UNLINK] = {on_unlink, 0},
    [FUSE_RMDIR] = {on_rmdir, 0},
    [FUSE_RENAME] = {on_rename, 0},
    [FUSE_LINK] = {on_link, 0},
    [FUSE_OPEN] = {on_open, 0},
    [FUSE_READ] = {on_read, 0},
    [FUSE_WRITE] = {on_write, 0},
    [FUSE_STATFS] = {on_statfs, 0},
    [FUSE_RELEASE] = {on_release, 0},
    [FUSE_FSYNC] = {on_fsync, 0},
    [FUSE_INIT] = {on_init, ANY_NODE},
    [FUSE_OPENDIR] = {on_opendir, 0},
    [FUSE_READDIR] = {on_readdir, 0},
    [FUSE_RELEASEDIR] = {on_release, 0},
    [FUSE_FSYNCDIR] = {on_fsync, 0},
    [FUSE_CREATE] = {on_create, 0},
    [FUSE_INTERRUPT] = {NULL, NO_REPLY},
    [FUSE_DESTROY] = {on_destroy, ANY_NODE},
    [FUSE_BATCH_FORGET] = {on_batch_forget, NO_REPLY | ANY_NODE},
    [FUSE_FALLOCATE] = {on_fallocate, 0},
    [FUSE_READDIRPLUS] = {on_readdirplus, 0},
    [FUSE_RENAME2] = {on_rename2, 0},
    [FUSE_LSEEK] = {on_lseek, 0},
    [FUSE_SYNCFS] = {on_syncfs, 0},
};

static int perform(struct request *r, const struct operation *o)
{
    if (r->head->opcode != FUSE_INIT && !r->f->began)
        return EIO;
    if (!o->run)
        return ENOSYS;
    r->node = inode_of(r->f, r->head->nodeid);
    if (!r->node && !(o->how & ANY_NODE))
        return ESTALE;
    if (r->node && r->node->mount && !r->node->mount->tree && !(o->how & NO_REPLY))
        return ENODEV;
    return o->run(r);
}

/* What the kernel may do with EPERM and ENOENT it may not with an errno that it never heard
 * of: it takes such a reply for a broken server. */
static int known_errno(int failed)
{
    return failed > 0 && failed < 512 ? failed : failed ? EIO : 0;
}

size_t fuse_request(struct fuse *f, struct str request, char *reply, size_t room)
{
    static const struct operation unknown;
    struct fuse_in_header head;
    struct fuse_out_header out = {.len = sizeof out};
    if (request.n < sizeof head || request.n > FUSE_REQUEST_MAX)
        return 0;
    memcpy(&head, request.at, sizeof head);
    const struct operation *o =
        head.opcode < LENGTH(operations) ? &operations[head.opcode] : &unknown;
    bool replies = !(o->how & NO_REPLY);
    if (replies && room < sizeof out)
        return 0;
    struct request r = {
        .f = f,
        .head = &head,
        .body = {request.at + sizeof head, request.n - sizeof head},
        .out = replies ? reply + sizeof out : NULL,
        .room = replies ? room - sizeof out : 0,
    };
    pthread_mutex_lock(&f->lock);
    int failed = head.len == request.n ? known_errno(perform(&r, o)) : EINVAL;
    pthread_mutex_unlock(&f->lock);
    if (!replies)
        return 0;
    out.unique = head.unique;
    out.error = -failed;
    out.len += failed ? 0 : (uint32_t)r.n;
    memcpy(reply, &out, sizeof out);
    return out.len;
}

/* ---- the server ---------------------------------------------------------------------- */

struct fuse *fuse_new(void)
{
    struct fuse *f = mem_new(sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    tables_open(f);
    return f;
}

/* Numbers begin anywhere, since nobody remembers those of the past: that one comes again, of 2^32
 * for each slot, is as good as never. */
void fuse_continue(struct fuse *f)
{
    uint32_t begin[3];
    os_random(begin, sizeof begin);
    pthread_mutex_lock(&f->lock);
    f->began = true;
    f->last_mount = begin[0] >> 1;
    f->inodes.first_use = begin[1];
    f->handles.first_use = begin[2];
    pthread_mutex_unlock(&f->lock);
}

static struct vfs *mount_end(struct fuse *f, struct mount *m)
{
    mount_close_all(f, m);
    struct vfs *tree = take(m->tree);
    struct inode *root = take(m->root);
    f->mount_count--;
    m->refs++; /* while its root goes */
    inode_forget(f, root, 0);
    mount_leave(f, m);
    mount_leave(f, m);
    return tree;
}

void fuse_free(struct fuse *f)
{
    if (!f)
        return;
    forget_all(f);
    while (f->mounts && f->mount_count)
        for (struct mount *m = f->mounts; m; m = m->next)
            if (m->tree) {
                vfs_free(mount_end(f, m));
                break;
            }
    tables_close(f);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* The folder that is shown. */
static bool mount_look(struct vfs *tree, const char *at, struct vfs_stat *st,
                       struct err *e)
{
    int failed = vfs_stat(tree, NULL, str_of(at), false, st);
    if (!failed && st->type != VFS_FOLDER)
        failed = ENOTDIR;
    return !failed ||
           err_set(e, ERR_INVALID, "cannot mount %.200s: %s", at, strerror(failed));
}

static bool mount_add(struct fuse *f, struct vfs *tree, const char *at,
                      const struct vfs_stat *st, bool alone, uint32_t *number,
                      struct err *e)
{
    if (f->mount_count == FUSE_MOUNTS_MAX || f->last_mount == UINT32_MAX)
        return err_set(e, ERR_LIMIT, "a machine has %u mounts at most", FUSE_MOUNTS_MAX);
    struct mount *m = mem_new(sizeof *m);
    *m = (struct mount){.next = f->mounts,
                        .number = f->last_mount + 1,
                        .tree = tree,
                        .at = mem_strdup(at),
                        .alone = alone,
                        .refs = 1};
    f->mounts = m;
    m->root = inode_new(f, m, st);
    if (!m->root) {
        mount_leave(f, m);
        return err_set(e, ERR_LIMIT, "the machine uses too many files for another mount");
    }
    f->mount_count++;
    *number = ++f->last_mount;
    return true;
}

bool fuse_add(struct fuse *f, struct vfs *tree, const char *at, bool alone,
              uint32_t *number, struct err *e)
{
    struct vfs_stat st;
    if (!mount_look(tree, at, &st, e))
        return false;
    pthread_mutex_lock(&f->lock);
    bool ok = mount_add(f, tree, at, &st, alone, number, e);
    pthread_mutex_unlock(&f->lock);
    return ok;
}

static struct mount *mount_of(struct fuse *f, uint32_t number)
{
    struct mount *m = f->mounts;
    while (m && (m->number != number || !m->tree))
        m = m->next;
    return m;
}

bool fuse_look(struct fuse *f, uint32_t number,
               void (*look)(void *arg, struct vfs *tree, const char *at), void *arg)
{
    pthread_mutex_lock(&f->lock);
    struct mount *m = mount_of(f, number);
    if (m)
        look(arg, m->tree, m->at);
    pthread_mutex_unlock(&f->lock);
    return m != NULL;
}

struct vfs *fuse_remove(struct fuse *f, uint32_t number)
{
    pthread_mutex_lock(&f->lock);
    struct mount *m = mount_of(f, number);
    struct vfs *tree = m ? mount_end(f, m) : NULL;
    pthread_mutex_unlock(&f->lock);
    return tree;
}
