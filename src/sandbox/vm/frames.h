/* vm/frames.h - reads and writes the frames of a control port (abi/vm.h). Input is
 * untrusted: it comes from a machine.
 *
 * Private to the room vm. Threads: one at a time. */
#pragma once
#include "abi/vm.h"
#include "base/base.h"

#define FRAME_HEAD sizeof(struct vm_frame)

struct frame {
    uint32_t id;
    uint16_t verb;
    struct str payload; /* valid until the next frames_next() */
};

/* Reassembles frames from pieces of any size. */
struct frames {
    struct buf part; /* an incomplete frame */
};
void frames_init(struct frames *f);
void frames_done(struct frames *f);

enum frames_found { FRAMES_ONE, FRAMES_NONE, FRAMES_BROKEN };
/* Takes the next frame off the front of `in`. FRAMES_NONE: `in` is used up; an incomplete
 * frame is kept. FRAMES_BROKEN and ERR_GUEST: malformed. */
enum frames_found frames_next(struct frames *f, struct str *in, struct frame *out,
                              struct err *e);

/* Appends a frame of at most VM_FRAME_MAX bytes of payload. */
void frame_put(struct buf *out, uint32_t id, uint16_t verb, struct str payload);
/* Appends all of `bytes` in as many frames as needed; none if it is empty. */
void frame_put_all(struct buf *out, uint32_t id, uint16_t verb, struct str bytes);
void frame_put_u32(struct buf *out, uint32_t id, uint16_t verb, uint32_t number);
