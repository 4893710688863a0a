/* A reader of ELF, as far as bare programs need it. */
#include "vm/elf.h"
#include "vm/ram.h"

#include <elf.h>
#include <string.h>

struct image {
    const uint8_t *at;
    size_t n;
};

/* `size` bytes at `offset`; NULL: beyond the file's end. */
static const void *part(const struct image *i, uint64_t offset, uint64_t size)
{
    return offset <= i->n && size <= i->n - offset ? i->at + offset : NULL;
}

/* Copies entry `k` of a table, since a file's contents may be unaligned. */
static bool entry_of(const struct image *i, uint64_t table, uint64_t step, uint64_t k,
                     void *out, size_t size)
{
    uint64_t offset;
    if (__builtin_mul_overflow(step, k, &offset) ||
        __builtin_add_overflow(table, offset, &offset))
        return false;
    const void *at = part(i, offset, size);
    if (at)
        memcpy(out, at, size);
    return at;
}

static const char *load_segments(const struct image *i, const Elf64_Ehdr *e)
{
    bool any = false;
    for (unsigned k = 0; k < e->e_phnum; k++) {
        Elf64_Phdr p;
        if (!entry_of(i, e->e_phoff, e->e_phentsize, k, &p, sizeof p))
            return "its program headers are not all in the file";
        if (p.p_type != PT_LOAD || !p.p_memsz)
            continue;
        const void *from = part(i, p.p_offset, p.p_filesz);
        uint8_t *to = ram_at(p.p_paddr, p.p_memsz);
        if (!from || p.p_filesz > p.p_memsz)
            return "a segment's bytes are not all in the file";
        if (!to)
            return "a segment is not in RAM, which begins at 0x80000000";
        memcpy(to, from, p.p_filesz);
        any = true;
    }
    return any ? NULL : "it has no segments to load";
}

/* Whether the name at `offset` of the string table is this one. */
static bool is_named(const struct image *i, const Elf64_Shdr *strings, uint64_t offset,
                     const char *name)
{
    size_t size = strlen(name) + 1;
    if (offset > strings->sh_size || size > strings->sh_size - offset)
        return false;
    const char *at = part(i, strings->sh_offset, strings->sh_size);
    return at && memcmp(at + offset, name, size) == 0;
}

static bool find_in(const struct image *i, const Elf64_Ehdr *e, const Elf64_Shdr *symbols,
                    const char *name, uint64_t *out)
{
    Elf64_Shdr strings;
    if (!entry_of(i, e->e_shoff, e->e_shentsize, symbols->sh_link, &strings,
                  sizeof strings))
        return false;
    for (uint64_t k = 0; k < symbols->sh_size / sizeof(Elf64_Sym); k++) {
        Elf64_Sym s;
        if (!entry_of(i, symbols->sh_offset, sizeof s, k, &s, sizeof s))
            return false;
        if (s.st_shndx != SHN_UNDEF && is_named(i, &strings, s.st_name, name)) {
            *out = s.st_value;
            return true;
        }
    }
    return false;
}

static bool find_symbol(const struct image *i, const Elf64_Ehdr *e, const char *name,
                        uint64_t *out)
{
    for (unsigned k = 0; k < e->e_shnum; k++) {
        Elf64_Shdr s;
        if (!entry_of(i, e->e_shoff, e->e_shentsize, k, &s, sizeof s))
            return false;
        if (s.sh_type == SHT_SYMTAB && find_in(i, e, &s, name, out))
            return true;
    }
    return false;
}

static const char *find_signature(const struct image *i, const Elf64_Ehdr *e,
                                  struct program *out)
{
    uint64_t from = 0, to = 0;
    if (find_symbol(i, e, "begin_signature", &from) &&
        find_symbol(i, e, "end_signature", &to)) {
        if (to < from || (from | to) & 3 || !ram_at(from, to - from))
            return "its signature is not whole words of RAM";
        out->signature = from;
        out->signature_end = to;
    }
    return NULL;
}

const char *elf_load(const uint8_t *file, size_t n, struct program *out)
{
    struct image i = {file, n};
    Elf64_Ehdr e;
    if (!entry_of(&i, 0, 0, 0, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return "it is not an ELF file";
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB ||
        e.e_machine != EM_RISCV || e.e_type != ET_EXEC)
        return "it is not a linked program of 64-bit RISC-V";
    const char *wrong = load_segments(&i, &e);
    if (wrong)
        return wrong;
    if (!find_symbol(&i, &e, "tohost", &out->tohost))
        return "it has no symbol `tohost`, whose writing would end it";
    if (out->tohost & 7 || !ram_at(out->tohost, 8))
        return "its symbol `tohost` is not 8 aligned bytes of RAM";
    if (!ram_at(e.e_entry, 2) || e.e_entry & 1)
        return "its entry is not in RAM";
    out->entry = e.e_entry;
    return find_signature(&i, &e, out);
}
