#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --device cuda under valgrind, where that is and where the program has no sanitizer of its own.
# depends: once cost: 3
. "${SOURCE_DIR:?}/tests/trial.sh"

command -v valgrind >/dev/null || { echo 'no valgrind'; exit 77; }
! grep -q __asan_init "$FUSESIM" || { echo 'the program has a sanitizer'; exit 77; }
for word in none perm lost launch; do # the others: cli.validate_cuda, under the sanitizers
    status=0
    FUSESIM_CUDA_LIB=$MOCKGPU FUSESIM_NVRTC_LIB=$MOCKGPU FUSESIM_CUPTI_LIB=$MOCKGPU MOCK_SKIP_REPEATS=1 MOCK_FAIL=$word MOCK_FAIL_KERNEL=fs_entry_ MOCK_HANG_S=1 timeout 120 \
        valgrind -q --error-exitcode=99 "$FUSESIM" validate seeds/tanh_axpb --scale-shapes 64 --strategies optimal --samples 3 --device cuda --hw h100-sxm5-80gb >out 2>err || status=$?
    [ $status != 99 ] || complain "valgrind, $word: $(grep '^==' err | head -n 12)"
done

exit $fail
