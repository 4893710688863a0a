from dataclasses import replace

from compare import case

OLD = "".join(f"line {i}\n" for i in range(20))
NEW = OLD.replace("line 5\n", "line five\n")
DIFF = """--- old\t2024-01-01 00:00:00.000000000 +0000
+++ new\t2024-01-01 00:00:00.000000000 +0000
@@ -3,7 +3,7 @@
 line 2
 line 3
 line 4
-line 5
+line five
 line 6
 line 7
 line 8
"""
GIT = """diff --git a/dir/f b/dir/f
index 1111111..2222222 100644
--- a/dir/f
+++ b/dir/f
@@ -1,2 +1,2 @@
 one
-two
+TWO
diff --git a/new b/new
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+hello
diff --git a/gone b/gone
deleted file mode 100644
index 3333333..0000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
"""
TREE = {"dir/f": "one\ntwo\n", "gone": "bye\n"}
CONTEXT = """*** old\t2024-01-01
--- new\t2024-01-01
***************
*** 1,3 ****
  a
! b
  c
--- 1,3 ----
  a
! B
  c
"""


def without_reason(result):
    """Debian's patch 2.8-2+deb13u1 says why a name is left alone; 2.8 itself does not."""
    said = result.stdout.splitlines(keepends=True)
    return replace(result, stdout=b"".join(x for x in said if not x.startswith(b"Ignoring ")))


CASES = {
    "patch": [
        case("old", stdin=DIFF, files={"old": OLD}),
        case("-i", "p", "old", files={"old": OLD, "p": DIFF}),
        case("-p0", stdin=DIFF, files={"old": OLD}),
        case("-p1", stdin=GIT, files=TREE),
        case("-R", "old", stdin=DIFF, files={"old": NEW}),
        case("--dry-run", "old", stdin=DIFF, files={"old": OLD}),
        case("-o", "out", "old", stdin=DIFF, files={"old": OLD}),
        case("-b", "old", stdin=DIFF, files={"old": OLD}),
        case("old", stdin=DIFF, files={"old": "something\nelse\n"}),
        case("-N", "old", stdin=DIFF, files={"old": NEW}),
        case("-f", "old", stdin=DIFF, files={"old": NEW}),
        case("old", stdin=DIFF, files={"old": "more\nlines\n" + OLD}),
        case("-F0", "old", stdin=DIFF, files={"old": OLD.replace("line 3\n", "x\n")}),
        case("old", stdin=DIFF, files={"old": OLD.replace("line 2\n", "x\n")}),
        case("old", stdin=CONTEXT, files={"old": "a\nb\nc\n"}),
        case("old", stdin="2c\nB\n.\n", files={"old": "a\nb\nc\n"}, check=lambda r: r.exit in (0, 2)),
        case("old", stdin="2c2\n< b\n---\n> B\n", files={"old": "a\nb\nc\n"}),
        case("-s", "old", stdin=DIFF, files={"old": OLD}),
        case("-d", "dir", "-p2", "-i", "../p", files={**TREE, "p": GIT.split("diff --git a/new")[0]}),
        case("old", stdin="garbage\n", files={"old": OLD}),
        case("-r", "rejects", "old", stdin=DIFF, files={"old": "a\n"}),
        case("--verbose", "old", stdin=DIFF, files={"old": OLD}),
        case("-l", "old", stdin=DIFF, files={"old": OLD.replace("line 4", "line   4")}),
        case("-p1", stdin=GIT, files={}),
        case("-d", "dir", "-p0", stdin=DIFF.replace("old", "../outside").replace("new", "../outside"),
             files={"dir/old": OLD, "outside": OLD}, normal=without_reason),
    ],
}
