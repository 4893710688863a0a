/* A ZIP is taken apart within its limits, or refused; a manifest is checked, and what
 * comes out of the check passes it again, unchanged. An input that does not begin like a
 * ZIP is a manifest. */
#include "catalogue/package.h"
#include "catalogue/manifest.h"
#include "driver.h"

static void holds_lines(const struct buf *lines, size_t count)
{
    size_t n = 0;
    struct str rest = buf_view(lines);
    while (rest.n) {
        struct str line = next_part(&rest);
        holds(line.n && str_is_utf8(line));
        for (size_t i = 0; i < line.n; i++)
            holds((unsigned char)line.at[i] >= ' ' && line.at[i] != 0x7f);
        n++;
    }
    holds(n <= count);
}

static void check_filled(struct str clean)
{
    struct err e = {0};
    struct tool t = {0};
    scoped(arena_free) struct arena *a = arena_new(8 * MANIFEST_MEMORY);
    const struct json *m = json_read(clean, a, &e);
    holds(m && manifest_fill(m, a, &t, &e));
    holds(t.name[0] && strlen(t.name) <= TOOL_NAME_MAX && t.version[0] && t.category[0]);
    holds(t.execution.memory_bytes >= 65536 && t.execution.memory_bytes <= 1u << 30);
    holds(t.execution.timeout_ms >= 1 && t.execution.timeout_ms <= 300000);
    for (size_t i = 0; i < t.parameter_count; i++)
        holds(t.parameters[i].name[0] && t.parameters[i].description);
}

static void check_manifest(struct str text)
{
    struct err e = {0};
    struct tool_notes notes, again;
    scoped_buf struct buf clean, twice;
    buf_init(&clean, MANIFEST_MAX);
    buf_init(&twice, MANIFEST_MAX);
    tool_notes_init(&notes);
    tool_notes_init(&again);
    bool ok = manifest_check(text, &notes, &clean, &e);
    holds_lines(&notes.errors, notes.error_count);
    holds_lines(&notes.warnings, notes.warning_count);
    holds(ok == (e.code == ERR_NONE) && (!ok || !notes.error_count));
    if (ok) {
        check_filled(buf_view(&clean));
        holds(manifest_check(buf_view(&clean), &again, &twice, &e));
        holds(str_eq(buf_view(&clean), buf_view(&twice)));
    } else {
        holds_error(&e);
    }
    tool_notes_done(&notes);
    tool_notes_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = {(const char *)data, size};
    struct err e = {0};
    struct package p;
    if (!str_starts(input, "PK")) {
        check_manifest(input);
        return 0;
    }
    bool ok = package_read(input, &p, &e);
    if (ok) {
        holds(p.count >= 2 && p.count <= 100 && strlen(p.wasm_sha256) == 64);
        holds(p.wasm.n <= PACKAGE_WASM_MAX &&
              p.wasm.n + p.manifest.n <= size * PACKAGE_RATIO_MAX);
        check_manifest(buf_view(&p.manifest));
    } else {
        holds_error(&e);
    }
    package_done(&p);
    return 0;
}
