/* cloche-vm-bake FOLDER [MB]: boots the machine whose parts are in FOLDER (vm/image.h),
 * and writes its memory there as machine-MB.mem (512). Part of the build. */
#include <stdio.h>

#include "abi/vm.h"
#include "vm/image.h"

static bool bake(const char *folder, uint32_t ram_mb, struct err *e)
{
    struct engine_options options = {.no_cache = true};
    scoped(engine_close) struct engine *g = engine_open(&options, e);
    scoped(images_close) struct images *i =
        g ? images_open_raw(g, folder, NULL, e) : NULL;
    return i && images_bake(i, ram_mb, e);
}

int main(int argc, char **argv)
{
    char *end = "";
    unsigned long mb = argc == 3 ? strtoul(argv[2], &end, 10) : VM_RAM_DEFAULT_MB;
    if (argc < 2 || argc > 3 || *end || mb < VM_RAM_MIN_MB || mb > VM_RAM_MAX_MB) {
        fprintf(stderr, "usage: cloche-vm-bake FOLDER [MB]\n");
        return 2;
    }
    struct err e = {0};
    if (bake(argv[1], (uint32_t)mb, &e))
        return 0;
    fprintf(stderr, "cloche-vm-bake: %s\n", e.msg);
    return 1;
}
