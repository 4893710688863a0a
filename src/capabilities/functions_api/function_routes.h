/* functions_api/function_routes.h - what answers the routes of custom functions. Private to
 * the room. */
#pragma once
#include "actions/actions.h"
#include "routes/routes.h"

/* How route_ask_function() asks an action; route.arg. */
struct function_asked {
    const char *action;
    bool named;         /* for the function of the path, where it has one */
    bool body, renames; /* with the body's members; a name in it is a new one */
    bool condition;     /* If-Match says which version */
    bool keeps, tagged; /* answers one that was stored, or is described: Location, ETag */
    const char *list;   /* a parameter "a,b", or NULL */
    const char *numbers[3]; /* parameters from 1 on; up to a NULL */
    const char *flags[3];   /* true or false; the same */
};
route_fn route_ask_function;
route_fn route_list_functions, route_export_functions, route_import_functions,
    route_list_backups, route_list_templates, route_get_template;
