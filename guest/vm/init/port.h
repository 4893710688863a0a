/* vm/init/port.h - the control port: frames of abi/vm.h, both ways.
 *
 * What is said is gathered, and written with one call before init waits again: every
 * notice to the host costs as much as a small command.
 */
#pragma once
#include <stdint.h>

#include "abi/vm.h"

/* Opens the port that the machine has under the name VM_PORT_NAME; or takes `fd`, a
 * socket, if that is not negative. `frame` is called for each one, which was checked but
 * for what its verb asks. */
void port_open(int fd, void (*frame)(const struct vm_frame *f, const uint8_t *payload));

/* Waits where the host is behind by more than is kept. */
void port_say(uint32_t id, enum vm_verb verb, const void *payload, uint32_t length);
/* As port_say(), but for what may wait until something else is said, or port_due(). */
void port_mention(uint32_t id, enum vm_verb verb, const void *payload, uint32_t length);
/* Room for `length` bytes of payload (at most VM_FRAME_MAX), of which the first `used` are
 * then said: output is read to where it is written from. */
uint8_t *port_room(uint32_t length);
void port_said(uint32_t id, enum vm_verb verb, uint32_t used);
/* Writes what was said, if that is more than mentions, or those are due. */
void port_flush(void);
uint64_t port_due(void); /* UINT64_MAX: nothing is */
