/* Jumps need Wasm exceptions. What is compiled without them may still name jumps that no
 * run takes: to make one ends the program. */
#ifdef __wasm_exception_handling__
#include_next <setjmp.h>
#elif !defined(CLOCHE_SETJMP_H)
#define CLOCHE_SETJMP_H
#ifdef __cplusplus
extern "C" {
#endif
typedef int jmp_buf[1];
typedef int sigjmp_buf[1];
#define setjmp(where)          ((void)(where), 0)
#define _setjmp(where)         ((void)(where), 0)
#define sigsetjmp(where, mask) ((void)(where), (void)(mask), 0)
_Noreturn void shim_no_jump(void);
#define longjmp(where, value)    ((void)(where), (void)(value), shim_no_jump())
#define siglongjmp(where, value) ((void)(where), (void)(value), shim_no_jump())
#ifdef __cplusplus
}
#endif
#endif
