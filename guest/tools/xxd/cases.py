from compare import case

BYTES = bytes(range(256))
TEXT = "hello, world\n" * 5
DUMP = "00000000: 6865 6c6c 6f0a                           hello.\n"

CASES = {
    "xxd": [
        case(stdin=BYTES), case("f", files={"f": TEXT}), case("-p", stdin=BYTES), case("-i", stdin=TEXT),
        case("-i", "my-file.txt", files={"my-file.txt": TEXT}), case("-b", stdin=TEXT), case("-u", stdin=BYTES),
        case("-c", "8", stdin=BYTES), case("-g", "1", stdin=BYTES), case("-g", "4", "-c", "12", stdin=BYTES),
        case("-l", "20", stdin=BYTES), case("-s", "10", "f", files={"f": BYTES}), case("-s", "-10", "f", files={"f": BYTES}),
        case("-r", stdin=DUMP), case("-r", "-p", stdin="68656c6c6f0a"), case("-r", "d", "out", files={"d": DUMP}),
        case("-e", stdin=BYTES), case("-E", stdin=BYTES), case("-a", stdin=bytes(200)), case("-o", "100", stdin=TEXT),
        case("-d", stdin=TEXT), case("-C", "-i", "f", files={"f": "x"}), case("-n", "name", "-i", stdin="x"), case("-p", "-c", "0", stdin=BYTES),
        case("missing"), case("-r", "-s", "-2", stdin="00000002: 41\n"), case("f", "out", files={"f": TEXT}), case(stdin=b""),
        case("-r", stdin="not a dump\n"), case("-c", "300", stdin=b"x"), case("-p", "-u", stdin=BYTES),
    ],
}
