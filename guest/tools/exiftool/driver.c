/* What npm's perl lacks to be a command: a start. `bake` starts perl and loads exiftool's
 * modules, once; `_start` hands the call's arguments over and runs the program. Merged with
 * perl by wasm-merge, whose memory it uses: it has none of its own, and lets perl allocate. */
#include <stdint.h>

#define PERL(name) __attribute__((import_module("env"), import_name(#name)))
#define WASI(name) \
    __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

PERL(malloc) char *perl_malloc(uint32_t n);
PERL(zeroperl_init) int perl_init(void);
PERL(zeroperl_eval) int perl_eval(const char *code, int context, int argc, char **argv);
PERL(zeroperl_flush) int perl_flush(void);
WASI(args_sizes_get) int args_sizes(uint32_t *count, uint32_t *bytes);
WASI(args_get) int args_get(char **list, char *bytes);
WASI(environ_sizes_get) int environ_sizes(uint32_t *count, uint32_t *bytes);
WASI(environ_get) int environ_get(char **list, char *bytes);
WASI(proc_exit) _Noreturn void proc_exit(int code);
/* Perl may call its host, which has nothing to say. */
EXPORT(call_host_function) int call_host_function(int id, int argc, char **argv)
{
    (void)id;
    (void)argc;
    (void)argv;
    return 0;
}

/* Perl's code, written by instructions: data would lie in perl's own memory. The recipe
 * makes code.h of bake.pl's name and of the call. */
#include "code.h"

#define SCALAR 1 /* the context of an evaluation: perl's own number for it */

EXPORT(bake) void bake(void)
{
    if (perl_init() != 0 ||
        perl_eval(put_bake(perl_malloc(BAKE_SIZE)), SCALAR, 0, 0) != 0)
        __builtin_trap();
}

/* The variables' number, the variables and the arguments but the program's name. */
static char **collect(uint32_t *count)
{
    uint32_t *sizes = (uint32_t *)perl_malloc(16);
    if (args_sizes(sizes, sizes + 1) || environ_sizes(sizes + 2, sizes + 3))
        return 0;
    uint32_t args = sizes[0], vars = sizes[2];
    char **list = (char **)perl_malloc(4 * (args + vars + 2));
    char **given = (char **)perl_malloc(4 * (args + 1));
    char *digits = perl_malloc(12), *at = digits + 11;
    if (environ_get(list + 1, perl_malloc(sizes[3] + 1)) ||
        args_get(given, perl_malloc(sizes[1] + 1)))
        return 0;
    *at = 0;
    for (uint32_t n = vars; n > 0 || at == digits + 11; n /= 10)
        *--at = (char)('0' + n % 10);
    list[0] = at;
    for (uint32_t i = 1; i < args; i++)
        list[vars + i] = given[i];
    *count = vars + (args ? args : 1);
    return list;
}

EXPORT(_start) void start(void)
{
    uint32_t count = 0;
    char **list = collect(&count);
    if (!list)
        proc_exit(71);
    int code = perl_eval(put_start(perl_malloc(START_SIZE)), SCALAR, (int)count, list);
    perl_flush();
    proc_exit(code);
}
