/* Stands in (weak) for what checks, tests and keeps versions until that is there: nothing
 * is looked at and nothing is run. Goes with the last of them. */
#include "actions/functioning.h"
#include "functions/functions.h"

#define WEAK __attribute__((weak))

WEAK bool function_check(const struct action_call *c, const struct function *fn,
                         const struct function_set *among, struct findings *out,
                         struct err *e)
{
    (void)c, (void)fn, (void)among, (void)out, (void)e;
    return true;
}

WEAK bool function_breaks(const struct action_call *c, struct str name,
                          const struct function *fn, const struct function_set *among,
                          struct findings *out, struct err *e)
{
    (void)c, (void)name, (void)fn, (void)among, (void)out, (void)e;
    return true;
}

WEAK bool function_examples(const struct action_call *c, const struct function *fn,
                            const struct function_set *among, struct json_writer *out,
                            uint32_t *failed, struct err *e)
{
    (void)c, (void)fn, (void)among, (void)e;
    *failed = 0;
    json_put_raw(out, STR("{\"passed\":0,\"failed\":0,\"results\":[]}"));
    return true;
}

WEAK bool function_try(const struct action_call *c, const struct function *fn,
                       const struct function_set *among, const struct json *args,
                       bool dry, struct json_writer *out, bool *success, struct err *e)
{
    (void)c, (void)fn, (void)among, (void)args, (void)dry, (void)out, (void)success;
    return err_set(e, ERR_CAPABILITY, "custom functions cannot be tested yet");
}
