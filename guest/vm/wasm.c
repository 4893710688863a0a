/* The machine as a Wasm module: the exports for src/sandbox/vm.
 *
 * Linear memory is laid out as in abi/vm.h: all static data below VM_RAM_AT, RAM from
 * there on. The module's memory has room for the largest RAM from its start and never
 * grows: unused memory costs nothing. */
#include "vm/machine.h"

#define EXPORT(name) __attribute__((export_name(#name)))
#define PAGE_OF_WASM 65536u
#define MB 20

/* The functions of the C library that the machine needs besides guest/script/memory.c. */
__attribute__((no_builtin)) int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++) {
    }
    return (unsigned char)*a - (unsigned char)*b;
}

/* The end of static data. */
extern const uint8_t __heap_base;

/* Called once, by the build (cloche-bake): traps if the layout is wrong. */
EXPORT(bake) void bake(void)
{
    uint64_t needs = VM_RAM_AT + ((uint64_t)VM_RAM_MAX_MB << MB);
    if ((uintptr_t)&__heap_base > VM_RAM_AT ||
        (uint64_t)__builtin_wasm_memory_size(0) * PAGE_OF_WASM < needs)
        __builtin_trap();
}

/* The kernel's command line, set by the host, at most MACHINE_ARGUMENTS_MAX bytes with
 * its NUL. */
static char arguments[MACHINE_ARGUMENTS_MAX];

EXPORT(vm_arguments) char *vm_arguments(void)
{
    return arguments;
}

EXPORT(vm_init) void vm_init(uint32_t ram_mb)
{
    machine_init((uint8_t *)VM_RAM_AT, (uint64_t)ram_mb << MB);
}

EXPORT(vm_disk) void vm_disk(uint32_t n, uint64_t bytes, uint32_t read_only)
{
    machine_disk(n, bytes, read_only);
}

EXPORT(vm_count_time) void vm_count_time(void)
{
    machine_count_time();
}

/* The Image is in RAM already. 0: see vm_reason(). */
EXPORT(vm_boot) uint32_t vm_boot(uint64_t bytes)
{
    return machine_boot(bytes, arguments);
}

EXPORT(vm_start) void vm_start(uint64_t entry)
{
    machine_start(entry);
}

EXPORT(vm_run) uint32_t vm_run(uint64_t limit)
{
    return machine_run(limit);
}

EXPORT(vm_wake_ns) uint64_t vm_wake_ns(void)
{
    return machine_wake_ns();
}

EXPORT(vm_reason) const char *vm_reason(void)
{
    return machine_reason();
}

EXPORT(vm_resume) void vm_resume(void)
{
    machine_resume();
}

EXPORT(vm_forget) void vm_forget(void)
{
    machine_forget();
}

EXPORT(vm_retired) uint64_t vm_retired(void)
{
    return machine_retired();
}

EXPORT(vm_resize) void vm_resize(uint32_t rows, uint32_t columns)
{
    machine_resize((uint16_t)rows, (uint16_t)columns);
}

EXPORT(vm_balloon) void vm_balloon(uint32_t mb)
{
    machine_balloon(mb);
}

/* `ways`: enum lan_ways. `mac`: six bytes, the first one lowest. */
EXPORT(vm_network) void vm_network(uint32_t ways, uint64_t mac)
{
    uint8_t bytes[6];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(mac >> 8 * i);
    machine_network(ways, bytes);
}
