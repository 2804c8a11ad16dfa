#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/calibrate.sh [GPU...]: fits the shipped hardware files (all that have measurements, or those named) anew to the public measurements in $DATA (../shared/data beside this
# repository), starting from what similar GPUs have. Each file says at its head which command did it. Convolutions keep what they have: their kernels were chosen with them.
# All take about half an hour on two cores. Written to $OUT (hwmodels); cross-validated errors to $FITS, where that is a folder: bench/accuracy.sh --fits=$FITS puts them in the report.
set -eu
cd "$(dirname "$(readlink -f -- "$0")")/.."
data=${DATA:-../shared/data}
[ -d "$data/measured" ] || { echo "no measurements in $data" >&2; exit 77; }
[ $# -gt 0 ] || set -- p100-pcie-16gb p4 v100-pcie-32gb t4 a100-pcie-40gb a100-pcie-80gb a100-sxm4-80gb a100-sxm4-40gb a10 l4 l40s h100-pcie-80gb h100-sxm5-80gb h200-sxm-141gb
for gpu; do
    groups=streaming,softmax,layer_norm,gemm_fp32,gemm_tensor,attention,calls,compiled_calls,residuals files=()
    case $gpu in l4 | t4) groups=${groups/gemm_fp32/gemm_rested} ;; esac # two power states: most of their short products say nothing of the GPU
    for file in neusight aiconfigurator_gemm aiconfigurator_attention kernelbench_v01 kernelbench_v0; do
        ! grep -q ",$gpu," "$data/measured/$file.csv" || files+=(--measurements "$data/measured/$file.csv")
    done
    "${FUSESIM:-build/release/fusesim}" calibrate --hw "$gpu" "${files[@]}" --workload-root "$data/workloads" --fresh \
        --fit "$groups" -o "${OUT:-hwmodels}/$gpu.yaml" ${FITS:+--json "$FITS/$gpu.json"}
    echo
done
