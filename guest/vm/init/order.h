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

#define ORDER_PORT 3     /* init's end is this one's descriptor when bash is started */
#define ORDER_LOWEST 400 /* where it then goes, out of the way of what commands close */
/* What init sends, with the signal that is meant as its value: see session.c. */
#define ORDER_SIGNAL (SIGRTMAX - 2)

enum order_kind {
    ORDER_FORK =
        1,     /* to the first shell: become two. With one descriptor: the new one's */
    ORDER_RUN, /* with stdout, stderr, then what the flags say */
};
enum order_flags {
    ORDER_INPUT = 1 << 0,    /* with a descriptor for stdin; else that is /dev/null */
    ORDER_FILE = 1 << 1,     /* the text is in a file, whose descriptor comes last */
    ORDER_TERMINAL = 1 << 2, /* stdin is to be its controlling terminal */
    ORDER_LAST = 1 << 3,     /* it ends with this command */
};
#define ORDER_TEXT_MAX 4096u /* bytes of a text without a file */
/* Then cwd and env, as in struct vm_exec_head; each with its NUL, where there is any. Then
 * the text, unless it is in a file. */
struct order {
    uint64_t nonce;
    uint32_t kind, flags;
    uint32_t seed; /* of $RANDOM: shells that were forked, or machines that were copied,
                      would otherwise draw the same */
    uint32_t cwd_length, env_length, text_length;
};

enum reply_kind {
    REPLY_HELLO = 1, /* of a new shell: status is its process */
    REPLY_DONE,      /* status of the command */
    REPLY_NOT_BEGUN, /* status is the errno of cwd */
};
struct reply {
    uint64_t nonce;
    uint32_t kind, status;
    uint64_t cpu_ns; /* of the shell and the children that it waited for, in all */
    uint64_t forked; /* 0: the command started no process */
};
