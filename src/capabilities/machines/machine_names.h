/* machines/machine_names.h - names of files in machines: any bytes. Private to the room. */
#pragma once
#include "json/json.h"

/* `key`, with U+FFFD for what is not UTF-8, and `coded_key` for the bytes then. */
void machine_put_name(const char *key, const char *coded_key, struct str name,
                      struct json_writer *w);
/* Is it a file's name: not empty, without "..", no folder's? false and ERR_INVALID. */
bool machine_file_name_check(struct str name, struct err *e);
