/* guest/vm/decode.h - instructions as they stand in memory, made into slots. */
#pragma once
#include "vm/ops.h"

/* `bits` holds the instruction's two bytes, or four where its lowest two bits are ones.
 * What is no instruction of ours becomes OP_illegal. */
struct slot vm_decode(uint32_t bits);
