/* Whether a command may be asked of a machine as it stands. */
#include "vm/internal.h"

#define CWD_MAX ((size_t)4096)

static bool check_variable(const char *v, struct err *e)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    size_t n =
        strspn(v, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
    if (v[0] && strchr(first, v[0]) && v[n] == '=')
        return true;
    return err_set(
        e, ERR_INVALID,
        "\"%.*s\" is not a variable: NAME=value, the name of letters, digits and '_'; nothing was run",
        STR_ARGS(str_cut(str_of(v), 60)));
}

static bool check_env(const struct vm_exec *of, struct err *e)
{
    size_t all = of->cwd ? strlen(of->cwd) : 0;
    for (size_t i = 0; i < of->env_count; i++) {
        if (!check_variable(of->env[i], e))
            return false;
        all += strlen(of->env[i]) + 1;
    }
    return all <= VM_ENV_BYTES ||
           err_set(
               e, ERR_LIMIT,
               "variables and working directory have %zu bytes, of at most %zu; nothing "
               "was run",
               all, VM_ENV_BYTES);
}

bool request_check(const struct vm_exec *of, struct err *e)
{
    if (of->command.n > VM_COMMAND_MAX)
        return err_set(e, ERR_LIMIT,
                       "the command has %zu bytes, of at most %u: put it into a file, or "
                       "hand it over as standard input; nothing was run",
                       of->command.n, VM_COMMAND_MAX);
    if (of->command.n > 0 && memchr(of->command.at, 0, of->command.n))
        return err_set(e, ERR_INVALID,
                       "the command has a NUL byte, which no shell can read; nothing was "
                       "run");
    if (of->cwd && (!of->cwd[0] || strlen(of->cwd) > CWD_MAX))
        return err_set(
            e, ERR_INVALID,
            "the working directory is empty or has more than %zu bytes; nothing "
            "was run",
            CWD_MAX);
    if (of->input.at && of->keyboard)
        return err_set(e, ERR_INVALID,
                       "standard input comes as bytes or from a keyboard, not both");
    return check_env(of, e);
}
