#include "notes/tasks.h"

#include "notes/blocks.h"

const char *task_status_name(enum task_status s)
{
    static const char *const names[] = {"open", "done", "cancelled"};
    return names[s];
}

static const struct {
    const char *word;
    enum task_status status;
} words[] = {
    {"TODO", TASK_OPEN},  {"DOING", TASK_OPEN},         {"NOW", TASK_OPEN},
    {"LATER", TASK_OPEN}, {"WAITING", TASK_OPEN},       {"WAIT", TASK_OPEN},
    {"DONE", TASK_DONE},  {"CANCELED", TASK_CANCELLED}, {"CANCELLED", TASK_CANCELLED},
};

/* ---- dates and priorities --------------------------------------------------- */

static const struct {
    const char *before; /* what stands before a date */
    enum task_date date;
} signs[] = {
    {"\U0001F4C5", TASK_DUE},
    {"\U0001F4C6", TASK_DUE},
    {"\U0001F5D3", TASK_DUE},
    {"\u23F3", TASK_SCHEDULED},
    {"\u231B", TASK_SCHEDULED},
    {"\U0001F6EB", TASK_START},
    {"\u2705", TASK_FINISHED},
    {"\u274C", TASK_FINISHED},
    {"due::", TASK_DUE},
    {"scheduled::", TASK_SCHEDULED},
    {"start::", TASK_START},
    {"completion::", TASK_FINISHED},
    {"cancelled::", TASK_FINISHED},
    {"DEADLINE: <", TASK_DUE},
    {"SCHEDULED: <", TASK_SCHEDULED},
};

static const struct {
    const char *sign;
    int priority;
} priorities[] = {
    {"\U0001F53A", 1},
    {"\u23EB", 2},
    {"\U0001F53C", 3},
    {"\U0001F53D", 4},
    {"\u23EC", 5},
    {"[priority:: highest]", 1},
    {"[priority:: high]", 2},
    {"[priority:: medium]", 3},
    {"[priority:: low]", 4},
    {"[priority:: lowest]", 5},
    {"[#A]", 1},
    {"[#B]", 3},
    {"[#C]", 5},
};

/* The date at the text's beginning, behind blanks and what makes a sign an emoji. */
static struct str date_at(struct str s)
{
    static const char pattern[] = "0000-00-00";
    while (s.n && (s.at[0] == ' ' || str_starts(s, "\ufe0f"))) {
        size_t n = s.at[0] == ' ' ? 1 : strlen("\ufe0f");
        s = (struct str){s.at + n, s.n - n};
    }
    if (s.n < sizeof pattern - 1)
        return STR("");
    for (size_t i = 0; i < sizeof pattern - 1; i++)
        if (pattern[i] == '0' ? !char_is_digit(s.at[i]) : s.at[i] != pattern[i])
            return STR("");
    return (struct str){s.at, sizeof pattern - 1};
}

static struct str date_behind(struct str text, const char *before)
{
    const char *at = memmem(text.at, text.n, before, strlen(before));
    if (!at)
        return STR("");
    at += strlen(before);
    return date_at((struct str){at, (size_t)(text.at + text.n - at)});
}

static void read_fields(struct task *t, struct str all)
{
    for (size_t i = 0; i < LENGTH(signs); i++)
        if (!t->dates[signs[i].date].n)
            t->dates[signs[i].date] = date_behind(all, signs[i].before);
    for (size_t i = 0; i < LENGTH(priorities) && !t->priority; i++)
        if (memmem(all.at, all.n, priorities[i].sign, strlen(priorities[i].sign)))
            t->priority = priorities[i].priority;
}

/* ---- items ------------------------------------------------------------------ */

/* Does a list's mark stand before the block: "-", "*", "+", "1." or "1)"? */
static bool heads_item(struct str text, const struct block *b)
{
    size_t at = (size_t)(b->text.at - text.at), i = at;
    while (i > b->start && (text.at[i - 1] == ' ' || text.at[i - 1] == '\t'))
        i--;
    if (i == at || i == b->start)
        return false;
    char c = text.at[i - 1];
    bool bullet = c == '-' || c == '*' || c == '+';
    return bullet ||
           ((c == '.' || c == ')') && i - 1 > b->start && char_is_digit(text.at[i - 2]));
}

static bool read_mark(struct str s, struct task *t)
{
    if (s.n < 4 || s.at[0] != '[' || s.at[1] == ']')
        return false;
    const char *at = s.at + 1, *end = s.at + s.n;
    (void)str_next_char(&at, end);
    if (end - at < 1 || at[0] != ']' || (end - at > 1 && at[1] != ' ' && at[1] != '\t'))
        return false;
    t->mark = (struct str){s.at + 1, (size_t)(at - s.at) - 1};
    bool done = str_is(t->mark, "x") || str_is(t->mark, "X");
    t->status = done ? TASK_DONE : str_is(t->mark, "-") ? TASK_CANCELLED : TASK_OPEN;
    t->text = str_trim((struct str){at + 1, (size_t)(end - at) - 1});
    return true;
}

static bool read_word(struct str s, struct task *t)
{
    for (size_t i = 0; i < LENGTH(words); i++) {
        size_t n = strlen(words[i].word);
        if (s.n <= n || !str_starts(s, words[i].word) || s.at[n] != ' ')
            continue;
        t->mark = (struct str){s.at, n};
        t->status = words[i].status;
        t->text = str_trim((struct str){s.at + n, s.n - n});
        return true;
    }
    return false;
}

struct finding {
    struct str text;
    void (*each)(void *arg, const struct task *t);
    void *arg;
    size_t count;
};

static bool task_in(void *arg, const struct block *b)
{
    struct finding *f = arg;
    struct task t = {.line = b->line};
    if (b->kind != BLOCK_PARAGRAPH || !heads_item(f->text, b))
        return true;
    const char *end = memchr(b->text.at, '\n', b->text.n);
    struct str first = {b->text.at, end ? (size_t)(end - b->text.at) : b->text.n};
    if (!read_mark(first, &t) && !read_word(first, &t))
        return true;
    read_fields(&t, b->text);
    f->each(f->arg, &t);
    return ++f->count < TASKS_MAX;
}

void tasks_read(struct str text, void (*each)(void *arg, const struct task *t), void *arg)
{
    struct finding f = {.text = text, .each = each, .arg = arg};
    if (tasks_may(text))
        blocks_scan(text, task_in, &f);
}

/* Is there, behind what may stand before an item's text, a mark or a word? */
static bool line_may(struct str line)
{
    size_t i = 0;
    while (i < line.n && strchr(" \t>-*+0123456789.)", line.at[i]))
        i++;
    if (!i || i == line.n)
        return false;
    struct task t = {0};
    struct str rest = str_trim((struct str){line.at + i, line.n - i});
    return read_mark(rest, &t) || read_word(rest, &t);
}

bool tasks_may(struct str text)
{
    while (text.n) {
        const char *end = memchr(text.at, '\n', text.n);
        struct str line = {text.at, end ? (size_t)(end - text.at) : text.n};
        if (line_may(line))
            return true;
        size_t step = line.n + (end != NULL);
        text = (struct str){text.at + step, text.n - step};
    }
    return false;
}
