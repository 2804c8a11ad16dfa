/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once */
/* Guards of arenas, in a program that has them whatever the rest was built with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of 3 bytes the fourth, of an item in front of others, is written; a rewind tells. */
static void what_is_written_behind_memory_is_told(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            fclose(stderr);
            fsim_arena *a = fsim_arena_new();
            const fsim_mark mark = fsim_save(a);
            volatile char *item = fsim_new(a, char, 3);
            fsim_new(a, char, 5);
            item[2 + behind] = 1;
            fsim_rewind(a, mark);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, behind ? SIGABRT : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written_behind_memory_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
