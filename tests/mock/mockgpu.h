/* SPDX-License-Identifier: Apache-2.0 */
/* mockgpu.h: a GPU that is none: one shared object with the names of libcuda, NVRTC, CUPTI, cuBLAS, cuBLASLt and NVML.
 * Kernels are compiled by cc as emulated.h has it, and run by emulate.c on memory of the host, so results are real;
 * times and counters are made up, but for what kernels move. It encodes our reading of the interfaces, and complains
 * ("mock: ..." on stderr) where they are used otherwise.
 *
 *   FUSESIM_CUDA_LIB, FUSESIM_NVRTC_LIB, FUSESIM_CUPTI_LIB, FUSESIM_CUBLAS_LIB, FUSESIM_CUBLASLT_LIB,
 *   FUSESIM_NVML_LIB           all the path of the shared object
 *   MOCK_FAIL=WORD[,WORD...]   faults
 *       nodev      cuInit finds no device, 100
 *       stub       cuInit is that of the toolkit's stub library, 34, and errors have no names
 *       oldcupti   CUPTI before 12.6: what profiles is not supported, 27
 *       perm       counters need privileges, 35
 *       busy       another has the counters, 26
 *       profiler   another profiler is attached: no activities and no counters, 39
 *       badts      every third activity record has no times
 *       lost       every fourth is dropped
 *       late       records only come when forced out
 *       twopass    metrics take two passes
 *       gb202      dram__bytes_op_read.sum for dram__bytes_read.sum, and so on
 *       launch     the MOCK_FAIL_AT-th launch (default the first) fails with MOCK_FAIL_CODE (719), and all that follows
 *       hang       the MOCK_FAIL_AT-th launch never ends; who waits for it waits MOCK_HANG_S seconds (10), as does
 *                  the end of the program
 *       noise      times scatter by 50 %
 *       nograph    no stream can be captured, 900
 *       nonvml     there are no sensors
 *       noblas     cuBLAS takes no workspace
 *       nolt       cuBLASLt does not start
 *       noalgo     cuBLASLt's heuristic finds no algorithm
 *       oom        memory is MOCK_MEMORY or, without, nothing
 *   MOCK_FAIL_KERNEL=TEXT    MOCK_FAIL_AT counts the launches of functions with this in their name; else all
 *   MOCK_MEMORY=BYTES        of device memory, 2 GiB
 *   MOCK_SM=N                compute capability times ten, 90
 *   MOCK_SKIP_REPEATS=1      a launch like the function's last one, all its memory as that left it, only takes its time
 *   MOCK_CC                  the compiler, else the one that built this
 *   and those of emulate.h.
 *
 * Device memory lies between pages that fault; the rest of its pages is checked when freed or synchronised with. New
 * memory is MOCK_POISON. An allocation that a kernel reads counts as read entirely; it is in L2 where less than L2's
 * size was used since. What is written goes to memory when others take its place in L2. A launch takes 2 us + what it
 * moves at 3 TB/s from memory, at 9 TB/s from L2, and up to 1 % more. */
#ifndef FUSESIM_MOCK_MOCKGPU_H
#define FUSESIM_MOCK_MOCKGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { MOCK_SMS = 132, MOCK_L2_BYTES = 50 << 20, MOCK_SHARED_BYTES = 227 << 10, MOCK_MAX_PARAMS = 128 };

/* A launch as it was, and what it moved. */
typedef struct {
    const char *name; /* lasts as long as the process */
    uint64_t start_ns, end_ns;
    unsigned grid[3], block[3];
    int registers, static_shared_bytes, dynamic_shared_bytes;
    double dram_read_bytes, dram_write_bytes, read_bytes, written_bytes;
} mock_launch;

/* Does MOCK_FAIL have the word? */
bool mock_fails(const char *word);

/* "mock: ..." on stderr */
__attribute__((format(printf, 1, 2))) void mock_say(const char *format, ...);

/* The number in the environment, or `otherwise`. */
long long mock_number(const char *name, long long otherwise);

/* After cuInit. */
bool mock_initialized(void);

/* Was something launched that nobody has waited for? NVML finds the device idle otherwise. */
bool mock_busy(void);

/* Compute capability times ten. */
int mock_sm(void);

/* Registers of an entry function: made up. */
int mock_registers(const char *entry);

/* What the driver tells CUPTI. Records are complete once the stream was synchronized. */
void mock_launched(const mock_launch *launch);
void mock_synchronized(void);

/* Launches a kernel that is part of the mock, 256 threads a block, as cuLaunchKernel does. *made keeps what it is
 * launched by; its parameters are 8 bytes each, those before `read_only` point at what it does not write. */
struct function;
int mock_launch_own(struct function **made, const char *name, void (*entry)(void **params), int params, int read_only,
                    uint64_t *param, unsigned grid, void *stream);

/* A loaded .so of an emulated text has its entry functions as text, a line each: NAME PARAMETERS THREADS READ-ONLY...,
 * where THREADS is of __launch_bounds__ or 1024 and READ-ONLY is 1 or 0 of each parameter. */
#define MOCK_ENTRIES "fs_entries"
typedef struct {
    char name[256];
    int params, threads, static_shared_bytes;
    bool read_only[MOCK_MAX_PARAMS];
} mock_entry;

/* The entries of the library dlopen gave; how many, at most room. */
int mock_entries(void *library, mock_entry *entry, int room);

/* A library from the bytes of a .so, or NULL, and that is said. */
void *mock_open(const void *image, size_t bytes);

#endif
