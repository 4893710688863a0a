/* A program for tests of the room tools: does one small thing, which its first word says.
 * Under another name than "probe" it prints its words, one a line. */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 65536

static char block[BLOCK];

static int print_words(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        puts(argv[i]);
    return 0;
}

static int copy(int from)
{
    ssize_t got;
    while ((got = read(from, block, sizeof block)) > 0)
        for (ssize_t at = 0, put; at < got; at += put)
            if ((put = write(1, block + at, (size_t)(got - at))) <= 0)
                return 1;
    return got < 0;
}

static int cat(int argc, char **argv)
{
    if (argc == 0)
        return copy(0);
    for (int i = 0; i < argc; i++) {
        FILE *f = fopen(argv[i], "r");
        if (!f || copy(fileno(f))) {
            perror(argv[i]);
            return 1;
        }
        (void)fclose(f);
    }
    return 0;
}

static int head(long lines)
{
    while (lines-- > 0 && fgets(block, sizeof block, stdin))
        fputs(block, stdout);
    return 0;
}

static int count(void)
{
    unsigned long long n = 0;
    for (ssize_t got; (got = read(0, block, sizeof block)) > 0;)
        n += (unsigned long long)got;
    printf("%llu\n", n);
    return 0;
}

/* No byte more than these. */
static int take(unsigned long long n)
{
    ssize_t got = read(0, block, n < sizeof block ? (size_t)n : sizeof block);
    return got < 0 || write(1, block, (size_t)got) != got;
}

/* Asks, and waits for a line. */
static int ask(void)
{
    fputs("name? ", stdout);
    (void)fflush(stdout);
    if (!fgets(block, sizeof block, stdin))
        return 1;
    printf("hello %s", block);
    return 0;
}

/* Whether there is input yet; and, when there is, how many bytes a read finds. */
static int look(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    puts(poll(&input, 1, 0) ? "something" : "nothing yet");
    (void)fflush(stdout);
    if (poll(&input, 1, -1) != 1)
        return 1;
    ssize_t got = read(0, block, sizeof block);
    printf("%ld bytes%s\n", (long)got, isatty(0) ? " of a terminal" : "");
    return got < 0;
}

static int flood(unsigned long long n)
{
    memset(block, 'x', sizeof block);
    for (size_t part; n; n -= part) {
        part = n < sizeof block ? (size_t)n : sizeof block;
        if (write(1, block, part) != (ssize_t)part)
            return 1;
    }
    return 0;
}

static int put(int argc, char **argv)
{
    for (int i = 0; i + 1 < argc; i += 2) {
        FILE *f = fopen(argv[i], "w");
        if (!f || fputs(argv[i + 1], f) < 0 || fclose(f)) {
            perror(argv[i]);
            return 1;
        }
    }
    return 0;
}

/* A file of `n` bytes. */
static int grow(const char *name, unsigned long long n)
{
    FILE *f = fopen(name, "w");
    for (size_t part; f && n; n -= part) {
        part = n < sizeof block ? (size_t)n : sizeof block;
        if (fwrite(block, 1, part, f) != part)
            break;
    }
    if (!f || fclose(f) || n) {
        perror(name);
        return 1;
    }
    return 0;
}

/* Files until there is no room for more; prints how many. */
static int litter(void)
{
    unsigned long long n = 0;
    for (;; n++) {
        (void)snprintf(block, sizeof block, "/tmp/%llu", n);
        FILE *f = fopen(block, "w");
        if (!f)
            break;
        (void)fclose(f);
    }
    perror("litter");
    printf("%llu\n", n);
    return 0;
}

static int list(const char *name)
{
    DIR *d = opendir(name);
    if (!d) {
        perror(name);
        return 1;
    }
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            puts(e->d_name);
    (void)closedir(d);
    return 0;
}

static int eat(void)
{
    static char *volatile last;
    while ((last = malloc(1 << 20)))
        memset(last, 1, 1 << 20);
    puts("there is no more");
    return 3;
}

static int deeper(volatile int n)
{
    volatile char room[256] = {(char)n};
    return deeper(n + 1) + room[n & 1];
}

static void spin(void)
{
    for (volatile unsigned x = 0;;)
        x = x + 1;
}

static void say_yes(void)
{
    while (puts("y") >= 0)
        ;
    spin(); /* whoever does not look whether he is heard */
}

static int print_environment(void)
{
    extern char **environ;
    for (char **e = environ; *e; e++)
        puts(*e);
    return 0;
}

static int sleep_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return nanosleep(&t, NULL) != 0;
}

static int with_number(const char *what, const char *text)
{
    unsigned long long n = strtoull(text, NULL, 10);
    if (!strcmp(what, "exit"))
        return (int)n;
    if (!strcmp(what, "head"))
        return head((long)n);
    if (!strcmp(what, "flood"))
        return flood(n);
    if (!strcmp(what, "take"))
        return take(n);
    if (!strcmp(what, "sleep"))
        return sleep_ms((long)n);
    return -1;
}

static int without_words(const char *what)
{
    if (!strcmp(what, "yes"))
        say_yes();
    if (!strcmp(what, "spin"))
        spin();
    if (!strcmp(what, "abort"))
        abort();
    if (!strcmp(what, "ask"))
        return ask();
    if (!strcmp(what, "look"))
        return look();
    if (!strcmp(what, "count"))
        return count();
    if (!strcmp(what, "eat"))
        return eat();
    if (!strcmp(what, "deep"))
        return deeper(0);
    if (!strcmp(what, "litter"))
        return litter();
    if (!strcmp(what, "env"))
        return print_environment();
    if (!strcmp(what, "bytes"))
        return fwrite("\xff\0\x80", 1, 3, stdout) != 3;
    if (!strcmp(what, "complain"))
        return fputs("something is wrong\n", stderr) < 0 ? 1 : 4;
    return -1;
}

int main(int argc, char **argv)
{
    if (strcmp(argv[0], "object") == 0)
        return copy(0);
    if (argc < 2 || (strcmp(argv[0], "probe") != 0 && strcmp(argv[0], "reader") != 0 &&
                     strcmp(argv[0], "writer") != 0 && strcmp(argv[0], "alone") != 0))
        return print_words(argc, argv);
    int answer = argc == 3 ? with_number(argv[1], argv[2]) : without_words(argv[1]);
    if (answer >= 0)
        return answer;
    if (!strcmp(argv[1], "cat"))
        return cat(argc - 2, argv + 2);
    if (!strcmp(argv[1], "put"))
        return put(argc - 2, argv + 2);
    if (!strcmp(argv[1], "grow") && argc == 4)
        return grow(argv[2], strtoull(argv[3], NULL, 10));
    if (!strcmp(argv[1], "ls"))
        return list(argc > 2 ? argv[2] : ".");
    return print_words(argc, argv);
}
