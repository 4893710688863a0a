"""The generator that the functions of `random` share: it is seeded when code first asks for one of
them, since few do, and its state is large."""
import random

generator = random._inst
held = {}  # the names of the module that wait for that


def is_used():
    return "_inst" in vars(random)


def first_use(name):
    """The module's __getattr__: what code asked for is not there yet, or nowhere."""
    if name not in held:
        raise AttributeError(f"module 'random' has no attribute {name!r}")
    generator.seed()
    vars(random).update(held)
    return held[name]


def renew():
    """In a session, each evaluation has its own."""
    if is_used():
        generator.seed()


def names():
    return sorted({*vars(random), *held})


def prepare():
    names_of_module = vars(random)
    for name, value in list(names_of_module.items()):
        if value is generator or getattr(value, "__self__", None) is generator:
            held[name] = names_of_module.pop(name)
    random.__getattr__ = first_use
    random.__dir__ = names
