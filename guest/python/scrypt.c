/* ROMix, the core of scrypt (RFC 7914): hashlib.scrypt is made of it (world/hashes.py). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "python/scrypt.h"

#define BLOCK 64 /* bytes of Salsa20's state */
#define WORDS (BLOCK / sizeof(uint32_t))

static uint32_t rotated(uint32_t x, unsigned bits)
{
    return x << bits | x >> (32 - bits);
}

static void quarter(uint32_t *x, unsigned a, unsigned b, unsigned c, unsigned d)
{
    x[b] ^= rotated(x[a] + x[d], 7);
    x[c] ^= rotated(x[b] + x[a], 9);
    x[d] ^= rotated(x[c] + x[b], 13);
    x[a] ^= rotated(x[d] + x[c], 18);
}

static void salsa20_8(uint32_t *x)
{
    uint32_t first[WORDS];
    memcpy(first, x, sizeof first);
    for (int twice = 0; twice < 4; twice++) {
        quarter(x, 0, 4, 8, 12), quarter(x, 5, 9, 13, 1);
        quarter(x, 10, 14, 2, 6), quarter(x, 15, 3, 7, 11);
        quarter(x, 0, 1, 2, 3), quarter(x, 5, 6, 7, 4);
        quarter(x, 10, 11, 8, 9), quarter(x, 15, 12, 13, 14);
    }
    for (size_t i = 0; i < WORDS; i++)
        x[i] += first[i];
}

static void mix_in(uint32_t *x, const uint32_t *with, size_t words)
{
    for (size_t i = 0; i < words; i++)
        x[i] ^= with[i];
}

/* scryptBlockMix of 2 r blocks, by way of room of the same size. */
static void block_mix(uint32_t *b, uint32_t *room, size_t r)
{
    uint32_t x[WORDS];
    memcpy(x, b + (2 * r - 1) * WORDS, BLOCK);
    for (size_t i = 0; i < 2 * r; i++) {
        mix_in(x, b + i * WORDS, WORDS);
        salsa20_8(x);
        memcpy(room + (i / 2 + (i % 2) * r) * WORDS, x, BLOCK);
    }
    memcpy(b, room, 2 * r * BLOCK);
}

/* table: n times, and room: once, as large as the 2 r blocks at b. n is a power of 2. */
static void ro_mix(uint32_t *b, uint32_t *table, uint32_t *room, size_t n, size_t r)
{
    size_t words = 2 * r * WORDS;
    for (size_t i = 0; i < n; i++) {
        memcpy(table + i * words, b, words * sizeof *b);
        block_mix(b, room, r);
    }
    for (size_t i = 0; i < n; i++) {
        size_t j = b[words - WORDS] & (n - 1);
        mix_in(b, table + j * words, words);
        block_mix(b, room, r);
    }
}

/* The caller's Python has checked n, r and the size of the text, and what they come to. */
PyObject *scrypt_mix(PyObject *self, PyObject *args)
{
    (void)self;
    const char *text;
    Py_ssize_t size;
    unsigned n, r;
    if (!PyArg_ParseTuple(args, "y#II", &text, &size, &n, &r))
        return NULL;
    size_t one = 2 * (size_t)BLOCK * r;
    if (n < 2 || (n & (n - 1)) || r == 0 || r > SCRYPT_R_MAX ||
        n > SCRYPT_ROOM_MAX / one || size % (Py_ssize_t)one) {
        PyErr_SetString(PyExc_ValueError, "invalid parameters of scrypt");
        return NULL;
    }
    PyObject *made = PyBytes_FromStringAndSize(text, size);
    uint32_t *room = malloc((n + 2) * one);
    if (!made || !room) {
        Py_XDECREF(made);
        free(room);
        return PyErr_NoMemory();
    }
    /* Wasm is little-endian, as scrypt is. The blocks are copied, for their alignment. */
    uint32_t *table = room + one / sizeof *room * 2;
    for (char *at = PyBytes_AS_STRING(made); size > 0;
         at += one, size -= (Py_ssize_t)one) {
        memcpy(room, at, one);
        ro_mix(room, table, room + one / sizeof *room, n, r);
        memcpy(at, room, one);
    }
    free(room);
    return made;
}
