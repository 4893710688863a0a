/* cli/machine.h - the subcommands of `cloche vm`: a Linux machine for a person, in this
 * process and for one command. Private to cli. */
#pragma once
#include "cli/options.h"
#include "vm/commands.h"
#include "vm/copies.h"

/* Each reads its own words from argv[2] on and answers the exit code: the command's. */
int machine_exec(int argc, char **argv);
int machine_shell(int argc, char **argv);
int ports_command_list(int argc, char **argv);
int ports_command_expose(int argc, char **argv);
int ports_command_unexpose(int argc, char **argv);
/* machine_copies.c */
int machine_snapshot(int argc, char **argv);
int machine_restore(int argc, char **argv);
int machine_fork(int argc, char **argv);
int machine_snapshots(int argc, char **argv);
int machine_cp(int argc, char **argv); /* machine_cp.c */

/* Shared by both commands: options, and the words. */
#define MACHINE_EXIT_FAILED 125  /* no machine, or it failed: as `docker exec` has it */
#define MACHINE_EXIT_TIMEOUT 124 /* as timeout(1) has it */

struct machine_words {
    const char *env[OPTION_REPEAT + 1];
    const char *allow[OPTION_REPEAT + 1];
    const char *publish[OPTION_REPEAT + 1];
    const char *mounts[OPTION_REPEAT + 1];
    const char *cwd, *ram, *disk, *timeout, *from, *save, *keep, *changes;
    bool help, network;
    struct vm_options options;
    uint64_t timeout_ns;
    struct buf command; /* for bash; empty: none was given */
};
/* The rows of the options; `timeout` where a command may have one. */
#define MACHINE_ROWS 14u
size_t machine_rows(struct machine_words *w, bool timeout,
                    struct option_row out[static MACHINE_ROWS]);
/* Reads the words: behind "--" they are one command's words, as they are; without it one
 * word is text for the shell, several are words. false: it ends with *exit. */
bool machine_read(struct machine_words *w, const char *usage, bool timeout, int argc,
                  char **argv, int *exit);
void machine_words_done(struct machine_words *w);
#define scoped_machine_words __attribute__((cleanup(machine_words_done)))

/* ---- whom it may reach (machine_network.c) ----------------------------------------- */

/* As --network and --allow-host say; without both nothing is allowed. `w` outlives it. NULL and
 * *e: the policy cannot be read, or names no host; an entry is none. */
struct machine_network;
struct machine_network *machine_network_open(const struct machine_words *w,
                                             struct err *e);
void machine_network_close(struct machine_network *n); /* NULL is fine */
SCOPED(machine_network, machine_network_close);
const struct vm_network *machine_network_of(const struct machine_network *n);
/* Once its machine has ended: one line to standard error about the first name or address that was
 * refused, if any was, with the option that allows it. NULL is fine. */
void machine_network_report(const struct machine_network *n);

/* ---- what of it is reached (machine_publish.c) --------------------------------------- */

/* Exposes the ports of --publish, and prints where they are. false and *e: ERR_INVALID, or as
 * vm_expose(). */
bool machine_publish(struct vm *m, const char *const *publish, struct err *e);

/* ---- what it sees of this computer (machine_mount.c) --------------------------------- */

#define MACHINE_MOUNT_AT "/mount" /* of a mount's tree, which has nothing else */
/* Mounts the folders of --mount. false and *e: ERR_INVALID, or as vm_mount(). */
bool machine_mount(struct vm *m, const char *const *mounts, struct err *e);

/* What becomes of the changes of overlays, as --changes says, once the command has ended with `exit`:
 * then the machine sees none of its mounts any more. The exit code. (machine_changes.c) */
int machine_changes_end(struct vm *m, const struct machine_words *w, int exit);
bool machine_changes_word(const char *word, struct err *e);
int machine_changes(int argc, char **argv);
int machine_apply(int argc, char **argv);

/* The first that was refused (machine_refused.c). */
struct machine_refusal {
    bool off;            /* neither --network nor --allow-host was given */
    bool never;          /* no option allows it */
    char what[BUF_NAME]; /* as --allow-host takes it; "": nothing was refused */
    char failed[sizeof(
        (struct vm_flow){0}.why)]; /* what this computer did not let it do */
};
void machine_refused_name(struct machine_refusal *r, const char *name);
/* false: it is not the first. */
bool machine_refused_peer(struct machine_refusal *r, const struct vm_peer *p);
void machine_refused_report(const struct machine_refusal *r);

/* ---- the machine -------------------------------------------------------------------- */

/* A machine of this process alone. */
struct machine_box {
    struct machine_network *network;
    char *guests, *ahead, *image, *cache, *copies;
    struct engine *engine;
    struct vms *all;
    struct vm *machine;
};
bool machine_box_open(struct machine_box *b, const struct machine_words *w,
                      struct err *e);
/* Without a machine. */
bool machine_box_begin(struct machine_box *b, struct err *e);
/* Freezes a machine of --keep; saves one as --save says, where the command ended with 0. The exit
 * code. */
int machine_box_save(struct machine_box *b, const struct machine_words *w, int exit);
void machine_box_close(struct machine_box *b); /* one of zeros is fine */

/* ---- copies (machine_copies.c) -------------------------------------------------------- */

char *machine_copies_path(void); /* NULL: there is no place for them. The caller frees */
/* What --from says, else the snapshot "default": sets o->from, which the caller drops. */
bool machine_copy_from(struct vms *all, const struct machine_words *w,
                       struct vm_options *o, struct err *e);
/* The terminal's machine that is kept under this name, or a new one, with `o`. As vm_find_kept(). */
struct vm *machine_copy_kept(struct vms *all, const char *name, struct vm_options *o,
                             struct err *e);
/* Finds a saved machine of the terminal, or of the caller whose name begins so; of a machine that
 * is kept and a snapshot with that name, the former. false and ERR_NOT_FOUND, ERR_INVALID. */
bool machine_saved_find(struct vms *all, const char *name, const char *caller,
                        struct vm_saved *out, struct err *e);
bool machine_copy_save(struct vms *all, struct vm *m, const char *name, struct err *e);

/* ---- what is typed (machine_typing.c) --------------------------------------------- */

/* A thread that hands standard input, signals and the terminal's size to the machine.
 * Before there is a command a signal that asks to end cancels the start. Made before any
 * other thread: signals wait for it in all of them. */
struct typing;
/* `terminal`: three times Ctrl-] within a second end the machine. NULL and ERR_IO. */
struct typing *typing_begin(bool terminal, struct err *e);
struct cancel *typing_cancel(struct typing *t); /* of the start */
struct vm_keyboard *typing_keyboard(struct typing *t);
/* The command is about to run in `m`, which a person can have ended from now on. false and
 * ERR_CANCELLED: it was asked to end before that. */
bool typing_command(struct typing *t, struct vm *m, struct err *e);
/* The exit code where no command came to its own end: what a shell says of one that died of
 * the signal that asked to end, or MACHINE_EXIT_FAILED. */
int typing_failed(struct typing *t);
void typing_end(struct typing *t); /* NULL is fine */
SCOPED(typing, typing_end);

/* All of it, waiting where that takes long; false: nobody reads there any more. */
bool machine_write(int fd, struct str bytes);
