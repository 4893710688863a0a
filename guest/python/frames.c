/* The line of the agent's code that ran when its world was stopped is read by the host, which knows
 * CPython's structs by what is told here. Nothing is written while code runs. */
#define Py_BUILD_CORE
#include <Python.h>
#include <stddef.h>
#include <stdint.h>

#include "internal/pycore_frame.h"
#include "python/frames.h"

const struct script_frames *python_frames(void)
{
    static struct script_frames told = {
        .previous = offsetof(_PyInterpreterFrame, previous),
        .code = offsetof(_PyInterpreterFrame, f_executable),
        .instruction = offsetof(_PyInterpreterFrame, instr_ptr),
        .file = offsetof(PyCodeObject, co_filename),
        .first_line = offsetof(PyCodeObject, co_firstlineno),
        .lines = offsetof(PyCodeObject, co_linetable),
        .bytecode = offsetof(PyCodeObject, co_code_adaptive),
        .text_size = offsetof(PyASCIIObject, length),
        .text = sizeof(PyASCIIObject),
        .bytes_size = offsetof(PyVarObject, ob_size),
        .bytes = offsetof(PyBytesObject, ob_sval),
    };
    told.current = (uint32_t)(uintptr_t)&PyThreadState_Get()->current_frame;
    return &told;
}
