/* sql/wire.h - what is said on the socket between the two processes. Private to sql.
 *
 * Frames: a head, then `size` bytes of JSON. One each way is underway at a time.
 *   FRAME_OPEN     -> {path?, inode?, views: [[name, select]], inner?}; once, first
 *   FRAME_QUESTION -> {sql, params?, limit, bytes, until}
 *   FRAME_ANSWER   <- {columns, rows, row_count, truncated}
 *   FRAME_ERROR    <- {code, message}
 *   FRAME_REFUSED  <- the same: it cannot open what it was to, and ends
 */
#pragma once
#include "base/base.h"

enum frame_kind {
    FRAME_OPEN = 1,
    FRAME_QUESTION,
    FRAME_ANSWER,
    FRAME_ERROR,
    FRAME_REFUSED
};

struct frame_head {
    uint32_t kind;
    uint32_t size;
};

#define OPEN_MAX (256u << 10)    /* bytes */
#define QUESTION_MAX (32u << 20) /* bytes; JSON, in which 20 MB may become more */
#define ANSWER_MAX (64u << 20)   /* bytes */
#define ERROR_MAX 4096u          /* bytes */
#define COLUMNS_MAX 200u         /* SQLITE_LIMIT_COLUMN of questions */
