/* vm/init/log.h - messages on the machine's console, and power-off. */
#pragma once

/* Writes a line to the console: for people, no secrets. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A fatal error: logs it, and powers off (as a program, in tests: exits 70). */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

enum log_end { END_NONE, END_POWER_OFF, END_REBOOT };
/* Ends all processes, syncs, powers off or restarts (as a program: exits 0). */
void end_machine(enum log_end how) __attribute__((noreturn));

/* Init runs as a program, in its tests; called once. */
void log_as_a_program(void);
