/* guest/vm/net/card.h - between the network card (net.c) and what its cable leads to (lan.c).
 *
 * A frame is Ethernet, without a checksum of its own. The sum of TCP or UDP may be left open
 * in both directions, so that nobody reads the bytes for it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The longest frame: 64 KiB of IP, and Ethernet's header. */
#define CARD_FRAME_MAX (14u + 65535u)
#define CARD_MTU 1500u /* of a frame's IP packet, but where it is cut up */

struct piece {
    const void *at;
    uint32_t n;
};

/* What the machine is to receive. */
struct card_frame {
    uint8_t *head; /* headers, up to the one whose sum is open, as a whole; written to */
    uint32_t head_n;
    const struct piece *body; /* what follows */
    uint32_t body_count;
    /* Where the sum is left open it has that of the pseudo header in it. 0: it is not open. */
    uint16_t sum_from,
        sum_at; /* in the frame: first byte that is summed, place of the sum */
    uint16_t
        segment; /* bytes of TCP in each frame that this one stands for; 0: it is one */
    bool v6;
};
/* false: there is no room now, and lan_room() will be called; nothing of it was sent. */
bool card_send(const struct card_frame *f);
/* Is there room for a frame of n bytes? */
bool card_has_room(uint32_t n);
/* Does the driver take frames that stand for several? */
bool card_takes_segments(bool v6);

/* lan.c: the machine has sent a frame, whose sum of TCP or UDP is open or not. Its bytes may be
 * changed. */
void lan_input(uint8_t *frame, uint32_t n, bool sum_is_open);
void lan_room(void);
/* At the beginning of each machine_run(). */
void lan_poll(void);
