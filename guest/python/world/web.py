"""fetch, and what Python has for it: urllib.request, and a module requests over it."""
import base64
import email.message
import io
import json
import sys
import types
import urllib.error
import urllib.parse
import urllib.request

from . import values
from .api import Function

METHODS = {"delete", "get", "head", "options", "patch", "post", "put"}


class Text(str):
    """response.text, which may also be called, as in the Fetch standard."""

    def __call__(self):
        return str(self)

    def __await__(self):
        return self
        yield


class Headers(dict):
    """Names in any case."""

    def __init__(self, pairs=()):
        super().__init__()
        for name, value in pairs:
            key = name.lower()
            super().__setitem__(key, f"{self[key]}, {value}" if key in self else value)

    def __getitem__(self, name):
        return super().__getitem__(name.lower())

    def __contains__(self, name):
        return isinstance(name, str) and super().__contains__(name.lower())

    def get(self, name, default=None):
        return super().get(name.lower(), default)


class HTTPError(OSError):
    """requests.HTTPError: raise_for_status() found a status of failure."""

    def __init__(self, message="", response=None):
        super().__init__(message)
        self.response = response


class Response:
    def __init__(self, told):
        self.status = self.status_code = told["status"]
        self.reason = self.status_text = told["statusText"]
        self.url = told["url"]
        self.redirected = told["redirected"]
        self.headers = Headers(told["headers"])
        self.content = base64.b64decode(told["body"] or "")
        self.encoding = "utf-8"
        for part in self.headers.get("content-type", "").split(";")[1:]:
            name, _, value = part.strip().partition("=")
            if name.lower() == "charset":
                self.encoding = value.strip("\"' ") or "utf-8"

    @property
    def ok(self):
        return self.status < 400

    @property
    def text(self):
        try:
            return Text(self.content.decode(self.encoding, "replace"))
        except LookupError:
            return Text(self.content.decode("utf-8", "replace"))

    def json(self, **options):
        try:
            return json.loads(self.content, **options)
        except ValueError as error:
            raise ValueError(f"the body is no JSON ({error}); it begins with: {self.text[:60]}") from None

    def iter_lines(self):
        return iter(self.content.splitlines())

    def iter_content(self, chunk_size=65536, decode_unicode=False):
        for at in range(0, len(self.content), chunk_size or 65536):
            yield self.content[at:at + (chunk_size or 65536)]

    def raise_for_status(self):
        if self.status >= 400:
            raise HTTPError(f"{self.status} {self.reason} for {self.url}", self)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        pass

    def __await__(self):
        return self
        yield

    def __bool__(self):
        return self.ok

    def __repr__(self):
        return f"<Response [{self.status}]>"


def with_query(url, params):
    if not params:
        return url
    query = params if isinstance(params, str) else urllib.parse.urlencode(
        {k: v for k, v in params.items() if v is not None} if isinstance(params, dict) else params, doseq=True)
    start, mark, end = url.partition("#")
    return f"{start}{'&' if '?' in start else '?'}{query}{mark}{end}"


def body_of(body, data, sent, headers):
    """(bytes or None); the type goes to the headers."""
    given = body if body is not None else data
    if sent is not None:
        headers.setdefault("content-type", "application/json")
        return json.dumps(sent).encode()
    if given is None:
        return None
    if isinstance(given, (dict, list, tuple)):
        headers.setdefault("content-type", "application/x-www-form-urlencoded")
        return urllib.parse.urlencode(given, doseq=True).encode()
    if isinstance(given, str):
        headers.setdefault("content-type", "text/plain;charset=UTF-8")
        return given.encode()
    if hasattr(given, "read"):
        given = given.read()
        return given.encode() if isinstance(given, str) else given
    return bytes(given)


last_id = 0


def prepare_fetch(url, init=None, *, method=None, headers=None, body=None, data=None, json=None, params=None,
                  redirect=None, allow_redirects=True, auth=None, timeout=None, **others):
    """The arguments of the host call, from those of fetch() and of requests."""
    global last_id
    if others:
        raise TypeError(f"fetch takes no {', '.join(others)}")
    init = dict(init or {})
    method = str(method or init.get("method") or "GET")
    method = method.upper() if method.lower() in METHODS else method
    given = dict(headers or init.get("headers") or {})
    given = {str(k).lower(): str(v) for k, v in given.items()}
    if auth is not None:
        user, password = auth
        given["authorization"] = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    parts = urllib.parse.urlsplit(str(url))
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"'{parts.scheme}:' cannot be fetched; http: and https: can")
    if parts.username or parts.password:
        raise ValueError("a URL to be fetched holds no name and password; send a header")
    sent = body_of(body if body is not None else init.get("body"), data, json, given)
    if sent is not None and method in ("GET", "HEAD"):
        raise ValueError(f"a {method} request has no body")
    last_id += 1
    out = {"id": last_id, "url": with_query(str(url), params), "method": method,
           "headers": [[k, v] for k, v in given.items()],
           "redirect": redirect or init.get("redirect") or ("follow" if allow_redirects else "manual")}
    if sent is not None:
        out["body"] = base64.b64encode(sent).decode()
    return [out]


fetch = None


def function(number, row):
    global fetch
    if row["name"] != "fetch":
        return None
    fetch = Function(number, row, Response, prepare_fetch)
    fetch.sync = False  # its row answers at once to cancel alone, which nothing here does
    return fetch


def globals_of(rows):
    return {}


# ---- requests ----------------------------------------------------------------------

class Session:
    """Headers that all of its requests have. There are no cookies."""

    def __init__(self):
        self.headers = {}
        self.params = {}
        self.auth = None

    def request(self, method, url, **options):
        options["headers"] = {**self.headers, **(options.get("headers") or {})}
        if self.params:
            options["params"] = {**self.params, **(options.get("params") or {})}
        options.setdefault("auth", self.auth)
        return request(method, url, **options)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        pass


def request(method, url, *, stream=False, verify=True, cookies=None, files=None, proxies=None, cert=None, hooks=None,
            **options):
    if files:
        raise TypeError("requests here sends no files; give data")
    return fetch(url, method=method, **options)


def method_of(name):
    def send(url, *args, **options):
        if args:
            options["params" if name == "get" else "data"] = args[0]
        return request(name, url, **options)

    send.__name__ = send.__qualname__ = name
    setattr(Session, name, lambda self, url, *a, **o: self.request(
        name, url, **({("params" if name == "get" else "data"): a[0]} if a else {}), **o))
    return send


def make_requests():
    made = types.ModuleType("requests", "requests over fetch: get, post and the like, Session, HTTPError.")
    made.request, made.Session, made.session, made.Response = request, Session, Session, Response
    errors = types.ModuleType("requests.exceptions")
    for module in (made, errors):
        module.HTTPError = HTTPError
        module.RequestException = module.ConnectionError = module.Timeout = OSError
        module.JSONDecodeError = module.InvalidURL = ValueError
    for name in METHODS:
        setattr(made, name, method_of(name))
    made.exceptions = errors
    sys.modules["requests"], sys.modules["requests.exceptions"] = made, errors


# ---- urllib.request ----------------------------------------------------------------

class Opened(io.BytesIO):
    """What urlopen() answers."""

    def __init__(self, response):
        super().__init__(response.content)
        self.status = self.code = response.status
        self.reason = self.msg = response.reason
        self.url = response.url
        self.headers = email.message.Message()
        for name, value in response.headers.items():
            self.headers[name] = value

    def info(self):
        return self.headers

    def getheader(self, name, default=None):
        return self.headers.get(name, default)

    def getheaders(self):
        return self.headers.items()

    def geturl(self):
        return self.url

    def getcode(self):
        return self.status


def urlopen(url, data=None, timeout=None, *, context=None):
    if isinstance(url, urllib.request.Request):
        data = url.data if data is None else data
        options = {"method": url.get_method(), "headers": dict(url.header_items())}
        url = url.full_url
    else:
        options = {"method": "GET" if data is None else "POST"}
    if data is not None:
        options["data"] = data
        options.setdefault("headers", {}).setdefault("Content-type", "application/x-www-form-urlencoded")
    response = fetch(url, **options)
    opened = Opened(response)
    if response.status >= 400:
        raise urllib.error.HTTPError(response.url, response.status, response.reason, opened.headers, opened)
    return opened


def prepare():
    urllib.request.urlopen = urlopen
    make_requests()
