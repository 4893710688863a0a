/* guest/vm/decode.h - decodes instructions into slots. */
#pragma once
#include "vm/ops.h"

/* `bits` has the instruction's two bytes, or four where its lowest two bits are ones.
 * Unsupported instructions become OP_illegal. */
struct slot vm_decode(uint32_t bits);
