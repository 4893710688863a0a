/* engine/assemble_test.h - modules that tests write as text. Only for *_test.c.
 */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <wasmtime.h>

#include "base/base.h"

/* A module's bytes from its text form; the caller ends the buf. */
static inline void assemble(const char *text, struct buf *out)
{
    wasm_byte_vec_t bytes;
    wasmtime_error_t *error = wasmtime_wat2wasm(text, strlen(text), &bytes);
    if (error) {
        wasm_byte_vec_t why;
        wasmtime_error_message(error, &why);
        fail_msg("%.*s", (int)why.size, why.data);
    }
    buf_init(out, SIZE_MAX);
    buf_put(out, bytes.data, bytes.size);
    wasm_byte_vec_delete(&bytes);
}
