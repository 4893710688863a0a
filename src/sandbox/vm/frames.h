/* vm/frames.h - the frames of a control port (abi/vm.h), out of a stream of bytes and into
 * one. What comes from a machine is untrusted.
 *
 * Private to the room vm. Threads: one at a time.
 */
#pragma once
#include "abi/vm.h"
#include "base/base.h"

#define FRAME_HEAD sizeof(struct vm_frame)

struct frame {
    uint32_t id;
    uint16_t verb;
    struct str payload; /* until the next frames_next() */
};

/* Puts together what is cut anywhere. */
struct frames {
    struct buf part; /* the beginning of a frame that is not whole yet */
};
void frames_init(struct frames *f);
void frames_done(struct frames *f);

enum frames_found { FRAMES_ONE, FRAMES_NONE, FRAMES_BROKEN };
/* Takes the next frame off the front of `in`. FRAMES_NONE: `in` is used up, and what was
 * begun is kept. FRAMES_BROKEN and ERR_GUEST: these are no frames. */
enum frames_found frames_next(struct frames *f, struct str *in, struct frame *out,
                              struct err *e);

/* Appends a frame of at most VM_FRAME_MAX bytes of payload. */
void frame_put(struct buf *out, uint32_t id, uint16_t verb, struct str payload);
/* Appends all of `bytes` in as many frames as it takes; none for none. */
void frame_put_all(struct buf *out, uint32_t id, uint16_t verb, struct str bytes);
void frame_put_u32(struct buf *out, uint32_t id, uint16_t verb, uint32_t number);
