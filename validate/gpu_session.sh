#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What there is to measure on a machine with an NVIDIA GPU, the most valuable first, each result written as soon as it is there.
#
#   gpu_session.sh [--dry-run] [-o DIR] [--hw NAME] [--budget SECONDS] [--only TEXT]
#
# Into DIR/<gpu> ($OUT, or measured/ beside this script): facts.txt, hardware.yaml and probes.json (calibrate), products.csv (tiles of ours beside cuBLAS, on Hopper: products.cu), a .csv and a .json for each workload under rows/, all rows in measured.csv,
# library.txt with who ran products, summary.tsv with exit status, seconds and command of each step, log.txt with what was said. --hw: the hardware file that predictions are made with;
# without, the shipped one of the device, or, where there is none, the one just measured. --only: steps whose name holds TEXT. The program is $FUSESIM, or fusesim beside this script, or of a
# build in this tree; hwmodels and workloads lie beside it. Each workload is measured with L2 flushed before each run of a plan, its kernels also as the run before left L2; the first ones' plans
# once more without flushes, and some with their gradients (--train). Ends with 0 when calibration and some workload succeeded, 1 when kernels compute what they should not, 75 when all was too noisy, else 69.
set -u

# How the program is asked, in one place.
calibrate=(calibrate --device cuda) calibrate_out=-o
validate=(validate --device cuda) opt_hw=--hw opt_json=--json opt_rows=--measured opt_strategies=--strategies opt_l2=--l2 opt_budget=--budget extra=()
strategies=eager,optimal,greedy,maximal,unfused
limit_calibrate=150      # seconds of a command
limit_more=20            # of a workload's, beyond those it is told to end in: for a kernel that hangs
budget=${BUDGET:-520}    # of all

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dry=0 out=${OUT:-} hw=${HW:-} only=

usage() {
    sed -n '5p' "${BASH_SOURCE[0]}" | cut -c 5- >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --dry-run) dry=1 ;;
    -o | --hw | --budget | --only)
        [ $# -ge 2 ] || usage
        case $1 in -o) out=$2 ;; --hw) hw=$2 ;; --budget) budget=$2 ;; --only) only=$2 ;; esac
        shift
        ;;
    *) usage ;;
    esac
    shift
done

# The program and its data: packed beside this script, or in the source tree above it.
find_program() {
    local candidate
    for candidate in "${FUSESIM:-}" "$here/fusesim" "$here"/../build/{release,dev}/fusesim; do
        if [ -n "$candidate" ] && [ -x "$candidate" ]; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    echo "gpu_session.sh: no program: set FUSESIM, or put fusesim beside this script" >&2
    exit 66
}
fusesim=$(find_program) || exit
data=$here
[ -d "$data/workloads" ] || data=$(dirname "$here")
if [ ! -d "$data/workloads" ]; then
    echo "gpu_session.sh: no workloads in $here or above it" >&2
    exit 66
fi
export FUSESIM_HWMODELS=${FUSESIM_HWMODELS:-$data/hwmodels}
out=${out:-$here/measured}

slug() { tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9\n' '-' | sed 's/^-//; s/-$//' | head -n 1; }
device=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | slug)
folder=$out/${device:-${hw:-gpu}}

started=$SECONDS
left() { echo $((budget - (SECONDS - started))); }

# step NAME LIMIT COMMAND...: runs it, or prints it. The last exit status is in $status; 124: it ran too long.
status=0 unavailable=0 noisy=0 good=0 wrong=0 part=0
step() {
    local name=$1 limit=$2 from=$SECONDS
    shift 2
    case $name in *"$only"*) ;; *) return 0 ;; esac
    if [ $dry = 1 ]; then
        printf '%s\t%s s\t%s\n' "$name" "$limit" "$*"
        return 0
    fi
    [ "$(left)" -ge "$limit" ] || limit=$(left)
    if [ "$limit" -lt 5 ]; then
        printf '%s\tskipped\t0\t%s\n' "$name" "$*" >>"$folder/summary.tsv"
        return 1
    fi
    printf '== %s: %s\n' "$name" "$*" >>"$folder/log.txt"
    timeout -k 5 "$limit" "$@" >>"$folder/log.txt" 2>&1 </dev/null
    status=$?
    printf '%s\t%s\t%s\t%s\n' "$name" $status $((SECONDS - from)) "$*" >>"$folder/summary.tsv"
    case $status in
    0) good=$((good + 1)) ;;
    1) wrong=$((wrong + 1)) ;;
    75) noisy=$((noisy + 1)) ;;
    esac
    printf '%-44s %4s  %3s s, %s s left\n' "$name" $status $((SECONDS - from)) "$(left)"
}

facts() {
    date -u '+%Y-%m-%dT%H:%MZ'
    "$fusesim" --version
    uname -srm
    grep -m 1 'model name' /proc/cpuinfo
    cat /proc/driver/nvidia/version
    grep -i profiling /proc/driver/nvidia/params
    nvidia-smi
    nvidia-smi -q -d CLOCK,POWER,PERFORMANCE,ECC,TEMPERATURE
    nvidia-smi --query-compute-apps=name,used_memory --format=csv
    ldconfig -p | grep -E 'lib(cublas|cublasLt|nvrtc|cupti)\.so'
}

# Appends the rows of a file to all rows, under one header.
collect() {
    [ -s "$1" ] || return 0
    [ -s "$folder/measured.csv" ] || head -n 1 "$1" >"$folder/measured.csv"
    tail -n +2 "$1" >>"$folder/measured.csv"
}

# workload L2 SECONDS PATH [MODE]: PATH below workloads/, without .yaml. MODE train: forward and backward together; M=8,K=64: these symbols.
workload() {
    local l2=$1 seconds=$2 path=$3 mode=${4:-} name derive=() symbol
    name=${path//\//_}.$l2${mode:+.$mode}
    case $mode in
    '') ;;
    *=*) for symbol in ${mode//,/ }; do derive+=(--set "$symbol"); done ;;
    *) derive=("--$mode") ;;
    esac
    case " $unchecked " in *" $path "*) derive+=(--no-check) ;; esac
    [ -f "$data/workloads/$path.yaml" ] || return 0
    case $l2/$path${mode:+/$mode} in *"$only"*) ;; *) return 0 ;; esac
    [ $dry = 1 ] || rm -f "$folder/rows/$name.csv" "$folder/rows/$name.json"
    step "$l2/$path${mode:+/$mode}" $((${seconds%.*} + limit_more)) "$fusesim" "${validate[@]}" "$data/workloads/$path.yaml" "${derive[@]}" $opt_hw "$model" $opt_l2 "$l2" $opt_budget "$seconds" $opt_strategies "$strategies" \
        $opt_rows "$folder/rows/$name.csv" $opt_json "$folder/rows/$name.json" "${extra[@]}" || return 1
    [ $dry = 0 ] || return 0
    collect "$folder/rows/$name.csv"
    # 69 with a report: some of its plans or kernels can't be measured. Without: there is no device.
    [ $status != 69 ] || [ ! -s "$folder/rows/$name.json" ] || part=$((part + 1))
    if [ $status = 69 ] && [ ! -s "$folder/rows/$name.json" ]; then unavailable=$((unavailable + 1)); else unavailable=0; fi
    if [ $unavailable -ge 3 ]; then
        echo "gpu_session.sh: three commands in a row found no device they could use: given up" >&2
        return 1
    fi
}

chains='seeds/chain4 golden/exp_chain_8 seeds/add_relu_mul golden/exp_chain_16 seeds/exp_add_log seeds/tanh_axpb seeds/copy_1gb'
rows='golden/softmax_rows seeds/softmax_primitive seeds/layer_norm golden/norm_quantise golden/cat_layer_norm liger/rms_norm'
products='golden/gemm_gelu seeds/linear_gelu seeds/matmul_bias_relu seeds/fused_mlp seeds/linear_relu ops/linear ops/matmul'
attention='seeds/attention_standard ops/attention seeds/attn_out_residual_ln'
serving='ops/decode_attention ops/decode_mla ops/context_attention ops/matmul_f8_token ops/matmul_w8 ops/quantize_token ops/quantize_static ops/moe'
# Products of ours: the sizes of ops/scaled_linear.
sizes='M=4096,N=4096,K=1024 M=4096,N=1024,K=4096 M=8192,N=8192,K=8192 M=2048,N=1024,K=1024 M=8192,N=4096,K=4096 M=512,N=4096,K=4096 M=16384,N=1024,K=512 M=1024,N=1024,K=1024 M=256,N=4096,K=4096 M=128,N=8192,K=8192 M=3000,N=3000,K=1000'
layers='mlp bert_layer gpt2_layer llama_block resnet50_block'
training='seeds/softmax_ce liger/rms_norm seeds/layer_norm seeds/bias_relu ops/softmax liger/swiglu ops/linear mlp ops/attention' # forward and backward
first="$chains $rows $products $attention $serving $layers ops/scaled_linear"
seconds_first=2 seconds_layers=5 seconds_sizes=1.2 seconds_warm=2 seconds_others=3 # of each
unchecked='ops/attention ops/context_attention ops/moe' # the reference takes half a minute for each; smaller ones check the same kernels

# The other shipped ones: all seeds, then single operators, then the rest.
others() {
    local path
    for path in "$data"/workloads/{seeds,golden,liger,ops}/*.yaml; do
        path=${path#"$data/workloads/"}
        path=${path%.yaml}
        case " $first " in *" $path "*) ;; *) printf '%s\n' "$path" ;; esac
    done
}

all_workloads() {
    local path
    for path in $sizes; do workload cold $seconds_sizes ops/scaled_linear "$path" || return; done
    for path in $attention; do workload cold $seconds_first "$path" || return; done
    for path in $layers; do workload cold $seconds_layers "$path" || return; done
    for path in $serving $rows $products $chains; do workload cold $seconds_first "$path" || return; done
    for path in $training; do workload cold $seconds_first "$path" train || return; done
    for path in $chains $rows $attention; do workload warm $seconds_warm "$path" || return; done
    for path in $(others); do workload cold $seconds_others "$path" || return; done
}

if [ $dry = 0 ]; then
    mkdir -p "$folder/rows" || exit 66
    : >"$folder/summary.tsv"
    : >"$folder/log.txt"
    rm -f "$folder/measured.csv"
    facts >"$folder/facts.txt" 2>&1
fi

step calibrate "$limit_calibrate" "$fusesim" "${calibrate[@]}" ${hw:+$opt_hw "$hw"} $calibrate_out "$folder/hardware.yaml" $opt_json "$folder/probes.json"
calibrated=$status
# The tiles of our products beside cuBLAS: built where carry.sh did not.
products_asked=1
case products in *"$only"*) ;; *) products_asked=0 ;; esac
if [ ! -x "$here/products" ] && [ $dry = 0 ] && [ $products_asked = 1 ] && command -v nvcc >/dev/null; then
    nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a "$here/products.cu" -o "$folder/products" -lcublas >>"$folder/log.txt" 2>&1
fi
for program in "$here/products" "$folder/products"; do
    if [ -x "$program" ] || [ $dry = 1 ]; then
        step products 60 sh -c "'$program' >'$folder/products.csv'" # on another GPU than Hopper its kernels do not start
        rm -f "$folder/products"
        break
    fi
done
model=$hw
if [ -z "$model" ] && [ -s "$folder/probes.json" ]; then # what it was compared with
    model=$(sed -n 's/^ "hardware": "\([^"]*\)".*/\1/p' "$folder/probes.json" | head -n 1)
fi
if [ -z "$model" ] && [ -s "$folder/hardware.yaml" ]; then
    model=$folder/hardware.yaml
fi
if [ -z "$model" ]; then
    if [ $dry = 0 ]; then
        echo "gpu_session.sh: no hardware file: calibration ended with $status, see $folder/log.txt; --hw NAME goes on with a shipped one" >&2
        exit "$([ $status = 75 ] && echo 75 || echo 69)"
    fi
    model=HW
fi
good=0
all_workloads
[ $dry = 0 ] || exit 0
# Who ran the products that plans leave to a library, and why our own kernels where they did.
cat "$folder"/rows/*.json 2>/dev/null | grep -oE '"(library|stand_in)": "[^"]*"' | sort | uniq -c | tee "$folder/library.txt"
printf '\n%s steps, %s good, %s noisy, %s in part, %s with wrong results; %s s; results in %s\n' "$(wc -l <"$folder/summary.tsv")" $good $noisy $part $wrong $((SECONDS - started)) "$folder"
[ $wrong = 0 ] || exit 1
if [ $((good + part)) -gt 0 ] && [ $calibrated = 0 ]; then exit 0; fi
[ $noisy = 0 ] || exit 75
exit 69
