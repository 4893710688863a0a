"""csvtool, compared with Debian's; jwt, toml2json and uuid, which nobody else has like this:
tokens signed with openssl, keys made for these cases alone, and examples of the standards."""
import base64
import hashlib
import hmac
import json
import re

from compare import case

CSV = """a,b,c
1,"x, y",
"q""uote", lead,trail \n"multi
line",é
,,

"",z
"  sp",\\n
"cr\rx",1
"""
ONE = "Computers,$40\nSoftware,$100\nX,1\n"
TWO = "Computers,$50\nY,2\nX,3\nX,4\n"
EDGES = ",,\n,a,\n\n,,\n"
FILES = {"q.csv": CSV, "one.csv": ONE, "two.csv": TWO, "edges.csv": EDGES}


def csv(*args, stdin=""):
    return case(*args, stdin=stdin, files=FILES)


CSV_CASES = [
    csv("cat", "q.csv"), csv("cat", "-", stdin=CSV), csv("col", "2,1,5", "q.csv"), csv("col", "2-", "q.csv"),
    csv("col", "1-2,1", "one.csv", "two.csv"), csv("-z", "col", "0", "q.csv"), csv("namedcol", "c,a", "q.csv"),
    csv("namedcol", "a,missing", "q.csv"), csv("width", "q.csv"), csv("width", "q.csv", "one.csv"),
    csv("height", "q.csv"), csv("height", "one.csv", "two.csv"), csv("setcolumns", 3, "one.csv"),
    csv("setcolumns", 1, "q.csv"), csv("setrows", 5, "one.csv"), csv("setrows", 1, "one.csv"),
    csv("head", 2, "q.csv"), csv("take", 4, "one.csv", "two.csv"), csv("drop", 2, "one.csv", "two.csv"),
    csv("take", 0, "one.csv"), csv("paste", "one.csv", "two.csv"), csv("paste", "two.csv", "one.csv"),
    csv("pastecol", "2", "1", "one.csv", "two.csv"), csv("pastecol", "2", "1", "one.csv", "one.csv"),
    csv("join", 1, 2, "one.csv", "two.csv"), csv("join", 1, "2,3", "two.csv", "one.csv"), csv("square", "q.csv"),
    csv("trim", "t", "edges.csv"), csv("trim", "b", "edges.csv"), csv("trim", "l", "edges.csv"),
    csv("trim", "r", "edges.csv"), csv("trim", "tlbr", "edges.csv"), csv("sub", 1, 2, 2, 1, "q.csv"),
    csv("sub", 2, 2, 9, 9, "one.csv"), csv("-z", "sub", 0, 0, 1, 1, "q.csv"), csv("sub", 9, 1, 2, 2, "one.csv"),
    csv("replace", 1, "two.csv", "one.csv"), csv("transpose", "q.csv"), csv("readable", "q.csv"),
    csv("format", "%(1) -> %2%%|%9\\n\\t", "q.csv"), csv("format", "%x %(1", "one.csv"),
    csv("-t", ";", "-u", "TAB", "cat", "-", stdin="a;b c;\"d;e\"\n"), csv("-t", "TAB", "cat", "-", stdin="a\tb ,c\n"),
    csv("-u", "SPACE", "cat", "one.csv"), csv("-o", "out.csv", "cat", "one.csv"),
    csv("cat", "-", stdin="a,b\r\nc,d\r\n"), csv("cat", "-", stdin='a,b"c,d\n'), csv("cat", "-", stdin='"a" ,"b"\n'),
    csv("cat", "-", stdin='"a"b,c\n'), csv("cat", "-", stdin='a,"b'), csv("width", "-"), csv("cat", "missing.csv"),
    csv("col", "x", "one.csv"),
]

RSA = """-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAurvxTOY104i8XwkhZ3s/
GnNj+Vcwa2gWOe3KXYxOanKT7U6m2fCARnzmkRt3UWKebfCQZO51W7gJQ1S5s19T
gR6U5rBVWX6YwW/8Pd+npv17Xi5/KWWrEPrTJneTq34CzbXgYdvaRgGTVwzWOYEo
b0yG0uQcmIgiXsQEDGhXku3UZ9z5sO2pR5RrqH875fHU3c5ZlrZHr3nu5vC1gkti
4z13Io8i5PS25Y7iDmrqVCBAcNpweY1HagqEGTX/9cRCECw5NY+NdJxuFa48GKst
oix95WJcNW5V2Hz1Xz43e8rGozY0LJjCnBH7OMnKeftqZwRhh+wWeZ+M7YK98xFj
twIDAQAB
-----END PUBLIC KEY-----
"""
RSA_PRIVATE = """-----BEGIN PRIVATE KEY-----
MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC6u/FM5jXTiLxf
CSFnez8ac2P5VzBraBY57cpdjE5qcpPtTqbZ8IBGfOaRG3dRYp5t8JBk7nVbuAlD
VLmzX1OBHpTmsFVZfpjBb/w936em/XteLn8pZasQ+tMmd5OrfgLNteBh29pGAZNX
DNY5gShvTIbS5ByYiCJexAQMaFeS7dRn3Pmw7alHlGuofzvl8dTdzlmWtkevee7m
8LWCS2LjPXcijyLk9LbljuIOaupUIEBw2nB5jUdqCoQZNf/1xEIQLDk1j410nG4V
rjwYqy2iLH3lYlw1blXYfPVfPjd7ysajNjQsmMKcEfs4ycp5+2pnBGGH7BZ5n4zt
gr3zEWO3AgMBAAECggEAD4xwtjeBCeEb1kn7VxODGJ+9Flj1NixPlXlAXXO+X8y0
lpDzAbit5bCmvjRsRgGRMZRTYaQdb4qucsXORKpOWLUELwVFxhLtg0Xg2gISgqwe
pqP2gKrviJVqGYzhZekzMI/RZDSbQzMEYr415Enl5QaZP1wxKV5EhmGJ+MKDcD9q
25G1szo/m4+yJZkmHA+Sz10VxWJnPE3wtNLMIqVCVzZDAzdwjX/Ml+2PEoXz7L+W
xXlPNpZKdTScyzQGulx3lu/gJoML++zHflQijJIdpbFaXGhOAkGfJ++dLqfN2BG7
JbEcKDGLW23M1NNxEdsSejKyXbWGF/K8/T7ZVKZnaQKBgQDv+2K9x5uR/QIEkUUS
KFpBKgl3UAuVf16xjjBn1mimZgrCjDiet/Z4dyq7bd5L2V+E6rHIo3VKuriYB1M4
k9RCSC5UfdhRhlpeZawMyri04YB7wRcAuxVuSHhEAlDUq11PcltsdabLAXQ9RxKC
nV/hCC/5gUDD1CGUPUqlLDXaKwKBgQDHMrOwWbmKSDZH4VusDYue0shxYhotZKPM
9MHygA0ZQmOHz4Czg1ePdh/kwi8mHeO0Y/S9C6TQwHCOTQz0xoIWC6oOo5TG+td1
A0uPrQ3PsKC/NZLhAr0K9IPdxrcJx9zTNnjVoiFSnWxszbixZnnWh0KHoDfVjmtN
pavlYm5SpQKBgQDqYhPmVvXSd9FotJlJSrAbxPrJ1Rv7PxM1RzJvuDEtk6wepuUF
35aRwZGyzXO3kO6B2tcYpsz/165CjaTyNS+yLN1TGDYWKapJV/PZ6oTL5RKfy86z
oAUmWRFdGwXnMBdKaN5x59annxvwXWHuv9XM6zov7dVbbev95H7rI2rVUQKBgDl2
3PNwzt+feVk/H80Ak1icAgsDe/3AXKiRqymj2yOATWouaDhhGW9fak/53NQoJzow
47dtlnxKJ65FeAldAsYNU1+pvQ+x6VnuO2wVRji2AYlnkRmsSpDQfQILg14k9AVS
X4Vxoh9NHqw8pJ04rMlAd+bcR38p+LaLpo0j2iOpAoGBAJ6S2MyikhEAUP+FK/qM
d/UDiyp2wagjZAd0vNtQYP6lL2ev0k+iEiqH78ciK3FbIbHwGgyqwhLuMsoctgCt
K0eYzqxWojUyzR0kDXoN8CYcUGTZLOhwM/suXwAy+XLjIn9DYaUCdwPg2ASxTbez
v32WoCcxZHiGMt97X5kn7q1b
-----END PRIVATE KEY-----
"""
EC = """-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEX9mj05v5JRPdc5qJDP8UevATpOBb
xmUcsYp4/8JZiVid/7Ni9WrmDUNLf++arIF6DRBgqeYR1RHPc9NbGAMRIg==
-----END PUBLIC KEY-----
"""
EC384 = """-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEl2rNXxLI+Wuei7XQBXtJG1lENt3+bmdg
0bpwVS5zOMEqDGMv42CtDCvspv6yjGNfD4m9wZscjeXvCHAVybm+Jkz2rKx62G6l
PbRYbC5F/zZ2zVFIlkDU0rkX+edqaLFu
-----END PUBLIC KEY-----
"""
ED = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAxguN2CRGnA/WD5lmqIW5BurwM2WPRgCXP3rAEU2jYMo=
-----END PUBLIC KEY-----
"""
ED_PRIVATE = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJRxpVjjzETK5qKHLSS/rSsrSWtmFfp2hfr92oFFTDD9
-----END PRIVATE KEY-----
"""
RS256 = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIiwiZXhwIjoyMDAwMDAwMDAwLCJpc3MiOiJtZSIsImF1ZCI6WyJhIiwiYiJdfQ.eVt7x4izVhmjp6PkLc6DhPwJX5EdMJ1PVp5SLQu_Fxd19Fo816CKwjsLisM-2lVY9aFFMArrwA0jPxay6gQz1jBIe9lX4sNGcz-Ht09wdDh3yx7X9Dp6D-KuPtBescEoGTR9xvl_-4AjFrCKeD2MU9T9vN0XKBeReeGxXanRJyAVPkOKsX5X0B3cz6obf-ZrX0uis5li7hJ3WCMFTwdL8wqll8dbenPX85ZM9glEWsqB8LUh9xfApmuQABWo0g0vH0mXycjTrutCU04EOZJdSirJ22wPExldEb7Logf9xlB5v54wvaFtslDlfYQdhejHuaADRarYTy6iOyG5UjXmGA"
PS256 = "eyJhbGciOiJQUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIiwiZXhwIjoyMDAwMDAwMDAwLCJpc3MiOiJtZSIsImF1ZCI6WyJhIiwiYiJdfQ.LA4doG4lzLwJrZUfkUK2CKWSw42dPR1BK7-as-kMTqq5V8jXP3jg2werWy-BccIhxLl3QU9KQu7fqsF_nB2QNlsUm3o55SPchj9eYDVxic8V9lrC-Yfg4m2UFS3wgBmOSA8zRgr8yw6j8mcraQUhtYRt8_682vR_aygxrBAv-T35JB64PuK9zM8Ob5uoK7ziEX6oqPlmJghhJqsBPYvqeF0bi-u2BU5rISM3L6dJlDgAin-BiPQFAbd-0GDn4PKRnlFXhRd-bQ44aczfcsqxCIN1irOXxeK4t0MqrBRZ_bQn90oUO-GR1iLU3lLaHFcrzIHlEF5J6mnU_sTK98X2Bw"
ES256 = "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIiwiZXhwIjoyMDAwMDAwMDAwLCJpc3MiOiJtZSIsImF1ZCI6WyJhIiwiYiJdfQ.sjSn0I_g-03I-S_ZMldjGN1jsVnBI811xQJJ3YGvqUJYO8xyYSWJAm7X5oS5FuSCqdFm_kphB3Oj6O3c9Qdtwg"
EDDSA = "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIiwiZXhwIjoyMDAwMDAwMDAwLCJpc3MiOiJtZSIsImF1ZCI6WyJhIiwiYiJdfQ.hzqzwgRdgcbmzOZPNSEBx0SSZVjOLVyP9yc3XGzWcLvwHvq4KyDGvggYsk_h-Lit7m196D-WluazIc7zebBtAw"
# jwt.io's well-known example.
HS256 = ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ."
         "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c")
NONE = "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0."
KEYS = {"rsa.pem": RSA, "rsa.key": RSA_PRIVATE, "ec.pem": EC, "ec384.pem": EC384, "ed.pem": ED, "ed.key": ED_PRIVATE}


def keyed(header, payload):
    """A token of HS256 with the secret "x"."""
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    signed = part(json.dumps({"alg": "HS256"} | header).encode()) + "." + part(payload.encode())
    return signed + "." + part(hmac.digest(b"x", signed.encode(), hashlib.sha256))


def says(payload):
    return lambda r: r.exit == 0 and json.loads(r.stdout)["payload"] == payload


def refused(word):
    return lambda r: r.exit == 1 and not r.stdout and word.encode() in r.stderr


def jwt(*args, check, stdin=""):
    return case(*args, stdin=stdin, files=KEYS, check=check)


CLAIMS = {"sub": "1", "exp": 2000000000, "iss": "me", "aud": ["a", "b"]}
JOHN = {"sub": "1234567890", "name": "John Doe", "iat": 1516239022}
JWT_CASES = [
    jwt("decode", HS256, check=says(JOHN)),
    jwt("decode", stdin=RS256 + "\n", check=says(CLAIMS)),
    jwt("decode", "a.b", check=refused("three parts")),
    jwt("decode", "e30.!.x", check=refused("base64url")),
    jwt("verify", "--secret", "your-256-bit-secret", HS256, check=says(JOHN)),
    jwt("verify", "--secret", "another", HS256, check=refused("signature")),
    jwt("verify", "--key", "rsa.pem", RS256, check=says(CLAIMS)),
    jwt("verify", "--key", "rsa.pem", PS256, check=says(CLAIMS)),
    jwt("verify", "--key", "ec.pem", "--alg", "ES256", ES256, check=says(CLAIMS)),
    jwt("verify", "--key", "ed.pem", EDDSA, check=says(CLAIMS)),
    jwt("verify", "--key", "ed.pem", EDDSA[:-3] + "AAA", check=refused("signature")),
    jwt("verify", "--key", "rsa.pem", ES256, check=refused("does not fit")),
    jwt("verify", "--key", "ec384.pem", ES256, check=refused("does not fit")),
    jwt("verify", "--key", "ec.pem", EDDSA, check=refused("does not fit")),
    jwt("verify", "--secret", "x", keyed({}, '{"sub": 1}'), check=says({"sub": 1})),
    jwt("verify", "--secret", "x", keyed({"crit": ["b64"]}, "{}"), check=refused("crit")),
    jwt("verify", "--secret", "x", "--at", 1, keyed({}, '{"nbf": 2000000000}'), check=refused("before 2033")),
    jwt("verify", "--secret", "x", keyed({}, '{"exp": "2033"}'), check=refused("exp")),
    jwt("verify", "--secret", "x", keyed({}, "{} {}"), check=refused("more than one JSON")),
    jwt("verify", "--secret", "x", "--issuer", "me", keyed({}, "{}"), check=refused("iss")),
    jwt("verify", "--key", "rsa.pem", "--alg", "ES256", RS256, check=refused("only ES256")),
    jwt("verify", "--key", "rsa.pem", HS256, check=refused("PEM key is no secret")),
    jwt("verify", "--secret", "x", NONE, check=refused("none")),
    jwt("verify", "--key", "rsa.pem", "--at", 2000000001, RS256, check=refused("expired at 2033")),
    jwt("verify", "--key", "rsa.pem", "--at", 2000000001, "--leeway", 60, RS256, check=says(CLAIMS)),
    jwt("verify", "--key", "rsa.pem", "--issuer", "me", "--audience", "b", RS256, check=says(CLAIMS)),
    jwt("verify", "--key", "rsa.pem", "--audience", "c", RS256, check=refused("audience")),
    jwt("verify", "--key", "rsa.pem", "--issuer", "you", RS256, check=refused("issuer")),
    jwt("sign", "--secret", "your-256-bit-secret", json.dumps(JOHN), check=lambda r: r.stdout.decode().strip() == HS256),
    jwt("sign", "--alg", "RS256", "--key", "rsa.key", json.dumps(CLAIMS), check=lambda r: r.stdout.decode().strip() == RS256),
    jwt("sign", "--alg", "EdDSA", "--key", "ed.key", stdin=json.dumps(CLAIMS), check=lambda r: r.stdout.decode().strip() == EDDSA),
    jwt("sign", "--alg", "RS256", "--key", "rsa.pem", "{}", check=refused("public")),
    jwt("sign", "--secret", "x", "[1]", check=refused("no JSON object")),
    jwt("sign", "--alg", "none", "--secret", "x", "{}", check=lambda r: r.exit == 2),
    jwt("frobnicate", check=lambda r: r.exit == 2),
]

TOML = """# a comment
title = "TOML \\u00e9"
[owner]
dob = 1979-05-27T07:32:00-08:00
day = 1979-05-27
time = 07:32:00.5
local = 1979-05-27T07:32:00
[database]
ports = [8000, 0x1f, 0o17, 0b11, 1_000]
data = [["a", 'b\\'], [3.14, -inf, 1e3]]
on = true
[[products]]
name = \"\"\"
Hammer\"\"\"
[[products]]
"quoted key".a.b = { x = 1, y = [] }
"""
TOML_JSON = {
    "title": "TOML é", "owner": {"dob": "1979-05-27T07:32:00-08:00", "day": "1979-05-27", "time": "07:32:00.5",
                                 "local": "1979-05-27T07:32:00"},
    "database": {"ports": [8000, 31, 15, 3, 1000], "data": [["a", "b\\"], [3.14, "-inf", 1000.0]], "on": True},
    "products": [{"name": "Hammer"}, {"quoted key": {"a": {"b": {"x": 1, "y": []}}}}],
}


def toml(text, expected, *args):
    return case(*args, stdin=text, check=lambda r: r.exit == 0 and json.loads(r.stdout) == expected)


def invalid(text):
    return case(stdin=text, check=lambda r: r.exit == 1 and not r.stdout and b"line" in r.stderr)


TOML_CASES = [
    toml(TOML, TOML_JSON), toml(TOML, TOML_JSON, "-p"),
    case("in.toml", files={"in.toml": TOML}, check=lambda r: json.loads(r.stdout) == TOML_JSON),
    toml("", {}), toml("a.b.c = 1\n", {"a": {"b": {"c": 1}}}), toml("i = 9223372036854775807\n", {"i": 9223372036854775807}),
    toml("a = 1\nb = 1.0\nc = 1979-05-27\n", {
        "a": {"type": "integer", "value": "1"}, "b": {"type": "float", "value": "1.0"},
        "c": {"type": "date-local", "value": "1979-05-27"}}, "-t"),
    invalid("a = \n"), invalid("a = 1\na = 2\n"), invalid("[a]\n[a]\n"), invalid("a = {x = 1,\n}\n"),
    invalid("a = 01\n"), invalid('a = "\\q"\n'), invalid("a = 2021-13-01\n"), invalid("= 1\n"),
    invalid("i = 9223372036854775808\n"), invalid(b"a = \"\xff\"\n"),
    case("missing.toml", check=lambda r: r.exit == 1), case("--wrong", check=lambda r: r.exit == 2),
]


def uuids(version, count=1):
    shape = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-%d[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}" % version)
    def check(r):
        lines = r.stdout.split()
        return r.exit == 0 and len(set(lines)) == count and all(shape.fullmatch(x) for x in lines)
    return check


def text(expected):
    return lambda r: r.exit == 0 and r.stdout.decode() == expected


def ordered(r):
    return uuids(7, 5000)(r) and r.stdout.split() == sorted(r.stdout.split())


UUID_CASES = [
    case(check=uuids(4)), case("-v", 4, "-n", 100, check=uuids(4, 100)), case("-v", 7, check=uuids(7)),
    case("-v", 7, "-n", 5000, check=ordered),
    case("-v", 5, "--namespace", "dns", "--name", "www.example.com", check=text("2ed6657d-e927-568b-95e1-2665a8aea6a2\n")),
    case("-v", 5, "--namespace", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "--name", "python.org",
         check=text("886313e1-3b8a-5372-9b90-0c9aee199e5d\n")),
    case("-v", 5, "--namespace", "url", "--name", "x", "-u", check=lambda r: r.stdout == r.stdout.upper()),
    case("--parse", "C232AB00-9414-11EC-B3C8-9F6BDECED846",
         check=text("uuid: c232ab00-9414-11ec-b3c8-9f6bdeced846\nvariant: RFC 9562\nversion: 1\ntime: 2022-02-22T19:22:22.000Z\n")),
    case("--parse", "1EC9414C-232A-6B00-B3C8-9F6BDECED846",
         check=text("uuid: 1ec9414c-232a-6b00-b3c8-9f6bdeced846\nvariant: RFC 9562\nversion: 6\ntime: 2022-02-22T19:22:22.000Z\n")),
    case("--parse", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
         check=text("uuid: 017f22e2-79b0-7cc3-98c4-dc0c0c07398f\nvariant: RFC 9562\nversion: 7\ntime: 2022-02-22T19:22:22.000Z\n")),
    case("--parse", "{017F22E2-79B0-7CC3-98C4-DC0C0C07398F}", check=lambda r: b"version: 7" in r.stdout),
    case("--parse", "x017F22E2-79B0-7CC3-98C4-DC0C0C07398Fx", check=lambda r: r.exit == 1),
    case("--parse", "00000000000000000000000000000000", check=lambda r: r.stdout.endswith(b"\nnil\n")),
    case("--parse", "no uuid", check=lambda r: r.exit == 1), case("-v", 3, check=lambda r: r.exit == 2),
    case("-n", 10001, check=lambda r: r.exit == 2), case("-v", 5, "--name", "x", check=lambda r: r.exit == 2),
    case("--wrong", check=lambda r: r.exit == 2),
]

CASES = {"csvtool": CSV_CASES, "jwt": JWT_CASES, "toml2json": TOML_CASES, "uuid": UUID_CASES}
