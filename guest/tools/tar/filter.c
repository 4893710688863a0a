/* The compressors of tar, which it runs as processes elsewhere: gzip, bzip2 and xz, as
 * streams within the program.
 *
 * tar reads and writes tapes of other hosts through functions of its own (rmt.h). There are
 * no other hosts here; the place is taken by archives that are compressed: a descriptor that
 * tar takes for a remote one is the one stream that is open.
 */
#include <config.h>
#include <system.h>

#include <bzlib.h>
#include <lzma.h>
#include <rmt.h>
#include <zlib.h>

#include "common.h"

#define ROOM (1 << 16)
#define BEGIN __REM_BIAS /* the only descriptor that tar gets from here */

enum format { GZIP, BZIP2, XZ, LZMA };

struct codec {
    const char *name;
    enum format format;
    const char *magic; /* what a stream begins with; NULL: too little to tell by */
    size_t magic_length;
};
static const struct codec codecs[] = {
    {"gzip", GZIP, "\037\213", 2}, {"pigz", GZIP, "\037\213", 2},
    {"bzip2", BZIP2, "BZh", 3},    {"xz", XZ, "\3757zXZ", 5},
    {"lzma", LZMA, NULL, 0},
};

static struct {
    int fd;
    enum format format;
    bool writes;
    bool ended, damaged; /* of what is read nothing more comes; for it is not whole */
    unsigned char bytes[ROOM];
    z_stream z;
    bz_stream b;
    lzma_stream x;
} stream;

const char *rmt_command;
const char *rmt_dev_name__;
bool force_local_option;

/* ---- which compressor ------------------------------------------------------ */

/* `command`: "xz", "/usr/bin/gzip -9": its program, and *level where it names one. */
static const struct codec *codec_of(const char *command, int *level)
{
    size_t length = strcspn(command, " \t");
    const char *name = command;
    for (const char *at = command; at < command + length; at++)
        if (*at == '/')
            name = at + 1;
    length -= (size_t)(name - command);
    for (const char *at = name + length; (at = strstr(at, " -")); at += 2)
        if (at[2] >= '0' && at[2] <= '9')
            *level = at[2] - '0';
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (strlen(codecs[i].name) == length && memcmp(codecs[i].name, name, length) == 0)
            return &codecs[i];
    FATAL_ERROR((0, 0,
                 "%s: there is no such compressor here: gzip, bzip2, xz and lzma are",
                 command));
    return NULL;
}

static bool begin_writing(int level)
{
    switch (stream.format) {
    case GZIP:
        return deflateInit2(&stream.z, level < 1 ? 6 : level, Z_DEFLATED, 15 + 16, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    case BZIP2:
        return BZ2_bzCompressInit(&stream.b, level < 1 ? 9 : level, 0, 0) == BZ_OK;
    case XZ:
        return lzma_easy_encoder(&stream.x, level < 0 ? 6 : (uint32_t)level,
                                 LZMA_CHECK_CRC64) == LZMA_OK;
    case LZMA: {
        lzma_options_lzma options;
        return !lzma_lzma_preset(&options, level < 0 ? 6 : (uint32_t)level) &&
               lzma_alone_encoder(&stream.x, &options) == LZMA_OK;
    }
    }
    return false;
}

static bool begin_reading(void)
{
    switch (stream.format) {
    case GZIP:
        return inflateInit2(&stream.z, 15 + 16) == Z_OK;
    case BZIP2:
        return BZ2_bzDecompressInit(&stream.b, 0, 0) == BZ_OK;
    default:
        return lzma_auto_decoder(&stream.x, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK;
    }
}

static void begin(const char *command, bool writes)
{
    int level = -1;
    stream.format = codec_of(command, &level)->format;
    stream.writes = writes;
    stream.ended = stream.damaged = false;
    stream.x = (lzma_stream)LZMA_STREAM_INIT;
    if (!(writes ? begin_writing(level) : begin_reading()))
        FATAL_ERROR((0, 0, "%s: cannot be started: not enough memory", command));
    archive = BEGIN;
}

pid_t sys_child_open_for_compress(void)
{
    const char *name = archive_name_array[0];
    stream.fd = STDOUT_FILENO;
    if (strcmp(name, "-") != 0) {
        if (backup_option)
            maybe_backup_file(name, 1);
        stream.fd = creat(name, MODE_RW);
        if (stream.fd < 0)
            open_fatal(name);
    }
    begin(use_compress_program_option, true);
    return 0;
}

pid_t sys_child_open_for_uncompress(void)
{
    const char *name = archive_name_array[0];
    int state;
    const char *command = first_decompress_program(&state);
    stream.fd = STDIN_FILENO;
    if (strcmp(name, "-") != 0) {
        stream.fd = open(name, O_RDONLY);
        if (stream.fd < 0)
            open_fatal(name);
    }
    begin(command ? command : "gzip", false);
    return 0;
}

/* What libbz2 calls when it finds itself at fault. */
void bz_internal_error(int code);
void bz_internal_error(int code)
{
    FATAL_ERROR((0, 0, "bzip2: internal error %d", code));
}

/* Nobody to wait for, but what a child would have failed with is told here. */
void sys_wait_for_child(pid_t child, bool eof)
{
    (void)child, (void)eof;
    if (stream.damaged)
        FATAL_ERROR(
            (0, 0,
             "%s: the compressed data are damaged, or not of the format that was told",
             archive_name_array[0]));
}

/* ---- what tar reads --------------------------------------------------------- */

/* More of the compressed bytes; how many, 0 at the end. */
static size_t refill(void)
{
    size_t got = safe_read(stream.fd, stream.bytes, ROOM);
    if (got == SAFE_READ_ERROR)
        read_fatal(archive_name_array[0]);
    return got;
}

/* What came before is given out, and the program then ends badly: sys_wait_for_child(). */
static void damaged(void)
{
    stream.damaged = stream.ended = true;
}

/* What follows a member may be another one, as after `cat a.gz b.gz`; zeros are padding. */
static bool another_member(unsigned char first)
{
    if (first == 0)
        return false;
    return stream.format == GZIP
               ? inflateReset(&stream.z) == Z_OK
               : BZ2_bzDecompressEnd(&stream.b) == BZ_OK && begin_reading();
}

static void inflate_some(bool at_end)
{
    int outcome = inflate(&stream.z, Z_NO_FLUSH);
    if (outcome == Z_STREAM_END) {
        if (stream.z.avail_in == 0) {
            stream.z.avail_in = (uInt)refill();
            stream.z.next_in = stream.bytes;
        }
        stream.ended = stream.z.avail_in == 0 || !another_member(*stream.z.next_in);
    } else if ((outcome != Z_OK && outcome != Z_BUF_ERROR) ||
               (at_end && stream.z.avail_out > 0)) {
        damaged();
    }
}

static void unbzip_some(bool at_end)
{
    int outcome = BZ2_bzDecompress(&stream.b);
    if (outcome == BZ_STREAM_END) {
        char *next = stream.b.next_in, *out = stream.b.next_out;
        unsigned in = stream.b.avail_in, room = stream.b.avail_out;
        if (in == 0) {
            in = (unsigned)refill();
            next = (char *)stream.bytes;
        }
        stream.ended = in == 0 || !another_member((unsigned char)*next);
        stream.b.next_in = next, stream.b.next_out = out;
        stream.b.avail_in = in, stream.b.avail_out = room;
    } else if (outcome != BZ_OK || (at_end && stream.b.avail_out > 0)) {
        damaged();
    }
}

static void unxz_some(bool at_end)
{
    lzma_ret outcome = lzma_code(&stream.x, at_end ? LZMA_FINISH : LZMA_RUN);
    if (outcome == LZMA_STREAM_END)
        stream.ended = true;
    else if (outcome != LZMA_OK)
        damaged();
}

/* Decompresses into `to` until it is full or all is read. */
static size_t decompress(char *to, size_t n)
{
    size_t left = n;
    bool at_end = false;
    while (left > 0 && !stream.ended) {
        size_t in = stream.format == GZIP    ? stream.z.avail_in
                    : stream.format == BZIP2 ? stream.b.avail_in
                                             : stream.x.avail_in;
        unsigned char *next = stream.format == GZIP ? (unsigned char *)stream.z.next_in
                              : stream.format == BZIP2
                                  ? (unsigned char *)stream.b.next_in
                                  : (unsigned char *)stream.x.next_in;
        if (in == 0) {
            in = refill();
            next = stream.bytes;
            at_end = in == 0;
        }
        switch (stream.format) {
        case GZIP:
            stream.z.next_in = next, stream.z.avail_in = (uInt)in;
            stream.z.next_out = (unsigned char *)to + n - left,
            stream.z.avail_out = (uInt)left;
            inflate_some(at_end);
            left = stream.z.avail_out;
            break;
        case BZIP2:
            stream.b.next_in = (char *)next, stream.b.avail_in = (unsigned)in;
            stream.b.next_out = to + n - left, stream.b.avail_out = (unsigned)left;
            unbzip_some(at_end);
            left = stream.b.avail_out;
            break;
        default:
            stream.x.next_in = next, stream.x.avail_in = in;
            stream.x.next_out = (uint8_t *)to + n - left, stream.x.avail_out = left;
            unxz_some(at_end);
            left = stream.x.avail_out;
        }
    }
    return n - left;
}

size_t rmt_read__(int handle, char *to, size_t n)
{
    (void)handle;
    return decompress(to, n);
}

/* ---- what tar writes --------------------------------------------------------- */

/* One step of the compressor; how many bytes of `stream.bytes` it filled. */
static size_t compress_step(const char *from, size_t *n, bool end, bool *done)
{
    switch (stream.format) {
    case GZIP:
        stream.z.next_in = (unsigned char *)from, stream.z.avail_in = (uInt)*n;
        stream.z.next_out = stream.bytes, stream.z.avail_out = ROOM;
        *done = deflate(&stream.z, end ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
        *n = stream.z.avail_in;
        return ROOM - stream.z.avail_out;
    case BZIP2:
        stream.b.next_in = (char *)from, stream.b.avail_in = (unsigned)*n;
        stream.b.next_out = (char *)stream.bytes, stream.b.avail_out = ROOM;
        *done = BZ2_bzCompress(&stream.b, end ? BZ_FINISH : BZ_RUN) == BZ_STREAM_END;
        *n = stream.b.avail_in;
        return ROOM - stream.b.avail_out;
    default:
        stream.x.next_in = (const uint8_t *)from, stream.x.avail_in = *n;
        stream.x.next_out = stream.bytes, stream.x.avail_out = ROOM;
        *done = lzma_code(&stream.x, end ? LZMA_FINISH : LZMA_RUN) == LZMA_STREAM_END;
        *n = stream.x.avail_in;
        return ROOM - stream.x.avail_out;
    }
}

static bool compress_all(const char *from, size_t n, bool end)
{
    bool done = false;
    while (n > 0 || (end && !done)) {
        size_t left = n;
        size_t made = compress_step(from, &left, end, &done);
        from += n - left;
        n = left;
        if (made > 0 && full_write(stream.fd, stream.bytes, made) != made)
            return false;
    }
    return true;
}

size_t rmt_write__(int handle, char *from, size_t n)
{
    (void)handle;
    return compress_all(from, n, false) ? n : 0;
}

int rmt_close__(int handle)
{
    (void)handle;
    bool whole = !stream.writes || compress_all(NULL, 0, true);
    if (stream.fd > STDERR_FILENO && close(stream.fd) != 0)
        whole = false;
    return whole ? 0 : -1;
}

/* ---- what neither hosts nor streams can -------------------------------------- */

int rmt_open__(const char *name, int mode, int bias, const char *shell)
{
    (void)name, (void)mode, (void)bias, (void)shell;
    errno = ENOSYS;
    return -1;
}

off_t rmt_lseek__(int handle, off_t offset, int whence)
{
    (void)handle, (void)offset, (void)whence;
    errno = ESPIPE;
    return -1;
}

int rmt_ioctl__(int handle, unsigned long operation, void *argument)
{
    (void)handle, (void)operation, (void)argument;
    errno = ENOTTY;
    return -1;
}
