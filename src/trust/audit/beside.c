/* Texts beside the newest records of a chain: a file of slots, one a record, which later records
 * overwrite in turn. Nothing chains them: they say more of a record for a while, and prove
 * nothing. A text that cannot be written is lost. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/trail.h"
#include "os/os.h"

#define SLOT_BYTES 4096u
#define SLOTS 1024u
_Static_assert(TRAIL_BESIDE_MAX + MAC_HEX + 1 <= SLOT_BYTES, "a text fits its slot");

static off_t slot_of(uint64_t record)
{
    return (off_t)(record % SLOTS) * SLOT_BYTES;
}

/* Whatever lies in a vault under that name: only a plain file of our own is used. */
static int open_slots(const struct chain *c, int flags)
{
    char name[FILE_NAME_MAX];
    struct err none = {0};
    struct stat st;
    (void)snprintf(name, sizeof name, c->lane ? "beside-%u.ring" : "beside.ring",
                   c->lane);
    int fd = c->dir < 0 ? -1
                        : os_open_beneath(c->dir, name, flags | O_NOFOLLOW | O_NONBLOCK,
                                          0600, &none);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1)) {
        os_close(fd);
        fd = -1;
    }
    return fd;
}

/* "MAC\nTEXT\n"; the record is the chain's last one. */
void chain_put_beside(struct chain *c, struct str text)
{
    char slot[SLOT_BYTES];
    if (!text.n || text.n > TRAIL_BESIDE_MAX || memchr(text.at, '\n', text.n))
        return;
    if (c->beside < 0)
        c->beside = open_slots(c, O_RDWR | O_CREAT);
    if (c->beside < 0)
        return;
    memcpy(slot, c->head.mac, MAC_HEX - 1);
    slot[MAC_HEX - 1] = '\n';
    memcpy(slot + MAC_HEX, text.at, text.n);
    slot[MAC_HEX + text.n] = '\n';
    (void)!pwrite(c->beside, slot, MAC_HEX + text.n + 1, slot_of(c->head.count));
}

struct seeking {
    uint64_t record;
    struct str mac;
    struct buf *out;
    bool found;
};

static bool look_beside(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct seeking *s = arg;
    char slot[SLOT_BYTES];
    (void)aside;
    (void)e;
    scoped_fd int fd = s->found ? -1 : open_slots(c, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : pread(fd, slot, sizeof slot, slot_of(s->record));
    if (n <= (ssize_t)MAC_HEX || memcmp(slot, s->mac.at, s->mac.n) != 0 ||
        slot[MAC_HEX - 1] != '\n')
        return true;
    const char *text = slot + MAC_HEX;
    const char *end = memchr(text, '\n', (size_t)n - MAC_HEX);
    s->found = end && buf_put(s->out, text, (size_t)(end - text));
    return true;
}

bool trail_beside(struct trail *t, uint64_t record, struct str mac, struct buf *out,
                  struct err *e)
{
    struct seeking s = {.record = record, .mac = mac, .out = out};
    return mac.n == MAC_HEX - 1 &&
           trail_visit(t, &(struct lane_visit){.each = look_beside, .arg = &s}, e) &&
           s.found;
}
