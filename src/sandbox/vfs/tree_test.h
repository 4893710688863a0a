/* vfs/tree_test.h - helpers of this room's tests. */
#pragma once
#include <stdio.h>
#include <string.h>

#include "vfs/vfs.h"

static struct vfs *v;

#define S(text) str_of(text)

/* A file's bytes, or the name of the errno; valid until the next call. */
static const char *content(const char *path)
{
    static char text[2048];
    scoped_buf struct buf b;
    buf_init(&b, sizeof text - 1);
    int failed = vfs_get(v, S(path), &b);
    if (failed)
        return strerrorname_np(failed);
    memcpy(text, buf_view(&b).at, b.n);
    text[b.n] = '\0';
    return text;
}
