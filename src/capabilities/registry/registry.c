/* The list of all capabilities. */
#include "code/code.h"
#include "discovery/discovery.h"
#include "fetch/fetch.h"
#include "files/files.h"
#include "functions_api/functions_api.h"
#include "machines/machines.h"
#include "notes_api/notes_api.h"
#include "tools_api/tools_api.h"
#include "vaults_api/vaults_api.h"

const struct capability *const capability_list[] = {
    &notes_capability, &code_capability,     &vaults_capability,
    &fetch_capability, &files_capability,    &discovery_capability,
    &tools_capability, &machines_capability, &functions_capability};
const size_t capability_count = LENGTH(capability_list);
