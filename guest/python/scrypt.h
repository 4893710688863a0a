/* A native of the Python guest. */
#pragma once
#include <Python.h>

#define SCRYPT_R_MAX (1u << 16)
#define SCRYPT_ROOM_MAX ((size_t)1 << 30) /* bytes */

/* scrypt_mix(blocks, n, r) -> blocks: each 128 r bytes of them mixed. ValueError where these
 * are no parameters of scrypt, MemoryError where the table has no room. */
PyObject *scrypt_mix(PyObject *self, PyObject *args);
