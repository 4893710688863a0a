"""ripgrep 15.1, compared with Debian's 14.1, on what both do alike. One thread and sorted
paths, since several finish in any order."""
import json
import re

from compare import case, debian

REFERENCE = {"ripgrep": debian("rg")}

FILES = {
    "a.txt": "hello world\nHello again\nfoo bar\nfoo.bar\n\nlast hello\n",
    "src/main.c": "int main(void)\n{\n    return hello(); /* TODO: x */\n}\n",
    "src/deep/note.md": "# Notes\n\nTODO write\nhéllo wörld\n",
    "skip.log": "hello from the log\n",
    ".hidden": "hello hidden\n",
    ".ignore": "*.log\n",
    "bin": b"hello\0binary\n",
    "crlf.txt": "hello\r\nbye\r\n",
}


def rg(*args, stdin="", normal=None):
    return case("--sort", "path", "-j1", *args, stdin=stdin, files=FILES, normal=normal)


def untimed(result):
    """Times of --json and --stats."""
    out = []
    for line in result.stdout.splitlines():
        one = json.loads(line)
        for stats in (one["data"].get("stats"), one["data"]):
            if stats:
                stats.pop("elapsed", None)
                stats.pop("elapsed_total", None)
        out.append(json.dumps(one, sort_keys=True).encode())
    result.stdout = b"\n".join(out)


def no_seconds(result):
    result.stdout = re.sub(rb"[0-9.]+ seconds.*", b"", result.stdout)


CASES = {"ripgrep": [
    rg("hello", "."), rg("-n", "hello", "a.txt"), rg("-i", "hello", "a.txt"), rg("-w", "hello", "."),
    rg("-F", "foo.bar", "a.txt"), rg("-v", "o", "a.txt"), rg("-c", "hello", "."), rg("-l", "hello", "."),
    rg("--files-without-match", "hello", "."), rg("-o", "h.llo", "."), rg("-A1", "-B1", "foo", "a.txt"),
    rg("-C", 1, "TODO", "."), rg("-r", "<$1>", "(h)ello", "a.txt"), rg("--hidden", "hello", "."),
    rg("--no-ignore", "hello", "."), rg("-u", "hello", "."), rg("-a", "hello", "bin"), rg("hello", "bin"),
    rg("-g", "*.md", "TODO", "."), rg("-g", "!*.md", "TODO", "."), rg("-t", "c", "TODO", "."), rg("--files", "."),
    rg("-S", "Hello", "."), rg("-x", "foo bar", "a.txt"), rg("-m", 1, "hello", "a.txt"), rg("--column", "bar", "a.txt"),
    rg("-e", "foo", "-e", "last", "a.txt"), rg("-U", "main.*\\n\\{", "src"), rg("--multiline-dotall", "-U", "int.*return", "src"),
    rg("\\p{L}ö", "."), rg("-b", "-o", "foo", "a.txt"), rg("--vimgrep", "foo", "a.txt"), rg("--heading", "-n", "TODO", "."),
    rg("--json", "hello", "a.txt", normal=untimed), rg("--stats", "hello", "a.txt", normal=no_seconds), rg("-N", "hello", "-", stdin="hello\nno\n"),
    rg("--crlf", "hello$", "crlf.txt"), rg("--no-filename", "hello", "."), rg("-q", "hello", "a.txt"), rg("-0", "-l", "hello", "."),
    rg("nothing-like-it", "."), rg("(", "."), rg("hello", "missing"), rg("--no-such-option"), rg("--count-matches", "o", "a.txt"),
    rg("--max-depth", 1, "hello", "."), rg("--trim", "return", "src"), rg("-z", "hello", "a.txt"), rg("--passthru", "foo", "a.txt"),
]}
