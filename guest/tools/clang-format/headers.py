"""What LLVM's own table generator makes of clang's .td files, as far as clang-format needs it.

    headers.py OUT SOURCE...

Runs in the folder that holds clang/. SOURCE... are the files that get compiled: of the
thousands of messages only those are kept that these name. Other lists (builtin functions,
attributes, groups of warnings) are for compiling code, not for laying it out: they are empty.
"""
import re
import sys
from pathlib import Path

BASIC = Path("clang/include/clang/Basic")
OUT, SOURCES = Path(sys.argv[1], "clang"), sys.argv[2:]
STRING = r'"(?:[^"\\]|\\.)*"'
# The classes of Diagnostic.td: what they are, and how severe unless it is said.
KINDS = {"Error": ("ERROR", "Error"), "Warning": ("WARNING", "Warning"), "Note": ("NOTE", "Fatal"),
         "Extension": ("EXTENSION", "Ignored"), "ExtWarn": ("EXTENSION", "Warning"),
         "Remark": ("REMARK", "Ignored")}
SEVERITIES = {"Ignore": "Ignored", "Warn": "Warning"}
PARTS = ("Common", "Driver", "Frontend", "Serialization", "Lex", "Parse", "AST", "Comment", "CrossTU",
         "Sema", "Analysis", "Refactoring", "InstallAPI")
EMPTY = ("Basic/AttrList", "Basic/AttrSubMatchRulesList", "Basic/Builtins", "Sema/AttrParsedAttrList")
# One group, of nothing: a table may not be empty.
GROUPS = """#ifdef GET_DIAG_ARRAYS
static const int16_t DiagArrays[] = {-1}, DiagSubGroups[] = {-1};
static const char DiagGroupNames[] = "\\0";
#endif
#ifdef DIAG_ENTRY
DIAG_ENTRY(none, 0, 0, 0, "")
#endif
"""


def named():
    """The messages that the sources, or headers that they take in, say by name."""
    texts = [*map(Path, SOURCES), *BASIC.glob("*.h"), *BASIC.glob("../Lex/*.h")]
    return {name for file in texts for name in re.findall(r"\bdiag::(\w+)", file.read_text())}


def diagnostics(part, wanted):
    file = BASIC / f"Diagnostic{part}Kinds.td"
    source = file.read_text() if file.exists() else ""
    source = re.sub(rf"({STRING})|//[^\n]*", lambda m: m[1] or "", source)
    start = f"{part.upper()}START"
    yield f"#ifdef {start}\n__{start} = DIAG_START_{part.upper()},\n#undef {start}\n#endif\n"
    for name, kind, given, rest in re.findall(
            rf"\bdef\s+(\w+)\s*:\s*(\w+)\s*<([^>\"]*(?:{STRING}\s*)*)>((?:{STRING}|[^;\"])*);", source):
        if name in wanted and kind in KINDS:
            what, severity = KINDS[kind]
            said = re.search(r"\bDefault(Ignore|Remark|Warn|Error|Fatal)\b", rest)
            severity = SEVERITIES.get(said[1], said[1]) if said else severity
            text = given.strip() if given.strip().startswith('"') else '""'
            yield (f"DIAG({name}, CLASS_{what}, (unsigned)diag::Severity::{severity}, {text}, 0, "
                   f"SFINAE_Suppress, false, {str(kind == 'Error').lower()}, true, false, 0)\n")


def keywords():
    """Attributes that are keywords, and so are lexed."""
    for body in re.findall(r"^def \w+ :.*?^}", (BASIC / "Attr.td").read_text(), re.M | re.S):
        for name in re.findall(r'RegularKeyword<"(\w+)">', body):
            yield f"KEYWORD_ATTRIBUTE({name}, {str('let Args' in body).lower()}, )\n"
    yield "#undef KEYWORD_ATTRIBUTE\n"


def write(name, lines):
    file = OUT / f"{name}.inc"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lines))


wanted = named()
for part in PARTS:
    write(f"Basic/Diagnostic{part}Kinds", diagnostics(part, wanted))
for name in EMPTY:
    write(name, [])
write("Basic/DiagnosticGroups", [GROUPS])
write("Basic/RegularKeywordAttrInfo", keywords())
