/* guest/vm/net/tcp_window.h - how much the machine may send on a connection before the host has
 * taken it. Private to net/.
 *
 * Each connection has a first window, for which there is always memory. It grows while the host
 * takes what comes, up to its part of what all may have beyond their first. What comes is held to
 * the memory that it takes up, too: short segments take up much more than their bytes.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include <lwip/priv/tcp_priv.h>

#define WINDOW_FIRST 7300u /* bytes: five segments */

struct window {
    uint32_t size;  /* bytes that may be under way, or wait for the host */
    uint32_t taken; /* by the host, since it has grown */
    uint32_t held;  /* bytes of memory that wait for the host */
};

/* The machine's SYN was taken. */
void window_begin(struct window *w, struct tcp_pcb *p);
void window_end(struct window *w); /* zeros are fine */
/* Is there memory for a segment of n bytes of data at `seq`? */
bool window_has_room(const struct window *w, const struct tcp_pcb *p, uint32_t seq,
                     uint32_t n);
/* The host has taken n bytes. */
void window_taken(struct window *w, struct tcp_pcb *p, uint32_t n);
/* Tells the machine of its window, when that is worth it. */
void window_tell(const struct window *w, struct tcp_pcb *p);
