"""Calls whose arguments and answers are not plain JSON, and those that need no host."""
import base64
import datetime
import re
import secrets
import string

from . import calls, output
from .api import Function, ModuleLike
from .names import camel


def is_bytes(value):
    return isinstance(value, (bytes, bytearray, memoryview))


def sent(value):
    return {"base64": base64.b64encode(value).decode()} if is_bytes(value) else value


# ---- utils -------------------------------------------------------------------------

def generate_id():
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(10))


def parse_links(content):
    return re.findall(r"\[\[([^\]]+)\]\]", str(content))


def moment(date):
    if date is None:
        return datetime.datetime.now(datetime.timezone.utc)
    if isinstance(date, (int, float)):
        return datetime.datetime.fromtimestamp(date / 1000, datetime.timezone.utc)
    if isinstance(date, str):
        date = datetime.datetime.fromisoformat(date)
    if isinstance(date, datetime.date) and not isinstance(date, datetime.datetime):
        date = datetime.datetime(date.year, date.month, date.day)
    return date.replace(tzinfo=datetime.timezone.utc) if date.tzinfo is None else date.astimezone(datetime.timezone.utc)


def format_date(date=None, pattern=None):
    try:
        d = moment(date)
    except (ValueError, AttributeError, OverflowError):
        raise ValueError(f"format_date: {date!r} is not a date; an ISO text, a date or a datetime is accepted") from None
    if pattern is None:
        return d.strftime("%Y-%m-%dT%H:%M:%S.") + f"{d.microsecond // 1000:03}Z"
    parts = {"YYYY": f"{d.year:04}", "MM": f"{d.month:02}", "DD": f"{d.day:02}", "HH": f"{d.hour:02}",
             "mm": f"{d.minute:02}", "ss": f"{d.second:02}", "SSS": f"{d.microsecond // 1000:03}"}
    return re.sub("YYYY|MM|DD|HH|mm|SSS|ss", lambda m: parts[m[0]], str(pattern))


def sanitize_title(title):
    return "".join(c for c in str(title) if c.isalpha() or c.isnumeric() or c.isspace() or c == "-").strip()


INSIDE = {"utils.generateId": generate_id, "utils.parseLinks": parse_links, "utils.formatDate": format_date,
          "utils.sanitizeTitle": sanitize_title}


class Inside(Function):
    """Needs no host."""

    def __call__(self, *args, **options):
        return INSIDE[self.name](*args, **options)

    later = __call__


# ---- tools, vm ---------------------------------------------------------------------

def tool_options(first=None, second=None, **options):
    """options are one dict, keywords, or args and then these."""
    if isinstance(first, (list, tuple)):
        given = {**(second or {}), "args": [str(a) for a in first]}
    elif first is None or isinstance(first, dict):
        given = dict(first or {})
    else:
        raise calls.refusal(
            "options are one dict such as {'args': ['-l'], 'stdin': 'text'}, keywords, or a list of arguments first")
    given.update(options)
    if "stdin" in given:
        given["stdin"] = sent(given["stdin"])
    files = given.get("files")
    if isinstance(files, list):
        files = {f["name"]: f.get("text", f.get("bytes")) for f in files}
    if isinstance(files, dict):
        given["files"] = {name: sent(v) for name, v in files.items()}
    return given


def tool_result(result):
    if not isinstance(result, dict):
        return result
    for stream in ("stdout", "stderr"):
        if result.pop(stream + "Encoding", None) == "base64":
            result[stream] = base64.b64decode(result[stream])
    for file in result.get("files") or []:
        if isinstance(file, dict) and "base64" in file:
            file["bytes"] = base64.b64decode(file.pop("base64"))
    return result


def run_arguments(name, first=None, second=None, **options):
    if not isinstance(name, str):
        raise calls.refusal(f"a tool's name is a string such as 'jq', not {type(name).__name__}")
    return [name, tool_options(first, second, **options)]


def pipe_arguments(stages, shared=None, **options):
    return [[tool_options(s) for s in stages], tool_options(shared, **options)]


def exec_arguments(command=None, options=None, **more):
    given = dict(command) if isinstance(command, dict) else {**(options or {}), "command": command}
    given.update(more)
    if is_bytes(given.get("stdin")):
        given["stdin"] = sent(given["stdin"])
    return [given]


SPECIAL = {"tools.run": (run_arguments, tool_result), "tools.pipe": (pipe_arguments, tool_result),
           "vm.exec": (exec_arguments, tool_result)}


# ---- what api.install() asks -----------------------------------------------------------

def function(number, row):
    name = row["name"]
    if row["inside"]:
        return Inside(number, row)
    if name in SPECIAL:
        prepare, finish = SPECIAL[name]
        return Function(number, row, finish, prepare)
    from . import files, web
    return files.function(number, row) or web.function(number, row)


def namespace(space, first):
    if space != "tools":
        return None

    def tool(name):
        def run(args=None, options=None, **more):
            return first(name, args, options, **more)
        run.__name__ = name
        return run

    return ModuleLike("tools", tool)


class CustomFunctions(ModuleLike):
    """custom_functions.NAME(...): each call runs in a world of its own."""

    def __init__(self, row):
        row.form = lambda: None  # the host says how this function is called

        def make(name):
            def call(*args, **options):
                given = [{"value": a} for a in args]
                try:
                    told = row(name, given, options)
                except calls.errors["NotFound"] as missing:
                    if camel(name) == name or camel(name) not in self:
                        missing.message = missing.message.replace("Object.keys(customFunctions)", "dir(custom_functions)")
                        raise
                    told = row(camel(name), given, options)
                return self._answer(told)
            call.__name__ = call.__qualname__ = name
            return call
        super().__init__("custom_functions", make)
        self.__dict__["_row"] = row

    @staticmethod
    def _answer(told):
        """What the function has logged, and its value or its error."""
        for entry in told.get("logs") or []:
            output.tell(entry["level"], entry["message"])
        error = told.get("error")
        if error is None:
            return told.get("value")
        made = calls.raised(error["name"], error["message"])
        made.host = True
        raise made

    def __dir__(self):
        return sorted(self._row())

    def __iter__(self):
        return iter(dir(self))

    def __contains__(self, name):
        return name in dir(self)


def globals_of(rows):
    from . import files, web
    custom = next((r for r in rows if r.name == "customFunctions"), None)
    functions = CustomFunctions(custom) if custom else None
    return {"custom_functions": functions, "customFunctions": functions,
            **files.globals_of(rows), **web.globals_of(rows)}
