/* vm/init/order.h - what init and the shells of sessions say to each other: one message of
 * a SOCK_SEQPACKET pair each.
 *
 * A shell is bash with a builtin of ours (guest/vm/session), which takes orders, so nothing
 * is ever read out of a command's output, and a command can neither see nor change the loop
 * that runs it. Whatever runs in a shell may reach its socket, as it is the same user: a
 * reply counts only with the nonce of the order that it answers.
 */
#pragma once
#include <stdint.h>

#define ORDER_PORT 3     /* init's end has this descriptor when bash starts */
#define ORDER_LOWEST 400 /* it is moved there, away from descriptors that commands use */
/* A signal of init's, with the signal to deliver as its value: see session.c. */
#define ORDER_SIGNAL (SIGRTMAX - 2)

enum order_kind {
    ORDER_FORK = 1, /* to the first shell: fork. With a descriptor: the new shell's */
    ORDER_RUN,      /* with stdout, stderr, and those of the flags */
};
enum order_flags {
    ORDER_INPUT = 1 << 0,    /* with a descriptor for stdin; else /dev/null */
    ORDER_FILE = 1 << 1,     /* the text is in a file, the last descriptor */
    ORDER_TERMINAL = 1 << 2, /* stdin becomes its controlling terminal */
    ORDER_LAST = 1 << 3,     /* the shell ends with this command */
};
#define ORDER_TEXT_MAX 4096u /* bytes of a text without a file */
/* Followed by cwd and env, as in struct vm_exec_head, each with its NUL if present, and
 * by the text, unless it is in a file. */
struct order {
    uint64_t nonce;
    uint32_t kind, flags;
    /* of $RANDOM, which would repeat in forked shells and copied machines */
    uint32_t seed;
    uint32_t cwd_length, env_length, text_length;
};

enum reply_kind {
    REPLY_HELLO = 1, /* from a new shell: status is its process id */
    REPLY_DONE,      /* status of the command */
    REPLY_NOT_BEGUN, /* status is the errno of cwd */
};
struct reply {
    uint64_t nonce;
    uint32_t kind, status;
    uint64_t cpu_ns; /* of the shell and its children, in all */
    uint64_t forked; /* 0: the command started no process */
};
