/* guest/vm/csr.h - numbers and bits of control and status registers. */
#pragma once
#include "vm/hart.h"

enum csr_number {
    CSR_FFLAGS = 0x001,
    CSR_FRM = 0x002,
    CSR_FCSR = 0x003,
    CSR_SSTATUS = 0x100,
    CSR_SIE = 0x104,
    CSR_STVEC = 0x105,
    CSR_SCOUNTEREN = 0x106,
    CSR_SENVCFG = 0x10a,
    CSR_SSCRATCH = 0x140,
    CSR_SEPC = 0x141,
    CSR_SCAUSE = 0x142,
    CSR_STVAL = 0x143,
    CSR_SIP = 0x144,
    CSR_STIMECMP = 0x14d,
    CSR_SATP = 0x180,
    CSR_CYCLE = 0xc00,
    CSR_TIME = 0xc01,
    CSR_INSTRET = 0xc02,
};

#define SSTATUS_SIE (1ull << 1)
#define SSTATUS_SPIE (1ull << 5)
#define SSTATUS_SPP (1ull << 8)
#define SSTATUS_FS (3ull << 13) /* 3: dirty */
#define SSTATUS_SUM (1ull << 18)
#define SSTATUS_MXR (1ull << 19)
#define SSTATUS_UXL (3ull << 32) /* read-only: 2, 64 bits */
#define SSTATUS_SD (1ull << 63)  /* read-only: FS is dirty */
