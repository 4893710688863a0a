"""Writes code.h: functions that put a text into memory by instructions alone.

    code.py NAME TEXT [NAME TEXT ...]
"""
import sys

for name, text in zip(sys.argv[1::2], sys.argv[2::2]):
    data = text.encode() + b"\0"
    data += b"\0" * (-len(data) % 8)
    print(f"#define {name.upper()}_SIZE {len(data)}u")
    print(f"static char *put_{name}(char *to)\n{{\n    volatile uint64_t *at = (volatile uint64_t *)to;")
    for i in range(0, len(data), 8):
        print(f"    at[{i // 8}] = {int.from_bytes(data[i:i + 8], 'little'):#x}u;")
    print("    return to;\n}")
