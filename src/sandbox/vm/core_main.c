/* cloche-vm-core <PROGRAM: the emulator as it ships, in Wasm, with a bare program: for tests and
 * benches of the processor, which compare it with the same sources in build/vm-native.
 *
 * PROGRAM: five words of 64 bits (entry, address of tohost, begin and end of the signature,
 * number of pieces), then the pieces: address, bytes, and the bytes themselves. It starts as
 * with vm-native's --bare, but for x5, and for the SBI and devices being there. Writes the
 * signature to standard output and "computed N ns" to standard error. Never shipped. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "os/os.h"
#include "vm/computer.h"

#define RAM_AT 0x80000000u
#define RAM_MB 256u
#define SLICE 200000u
#define SLICES_MAX 50000u /* ten thousand million instructions */

static struct module *open_emulator(struct engine *g, struct err *e)
{
    scoped_fd int guest = open("build/guest", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct str wasm = {0}, image = {0};
    struct module *m = NULL;
    if (guest < 0)
        err_set(e, ERR_NOT_FOUND,
                "build/guest is not there: run it where the Makefile is");
    if (guest >= 0 && os_map_file(guest, "vm.bare.wasm", &wasm, e) &&
        os_map_file(guest, "vm.img", &image, e)) {
        struct module_source s = {.wasm = wasm, .image = image};
        s.imports = computer_imports(&s.import_count);
        m = module_open(g, ENGINE_OWN, &s, e);
    }
    os_unmap(&wasm);
    os_unmap(&image);
    return m;
}

/* A program file under way, and the RAM it goes to. */
struct loading {
    struct str rest;
    char *ram;
};

static uint64_t next_word(struct loading *l)
{
    uint64_t v = 0;
    if (l->rest.n >= sizeof v) {
        memcpy(&v, l->rest.at, sizeof v);
        l->rest.at += sizeof v;
        l->rest.n -= sizeof v;
    }
    return v;
}

/* `n` bytes at a guest's address; NULL: not all of them are RAM. */
static char *at(const struct loading *l, uint64_t address, uint64_t n)
{
    uint64_t offset = address - RAM_AT, all = (uint64_t)RAM_MB << 20;
    return offset <= all && n <= all - offset ? l->ram + offset : NULL;
}

static bool load_piece(struct loading *l, struct err *e)
{
    uint64_t address = next_word(l), n = next_word(l);
    char *to = at(l, address, n);
    if (!to || n > l->rest.n)
        return err_set(e, ERR_INVALID,
                       "a piece of the program is not whole, or not in RAM");
    memcpy(to, l->rest.at, n);
    l->rest.at += n;
    l->rest.n -= n;
    return true;
}

/* li t0, FS of sstatus; csrs sstatus, t0; then t0 = entry, and a jump there: 7 words. */
static void write_stub(char *to, uint64_t entry)
{
    uint32_t high = (uint32_t)(entry + 0x800) & 0xfffff000u;
    uint32_t low = (uint32_t)entry << 20;
    const uint32_t stub[] = {
        0x000062b7,    /* lui t0, 6 */
        0x1002a073,    /* csrs sstatus, t0 */
        high | 0x2b7,  /* lui t0, high */
        low | 0x2829b, /* addiw t0, t0, low */
        0x02029293,    /* slli t0, t0, 32 */
        0x0202d293,    /* srli t0, t0, 32 */
        0x00028067,    /* jr t0 */
    };
    memcpy(to, stub, sizeof stub);
}

static bool core_run(struct computer *c, struct str program, struct err *e)
{
    if (!computer_start(c, RAM_MB, STR(""), e))
        return false;
    struct loading l = {program, (char *)(uintptr_t)computer_memory(c).at + VM_RAM_AT};
    uint64_t entry = next_word(&l), tohost = next_word(&l), begin = next_word(&l);
    uint64_t end = next_word(&l), pieces = next_word(&l), wake;
    const char *flag = at(&l, tohost, 8), *signature = at(&l, begin, end - begin);
    if (!flag || !signature || !at(&l, entry, 4))
        return err_set(e, ERR_INVALID, "the program's places are not in RAM");
    write_stub(l.ram, entry);
    for (uint64_t k = 0; k < pieces; k++)
        if (!load_piece(&l, e))
            return false;
    for (unsigned k = 0; memcmp(flag, "\0\0\0\0\0\0\0", 8) == 0; k++) {
        if (k == SLICES_MAX)
            return err_set(e, ERR_LIMIT, "the program has not ended");
        if (!computer_run(c, SLICE, &wake, e))
            return false;
    }
    fprintf(stderr, "computed %" PRIu64 " ns\n", computer_usage(c).cpu_ns);
    return fwrite(signature, 1, end - begin, stdout) == end - begin &&
           fflush(stdout) == 0;
}

static bool program_read(struct buf *program, struct err *e)
{
    char piece[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, piece, sizeof piece)) > 0)
        if (!buf_put(program, piece, (size_t)n))
            return err_set(e, ERR_LIMIT, "the program has more than %u MB", RAM_MB);
    return n == 0 || err_set(e, ERR_IO, "cannot read the program: %m");
}

static void *core_thread_main(void *unused)
{
    (void)unused;
    static struct err e;
    struct buf program;
    buf_init(&program, (size_t)RAM_MB << 20);
    scoped(engine_close) struct engine *g =
        engine_open(&(struct engine_options){.ahead = "build/guest/ahead"}, &e);
    scoped(module_close) struct module *m = g ? open_emulator(g, &e) : NULL;
    scoped(computer_close) struct computer *c =
        m ? computer_open(&(struct computer_options){.module = m}, &e) : NULL;
    if (c && program_read(&program, &e) && !core_run(c, buf_view(&program), &e) &&
        !e.code)
        err_set(&e, ERR_IO, "cannot write the signature");
    buf_done(&program);
    return e.code ? e.msg : NULL;
}

int main(int argc, char **argv)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *wrong = NULL;
    (void)argv;
    if (argc != 1) {
        fprintf(stderr, "usage: cloche-vm-core <PROGRAM\n");
        return 2;
    }
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, ENGINE_THREAD_STACK);
    must(pthread_create(&thread, &attr, core_thread_main, NULL) == 0);
    pthread_join(thread, &wrong);
    pthread_attr_destroy(&attr);
    if (wrong)
        fprintf(stderr, "cloche-vm-core: %s\n", (const char *)wrong);
    return wrong != NULL;
}
