/* PCRE's first interface, as far as ag calls it, over PCRE2: what Debian's ag is built with. */
#pragma once
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#define PCRE_CASELESS  PCRE2_CASELESS
#define PCRE_MULTILINE PCRE2_MULTILINE

typedef pcre2_code pcre;
typedef pcre2_match_data pcre_extra; /* of the expression, made once */

/* ag frees an expression before what was studied of it, both by this. A match's data needs no
 * code to be freed, and the process ends then anyway. */
#define pcre_free(what) ((void)(what))

static inline const char *pcre_version(void)
{
    static char version[32];
    pcre2_config(PCRE2_CONFIG_VERSION, version);
    return version;
}

static inline pcre *pcre_compile(const char *pattern, int options, const char **why, int *at,
                                 const unsigned char *tables)
{
    static char message[256];
    int code = 0;
    size_t offset = 0;
    (void)tables;
    pcre *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, (uint32_t)options, &code,
                             &offset, NULL);
    if (re)
        return re;
    pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof message);
    *why = message;
    *at = (int)offset;
    return NULL;
}

static inline pcre_extra *pcre_study(pcre *re, int options, const char **why)
{
    (void)options;
    *why = NULL;
    return pcre2_match_data_create_from_pattern(re, NULL);
}

static inline int pcre_exec(pcre *re, pcre_extra *data, const char *text, int length, int from,
                            int options, int *pairs, int size)
{
    pcre_extra *own = data ? data : pcre2_match_data_create_from_pattern(re, NULL);
    int rc = pcre2_match(re, (PCRE2_SPTR)text, (size_t)length, (size_t)from, (uint32_t)options,
                         own, NULL);
    const size_t *found = pcre2_get_ovector_pointer(own);
    for (int i = 0; rc > 0 && i < 2 && i < size; i++)
        pairs[i] = (int)found[i];
    if (!data)
        pcre2_match_data_free(own);
    return rc;
}
