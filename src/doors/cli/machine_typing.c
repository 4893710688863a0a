/* Standard input, signals and the size of the terminal, on their way to a machine. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/machine.h"
#include "os/os.h"

#define PIECE ((size_t)64 << 10)
#define AGAIN_MS 5 /* while the command takes no more */
#define LEAVE 0x1d /* Ctrl-] */
#define LEAVE_TIMES 3u
#define LEAVE_NS ((uint64_t)1000000000)
#define IMPATIENT 3u /* so many requests to end, and it is not asked any more */

struct typing {
    pthread_t thread;
    pthread_mutex_t lock; /* guards these two */
    struct vm *machine;   /* NULL: there is no command yet */
    int ended_by;         /* the last signal that may have ended it; 0: none */
    struct vm_keyboard *keyboard;
    struct cancel cancel;
    bool terminal;
    int signals, wake;
    unsigned asked; /* to end */
    unsigned leaving;
    uint64_t leaving_ns;
    bool at_end; /* of standard input */
    char piece[PIECE];
    size_t from, n; /* what of it waits */
};

/* ---- signals --------------------------------------------------------------------- */

static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGWINCH};

static bool asks_to_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* The machine goes, whatever it does. false: there is none yet. */
static bool end_machine(struct typing *t)
{
    pthread_mutex_lock(&t->lock);
    bool there = t->machine != NULL;
    if (there)
        vm_stop(t->machine);
    pthread_mutex_unlock(&t->lock);
    return there;
}

static bool has_command(struct typing *t)
{
    pthread_mutex_lock(&t->lock);
    bool there = t->machine != NULL;
    pthread_mutex_unlock(&t->lock);
    return there;
}

static void resize(struct typing *t)
{
    struct winsize w;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col)
        vm_keyboard_resize(t->keyboard, w.ws_row, w.ws_col);
}

/* Is there a command that can be told? From then on it will be. */
static bool note_signal(struct typing *t, int number)
{
    pthread_mutex_lock(&t->lock);
    bool there = t->machine != NULL;
    if (there || asks_to_end(number))
        t->ended_by = number;
    pthread_mutex_unlock(&t->lock);
    return there;
}

/* Signals: a terminal that is gone ends the typing. */
static void take_signal(struct typing *t)
{
    struct signalfd_siginfo si;
    if (read(t->signals, &si, sizeof si) != sizeof si)
        return;
    int number = (int)si.ssi_signo;
    if (number == SIGWINCH) {
        resize(t);
    } else if (!note_signal(t, number)) {
        if (asks_to_end(number))
            cancel_fire(&t->cancel);
    } else if (asks_to_end(number) && (t->terminal || ++t->asked >= IMPATIENT)) {
        (void)end_machine(t);
    } else {
        vm_keyboard_signal(t->keyboard, number);
    }
}

/* ---- bytes ------------------------------------------------------------------------ */

/* Three times Ctrl-], nothing between them and not slowly: whoever types that wants out. */
static bool wants_out(struct typing *t, struct str typed)
{
    uint64_t now = os_mono_ns();
    for (size_t i = 0; t->terminal && i < typed.n; i++) {
        if (typed.at[i] != LEAVE) {
            t->leaving = 0;
            continue;
        }
        if (!t->leaving || now - t->leaving_ns > LEAVE_NS) {
            t->leaving = 0;
            t->leaving_ns = now;
        }
        if (++t->leaving == LEAVE_TIMES)
            return true;
    }
    return false;
}

static void take_input(struct typing *t)
{
    ssize_t n = read(STDIN_FILENO, t->piece, sizeof t->piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    t->from = 0;
    t->n = n > 0 ? (size_t)n : 0;
    t->at_end = n <= 0;
    if (t->at_end)
        vm_keyboard_end(t->keyboard);
    if (wants_out(t, (struct str){t->piece, t->n}))
        (void)end_machine(t);
}

static void hand_over(struct typing *t)
{
    size_t taken = vm_keyboard_offer(t->keyboard, (struct str){t->piece + t->from, t->n});
    t->from += taken;
    t->n -= taken;
}

static void *typing_main(void *arg)
{
    struct typing *t = arg;
    for (;;) {
        /* Nothing is read that might not be taken: it is the next program's. */
        bool reads = !t->at_end && !t->n && has_command(t);
        struct pollfd p[] = {{.fd = t->wake, .events = POLLIN},
                             {.fd = t->signals, .events = POLLIN},
                             {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN}};
        (void)poll(p, LENGTH(p), t->n ? AGAIN_MS : -1);
        uint64_t count;
        if (p[0].revents && read(t->wake, &count, sizeof count) == sizeof count &&
            count > 1)
            return NULL;
        if (p[1].revents)
            take_signal(t);
        if (p[2].revents)
            take_input(t);
        if (t->n)
            hand_over(t);
    }
}

/* ---- beginning and end --------------------------------------------------------------- */

static bool hear_signals(struct typing *t, struct err *e)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < LENGTH(forwarded); i++)
        sigaddset(&set, forwarded[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return (t->signals >= 0 && t->wake >= 0) ||
           err_set(e, ERR_IO, "cannot wait for signals: %m");
}

struct typing *typing_begin(bool terminal, struct err *e)
{
    struct typing *t = mem_new(sizeof *t);
    t->terminal = terminal;
    t->keyboard = vm_keyboard_new();
    cancel_init(&t->cancel);
    pthread_mutex_init(&t->lock, NULL);
    if (hear_signals(t, e) &&
        (os_thread_start(&t->thread, "typing", 0, typing_main, t) ||
         err_set(e, ERR_IO, "no thread could be started for terminal input")))
        return t;
    os_close(t->signals);
    os_close(t->wake);
    vm_keyboard_free(t->keyboard);
    free(t);
    return NULL;
}

/* Wakes the thread; a count above typing_command()'s ends it. */
static void wake(struct typing *t, uint64_t count)
{
    (void)!write(t->wake, &count, sizeof count);
}

struct cancel *typing_cancel(struct typing *t)
{
    return &t->cancel;
}

struct vm_keyboard *typing_keyboard(struct typing *t)
{
    return t->keyboard;
}

bool typing_command(struct typing *t, struct vm *m, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    bool goes_on = !t->ended_by;
    t->machine = goes_on ? m : NULL;
    pthread_mutex_unlock(&t->lock);
    wake(t, 1);
    return goes_on || err_set(e, ERR_CANCELLED, "cancelled before the command started");
}

int typing_failed(struct typing *t)
{
    pthread_mutex_lock(&t->lock);
    int exit = t->ended_by ? 128 + t->ended_by : MACHINE_EXIT_FAILED;
    pthread_mutex_unlock(&t->lock);
    return exit;
}

void typing_end(struct typing *t)
{
    if (!t)
        return;
    wake(t, 2);
    pthread_join(t->thread, NULL);
    os_close(t->signals);
    os_close(t->wake);
    pthread_mutex_destroy(&t->lock);
    vm_keyboard_free(t->keyboard);
    free(t);
}
