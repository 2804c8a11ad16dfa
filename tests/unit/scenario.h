/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h: checks in a scenario, which has a process of its own: what does not hold ends it. */
#ifndef FUSESIM_TESTS_SCENARIO_H
#define FUSESIM_TESTS_SCENARIO_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
