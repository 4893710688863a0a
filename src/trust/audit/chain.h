/* audit/chain.h - one chain of records in one folder. Private to audit. */
#pragma once
#include <pthread.h>

#include "audit/audit.h"
#include "crypto/crypto.h"

#define MAC_HEX CRYPTO_SHA256_HEX /* 64 digits and a NUL */
#define STATE_MAX 16u
#define LANES_MAX 64u /* processes that append to one trail at a time */
#define FILE_NAME_MAX 40u

/* The end of a chain as it is noted outside of it. */
struct head {
    uint64_t count; /* of records; 0: none yet */
    uint32_t first; /* the number of its first file; what is below came from elsewhere */
    uint32_t file;  /* and of its last; 0: none yet */
    uint64_t size;  /* of that file */
    char mac[MAC_HEX];
    char state[STATE_MAX + 1];
    uint32_t open;      /* intents that have no end yet */
    uint32_t open_from; /* the file of the first of them, or a lower one; 0: none */
};

/* A lane of a trail: a chain of its own, which one process at a time appends to, as
 * long as it lives. */
struct chain {
    unsigned lane;
    char name[48];         /* of its head file */
    int heads;             /* where that lies, borrowed; -1: not known */
    char *folder;          /* for people */
    int dir;               /* -1: not opened */
    int head_fd;           /* locked by who appends */
    unsigned char key[32]; /* this chain's own */
    struct head head;      /* as it was read or written last */
    int beside;            /* of the texts beside its records, -1: not opened */
    int fd;                /* of the file `fd_file`, -1: none */
    uint32_t fd_file;
    uint64_t fd_inode;
    uint64_t reserved; /* bytes of the file that have their room on the disk */
    bool failed;       /* the last write: what seemed to be reserved is not */
    uint64_t rotate_at;
    unsigned looks;
};

/* A record to be appended. */
struct entry {
    struct str members, before;
    const char *state;
    enum trail_kind kind;
};

/* Opens the head file `name` beneath `heads`, and takes over `dir` and `folder`, also
 * where it fails. To write: ERR_BUSY where another process has the lane, and what one
 * that died has left is taken in. */
bool chain_open(struct chain *c, unsigned lane, int dir, char *folder, int heads,
                const char *name, const unsigned char key[32], bool write, struct err *e);
/* Does the file hold more than its head says? */
bool chain_grew(const struct chain *c, const struct head *h);
/* To read what no head is known of. */
bool chain_open_headless(struct chain *c, unsigned lane, int dir, char *folder,
                         const char *name, const unsigned char key[32]);
void chain_close(struct chain *c);

/* Is the file still what was written? Begins a new one where it is not, or is full. */
bool chain_look(struct chain *c, struct err *e);
/* Appends the record and what goes before it, both or nothing. */
bool chain_append(struct chain *c, const struct entry *entry, struct err *e);
/* Keeps a line beside the last record, where that is possible. */
void chain_put_beside(struct chain *c, struct str text);
/* Takes room for what will be appended. */
bool chain_reserve(struct chain *c, struct err *e);

int chain_open_file(const struct chain *c, uint32_t file); /* to read; -1 */
void chain_file_name(const struct chain *c, uint32_t file,
                     char out[static FILE_NAME_MAX]);
/* The number of a file, and its lane; 0: it is none of ours. */
uint32_t chain_file_number(const char *name, unsigned *lane);
/* The MAC of a record: over the one before and its own bytes. */
void chain_mac(const struct chain *c, const char before[static MAC_HEX], struct str body,
               char out[static MAC_HEX]);
/* The MAC before the first record. */
void chain_first_mac(char out[static MAC_HEX]);
/* The record's bytes that its MAC is over, and the MAC's digits. false: it does not end
 * as a record does. */
bool chain_split(struct str line, struct str *body, struct str *mac);
/* Reads the head file; a head that cannot be read is zeros, and *damaged. */
bool chain_read_head(const struct chain *c, struct head *out, bool *damaged,
                     struct err *e);
#define FILE_MAX 999999u /* higher numbers are none of ours */
/* The numbers of the first and the last file; 0: there is none. */
bool chain_files(const struct chain *c, uint32_t *first, uint32_t *last, struct err *e);

/* The numbers of all its files, sorted: whatever wrote them, there may be gaps of any size. */
struct file_list {
    struct buf numbers;
    const uint32_t *at;
    size_t count;
};
/* file_list_done() is the caller's if it is true. false and ERR_IO. */
bool chain_list(const struct chain *c, struct file_list *out, struct err *e);
void file_list_done(struct file_list *l);
#define scoped_file_list __attribute__((cleanup(file_list_done)))
/* The first that is not below this one; 0: there is none. */
uint32_t file_list_from(const struct file_list *l, uint32_t file);

/* Goes on in a new file, so that the last one can be exported. */
bool chain_next_file(struct chain *c, const char *why, struct err *e);

/* ---- export.c ------------------------------------------------------------ */

/* The part that was exported from a chain: noted outside of it, beside the head. */
struct base {
    uint32_t first;    /* the first file that is left; 0: nothing was taken out */
    uint64_t count;    /* the number of the last record before */
    char mac[MAC_HEX]; /* and its MAC */
};
/* Zeros where nothing was exported. false and ERR_IO: it cannot be read. */
bool chain_read_base(const struct chain *c, struct base *out, struct err *e);

struct exporting {
    int fd;
    struct str before; /* a time; empty: all */
    bool remove;
    uint64_t records, files, bytes; /* so far */
    char last_time[40];             /* of all records so far; "": none */
    bool busy; /* the newest of a chain stay: a process appends to it */
};
/* `c` is open to write where no process has it (`own`), else to read. */
bool chain_export(struct chain *c, bool own, struct exporting *x, struct err *e);
/* As audit_verify_export(). */
bool export_verify(const unsigned char key[32], int fd, struct json_writer *out,
                   bool *sound, struct err *e);

/* ---- settle.c ------------------------------------------------------------ */

/* Appends the ends of intents whose process has died; the chain is open to write, and was
 * not by this process before. */
bool chain_settle(struct chain *c, const char *vault, audit_interrupted_fn *fn, void *arg,
                  struct err *e);
/* No intent is without its end any more, as far as can be known. */
bool chain_forget_open(struct chain *c, struct err *e);
/* The kind of a record, by its text. */
enum trail_kind chain_kind(struct str line);

/* ---- verify.c ------------------------------------------------------------ */

/* The lines of one file, read in pieces of bounded size. */
struct records {
    int fd;
    uint64_t offset; /* of the next line */
    struct buf buf;
    size_t used;
    bool ended, failed;
    bool
        too_long; /* a line over AUDIT_RECORD_MAX: nothing of it, or behind it, is read */
};
void records_init(struct records *l, int fd, uint64_t offset);
void records_done(struct records *l);
/* The next line without its end. false: there is none; *whole: it has its line end. */
bool records_next(struct records *l, struct str *line, bool *whole);
/* Notes that this file has a line which is too long, where nothing is noted yet: ERR_LIMIT. */
void chain_note_odd(const struct chain *c, uint32_t file, struct err *odd);

/* Each whole line of one file; of one that is not there none. What is odd is noted in *odd
 * and no failure. */
bool chain_file_lines(const struct chain *c, uint32_t file, trail_line_fn *each,
                      void *arg, struct err *odd, struct err *e);
/* The same of all its files, in their order. */
bool chain_lines(const struct chain *c, trail_line_fn *each, void *arg, struct err *odd,
                 struct err *e);
/* Writes the chain's item of trail_verify(); *sound becomes false where something is wrong. */
bool chain_verify(struct chain *c, struct json_writer *out, bool *sound, struct err *e);
/* The chain's part of trail_follow(): from *file and *offset on, which it moves; not `begun`:
 * sets them to the end. */
bool chain_follow(const struct chain *c, uint32_t *file, uint64_t *offset, bool begun,
                  trail_line_fn *each, void *arg, struct err *odd, struct err *e);
