/* Control and status registers. */
#include "vm/csr.h"
#include "vm/clock.h"

#define SSTATUS_WRITABLE \
    (SSTATUS_SIE | SSTATUS_SPIE | SSTATUS_SPP | SSTATUS_FS | SSTATUS_SUM | SSTATUS_MXR)
#define INTERRUPTS (INT_SOFTWARE | INT_TIMER | INT_EXTERNAL)
#define SATP_SV39 (8ull << 60)
#define SATP_PPN ((1ull << 44) - 1)

static bool fp_is_on(const struct hart *h)
{
    return h->sstatus & SSTATUS_FS;
}

static bool counter_is_open(const struct hart *h, uint32_t number)
{
    return h->privilege == SUPERVISOR || h->scounteren >> (number - CSR_CYCLE) & 1;
}

bool csr_may(const struct hart *h, uint32_t number, bool writes)
{
    bool read_only = number >> 10 == 3, of_supervisor = (number >> 8 & 3) == 1;
    bool higher = (number >> 8 & 3) > 1;
    return !higher && !(writes && read_only) && !(of_supervisor && h->privilege == USER);
}

bool csr_read(struct hart *h, uint32_t number, uint64_t *out)
{
    switch (number) {
    case CSR_FFLAGS:
        *out = h->fflags;
        return fp_is_on(h);
    case CSR_FRM:
        *out = h->frm;
        return fp_is_on(h);
    case CSR_FCSR:
        *out = h->frm << 5 | h->fflags;
        return fp_is_on(h);
    case CSR_SSTATUS:
        *out = h->sstatus | 2ull << 32 |
               ((h->sstatus & SSTATUS_FS) == SSTATUS_FS ? SSTATUS_SD : 0);
        return true;
    case CSR_SIE:
        *out = h->sie;
        return true;
    case CSR_STVEC:
        *out = h->stvec;
        return true;
    case CSR_SCOUNTEREN:
        *out = h->scounteren;
        return true;
    case CSR_SENVCFG:
        *out = h->senvcfg;
        return true;
    case CSR_SSCRATCH:
        *out = h->sscratch;
        return true;
    case CSR_SEPC:
        *out = h->sepc;
        return true;
    case CSR_SCAUSE:
        *out = h->scause;
        return true;
    case CSR_STVAL:
        *out = h->stval;
        return true;
    case CSR_SIP:
        *out = h->sip;
        return true;
    case CSR_STIMECMP:
        *out = h->stimecmp;
        return true;
    case CSR_SATP:
        *out = h->satp;
        return true;
    case CSR_TIME:
        *out = clock_time();
        return counter_is_open(h, number);
    case CSR_CYCLE:
    case CSR_INSTRET:
        *out = h->retired;
        return counter_is_open(h, number);
    default:
        return false;
    }
}

static void write_satp(struct hart *h, uint64_t value)
{
    uint64_t mode = value & 15ull << 60;
    if (mode && mode != SATP_SV39)
        return; /* an unsupported mode changes nothing */
    h->satp = mode | (value & SATP_PPN);
    tlb_flush(h);
}

static void write_sstatus(struct hart *h, uint64_t value)
{
    uint64_t old = h->sstatus;
    h->sstatus = (old & ~SSTATUS_WRITABLE) | (value & SSTATUS_WRITABLE);
    if ((old ^ h->sstatus) & SSTATUS_MXR)
        tlb_flush(h);
}

bool csr_write(struct hart *h, uint32_t number, uint64_t value, bool *moved)
{
    switch (number) {
    case CSR_FFLAGS:
        h->fflags = value & 31;
        break;
    case CSR_FRM:
        h->frm = value & 7;
        break;
    case CSR_FCSR:
        h->fflags = value & 31;
        h->frm = value >> 5 & 7;
        break;
    case CSR_SSTATUS:
        write_sstatus(h, value);
        *moved = true;
        return true;
    case CSR_SIE:
        h->sie = value & INTERRUPTS;
        return true;
    case CSR_STVEC:
        if ((value & 3) < 2)
            h->stvec = value;
        return true;
    case CSR_SCOUNTEREN:
        h->scounteren = value & 7;
        return true;
    case CSR_SENVCFG:
        h->senvcfg = value & 1; /* FIOM */
        return true;
    case CSR_SSCRATCH:
        h->sscratch = value;
        return true;
    case CSR_SEPC:
        h->sepc = value & ~1ull;
        return true;
    case CSR_SCAUSE:
        h->scause = value;
        return true;
    case CSR_STVAL:
        h->stval = value;
        return true;
    case CSR_SIP:
        h->sip = (h->sip & ~(uint64_t)INT_SOFTWARE) | (value & INT_SOFTWARE);
        return true;
    case CSR_STIMECMP:
        h->stimecmp = value;
        clock_check(h);
        return true;
    case CSR_SATP:
        write_satp(h, value);
        *moved = true;
        return true;
    default:
        return false;
    }
    if (!fp_is_on(h))
        return false;
    h->sstatus |= SSTATUS_FS;
    return true;
}
