/* Quoting for bash. */
#include "vm/commands.h"

void vm_put_word(struct buf *command, struct str word)
{
    buf_cstr(command, command->n ? " '" : "'");
    for (size_t i = 0; i < word.n; i++)
        if (word.at[i] == '\'')
            buf_cstr(command, "'\\''");
        else
            buf_char(command, word.at[i]);
    buf_char(command, '\'');
}
