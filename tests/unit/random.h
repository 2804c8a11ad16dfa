/* SPDX-License-Identifier: Apache-2.0 */
/* random.h: the same random numbers on every machine, for tests. */
#ifndef FUSESIM_TESTS_RANDOM_H
#define FUSESIM_TESTS_RANDOM_H

#include <stdint.h>

static uint64_t state; /* the seed */

/* One of 0 to below - 1 (splitmix64). */
static uint32_t draw(uint32_t below)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % below);
}

#endif
