/* guest/vm/sbi.h - what a kernel asks of the level below it, there being none: the SBI.
 *
 * BASE, TIME, IPI, RFENCE, HSM, SRST and DBCN, and of the legacy calls the console's.
 * Source: RISC-V Supervisor Binary Interface Specification 2.0.
 */
#pragma once
#include "vm/hart.h"

enum sbi_end { SBI_RUNS, SBI_SHUTDOWN, SBI_REBOOT };

void sbi_init(bool there); /* without it, `ecall` traps to the kernel itself */
/* Does the call that the registers name, and puts its answer there. false: there is no SBI. */
bool sbi_call(struct hart *h);
enum sbi_end sbi_ended(void); /* has it asked for an end? hart.attention is set then */
