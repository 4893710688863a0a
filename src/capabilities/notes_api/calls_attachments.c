/* The host calls attachments.*: files of the vault that are no notes. */
#include "notes_api/internal.h"
#include "notes_api/note_calls.api.h"
#include "notes_api/unknown.h"

static bool call_list_attachments(struct calling *x, struct json_writer *out,
                                  struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && attachments_list(vault, json_at(x->args, 0), out, e);
}

static bool call_read_attachment(struct calling *x, struct json_writer *out,
                                 struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && attachments_read(vault, json_at(x->args, 0), out, e);
}

static bool call_move_attachment(struct calling *x, struct json_writer *out,
                                 struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *o = call_options(x->args, "attachments.move", e);
    return vault && o && attachments_move(vault, o, out, e);
}

/* Shared types that signatures name. */
static const struct api_type types[] = {
    ATTACHMENTS_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "attachments.list", .slow = true),
     .signature = ATTACHMENTS_LIST_SIGNATURE,
     .summary = "images, PDFs and other files that are no notes, by path",
     .call = call_list_attachments, .level = LEVEL_FULL,
     .details =
         "links counts the links and embeds that lead to the file, in notes and canvases; orphans: true lists those with none. folder: the files in it, and in folders inside of it. limit is 1,000 by default, 10,000 at most; cursor is the path of the last row.",
     .example = "const unused = await attachments.list({orphans: true})",
     .words = "files images pictures pdf media embeds assets unused unlinked"},
    {CALL(.name = "attachments.read"), .signature = ATTACHMENTS_READ_SIGNATURE,
     .summary = "the content of an attachment, as base64 or as text",
     .call = call_read_attachment, .level = LEVEL_FULL,
     .details =
         "path is a path from the vault's root, or a file name, which is looked for as a link would. A file may have 8 MiB.",
     .errors =
         "NotFound. LimitExceeded: it is larger. InvalidInput: as 'text' of a file that is no UTF-8.",
     .example =
         "const {text} = await attachments.read({path: 'data/rain.csv', as: 'text'})",
     .words = "file image picture pdf bytes binary base64 open load media"},
    {CALL(.name = "attachments.move", .writes = true, .slow = true),
     .signature = ATTACHMENTS_MOVE_SIGNATURE,
     .summary = "renames or moves an attachment, and updates the links to it",
     .call = call_move_attachment, .level = LEVEL_FULL, .reviewed = true,
     .details =
         "to is the new path, or a folder that ends with '/'. Links and embeds in notes and canvases follow in the form in which they are written, all or none. notes.undo takes it back.",
     .errors =
         "NotFound. Conflict: the path is taken, or links to another file would lead to this one.",
     .example = "await attachments.move({path: 'IMG_0012.png', to: 'img/barrel.png'})",
     .words = "rename file image picture pdf folder relocate media assets"},
};
const struct host_call_group attachment_calls = {TABLE(rows), TYPES(types), .order = 65,
                                                 .subject = "attachment",
                                                 .notes = &note_advice};
