#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Liger's public benchmark pairs as a measurements file, and how far predictions of them are off.
#   bench/liger.sh RAW.csv [OUT.csv]      OUT: build/liger.csv
# RAW has kernel_name, kernel_operation_mode, x_name, x_value, extra_benchmark_config_str (JSON, quoted), gpu_name, kernel_provider_unfused, unfused_ms, timestamp_unfused,
# kernel_provider_fused, fused_ms, ... Kept are forward rows above 0.1 ms of kernels that workloads/liger expresses, on GPUs with a hardware file. The unfused side ran in PyTorch without a
# compiler: `eager`. The fused side is one Triton kernel where PyTorch has several: `optimal`, which `validate` predicts as Liger's own kernels (src/vendor/liger.def), or `inductor` where torch.compile made it; it is left out where Liger's kernel makes the gradient too (its losses), and
# where what it fuses is a linear layer with its loss. Triton's do_bench clears L2 before each run and takes the median between events in a stream that the host runs ahead of, where it is fast enough.
set -eu
raw=${1:?usage: bench/liger.sh RAW.csv [OUT.csv]}
here=$(cd "$(dirname "$0")/.." && pwd)
out=${2:-$here/build/liger.csv}
fusesim=${FUSESIM:-$here/build/release/fusesim}
mkdir -p "$(dirname "$out")"
awk -v least_ms=0.1 '
function value(key,    rest) { # of the JSON, where quotes are doubled; or of the axis that was swept
    if (key == axis) return at
    if (!index(json, "\"\"" key "\"\": ")) return ""
    rest = substr(json, index(json, "\"\"" key "\"\": ") + length(key) + 6)
    sub(/[,}].*/, "", rest)
    gsub(/"/, "", rest)
    return rest
}
function dtype(    t) { t = value("dtype"); return t ~ /bfloat16/ ? "bf16" : t ~ /float16/ ? "f16" : "f32" }
function emit(strategy, ms, provider) {
    if (ms < least_ms || (name provider in seen)) return
    printf "liger/%s/%s/%s/%s=%s/%d/%s,%s,liger/%s,%s,%s,cold,kernel,%.9g,,,Liger %s %s\n", hw[gpu], name, strategy, axis, at, NR, provider, hw[gpu], workload, set, strategy, ms / 1000, name, provider
}
BEGIN {
    hw["NVIDIA A100-SXM4-80GB"] = "a100-sxm4-80gb"; hw["NVIDIA A100-SXM4-40GB"] = "a100-sxm4-40gb"; hw["NVIDIA A100-PCIE-40GB"] = "a100-pcie-40gb"
    hw["NVIDIA A100 80GB PCIe"] = "a100-pcie-80gb"; hw["NVIDIA H100 80GB HBM3"] = "h100-sxm5-80gb"; hw["NVIDIA GeForce RTX 3090"] = "rtx-3090"
    hw["AMD Instinct MI300X"] = "mi300x"
    print "id,hw,workload,set,strategy,l2,launch,time_s,dram_read_bytes,dram_write_bytes,source"
}
NR > 1 && match($0, /,"\{.*\}",/) {
    json = substr($0, RSTART, RLENGTH)
    split(substr($0, 1, RSTART - 1), first, ",")
    split(substr($0, RSTART + RLENGTH), last, ",")
    name = first[1]; axis = first[3]; at = first[4] + 0 == first[4] ? first[4] + 0 : first[4]; gpu = last[1]
    if (first[2] != "forward" || !(gpu in hw)) next
    set = ""; fused = 1; workload = name
    if (name == "rms_norm" && axis == "H") set = "M=" value("M") ";H=" at ";dtype=" dtype()
    else if (name == "rms_norm" && axis == "T") set = "M=" at * value("bsz") ";H=" value("hidden_size") ";dtype=" dtype()
    else if (name == "fused_add_rms_norm" && last[5] == "liger_fused_add_rms_norm") { workload = "add_rms_norm"; set = "M=" value("M") ";H=" at }
    else if (name == "layer_norm") { workload = "../ops/layer_norm"; set = "B=" value("M") ";H=" at ";dtype=" dtype() }
    else if (name == "group_norm") set = "M=" value("M") ";C=" at ";H=" value("H")
    else if (name == "batch_norm") set = "M=" value("M") ";N=" at
    else if (name == "relu_squared") set = "M=" value("M") ";N=" at ";dtype=" dtype()
    else if (name == "embedding") set = "M=" value("B") * value("T") ";D=" value("D") ";V=" at
    else if (name == "rope") set = "T=" value(axis == "T" ? "T" : "seq_len") ";D=" value(axis == "H" ? "H" : "hidden_size") / value("num_q_heads") ";heads=" value("num_q_heads") ";kv_heads=" value("num_kv_heads") ";dtype=" dtype()
    else if (name == "swiglu" || name == "geglu") set = "M=" at * value(name == "swiglu" ? "B" : "bsz") ";H=" value("hidden_size") ";F=" value("intermediate_size") ";dtype=" dtype()
    else {
        fused = 0
        if (name == "cross_entropy" || name == "kl_div" || name == "tvd") set = "M=" value("B") * value("T") ";V=" at
        else if (name == "fused_linear_cross_entropy") { workload = "linear_cross_entropy"; set = "M=" at ";H=" value("H") ";V=" value("V") ";dtype=" dtype() }
        else next
    }
    sub(/^\.\.\//, "", workload)
    key = gpu name axis at json
    if (!(key in unfused)) emit("eager", last[3], last[2])
    unfused[key] = 1
    if (fused) emit(last[5] == "torch_compile" ? "inductor" : "optimal", last[6], last[5])
}' "$raw" | sed 's|,liger/ops/|,ops/|' > "$out"
"$fusesim" validate --measurements "$out"
