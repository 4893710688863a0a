"""Where code is nested most deeply: for code that neither the parser nor a checker gets through. Seen are
words and signs, since nothing can parse it. mypy's package (types/) has this file, too."""
import re

TOKEN = re.compile(
    r"""(?P<text>[A-Za-z]{,2}(?:'{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)|"{3}(?:[^\\]|\\.)*?(?:"{3}|\Z)|'(?:[^\\'\n]|\\.)*['\n]|"(?:[^\\"\n]|\\.)*["\n]))
    |(?P<comment>\#[^\n]*|\\\r?\n)|(?P<line>\r?\n)|(?P<space>[ \t\f]+)|(?P<word>\w+)|(?P<sign>.)""", re.S | re.X)
SHOWN = 100  # levels behind which it counts as deep


class Depth:
    """How deep the code is, as it is read."""

    def __init__(self):
        self.brackets = [0]  # of each that is open: what hangs on what since the last comma
        self.indents = [("", 0)]  # of each block: its indent, and how many `elif` it continues
        self.hanging = self.branches = 0  # their sums

    def line(self, indent, word):
        while len(self.indents) > 1 and len(self.indents[-1][0]) > len(indent):
            self.branches -= self.indents.pop()[1]
        last, count = self.indents[-1]
        if len(last) < len(indent):
            self.indents.append((indent, 0))
        elif word == "elif":
            self.indents[-1] = (last, count + 1)
            self.branches += 1
        elif word != "else":
            self.indents[-1] = (last, 0)
            self.branches -= count
        self.begin()

    def begin(self):
        self.hanging -= self.brackets[-1]
        self.brackets[-1] = 0

    def sign(self, c):
        if c in "([{":
            self.brackets.append(0)
        elif c in ")]}":
            if len(self.brackets) > 1:
                self.hanging -= self.brackets.pop()
            self.brackets[-1] += 1
            self.hanging += 1
        elif c in ",;":
            self.begin()
        else:
            self.brackets[-1] += 1
            self.hanging += 1

    def now(self):
        return len(self.brackets) + len(self.indents) + self.hanging + self.branches


def places(source):
    """(depth, offset) of each word and sign."""
    depth, starts, indent = Depth(), True, ""
    for found in TOKEN.finditer(source):
        kind, text = found.lastgroup, found[0]
        if kind == "line":
            starts, indent = len(depth.brackets) == 1, ""
        elif kind == "space":
            indent = text
        elif kind != "comment":
            if starts:
                depth.line(indent, text)
                starts = False
            if kind == "sign" or text in ("not", "lambda", "if", "await"):
                depth.sign(text)
            yield depth.now(), found.start()


def deepest(source):
    """(line, column), from 1, where what is deepest in the code begins to be deep."""
    most = max((depth for depth, _ in places(source)), default=0)
    limit, begun, at = min(SHOWN, most // 2), None, 0
    for depth, offset in places(source):
        if depth <= limit:
            begun = None
        elif begun is None:
            begun = offset
        if depth == most:
            at = offset if begun is None else begun
            break
    before = source[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


def too_deep(source, file):
    """The error for code that is nested more deeply than the parser goes."""
    line, column = deepest(source)
    return SyntaxError("the code is nested too deeply here: brackets, operators or blocks in one another", (file, line, column, None))


def is_too_deep(error):
    """Is it the parser's error, or what came of it? The parser's MemoryError has words."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, RecursionError) or isinstance(error, MemoryError) and error.args:
            return True
        error = error.__context__
    return False
