/* The Python guest: CPython, started when it is baked, evaluates code in fresh worlds.
 *
 * It speaks as the JavaScript guest does (abi/abi.h), with one difference: host calls are
 * made from within the code, which waits in an import of the host's until one is done. So
 * start() runs the code to its end, and there is no resume().
 *
 * world.py beside this file has what code sees; it is the module __main__ of the baked
 * interpreter, and calls the natives below as _cloche.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "abi/abi.h"
#include "python/code.h"
#include "python/frames.h"
#include "python/scrypt.h"
#include "python/settle.h"

#define EXPORT(name) __attribute__((export_name(#name)))
#define HOST(name) __attribute__((import_module("host"), import_name(#name)))

HOST(call) int32_t host_call(uint32_t row, const char *at, uint32_t n);
HOST(take) void host_take(char *at);
HOST(stop) void host_stop(uint32_t why);
HOST(wait)
uint32_t host_wait(const char *calls, uint32_t n, int32_t has_timer, double ms);

static void die(void)
{
    __builtin_trap();
}

/* ---- bytes that grow ----------------------------------------------------- */

struct row {
    char *at;
    size_t n, capacity;
};

static void row_put(struct row *r, const void *from, size_t n)
{
    if (r->n + n > r->capacity) {
        size_t want = r->capacity ? r->capacity : 1024;
        while (want < r->n + n)
            want *= 2;
        r->at = realloc(r->at, want);
        if (!r->at)
            host_stop(SCRIPT_STOP_MEMORY);
        r->capacity = want;
    }
    if (n)
        memcpy(r->at + r->n, from, n);
    r->n += n;
}

static void row_pad(struct row *r)
{
    static const char zeros[8];
    row_put(r, zeros, SCRIPT_PAD(r->n) - r->n);
}

static void row_drop(struct row *r)
{
    free(r->at);
    *r = (struct row){0};
}

/* ---- logs ---------------------------------------------------------------- */

static struct row logs;
static size_t logs_max;
static uint32_t logs_dropped;
static struct script_logs logs_now;
static const char cut_mark[] = "... [cut]";

EXPORT(logs_view) struct script_logs *logs_view(void)
{
    return &logs_now;
}

static struct script_sources no_sources;

EXPORT(sources_view) struct script_sources *sources_view(void)
{
    no_sources.frames_at = (uint32_t)(uintptr_t)python_frames();
    return &no_sources;
}

/* log(level, text): kept up to the limit, the last one cut with a mark. */
static PyObject *native_log(PyObject *self, PyObject *args)
{
    (void)self;
    struct script_log head = {0};
    const char *text;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "Is#", &head.level, &text, &n))
        return NULL;
    size_t left = logs_max - logs.n;
    if (logs_dropped || left < sizeof head + sizeof cut_mark + 8) {
        logs_dropped++;
    } else {
        size_t room = left - sizeof head - 8;
        bool cut = (size_t)n > room;
        size_t keep = cut ? room - sizeof cut_mark : (size_t)n;
        while (cut && keep && ((unsigned char)text[keep] & 0xc0) == 0x80)
            keep--;
        head.size = (uint32_t)(keep + (cut ? sizeof cut_mark - 1 : 0));
        row_put(&logs, &head, sizeof head);
        row_put(&logs, text, keep);
        if (cut) {
            row_put(&logs, cut_mark, sizeof cut_mark - 1);
            logs_dropped++;
        }
        row_pad(&logs);
    }
    logs_now = (struct script_logs){(uint32_t)(uintptr_t)logs.at, (uint32_t)logs.n,
                                    logs_dropped};
    Py_RETURN_NONE;
}

/* ---- host calls ---------------------------------------------------------- */

static struct row calls;
static uint32_t calls_left;

static void count_call(void)
{
    if (calls_left == 0)
        host_stop(SCRIPT_STOP_CALLS);
    calls_left--;
}

static PyObject *text_of(const char *at, size_t n)
{
    return PyUnicode_DecodeUTF8(at, (Py_ssize_t)n, "replace");
}

/* call(row, args) -> (failed, text): one that answers at once. */
static PyObject *native_call(PyObject *self, PyObject *args)
{
    (void)self;
    unsigned row;
    const char *at;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "Is#", &row, &at, &n))
        return NULL;
    count_call();
    int32_t size = host_call(row, at, (uint32_t)n);
    uint32_t bytes = (uint32_t)(size < 0 ? ~size : size);
    char *text = malloc(bytes + 1u);
    if (!text)
        return PyErr_NoMemory();
    host_take(text);
    PyObject *made = text_of(text, bytes);
    free(text);
    return made ? Py_BuildValue("(ON)", size < 0 ? Py_True : Py_False, made) : NULL;
}

/* begin(id, row, line, args): goes with the next wait(). */
static PyObject *native_begin(PyObject *self, PyObject *args)
{
    (void)self;
    struct script_call c = {0};
    const char *at;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "IIIs#", &c.id, &c.row, &c.line, &at, &n))
        return NULL;
    count_call();
    c.size = (uint32_t)n;
    row_put(&calls, &c, sizeof c);
    row_put(&calls, at, (size_t)n);
    row_pad(&calls);
    Py_RETURN_NONE;
}

/* The rows of struct script_settled as [(id, failed, text)]. */
static PyObject *settled_list(const char *at, size_t n)
{
    PyObject *list = PyList_New(0);
    struct script_settled s;
    while (list && n >= sizeof s) {
        memcpy(&s, at, sizeof s);
        PyObject *text = text_of(at + sizeof s, s.size);
        PyObject *one =
            text ? Py_BuildValue("(ION)", s.id, s.failed ? Py_True : Py_False, text)
                 : NULL;
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
        size_t step = sizeof s + SCRIPT_PAD(s.size);
        at += step, n -= step < n ? step : n;
    }
    return list;
}

/* wait(ms) -> [(id, failed, text)]: hands over what was begun, and waits until a call is
 * done, or for so long; below 0: without an end. */
static PyObject *native_wait(PyObject *self, PyObject *args)
{
    (void)self;
    double ms;
    if (!PyArg_ParseTuple(args, "d", &ms))
        return NULL;
    uint32_t n = host_wait(calls.at, (uint32_t)calls.n, ms >= 0, ms);
    calls.n = 0;
    if (n == 0)
        return PyList_New(0);
    char *all = malloc(n);
    if (!all)
        return PyErr_NoMemory();
    host_take(all);
    PyObject *list = settled_list(all, n);
    free(all);
    return list;
}

static PyMethodDef natives[] = {{"log", native_log, METH_VARARGS, NULL},
                                {"call", native_call, METH_VARARGS, NULL},
                                {"begin", native_begin, METH_VARARGS, NULL},
                                {"wait", native_wait, METH_VARARGS, NULL},
                                {"compile", code_compile, METH_VARARGS, NULL},
                                {"scrypt_mix", scrypt_mix, METH_VARARGS, NULL},
                                {0}};
static struct PyModuleDef module = {.m_base = PyModuleDef_HEAD_INIT,
                                    .m_name = "_cloche",
                                    .m_size = -1,
                                    .m_methods = natives};

static PyObject *make_natives(void)
{
    return PyModule_Create(&module);
}

/* ---- the start ----------------------------------------------------------- */

PyMODINIT_FUNC PyInit_zlib(void);
PyMODINIT_FUNC PyInit__bz2(void);
PyMODINIT_FUNC PyInit__lzma(void);
PyMODINIT_FUNC PyInit__sqlite3(void);
PyMODINIT_FUNC PyInit__yaml(void);

/* Bytes that worlds have from the start, so that small ones need not grow. */
#define READY ((size_t)8 << 20)

static PyObject *installer, *runner, *rester;

static void must(PyStatus s)
{
    if (!PyStatus_Exception(s))
        return;
    fprintf(stderr, "python: %s: %s\n", s.func ? s.func : "?",
            s.err_msg ? s.err_msg : "?");
    die();
}

static PyObject *function_of(PyObject *from, const char *name)
{
    PyObject *f = PyObject_GetAttrString(from, name);
    if (!f)
        die();
    return f;
}

static void configure(PyConfig *c)
{
    PyPreConfig pre;
    PyPreConfig_InitIsolatedConfig(&pre);
    pre.utf8_mode = 1;
    must(Py_PreInitialize(&pre));
    PyConfig_InitIsolatedConfig(c);
    /* The seed cannot be another in each world: tables of the image are made with it. */
    c->use_hash_seed = 1;
    c->hash_seed = 0;
    c->install_signal_handlers = 0;
    c->write_bytecode = 0;
    c->site_import = 0;
    c->parse_argv = 0;
    c->pathconfig_warnings = 0;
    must(PyConfig_SetString(c, &c->program_name, L"python"));
    must(PyConfig_SetString(c, &c->home, L"/"));
    c->module_search_paths_set = 1;
    must(PyWideStringList_Append(&c->module_search_paths, L"/lib"));
}

/* The world's bake() answers whether the memory is as worlds begin with it: nothing will be
 * installed. */
EXPORT(bake) void bake(void)
{
    PyConfig c;
    PyImport_AppendInittab("_cloche", make_natives);
    PyImport_AppendInittab("zlib", PyInit_zlib);
    PyImport_AppendInittab("_bz2", PyInit__bz2);
    PyImport_AppendInittab("_lzma", PyInit__lzma);
    PyImport_AppendInittab("_sqlite3", PyInit__sqlite3);
    PyImport_AppendInittab("yaml._yaml", PyInit__yaml);
    configure(&c);
    must(Py_InitializeFromConfig(&c));
    PyConfig_Clear(&c);
    PyObject *world = PyImport_ImportModule("_cloche_world");
    if (!world) {
        PyErr_Print();
        die();
    }
    PyObject *baked = PyObject_CallMethod(world, "bake", NULL);
    if (!baked) {
        PyErr_Print();
        die();
    }
    bool is_whole = baked == Py_True;
    Py_DECREF(baked);
    installer = function_of(world, "install");
    runner = function_of(world, "evaluate");
    rester = function_of(world, "rest");
    void *room = malloc(READY);
    __asm__ volatile("" : : "r"(room) : "memory"); /* or it would be left out */
    free(room);
    if (is_whole)
        python_settle();
}

/* ---- what the host calls -------------------------------------------------- */

static char *input_at;
static uint32_t input_capacity;
static struct script_answer answer;
static PyObject *last; /* holds the texts of the answer */

EXPORT(input) void *input(uint32_t n)
{
    if (n >= input_capacity) {
        char *grown = realloc(input_at, (size_t)n + 1);
        if (!grown)
            host_stop(SCRIPT_STOP_MEMORY);
        input_at = grown;
        input_capacity = n + 1;
    }
    input_at[n] = '\0';
    return input_at;
}

EXPORT(install) void install(uint32_t n)
{
    PyObject *done = PyObject_CallFunction(installer, "s#", input_at, (Py_ssize_t)n);
    if (!done) {
        PyErr_Print();
        die();
    }
    Py_DECREF(done);
    python_settle();
}

/* A member of the tuple that evaluate() answers, as a place in memory. */
static void put_text(PyObject *tuple, Py_ssize_t i, uint32_t *at, uint32_t *size)
{
    char *text = NULL;
    Py_ssize_t n = 0;
    PyObject *bytes = PyTuple_GetItem(tuple, i);
    if (bytes && bytes != Py_None && PyBytes_AsStringAndSize(bytes, &text, &n) < 0)
        die();
    *at = (uint32_t)(uintptr_t)text;
    *size = (uint32_t)n;
}

static const char broken[] =
    "{\"name\":\"SystemError\",\"message\":\"the interpreter was left in a state in which it "
    "cannot go on\"}";

/* evaluate() -> (failed, result, error, lost, cut) */
static void take_answer(PyObject *tuple)
{
    answer.status = SCRIPT_DONE;
    if (tuple && PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) == 5) {
        answer.failed = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(tuple, 0));
        put_text(tuple, 1, &answer.result_at, &answer.result_size);
        put_text(tuple, 2, &answer.error_at, &answer.error_size);
        put_text(tuple, 3, &answer.lost_at, &answer.lost_size);
        answer.result_cut = PyTuple_GET_ITEM(tuple, 4) == Py_True;
    } else {
        PyErr_Clear();
        answer.failed = SCRIPT_FAILED_RUNNING;
        answer.error_at = (uint32_t)(uintptr_t)broken;
        answer.error_size = sizeof broken - 1;
    }
    answer.logs_at = (uint32_t)(uintptr_t)logs.at;
    answer.logs_size = (uint32_t)logs.n;
    answer.logs_dropped = logs_dropped;
}

EXPORT(start) struct script_answer *start(uint32_t n)
{
    struct script_head q;
    if (n < sizeof q)
        die();
    memcpy(&q, input_at, sizeof q);
    size_t rest = n - sizeof q;
    if (q.abi != SCRIPT_ABI || q.code_size > rest || q.context_size > rest - q.code_size)
        die();
    answer = (struct script_answer){0};
    logs_max = q.logs_max;
    logs.n = 0;
    logs_dropped = 0;
    logs_now = (struct script_logs){0};
    calls_left = q.calls_max;
    const char *code = input_at + sizeof q;
    last = PyObject_CallFunction(runner, "s#s#III", code, (Py_ssize_t)q.code_size,
                                 code + q.code_size, (Py_ssize_t)q.context_size,
                                 q.features, q.flags, q.result_max);
    take_answer(last);
    return &answer;
}

EXPORT(resume) struct script_answer *resume(uint32_t n)
{
    (void)n;
    die();
    return NULL;
}

EXPORT(rest) void rest(void)
{
    Py_CLEAR(last);
    row_drop(&logs);
    row_drop(&calls);
    logs_dropped = 0;
    logs_now = (struct script_logs){0};
    PyObject *done = PyObject_CallNoArgs(rester);
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
}
