/* guest/vm/sbi.h - the supervisor binary interface, which replaces machine mode.
 *
 * BASE, TIME, IPI, RFENCE, HSM, SRST and DBCN, and of the legacy calls the console's.
 *
 * Source: RISC-V Supervisor Binary Interface Specification 2.0. */
#pragma once
#include "vm/hart.h"

enum sbi_end { SBI_RUNS, SBI_SHUTDOWN, SBI_REBOOT };

void sbi_init(bool there); /* without it `ecall` traps to the supervisor itself */
/* Performs the call in the registers, and sets its result there. false: there is no
 * SBI. */
bool sbi_call(struct hart *h);
enum sbi_end sbi_ended(void); /* the requested end, with hart.attention set; or none */
