/* vm/init/log.c - the console, and powering off. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/init/log.h"

static bool as_a_program;

void log_as_a_program(void)
{
    as_a_program = true;
}

/* Descriptor 2 is /dev/console, opened by the kernel. */
static void say(const char *format, va_list arguments)
{
    char line[512] = "init: ";
    int n = vsnprintf(line + 6, sizeof line - 7, format, arguments);
    size_t size = n < 0 ? 6 : (size_t)n + 6;
    if (size > sizeof line - 2)
        size = sizeof line - 2;
    line[size++] = '\n';
    ssize_t written = write(2, line, size);
    (void)written;
}

void log_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

static void end(int status, enum log_end how)
{
    sync();
    if (as_a_program)
        _exit(status);
    reboot(how == END_REBOOT ? RB_AUTOBOOT : RB_POWER_OFF);
    for (;;)
        pause();
}

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    end(70, END_POWER_OFF);
    __builtin_unreachable();
}

/* Processes have half a second after SIGTERM. */
static void end_processes(void)
{
    kill(-1, SIGTERM);
    kill(-1, SIGCONT);
    for (int i = 0; i < 50; i++) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (kill(-1, 0) < 0 && errno == ESRCH)
            return;
        usleep(10000);
    }
    kill(-1, SIGKILL);
}

void end_machine(enum log_end how)
{
    log_line(how == END_REBOOT ? "restarting" : "powering off");
    if (!as_a_program || getpid() == 1)
        end_processes();
    end(0, how);
    __builtin_unreachable();
}
