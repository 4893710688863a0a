/* abi/callback.h - what cloche-guest and the host say to each other: programs of a command in a
 * machine call the API back. All of it is untrusted on the host's side.
 *
 * `cloche-guest --serve PATH` runs beside the command, as one of its own. It listens at the
 * socket PATH, and carries the bytes of its clients over its standard input and output, in
 * pieces of at most CALLBACK_PIECE bytes behind a head. A piece without bytes: that client is
 * gone, or (to it) has its whole answer. Numbers are little-endian. */
#pragma once
#include <stdint.h>

#define CALLBACK_ENV \
    "CLOCHE_GUEST" /* the socket's path, in the environment of the command */
#define CALLBACK_PIECE 32768u
#define CALLBACK_CLIENTS 64u
#define CALLBACK_REQUEST_MAX (16u << 20) /* bytes */
#define CALLBACK_ANSWER_MAX (16u << 20)

struct callback_head {
    uint32_t client; /* its number, not used twice; 0: it listens now */
    uint32_t n;      /* bytes that follow */
};

/* A request: u32 of bytes behind it, then items: a head, and its bytes. The first word is the
 * name of the call. An answer: u32 of bytes behind it, u8 enum callback_status, and bytes. */
enum callback_item {
    /* Text, or an object or array as JSON; "key=text" and "key:=json" are members of the options. */
    CALLBACK_WORD = 0,
    CALLBACK_BYTES = 1, /* the value of the last word, which ends with "=", or is empty */
    CALLBACK_RAW = 2,   /* texts, and the output of programs, are wanted as they are */
};
struct callback_item_head {
    uint32_t kind, n;
};
enum callback_status { CALLBACK_OK = 0, CALLBACK_FAILED = 1 };
