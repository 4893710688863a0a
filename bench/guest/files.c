/* What a program does with files, as often as it is told, and how long each took. Runs in
 * our WASI and in the peer's alike (bench/run files).
 *
 *   files read FILE       reads it whole, 64 KiB at a time; "-" is standard input
 *   files write FILE N    writes N bytes, 64 KiB at a time; "-" is standard output
 *   files lines FILE      reads it with the C library, line by line
 *   files open FOLDER N   opens and closes the files f0 to f(N-1) there
 *   files stat FOLDER N   looks at each of them
 *   files list FOLDER     reads the folder's entries
 *
 * To standard error: "COUNT NANOSECONDS". */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char piece[64 << 10];

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long read_whole(const char *name)
{
    long long total = 0;
    ssize_t n;
    int fd = strcmp(name, "-") ? open(name, O_RDONLY) : 0;
    while (fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0)
        total += n;
    close(fd);
    return total;
}

static long long write_whole(const char *name, long long size)
{
    int fd = strcmp(name, "-") ? open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666) : 1;
    long long total = 0;
    for (ssize_t n; fd >= 0 && total < size; total += n)
        if ((n = write(fd, piece, sizeof piece)) <= 0)
            break;
    close(fd);
    return total;
}

static long long read_lines(const char *name)
{
    long long lines = 0;
    FILE *f = fopen(name, "r");
    while (f && fgets(piece, sizeof piece, f))
        lines++;
    return lines;
}

static long long each(const char *folder, long long count, int opens)
{
    long long done = 0;
    char name[256];
    struct stat st;
    for (long long i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/f%lld", folder, i);
        int fd = opens ? open(name, O_RDONLY) : stat(name, &st);
        done += fd >= 0;
        if (opens)
            close(fd);
    }
    return done;
}

static long long list(const char *folder)
{
    long long count = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        count++;
    if (d)
        closedir(d);
    return count;
}

static long long work(const char *what, const char *name, long long n)
{
    return !strcmp(what, "read")    ? read_whole(name)
           : !strcmp(what, "write") ? write_whole(name, n)
           : !strcmp(what, "lines") ? read_lines(name)
           : !strcmp(what, "list")  ? list(name)
                                    : each(name, n, !strcmp(what, "open"));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    long long before = now();
    long long count = work(argv[1], argv[2], argc > 3 ? atoll(argv[3]) : 0);
    fprintf(stderr, "%lld %lld\n", count, now() - before);
    return 0;
}
