/* What a machine's kernel asks of the file server (src/sandbox/fuse): whatever it is, the reply has
 * its form, what is open and kept stays within the limits, and nothing of the host is reached. The
 * input: requests, each behind a byte that is its length. A request: its opcode, a byte that chooses
 * node and file among those that replies named, and its body. */
#include <linux/fuse.h>

#include "driver.h"
#include "fuse/fuse.h"
#include "vfs/vfs.h"

#define KNOWN 8u
static const struct vfs_quota quota = {.bytes = 4 << 20, .files = 64, .open = 32};

static struct {
    struct fuse *f;
    struct vfs *tree;
    uint64_t nodes[KNOWN], files[KNOWN];
    unsigned node_count, file_count;
} at;

static _Alignas(16) char request[4096], reply[FUSE_REQUEST_MAX];

static void begin(void)
{
    struct err e = {0};
    uint32_t number;
    at = (typeof(at)){.f = fuse_new(), .tree = vfs_new(&quota)};
    holds(!vfs_mkdir(at.tree, NULL, STR("/m")) &&
          !vfs_mkdir(at.tree, NULL, STR("/m/d")) &&
          !vfs_put(at.tree, STR("/m/f"), STR("text")) &&
          !vfs_symlink(at.tree, STR("/../.."), NULL, STR("/m/l")));
    holds(fuse_add(at.f, at.tree, "/m", false, &number, &e) && number == 1);
    at.nodes[at.node_count++] = FUSE_ROOT_ID;
}

/* Nodes and files that the reply names are known from now on. */
static void learn(uint32_t opcode, size_t n)
{
    const char *body = reply + sizeof(struct fuse_out_header);
    const struct fuse_entry_out *entry = (const void *)body;
    bool names = opcode == FUSE_LOOKUP || opcode == FUSE_CREATE || opcode == FUSE_MKDIR ||
                 opcode == FUSE_MKNOD || opcode == FUSE_LINK || opcode == FUSE_SYMLINK;
    if (names && n >= sizeof *entry && entry->nodeid)
        at.nodes[at.node_count++ % KNOWN] = entry->nodeid;
    if (opcode == FUSE_CREATE && n == sizeof *entry + sizeof(struct fuse_open_out))
        memcpy(&at.files[at.file_count++ % KNOWN], body + sizeof *entry, 8);
    if ((opcode == FUSE_OPEN || opcode == FUSE_OPENDIR) &&
        n == sizeof(struct fuse_open_out))
        memcpy(&at.files[at.file_count++ % KNOWN], body, 8);
}

static void ask(uint32_t opcode, uint8_t chosen, const uint8_t *body, size_t n,
                size_t room)
{
    struct fuse_in_header head = {.len = (uint32_t)(sizeof head + n),
                                  .opcode = opcode,
                                  .unique = 9,
                                  .nodeid = at.nodes[chosen % KNOWN]};
    struct fuse_out_header out;
    memcpy(request, &head, sizeof head);
    memcpy(request + sizeof head, body, n);
    if (chosen & 128 && n >= 8) /* a file's number comes first */
        memcpy(request + sizeof head, &at.files[chosen / KNOWN % KNOWN], 8);
    size_t got = fuse_request(at.f, (struct str){request, head.len}, reply, room);
    if (!got)
        return;
    holds(got >= sizeof out && got <= room);
    memcpy(&out, reply, sizeof out);
    holds(out.len == got && out.unique == 9 && out.error <= 0 && out.error > -512 &&
          (!out.error || got == sizeof out));
    if (!out.error)
        learn(opcode, got - sizeof out);
    struct vfs_usage used = vfs_usage(at.tree);
    holds(used.open <= quota.open && used.files <= quota.files &&
          used.bytes <= quota.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuse_init_in init = {.major = FUSE_KERNEL_VERSION,
                                .minor = FUSE_KERNEL_MINOR_VERSION};
    begin();
    ask(FUSE_INIT, 0, (const void *)&init, sizeof init, sizeof reply);
    ask(FUSE_LOOKUP, 0, (const void *)"1", 2, sizeof reply);
    for (size_t i = 0; i < size;) {
        size_t n = data[i++];
        n = n < size - i ? n : size - i;
        if (n >= 2)
            ask(data[i], data[i + 1], data + i + 2, n - 2,
                data[i + 1] & 64 ? sizeof reply : 4096);
        i += n;
    }
    fuse_free(at.f);
    return 0;
}
