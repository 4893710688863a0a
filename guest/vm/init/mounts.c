/* vm/init/mounts.c - see mounts.h. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "vm/init/log.h"
#include "vm/init/mounts.h"
#include "vm/init/port.h"

/* The file system itself, once: it opens a session with the host's server. */
static bool bring_files(void)
{
    static bool there;
    if (there)
        return true;
    if (mkdir(VM_FILES_AT, 0700) < 0 && errno != EEXIST)
        return false;
    there = mount(VM_FILES_TAG, VM_FILES_AT, "virtiofs", MS_NOSUID | MS_NODEV, NULL) == 0;
    return there;
}

/* All folders of the path. */
static bool make_folders(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        bool made = mkdir(path, 0755) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made)
            return false;
    }
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

static bool bind_at(const struct vm_mount_head *head, char *place)
{
    char from[sizeof VM_FILES_AT + 16];
    snprintf(from, sizeof from, VM_FILES_AT "/%u", head->number);
    if (!bring_files() || !make_folders(place) ||
        mount(from, place, NULL, MS_BIND, NULL) < 0)
        return false;
    if (!head->read_only ||
        mount(NULL, place, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
              NULL) == 0)
        return true;
    int why = errno;
    umount2(place, MNT_DETACH);
    errno = why;
    return false;
}

static bool perform(const struct vm_frame *f, const struct vm_mount_head *head,
                    char *place)
{
    if (f->verb == VM_MOUNT)
        return bind_at(head, place);
    return umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
}

void mounts_frame(const struct vm_frame *f, const uint8_t *payload, bool own_machine)
{
    struct vm_mount_head head;
    char place[PATH_MAX];
    size_t n = f->length - sizeof head;
    if (f->length <= sizeof head || n >= sizeof place)
        die("the host sent a mount of %u bytes", f->length);
    memcpy(&head, payload, sizeof head);
    memcpy(place, payload + sizeof head, n);
    place[n] = 0;
    errno = ENOSYS;
    bool done = own_machine && perform(f, &head, place);
    struct vm_mounted said = {.number = head.number,
                              .failed = done ? 0 : (uint32_t)errno};
    port_say(0, VM_MOUNTED, &said, sizeof said);
}
