/* cwebp, dwebp and gif2webp in one module: the name that it is called by tells which. */
#include <stdio.h>
#include <string.h>

int cwebp_main(int argc, const char *argv[]);
int dwebp_main(int argc, const char *argv[]);
int gif2webp_main(int argc, const char *argv[]);

int main(int argc, const char *argv[])
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    if (strcmp(name, "cwebp") == 0)
        return cwebp_main(argc, argv);
    if (strcmp(name, "dwebp") == 0)
        return dwebp_main(argc, argv);
    if (strcmp(name, "gif2webp") == 0)
        return gif2webp_main(argc, argv);
    fprintf(stderr, "%s: not one of cwebp, dwebp, gif2webp\n", name);
    return 2;
}
