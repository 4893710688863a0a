/* Command-line tools in a process that has run them before: what bench/run's piece `tools`
 * asks for.
 *
 *   warm GUEST_DIR [FOLDER]    reads commands, one a line, and answers each with one line of
 *                              JSON; tools see FOLDER, read-only, as their working folder
 *
 *   COUNT BYTES TOOL WORD...    runs TOOL with these words (no spaces in them) COUNT times,
 *                               each over BYTES of text on standard input:
 *                               {"ns": [each one's time ...], "exit": of the last}
 *
 * Every run is one as an agent's call makes it: arguments, a file tree, a fresh world, its
 * limits, its output kept. */
#include <pthread.h>
#include <stdio.h>

#include "base/base.h"
#include "engine/engine.h"
#include "os/os.h"
#include "tools/tools.h"
#include "json/json.h"

#define WORDS_MAX 32
#define INPUT_MAX ((size_t)256 << 20)

struct batch {
    struct catalogue *tools;
    const struct tool *tool;
    const char *words[WORDS_MAX];
    size_t word_count, count;
    struct buf input;
    const struct vfs_mount *mount; /* NULL: none */
    uint64_t *ns;
    uint32_t exit;
};

_Noreturn static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "warm: %s: %s\n", what, why);
    exit(1);
}

static void *run_batch(void *arg)
{
    struct batch *b = arg;
    struct err e = {0};
    for (size_t i = 0; i < b->count; i++) {
        struct tool_world world = {.input = buf_view(&b->input),
                                   .mounts = b->mount,
                                   .mount_count = b->mount != NULL,
                                   .folder = b->mount ? b->mount->at : NULL};
        struct tool_stage stage = {
            .tool = b->tool, .args = b->words, .arg_count = b->word_count};
        struct tool_result result;
        uint64_t start = os_mono_ns();
        if (!tools_run(b->tools, &world, &stage, 1, &result, &e))
            give_up(b->tool->name, e.msg);
        b->exit = result.stages[0].exit_code;
        tool_result_end(&result);
        b->ns[i] = os_mono_ns() - start;
    }
    return NULL;
}

/* JSON that is also lines of words. */
static void make_input(struct buf *out, size_t bytes)
{
    buf_init(out, INPUT_MAX + 1);
    if (bytes == 0)
        return;
    buf_cstr(out, "[\n");
    for (size_t i = 0; out->n + 64 < bytes; i++)
        buf_printf(out, "  {\"id\": %zu, \"name\": \"the %zuth word of many\"},\n", i,
                   i * 7919 % 1000);
    buf_cstr(out, "  0\n]\n");
}

static void run_thread(struct batch *b)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, ENGINE_THREAD_STACK);
    must(pthread_create(&thread, &attr, run_batch, b) == 0);
    pthread_attr_destroy(&attr);
    pthread_join(thread, NULL);
}

static void obey(struct catalogue *tools, const struct vfs_mount *mount, char *line)
{
    struct batch b = {.tools = tools, .mount = mount};
    size_t bytes;
    int at = 0;
    struct err e = {0};
    char *place = NULL;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%zu %zu %n", &b.count, &bytes, &at) != 2 || !at ||
        bytes > INPUT_MAX)
        give_up("not a command", line);
    char *name = strtok_r(line + at, " ", &place);
    b.tool = tool_find(tools, str_of(name), STR(""), &e);
    if (!b.tool)
        give_up("no tool", e.msg);
    for (char *word; b.word_count < WORDS_MAX && (word = strtok_r(NULL, " ", &place));)
        b.words[b.word_count++] = word;
    make_input(&b.input, bytes);
    must((b.ns = calloc(b.count, sizeof *b.ns)) != NULL);
    run_thread(&b);
    printf("{\"exit\": %u, \"ns\": [", b.exit);
    for (size_t i = 0; i < b.count; i++)
        printf("%s%llu", i ? ", " : "", (unsigned long long)b.ns[i]);
    puts("]}");
    fflush(stdout);
    tool_release(tools, b.tool);
    buf_done(&b.input);
    free(b.ns);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    char ahead[4096], line[4096];
    if (argc != 2 && argc != 3)
        give_up("usage", "warm GUEST_DIR [FOLDER]");
    struct vfs_mount mount = {.at = "/data", .dir = -1};
    if (argc == 3 && (mount.dir = os_dir_open(argv[2], &e)) < 0)
        give_up("folder", e.msg);
    (void)snprintf(ahead, sizeof ahead, "%s/ahead", argv[1]);
    struct engine *engine = engine_open(&(struct engine_options){.ahead = ahead}, &e);
    if (!engine)
        give_up("engine", e.msg);
    struct catalogue *tools = catalogue_open(
        &(struct catalogue_options){.guest_dir = argv[1], .engine = engine});
    while (fgets(line, sizeof line, stdin))
        obey(tools, argc == 3 ? &mount : NULL, line);
    catalogue_close(tools);
    engine_close(engine);
    return 0;
}
