/* The device tree as a flat blob: header, a list of no reserved memory, structure, strings.
 * Source: Devicetree Specification 0.4, section 5, and Linux's bindings. */
#include "vm/fdt.h"
#include "vm/clock.h"
#include "vm/generation.h"
#include "vm/host.h"
#include "vm/plic.h"
#include "vm/ram.h"
#include "vm/uart.h"
#include "vm/virtio.h"

enum { BEGIN = 1, END = 2, PROPERTY = 3, LAST = 9 };
#define MAGIC 0xd00dfeedu
#define HEADER 40u
#define RESERVED 16u /* one empty entry */
#define STRUCTURE (HEADER + RESERVED)
#define NAMES_MAX 1024u

enum { PHANDLE_HART = 1, PHANDLE_PLIC = 2 };

/* The structure is built in place, the names of properties apart. Only the arguments have
 * no fixed size; MACHINE_ARGUMENTS_MAX bounds them, so there is room. */
static struct {
    uint8_t *at;
    uint32_t n;
    char names[NAMES_MAX];
    uint32_t names_n;
} tree;

static void put32(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)(v >> 24);
    at[1] = (uint8_t)(v >> 16);
    at[2] = (uint8_t)(v >> 8);
    at[3] = (uint8_t)v;
}

static void add(const void *bytes, uint32_t n)
{
    uint32_t padded = (n + 3) & ~3u;
    if (padded > FDT_MAX - NAMES_MAX - STRUCTURE - tree.n)
        return;
    __builtin_memset(tree.at + tree.n, 0, padded);
    __builtin_memcpy(tree.at + tree.n, bytes, n);
    tree.n += padded;
}

static void add32(uint32_t v)
{
    uint8_t at[4];
    put32(at, v);
    add(at, 4);
}

static uint32_t length(const char *s)
{
    return (uint32_t)__builtin_strlen(s);
}

/* The offset of the name in the string block, added if it is new. */
static uint32_t name_at(const char *name)
{
    uint32_t n = length(name) + 1;
    for (uint32_t i = 0; i < tree.names_n; i += length(tree.names + i) + 1)
        if (__builtin_strcmp(tree.names + i, name) == 0)
            return i;
    if (n > NAMES_MAX - tree.names_n)
        return 0;
    __builtin_memcpy(tree.names + tree.names_n, name, n);
    tree.names_n += n;
    return tree.names_n - n;
}

static void begin(const char *name)
{
    add32(BEGIN);
    add(name, length(name) + 1);
}

/* A node with its address in its name. */
static void begin_at(const char *name, uint64_t address)
{
    char text[40];
    uint32_t n = length(name);
    __builtin_memcpy(text, name, n);
    text[n++] = '@';
    uint32_t digits = 1;
    while (digits < 16 && address >> 4 * digits)
        digits++;
    while (digits--)
        text[n++] = "0123456789abcdef"[address >> 4 * digits & 15];
    text[n] = 0;
    begin(text);
}

static void end(void)
{
    add32(END);
}

static void property(const char *name, const void *value, uint32_t n)
{
    add32(PROPERTY);
    add32(n);
    add32(name_at(name));
    add(value, n);
}

static void flag(const char *name)
{
    property(name, "", 0);
}

static void text(const char *name, const char *value)
{
    property(name, value, length(value) + 1);
}

static void number(const char *name, uint32_t value)
{
    uint8_t at[4];
    put32(at, value);
    property(name, at, 4);
}

static void numbers(const char *name, uint32_t a, uint32_t b)
{
    uint8_t at[8];
    put32(at, a);
    put32(at + 4, b);
    property(name, at, 8);
}

static void range(uint64_t base, uint64_t size)
{
    uint8_t at[16];
    put32(at, (uint32_t)(base >> 32));
    put32(at + 4, (uint32_t)base);
    put32(at + 8, (uint32_t)(size >> 32));
    put32(at + 12, (uint32_t)size);
    property("reg", at, sizeof at);
}

static void cells(uint32_t address, uint32_t size)
{
    number("#address-cells", address);
    number("#size-cells", size);
}

/* The hart's extensions in both forms, for kernels before and after 6.6. */
static void add_hart(void)
{
    static const char extensions[] = "i\0m\0a\0f\0d\0c\0zicntr\0zicsr\0zifencei\0sstc";
    begin("cpus");
    cells(1, 0);
    number("timebase-frequency", CLOCK_HZ);
    begin("cpu@0");
    text("device_type", "cpu");
    number("reg", 0);
    text("status", "okay");
    text("compatible", "riscv");
    text("riscv,isa", "rv64imafdc_zicntr_zicsr_zifencei_sstc");
    text("riscv,isa-base", "rv64i");
    property("riscv,isa-extensions", extensions, sizeof extensions);
    text("mmu-type", "riscv,sv39");
    begin("interrupt-controller");
    number("#interrupt-cells", 1);
    flag("interrupt-controller");
    text("compatible", "riscv,cpu-intc");
    number("phandle", PHANDLE_HART);
    end();
    end();
    end();
}

static void add_plic(void)
{
    static const char compatible[] = "sifive,plic-1.0.0\0riscv,plic0";
    begin_at("interrupt-controller", PLIC_BASE);
    property("compatible", compatible, sizeof compatible);
    range(PLIC_BASE, PLIC_SIZE);
    number("#address-cells", 0);
    number("#interrupt-cells", 1);
    flag("interrupt-controller");
    numbers("interrupts-extended", PHANDLE_HART, 9);
    number("riscv,ndev", PLIC_LINES);
    number("phandle", PHANDLE_PLIC);
    end();
}

static void begin_device(const char *name, const char *compatible, uint64_t base,
                         uint64_t size, uint32_t line)
{
    begin_at(name, base);
    text("compatible", compatible);
    range(base, size);
    number("interrupt-parent", PHANDLE_PLIC);
    number("interrupts", line);
}

static void add_devices(const struct fdt *f)
{
    begin("soc");
    cells(2, 2);
    text("compatible", "simple-bus");
    flag("ranges");
    add_plic();
    begin_device("serial", "ns16550a", UART_BASE, UART_SIZE, UART_LINE);
    number("clock-frequency", UART_HZ);
    end();
    for (uint32_t i = 0; i < 32; i++)
        if (f->virtio >> i & 1) {
            begin_device("virtio_mmio", "virtio,mmio", VIRTIO_BASE + i * VIRTIO_SIZE,
                         VIRTIO_SIZE, VIRTIO_LINE + i);
            end();
        }
    begin_device("generation", "microsoft,vmgenid", GENERATION_BASE, GENERATION_SIZE,
                 GENERATION_LINE);
    end();
    end();
}

static void add_chosen(const struct fdt *f)
{
    uint8_t seed[64];
    host_entropy(seed, sizeof seed);
    begin("chosen");
    text("bootargs", f->arguments);
    text("stdout-path", "/soc/serial@10000000");
    property("rng-seed", seed, sizeof seed);
    end();
}

static void write_header(uint8_t *at)
{
    uint32_t strings = STRUCTURE + tree.n, total = strings + tree.names_n;
    const uint32_t words[] = {MAGIC, total, STRUCTURE, strings,      HEADER,
                              17,    16,    0,         tree.names_n, tree.n};
    __builtin_memset(at, 0, STRUCTURE);
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
        put32(at + 4 * i, words[i]);
    __builtin_memcpy(at + strings, tree.names, tree.names_n);
}

uint32_t fdt_write(const struct fdt *f, uint8_t *at)
{
    tree.at = at + STRUCTURE;
    tree.n = tree.names_n = 0;
    begin("");
    cells(2, 2);
    text("compatible", "riscv-virtio");
    text("model", "Cloche");
    add_chosen(f);
    begin_at("memory", RAM_BASE);
    text("device_type", "memory");
    range(RAM_BASE, f->ram_bytes);
    end();
    add_hart();
    add_devices(f);
    end();
    add32(LAST);
    write_header(at);
    return STRUCTURE + tree.n + tree.names_n;
}
