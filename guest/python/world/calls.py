"""Host calls: made, waited for, and what they answer.

A call answers when it is made: notes.get('x') is a note. In code that awaits, a call that
stands where something else may await it (run.py marks those places) begins, and is a
Pending until it is done, so that asyncio.gather() has several under way at a time.
"""
import asyncio
import concurrent.futures.thread
import functools
import sys
import time

import _cloche

from . import values

FILE = "code.py"
files = {FILE}  # what code of the agent is compiled as; in a session call-1.py, call-2.py ...


class HostCallError(Exception):
    """A call of the API failed. name tells how ('NotFound'), code is for programs, retry
    says whether it may succeed another time."""

    kind = "HostCallError"

    def __init__(self, message="", code=None, retry=False, problem=None):
        Exception.__init__(self, message)  # another base may want more than the message
        self.message = message
        self.name = self.kind
        self.code = code
        self.retry = retry
        self.problem = problem

    def __str__(self):
        return str(self.message)


errors = {"HostCallError": HostCallError}
BASES = {"NotFound": LookupError, "InvalidInput": ValueError, "PermissionDenied": PermissionError,
         "IoError": OSError, "Timeout": TimeoutError}
# They mean something else than that a call failed: a limit, the end of an iteration.
NEVER_BASES = (RecursionError, MemoryError, StopIteration, StopAsyncIteration)


@functools.cache
def derived(name, base):
    bases = (HostCallError, base) if base else (HostCallError,)
    return type(name, bases, {"kind": name, "__module__": "cloche", "__init__": HostCallError.__init__})


def error_class(name):
    if name not in errors:
        errors[name] = derived(name, BASES.get(name))
    return errors[name]


def exceptions_named(name):
    """The exceptions of this name that there are here."""
    todo, seen = [Exception], {Exception}
    for one in todo:
        found = [c for c in type.__subclasses__(one) if c not in seen and not issubclass(c, (HostCallError, NEVER_BASES))]
        seen.update(found)
        todo += found
    return [c for c in todo if c.__name__ == name and not c.__module__.startswith("_cloche")]


def base_named(name):
    """The exception that code means by a name: its own, else Python's, else the only one of the library."""
    found = exceptions_named(name)
    for module in ("__main__", "builtins"):
        there = [c for c in found if c.__module__ == module]
        if there:
            return there[-1]
    return found[0] if len(found) == 1 and name.lower() != "error" else None


def raised(name, message):
    """What a custom function raised, which is caught by the name that it has there."""
    if name in errors:
        return errors[name](message)
    try:
        return derived(name, base_named(name))(message)
    except Exception:  # a class that makes its instances in a way of its own
        return derived(name, None)(message)


def refusal(message):
    """Of arguments that are no call's, in the words of the host's own refusals."""
    made = error_class("InvalidInput")(message, "INVALID")
    made.host = True
    return made


for known in ("NotFound", "InvalidInput", "PermissionDenied", "Conflict", "LimitExceeded", "Busy", "NoVault",
              "IoError", "Timeout"):
    error_class(known)


def error_of(text):
    told = values.read(text)
    made = error_class(told.get("name") or "HostCallError")(
        told.get("message") or "the host call failed", told.get("code"), bool(told.get("retry")))
    made.host = True
    return made


class World:
    """What one evaluation has under way."""

    def __init__(self):
        self.trace = False
        self.next_id = 1
        self.pending = {}  # id -> Pending
        self.waited = {}  # id -> None, or (failed, text)
        self.failed = []  # those of `pending` that have failed


world = World()


def line_of_code():
    frame = sys._getframe(2)
    while frame and frame.f_code.co_filename not in files:
        frame = frame.f_back
    return frame.f_lineno if frame else 0


unsent = {}  # node of a file -> function that writes its bytes to the host


def send_first():
    """What the host must have before it does anything else."""
    while unsent:
        unsent.popitem()[1]()


def begin(row, args):
    if unsent:
        send_first()
    ident = world.next_id
    world.next_id += 1
    _cloche.begin(ident, row, line_of_code() if world.trace else 0, args)
    return ident


def dispatch(settled):
    for ident, failed, text in settled:
        if ident in world.waited:
            world.waited[ident] = (failed, text)
            continue
        future = world.pending.pop(ident, None)
        if future is None or future.done():
            continue
        if failed:
            error = error_of(text)
            error.begun = future.line
            future.set_exception(error)
            world.failed.append(future)
        else:
            future.set_result(future.finish(values.read(text)))


def perform(row, args, finish=None):
    """Makes a call and waits for it."""
    ident = begin(row, args)
    world.waited[ident] = None
    try:
        while world.waited[ident] is None:
            dispatch(_cloche.wait(-1.0))
    finally:
        answer = world.waited.pop(ident)
    failed, text = answer
    if failed:
        raise error_of(text)
    value = values.read(text)
    return finish(value) if finish else value


def perform_now(row, args, finish=None):
    """One that answers at once."""
    if unsent:
        send_first()
    failed, text = _cloche.call(row, args)
    if failed:
        raise error_of(text)
    value = values.read(text)
    return finish(value) if finish else value


def same(value):
    return value


class Pending(values.Later, asyncio.Future):
    """A call on its way: to be awaited, or used as its answer, which waits for it."""

    def __init__(self, row, args, finish, loop):
        super().__init__(loop=loop)
        self.finish = finish or same
        self.line = line_of_code()
        world.pending[begin(row, args)] = self

    def answer(self):
        while not self.done():
            dispatch(_cloche.wait(-1.0))
        return self.result()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.answer(), name)

    def __getitem__(self, key):
        return self.answer()[key]

    def __contains__(self, key):
        return key in self.answer()

    def __len__(self):
        return len(self.answer())

    def __bool__(self):
        return bool(self.answer())

    def __str__(self):
        return str(self.answer())

    def __format__(self, spec):
        return format(self.answer(), spec)

    def __eq__(self, other):
        return self is other or (not isinstance(other, Pending) and self.answer() == other)

    __hash__ = asyncio.Future.__hash__

    def __iter__(self):
        try:
            task = asyncio.current_task()
        except RuntimeError:
            task = None
        # A future is iterated by what awaits it; a list by whoever reads it.
        if task is not None and sys._getframe(1).f_code.co_filename in files:
            return iter(self.answer())
        return self.__await__()

    def __del__(self):
        pass


def later(row, args, finish=None):
    return Pending(row, args, finish, asyncio.get_running_loop())


def outstanding():
    return bool(world.pending)


# ---- the event loop ----------------------------------------------------------------

class Stuck(Exception):
    """Nothing that could go on."""


class Selector:
    def __init__(self, loop):
        self.loop = loop

    def select(self, timeout=None):
        if timeout is None and not world.pending:
            raise Stuck("the code waits for something that nothing will end")
        if timeout is not None and timeout <= 0 and not world.pending:
            return []
        dispatch(_cloche.wait(-1.0 if timeout is None else timeout * 1000))
        return []

    def close(self):
        pass

    def get_map(self):
        return {}


class Loop(asyncio.BaseEventLoop):
    """Waits for the host instead of for sockets. There are no threads: what is given to an
    executor runs at once."""

    def __init__(self, selector=None):
        super().__init__()
        self._selector = Selector(self)

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass

    def create_task(self, coro, **options):
        return super().create_task(coroutine_of(coro), **options)

    def run_in_executor(self, executor, func, *args):
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    async def shutdown_default_executor(self, timeout=None):
        pass


def coroutine_of(value):
    """For create_task() and gather(), which take coroutines: a value is done already."""
    if asyncio.iscoroutine(value):
        return value

    async def done():
        return await value if hasattr(value, "__await__") else value

    return done()


class Policy(asyncio.DefaultEventLoopPolicy):
    _loop_factory = Loop


def sleep(seconds):
    """time.sleep()"""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        dispatch(_cloche.wait(left * 1000))


def is_awaitable(value):
    return asyncio.isfuture(value) or asyncio.iscoroutine(value) or hasattr(type(value), "__await__")


def taken(value, loop=None):
    """What asyncio's functions take: a value is a future that is done."""
    if asyncio.isfuture(value) or asyncio.iscoroutine(value) or not isinstance(value, (dict, list)) and is_awaitable(value):
        return value
    future = (loop or asyncio.get_event_loop()).create_future()
    future.set_result(value)
    return future


def is_one(given):
    """Whether it is given where more than one is wanted, of which asyncio's functions complain."""
    return asyncio.isfuture(given) or asyncio.iscoroutine(given)


class Executor(concurrent.futures.Executor):
    """What is submitted runs at once, as if by the only worker. `second` is thread_name_prefix or mp_context."""

    def __init__(self, max_workers=None, second=None, initializer=None, initargs=(), **options):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._max_workers = max_workers or 1
        self.initialize = None if initializer is None else lambda: initializer(*initargs)
        self.broken, self.ended = None, False

    def begin(self):
        """Runs the initializer, before the first function."""
        initialize, self.initialize = self.initialize, None
        try:
            if initialize:
                initialize()
        except Exception as error:
            self.broken = concurrent.futures.thread.BrokenThreadPool(
                "A thread initializer failed, the thread pool is not usable anymore")
            self.broken.__cause__ = error

    def submit(self, function, /, *args, **options):
        if self.broken:
            raise self.broken
        if self.ended:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = concurrent.futures.Future()
        self.begin()
        try:
            if self.broken:
                raise self.broken
            future.set_result(function(*args, **options))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.ended = True


def prepare():
    """asyncio over the host's wait; its functions take answers, too."""
    asyncio.set_event_loop_policy(Policy())
    asyncio.EventLoop = asyncio.SelectorEventLoop = Loop
    time.sleep = sleep
    concurrent.futures.ThreadPoolExecutor = concurrent.futures.thread.ThreadPoolExecutor = Executor
    concurrent.futures.ProcessPoolExecutor = Executor
    gather, wait_for, wait, as_completed = asyncio.gather, asyncio.wait_for, asyncio.wait, asyncio.as_completed
    ensure_future, run = asyncio.ensure_future, asyncio.run

    def our_gather(*all, **options):
        return gather(*map(taken, all), **options)

    async def our_wait_for(one, timeout):
        return await wait_for(taken(one), timeout)

    async def our_wait(all, *, timeout=None, return_when=asyncio.ALL_COMPLETED):
        """Coroutines are taken as well."""
        if not is_one(all) and return_when in (asyncio.ALL_COMPLETED, asyncio.FIRST_COMPLETED, asyncio.FIRST_EXCEPTION):
            all = [our_ensure_future(a) for a in all]
        return await wait(all, timeout=timeout, return_when=return_when)

    def our_as_completed(all, *, timeout=None):
        return as_completed(all if is_one(all) else [taken(a) for a in all], timeout=timeout)

    def our_ensure_future(one, *, loop=None):
        return ensure_future(taken(one, loop), loop=loop)

    def our_run(main, **options):
        return run(coroutine_of(main) if isinstance(main, (values.Record, values.Rows, values.Later)) else main, **options)

    for name, made in {"run": our_run, "gather": our_gather, "wait_for": our_wait_for, "wait": our_wait,
                       "as_completed": our_as_completed, "ensure_future": our_ensure_future}.items():
        made.__name__ = made.__qualname__ = name
        setattr(asyncio, name, made)
