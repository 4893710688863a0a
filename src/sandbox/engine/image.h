/* engine/image.h - what slots know of the images that they show. */
#pragma once
#include "engine/internal.h"

/* Pages from..to, in bytes. Each is a mapping of its own in each slot, so that
 * small gaps of zeros are taken along. */
struct stretch {
    size_t from, to;
};

struct image {
    atomic_int users; /* modules, and slots that are in use */
    bool verify_all;
    struct verifier *verifier; /* compares instead of who gives a slot back; or NULL */
    bool is_file;              /* fd is a file, `pristine` and `holds` are NULL */
    int fd;      /* else a sealed memfd, or a file beside the program; -1 where slots
                     are not used */
    off_t fd_at; /* where the image begins in it */
    size_t size;
    const uint8_t *pristine;   /* shared mapping of fd, or memory of our own */
    uint8_t *holds;            /* for each page: is it not all zero? */
    struct stretch *stretches; /* of pages to map from fd */
    size_t stretch_count;
    pthread_mutex_t lock; /* guards what follows */
    struct slot *free;
    size_t free_count;
    uint64_t resets, remaps, verified, slots;
    uint8_t id[IMAGE_ID];
    bool has_id;
};

static inline bool page_is_zero(const uint8_t *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0;
}

void slot_unmap(struct slot *s);
/* Compares a slot that was reset with its image, and gives it back after that. */
void slot_compare(struct slot *s);

/* ---- verifier.c ----------------------------------------------------------- */

/* Calls slot_compare() on a thread of its own, which is begun when it is needed; false: there is
 * none. Threads: safe. */
bool verifier_take(struct verifier *v, struct slot *s);
