#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/kernels.sh [FOLDER...]: every kernel of every strategy, compiled as C, run, and compared with the reference, on shapes that it can take. A line for each workload with a wrong kernel, or
# that was not compared, and the counts. Without folders: the shipped ones, the shared graphs of DATA (../shared/data) where they are, and 200 random graphs. HW is the GPU that is
# planned for; GPU=mock runs the CUDA texts on the emulated GPU of tests/mock instead.
. "$(dirname "$0")/program.sh"
hw=${HW:-h100-sxm5-80gb}
data=${DATA:-$top/../shared/data}
device=cpu
if [ "${GPU-}" = mock ]; then
    mock=${MOCKGPU:-$top/build/dev/tests/libmockgpu.so}
    export FUSESIM_CUDA_LIB=$mock FUSESIM_NVRTC_LIB=$mock FUSESIM_CUPTI_LIB=$mock FUSESIM_CUBLAS_LIB=$mock FUSESIM_CUBLASLT_LIB=$mock
    device=cuda
fi
all=eager,unfused,inductor,pattern,greedy,maximal,optimal

# compare FOLDER
compare() {
    local w out status compared untold workloads=0 kernels=0 told_little=0 wrong=0 left=0
    for w in "$1"/*.yaml; do
        status=0
        out=$(timeout 600 "$program" validate "$w" --device $device --hw "$hw" --no-measure --search-steps 900000 --strategies $all --color never 2>&1) || status=$?
        workloads=$((workloads + 1))
        compared=$(echo "$out" | sed -n 's/^All \([0-9]*\) kernels.*/\1/p; s/^[0-9]* of \([0-9]*\) kernels.*/\1/p' | head -n 1)
        untold=$(echo "$out" | tr '\n' ' ' | sed -n 's/.*[.] *\([0-9]*\) \(is\|are\) not  *compared: of.*/\1/p')
        kernels=$((kernels + ${compared:-0})) told_little=$((told_little + ${untold:-0}))
        if [ $status != 0 ]; then
            wrong=$((wrong + 1))
            echo "$w: $(echo "$out" | sed -n '3p;$p' | tr '\n' ' ')"
        elif [ -z "$compared" ]; then
            left=$((left + 1))
            echo "$w: $(echo "$out" | sed -n 2p)"
        fi
    done
    echo "$(basename "$1"): $workloads workloads, $kernels kernels compared ($told_little more whose results overflow), $wrong workloads wrong, $left not compared"
}

if [ $# -gt 0 ]; then
    for folder; do compare "$folder"; done
    exit
fi
for folder in seeds . ops golden liger; do compare "$top/workloads/$folder"; done
for level in l1 l2 l3; do
    [ ! -d "$data/workloads/kernelbench/v01/$level" ] || compare "$data/workloads/kernelbench/v01/$level"
done
[ ! -x "$top/build/dev/tests/kernels_test" ] || FUSESIM_RANDOM_GRAPHS=200 "$top/build/dev/tests/kernels_test" 2>&1 | grep -E '^seed|random graphs'
