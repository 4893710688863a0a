/* guard/policy_test.h - a guard whose policies a test writes. For tests alone. */
#pragma once
#include <stdio.h>

#include "base/home_test.h"
#include "guard/guard.h"
#include "os/os.h"
#include "json/json.h"

static char place[HOME_SIZE], config[100], vault[100];
static struct guard *guard;
static struct ward *ward;
static struct arena *arena;

static inline int policies_begin(const struct guard_options *o)
{
    struct err e = {0};
    if (!home_make(place))
        return -1;
    (void)snprintf(config, sizeof config, "%s/cloche", place);
    (void)snprintf(vault, sizeof vault, "%s/vault", place);
    scoped_fd int dir = os_dir_make(vault, 0700, &e);
    arena = arena_new((size_t)16 << 20);
    guard = guard_open(o);
    ward = guard_ward(guard, vault, &e);
    return ward && os_make_dirs(dir, ".cloche", &e) ? 0 : -1;
}

static inline int policies_end(void)
{
    guard_close(guard);
    arena_free(arena);
    return folder_remove(place);
}

static inline void write_policy(const char *folder, const char *name, const char *text)
{
    struct err e = {0};
    scoped_fd int dir = os_dir_make(folder, 0700, &e);
    if (!os_write_file(dir, name, str_of(text), OS_REPLACE, 0600, NULL, &e))
        fail_msg("%s", e.msg);
}

static inline void user_says(const char *text)
{
    write_policy(config, "policy.json", text);
}

static inline void vault_says(const char *text)
{
    write_policy(vault, ".cloche/policy.json", text);
}

/* The policy in force; the test lets go of it. */
static inline const struct policy *in_force(void)
{
    struct err e = {0};
    const struct policy *p = ward_policy(ward, &e);
    if (!p)
        fail_msg("%s", e.msg);
    return p;
}
static inline void policy_release_at(const struct policy **p)
{
    policy_release(*p);
}
#define scoped_policy __attribute__((cleanup(policy_release_at)))

static inline void assert_refused(const char *says)
{
    struct err e = {0};
    scoped_policy const struct policy *p = ward_policy(ward, &e);
    assert_null(p);
    assert_int_equal(e.code, ERR_DENIED);
    if (!strstr(e.msg, says))
        fail_msg("'%s' is not in: %s", says, e.msg);
}
