"""Calls of busybox's applets, one a line, as a shell reads them; `< NAME` is standard input.
Each runs in a folder of its own that has FILES, in the machine and by qemu-user; what it prints,
its exit code and the files afterwards must be equal."""
import base64
import gzip
import hashlib
import shlex

SHORT = b"pear\napple\nfig\napple\n\nzebra\tstripe\n  indented  \n"
TEXT = "".join(f"{n * 7919 % 1000:>5} word {chr(97 + n % 26) * (n % 9)} \u00e4{n}\n" for n in range(400)).encode()
BINARY = b"".join(hashlib.sha256(bytes([n])).digest() for n in range(100))
FILES = {
    "a": SHORT, "b": SHORT.replace(b"fig", b"date").replace(b"zebra", b"horse") + b"end\n",
    "text": TEXT, "binary": BINARY, "dos": b"a\r\nb\r\n", "tabs": b"a\tb\t\tc" + b" " * 17 + b"d\n",
    "text.gz": gzip.compress(TEXT, mtime=0), "damaged.gz": b"\x1f\x8b\x08\0damaged",
    "base64": base64.b64encode(BINARY), "hex": b"00000000: 6865 6c6c 6f0a  hello.\n",
    "uu": b"begin 644 x\n%:&5L;&\\\n`\nend\n", "sums": hashlib.sha256(SHORT).hexdigest().encode() + b"  a\n",
    "change": b"--- a\n+++ a\n@@ -2,3 +2,3 @@\n apple\n-fig\n+kiwi\n apple\n",
    "edit": b"2,3d\n$a\nnew\n.\n1,$s/p/P/g\nw\nq\n",
    "sums.bc": b"scale=20\n4*a(1)\n2^200\nsqrt(2)\nobase=16\n255\n",
    "sums.dc": b"20k 2v p 3 4 + p 7 3 ^ 5 % p 1 2 3 f\n",
    "x.a": b"!<arch>\n" + b"f/".ljust(16) + b"0           0     0     644     2         `\nhi",
    "t/one.txt": b"1\n", "t/two/three.md": b"# 3\n", "t/two/four.txt": SHORT, "t/.hidden": b"h",
}

LINES = r"""
cat -n a b
cat -A binary
tac < a
rev < text
nl -ba a
head -n 7 text
head -c 100 < binary
tail -n +390 text
tail -c 50 < text
sort text
sort -n -r -k1 text
sort -u -k3,3 < text
uniq -c a
cut -c 3-9 text
cut -d ' ' -f 2,4- < text
paste -d :, a b a
tr a-y b-z < text
tr -dc '[:digit:]\n' < text
tr -s a-z < text
fold -w 11 -s text
expand -t 5 tabs
unexpand -a tabs
wc text binary
wc -L text
grep -n 'aa*b\|ccc' text
grep -E -c '(d{2,3}|[x-z]+) ' text
grep -v -i PEAR a
grep -o -w '[0-9]*1' text
grep -r -l 1 t/one.txt t/two
egrep '^ +[0-9]{1,2} ' text
fgrep -x apple a
sed -n '2,5{s/[aeiou]/<&>/gp}' a
sed '1!G;h;$!d' a
sed -i 's/\(p*\)l/\1L/;/^$/d;$a last' a
sed 'y/abc/xyz/;5q' text
awk '{ s += $1; q += $1 * $1 } END { printf "%d %.6f %g %e\n", NR, s / NR, q / NR, -s / 7 }' text
awk 'BEGIN { x = 0.3; for (i = 0; i < 50; i++) { x = 3.7 * x * (1 - x); printf "%.17g %d\n", x, x * 1000 } }'
awk -F '[ ,]+' '{ gsub(/a/, "A&A"); $2 = toupper($2); print NF, $0, substr($0, 3, 4) }' text
awk 'BEGIN { x = 9007199254740992; print x, x + 1, 1e300 * 1e10, int(-3.7), 7 % -3, "3x" + 4, 1 / 3 }'
awk 'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } BEGIN { print f(17) }'
awk '{ n[length($3)] += $1 } END { for (i = 0; i < 9; i++) print i, n[i] }' text
diff -u -L 1 -L 2 a b
diff a a
cmp -l a b
patch -p0 a < change
ed a < edit
strings -n 3 binary
seq -w -s , 8 3 30
seq 1 0.3 3
dos2unix < dos
unix2dos < a
tee x < a
echo -e 'a\tb\0101\c' z
printf '%5d|%-8s|%x|%o|%e|%.3f|%c|%b|%%\n' 42 left 255 8 12345.678 2.5 Q 'a\nb'
printf '%s %g\n' a 1e-5 b inf
less a
more a
expr 12 '*' '(' 7 - 10 ')'
expr abcdef : 'a\(.*\)e'
expr 1 / 0
bc -l sums.bc
bc edit
dc < sums.dc
factor 1234567890123456789 997 1
cal 2 2024
date -u -d @1700000000 '+%F %T %A %j %U'
ipcalc -b -n -m 192.168.127.3/22
test 3 -gt 2 -a x = y
[ a != b ]
md5sum text binary
sha1sum text binary
sha256sum text binary
sha3sum text binary
sha512sum text binary
sha256sum -c sums
crc32 text binary
hexdump binary
hexdump -C text
od -t x1 -A x binary
od binary
xxd binary
xxd -p -c 20 binary
xxd -r hex
base64 text
base64 -d base64
uuencode name < binary
uudecode -o - uu
mkpasswd -m sha512 -S saltsalt secret
mkpasswd -m md5 -S saltsalt secret
gzip -c < text
gzip -1 -c < binary
gunzip -c text.gz
gunzip -t damaged.gz
zcat text.gz
bzip2 -c < text
bzip2 -1 -k binary
bunzip2 -c text
unlzma -c damaged.gz
unxz -c text
ar -t x.a
ar -p x.a f
tar -tf nothing.tar
tar -cf - nothing
find t -name 'f*.txt' -size -2
find t -name three.md -o -name '.q*'
cp -r t copy
mv a c
rm -r t/two
rm nothing
mkdir -p x/y/z
rmdir t
ln -s t l
ln a hard
readlink a
truncate -s 5 a
fallocate -l 100 f
dd bs=8 skip=2 count=5 conv=swab if=text
install -m 600 a d
shred -u -z a
stat -c '%s %F %h' a
touch -d '2024-01-02 03:04:05' n
basename /x/y.c .c
dirname /x/y/z
which nothing
true
false
env -i A=b
sleep 0
usleep 10
ascii
getopt -o ab: -l long: -- -a -bx --long y z
sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); s=$((s + i * i)); done; echo $s ${s#??} ${#s}'
sh -c 'f() { local x=$1; echo "<$x>"; }; for a in "b c" d; do f "$a"; done; case abc in a*) echo yes;; esac; set -- 1 2 3; shift; echo $# $*'
sh -c 'trap "echo bye" EXIT; x=${y:-default}; echo ${x%au*} $(echo sub) `echo old`; exit 3'
sh -c 'while read -r a b; do echo "$b|$a"; done' < a
sh -c 'echo $((0x1f | 8 ^ 3)) $((-7 / 2)) $((-7 % 3)) $((1 << 40))'
sh -c "unclosed 'quote"
nothing-like-it
"""


def cases():
    """(arguments, the name of what standard input is, or None) of each line."""
    for line in LINES.strip().splitlines():
        words = shlex.split(line)
        yield (words[:-2], words[-1]) if words[-2:-1] == ["<"] else (words, None)
