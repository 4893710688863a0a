// What LLVM expects of a system besides what the shim has. Force-included.
#ifndef CLOCHE_WASI_H
#define CLOCHE_WASI_H
#include <endian.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

// Locks of files, which fcntl refuses.
#define F_WRLCK  1
#define F_UNLCK  2
#define F_SETLK  6
#define F_SETLKW 7

#ifdef __cplusplus
#include <sstream>
#include <cstdio>

inline pid_t wait4(pid_t child, int *status, int options, struct rusage *)
{
    return waitpid(child, status, options);
}

// The C++ library has no files here. This one is read whole, to be read line by line.
class whole_file : public std::istringstream
{
public:
    explicit whole_file(const std::string &path)
    {
        FILE *in = fopen(path.c_str(), "r");
        if (!in) {
            setstate(failbit);
            return;
        }
        std::string text;
        char part[4096];
        for (size_t n; (n = fread(part, 1, sizeof part, in)) > 0;)
            text.append(part, n);
        fclose(in);
        str(text);
    }
};
#endif
#endif
