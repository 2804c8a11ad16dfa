/* SPDX-License-Identifier: Apache-2.0 */
#include "command/process.h"

#include "base/file.h"
#include "command/exit.h"
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

/* What was being written is deleted; then the signal does what it does. */
static void on_end(int number)
{
    fsim_discard_all();
    signal(number, SIG_DFL);
    raise(number);
}

/* SIGTERM and SIGHUP end the program, but where its caller has them ignored (nohup). */
static void catch_ends(void)
{
    static const int ends[] = {SIGTERM, SIGHUP, SIGINT};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction action = {.sa_handler = on_end}, now;
        sigemptyset(&action.sa_mask);
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
    }
}

/* A file that is opened later must not get the number of a standard stream that the caller closed. Reading or writing
 * such a stream fails, as it would have. */
static void open_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(FSIM_EXIT_INTERNAL);
}

static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    enum { KEPT_BYTES = 64 << 20, MAPPED_BYTES = 4 << 20 };
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
#endif
}

void fsim_begin_process(void)
{
    keep_freed_memory();
    open_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* beyond `ulimit -f` a write fails as on a full disk */
    catch_ends();
}
