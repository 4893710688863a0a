/* guest/vm/softfp.h - floating point in integer arithmetic: binary32 and binary64 of
 * RISC-V, with all five rounding modes, flags, and the canonical NaN as the only NaN
 * result.
 *
 * Values are bit patterns in 64 bits, those of binary32 in the low half (the caller boxes
 * them). Each call returns its result and adds the flags it raised to *flags. Tininess is
 * detected after rounding.
 *
 * Source: IEEE 754-2019; The RISC-V Instruction Set Manual, volume I, "F" and "D". */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum fp_rounding { FP_RNE, FP_RTZ, FP_RDN, FP_RUP, FP_RMM };
enum fp_flag { FP_NX = 1, FP_UF = 2, FP_OF = 4, FP_DZ = 8, FP_NV = 16 };

/* binary32 or binary64. */
struct fp_format {
    int exponent_bits, fraction_bits; /* of the pattern */
};
extern const struct fp_format fp_single, fp_double;

uint64_t fp_add(const struct fp_format *f, uint64_t a, uint64_t b, enum fp_rounding r,
                uint32_t *flags);
uint64_t fp_sub(const struct fp_format *f, uint64_t a, uint64_t b, enum fp_rounding r,
                uint32_t *flags);
uint64_t fp_mul(const struct fp_format *f, uint64_t a, uint64_t b, enum fp_rounding r,
                uint32_t *flags);
uint64_t fp_div(const struct fp_format *f, uint64_t a, uint64_t b, enum fp_rounding r,
                uint32_t *flags);
uint64_t fp_sqrt(const struct fp_format *f, uint64_t a, enum fp_rounding r,
                 uint32_t *flags);
/* a * b + c, rounded once. */
uint64_t fp_fma(const struct fp_format *f, uint64_t a, uint64_t b, uint64_t c,
                enum fp_rounding r, uint32_t *flags);

/* fmin, fmax: of a NaN and a number the number, -0 below +0 (IEEE 754-2019, 9.6:
 * minimumNumber, maximumNumber). */
uint64_t fp_min(const struct fp_format *f, uint64_t a, uint64_t b, uint32_t *flags);
uint64_t fp_max(const struct fp_format *f, uint64_t a, uint64_t b, uint32_t *flags);
/* feq is quiet; flt and fle signal for any NaN. */
bool fp_eq(const struct fp_format *f, uint64_t a, uint64_t b, uint32_t *flags);
bool fp_lt(const struct fp_format *f, uint64_t a, uint64_t b, uint32_t *flags);
bool fp_le(const struct fp_format *f, uint64_t a, uint64_t b, uint32_t *flags);
/* The ten bits of fclass. */
uint32_t fp_class(const struct fp_format *f, uint64_t a);

/* Between formats. */
uint64_t fp_convert(const struct fp_format *to, const struct fp_format *from, uint64_t a,
                    enum fp_rounding r, uint32_t *flags);
/* To an integer of `bits` (32 or 64); out of range and NaN give the nearest end, or the
 * greatest, and NV. An unsigned 32-bit result is not sign-extended here. */
uint64_t fp_to_int(const struct fp_format *f, uint64_t a, int bits, bool is_signed,
                   enum fp_rounding r, uint32_t *flags);
uint64_t fp_from_int(const struct fp_format *f, uint64_t a, bool is_signed,
                     enum fp_rounding r, uint32_t *flags);
