/* The memory that worlds begin with, made so that a small one writes few of its pages: each page
 * that a world writes is put back afterwards, which costs more than what was done on it.
 *
 * - All objects are immortal (PEP 683): nobody counts references to them.
 * - Instructions that could not be specialised when they were run are not counted down to the
 *   next try (python/make has the other half of it). All others still are.
 * - What is free between objects is taken, so that new ones lie side by side behind them.
 */
#define Py_BUILD_CORE
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "internal/pycore_backoff.h"
#include "internal/pycore_code.h"
#include "internal/pycore_obmalloc.h"
#include "internal/pycore_opcode_metadata.h"
#include "internal/pycore_typeobject.h"
#include "python/settle.h"
#include "script/heap.h"

/* ---- objects that stay ---------------------------------------------------------- */

struct walk {
    uint8_t *seen; /* a bit for each 8 bytes of memory */
    size_t seen_size;
    PyObject **todo;
    size_t n, capacity;
};

static bool first_time(struct walk *w, const void *at)
{
    size_t i = (uintptr_t)at / 8;
    uint8_t bit = (uint8_t)(1u << i % 8);
    if (i / 8 >= w->seen_size || (w->seen[i / 8] & bit))
        return false;
    w->seen[i / 8] |= bit;
    return true;
}

static int keep(PyObject *o, void *arg)
{
    struct walk *w = arg;
    if (!o || !first_time(w, o))
        return 0;
    if (w->n == w->capacity) {
        w->capacity = w->capacity ? w->capacity * 2 : 65536;
        w->todo = realloc(w->todo, w->capacity * sizeof *w->todo);
        if (!w->todo)
            __builtin_trap();
    }
    w->todo[w->n++] = o;
    return 0;
}

static int keep_tracked(PyObject *o, void *arg)
{
    keep(o, arg);
    return 1;
}

static bool is_counted(uint8_t opcode)
{
    return _PyOpcode_Caches[opcode] > 0 && opcode != JUMP_BACKWARD &&
           opcode != POP_JUMP_IF_TRUE && opcode != POP_JUMP_IF_FALSE &&
           opcode != POP_JUMP_IF_NONE && opcode != POP_JUMP_IF_NOT_NONE;
}

static void stop_counting(PyCodeObject *code)
{
    _Py_CODEUNIT *at = _PyCode_CODE(code);
    for (Py_ssize_t i = 0; i < Py_SIZE(code); i++) {
        uint8_t opcode = at[i].op.code, base = _PyOpcode_Deopt[opcode];
        if (opcode == base && is_counted(base) &&
            at[i + 1].counter.backoff > ADAPTIVE_WARMUP_BACKOFF)
            at[i + 1].cache = UNREACHABLE_BACKOFF;
        i += _PyOpcode_Caches[base];
    }
}

static void keep_code(PyCodeObject *code, struct walk *w)
{
    PyObject *const parts[] = {code->co_consts,
                               code->co_names,
                               code->co_exceptiontable,
                               code->co_localsplusnames,
                               code->co_localspluskinds,
                               code->co_filename,
                               code->co_name,
                               code->co_qualname,
                               code->co_linetable};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        keep(parts[i], w);
    stop_counting(code);
}

/* Of all types, those of CPython's own data, which collectors do not know, included. */
static void keep_type(PyTypeObject *type, struct walk *w)
{
    keep(_PyType_GetDict(type), w);
    keep(type->tp_mro, w);
    keep(type->tp_bases, w);
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return;
    PyHeapTypeObject *heap = (PyHeapTypeObject *)type;
    keep(heap->ht_name, w);
    keep(heap->ht_qualname, w);
    keep(heap->ht_slots, w);
}

static void keep_keys(PyObject *dict, struct walk *w)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value))
        keep(key, w);
}

static void keep_parts(PyObject *o, struct walk *w)
{
    PyTypeObject *type = Py_TYPE(o);
    keep((PyObject *)type, w);
    if (PyObject_IS_GC(o) && type->tp_traverse)
        type->tp_traverse(o, keep, w);
    if (PyDict_Check(o))
        keep_keys(o, w);
    else if (PyCode_Check(o))
        keep_code((PyCodeObject *)o, w);
    else if (PyType_Check(o))
        keep_type((PyTypeObject *)o, w);
}

static void make_immortal(PyObject *o)
{
    o->ob_refcnt = _Py_IMMORTAL_REFCNT;
    if (PyUnicode_Check(o) && PyUnicode_CHECK_INTERNED(o) == SSTATE_INTERNED_MORTAL)
        ((PyASCIIObject *)o)->state.interned = SSTATE_INTERNED_IMMORTAL;
}

static void keep_all(void)
{
    struct walk w = {.seen_size = __builtin_wasm_memory_size(0) * 65536u / 64u};
    w.seen = calloc(1, w.seen_size);
    if (!w.seen)
        __builtin_trap();
    PyUnstable_GC_VisitObjects(keep_tracked, &w);
    while (w.n) {
        PyObject *o = w.todo[--w.n];
        keep_parts(o, &w);
        make_immortal(o);
    }
    memset(w.seen, 0, w.seen_size);
    memset(w.todo, 0, w.capacity * sizeof *w.todo);
    free(w.seen);
    free(w.todo);
}

/* ---- room for new ones ------------------------------------------------------------ */

static PyObjectArenaAllocator before;
static unsigned arenas;

static void *count_arena(void *arg, size_t size)
{
    arenas++;
    return before.alloc(arg, size);
}

static poolp pool_of(const void *p)
{
    return (poolp)((uintptr_t)p & ~(uintptr_t)POOL_SIZE_MASK);
}

/* Takes what is free in pools that have something, of one size after the other, and then the
 * free pools: the next allocation of any size begins a pool of a new arena. */
static void fill_pools(void)
{
    PyObject_GetArenaAllocator(&before);
    PyObjectArenaAllocator counting = before;
    counting.alloc = count_arena;
    PyObject_SetArenaAllocator(&counting);
    void *first[SMALL_REQUEST_THRESHOLD / ALIGNMENT] = {0};
    while (!arenas)
        first[0] = PyObject_Malloc(SMALL_REQUEST_THRESHOLD);
    for (size_t i = 1; i < sizeof first / sizeof *first; i++)
        do
            first[i] = PyObject_Malloc(i * ALIGNMENT);
        while (first[i] && pool_of(first[i])->ref.count != 1);
    for (size_t i = sizeof first / sizeof *first; i-- > 0;)
        PyObject_Free(first[i]);
    PyObject_SetArenaAllocator(&before);
}

void python_settle(void)
{
    keep_all();
    fill_pools();
    heap_settle();
}
