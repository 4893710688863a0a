/* Compiles code, and keeps the value of its last expression. world/run.py can do the same with
 * the module ast, as it does for code that needs more: this makes no object of a node. */
#define Py_BUILD_CORE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "internal/pycore_ast.h"
#include "internal/pycore_compile.h"
#include "internal/pycore_parser.h"
#include "internal/pycore_pyarena.h"
#include "python/code.h"

/* Statements that may end the code, and are still to be looked at. */
struct ends {
    asdl_stmt_seq **all;
    size_t n, capacity;
    PyObject *name;
    PyArena *arena;
};

static bool ends_add(struct ends *e, asdl_stmt_seq *body)
{
    if (!asdl_seq_LEN(body))
        return true;
    if (e->n == e->capacity) {
        size_t capacity = e->capacity ? e->capacity * 2 : 16;
        asdl_stmt_seq **all = realloc(e->all, capacity * sizeof(asdl_stmt_seq *));
        if (!all)
            return false;
        e->all = all;
        e->capacity = capacity;
    }
    e->all[e->n++] = body;
    return true;
}

/* NULL: no memory. */
static stmt_ty assigned(const struct ends *e, stmt_ty of)
{
    expr_ty value = of->v.Expr.value;
    asdl_expr_seq *targets = _Py_asdl_expr_seq_new(1, e->arena);
    expr_ty name = targets ? _PyAST_Name(e->name, Store, of->lineno, of->col_offset,
                                         of->end_lineno, of->end_col_offset, e->arena)
                           : NULL;
    if (!name)
        return NULL;
    asdl_seq_SET(targets, 0, name);
    return _PyAST_Assign(targets, value, NULL, of->lineno, of->col_offset, of->end_lineno,
                         of->end_col_offset, e->arena);
}

static bool ends_add_try(struct ends *e, stmt_ty of)
{
    asdl_stmt_seq *orelse = of->v.Try.orelse;
    bool ok = ends_add(e, asdl_seq_LEN(orelse) ? orelse : of->v.Try.body);
    for (Py_ssize_t i = 0; ok && i < asdl_seq_LEN(of->v.Try.handlers); i++)
        ok = ends_add(e, asdl_seq_GET(of->v.Try.handlers, i)->v.ExceptHandler.body);
    return ok;
}

/* false: no memory. */
static bool keep_last_of(struct ends *e, asdl_stmt_seq *body)
{
    Py_ssize_t at = asdl_seq_LEN(body) - 1;
    stmt_ty last = asdl_seq_GET(body, at);
    switch (last->kind) {
    case Expr_kind: {
        stmt_ty made = assigned(e, last);
        if (made)
            asdl_seq_SET(body, at, made);
        return made != NULL;
    }
    case If_kind:
        return ends_add(e, last->v.If.body) && ends_add(e, last->v.If.orelse);
    case With_kind:
        return ends_add(e, last->v.With.body);
    case Try_kind:
        return ends_add_try(e, last);
    default:
        return true;
    }
}

static bool keep_last(mod_ty tree, PyObject *name, PyArena *arena)
{
    struct ends e = {.name = name, .arena = arena};
    bool ok = ends_add(&e, tree->v.Module.body);
    while (ok && e.n)
        ok = keep_last_of(&e, e.all[--e.n]);
    free(e.all);
    if (!ok)
        PyErr_NoMemory();
    return ok;
}

/* Code that is one expression, as that. NULL: no memory. */
static mod_ty as_expression(mod_ty tree, PyArena *arena)
{
    asdl_stmt_seq *body = tree->v.Module.body;
    stmt_ty only = asdl_seq_LEN(body) == 1 ? asdl_seq_GET(body, 0) : NULL;
    return only && only->kind == Expr_kind ? _PyAST_Expression(only->v.Expr.value, arena)
                                           : tree;
}

/* A text that ends at its first NUL would be cut: compile() has the words for it. */
static const char *text_of_source(PyObject *source)
{
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(source, &n);
    if (text && strlen(text) != (size_t)n) {
        PyErr_SetString(PyExc_SyntaxError,
                        "source code string cannot contain null bytes");
        return NULL;
    }
    return text;
}

PyObject *code_compile(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *source, *file, *name;
    int flags;
    if (!PyArg_ParseTuple(args, "UUUi", &source, &file, &name, &flags))
        return NULL;
    PyCompilerFlags how = {.cf_flags = flags | PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE,
                           .cf_feature_version = PY_MINOR_VERSION};
    const char *text = text_of_source(source);
    PyArena *arena = text ? _PyArena_New() : NULL;
    if (!arena)
        return NULL;
    mod_ty tree = _PyParser_ASTFromString(text, file, Py_file_input, &how, arena);
    tree = tree ? as_expression(tree, arena) : NULL;
    bool has_value = tree && tree->kind == Expression_kind;
    PyObject *code = NULL;
    if (tree && (has_value || keep_last(tree, name, arena)))
        code = (PyObject *)_PyAST_Compile(tree, file, &how, -1, arena);
    _PyArena_Free(arena);
    return code ? Py_BuildValue("(NO)", code, has_value ? Py_True : Py_False) : NULL;
}
