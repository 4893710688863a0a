/* The custom functions of the vaults, opened at first use. */
#include "functions_api/functioning.h"
#include "functions_api/checking.h"
#include "metrics/metrics.h"
#include "policy/policy.h"
#include "vaults/vaults.h"

/* Of one vault, until the end. */
struct function_shelf {
    unsigned vault;
    struct functions *functions;
    /* The policy that its libraries were set by, under the lock of all. */
    char policy[sizeof((struct policy){0}.digest)];
    uint64_t vaults;
    struct function_shelf *next;
};

static struct function_shelf *find_shelf(struct function_shelf *s, unsigned vault)
{
    while (s && s->vault != vault)
        s = s->next;
    return s;
}

/* The lock is held. */
static struct function_shelf *open_shelf(struct actions *a, unsigned vault, struct err *e)
{
    struct functioning *own = functioning_of(a);
    scoped(free) char *path = vault_set_path(a->vaults, vault);
    struct functions *made = path ? functions_open(path, e) : NULL;
    if (!made) {
        err_set(e, ERR_NO_VAULT,
                "custom functions belong to a vault, and none is open; start cloche with "
                "--vault DIR, or register one: cloche vault add DIR");
        return NULL;
    }
    struct function_shelf *s = mem_new(sizeof *s);
    *s = (struct function_shelf){.vault = vault, .functions = made, .next = own->shelves};
    own->shelves = s;
    return s;
}

static struct function_shelf *get_shelf(struct actions *a, unsigned vault, struct err *e)
{
    struct function_shelf *s = find_shelf(functioning_of(a)->shelves, vault);
    return s ? s : open_shelf(a, vault, e);
}

struct functions *functioning_in(struct actions *a, unsigned vault, struct err *e)
{
    pthread_mutex_lock(&functioning_of(a)->lock);
    struct function_shelf *s = get_shelf(a, vault, e);
    pthread_mutex_unlock(&functioning_of(a)->lock);
    return s ? s->functions : NULL;
}

/* A number that changes with the custom functions, and with damage of their file. */
uint64_t functions_state(struct actions *a, unsigned vault)
{
    struct err why = {0};
    struct functions *f = functioning_in(a, vault, &why);
    scoped_set const struct function_set *s = f ? functions_now(f, &why) : NULL;
    uint64_t state = s != NULL;
    struct str hash = s ? function_set_hash(s) : STR("");
    for (size_t i = 0; i < hash.n; i++)
        state = state * 31 + (unsigned char)hash.at[i];
    return state;
}

/* ---- lifecycle -------------------------------------------------------------- */

static const char *const sources[] = {"own", "library"};
static const char *const trials[] = {"kept", "invalid", "mistyped", "unproven"};
_Static_assert(LENGTH(trials) == USAGE_TRIALS, "a name each");

void *functioning_open(struct actions *a)
{
    struct functioning *own = mem_new(sizeof *own);
    pthread_mutex_init(&own->lock, NULL);
    own->repeating = repeating_new();
    own->later = later_new(a);
    own->calls = metric_family_new("cloche_function_calls", "Calls of custom functions.",
                                   "source", sources, LENGTH(sources));
    own->trials = metric_family_new("cloche_function_registrations",
                                    "Attempts to register or change custom functions.",
                                    "result", trials, LENGTH(trials));
    return own;
}

void functioning_close(void *arg)
{
    struct functioning *own = arg;
    later_free(own->later);
    for (struct function_shelf *s = own->shelves, *next; s; s = next) {
        next = s->next;
        functions_close(s->functions);
        free(s);
    }
    repeating_free(own->repeating);
    metric_family_free(own->calls);
    metric_family_free(own->trials);
    pthread_mutex_destroy(&own->lock);
    free(own);
}

void functioning_metrics(struct actions *a, struct buf *out)
{
    metric_family_write(functioning_of(a)->calls, out);
    metric_family_write(functioning_of(a)->trials, out);
}

/* ---- libraries ------------------------------------------------------------- */

/* A folder, or the folder of a vault, also one that only the user's list has; to be
 * freed. NULL: no such vault. */
static char *library_folder(struct actions *a, const char *name)
{
    struct err none = {0};
    if (name[0] == '/')
        return mem_strdup(name);
    unsigned number = vault_set_find(a->vaults, str_of(name), NULL, &none);
    if (number)
        return vault_set_path(a->vaults, number);
    scoped(arena_free) struct arena *arena = arena_new(ARENA_CALL);
    struct vaults list;
    none = (struct err){0};
    const struct vault_entry *v =
        vaults_read(arena, &list, &none) ? vaults_find(&list, str_of(name)) : NULL;
    const char *path = v ? str_cz(v->path, arena, &none) : NULL;
    return path ? mem_strdup(path) : NULL;
}

static bool check_library(struct str name, const struct json *v, struct err *e)
{
    static const char wanted[] = "an absolute path, or the id of a vault";
    struct str s = json_str(v);
    (void)name;
    if (!entry_check_text(v, wanted, e))
        return false;
    bool is_id = s.n <= 64 && s.at[0] != '.' && !memchr(s.at, '/', s.n);
    return s.at[0] == '/' || is_id ||
           err_set(e, ERR_INVALID, "is '%.*s'; %s is accepted", STR_ARGS(str_cut(s, 100)),
                   wanted);
}

static const struct key_shape a_library = {
    .schema = "{\"type\":\"string\",\"minLength\":1}", .check = check_library};
struct functions_policy {
    struct policy_names libraries; /* absolute paths, ids of vaults */
};
static const struct key keys[] = {
    KEY(struct functions_policy, "functions.libraries", NAMES, USER, libraries, "[]",
        "folders (absolute paths) and vaults (their ids) whose custom functions all vaults "
        "can call",
        .high = 16, .shape = &a_library, .order = 50),
};
const struct policy_group functions_policy = POLICY_GROUP(keys, struct functions_policy);

static const struct policy_names *libraries_of(const struct policy *p)
{
    const struct functions_policy *functions = policy_values(p, &functions_policy);
    return &functions->libraries;
}

/* The libraries that the user's policy names, without the vault. The lock is held. */
static void share(struct actions *a, const struct policy *policy,
                  struct function_shelf *s)
{
    scoped(free) char *own = vault_set_path(a->vaults, s->vault);
    const struct policy_names *names = libraries_of(policy);
    size_t most = names->n, count = 0;
    struct functions_library *all = mem_new((most + 1) * sizeof *all);
    char **folders = mem_new((most + 1) * sizeof *folders);
    for (size_t i = 0; i < most; i++) {
        folders[i] = library_folder(a, names->at[i]);
        if (folders[i] && (!own || strcmp(folders[i], own) != 0))
            all[count++] = (struct functions_library){names->at[i], folders[i]};
    }
    functions_share(s->functions, all, count);
    for (size_t i = 0; i < most; i++)
        free(folders[i]);
    free(folders);
    free(all);
}

static void keep_shared(struct actions *a, const struct policy *policy,
                        struct function_shelf *s)
{
    uint64_t vaults = vault_set_state(a->vaults);
    if (!strcmp(policy->digest, s->policy) &&
        (vaults == s->vaults || !libraries_of(policy)->n))
        return;
    share(a, policy, s);
    memcpy(s->policy, policy->digest, sizeof s->policy);
    s->vaults = vaults;
}

const struct function_set *functioning_now(struct actions *a, const struct place *place,
                                           struct functions **out, struct err *e)
{
    pthread_mutex_lock(&functioning_of(a)->lock);
    struct function_shelf *s = get_shelf(a, place->vault, e);
    if (s && place->permit.policy)
        keep_shared(a, place->permit.policy, s);
    pthread_mutex_unlock(&functioning_of(a)->lock);
    if (out)
        *out = s ? s->functions : NULL;
    return s ? functions_now(s->functions, e) : NULL;
}
