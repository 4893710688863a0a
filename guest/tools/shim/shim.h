/* What WASI has not and the programs of guest/tools expect: force-included by their
 * recipes. */
#pragma once
