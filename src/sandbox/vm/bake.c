#include "vm/bake.h"

#include <stdio.h>

#include "vm/frames.h"

#define SLICE 2000000u
#define BOOT_INSTRUCTIONS 20000000000ull /* limit of the boot */
#define REST_INSTRUCTIONS 40000000ull /* idle time is skipped: these are many seconds */
#define INBOX_MAX ((size_t)1 << 20)

/* The kernel's command line. Free pages are reported singly, so that they become holes of
 * the image; the page cache keeps files' contents only, not their compressed blocks,
 * which would be a fifth of it; after a panic the machine ends. */
static const char arguments[] =
    "root=/dev/vda rootfstype=erofs rootflags=cache_strategy=disabled ro "
    "init=/sbin/cloche-init console=hvc0 loglevel=4 panic=-1 "
    "page_reporting.page_reporting_order=0 random.trust_bootloader=on";

/* Commands run once before the machine is copied, so that an agent's first commands find
 * their files in memory, and the first session's shell waiting. Files are read without
 * much read-ahead, which makes the image a tenth smaller. */
static const char *const warm[] = {
    "echo 3 >/proc/sys/vm/drop_caches; echo 8 >/sys/block/vda/queue/read_ahead_kb",
    "echo a | { read -r x; printf '%s\\n' \"$x\"; } >/dev/null; x=$((1+1)); [ -d /tmp ]",
    "ls -la / >/dev/null; cat /etc/os-release | grep -c Debian >/dev/null; env >/dev/null",
    "sed -n 1p /etc/passwd >/dev/null; awk 'BEGIN{print 1}' >/dev/null; sleep 0",
    "python3 -c 'import json,re,os,sys,subprocess,pathlib; print(1)' >/dev/null",
    "curl --version >/dev/null; git --version >/dev/null; /usr/lib/git-core/git-remote-https 2>/dev/null; :",
    "echo 128 >/sys/block/vda/queue/read_ahead_kb",
};

struct baker {
    struct computer *computer;
    struct buf inbox; /* not yet read by the machine */
    size_t heard;
    struct frames frames;
    uint32_t ready, done; /* frames of that kind seen; the last id that ended */
    struct err failure;
};

static size_t baker_read(void *arg, char *to, size_t n)
{
    struct baker *b = arg;
    size_t left = b->inbox.n - b->heard;
    n = n < left ? n : left;
    if (n)
        memcpy(to, b->inbox.at + b->heard, n);
    b->heard += n;
    if (b->heard == b->inbox.n) {
        buf_clear(&b->inbox);
        b->heard = 0;
    }
    return n;
}

static void take_frame(struct baker *b, const struct frame *f)
{
    struct vm_exit x = {0};
    switch (f->verb) {
    case VM_READY:
        b->ready++;
        break;
    case VM_OUT:
    case VM_ERR:
        frame_put_u32(&b->inbox, f->id, VM_CREDIT, (uint32_t)f->payload.n);
        break;
    case VM_EXIT:
        memcpy(&x, f->payload.at, f->payload.n < sizeof x ? f->payload.n : sizeof x);
        b->done = f->id;
        if (x.status || x.flags & (VM_EXIT_SHELL | VM_EXIT_SIGNAL | VM_EXIT_TIMEOUT))
            err_set(&b->failure, ERR_GUEST, "'%s' ended with %u while it was warmed",
                    f->id && f->id <= LENGTH(warm) ? warm[f->id - 1] : "?", x.status);
        break;
    case VM_REFUSED:
        b->done = f->id;
        err_set(&b->failure, ERR_GUEST, "a command was refused: %.*s",
                STR_ARGS(str_cut(f->payload, 200)));
        break;
    default:
        break;
    }
}

static void baker_hear(void *arg, struct str bytes)
{
    struct baker *b = arg;
    struct frame f;
    enum frames_found found;
    while ((found = frames_next(&b->frames, &bytes, &f, &b->failure)) == FRAMES_ONE)
        take_frame(b, &f);
}

static bool fail(struct baker *b, const char *doing, struct err *e)
{
    struct str words = computer_console(b->computer);
    size_t from = words.n > 160 ? words.n - 160 : 0;
    struct str end = str_trim((struct str){words.at + from, words.n - from});
    if (end.n)
        return err_set(e, ERR_GUEST, "%s: %.180s; it said last: %.*s", doing,
                       b->failure.msg, STR_ARGS(end));
    return err_set(e, ERR_GUEST, "%s: %.180s", doing, b->failure.msg);
}

/* Runs until *count is `want`. */
static bool run_until(struct baker *b, const uint32_t *count, uint32_t want,
                      const char *doing, struct err *e)
{
    for (uint64_t n = 0; *count != want; n += SLICE) {
        uint64_t wake_ns;
        struct err why = {0};
        if (!computer_run(b->computer, SLICE, &wake_ns, &why)) {
            if (why.code != ERR_GUEST)
                return err_set(e, why.code, "%s: %s", doing, why.msg);
            b->failure = why;
            return fail(b, doing, e);
        }
        if (b->failure.code)
            return fail(b, doing, e);
        bool rests = wake_ns != COMPUTER_RUNS && b->inbox.n == 0;
        if (rests && *count != want)
            err_set(&b->failure, ERR_GUEST,
                    "deadlock: the machine is idle with no pending event");
        if (n > BOOT_INSTRUCTIONS)
            err_set(&b->failure, ERR_TIMEOUT, "it does not come to an end");
        if (b->failure.code)
            return fail(b, doing, e);
    }
    return true;
}

/* The kernel reports free pages some seconds after they were freed. */
static bool baker_rest(struct baker *b, struct err *e)
{
    uint64_t wake_ns = COMPUTER_RUNS;
    for (uint64_t n = 0; n < REST_INSTRUCTIONS && wake_ns == COMPUTER_RUNS; n += SLICE)
        if (!computer_run(b->computer, SLICE, &wake_ns, &b->failure))
            return fail(b, "coming to rest", e);
    return computer_zero_unused(b->computer, e);
}

/* Its session's shell is the one that stays. */
static bool warm_up(struct baker *b, uint32_t id, struct err *e)
{
    struct vm_exec_head head = {.session = 1, .timeout_ms = 0};
    frame_put(&b->inbox, id, VM_TEXT, str_of(warm[id - 1]));
    frame_put(&b->inbox, id, VM_EXEC, (struct str){(const char *)&head, sizeof head});
    return run_until(b, &b->done, id, warm[id - 1], e);
}

static bool baker_boot(struct baker *b, struct err *e)
{
    struct vm_resume resume = {.wall_ns = 1735689600000000000u}; /* 2025-01-01 */
    if (!run_until(b, &b->ready, 1, "booting", e))
        return false;
    frame_put(&b->inbox, 0, VM_RESUME,
              (struct str){(const char *)&resume, sizeof resume});
    if (!run_until(b, &b->ready, 2, "setting the clock", e))
        return false;
    for (uint32_t i = 0; i < LENGTH(warm); i++)
        if (!warm_up(b, i + 1, e))
            return false;
    frame_put(&b->inbox, 0, VM_QUIESCE, STR(""));
    return run_until(b, &b->ready, 3, "coming to rest", e) && baker_rest(b, e);
}

struct computer *bake_machine(const struct bake *o, struct err *e)
{
    struct baker b = {0};
    struct computer_options options = {
        .module = o->module,
        .disks = {o->disks[0], o->disks[1]},
        .memory_bytes = VM_RAM_AT + ((uint64_t)o->ram_mb << 20),
        .cancel = o->cancel,
        .wires = {baker_read, baker_hear, &b},
        .foreseeable = true,
    };
    buf_init(&b.inbox, INBOX_MAX);
    frames_init(&b.frames);
    b.computer = computer_open(&options, e);
    bool ok = b.computer &&
              computer_boot(b.computer, o->ram_mb, o->kernel, arguments, e) &&
              baker_boot(&b, e);
    frames_done(&b.frames);
    buf_done(&b.inbox);
    if (ok)
        return b.computer; /* it does not run any more, so `b` may end */
    computer_close(b.computer);
    return NULL;
}
