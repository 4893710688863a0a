/* pattern/alone_test.h - patterns for tests of other rooms: patterns_new_alone(). */
#pragma once
#include "pattern/internal.h"
