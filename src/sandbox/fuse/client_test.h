/* fuse/client_test.h - a kernel that asks what it likes: helpers of this room's tests.
 *
 * The host's folder "in" is mounted with the numbers of `mounts`; beside it stands "out", which
 * nothing may reach. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "fuse/fuse.h"
#include "os/os.h"
#include "vfs/vfs.h"

enum which { PLAIN, READ_ONLY, LINKS, NO_DOTS, OVERLAY, MOUNTS };

struct tester {
    char home[HOME_SIZE];
    struct fuse *f;
    uint32_t numbers[MOUNTS];
    uint64_t roots[MOUNTS];
    _Alignas(16) char sent[FUSE_REQUEST_MAX + 64], reply[FUSE_REQUEST_MAX];
    size_t n; /* of the reply's body */
};
static struct tester t;

static inline void host(const char *text)
{
    char command[900];
    (void)snprintf(command, sizeof command, "cd %s && %s", t.home, text);
    assert_int_equal(system(command), 0);
}

/* Is it so on the host? */
static inline bool holds(const char *text)
{
    char command[900];
    (void)snprintf(command, sizeof command, "cd %s && %s", t.home, text);
    return system(command) == 0;
}

/* The errno of the reply; EPROTO: there was none. */
static inline int ask_raw(const void *request, size_t n, size_t room)
{
    struct fuse_out_header head;
    size_t got = fuse_request(t.f, (struct str){request, n}, t.reply, room);
    if (!got)
        return EPROTO;
    assert_true(got >= sizeof head && got <= room);
    memcpy(&head, t.reply, sizeof head);
    assert_int_equal(head.len, got);
    assert_true(head.error <= 0 && head.error > -512);
    if (head.error)
        assert_int_equal(got, sizeof head);
    t.n = got - sizeof head;
    return -head.error;
}

static inline int ask(uint32_t opcode, uint64_t node, const void *body, size_t n)
{
    struct fuse_in_header head = {.len = (uint32_t)(sizeof head + n),
                                  .opcode = opcode,
                                  .unique = 7,
                                  .nodeid = node};
    memcpy(t.sent, &head, sizeof head);
    if (n)
        memcpy(t.sent + sizeof head, body, n);
    return ask_raw(t.sent, sizeof head + n, sizeof t.reply);
}

/* A fixed part, then texts with their NULs. */
static inline int ask_names(uint32_t opcode, uint64_t node, const void *part, size_t n,
                            const char *first, const char *second)
{
    char body[9000];
    if (n)
        memcpy(body, part, n);
    for (int i = 0; i < 2; i++) {
        const char *text = i ? second : first;
        if (!text)
            continue;
        memcpy(body + n, text, strlen(text) + 1);
        n += strlen(text) + 1;
    }
    return ask(opcode, node, body, n);
}

#define BODY(type) ((const type *)(t.reply + sizeof(struct fuse_out_header)))

/* The node, or 0 and *failed. */
static inline uint64_t find(uint64_t folder, const char *name, int *failed)
{
    *failed = ask_names(FUSE_LOOKUP, folder, NULL, 0, name, NULL);
    uint64_t node = *failed ? 0 : BODY(struct fuse_entry_out)->nodeid;
    if (!*failed && !node)
        *failed = ENOENT;
    return node;
}

static inline int look(uint64_t folder, const char *name)
{
    int failed;
    (void)find(folder, name, &failed);
    return failed;
}

static inline uint64_t node_of(uint64_t folder, const char *name)
{
    int failed;
    uint64_t node = find(folder, name, &failed);
    assert_int_equal(failed, 0);
    return node;
}

static inline int open_file(uint64_t node, uint32_t flags, uint64_t *fh)
{
    struct fuse_open_in in = {.flags = flags};
    int failed = ask(FUSE_OPEN, node, &in, sizeof in);
    *fh = failed ? 0 : BODY(struct fuse_open_out)->fh;
    return failed;
}

static inline int create(uint64_t folder, const char *name, uint32_t flags, uint32_t mode,
                         uint64_t *fh)
{
    struct fuse_create_in in = {.flags = flags, .mode = mode};
    int failed = ask_names(FUSE_CREATE, folder, &in, sizeof in, name, NULL);
    const char *open =
        t.reply + sizeof(struct fuse_out_header) + sizeof(struct fuse_entry_out);
    if (fh && !failed)
        *fh = ((const struct fuse_open_out *)(const void *)open)->fh;
    return failed;
}

static inline int write_at(uint64_t node, uint64_t fh, uint64_t offset, const char *text)
{
    char body[4096];
    struct fuse_write_in in = {
        .fh = fh, .offset = offset, .size = (uint32_t)strlen(text)};
    memcpy(body, &in, sizeof in);
    memcpy(body + sizeof in, text, in.size);
    return ask(FUSE_WRITE, node, body, sizeof in + in.size);
}

static inline int read_at(uint64_t node, uint64_t fh, uint64_t offset, uint32_t n)
{
    struct fuse_read_in in = {.fh = fh, .offset = offset, .size = n};
    return ask(FUSE_READ, node, &in, sizeof in);
}

static inline int set(uint64_t node, const struct fuse_setattr_in *in)
{
    return ask(FUSE_SETATTR, node, in, sizeof *in);
}

static inline int move(uint64_t from, const char *name, uint64_t to, const char *new_name,
                       uint32_t flags)
{
    struct fuse_rename2_in in = {.newdir = to, .flags = flags};
    return ask_names(FUSE_RENAME2, from, &in, sizeof in, name, new_name);
}

static inline int begin_session(void)
{
    struct fuse_init_in in = {.major = FUSE_KERNEL_VERSION,
                              .minor = FUSE_KERNEL_MINOR_VERSION,
                              .max_readahead = 1 << 17,
                              .flags = ~(1u << 30)} /* without FUSE_INIT_EXT */;
    return ask(FUSE_INIT, 0, &in, sizeof in);
}

static inline struct vfs *tree_of(enum which w)
{
    struct err e = {0};
    char path[HOME_SIZE + 8];
    (void)snprintf(path, sizeof path, "%s/in", t.home);
    scoped_fd int dir = os_dir_open(path, &e);
    struct vfs *v = vfs_new(&(struct vfs_quota){
        .bytes = 1 << 20, .files = 1000, .open = 300, .written = 1 << 20});
    struct vfs_mount m = {.at = "/m",
                          .dir = dir,
                          .writable = w != READ_ONLY,
                          .dots = w != NO_DOTS,
                          .links = w == LINKS,
                          .overlay = w == OVERLAY};
    assert_true(vfs_mount(v, &m, &e));
    return v;
}

static inline int tester_make(void **state)
{
    (void)state;
    struct err e = {0};
    if (!folder_make(t.home))
        return -1;
    host(
        "mkdir in out in/sub && echo secret > out/secret && echo text > in/file && "
        "echo deep > in/sub/deep && ln -s ../out in/away && ln -s ../out/secret in/leak && "
        "ln -s file in/near && mkdir in/.cloche in/.git && echo x > in/.cloche/policy && "
        "mkfifo in/pipe");
    t.f = fuse_new();
    for (int w = 0; w < MOUNTS; w++)
        assert_true(
            fuse_add(t.f, tree_of((enum which)w), "/m", false, &t.numbers[w], &e));
    assert_int_equal(begin_session(), 0);
    for (int w = 0; w < MOUNTS; w++) {
        char name[12];
        (void)snprintf(name, sizeof name, "%u", t.numbers[w]);
        t.roots[w] = node_of(FUSE_ROOT_ID, name);
    }
    return 0;
}

/* Whatever a test did: what stands outside is as it was. */
static inline int tester_end(void **state)
{
    (void)state;
    bool untouched =
        holds("test \"$(cat out/secret)\" = secret && test \"$(ls out)\" = secret");
    fuse_free(t.f);
    return untouched ? folder_remove(t.home) : -1;
}
