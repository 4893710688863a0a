/* python/code.h - the compiler, for code whose last expression is its result. */
#pragma once
#include <Python.h>

/* compile(source, file, name, flags) -> (code, is_expression): as compile() does it, but an
 * expression that ends the code, or a branch that ends it, is assigned to that name. Code that is
 * nothing else is an expression, and has it as its value. */
PyObject *code_compile(PyObject *self, PyObject *args);
