/* JSON Schemas of the routes' bodies and answers, by which bodies are
 * checked before a route sees them, and of which the OpenAPI document is made. */
#include "workspaces/route.h"
#include "workspaces/schemas.api.h"

const struct schema schemas[] = {COMPONENTS};
const size_t schema_count = LENGTH(schemas);

const char *schema_named(const char *name)
{
    for (size_t i = 0; i < schema_count; i++)
        if (!strcmp(schemas[i].name, name))
            return schemas[i].text;
    return "";
}
