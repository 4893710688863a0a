/* libcurl and libidn2, loaded when a request is first thought of. Linked, they and the
 * twenty libraries behind them cost every start of the program 3 ms, for what few
 * evaluations use. */
#include <dlfcn.h>
#include <idn2.h>
#include <pthread.h>

#include "egress/internal.h"

struct curl_functions curl;
static struct err why_not; /* no code: all of it is there */

static void *open_library(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        err_set(&why_not, ERR_IO, "requests need a library that cannot be loaded: %.200s",
                dlerror());
    return library;
}

static void libcurl_load(void)
{
    void *from = open_library("libcurl.so.4"), *idn = open_library("libidn2.so.0");
    if (!from || !idn)
        return;
    bool ok = true;
#define FIND(name) \
    ok &= (curl.name = (__typeof__(curl.name))dlsym(from, "curl_" #name)) != NULL;
    CURL_FUNCTIONS(FIND)
#undef FIND
    curl.idn_lookup = (__typeof__(curl.idn_lookup))dlsym(idn, "idn2_lookup_u8");
    if (!ok || !curl.idn_lookup || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        err_set(&why_not, ERR_IO, "requests need a newer libcurl than there is here");
}

bool curl_load(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, libcurl_load);
    return !why_not.code || err_set(e, why_not.code, "%s", why_not.msg);
}
