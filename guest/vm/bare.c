/* Runs bare programs in slices and checks for their end between these. */
#include "vm/bare.h"
#include "vm/clock.h"
#include "vm/csr.h"
#include "vm/decode.h"
#include "vm/device.h"
#include "vm/elf.h"
#include "vm/ram.h"
#include "vm/sbi.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Between two looks at `tohost`: short, since a program may run wild after writing it. */
#define SLICE 1000u
#define STILL_MAX 100u /* slices of nothing but failing fetches */

static int unfit(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s; nothing was run\n", path, why);
    return BARE_UNFIT;
}

uint8_t *bare_read(const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stat st;
    uint8_t *at = NULL;
    if (fstat(fd, &st) == 0) {
        *n = (size_t)st.st_size;
        at = malloc(*n + 1);
    }
    for (size_t got = 0; at && got < *n;) {
        ssize_t r = read(fd, at + got, *n - got);
        if (r <= 0) {
            free(at);
            at = NULL;
            break;
        }
        got += (size_t)r;
    }
    close(fd);
    return at;
}

/* Prints the instruction at pc. */
static void trace(const struct hart *h)
{
    static const char *const names[] = {
#define VM_OP_NAME(name, format) #name,
        VM_OPS(VM_OP_NAME)
#undef VM_OP_NAME
    };
    /* Only while addresses are not translated: otherwise pc is no RAM address. */
    const uint8_t *at = ram_at(h->pc, 2);
    if (!at || h->satp) {
        fprintf(stderr, "%016" PRIx64 "\n", h->pc);
        return;
    }
    uint32_t bits = at[0] | (uint32_t)at[1] << 8;
    const uint8_t *rest = (bits & 3) == 3 ? ram_at(h->pc + 2, 2) : NULL;
    if (rest)
        bits |= (uint32_t)(rest[0] | rest[1] << 8) << 16;
    struct slot s = vm_decode(bits);
    fprintf(stderr, "%016" PRIx64 " %08" PRIx32 " %s %u, %u, %" PRId32 "\n", h->pc, bits,
            names[s.op], s.rd / REGISTER(1), s.rs1 / REGISTER(1), s.imm);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* As architecture tests want it: 8 hexadecimal digits a line. */
static bool write_signature(const char *path, const struct program *p)
{
    FILE *f = fopen(path, "we");
    if (!f)
        return false;
    uint64_t n = (p->signature_end - p->signature) / 4;
    const uint32_t *words = n ? (const void *)ram_at(p->signature, n * 4) : NULL;
    for (uint64_t i = 0; i < n; i++)
        fprintf(f, "%08" PRIx32 "\n", words[i]);
    bool ok = !ferror(f);
    return fclose(f) == 0 && ok;
}

/* Runs until *tohost is not 0. NULL, or why it gave up. */
static const char *run(const struct bare *b, const volatile uint64_t *tohost)
{
    uint64_t most = b->most ? b->most : UINT64_MAX;
    unsigned still = 0;
    while (!*tohost) {
        uint64_t before = the_hart.retired;
        if (before >= most)
            return "it was stopped";
        if (the_hart.waiting)
            return "it waits for an interrupt, of which there are none";
        if (still == STILL_MAX)
            return "there is no code for its trap handler";
        if (b->trace) {
            trace(&the_hart);
            hart_step(&the_hart);
        } else
            hart_run(&the_hart, most - before < SLICE ? most - before : SLICE);
        still = the_hart.retired == before ? still + 1 : 0;
    }
    return NULL;
}

int bare_run(const struct bare *b)
{
    size_t n = 0;
    uint8_t *file = bare_read(b->path, &n);
    if (!file)
        return unfit(b->path, "cannot be read");
    uint8_t *ram = mmap(NULL, b->ram_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ram == MAP_FAILED) {
        free(file);
        return unfit(b->path, "there is not enough memory for the machine's RAM");
    }
    ram_init(&the_hart, ram, b->ram_bytes);
    devices_init();
    sbi_init(false);
    clock_init(&the_hart);
    struct program p;
    const char *wrong = elf_load(file, n, &p);
    free(file);
    if (wrong)
        return unfit(b->path, wrong);

    hart_reset(&the_hart, p.entry);
    the_hart.sstatus |= SSTATUS_FS;
    double start = seconds();
    const volatile uint64_t *tohost = (const void *)ram_at(p.tohost, 8);
    const char *given_up = run(b, tohost);
    double took = seconds() - start;
    if (b->speed)
        fprintf(stderr, "%" PRIu64 " instructions, %.0f MIPS\n", the_hart.retired,
                (double)the_hart.retired / took / 1e6);
    if (given_up) {
        fprintf(stderr,
                "%s: has not written `tohost` after %" PRIu64
                " instructions; %s, at 0x%" PRIx64 "\n",
                b->path, the_hart.retired, given_up, the_hart.pc);
        return BARE_NO_END;
    }
    if (b->signature && !write_signature(b->signature, &p)) {
        fprintf(stderr, "%s: cannot be written: %m; the program ran\n", b->signature);
        return BARE_UNFIT;
    }
    uint64_t value = *tohost >> 1;
    return value > 255 ? 255 : (int)value;
}
