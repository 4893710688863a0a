/* workspaces/world_test.h - two vaults of a test's own, and writes by another program.
 * Only for *_test.c. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "base/home_test.h"
#include "workspaces/views.h"

static char home[HOME_SIZE];
static struct actions *actions;
static struct workspaces *workspaces;
static const struct caller person = {.name = "test", .level = LEVEL_FULL};

static inline const char *full(const char *path)
{
    static char space[200];
    (void)snprintf(space, sizeof space, "%s/%s", home, path);
    return space;
}

/* The file, and the folder that it lies in. */
static inline void put(const char *path, const char *text)
{
    char name[200];
    (void)snprintf(name, sizeof name, "%s/%s", home, path);
    *strrchr(name, '/') = '\0';
    (void)mkdir(name, 0700);
    name[strlen(name)] = '/';
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Makes the folders; `fill` puts what is there before they are opened. */
static inline bool world_begin(const char *first, const char *second, void (*fill)(void),
                               const struct workspaces_options *o)
{
    struct err e = {0};
    if (!home_make(home))
        return false;
    static char paths[2][200];
    const char *names[] = {first, second}, *vaults[3] = {0};
    for (size_t i = 0; i < LENGTH(names); i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s", full(names[i]));
        vaults[i] = paths[i];
        if (mkdir(paths[i], 0700) != 0)
            return false;
    }
    fill();
    actions = actions_open(&(struct actions_options){.vaults = vaults}, &e);
    workspaces = actions ? workspaces_open(actions, o, &e) : NULL;
    return workspaces != NULL;
}

static inline int world_end(void)
{
    workspaces_close(workspaces);
    actions_close(actions);
    return folder_remove(home);
}
