"""shfmt, compared with the same source built for this machine."""
from compare import case, go

REFERENCE = {"shfmt": go("shfmt", "mvdan.cc/sh/v3/cmd/shfmt")}

BASH = """#!/bin/bash
if [[ $a =~ ^x+$ && -f "b c" ]];then
echo "${d:-$(e)}"   >f 2>&1 <<EOF
text $g
EOF
fi
for ((i=0;i<10;i++));do case $i in (1|2) h & ;; *) j|k||l;; esac;done # why
m() { local n=(1 2 3); while read -r o;do :; done < <(p); }
foo=$(( a+b * (c) )); arr[1]=x; declare -A map=([k]=v)
"""
POSIX = "foo ( ) { echo `date` ;}\nif test $x ; then :; elif y; then z\nelse w; fi\n"

CASES = {"shfmt": [
    case(stdin=BASH),
    case("-i", 2, stdin=BASH),
    case("-i", 4, "-ci", "-bn", "-sr", stdin=BASH),
    case("-kp", "-fn", stdin=BASH),
    case("-s", stdin='x=$(( $a ))\n[[ "$b" == "c" ]] && { ( d ); }\n'),
    case("-mn", stdin=BASH),
    case("-ln", "posix", stdin=POSIX),
    case("-ln", "posix", stdin=BASH),
    case("-ln", "mksh", stdin=POSIX),
    case("-l", "a.sh", "b.sh", files={"a.sh": POSIX, "b.sh": "echo\n"}),
    case("-l", ".", files={"x/a.sh": POSIX, "x/b": "#!/bin/sh\n a\n", "x/c.txt": " a\n"}),
    case("-d", "a.sh", files={"a.sh": POSIX}),
    case("-w", "a.sh", files={"a.sh": BASH}),
    case("-f", ".", files={"a.sh": POSIX, "d/b.bash": "x\n", "c.txt": "no\n"}),
    case("--to-json", stdin="echo a | b >c\n"),
    case("a.sh", files={"a.sh": POSIX, ".editorconfig": "root = true\n[*]\nindent_style = space\nindent_size = 3\n"}),
    case("--filename", "x.bats", stdin='@test "t" {\nrun a\n}\n'),
    case(stdin="if true; then\n"),
    case(stdin="echo 'open\n"),
    case("no-such-file"),
    case("--no-such-flag"),
    case("--version"),
]}
