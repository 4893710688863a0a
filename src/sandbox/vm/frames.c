#include "vm/frames.h"

#include <inttypes.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are little-endian");
_Static_assert(sizeof(struct vm_frame) == 12, "as abi/vm.h says");

void frames_init(struct frames *f)
{
    buf_init(&f->part, FRAME_HEAD + VM_FRAME_MAX);
}

void frames_done(struct frames *f)
{
    buf_done(&f->part);
}

/* Moves bytes from `in` until `part` has `want` of them. */
static bool frame_fill(struct buf *part, struct str *in, size_t want, struct err *e)
{
    size_t n = want > part->n ? want - part->n : 0;
    n = n < in->n ? n : in->n;
    if (!buf_put(part, in->at, n))
        return err_set(e, ERR_BUSY, "there is no memory for what the machine says");
    in->at += n;
    in->n -= n;
    return part->n >= want;
}

static bool frame_check_head(const struct vm_frame *head, struct err *e)
{
    if (head->length > VM_FRAME_MAX)
        return err_set(e, ERR_GUEST,
                       "the machine sent a frame of %" PRIu32 " bytes, where at most %u "
                       "are allowed",
                       head->length, VM_FRAME_MAX);
    if (head->zero != 0)
        return err_set(e, ERR_GUEST, "the machine sent an invalid frame");
    return true;
}

static struct frame frame_at(const struct vm_frame *head, const char *payload)
{
    return (struct frame){head->id, head->verb, {payload, head->length}};
}

/* Most frames arrive whole, and are not copied. */
static bool take_whole(struct str *in, struct frame *out, struct err *e)
{
    struct vm_frame head;
    if (in->n < FRAME_HEAD)
        return false;
    memcpy(&head, in->at, FRAME_HEAD);
    if (!frame_check_head(&head, e) || in->n - FRAME_HEAD < head.length)
        return false;
    *out = frame_at(&head, in->at + FRAME_HEAD);
    in->at += FRAME_HEAD + head.length;
    in->n -= FRAME_HEAD + head.length;
    return true;
}

enum frames_found frames_next(struct frames *f, struct str *in, struct frame *out,
                              struct err *e)
{
    struct vm_frame head;
    if (f->part.n == 0 && take_whole(in, out, e))
        return FRAMES_ONE;
    if (e->code)
        return FRAMES_BROKEN;
    if (!frame_fill(&f->part, in, FRAME_HEAD, e))
        return e->code ? FRAMES_BROKEN : FRAMES_NONE;
    memcpy(&head, f->part.at, FRAME_HEAD);
    if (!frame_check_head(&head, e))
        return FRAMES_BROKEN;
    if (!frame_fill(&f->part, in, FRAME_HEAD + head.length, e))
        return e->code ? FRAMES_BROKEN : FRAMES_NONE;
    *out = frame_at(&head, f->part.at + FRAME_HEAD);
    buf_clear(&f->part); /* the bytes stay valid until more come */
    return FRAMES_ONE;
}

void frame_put(struct buf *out, uint32_t id, uint16_t verb, struct str payload)
{
    must(payload.n <= VM_FRAME_MAX);
    struct vm_frame head = {.length = (uint32_t)payload.n, .id = id, .verb = verb};
    buf_put(out, &head, sizeof head);
    buf_str(out, payload);
}

void frame_put_all(struct buf *out, uint32_t id, uint16_t verb, struct str bytes)
{
    while (bytes.n > 0) {
        size_t n = bytes.n < VM_FRAME_MAX ? bytes.n : VM_FRAME_MAX;
        frame_put(out, id, verb, (struct str){bytes.at, n});
        bytes.at += n;
        bytes.n -= n;
    }
}

void frame_put_u32(struct buf *out, uint32_t id, uint16_t verb, uint32_t number)
{
    frame_put(out, id, verb, (struct str){(const char *)&number, sizeof number});
}
