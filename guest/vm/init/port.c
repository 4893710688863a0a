/* vm/init/port.c - frames in and out of one descriptor.
 *
 * It blocks when written to: the host takes what comes at once, and keeps the slow ones
 * among its callers off by credit. When read, after epoll has said that there is something,
 * it gives what there is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "vm/init/log.h"
#include "vm/init/port.h"
#include "vm/init/source.h"

#define MENTIONS_WAIT ((uint64_t)20000000) /* ns: longer than most commands take */
enum { HEAD = sizeof(struct vm_frame), OUT_MAX = 4 * (VM_FRAME_MAX + HEAD) };

static struct source port = {.fd = -1};
static void (*on_frame)(const struct vm_frame *f, const uint8_t *payload);

static struct {
    uint8_t bytes[OUT_MAX];
    uint32_t n;
    bool urgent;
    uint64_t mentioned_ns; /* when the first began to wait */
} out;

static struct {
    uint8_t bytes[2 * (VM_FRAME_MAX + HEAD)];
    uint32_t n;
} in;

/* ---- out --------------------------------------------------------------------------------- */

static void write_out(void)
{
    uint32_t at = 0;
    while (at < out.n) {
        ssize_t n = write(port.fd, out.bytes + at, out.n - at);
        if (n > 0)
            at += (uint32_t)n;
        else if (n < 0 && errno != EINTR)
            die("the control port cannot be written: %m");
    }
    out.n = 0;
    out.urgent = false;
}

uint64_t port_due(void)
{
    return out.n == 0 ? UINT64_MAX : out.mentioned_ns + MENTIONS_WAIT;
}

void port_flush(void)
{
    if (out.urgent || (out.n > 0 && now_ns() >= port_due()))
        write_out();
}

uint8_t *port_room(uint32_t length)
{
    if (out.n + HEAD + length > OUT_MAX)
        write_out();
    return out.bytes + out.n + HEAD;
}

void port_said(uint32_t id, enum vm_verb verb, uint32_t used)
{
    struct vm_frame f = {.length = used, .id = id, .verb = (uint16_t)verb};
    memcpy(out.bytes + out.n, &f, HEAD);
    out.n += HEAD + used;
    out.urgent = true;
}

void port_say(uint32_t id, enum vm_verb verb, const void *payload, uint32_t length)
{
    uint8_t *at = port_room(length);
    if (length > 0)
        memcpy(at, payload, length);
    port_said(id, verb, length);
}

void port_mention(uint32_t id, enum vm_verb verb, const void *payload, uint32_t length)
{
    bool urgent = out.urgent;
    if (out.n == 0)
        out.mentioned_ns = now_ns();
    port_say(id, verb, payload, length);
    out.urgent = urgent;
}

/* ---- in ---------------------------------------------------------------------------------- */

static void take_frames(void)
{
    uint32_t at = 0;
    while (in.n - at >= HEAD) {
        struct vm_frame f;
        memcpy(&f, in.bytes + at, HEAD);
        if (f.length > VM_FRAME_MAX || f.zero != 0)
            die("the host sent no frame: length %u, id %u, verb %u", f.length, f.id,
                f.verb);
        if (in.n - at - HEAD < f.length)
            break;
        on_frame(&f, in.bytes + at + HEAD);
        at += HEAD + f.length;
    }
    in.n -= at;
    memmove(in.bytes, in.bytes + at, in.n);
}

static void readable(struct source *s, uint32_t events)
{
    (void)events;
    ssize_t n = read(s->fd, in.bytes + in.n, sizeof in.bytes - in.n);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0)
        die("the control port is closed");
    in.n += (uint32_t)n;
    take_frames();
}

/* ---- opening ----------------------------------------------------------------------------- */

static bool has_name(const char *device)
{
    char path[320], name[64] = "";
    snprintf(path, sizeof path, "/sys/class/virtio-ports/%s/name", device);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, sizeof name - 1);
    close(fd);
    return n > 0 && strncmp(name, VM_PORT_NAME, sizeof VM_PORT_NAME - 1) == 0 &&
           (name[sizeof VM_PORT_NAME - 1] == '\n' ||
            name[sizeof VM_PORT_NAME - 1] == '\0');
}

/* The kernel allows a single open. */
static int find_port(void)
{
    DIR *d = opendir("/sys/class/virtio-ports");
    if (d == NULL)
        return -1;
    int fd = -1;
    for (struct dirent *e; fd < 0 && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || !has_name(e->d_name))
            continue;
        char path[320];
        snprintf(path, sizeof path, "/dev/%s", e->d_name);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    closedir(d);
    return fd;
}

void port_open(int fd, void (*frame)(const struct vm_frame *f, const uint8_t *payload))
{
    on_frame = frame;
    for (int tries = 0; fd < 0 && tries < 500; tries++) {
        fd = find_port();
        if (fd < 0)
            usleep(10000); /* the host names its ports soon after the driver is up */
    }
    if (fd < 0)
        die("there is no control port " VM_PORT_NAME);
    if (!source_open(&port, fd, EPOLLIN, readable))
        die("the control port cannot be waited for: %m");
}
