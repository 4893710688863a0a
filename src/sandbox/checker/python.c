/* Python's checker: mypy in the Python guest's program, which has no host calls here. It is asked
 * as an evaluation is begun: the question is the code, and the answer is its result. */
#include "abi/abi.h"
#include "checker/internal.h"
#include "guest/guest.h"

static bool import_nothing(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w, (void)cells;
    return err_set(e, ERR_GUEST, "code that is checked calls nothing");
}

static bool import_stop(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    return err_set(e, cells[0] == SCRIPT_STOP_MEMORY ? ERR_MEMORY : ERR_GUEST,
                   "the checker stopped");
}

static const struct engine_import imports[] = {
    {"host", "call", "iii:i", import_nothing},
    {"host", "take", "i:", import_nothing},
    {"host", "stop", "i:", import_stop},
    {"host", "wait", "iiiF:i", import_nothing},
};

const struct guest_kind checker_python = {
    .name = "python-types",
    .title = "the guest of Python's type checker",
    .engine = ENGINE_OWN,
    .wasi = true,
    .imports = imports,
    .import_count = LENGTH(imports),
    .memory_bytes = CHECKER_MEMORY_BYTES,
    .compute_ns = CHECKER_COMPUTE_MS * UINT64_C(1000000),
    .not_built =
        "types were not checked: the type checker for Python is not built; 'make "
        "python' does it",
    .words = {.stack = "the code, or a type in it, is nested too deeply to be checked",
              .memory = "its types need more than 512 MB of memory to be checked",
              .timeout = "checking its types",
              .failed = "its types cannot be checked"}};

bool checker_ask_python(struct guest_world *w, struct str question, struct buf *out,
                        struct err *e)
{
    struct script_head head = {
        .abi = SCRIPT_ABI, .code_size = (uint32_t)question.n, .result_max = ANSWER_BYTES};
    struct script_answer answer;
    scoped_buf struct buf all = buf_of(sizeof head + question.n);
    buf_str(&all, (struct str){(const char *)&head, sizeof head});
    buf_str(&all, question);
    uint64_t size = all.n;
    if (!guest_ask(w, buf_view(&all), "start", &size, 1, &answer, sizeof answer, e))
        return false;
    if (answer.status != SCRIPT_DONE || answer.failed || answer.result_cut)
        return err_set(e, ERR_GUEST, "its types cannot be checked: the checker failed");
    return checker_take(w, answer.result_at, answer.result_size, out, e);
}
