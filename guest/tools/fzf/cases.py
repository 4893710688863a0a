"""fzf as a filter, compared with the same source built for this machine."""
from compare import case, go

REFERENCE = {"fzf": go("fzf", "github.com/junegunn/fzf")}

FILES = "src/main.c\nREADME.md\nLICENSE\nsrc/readme.txt\ndocs/Reading.md\ntest/main_test.c\nMakefile\n"
FIELDS = "1:Ada:math\n2:Alan:logic\n3:Grace:compilers\n4:Ada:poetry\n"
MANY = "".join(f"line {n} of {n * 7919 % 1000}\n" for n in range(5000))

CASES = {"fzf": [
    case("--filter", "rdm", stdin=FILES),
    case("--filter", "main", stdin=FILES),
    case("--filter", "'read", stdin=FILES),
    case("--filter", "^src", stdin=FILES),
    case("--filter", ".md$", stdin=FILES),
    case("--filter", "!md main | LIC", stdin=FILES),
    case("--filter", "README", stdin=FILES),
    case("+i", "--filter", "readme", stdin=FILES),
    case("-i", "--filter", "README", stdin=FILES),
    case("--exact", "--filter", "adm", stdin=FILES),
    case("--tac", "--no-sort", "--filter", "m", stdin=FILES),
    case("--delimiter", ":", "--nth", "2", "--filter", "ada", stdin=FIELDS),
    case("--delimiter", ":", "--nth", "2..", "--filter", "log", stdin=FIELDS),
    case("--delimiter", ":", "--with-nth", "2", "--filter", "gr", stdin=FIELDS),
    case("--read0", "--print0", "--filter", "b", stdin=b"abc\0bcd\0xyz\0"),
    case("--filter", "12", stdin=MANY),
    case("--scheme=path", "--filter", "main", stdin=FILES),
    case("--tiebreak=length,end", "--filter", "md", stdin=FILES),
    case("--algo=v1", "--filter", "mkf", stdin=FILES),
    case("--literal", "--filter", "é", stdin="café\ncafe\n"),
    case("--print-query", "--filter", "xyz", stdin=FILES),
    case("--filter", "", stdin=FILES),
    case("--filter", "nothing-like-it", stdin=FILES),
    case("--no-such-option", stdin=FILES),
    case("--version"),
]}
