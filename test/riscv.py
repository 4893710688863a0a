"""RISC-V machine code for tests: encodings by name, and ELF files, made byte by byte.

Written from the manual's tables (RV64IMAFDC, Zicsr, Zifencei), on its own: nothing here is
taken from the emulator's decoder. Registers are numbers.
"""
import struct

# ---- instructions of four bytes: name -> what its fields are -------------------------------
R = {name: (opcode, funct3, funct7) for name, opcode, funct3, funct7 in [
    ("add", 0x33, 0, 0), ("sub", 0x33, 0, 0x20), ("sll", 0x33, 1, 0), ("slt", 0x33, 2, 0),
    ("sltu", 0x33, 3, 0), ("xor", 0x33, 4, 0), ("srl", 0x33, 5, 0), ("sra", 0x33, 5, 0x20),
    ("or", 0x33, 6, 0), ("and", 0x33, 7, 0),
    ("addw", 0x3b, 0, 0), ("subw", 0x3b, 0, 0x20), ("sllw", 0x3b, 1, 0),
    ("srlw", 0x3b, 5, 0), ("sraw", 0x3b, 5, 0x20),
    ("mul", 0x33, 0, 1), ("mulh", 0x33, 1, 1), ("mulhsu", 0x33, 2, 1), ("mulhu", 0x33, 3, 1),
    ("div", 0x33, 4, 1), ("divu", 0x33, 5, 1), ("rem", 0x33, 6, 1), ("remu", 0x33, 7, 1),
    ("mulw", 0x3b, 0, 1), ("divw", 0x3b, 4, 1), ("divuw", 0x3b, 5, 1), ("remw", 0x3b, 6, 1),
    ("remuw", 0x3b, 7, 1)]}
I = {"addi": (0x13, 0), "slti": (0x13, 2), "sltiu": (0x13, 3), "xori": (0x13, 4),
     "ori": (0x13, 6), "andi": (0x13, 7), "addiw": (0x1b, 0)}
SHIFT = {"slli": (0x13, 1, 0, 64), "srli": (0x13, 5, 0, 64), "srai": (0x13, 5, 0x400, 64),
         "slliw": (0x1b, 1, 0, 32), "srliw": (0x1b, 5, 0, 32), "sraiw": (0x1b, 5, 0x400, 32)}
LOAD = {"lb": (0x03, 0), "lh": (0x03, 1), "lw": (0x03, 2), "ld": (0x03, 3), "lbu": (0x03, 4),
        "lhu": (0x03, 5), "lwu": (0x03, 6), "flw": (0x07, 2), "fld": (0x07, 3)}
STORE = {"sb": (0x23, 0), "sh": (0x23, 1), "sw": (0x23, 2), "sd": (0x23, 3),
         "fsw": (0x27, 2), "fsd": (0x27, 3)}
BRANCH = {"beq": 0, "bne": 1, "blt": 4, "bge": 5, "bltu": 6, "bgeu": 7}
AMO = {"amoadd": 0, "amoswap": 1, "lr": 2, "sc": 3, "amoxor": 4, "amoor": 8, "amoand": 12,
       "amomin": 16, "amomax": 20, "amominu": 24, "amomaxu": 28}
CSR = {"csrrw": 1, "csrrs": 2, "csrrc": 3, "csrrwi": 5, "csrrsi": 6, "csrrci": 7}
# Floating point: funct5, and what else is fixed; `rm` where it rounds.
F_ROUNDING = {"fadd": 0, "fsub": 1, "fmul": 2, "fdiv": 3}
F_FIXED = {"fsgnj": (4, 0), "fsgnjn": (4, 1), "fsgnjx": (4, 2), "fmin": (5, 0), "fmax": (5, 1),
           "fle": (20, 0), "flt": (20, 1), "feq": (20, 2)}
F_FUSED = {"fmadd": 0x43, "fmsub": 0x47, "fnmsub": 0x4b, "fnmadd": 0x4f}
INTEGERS = ["w", "wu", "l", "lu"]
FORMATS = {"s": 0, "d": 1}


def mask(value, bits):
    return value & ((1 << bits) - 1)


def pick(value, *places):
    """Bits of a number, each (from, width, to), put where an encoding has them."""
    return sum(mask(value >> source, width) << to for source, width, to in places)


def r(name, rd, rs1, rs2):
    opcode, funct3, funct7 = R[name]
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def i_type(opcode, funct3, rd, rs1, imm):
    return mask(imm, 12) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def i(name, rd, rs1, imm):
    return i_type(*{**I, **LOAD}[name], rd, rs1, imm)


def shift(name, rd, rs1, amount):
    opcode, funct3, top, _ = SHIFT[name]
    return i_type(opcode, funct3, rd, rs1, top | amount)


def store(name, rs2, rs1, imm):
    opcode, funct3 = STORE[name]
    return mask(imm >> 5, 7) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | \
        mask(imm, 5) << 7 | opcode


def branch(name, rs1, rs2, offset):
    return pick(offset, (12, 1, 31), (5, 6, 25), (1, 4, 8), (11, 1, 7)) | rs2 << 20 | \
        rs1 << 15 | BRANCH[name] << 12 | 0x63


def lui(rd, value):
    return value & 0xfffff000 | rd << 7 | 0x37


def auipc(rd, value):
    return value & 0xfffff000 | rd << 7 | 0x17


def jal(rd, offset):
    return pick(offset, (20, 1, 31), (1, 10, 21), (11, 1, 20), (12, 8, 12)) | rd << 7 | 0x6f


def jalr(rd, rs1, offset):
    return i_type(0x67, 0, rd, rs1, offset)


def amo(name, width, rd, rs1, rs2, order=0):
    """`width` 4 or 8; `order`: aq and rl as two bits."""
    return AMO[name] << 27 | order << 25 | rs2 << 20 | rs1 << 15 | \
        {4: 2, 8: 3}[width] << 12 | rd << 7 | 0x2f


def csr(name, rd, number, rs1):
    return number << 20 | rs1 << 15 | CSR[name] << 12 | rd << 7 | 0x73


def fp(funct5, form, rd, rs1, rs2, rm):
    return funct5 << 27 | FORMATS[form] << 25 | rs2 << 20 | rs1 << 15 | rm << 12 | rd << 7 | 0x53


def fused(name, form, rd, rs1, rs2, rs3, rm):
    return rs3 << 27 | FORMATS[form] << 25 | rs2 << 20 | rs1 << 15 | rm << 12 | rd << 7 | \
        F_FUSED[name]


ECALL, EBREAK, FENCE, FENCE_I = 0x73, 0x100073, 0x0ff0000f, 0x100f
FFLAGS, FRM, FCSR, STVEC, SEPC, SCAUSE, STVAL = 1, 2, 3, 0x105, 0x141, 0x142, 0x143

# ---- instructions of two bytes ---------------------------------------------------------------
# Registers of `rc` are 8 to 15.


def rc(register):
    assert 8 <= register < 16
    return register - 8


def c_addi4spn(rd, imm):
    return pick(imm, (4, 2, 11), (6, 4, 7), (2, 1, 6), (3, 1, 5)) | rc(rd) << 2


def c_load_store(funct3, register, base, offset, width):
    """c.fld 1, c.lw 2, c.ld 3, c.fsd 5, c.sw 6, c.sd 7."""
    places = ((3, 3, 10), (6, 2, 5)) if width == 8 else ((3, 3, 10), (2, 1, 6), (6, 1, 5))
    return funct3 << 13 | pick(offset, *places) | rc(base) << 7 | rc(register) << 2


def c_immediate(funct3, rd, imm):
    """c.addi 0 (and c.nop), c.addiw 1, c.li 2, c.lui 3 (imm in pages)."""
    return funct3 << 13 | pick(imm, (5, 1, 12), (0, 5, 2)) | rd << 7 | 1


def c_addi16sp(imm):
    return 3 << 13 | pick(imm, (9, 1, 12), (4, 1, 6), (6, 1, 5), (7, 2, 3), (5, 1, 2)) | \
        2 << 7 | 1


def c_shift_and(funct2, rd, imm):
    """c.srli 0, c.srai 1, c.andi 2."""
    return 4 << 13 | pick(imm, (5, 1, 12), (0, 5, 2)) | funct2 << 10 | rc(rd) << 7 | 1


def c_arithmetic(which, rd, rs2):
    """c.sub 0, c.xor 1, c.or 2, c.and 3, c.subw 4, c.addw 5."""
    return 4 << 13 | (which >> 2) << 12 | 3 << 10 | rc(rd) << 7 | (which & 3) << 5 | \
        rc(rs2) << 2 | 1


def c_j(offset):
    return 5 << 13 | pick(offset, (11, 1, 12), (4, 1, 11), (8, 2, 9), (10, 1, 8), (6, 1, 7),
                          (7, 1, 6), (1, 3, 3), (5, 1, 2)) | 1


def c_branch(unequal, rs1, offset):
    return (6 + unequal) << 13 | pick(offset, (8, 1, 12), (3, 2, 10), (6, 2, 5), (1, 2, 3),
                                      (5, 1, 2)) | rc(rs1) << 7 | 1


def c_slli(rd, amount):
    return pick(amount, (5, 1, 12), (0, 5, 2)) | rd << 7 | 2


def c_from_sp(funct3, rd, offset, width):
    """c.fldsp 1, c.lwsp 2, c.ldsp 3."""
    places = ((5, 1, 12), (3, 2, 5), (6, 3, 2)) if width == 8 else \
        ((5, 1, 12), (2, 3, 4), (6, 2, 2))
    return funct3 << 13 | pick(offset, *places) | rd << 7 | 2


def c_to_sp(funct3, rs2, offset, width):
    """c.fsdsp 5, c.swsp 6, c.sdsp 7."""
    places = ((3, 3, 10), (6, 3, 7)) if width == 8 else ((2, 4, 9), (6, 2, 7))
    return funct3 << 13 | pick(offset, *places) | rs2 << 2 | 2


def c_mv(rd, rs2):
    return 4 << 13 | rd << 7 | rs2 << 2 | 2


def c_add(rd, rs2):
    return 4 << 13 | 1 << 12 | rd << 7 | rs2 << 2 | 2


def c_jr(rs1):
    return 4 << 13 | rs1 << 7 | 2


def c_jalr(rs1):
    return 4 << 13 | 1 << 12 | rs1 << 7 | 2


C_EBREAK, C_NOP = 0x9002, 1


# ---- code --------------------------------------------------------------------------------------

def is_whole(bits):
    return bits & 3 == 3


def code(*instructions):
    """Bytes of instructions; bytes among them stay as they are."""
    return b"".join(
        one if isinstance(one, bytes) else
        struct.pack("<I", one) if is_whole(one) else struct.pack("<H", one)
        for one in instructions)


def load_address(rd, address):
    """An address from 0x80000000 on, below 4 GiB, without sign."""
    high, low = (address + 0x800) & 0xfffff000, mask(address, 12)
    return code(lui(rd, high), i("addiw", rd, rd, low), shift("slli", rd, rd, 32),
                shift("srli", rd, rd, 32))


def load_constant(rd, value):
    """Any 64 bits, in eight instructions."""
    made = code(i("addi", rd, 0, mask(value >> 56, 8)))
    for at in range(48, -1, -8):
        made += code(shift("slli", rd, rd, 8), i("xori", rd, rd, mask(value >> at, 8)))
    return made


def elf(entry, segments, symbols):
    """An executable file. `segments`: (address, bytes, size in memory); `symbols`: by name."""
    header, each = 64, 56
    body, heads = b"", b""
    start = header + each * len(segments)
    start += -start % 4096
    for address, data, size in segments:
        body += b"\0" * ((address - start - len(body)) % 4096)
        heads += struct.pack("<IIQQQQQQ", 1, 7, start + len(body), address, address,
                             len(data), size, 4096)
        body += data
    names, table = b"\0", struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for name, value in symbols.items():
        table += struct.pack("<IBBHQQ", len(names), 0x10, 0, 0xfff1, value, 0)
        names += name.encode() + b"\0"
    names_at, table_at = start + len(body), start + len(body) + len(names)
    table_at += -table_at % 8
    sections_at = table_at + len(table)

    def section(kind, at, size, link, entry_size):
        return struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, at, size, link, 1, 8, entry_size)

    file = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 243, 1, entry, header,
                       sections_at, 5, header, each, len(segments), 64, 3, 0)
    file = (file + heads).ljust(start, b"\0") + body + names
    return file.ljust(table_at, b"\0") + table + section(0, 0, 0, 0, 0) + \
        section(3, names_at, len(names), 0, 0) + section(2, table_at, len(table), 1, 24)


def pieces(file):
    """What cloche-vm-core takes, of a linked program's ELF file."""
    entry, heads, sections = struct.unpack_from("<QQQ", file, 24)
    count, section_count = struct.unpack_from("<H", file, 56)[0], struct.unpack_from("<H", file, 60)[0]
    parts = [struct.unpack_from("<QQ8xQ", file, heads + 56 * k + 8) for k in range(count)
             if struct.unpack_from("<I", file, heads + 56 * k)[0] == 1]
    values = {}
    for k in range(section_count):
        kind, at, size, link = struct.unpack_from("<4xI16xQQI", file, sections + 64 * k)
        if kind != 2:
            continue
        names, = struct.unpack_from("<Q", file, sections + 64 * link + 24)
        for symbol in range(at, at + size, 24):
            name, value = struct.unpack_from("<I4xQ", file, symbol)
            values[file[names + name:file.index(b"\0", names + name)].decode()] = value
    made = struct.pack("<5Q", entry, values["tohost"], values.get("begin_signature", 0x80000000),
                       values.get("end_signature", 0x80000000), len(parts))
    for offset, address, size in parts:
        made += struct.pack("<QQ", address, size) + file[offset:offset + size]
    return made
