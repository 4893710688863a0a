/* Loads a library, and leads its stubs to it. The stubs are written by dev/lazy: nobody
 * else calls lazy_find(). Linked as usual, these libraries and the twenty behind them cost
 * every start of the program 4 ms, though most commands need few of them. */
#include "lazy/lazy.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* As dev/lazy lays it out. */
struct lazy_library {
    const char *paths;  /* for dlopen(), one behind the other, then an empty one */
    const char *names;  /* of its functions, one behind the other */
    void **table, *end; /* whole pages: the library's handle, then its functions */
    size_t count;       /* of functions */
};

/* All, then NULL. Weak: where the libraries are linked, there is no such list. */
extern const struct lazy_library *const lazy_libraries[] __attribute__((weak));

/* The address of the library's function of that number, from 0 on. */
void *lazy_find(const struct lazy_library *l, size_t function);

static void *open_first(const char *paths)
{
    void *library = NULL;
    for (const char *path = paths; *path && !library; path += strlen(path) + 1)
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* The functions are found before any is set: other threads may be calling already. */
static bool library_load(const struct lazy_library *l, struct err *e)
{
    void *library = open_first(l->paths);
    scoped(free) void **found = mem_new((l->count + 1) * sizeof *found);
    const char *name = l->names;
    bool ok = library != NULL;
    for (size_t i = 0; ok && i < l->count; i++, name += strlen(name) + 1)
        ok = (found[i] = dlsym(library, name)) != NULL;
    if (!ok)
        return err_set(e, ERR_IO, "a library that is needed cannot be loaded: %.300s",
                       dlerror());
    for (size_t i = 0; i < l->count; i++)
        __atomic_store_n(&l->table[i + 1], found[i], __ATOMIC_RELEASE);
    l->table[0] = library;
    (void)mprotect(l->table, (size_t)((char *)l->end - (char *)l->table), PROT_READ);
    return true;
}

static bool library_need(const struct lazy_library *l, struct err *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool ok = l->table[0] || library_load(l, e);
    pthread_mutex_unlock(&lock);
    return ok;
}

/* A caller of the function cannot handle the failure, as with the loader that found
 * a library missing before the program began. */
void *lazy_find(const struct lazy_library *l, size_t function)
{
    struct err e = {0};
    if (library_need(l, &e))
        return l->table[function + 1];
    fprintf(stderr, "cloche: %s\n", e.msg);
    _exit(1);
}

bool lazy_load_all(struct err *e)
{
    for (size_t i = 0; lazy_libraries && lazy_libraries[i]; i++)
        if (!library_need(lazy_libraries[i], e))
            return false;
    return true;
}
