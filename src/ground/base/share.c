#include "base/base.h"

bool share_fits(size_t mine, size_t all, size_t max)
{
    return all < max && (mine == 0 || (mine < max / 4 && all < max - max / 8));
}
