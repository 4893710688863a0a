/* What glibc's mathematics has and musl's not, so that the same functions are there. */
#pragma once
#include <math.h>
#include <stdlib.h>

#undef gamma
#define gamma lgamma /* as glibc defines it */
#define pow10 exp10

#define scalb scalb_of_two
static inline double scalb(double x, double exponent)
{
    if (isnan(x) || isnan(exponent))
        return x * exponent;
    if (isinf(exponent))
        return exponent > 0 ? x * exponent : x / -exponent;
    if (rint(exponent) != exponent)
        return NAN;
    return scalbln(x, exponent > 65000 ? 65000 : exponent < -65000 ? -65000 : (long)exponent);
}

