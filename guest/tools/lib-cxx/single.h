// What the C++ library leaves out where there are no threads, for programs that use it all the
// same: locks that nobody else could hold. Force-included by their recipes.
#ifndef CLOCHE_SINGLE_H
#define CLOCHE_SINGLE_H
#ifdef __cplusplus
#include <mutex>

namespace std {
struct mutex
{
    void lock() { }
    void unlock() { }
    bool try_lock() { return true; }
};
using recursive_mutex = mutex;

template<class... Mutex>
struct scoped_lock
{
    explicit scoped_lock(Mutex &...) { }
    ~scoped_lock() { } // or it would be told to be unused
};
}
#endif
#endif
