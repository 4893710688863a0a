/* What a machine may try: nothing outside of a mount is read, changed or seen, whatever its
 * kernel asks and the host's programs do meanwhile. */
#include "fuse/client_test.h"

#define P t.roots[PLAIN]

/* ---- names ------------------------------------------------------------------------ */

static void a_name_is_never_a_path(void **state)
{
    (void)state;
    static const char *const names[] = {"..",    ".",      "",         "/",
                                        "/etc",  "../out", "sub/deep", "sub/../../out",
                                        "file/", "./file", "//"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        assert_int_equal(look(P, names[i]), EINVAL);
        assert_int_equal(create(P, names[i], O_RDWR, 0644, NULL), EINVAL);
        assert_int_equal(ask_names(FUSE_UNLINK, P, NULL, 0, names[i], NULL), EINVAL);
        assert_int_equal(ask_names(FUSE_RMDIR, P, NULL, 0, names[i], NULL), EINVAL);
        assert_int_equal(move(P, names[i], P, "x", 0), EINVAL);
        assert_int_equal(move(P, "file", P, names[i], 0), EINVAL);
        assert_int_equal(
            ask_names(FUSE_SYMLINK, t.roots[LINKS], NULL, 0, names[i], "target"), EINVAL);
    }
}

static void dots_and_spaces_at_a_names_end_mean_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {
        "...",   ".. ",     "..\t",        "....",   "file.",
        "file ", "..\\out", "sub\\..",     "%2e%2e", "\xc0\xae\xc0\xae",
        "..;",   "con",     "file::$DATA", "~",      "\xff\xfe"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        assert_int_equal(look(P, names[i]), ENOENT);
        assert_int_equal(create(P, names[i], O_RDWR | O_EXCL, 0644, NULL), 0);
        assert_int_equal(look(P, names[i]), 0);
    }
}

static void a_name_without_its_end_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ask(FUSE_LOOKUP, P, "file", 4), EINVAL);
    assert_int_equal(ask(FUSE_LOOKUP, P, NULL, 0), EINVAL);
    assert_int_equal(ask(FUSE_UNLINK, P, "file", 4), EINVAL);
    struct fuse_rename2_in in = {.newdir = P};
    assert_int_equal(ask_names(FUSE_RENAME2, P, &in, sizeof in, "file", NULL), EINVAL);
    assert_int_equal(ask_names(FUSE_SYMLINK, t.roots[LINKS], NULL, 0, "x", NULL), EINVAL);
}

static void a_long_name_is_refused(void **state)
{
    (void)state;
    static char name[5000];
    memset(name, 'x', sizeof name - 1);
    assert_int_equal(look(P, name), ENAMETOOLONG);
    name[256] = '\0';
    assert_int_equal(look(P, name), ENAMETOOLONG);
    assert_int_equal(create(P, name, O_RDWR, 0644, NULL), ENAMETOOLONG);
    name[255] = '\0';
    assert_int_equal(create(P, name, O_RDWR, 0644, NULL), 0);
}

static void the_folder_of_ours_is_not_there(void **state)
{
    (void)state;
    static const char *const names[] = {".cloche", ".CLOCHE", ".Cloche", ".cLOCHE"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        assert_int_equal(look(P, names[i]), ENOENT);
        assert_int_equal(create(P, names[i], O_RDWR, 0644, NULL), EACCES);
        struct fuse_mkdir_in in = {.mode = 0755};
        assert_int_equal(ask_names(FUSE_MKDIR, P, &in, sizeof in, names[i], NULL),
                         i ? EACCES : EACCES);
        assert_int_equal(move(P, "sub", P, names[i], 0), EACCES);
    }
    assert_int_equal(ask_names(FUSE_RMDIR, P, NULL, 0, ".cloche", NULL), ENOENT);
    assert_true(holds("test -f in/.cloche/policy"));
}

static void names_with_a_dot_are_hidden_where_they_are(void **state)
{
    (void)state;
    assert_int_equal(look(P, ".git"), 0);
    assert_int_equal(look(t.roots[NO_DOTS], ".git"), ENOENT);
    assert_int_equal(create(t.roots[NO_DOTS], ".bashrc", O_RDWR, 0644, NULL), EACCES);
    assert_int_equal(move(t.roots[NO_DOTS], "file", t.roots[NO_DOTS], ".profile", 0),
                     EACCES);
}

/* ---- links ------------------------------------------------------------------------- */

static void a_link_is_shown_and_never_followed(void **state)
{
    (void)state;
    uint64_t fh, away = node_of(P, "away"), leak = node_of(P, "leak");
    assert_int_equal(ask(FUSE_READLINK, away, NULL, 0), 0);
    assert_int_equal(t.n, 6);
    assert_int_equal(look(away, "secret"), ENOTDIR);
    assert_int_equal(create(away, "new", O_RDWR, 0644, NULL), ENOTDIR);
    assert_int_equal(open_file(leak, O_RDONLY, &fh), ELOOP);
    struct fuse_open_in in = {0};
    assert_int_equal(ask(FUSE_OPENDIR, away, &in, sizeof in), ENOTDIR);
}

static void what_a_link_leads_to_is_not_made(void **state)
{
    (void)state;
    host("ln -s ../out/made in/dangling");
    assert_int_equal(create(P, "dangling", O_RDWR, 0644, NULL), ELOOP);
    assert_int_equal(create(P, "leak", O_RDWR | O_TRUNC, 0644, NULL), ELOOP);
    assert_int_equal(create(P, "leak", O_RDWR | O_EXCL, 0644, NULL), EEXIST);
    assert_true(holds("test ! -e out/made"));
}

static void a_links_attributes_are_its_own(void **state)
{
    (void)state;
    uint64_t leak = node_of(P, "leak");
    struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0777};
    struct fuse_setattr_in size = {.valid = FATTR_SIZE, .size = 0};
    struct fuse_setattr_in time = {.valid = FATTR_MTIME, .mtime = 1};
    host("chmod 600 out/secret && touch -d @1000000 out/secret");
    assert_int_not_equal(set(leak, &mode), 0);
    assert_int_equal(set(leak, &size), EINVAL);
    assert_int_equal(set(leak, &time), 0);
    assert_true(holds("test \"$(stat -c %a.%Y out/secret)\" = 600.1000000"));
}

static void no_link_is_made_unless_it_may(void **state)
{
    (void)state;
    assert_int_equal(ask_names(FUSE_SYMLINK, P, NULL, 0, "new", "/etc/passwd"), EPERM);
    assert_int_equal(ask_names(FUSE_SYMLINK, t.roots[OVERLAY], NULL, 0, "new", "x"),
                     EPERM);
    assert_int_equal(
        ask_names(FUSE_SYMLINK, t.roots[LINKS], NULL, 0, "new", "/etc/passwd"), 0);
    assert_int_equal(look(node_of(t.roots[LINKS], "new"), "x"), ENOTDIR);
    assert_true(holds("test \"$(readlink in/new)\" = /etc/passwd"));
}

static void a_magic_link_is_text(void **state)
{
    (void)state;
    host(
        "ln -s /proc/self/fd in/fd && ln -s /proc/self/root in/root && ln -s /proc/self/cwd in/cwd");
    static const char *const names[] = {"fd", "root", "cwd"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        uint64_t fh, link = node_of(P, names[i]);
        assert_int_equal(look(link, "0"), ENOTDIR);
        assert_int_equal(look(link, "etc"), ENOTDIR);
        assert_int_equal(open_file(link, O_RDONLY, &fh), ELOOP);
    }
}

static void a_hard_link_does_not_leave_its_mount(void **state)
{
    (void)state;
    struct fuse_link_in in = {.oldnodeid = node_of(P, "file")};
    assert_int_equal(ask_names(FUSE_LINK, t.roots[LINKS], &in, sizeof in, "hard", NULL),
                     EXDEV);
    assert_int_equal(move(P, "file", t.roots[LINKS], "moved", 0), EXDEV);
    in.oldnodeid = node_of(P, "leak");
    assert_int_equal(ask_names(FUSE_LINK, P, &in, sizeof in, "hard", NULL), EPERM);
    in.oldnodeid = node_of(P, "sub");
    assert_int_equal(ask_names(FUSE_LINK, P, &in, sizeof in, "hard", NULL), EPERM);
    in.oldnodeid = 12345;
    assert_int_equal(ask_names(FUSE_LINK, P, &in, sizeof in, "hard", NULL), ESTALE);
}

/* ---- while the host changes ----------------------------------------------------------- */

static void a_folder_that_became_a_link_is_stale(void **state)
{
    (void)state;
    uint64_t sub = node_of(P, "sub");
    host("mv in/sub in/old && ln -s ../out in/sub");
    assert_int_not_equal(look(sub, "secret"), 0);
    assert_int_not_equal(create(sub, "new", O_RDWR, 0644, NULL), 0);
    assert_int_not_equal(ask_names(FUSE_UNLINK, sub, NULL, 0, "secret", NULL), 0);
    assert_int_not_equal(move(P, "file", sub, "file", 0), 0);
    assert_true(holds("test -f in/file"));
}

static void a_folder_in_use_stays_the_folder_that_it_was(void **state)
{
    (void)state;
    uint64_t sub = node_of(P, "sub");
    assert_int_equal(look(sub, "deep"), 0); /* it is open now */
    host("mv in/sub in/old && ln -s ../out in/sub");
    assert_int_equal(look(sub, "secret"), ENOENT);
    assert_int_equal(create(sub, "new", O_RDWR, 0644, NULL), 0);
    assert_true(holds("test -f in/old/new"));
}

static void a_folder_that_left_the_mount_is_no_way_out(void **state)
{
    (void)state;
    uint64_t sub = node_of(P, "sub");
    host("mv in/sub out/sub");
    assert_int_not_equal(look(sub, "deep"), 0);
    assert_int_not_equal(create(sub, "new", O_RDWR, 0644, NULL), 0);
    host("rm -r out/sub");
}

static void a_file_that_became_a_link_is_stale(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    struct fuse_setattr_in size = {.valid = FATTR_SIZE},
                           mode = {.valid = FATTR_MODE, .mode = 0777},
                           time = {.valid = FATTR_MTIME, .mtime = 1};
    host("chmod 600 out/secret && touch -d @1000000 out/secret && rm in/file && "
         "ln -s ../out/secret in/file");
    assert_int_equal(open_file(file, O_RDONLY, &fh), ESTALE);
    assert_int_equal(open_file(file, O_RDWR | O_TRUNC, &fh), ESTALE);
    assert_int_equal(set(file, &size), ESTALE);
    assert_int_equal(set(file, &mode), ESTALE);
    assert_int_equal(set(file, &time), ESTALE);
    struct fuse_link_in in = {.oldnodeid = file};
    assert_int_equal(ask_names(FUSE_LINK, P, &in, sizeof in, "hard", NULL), ESTALE);
    assert_true(holds("test \"$(stat -c %a.%Y out/secret)\" = 600.1000000"));
}

static void a_file_that_became_a_pipe_does_not_hang(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    host("rm in/file && mkfifo in/file");
    assert_int_not_equal(open_file(file, O_RDONLY, &fh), 0);
    assert_int_not_equal(open_file(file, O_WRONLY, &fh), 0);
}

static void an_open_file_outlives_its_name(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    struct fuse_getattr_in in = {0};
    assert_int_equal(open_file(file, O_RDWR, &fh), 0);
    host("rm in/file && ln -s ../out/secret in/file");
    assert_int_equal(write_at(file, fh, 0, "TEXT"), 0);
    assert_int_equal(read_at(file, fh, 0, 100), 0);
    assert_memory_equal(BODY(char), "TEXT\n", 5);
    assert_int_equal(ask(FUSE_GETATTR, file, &in, sizeof in), 0);
    assert_int_equal(BODY(struct fuse_attr_out)->attr.size, 5);
}

/* ---- what is neither file, folder nor link ---------------------------------------------- */

static bool is_listed(uint64_t folder, const char *name)
{
    struct fuse_open_in in = {0};
    assert_int_equal(ask(FUSE_OPENDIR, folder, &in, sizeof in), 0);
    struct fuse_read_in read = {.fh = BODY(struct fuse_open_out)->fh, .size = 60000};
    assert_int_equal(ask(FUSE_READDIR, folder, &read, sizeof read), 0);
    const char *at = t.reply + sizeof(struct fuse_out_header), *end = at + t.n;
    bool found = false;
    while (at < end) {
        const struct fuse_dirent *d = (const void *)at;
        found |= str_is((struct str){d->name, d->namelen}, name);
        at += FUSE_DIRENT_SIZE(d);
    }
    struct fuse_release_in release = {.fh = read.fh};
    assert_int_equal(ask(FUSE_RELEASEDIR, folder, &release, sizeof release), 0);
    return found;
}

static void special_files_are_not_there(void **state)
{
    (void)state;
    assert_true(is_listed(P, "file"));
    assert_false(is_listed(P, "pipe"));
    assert_int_equal(look(P, "pipe"), EACCES);
    assert_false(is_listed(P, ".cloche"));
    assert_false(is_listed(t.roots[NO_DOTS], ".git"));
}

static void special_files_are_not_made(void **state)
{
    (void)state;
    static const uint32_t types[] = {S_IFIFO, S_IFSOCK, S_IFCHR,
                                     S_IFBLK, S_IFDIR,  S_IFLNK};
    for (size_t i = 0; i < LENGTH(types); i++) {
        struct fuse_mknod_in in = {.mode = types[i] | 0666, .rdev = 0x103};
        assert_int_equal(ask_names(FUSE_MKNOD, P, &in, sizeof in, "new", NULL), EPERM);
    }
    struct fuse_mknod_in in = {.mode = S_IFREG | 0600};
    assert_int_equal(ask_names(FUSE_MKNOD, P, &in, sizeof in, "new", NULL), 0);
    assert_true(holds("test \"$(stat -c %a in/new)\" = 600"));
}

static void no_file_gets_the_rights_of_its_owner(void **state)
{
    (void)state;
    static const uint32_t bits[] = {04000, 02000, 01000, 07000};
    for (size_t i = 0; i < LENGTH(bits); i++) {
        struct fuse_setattr_in in = {.valid = FATTR_MODE, .mode = bits[i] | 0755};
        assert_int_equal(set(node_of(P, "file"), &in), EPERM);
    }
    assert_int_equal(create(P, "new", O_RDWR, 06755, NULL), 0);
    assert_true(holds("test \"$(stat -c %a in/new)\" = 755"));
}

static void owners_stay(void **state)
{
    (void)state;
    struct fuse_setattr_in in = {
        .valid = FATTR_UID | FATTR_GID, .uid = 1234, .gid = 1234};
    assert_int_equal(set(node_of(P, "file"), &in), 0);
    assert_int_equal(BODY(struct fuse_attr_out)->attr.uid, 0);
    assert_true(holds("test \"$(stat -c %u in/file)\" = $(id -u)"));
}

static void there_are_no_attributes_besides(void **state)
{
    (void)state;
    static char name[60000];
    memset(name, 'x', sizeof name - 1);
    struct fuse_setxattr_in in = {.size = 1};
    char body[sizeof in + 20] = {0};
    memcpy(body + sizeof in, "user.x", 7);
    assert_int_equal(ask(FUSE_SETXATTR, P, body, sizeof body), ENOSYS);
    assert_int_equal(ask(FUSE_GETXATTR, P, name, sizeof name), ENOSYS);
    assert_int_equal(ask(FUSE_LISTXATTR, P, name, sizeof name), ENOSYS);
    assert_int_equal(ask(FUSE_REMOVEXATTR, P, name, sizeof name), ENOSYS);
}

static void nothing_else_is_done(void **state)
{
    (void)state;
    static const uint32_t opcodes[] = {FUSE_IOCTL,
                                       FUSE_POLL,
                                       FUSE_BMAP,
                                       FUSE_SETUPMAPPING,
                                       FUSE_REMOVEMAPPING,
                                       FUSE_COPY_FILE_RANGE,
                                       7,
                                       19,
                                       53,
                                       77,
                                       1000,
                                       4096,
                                       UINT32_MAX};
    for (size_t i = 0; i < LENGTH(opcodes); i++)
        assert_int_equal(ask(opcodes[i], P, t.reply, 64), ENOSYS);
}

/* ---- numbers ----------------------------------------------------------------------------- */

static void a_node_that_was_never_given_is_stale(void **state)
{
    (void)state;
    static const uint64_t nodes[] = {0,          2000,       UINT32_MAX,
                                     UINT64_MAX, 1ull << 32, (uint64_t)UINT32_MAX << 32};
    for (size_t i = 0; i < LENGTH(nodes); i++) {
        assert_int_equal(look(nodes[i], "file"), ESTALE);
        assert_int_equal(move(P, "file", nodes[i], "x", 0), ESTALE);
    }
}

static void a_forgotten_node_is_stale(void **state)
{
    (void)state;
    uint64_t file = node_of(P, "file");
    struct fuse_forget_in in = {.nlookup = UINT64_MAX};
    struct fuse_getattr_in get = {0};
    assert_int_equal(ask(FUSE_FORGET, file, &in, sizeof in), EPROTO);
    assert_int_equal(ask(FUSE_GETATTR, file, &get, sizeof get), ESTALE);
    assert_int_equal(ask(FUSE_FORGET, P, &in, sizeof in), EPROTO);
    assert_int_equal(look(P, "file"), 0); /* a mount's folder stays */
    assert_int_equal(ask(FUSE_FORGET, FUSE_ROOT_ID, &in, sizeof in), EPROTO);
    assert_int_equal(look(FUSE_ROOT_ID, "77"), ENOENT);
}

static void a_batch_ends_with_its_bytes(void **state)
{
    (void)state;
    struct {
        struct fuse_batch_forget_in head;
        struct fuse_forget_one one;
    } in = {{.count = UINT32_MAX}, {.nodeid = node_of(P, "file"), .nlookup = 1}};
    assert_int_equal(ask(FUSE_BATCH_FORGET, 0, &in, sizeof in), EPROTO);
    assert_int_equal(look(P, "file"), 0);
}

static void an_open_file_is_its_nodes_alone(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file"), deep = node_of(node_of(P, "sub"), "deep");
    assert_int_equal(open_file(file, O_RDWR, &fh), 0);
    assert_int_equal(read_at(deep, fh, 0, 10), EBADF);
    assert_int_equal(read_at(file, fh + 1, 0, 10), EBADF);
    assert_int_equal(read_at(file, fh | 1ull << 32, 0, 10), EBADF);
    struct fuse_release_in in = {.fh = fh};
    assert_int_equal(ask(FUSE_RELEASE, file, &in, sizeof in), 0);
    assert_int_equal(read_at(file, fh, 0, 10), EBADF);
    assert_int_equal(write_at(file, fh, 0, "x"), EBADF);
    assert_int_equal(ask(FUSE_RELEASE, file, &in, sizeof in), EBADF);
}

static void a_file_open_for_reading_is_not_written(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    assert_int_equal(open_file(file, O_RDONLY, &fh), 0);
    assert_int_equal(write_at(file, fh, 0, "x"), EBADF);
    assert_int_equal(open_file(file, O_ACCMODE, &fh), EINVAL);
}

static void open_files_are_limited(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    int failed = 0, many = 0;
    while (!failed && many < 2 * (int)FUSE_OPEN_MAX)
        many += !(failed = open_file(file, O_RDONLY, &fh));
    assert_int_equal(failed, EMFILE);
    assert_true(many > 200 && many <= 300);
}

/* ---- lengths ------------------------------------------------------------------------------ */

static void a_length_that_is_wrong_is_refused(void **state)
{
    (void)state;
    struct fuse_in_header head = {.opcode = FUSE_LOOKUP, .nodeid = P};
    static const uint32_t lengths[] = {
        0, 1, sizeof head, sizeof head + 4, sizeof head + 6, UINT32_MAX, 1u << 31};
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        head.len = lengths[i];
        memcpy(t.sent, &head, sizeof head);
        memcpy(t.sent + sizeof head, "file", 5);
        assert_int_equal(ask_raw(t.sent, sizeof head + 5, sizeof t.reply), EINVAL);
    }
    for (size_t n = 0; n < sizeof head; n++)
        assert_int_equal(ask_raw(t.sent, n, sizeof t.reply), EPROTO);
    assert_int_equal(ask_raw(t.sent, FUSE_REQUEST_MAX + 1, sizeof t.reply), EPROTO);
}

/* Each request, cut after each byte, with and without room for its reply. */
static void a_request_that_is_cut_short_changes_nothing(void **state)
{
    (void)state;
    static const char zeros[128];
    for (uint32_t opcode = 1; opcode < 64; opcode++)
        for (size_t n = 0; n < sizeof zeros; n++)
            if (opcode != FUSE_DESTROY && opcode != FUSE_FORGET)
                (void)ask(opcode, P, zeros, n);
    assert_true(
        holds("test \"$(ls -A in | wc -l)\" = 8 && test \"$(cat in/file)\" = text"));
    for (size_t room = 0; room < 400; room++) {
        struct fuse_in_header head = {
            .len = sizeof head + 5, .opcode = FUSE_LOOKUP, .nodeid = P};
        memcpy(t.sent, &head, sizeof head);
        memcpy(t.sent + sizeof head, "file", 5);
        int failed = ask_raw(t.sent, head.len, room);
        size_t needs = sizeof(struct fuse_out_header);
        assert_int_equal(failed, room < needs                                   ? EPROTO
                                 : room < needs + sizeof(struct fuse_entry_out) ? EINVAL
                                                                                : 0);
    }
}

static void a_write_has_the_bytes_that_it_says(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    assert_int_equal(open_file(file, O_RDWR, &fh), 0);
    static const uint32_t sizes[] = {0, 3, 5, 100, FUSE_DATA_MAX, UINT32_MAX};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        char body[sizeof(struct fuse_write_in) + 4] = {0};
        struct fuse_write_in in = {.fh = fh, .size = sizes[i]};
        memcpy(body, &in, sizeof in);
        assert_int_equal(ask(FUSE_WRITE, file, body, sizeof body), EINVAL);
    }
    assert_int_equal(write_at(file, fh, INT64_MAX, "xx"), EFBIG);
    assert_int_equal(write_at(file, fh, UINT64_MAX, "x"), EFBIG);
    assert_true(holds("test \"$(cat in/file)\" = text"));
}

static void a_read_has_the_room_of_its_reply(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    assert_int_equal(open_file(file, O_RDONLY, &fh), 0);
    assert_int_equal(read_at(file, fh, 0, UINT32_MAX), 0);
    assert_int_equal(t.n, 5);
    assert_int_equal(read_at(file, fh, INT64_MAX - 10, 10), 0);
    assert_int_equal(t.n, 0);
    assert_int_equal(read_at(file, fh, UINT64_MAX, 10), EINVAL);
    struct fuse_lseek_in in = {.fh = fh, .whence = SEEK_SET};
    assert_int_equal(ask(FUSE_LSEEK, file, &in, sizeof in), EINVAL);
    in = (struct fuse_lseek_in){.fh = fh, .offset = UINT64_MAX, .whence = SEEK_DATA};
    assert_int_equal(ask(FUSE_LSEEK, file, &in, sizeof in), EINVAL);
}

static void a_folder_is_read_from_anywhere(void **state)
{
    (void)state;
    struct fuse_open_in open = {0};
    assert_int_equal(ask(FUSE_OPENDIR, P, &open, sizeof open), 0);
    static const uint64_t offsets[] = {0, 5, 100, UINT32_MAX, INT64_MAX, UINT64_MAX};
    struct fuse_read_in in = {.fh = BODY(struct fuse_open_out)->fh, .size = 4096};
    for (size_t i = 0; i < LENGTH(offsets); i++) {
        in.offset = offsets[i];
        assert_int_equal(ask(FUSE_READDIR, P, &in, sizeof in), 0);
        assert_int_equal(ask(FUSE_READDIRPLUS, P, &in, sizeof in), 0);
    }
    in.offset = 0;
    for (in.size = 0; in.size < 300; in.size++)
        assert_int_equal(ask(FUSE_READDIRPLUS, P, &in, sizeof in), 0);
}

/* ---- rights -------------------------------------------------------------------------------- */

static void a_mount_that_is_read_is_not_changed(void **state)
{
    (void)state;
    uint64_t fh, ro = t.roots[READ_ONLY], file = node_of(ro, "file");
    struct fuse_setattr_in all[] = {{.valid = FATTR_MODE, .mode = 0777},
                                    {.valid = FATTR_SIZE},
                                    {.valid = FATTR_MTIME, .mtime = 1}};
    struct fuse_mkdir_in folder = {.mode = 0755};
    struct fuse_mknod_in node = {.mode = S_IFREG | 0644};
    struct fuse_link_in link = {.oldnodeid = file};
    assert_int_equal(open_file(file, O_RDONLY, &fh), 0);
    assert_int_equal(open_file(file, O_RDWR, &fh), EROFS);
    assert_int_equal(open_file(file, O_RDONLY | O_TRUNC, &fh), EROFS);
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_int_not_equal(set(file, &all[i]), 0);
    assert_int_equal(create(ro, "new", O_RDWR, 0644, NULL), EROFS);
    assert_int_equal(ask_names(FUSE_MKDIR, ro, &folder, sizeof folder, "new", NULL),
                     EROFS);
    assert_int_equal(ask_names(FUSE_MKNOD, ro, &node, sizeof node, "new", NULL), EROFS);
    assert_int_equal(ask_names(FUSE_SYMLINK, ro, NULL, 0, "new", "x"), EROFS);
    assert_int_equal(ask_names(FUSE_LINK, ro, &link, sizeof link, "new", NULL), EROFS);
    assert_int_equal(ask_names(FUSE_UNLINK, ro, NULL, 0, "file", NULL), EROFS);
    assert_int_equal(ask_names(FUSE_RMDIR, ro, NULL, 0, "sub", NULL), EROFS);
    assert_int_equal(move(ro, "file", ro, "new", 0), EROFS);
    assert_int_equal(move(ro, "file", ro, "sub", RENAME_EXCHANGE), EROFS);
    assert_true(
        holds("test \"$(ls -A in | wc -l)\" = 8 && test \"$(cat in/file)\" = text"));
}

static void an_overlay_leaves_the_host_as_it_is(void **state)
{
    (void)state;
    uint64_t fh, over = t.roots[OVERLAY], file = node_of(over, "file");
    assert_int_equal(open_file(file, O_RDWR, &fh), 0);
    assert_int_equal(write_at(file, fh, 0, "TEXT"), 0);
    assert_int_equal(create(over, "new", O_RDWR, 0644, NULL), 0);
    assert_int_equal(ask_names(FUSE_UNLINK, node_of(over, "sub"), NULL, 0, "deep", NULL),
                     0);
    assert_int_equal(move(over, "file", over, "moved", 0), 0);
    assert_int_equal(look(over, "file"), ENOENT);
    assert_int_equal(read_at(file, fh, 0, 10), 0);
    assert_memory_equal(BODY(char), "TEXT\n", 5);
    assert_true(
        holds("test \"$(ls -A in | wc -l)\" = 8 && test \"$(cat in/file)\" = text && "
              "test -f in/sub/deep"));
}

static void what_is_written_is_limited(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    assert_int_equal(open_file(file, O_RDWR, &fh), 0);
    assert_int_equal(write_at(file, fh, 2 << 20, "x"), ENOSPC);
    struct fuse_setattr_in size = {.valid = FATTR_SIZE, .size = 2 << 20};
    assert_int_equal(set(file, &size), ENOSPC);
    struct fuse_fallocate_in in = {.fh = fh, .length = 2 << 20};
    assert_int_equal(ask(FUSE_FALLOCATE, file, &in, sizeof in), ENOSPC);
    in.mode = 0x40; /* FALLOC_FL_UNSHARE_RANGE, and what else there may be */
    assert_int_equal(ask(FUSE_FALLOCATE, file, &in, sizeof in), EOPNOTSUPP);
    assert_true(holds("test \"$(stat -c %s in/file)\" = 5"));
}

static void the_root_of_all_has_only_mounts(void **state)
{
    (void)state;
    struct fuse_mkdir_in folder = {.mode = 0755};
    struct fuse_open_in open = {0};
    static const char *const names[] = {"0",  "00001", "+1", " 1",
                                        "1 ", "-1",    "99", "4294967297"};
    for (size_t i = 0; i < LENGTH(names); i++)
        assert_int_equal(look(FUSE_ROOT_ID, names[i]), ENOENT);
    assert_int_equal(create(FUSE_ROOT_ID, "x", O_RDWR, 0644, NULL), EPERM);
    assert_int_equal(
        ask_names(FUSE_MKDIR, FUSE_ROOT_ID, &folder, sizeof folder, "x", NULL), EPERM);
    assert_int_equal(ask_names(FUSE_RMDIR, FUSE_ROOT_ID, NULL, 0, "1", NULL), EPERM);
    assert_int_equal(ask_names(FUSE_UNLINK, FUSE_ROOT_ID, NULL, 0, "1", NULL), EPERM);
    assert_int_equal(move(FUSE_ROOT_ID, "1", FUSE_ROOT_ID, "x", 0), EPERM);
    assert_int_equal(move(P, "file", FUSE_ROOT_ID, "x", 0), EXDEV);
    assert_int_equal(ask(FUSE_OPENDIR, FUSE_ROOT_ID, &open, sizeof open), EACCES);
}

static void a_folder_does_not_move_into_itself(void **state)
{
    (void)state;
    uint64_t sub = node_of(P, "sub");
    assert_int_equal(move(P, "sub", sub, "sub", 0), EINVAL);
    assert_int_equal(move(P, "sub", P, "x", 4), EINVAL);
    assert_int_equal(move(P, "sub", P, "x", RENAME_NOREPLACE | RENAME_EXCHANGE), EINVAL);
    assert_int_equal(move(P, "file", P, "sub", RENAME_NOREPLACE), EEXIST);
    assert_int_equal(move(P, "file", P, "sub", RENAME_EXCHANGE), 0);
    assert_int_equal(look(sub, "deep"), 0);
}

static void a_mount_that_is_gone_is_gone(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    struct fuse_open_in open = {0};
    assert_int_equal(open_file(file, O_RDWR, &fh), 0);
    vfs_free(fuse_remove(t.f, t.numbers[PLAIN]));
    assert_null(fuse_remove(t.f, t.numbers[PLAIN]));
    assert_int_equal(read_at(file, fh, 0, 10), ENODEV);
    assert_int_equal(write_at(file, fh, 0, "x"), ENODEV);
    assert_int_not_equal(look(P, "file"), 0);
    assert_int_not_equal(ask(FUSE_OPENDIR, P, &open, sizeof open), 0);
    assert_int_equal(look(FUSE_ROOT_ID, "1"), ENOENT);
    assert_int_equal(look(t.roots[LINKS], "file"), 0);
}

static void a_session_that_begins_anew_knows_nothing(void **state)
{
    (void)state;
    uint64_t fh, file = node_of(P, "file");
    assert_int_equal(open_file(file, O_RDWR, &fh), 0);
    assert_int_equal(begin_session(), 0);
    assert_int_equal(read_at(file, fh, 0, 10), ESTALE);
    assert_int_equal(look(FUSE_ROOT_ID, "1"), 0);
    struct fuse_init_in old = {.major = 7, .minor = 8};
    assert_int_equal(ask(FUSE_INIT, 0, &old, sizeof old), EPROTO);
    assert_int_equal(ask(FUSE_INIT, 0, &old, 3), EINVAL);
}

static void nothing_is_answered_before_a_session(void **state)
{
    (void)state;
    struct fuse *before = t.f;
    scoped(fuse_free) struct fuse *f = t.f = fuse_new();
    assert_int_equal(look(FUSE_ROOT_ID, "1"), EIO);
    t.f = before;
}

static void a_session_of_the_past_goes_on_and_knows_nothing_any_more(void **state)
{
    (void)state;
    struct err e = {0};
    uint64_t file = node_of(P, "file"), folder = t.roots[PLAIN];
    uint32_t number = t.numbers[PLAIN];
    struct fuse *before = t.f;
    struct fuse_getattr_in get = {0};
    struct vfs *tree = fuse_remove(before, number);
    t.f = fuse_new();
    assert_int_equal(ask(FUSE_GETATTR, FUSE_ROOT_ID, &get, sizeof get), EIO);
    fuse_continue(t.f);
    assert_int_equal(ask(FUSE_GETATTR, FUSE_ROOT_ID, &get, sizeof get), 0);
    assert_true(fuse_add(t.f, tree, "/m", false, &t.numbers[PLAIN], &e));
    assert_int_not_equal(t.numbers[PLAIN], number);
    char name[16];
    (void)snprintf(name, sizeof name, "%u", number);
    assert_int_equal(look(FUSE_ROOT_ID, name), ENOENT);
    (void)snprintf(name, sizeof name, "%u", t.numbers[PLAIN]);
    uint64_t again = node_of(FUSE_ROOT_ID, name), now = node_of(again, "file");
    assert_int_not_equal(again, folder);
    assert_int_not_equal(now, file);
    assert_int_equal(ask(FUSE_GETATTR, file, &get, sizeof get), ESTALE);
    assert_int_equal(look(folder, "file"), ESTALE);
    assert_int_equal(ask(FUSE_GETATTR, now, &get, sizeof get), 0);
    fuse_free(before);
}

int main(void)
{
#define test(f) cmocka_unit_test_setup_teardown(f, tester_make, tester_end)
    const struct CMUnitTest tests[] = {
        test(a_name_is_never_a_path),
        test(dots_and_spaces_at_a_names_end_mean_nothing),
        test(a_name_without_its_end_is_refused),
        test(a_long_name_is_refused),
        test(the_folder_of_ours_is_not_there),
        test(names_with_a_dot_are_hidden_where_they_are),
        test(a_link_is_shown_and_never_followed),
        test(what_a_link_leads_to_is_not_made),
        test(a_links_attributes_are_its_own),
        test(no_link_is_made_unless_it_may),
        test(a_magic_link_is_text),
        test(a_hard_link_does_not_leave_its_mount),
        test(a_folder_that_became_a_link_is_stale),
        test(a_folder_in_use_stays_the_folder_that_it_was),
        test(a_folder_that_left_the_mount_is_no_way_out),
        test(a_file_that_became_a_link_is_stale),
        test(a_file_that_became_a_pipe_does_not_hang),
        test(an_open_file_outlives_its_name),
        test(special_files_are_not_there),
        test(special_files_are_not_made),
        test(no_file_gets_the_rights_of_its_owner),
        test(owners_stay),
        test(there_are_no_attributes_besides),
        test(nothing_else_is_done),
        test(a_node_that_was_never_given_is_stale),
        test(a_forgotten_node_is_stale),
        test(a_batch_ends_with_its_bytes),
        test(an_open_file_is_its_nodes_alone),
        test(a_file_open_for_reading_is_not_written),
        test(open_files_are_limited),
        test(a_length_that_is_wrong_is_refused),
        test(a_request_that_is_cut_short_changes_nothing),
        test(a_write_has_the_bytes_that_it_says),
        test(a_read_has_the_room_of_its_reply),
        test(a_folder_is_read_from_anywhere),
        test(a_mount_that_is_read_is_not_changed),
        test(an_overlay_leaves_the_host_as_it_is),
        test(what_is_written_is_limited),
        test(the_root_of_all_has_only_mounts),
        test(a_folder_does_not_move_into_itself),
        test(a_mount_that_is_gone_is_gone),
        test(a_session_that_begins_anew_knows_nothing),
        test(nothing_is_answered_before_a_session),
        test(a_session_of_the_past_goes_on_and_knows_nothing_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
