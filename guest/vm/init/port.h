/* vm/init/port.h - the control port: frames of abi/vm.h, both ways.
 *
 * What is said is gathered, and written with one call before init waits again: every
 * notice to the host costs as much as a small command.
 */
#pragma once
#include <stdint.h>

#include "abi/vm.h"

/* Opens the port with the name VM_PORT_NAME; or takes `fd`, a socket, if that is not
 * negative. `frame` is called for each frame; the payload is not checked yet. */
void port_open(int fd, void (*frame)(const struct vm_frame *f, const uint8_t *payload));

/* Sends a frame; blocks if the host is behind by more than the buffer. */
void port_say(uint32_t id, enum vm_verb verb, const void *payload, uint32_t length);
/* As port_say(), but it may wait for the next frame, or port_due(). */
void port_mention(uint32_t id, enum vm_verb verb, const void *payload, uint32_t length);
/* Room for `length` bytes of payload (at most VM_FRAME_MAX), of which the first `used`
 * are then sent: output is read directly into the buffer. */
uint8_t *port_room(uint32_t length);
void port_said(uint32_t id, enum vm_verb verb, uint32_t used);
/* Writes buffered frames, unless all of them may wait. */
void port_flush(void);
uint64_t port_due(void); /* UINT64_MAX: never */
