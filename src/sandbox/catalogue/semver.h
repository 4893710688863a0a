/* catalogue/semver.h - versions as semver.org 2.0.0 has them. Private to catalogue. */
#pragma once
#include "base/base.h"

/* Is this one: "1.2.3", "1.2.3-rc.1+build"? */
bool semver_is(struct str text);
/* Compares two valid versions: below 0 where `a` precedes `b`, 0 where neither does. */
int semver_compare(struct str a, struct str b);
