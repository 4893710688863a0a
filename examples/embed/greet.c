/* A program with Cloche inside: it adds a tool and a resource of its own, lets code run
 * over a folder of notes, stops code that does not end, and serves an MCP client.
 *
 *   greet FOLDER         evaluates, calls the tool, reads the resource
 *   greet FOLDER serve   serves MCP on standard input and output
 */
#include <cloche.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what this program adds ---------------------------------------------- */

/* The arguments fit the schema already. A real program would read them with the JSON
 * library that it has; here they are handed back as they came. */
static void greet(void *arg, struct cloche_call *call)
{
    const char *greeting = arg;
    char answer[1024];
    int n = snprintf(answer, sizeof answer, "{\"greeting\": \"%s\", \"to\": %s}", greeting,
                     cloche_call_arguments(call));
    if (n < 0 || (size_t)n >= sizeof answer)
        cloche_call_fail(call, CLOCHE_INVALID, "the name is too long; 900 bytes are accepted");
    else
        cloche_call_answer(call, answer);
}

static void read_status(void *arg, struct cloche_call *call)
{
    (void)arg;
    cloche_call_answer(call, "[{\"uri\": \"greet://status\", \"mimeType\": \"text/plain\","
                             " \"text\": \"all is well\"}]");
}

static void tell_record(void *arg, const char *record)
{
    (void)record;
    ++*(int *)arg;
}

/* ---- what it does ---------------------------------------------------------- */

static void fail(const char *doing, const struct cloche_error *e)
{
    fprintf(stderr, "%s: %s: %s\n", doing, cloche_error_name(e), cloche_error_message(e));
    exit(1);
}

static void *fire_soon(void *arg)
{
    usleep(100000);
    cloche_cancel_fire(arg);
    return NULL;
}

/* Code that would run for its whole five seconds, ended from another thread. */
static void stop_a_loop(struct cloche *c, struct cloche_text *text, struct cloche_error *e)
{
    struct cloche_cancel *cancel = cloche_cancel_new();
    pthread_t thread;
    int failed = 0;
    pthread_create(&thread, NULL, fire_soon, cancel);
    if (cloche_evaluate(c, NULL, "for (;;);", cancel, text, &failed, e) != CLOCHE_OK)
        fail("evaluate", e);
    pthread_join(thread, NULL);
    cloche_cancel_free(cancel);
    printf("stopped: %s\n", failed && strstr(cloche_text_at(text), "Cancelled") ? "yes" : "no");
}

static void work(struct cloche *c, struct cloche_text *text, struct cloche_error *e)
{
    int failed = 0;
    struct cloche_caller *who = cloche_caller_new("greeter", CLOCHE_LIMITED);
    if (cloche_evaluate(c, who, "(await notes.list()).length", NULL, text, &failed, e))
        fail("evaluate", e);
    printf("evaluated: %s\n", cloche_text_at(text));
    if (cloche_call_tool(c, who, "greet", "{\"name\": \"Ada\"}", NULL, text, &failed, e))
        fail("greet", e);
    printf("greeted: %s\n", cloche_text_at(text));
    if (cloche_call_tool(c, who, "greet", "{\"nobody\": 1}", NULL, text, &failed, e) == CLOCHE_OK)
        exit(1);
    printf("refused: %s\n", cloche_error_message(e));
    if (cloche_read(c, who, "greet://status", text, e))
        fail("read", e);
    printf("read: %s\n", cloche_text_at(text));
    cloche_caller_free(who);
    stop_a_loop(c, text, e);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: greet FOLDER [serve]\n");
        return 2;
    }
    int records = 0;
    struct cloche_error *e = cloche_error_new();
    struct cloche_text *text = cloche_text_new();
    struct cloche_options *o = cloche_options_new();
    cloche_options_vault(o, argv[1]);
    cloche_options_on_record(o, tell_record, &records);
    cloche_options_tool(o, "greet", "Greet", "Greets somebody by name.",
                        "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": "
                        "\"string\"}}, \"required\": [\"name\"]}",
                        NULL, CLOCHE_TOOL_READS, greet, "Hello");
    cloche_options_resource(o, "greet://status", "status", "How we are", "text/plain",
                            read_status, NULL);
    struct cloche *c = cloche_open(o, e);
    if (!c)
        fail("open", e);
    cloche_options_free(o);

    if (argc > 2 && !strcmp(argv[2], "serve")) {
        if (cloche_serve_mcp(c, 0, 1, -1, e))
            fail("serve", e);
    } else {
        printf("version: %s\n", cloche_version());
        work(c, text, e);
        printf("records: %d\n", records);
    }
    cloche_close(c);
    cloche_text_free(text);
    cloche_error_free(e);
    return 0;
}
