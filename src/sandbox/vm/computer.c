#include "vm/computer.h"

#include <inttypes.h>
#include <stdio.h>

#include "crypto/crypto.h"
#include "fuse/fuse.h"
#include "os/os.h"

#define MB ((uint64_t)1 << 20)
#define KERNEL_AT ((uint64_t)VM_RAM_AT + 0x200000) /* MACHINE_KERNEL */
#define ARGUMENTS_MAX 1024u                        /* MACHINE_ARGUMENTS_MAX */
#define BYTES_MAX (1u << 20)                       /* HOST_BYTES_MAX */
#define CONSOLE_KEPT ((size_t)16 << 10)
#define DISCARD_MAX ((uint64_t)64 << 30)

/* enum host_disk_op */
enum disk_op { DISK_READ, DISK_WRITE, DISK_FLUSH, DISK_DISCARD, DISK_ZERO };

struct computer {
    struct computer_options o;
    struct world *world;
    struct buf console;
    uint64_t foreseen; /* bytes of reproducible entropy so far */
};

/* ---- the emulator's imports --------------------------------------------------- */

/* Bytes of its memory, by a pointer and length from the emulator, which is untrusted. */
static void *bytes_at(struct world *w, uint64_t at, uint64_t n, struct err *e)
{
    void *p = n <= BYTES_MAX ? world_slice(w, (uint32_t)at, n) : NULL;
    if (!p)
        err_set(e, ERR_GUEST, "the emulator named memory that is not there");
    return p;
}

static bool host_now(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)e;
    cells[0] = os_mono_ns();
    return true;
}

static bool host_wall(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)e;
    cells[0] = (uint64_t)os_real_ms() * 1000000;
    return true;
}

/* Blocks of a hash of the number of bytes before. */
static void foresee(struct computer *c, unsigned char *out, size_t n)
{
    unsigned char block[CRYPTO_BLAKE2B];
    for (size_t at = 0; at < n; at += sizeof block) {
        c->foreseen++;
        crypto_blake2b((struct str){(const char *)&c->foreseen, sizeof c->foreseen},
                       block);
        memcpy(out + at, block, n - at < sizeof block ? n - at : sizeof block);
    }
}

static bool entropy(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint32_t n = (uint32_t)cells[1];
    void *to = bytes_at(w, cells[0], n, e);
    if (!to)
        return false;
    if (c->o.foreseeable)
        foresee(c, to, n);
    else
        os_random(to, n);
    return true;
}

static bool channel_read(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint32_t channel = (uint32_t)cells[0], n = (uint32_t)cells[2];
    void *to = bytes_at(w, cells[1], n, e);
    if (!to)
        return false;
    cells[0] = channel == VM_CONTROL ? c->o.wires.read(c->o.wires.arg, to, n) : 0;
    return true;
}

/* Keeps the end: a kernel's panic message is there. */
static void keep_console(struct computer *c, struct str said)
{
    if (said.n > CONSOLE_KEPT)
        said = (struct str){said.at + said.n - CONSOLE_KEPT, CONSOLE_KEPT};
    if (c->console.n + said.n > 2 * CONSOLE_KEPT) {
        memmove(c->console.at, c->console.at + c->console.n - CONSOLE_KEPT, CONSOLE_KEPT);
        c->console.n = CONSOLE_KEPT;
    }
    for (size_t i = 0; i < said.n; i++) {
        unsigned char b = (unsigned char)said.at[i];
        buf_char(&c->console, b == '\n' || (b >= ' ' && b < 0x7f) ? (char)b : ' ');
    }
}

static bool channel_write(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint32_t channel = (uint32_t)cells[0], n = (uint32_t)cells[2];
    const char *from = bytes_at(w, cells[1], n, e);
    if (!from)
        return false;
    if (channel == VM_CONTROL)
        c->o.wires.write(c->o.wires.arg, (struct str){from, n});
    else
        keep_console(c, (struct str){from, n});
    cells[0] = n;
    return true;
}

static bool disk_request(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint32_t number = (uint32_t)cells[0], op = (uint32_t)cells[1];
    uint64_t offset = cells[2], n = cells[4];
    struct disk *d = number < COMPUTER_DISKS ? c->o.disks[number] : NULL;
    void *at = NULL;
    if ((op == DISK_READ || op == DISK_WRITE) && !(at = bytes_at(w, cells[3], n, e)))
        return false;
    bool done = false;
    if (d && op == DISK_READ)
        done = disk_read(d, offset, at, n);
    else if (d && op == DISK_WRITE)
        done = disk_write(d, offset, at, n);
    else if (d && (op == DISK_DISCARD || op == DISK_ZERO))
        done = disk_zero(d, offset, n);
    else if (d)
        done = op == DISK_FLUSH; /* it is freed with the machine in any case */
    cells[0] = done;
    return true;
}

static bool give_back(struct world *w, uint64_t *cells, struct err *e)
{
    return world_discard(w, (uint32_t)cells[0], cells[1]) ||
           err_set(e, ERR_GUEST, "the emulator gave back memory that is not there");
}

/* ---- files ---------------------------------------------------------------------- */

static bool files(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint32_t n = (uint32_t)cells[1], room = (uint32_t)cells[3];
    const char *from = bytes_at(w, cells[0], n, e);
    char *to = from ? bytes_at(w, cells[2], room, e) : NULL;
    if (!to)
        return false;
    size_t done =
        c->o.files ? fuse_request(c->o.files, (struct str){from, n}, to, room) : 0;
    cells[0] = done;
    return true;
}

/* ---- its network: sockets ----------------------------------------------------- */

static bool answer(uint64_t *cells, int32_t out)
{
    cells[0] = (uint32_t)out;
    return true;
}

static bool net_connect(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    const void *address = bytes_at(w, cells[2], 16, e);
    int32_t out;
    if (!address)
        return false;
    if (!c->o.network)
        return answer(cells, VM_NET_UNREACHABLE);
    bool ok = network_connect(c->o.network, (uint32_t)cells[0], (uint32_t)cells[1],
                              address, (uint32_t)cells[3], &out, e);
    return ok && answer(cells, out);
}

static bool net_resolve(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint32_t n = (uint32_t)cells[2];
    const char *name = bytes_at(w, cells[1], n, e);
    int32_t out;
    if (!name)
        return false;
    if (!c->o.network)
        return answer(cells, VM_NET_UNREACHABLE);
    bool ok = network_resolve(c->o.network, (uint32_t)cells[0], (struct str){name, n},
                              (uint32_t)cells[3], &out, e);
    return ok && answer(cells, out);
}

static bool net_send(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint32_t n = (uint32_t)cells[2];
    const char *from = bytes_at(w, cells[1], n, e);
    int32_t out = VM_NET_GONE;
    return from &&
           (!c->o.network || network_send(c->o.network, (uint32_t)cells[0],
                                          (struct str){from, n}, &out, e)) &&
           answer(cells, out);
}

static bool net_receive(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint32_t n = (uint32_t)cells[2];
    void *to = bytes_at(w, cells[1], n, e);
    int32_t out = VM_NET_GONE;
    return to &&
           (!c->o.network ||
            network_receive(c->o.network, (uint32_t)cells[0], to, n, &out, e)) &&
           answer(cells, out);
}

static bool net_shut(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    return !c->o.network || network_shut(c->o.network, (uint32_t)cells[0], e);
}

static bool net_close(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    return !c->o.network ||
           network_end(c->o.network, (uint32_t)cells[0], (uint32_t)cells[1] != 0, e);
}

static bool net_events(struct world *w, uint64_t *cells, struct err *e)
{
    struct computer *c = world_data(w);
    uint64_t n = (uint32_t)cells[1];
    struct vm_net_event *to = bytes_at(w, cells[0], n * sizeof *to, e);
    if (!to)
        return false;
    cells[0] = c->o.network ? network_events(c->o.network, to, (uint32_t)n) : 0;
    return true;
}

const struct engine_import *computer_imports(size_t *count)
{
    static const struct engine_import rows[] = {
        {"host", "now_ns", ":I", host_now},
        {"host", "wall_ns", ":I", host_wall},
        {"host", "entropy", "ii:", entropy},
        {"host", "read", "iii:i", channel_read},
        {"host", "write", "iii:i", channel_write},
        {"host", "disk", "iiIiI:i", disk_request},
        {"host", "give_back", "iI:", give_back},
        {"host", "files", "iiii:i", files},
        {"host", "net_connect", "iiii:i", net_connect},
        {"host", "net_send", "iii:i", net_send},
        {"host", "net_receive", "iii:i", net_receive},
        {"host", "net_shut", "i:", net_shut},
        {"host", "net_close", "ii:", net_close},
        {"host", "net_resolve", "iiii:i", net_resolve},
        {"host", "net_events", "ii:i", net_events},
    };
    *count = LENGTH(rows);
    return rows;
}

/* ---- its world -------------------------------------------------------------------- */

static size_t read_nothing(void *arg, char *to, size_t n)
{
    (void)arg;
    (void)to;
    (void)n;
    return 0;
}

static void say_nothing(void *arg, struct str bytes)
{
    (void)arg;
    (void)bytes;
}

struct computer *computer_open(const struct computer_options *o, struct err *e)
{
    scoped(computer_close) struct computer *c = mem_new(sizeof *c);
    c->o = *o;
    c->o.wires.read = o->wires.read ? o->wires.read : read_nothing;
    c->o.wires.write = o->wires.write ? o->wires.write : say_nothing;
    buf_init(&c->console, 2 * CONSOLE_KEPT);
    struct world_limits limits = {.compute_ns = o->cpu_ns, .cancel = o->cancel};
    c->world = world_open(o->module, &limits, c, e);
    return c->world ? take(c) : NULL;
}

void computer_close(struct computer *c)
{
    if (!c)
        return;
    world_close(c->world);
    buf_done(&c->console);
    free(c);
}

struct str computer_memory(struct computer *c)
{
    struct str all = world_memory(c->world);
    return c->o.memory_bytes && c->o.memory_bytes < all.n
               ? (struct str){all.at, (size_t)c->o.memory_bytes}
               : all;
}

struct str computer_console(struct computer *c)
{
    return buf_view(&c->console);
}

struct computer_usage computer_usage(struct computer *c)
{
    struct computer_usage u = {.cpu_ns = world_usage(c->world).compute_ns};
    (void)world_touched(c->world, &u.memory_bytes);
    return u;
}

/* ---- calling ------------------------------------------------------------------------ */

static bool call(struct computer *c, const char *name, uint64_t *cells, size_t n,
                 struct err *e)
{
    struct err why = {0};
    if (world_call(c->world, name, cells, n, &why))
        return true;
    if (why.code == ERR_TIMEOUT)
        return err_set(e, ERR_LIMIT,
                       "the machine has used up its %" PRIu64
                       " seconds of computing time, and was stopped",
                       c->o.cpu_ns / 1000000000u);
    if (why.code == ERR_CANCELLED || why.code == ERR_IO)
        return err_set(e, why.code, "the machine was stopped: %s", why.msg);
    return err_set(e, why.code, "the machine failed: %s", why.msg);
}

/* A string of the emulator, up to its NUL. */
static struct str text_at(struct computer *c, uint64_t at, size_t max)
{
    struct str all = world_memory(c->world);
    if (at >= all.n)
        return STR("");
    max = max < all.n - at ? max : all.n - (size_t)at;
    return (struct str){all.at + at, strnlen(all.at + at, max)};
}

/* ---- starting ------------------------------------------------------------------------- */

static bool computer_write(struct computer *c, uint64_t at, struct str bytes,
                           struct err *e)
{
    void *to = world_slice(c->world, at, bytes.n);
    if (!to)
        return err_set(e, ERR_INVALID, "%zu bytes do not fit the machine's RAM", bytes.n);
    memcpy(to, bytes.at, bytes.n);
    return true;
}

static bool computer_begin(struct computer *c, uint32_t ram_mb, struct err *e)
{
    uint64_t cells[3] = {ram_mb};
    if (ram_mb < VM_RAM_MIN_MB || ram_mb > VM_RAM_MAX_MB)
        return err_set(e, ERR_INVALID, "a machine has %u to %u MB of RAM, not %u",
                       VM_RAM_MIN_MB, VM_RAM_MAX_MB, ram_mb);
    if (!call(c, "vm_init", cells, 1, e))
        return false;
    for (uint32_t i = 0; i < COMPUTER_DISKS; i++) {
        if (!c->o.disks[i])
            continue;
        cells[0] = i;
        cells[1] = disk_bytes(c->o.disks[i]);
        cells[2] = i == 0;
        if (!call(c, "vm_disk", cells, 3, e))
            return false;
    }
    return !c->o.foreseeable || call(c, "vm_count_time", cells, 0, e);
}

static bool refuse_kernel(struct computer *c, struct err *e)
{
    uint64_t cell = 0;
    if (!call(c, "vm_reason", &cell, 0, e))
        return false;
    struct str why = text_at(c, (uint32_t)cell, 200);
    return err_set(e, ERR_INVALID, "the machine does not start: %.*s", STR_ARGS(why));
}

bool computer_boot(struct computer *c, uint32_t ram_mb, struct str kernel,
                   const char *arguments, struct err *e)
{
    uint64_t cell = 0;
    size_t n = strlen(arguments) + 1;
    if (n > ARGUMENTS_MAX)
        return err_set(e, ERR_INVALID, "a kernel's command line of %zu bytes", n);
    if (!computer_begin(c, ram_mb, e) || !computer_write(c, KERNEL_AT, kernel, e) ||
        !call(c, "vm_arguments", &cell, 0, e) ||
        !computer_write(c, (uint32_t)cell, (struct str){arguments, n}, e))
        return false;
    cell = kernel.n;
    return call(c, "vm_boot", &cell, 1, e) && ((uint32_t)cell || refuse_kernel(c, e));
}

bool computer_start(struct computer *c, uint32_t ram_mb, struct str program,
                    struct err *e)
{
    uint64_t cell = 0x80000000u;
    return computer_begin(c, ram_mb, e) && computer_write(c, VM_RAM_AT, program, e) &&
           call(c, "vm_start", &cell, 1, e);
}

bool computer_resume(struct computer *c, struct err *e)
{
    uint64_t cell = 0;
    return call(c, "vm_resume", &cell, 0, e);
}

struct memory_copy *computer_copy(struct computer *c, struct err *e)
{
    return world_copy(c->world, e);
}

bool computer_show(struct computer *c, struct memory_copy *from, struct err *e)
{
    return world_show(c->world, from, e);
}

bool computer_connect(struct computer *c, uint32_t ways, const uint8_t mac[6],
                      struct err *e)
{
    uint64_t cells[2] = {ways, 0};
    for (unsigned i = 0; i < 6; i++)
        cells[1] |= (uint64_t)mac[i] << 8 * i;
    return call(c, "vm_network", cells, 2, e);
}

bool computer_zero_unused(struct computer *c, struct err *e)
{
    uint64_t cell = 0;
    return call(c, "vm_forget", &cell, 0, e);
}

/* ---- running ---------------------------------------------------------------------------- */

/* The last line of the console that contains `mark`, from there on. */
static struct str last_line_with(struct computer *c, const char *mark)
{
    struct str all = buf_view(&c->console), found = {0};
    size_t n = strlen(mark);
    const char *end = all.at + all.n;
    for (const char *p = all.at; p && p < end; p++) {
        p = memmem(p, (size_t)(end - p), mark, n);
        if (!p)
            break;
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        found = (struct str){p, (size_t)((stop ? stop : end) - p)};
    }
    return str_trim(str_cut(found, 200));
}

static bool put_end_reason(struct computer *c, enum vm_pause how, struct err *e)
{
    struct str panic = last_line_with(c, "Kernel panic");
    if (panic.n)
        return err_set(e, ERR_GUEST, "the machine's kernel gave up: %.*s",
                       STR_ARGS(panic));
    if (how == VM_OFF)
        return err_set(e, ERR_GUEST, "the machine was switched off from within");
    if (how == VM_REBOOT)
        return err_set(e, ERR_GUEST,
                       "the machine was restarted from within, which ends it");
    uint64_t cell = 0;
    if (!call(c, "vm_reason", &cell, 0, e))
        return false;
    struct str why = text_at(c, (uint32_t)cell, 200);
    return err_set(e, ERR_GUEST, "the machine cannot go on: %.*s", STR_ARGS(why));
}

bool computer_run(struct computer *c, uint64_t instructions, uint64_t *wake_ns,
                  struct err *e)
{
    uint64_t cell = instructions;
    *wake_ns = COMPUTER_RUNS;
    if (!call(c, "vm_run", &cell, 1, e))
        return false;
    enum vm_pause how = (enum vm_pause)(uint32_t)cell;
    if (how == VM_IDLE)
        return call(c, "vm_wake_ns", wake_ns, 0, e);
    return how == VM_RAN || put_end_reason(c, how, e);
}
