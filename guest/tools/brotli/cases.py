"""brotli, compared with Debian's."""
from compare import case

TEXT = "The quick brown fox jumps over the lazy dog.\n" * 200
BYTES = bytes(range(256)) * 40
# b"hello\n", as brotli 1.1 writes it.
HELLO = bytes.fromhex("0b028068656c6c6f0a03")

CASES = {"brotli": [
    case("-c", stdin=TEXT),
    case("-c", "-q", 11, stdin=BYTES),
    case("-c", "-q", 0, "-w", 16, stdin=TEXT),
    case("-1", "in", files={"in": TEXT}),
    case("-d", "-c", stdin=HELLO),
    case("-d", "in.br", files={"in.br": HELLO}),
    case("-t", "in.br", files={"in.br": HELLO}),
    case("-t", "in.br", files={"in.br": HELLO[:5]}),
    case("-j", "in", files={"in": TEXT}),
    case("-o", "out", "in", files={"in": BYTES}),
    case("-f", "in", files={"in": TEXT, "in.br": "there"}),
    case("-d", "-c", stdin="this is no brotli"),
    case("-S", ".b", "a", "b", files={"a": TEXT, "b": BYTES}),
    case("--no-such-option"),
]}
# It gives its output the input's mode and owner, of which nothing is to be said.
CASES["brotli"].append(case("in", files={"in": TEXT}, check=lambda r: not r.exit and not r.stderr))
