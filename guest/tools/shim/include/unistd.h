/* What the C library's unistd.h leaves out because WASI cannot do it: the shim answers as a
 * system with one user and one process would (process.c, owner.c, descriptor.c). */
#ifndef CLOCHE_UNISTD_H
#define CLOCHE_UNISTD_H
#include_next <unistd.h>
#ifdef __cplusplus
extern "C" {
#endif

#ifndef SHIM_PLAIN
int close(int) __asm__("shim_close");
#endif
int dup(int);
int dup2(int, int);
int dup3(int, int, int);
int fchdir(int);
int pipe(int[2]);
int pipe2(int[2], int);

int chown(const char *, uid_t, gid_t);
int fchown(int, uid_t, gid_t);
int lchown(const char *, uid_t, gid_t);
int fchownat(int, const char *, uid_t, gid_t, int);
uid_t getuid(void);
uid_t geteuid(void);
gid_t getgid(void);
gid_t getegid(void);
int getgroups(int, gid_t[]);
int setgroups(size_t, const gid_t[]);
int setuid(uid_t);
int seteuid(uid_t);
int setgid(gid_t);
int setegid(gid_t);
int setreuid(uid_t, uid_t);
int setregid(gid_t, gid_t);
int setresuid(uid_t, uid_t, uid_t);
int setresgid(gid_t, gid_t, gid_t);
int issetugid(void);
char *getlogin(void);
int getlogin_r(char *, size_t);
int gethostname(char *, size_t);

pid_t fork(void);
pid_t vfork(void);
pid_t getppid(void);
pid_t getpgrp(void);
pid_t getpgid(pid_t);
pid_t setsid(void);
pid_t getsid(pid_t);
int setpgid(pid_t, pid_t);
pid_t tcgetpgrp(int);
int tcsetpgrp(int, pid_t);
int execve(const char *, char *const[], char *const[]);
int execv(const char *, char *const[]);
int execvp(const char *, char *const[]);
int execl(const char *, const char *, ...);
int execlp(const char *, const char *, ...);
unsigned alarm(unsigned);
int pause(void);
int nice(int);
void sync(void);
int syncfs(int);
int chroot(const char *);
int getdtablesize(void);
char *ttyname(int);
int ttyname_r(int, char *, size_t);
char *getpass(const char *);
int eaccess(const char *, int);
int euidaccess(const char *, int);
char *get_current_dir_name(void);
int lockf(int, int, off_t);
#ifdef __cplusplus
}
#endif
#endif
