"""The API as code sees it, made of the table of host calls.

Each row is a function: notes.get_sections, or notes.getSections as it is called elsewhere.
Keyword arguments become the options of the call, by the names of its parameters and of the
keys of its objects; notes.list(type_name='project', limit=3) sends {typeName, limit}.
"""
import asyncio
import builtins
import difflib
import json

from . import calls, values
from .names import camel, snake


class Parameter:
    __slots__ = ("name", "optional", "type", "keys", "rest", "vague")

    def __init__(self, told):
        self.rest = told["name"].startswith("...")
        self.name = told["name"].lstrip(".")
        self.optional = told["optional"]
        self.type = told["type"]
        self.keys = told.get("keys") or []
        # An object of keys that are not all told.
        self.vague = "{" in self.type and ("[key:" in self.type or "} |" in self.type or "} &" in self.type) \
            or not self.keys and self.type not in ("string", "number", "boolean", "string[]")

    def key(self, name):
        for one in (name, camel(name), snake(name), name.rstrip("_")):
            if one in self.keys:
                return one
        return name if self.vague and (self.keys or "{" in self.type) else None

    def options(self, given):
        """The options with the keys' own names; None: one of them is none of these."""
        named = {self.key(k): v for k, v in given.items()}
        return None if None in named else named


def nearest(name, names, alike=0.6):
    names = list(names)
    found = difflib.get_close_matches(snake(name), [snake(n) for n in names], 1, alike)
    return next((n for n in names if found and snake(n) == found[0]), None)


class Function:
    """A call of the API."""

    def __init__(self, number, row, finish=None, prepare=None):
        self.number = number
        self.__name__ = self.name = row["name"]
        self.sync = row["sync"]
        self.told = row
        self.overloads = [[Parameter(p) for p in one["parameters"]] for one in row.get("overloads", [])]
        self.__doc__ = row.get("summary")
        self.words = row["words"].split()
        self.finish = finish
        self.prepare = prepare

    def __repr__(self):
        return f"<call {self.name}>"

    def __call__(self, *args, **options):
        sent = values.write_arguments(self.name, self.arguments(args, options))
        try:
            if self.sync:
                return calls.perform_now(self.number, sent, self.finish)
            return calls.perform(self.number, sent, self.finish)
        except calls.errors["InvalidInput"] as error:
            error.form = self.form()
            raise

    def form(self):
        """How it is called in Python: 'notes.create(*, title=..., type=...)'."""
        from . import stubs
        return stubs.form(self)

    def later(self, *args, **options):
        if self.sync:
            return self(*args, **options)
        sent = values.write_arguments(self.name, self.arguments(args, options))
        return calls.later(self.number, sent, self.finish)

    def arguments(self, args, options):
        if self.prepare:
            return self.prepare(*args, **options)
        args = list(args)
        if options or any(type(a) is dict for a in args):
            return self.bound(args, options)
        return args

    def bound(self, args, options):
        for parameters in self.overloads:
            out = self.fitted(parameters, args, options)
            if out is not None:
                return out
        if not options:
            return args
        known = sorted({snake(n) for o in self.overloads for p in o for n in [*p.keys, p.name] if n != "options"})
        wrong = next((k for k in options if snake(k) not in known), None)
        if wrong is None:
            raise calls.refusal(
                f"{self.name} is given {len(args)} argument{'s' * (len(args) != 1)} without names, which do not go together "
                f"with {', '.join(options)}; in Python: {self.form()}")
        near = nearest(wrong, known)
        raise calls.refusal(
            f"{self.name} takes no '{wrong}'{f'; did you mean {near}?' if near else ''} "
            f"({', '.join(known) or 'no options'})")

    def fitted(self, parameters, args, options):
        if len(args) > len(parameters) and not (parameters and parameters[-1].rest):
            return None
        out, left = dict(enumerate(args)), {}
        for name, value in options.items():
            at = next((i for i, p in enumerate(parameters) if i not in out and name.rstrip("_") in
                       (p.name, snake(p.name)) and p.name != "options"), None)
            if at is not None and not parameters[at].key(name):
                out[at] = value
            else:
                left[name] = value
        for i, value in list(out.items()):  # dicts by position may have our names, too
            if type(value) is dict and i < len(parameters) and parameters[i].keys:
                named = parameters[i].options(value)
                out[i] = value if named is None else named
        if left and not self.put_options(parameters, out, left):
            return None
        if any(i not in out and not p.optional and not p.rest for i, p in enumerate(parameters)):
            return None
        return [out.get(i) for i in range(max(out) + 1)] if out else []

    @staticmethod
    def put_options(parameters, out, left):
        free = [i for i in range(len(parameters)) if i not in out]
        for i in [*free, *(i for i in out if i < len(parameters))]:
            p = parameters[i]
            named = p.options(left)
            if named is None:
                continue
            held = out.get(i)
            if held is None or isinstance(held, dict):
                out[i] = {**(held or {}), **named}
                return True
            if p.keys and isinstance(held, str):  # notes.get('x', properties=True)
                out[i] = {p.keys[0]: held, **named}
                return True
        return False


class Namespace:
    def __init__(self, name):
        self.__dict__["_name"] = name
        self.__dict__["_calls"] = {}

    def _add(self, name, function):
        self._calls[name] = function
        self.__dict__[name] = function
        self.__dict__.setdefault(snake(name), function)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        shown = self.__dict__["_name"]
        near = self._meant(snake(name))
        raise AttributeError(
            f"{shown}.{name} is not there" + (f"; did you mean {shown}.{snake(near)}?" if near else
                                              f"; it has {', '.join(map(snake, self._calls))}"))

    def __setattr__(self, name, value):
        raise AttributeError(f"{self._name}.{name} cannot be set")

    def _meant(self, name):
        """The call that this name probably means: a word of it, 'get_all', 'get_note', or one that is alike."""
        near = next((n for n, f in self._calls.items() if name in f.words), None)
        first, *rest = name.split("_")
        if near is None and "all" in rest and "list" in self._calls:
            return "list"
        if near is None and first in self._calls and not any(snake(n) in name and n != first for n in self._calls):
            return first
        return near or nearest(name, self._calls)

    def _refuse(self, *ignored, **options):
        """It is used as a list, a dict or a function."""
        shown = [n for n in ("get", "list") if n in self._calls]
        raise TypeError(f"{self._name} is neither a list nor a dict nor a function, but has calls: "
                        f"{', '.join(f'{self._name}.{snake(n)}()' for n in shown or self._calls)}")

    __getitem__ = __iter__ = __len__ = __call__ = __contains__ = _refuse

    def __bool__(self):
        return True

    def __dir__(self):
        return sorted(snake(n) for n in self._calls)

    def __repr__(self):
        return f"<{self._name}: {', '.join(dir(self))}>"


class ModuleLike(Namespace):
    """customFunctions, tools: names that only the host knows."""

    def __init__(self, name, make):
        super().__init__(name)
        self.__dict__["_make"] = make

    def __getattr__(self, name):
        if name.startswith("__") or name in ("shape", "dtype"):
            raise AttributeError(name)
        return self._make(name)

    def __getitem__(self, name):
        return getattr(self, name)


rows = []  # Function by number
types = []  # {type, definition, about}: those that signatures name
names = {}  # global name -> value


def install(text):
    from . import special
    table = json.loads(text)
    types.extend(row for row in table if "type" in row)
    table = [row for row in table if "name" in row]
    spaces = {}
    for number, row in enumerate(table):
        space, dot, name = row["name"].partition(".")
        made = special.function(number, row) or Function(number, row)
        rows.append(made)
        if row["hidden"]:
            continue
        if not dot:
            names[space] = made
            continue
        if space not in spaces:
            spaces[space] = special.namespace(space, made) or Namespace(space)
        spaces[space]._add(name, made)
    for space, value in spaces.items():
        names[space] = value
        names[snake(space)] = value
    names.update(special.globals_of(rows))
    for name, made in calls.errors.items():
        names[name] = made
    for name, value in names.items():
        setattr(builtins, name, value)


def awaited(value):
    """What `await` is given: what cannot be awaited is its own answer."""
    if hasattr(type(value), "__await__") or asyncio.iscoroutine(value) or asyncio.isfuture(value):
        return value
    if hasattr(value, "gi_frame"):  # a generator of types.coroutine()
        return value
    return Done(value)


class Done:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return self.value
        yield


def later(function, *args, **options):
    if isinstance(function, Function):
        return function.later(*args, **options)
    return function(*args, **options)
