/* The custom functions of the vaults, opened when first asked for. */
#include "actions/functioning.h"

#include "actions/places.h"
#include "functions/functions.h"

/* Of one vault, until the end. */
struct function_shelf {
    unsigned vault;
    struct functions *functions;
    struct function_shelf *next;
};

static struct functions *find_shelf(const struct function_shelf *s, unsigned vault)
{
    while (s && s->vault != vault)
        s = s->next;
    return s ? s->functions : NULL;
}

/* The lock is held. */
static struct functions *open_shelf(struct actions *a, unsigned vault, struct err *e)
{
    scoped(free) char *path = vault_set_path(a->vaults, vault);
    struct functions *made = path ? functions_open(path, e) : NULL;
    if (!made) {
        err_set(e, ERR_NO_VAULT, "no vault is open, and custom functions belong to one");
        return NULL;
    }
    struct function_shelf *s = mem_new(sizeof *s);
    *s = (struct function_shelf){vault, made, a->functions};
    a->functions = s;
    return made;
}

struct functions *actions_functions(struct actions *a, unsigned vault, struct err *e)
{
    pthread_mutex_lock(&a->functions_lock);
    struct functions *f = find_shelf(a->functions, vault);
    if (!f)
        f = open_shelf(a, vault, e);
    pthread_mutex_unlock(&a->functions_lock);
    return f;
}

void functioning_close(struct actions *a)
{
    for (struct function_shelf *s = a->functions, *next; s; s = next) {
        next = s->next;
        functions_close(s->functions);
        free(s);
    }
    pthread_mutex_destroy(&a->functions_lock);
}

const struct function_set *functioning_now(struct actions *a, const struct place *place,
                                           struct functions **out, struct err *e)
{
    struct functions *f = actions_functions(a, place->vault, e);
    if (out)
        *out = f;
    return f ? functions_now(f, e) : NULL;
}
