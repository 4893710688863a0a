/* vm/init/log.h - words for whoever looks at the machine's console, and the end. */
#pragma once

/* A line on the console. What it says is not secret, and no protocol. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The machine cannot go on: says why, and powers off (as a test's program: exits 70). */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

enum log_end { END_NONE, END_POWER_OFF, END_REBOOT };
/* Ends all that runs, writes what is unwritten, powers off or restarts (or exits 0). */
void end_machine(enum log_end how) __attribute__((noreturn));

/* Said once, where init is a program among others, for its tests. */
void log_as_a_program(void);
