/* How a ZIP is laid out: archives made by hand, each with one thing that is wrong. */
#include "catalogue/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* A stored file, and what is said of it otherwise than it is. */
struct part {
    const char *name, *bytes;
    const char *own_name;   /* in its own header */
    unsigned flags, method; /* in both */
    unsigned mode;          /* of Unix */
    unsigned lie;           /* added to its size in the directory */
    const char *gap;        /* between it and the one before */
    bool over;              /* lies where the one before does */
};

#define MORE 200000u

static struct buf zip, directory;
static struct arena *arena;
static struct layout found;
static struct err e;
static size_t count, before;

static int begin(void **state)
{
    (void)state;
    buf_init(&zip, MORE);
    buf_init(&directory, MORE);
    arena = arena_new((size_t)1 << 20);
    e = (struct err){0};
    count = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    buf_done(&zip);
    buf_done(&directory);
    arena_free(arena);
    return 0;
}

static void anew(void)
{
    (void)end(NULL);
    (void)begin(NULL);
}

static void u16(struct buf *out, size_t v)
{
    buf_char(out, (char)(v & 255));
    buf_char(out, (char)(v >> 8 & 255));
}

static void u32(struct buf *out, size_t v)
{
    u16(out, v & 0xffff);
    u16(out, v >> 16);
}

/* What header and directory have in common, from the flags to the lengths. */
static void put_facts(struct buf *out, const struct part *p, size_t size, size_t name)
{
    u16(out, p->flags);
    u16(out, p->method);
    u32(out, 0); /* time, date */
    u32(out, 0); /* sum */
    u32(out, size);
    u32(out, size);
    u16(out, name);
    u16(out, 0);
}

static void add(struct part p)
{
    const char *bytes = p.bytes ? p.bytes : "", *own = p.own_name ? p.own_name : p.name;
    buf_cstr(&zip, p.gap ? p.gap : "");
    size_t at = p.over ? before : zip.n;
    before = at;
    u32(&zip, 0x04034b50);
    u16(&zip, 20);
    put_facts(&zip, &p, strlen(bytes), strlen(own));
    buf_cstr(&zip, own);
    buf_cstr(&zip, bytes);
    u32(&directory, 0x02014b50);
    u16(&directory, 0x0314);
    u16(&directory, 20);
    put_facts(&directory, &p, strlen(bytes) + p.lie, strlen(p.name));
    u16(&directory, 0); /* comment */
    u16(&directory, 0); /* volume */
    u16(&directory, 0);
    u32(&directory, (size_t)p.mode << 16);
    u32(&directory, at);
    buf_cstr(&directory, p.name);
    count++;
}

static bool finish(const char *comment)
{
    size_t from = zip.n;
    buf_str(&zip, buf_view(&directory));
    u32(&zip, 0x06054b50);
    u32(&zip, 0);
    u16(&zip, count);
    u16(&zip, count);
    u32(&zip, directory.n);
    u32(&zip, from);
    u16(&zip, strlen(comment));
    buf_cstr(&zip, comment);
    return layout_read(buf_view(&zip), arena, &found, &e);
}

static void assert_refused(enum err_code code, const char *says)
{
    if (e.code != code || !strstr(e.msg, says))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, says);
}

static void files_are_told_in_the_directorys_order(void **state)
{
    (void)state;
    add((struct part){.name = "folder/"});
    add((struct part){.name = "folder/b", .bytes = "two"});
    add((struct part){.name = "a", .bytes = "one!"});
    assert_true(finish("a comment"));
    assert_int_equal(found.count, 3);
    assert_true(found.all[0].is_folder);
    assert_true(str_is(found.all[1].name, "folder/b"));
    assert_int_equal(found.all[1].size, 3);
    assert_int_equal(found.all[2].to, found.all[2].from + 30 + 1 + 4);
}

static void nothing_at_all_is_a_zip_too(void **state)
{
    (void)state;
    assert_true(finish(""));
    assert_int_equal(found.count, 0);
}

static void what_is_no_zip_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "PK",
                                        "this is no ZIP, however long it may be"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        e = (struct err){0};
        assert_false(layout_read(str_of(texts[i]), arena, &found, &e));
        assert_refused(ERR_INVALID, "not a ZIP archive");
    }
}

/* Each prefix of a good one is none; and none is read beyond its end. */
static void a_zip_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    add((struct part){.name = "a", .bytes = "one"});
    add((struct part){.name = "b", .bytes = "two"});
    assert_true(finish(""));
    for (size_t n = 0; n < zip.n; n++) {
        char *copy = mem_new(n + 1);
        memcpy(copy, zip.at, n);
        e = (struct err){0};
        assert_false(layout_read((struct str){copy, n}, arena, &found, &e));
        free(copy);
    }
}

static void no_damage_of_one_byte_reads_beyond_the_end(void **state)
{
    (void)state;
    add((struct part){.name = "a", .bytes = "one"});
    add((struct part){.name = "b/", .bytes = ""});
    assert_true(finish(""));
    for (size_t i = 0; i < zip.n; i++)
        for (unsigned v = 0; v < 256; v += 51) {
            scoped(arena_free) struct arena *own = arena_new((size_t)1 << 20);
            char *copy = mem_new(zip.n);
            memcpy(copy, zip.at, zip.n);
            copy[i] = (char)v;
            struct layout l;
            struct err why = {0};
            if (layout_read((struct str){copy, zip.n}, own, &l, &why))
                for (size_t k = 0; k < l.count; k++)
                    assert_true(l.all[k].to <= zip.n && l.all[k].from < l.all[k].to);
            free(copy);
        }
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"../x", "a/../../x", "/x", "a\\b",
                                        "C:x",  "a\nb",      "..", "a\x7f"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        anew();
        add((struct part){.name = names[i]});
        assert_false(finish(""));
        assert_refused(ERR_INVALID, "Invalid file path in ZIP");
    }
}

static void kinds_that_are_no_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct part part;
        const char *says;
    } rows[] = {
        {{.name = "x", .mode = 0120777}, "is a symbolic link"},
        {{.name = "x", .mode = 0010644}, "is not a regular file"},
        {{.name = "x", .flags = 1}, "is encrypted"},
        {{.name = "x", .flags = 0x40}, "is encrypted"},
        {{.name = "x", .method = 14}, "is compressed in a way"},
        {{.name = "x/", .bytes = "text"}, "is a folder, and holds bytes"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        anew();
        add(rows[i].part);
        assert_false(finish(""));
        assert_refused(ERR_INVALID, rows[i].says);
    }
}

static void two_accounts_of_one_file_are_refused(void **state)
{
    (void)state;
    add((struct part){.name = "good", .own_name = "evil", .bytes = "x"});
    assert_false(finish(""));
    assert_refused(ERR_INVALID, "'good' has a local header that differs");
}

static void sizes_that_differ_are_refused(void **state)
{
    (void)state;
    add((struct part){.name = "a", .bytes = "one", .lie = 1});
    add((struct part){.name = "b", .bytes = "two"});
    assert_false(finish(""));
    assert_int_equal(e.code, ERR_INVALID);
}

static void a_name_is_there_once_whatever_its_case(void **state)
{
    (void)state;
    add((struct part){.name = "Manifest.json"});
    add((struct part){.name = "other"});
    add((struct part){.name = "manifest.JSON"});
    assert_false(finish(""));
    assert_refused(ERR_INVALID, "is there twice, or differs only in case");
}

static void a_folder_and_a_file_of_one_name_are_refused(void **state)
{
    (void)state;
    add((struct part){.name = "a/"});
    add((struct part){.name = "a"});
    assert_false(finish(""));
    assert_refused(ERR_INVALID, "is there twice");
}

static void files_that_share_bytes_are_refused(void **state)
{
    (void)state;
    add((struct part){.name = "a", .bytes = "xxxxxxxx"});
    add((struct part){.name = "a", .own_name = "a", .bytes = "xxxxxxxx", .over = true});
    assert_false(finish(""));
    assert_int_equal(e.code, ERR_INVALID);
}

static void what_lies_between_files_is_refused(void **state)
{
    (void)state;
    add((struct part){.name = "a", .bytes = "x"});
    add((struct part){.name = "b", .bytes = "y", .gap = "for another reader"});
    assert_false(finish(""));
    assert_refused(ERR_INVALID, "there is data between its files");
}

static void a_second_archive_behind_the_first_is_refused(void **state)
{
    (void)state;
    add((struct part){.name = "a", .bytes = "x"});
    assert_true(finish(""));
    buf_cstr(&zip, "more");
    assert_false(layout_read(buf_view(&zip), arena, &found, &e));
    assert_refused(ERR_INVALID, "data after its end");
}

static void a_hundred_files_are_the_most_and_folders_do_not_count(void **state)
{
    (void)state;
    char name[16];
    for (unsigned i = 0; i < 150; i++) {
        (void)snprintf(name, sizeof name, "d%u/", i);
        add((struct part){.name = name});
    }
    for (unsigned i = 0; i < LAYOUT_FILES_MAX; i++) {
        (void)snprintf(name, sizeof name, "f%u", i);
        add((struct part){.name = name});
    }
    assert_true(finish(""));
    anew();
    for (unsigned i = 0; i <= LAYOUT_FILES_MAX; i++) {
        (void)snprintf(name, sizeof name, "f%u", i);
        add((struct part){.name = name});
    }
    assert_false(finish(""));
    assert_refused(ERR_LIMIT, "too many files (max: 100)");
}

static void a_thousand_entries_are_the_most(void **state)
{
    (void)state;
    char name[16];
    for (unsigned i = 0; i <= LAYOUT_ENTRIES_MAX; i++) {
        (void)snprintf(name, sizeof name, "d%u/", i);
        add((struct part){.name = name});
    }
    assert_false(finish(""));
    assert_refused(ERR_LIMIT, "too many files");
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(files_are_told_in_the_directorys_order),
        T(nothing_at_all_is_a_zip_too),
        T(what_is_no_zip_is_refused),
        T(a_zip_that_is_cut_off_is_refused),
        T(no_damage_of_one_byte_reads_beyond_the_end),
        T(names_that_lead_elsewhere_are_refused),
        T(kinds_that_are_no_files_are_refused),
        T(two_accounts_of_one_file_are_refused),
        T(sizes_that_differ_are_refused),
        T(a_name_is_there_once_whatever_its_case),
        T(a_folder_and_a_file_of_one_name_are_refused),
        T(files_that_share_bytes_are_refused),
        T(what_lies_between_files_is_refused),
        T(a_second_archive_behind_the_first_is_refused),
        T(a_hundred_files_are_the_most_and_folders_do_not_count),
        T(a_thousand_entries_are_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
