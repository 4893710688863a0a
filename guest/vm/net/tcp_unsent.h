/* guest/vm/net/tcp_unsent.h - the order of what lwIP has yet to send. Private to net/.
 */
#pragma once
#include <lwip/tcp.h>

/* To be called before lwIP moves all that is not acknowledged to the front of what is unsent: a
 * segment that it chose to send again, and for which there was no window, is unsent already, and
 * belongs before the others. */
void unsent_merge(struct tcp_pcb *p);
/* To be called before each tcp_slowtmr(): merges when its time is up, and takes bytes that are
 * acknowledged out of what waits for a window, since lwIP would fill the window with them. */
void unsent_tick(struct tcp_pcb *p);
