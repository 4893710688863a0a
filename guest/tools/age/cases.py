"""age and age-keygen. What is encrypted differs every time, so files of fixed keys (made for
these cases alone) are decrypted and compared; what Wasm encrypts is decrypted natively in
test/test_tools_made.py."""
from compare import case, go

REFERENCE = {"age": go("age", "filippo.io/age/cmd/age"),
             "age-keygen": go("age", "filippo.io/age/cmd/age-keygen")}

KEY = """# made for tests
AGE-SECRET-KEY-1VF6ZJEEYSEFWA307405JVU3MMM8U4JX22SKMJX60Y5GACXNKG9WSPXQTWT
"""
OTHER = "AGE-SECRET-KEY-19CHKD40FGVTRWLUY4UU677YNC0ZUMRUGPCQ4MC0785RLK6Z6FRVQWCC7PT\n"
RECIPIENT = "age1lq854f0yjmuzptyguej66huj84dg2ytssv88jjkw0nzp9cl65yushmpxv2"
# "The secret.\\n" to KEY; bytes to OTHER and KEY; "a: 1\\nb: [1,2]\\n" with a passphrase.
ONE = """-----BEGIN AGE ENCRYPTED FILE-----
YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSAyZnVQUmV2a0tkNkYvT1Yr
azI3bkFZaHJ6L0pRMzh2YnYrOEJkVFRHSTNVCmFvU2hqOUdYMlNydlhDSGJmRG8r
ajdaN2hlVDJPSzJvNmgydk1EQXU1THcKLS0tIG53RStucjBTZXJxbFkzQ2gvUk9Z
ZHdHRDBkcUxxdlgwM0dkU044YWFyZUkKIsvYGdhnhn/XOUE7KyYjBbAZ4asTSzmx
QxxnKlw07XrJdvbLQBsEVWeUvMY=
-----END AGE ENCRYPTED FILE-----
"""
TWO = """-----BEGIN AGE ENCRYPTED FILE-----
YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSAwL1lLWWN2NzFwZzloTEpl
R2Z6M2thRVRCS0J6ZG5tRThKaXBmR01sZ0Z3CkppYmR0QzdtYS9mQncyUzJ4UUVP
MGZobGV2ZUxPTmxxUVdJcmdCbnhuYUUKLT4gWDI1NTE5IFlaT3RHMVlZckQzQy9H
ZTh0cVVPUWZwbXdjZHQ2dHJmK2hPeHkyNThQMTgKaUxia2o5TVU2c1p5TEdPYXRQ
TVJoZUxyTnZ5bWpkY0liaEx6TDBTTDJySQotLS0gd3N2dGx2ZUFsWncwYkl0K1Yr
NmlpazVhdEZVMzhtU1k1a1BNQk1sU2lTRQpryGaY7xYP+zQvVRAJivDSCr84Exf2
Rewoiz0UparqAhRqcHN0I66w
-----END AGE ENCRYPTED FILE-----
"""
PASS = """-----BEGIN AGE ENCRYPTED FILE-----
YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCBVcGM0QkFPOWlBS3IzRitF
Mm5ONWp3IDE4ClZmM1FEWmtMejF5WWIxaldKVkVtU0Y3LzZjaGNKN2hlOVh2Q2dN
YndKSDAKLS0tIE4vVFF1SHVDSFVFbVFGaGlrUy82aWFlUjFiNTVpVXJwQk4wc0RD
Z2pmeXcKFcCAe4JDJ5Ujzeyr49x5fJM8Wx0Tj+5S3oMPNgWCx2ye/aHA3ojnDU3O
FMDClg==
-----END AGE ENCRYPTED FILE-----
"""


def text(expected):
    return lambda r: r.exit == 0 and r.stdout == expected


def sealed(result):
    return result.exit == 0 and result.stdout.startswith(b"-----BEGIN AGE ENCRYPTED FILE-----\n")


CASES = {
    "age": [
        case("-d", "-i", "key", "one", files={"key": KEY, "one": ONE}),
        case("-d", "-i", "key", stdin=ONE, files={"key": KEY}),
        case("--decrypt", "--identity", "key", "-o", "out", "one", files={"key": KEY, "one": ONE}),
        case("-d", "-i", "key", "two", files={"key": KEY, "two": TWO}),
        case("-d", "-i", "other", "-i", "key", "one", files={"key": KEY, "other": OTHER, "one": ONE}),
        case("-d", "-i", "other", "one", files={"other": OTHER, "one": ONE}),
        case("-d", "-i", "key", "one", files={"key": KEY, "one": ONE[:-60]}),
        case("-d", "-i", "key", "one", files={"key": KEY, "one": "not encrypted\n"}),
        case("-d", "-i", "missing", "one", files={"one": ONE}),
        case("-r", "age1nonsense", stdin="x"),
        case("-d", "-r", RECIPIENT, stdin=ONE),
        case("--no-such-option"),
        case("-r", RECIPIENT, "-a", stdin="x", check=sealed),
        case("-R", "to", "-a", stdin="x", files={"to": "# who\n" + RECIPIENT + "\n"}, check=sealed),
        case("-d", "in", stdin="correct-horse\n", files={"in": PASS}, check=text(b"a: 1\nb: [1,2]\n")),
        case("-d", "in", env={"AGE_PASSPHRASE": "correct-horse"}, files={"in": PASS},
             check=text(b"a: 1\nb: [1,2]\n")),
        case("-d", "in", env={"AGE_PASSPHRASE_FILE": "pass"}, files={"in": PASS, "pass": "correct-horse\n"},
             check=text(b"a: 1\nb: [1,2]\n")),
        case("-d", "in", stdin="wrong\n", files={"in": PASS}, check=lambda r: r.exit == 1 and not r.stdout),
    ],
    "age-keygen": [
        case("-y", "key", files={"key": KEY}),
        case("-y", stdin=KEY + OTHER),
        case("-y", "-o", "out", "key", files={"key": KEY}),
        case("-y", stdin="no key\n"),
        case("-y", "missing"),
        case("-o", "there", files={"there": "x"}),
        case("--no-such-option"),
        case("a", "b"),
        case(check=lambda r: r.exit == 0 and b"\nAGE-SECRET-KEY-1" in r.stdout),
        case("-pq", check=lambda r: r.exit == 0 and b"\nAGE-SECRET-KEY-PQ-1" in r.stdout),
        case("-o", "new", check=lambda r: r.exit == 0 and b"# public key: age1" in r.files["new"]),
    ],
}
