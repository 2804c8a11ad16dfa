#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 6
# Calls of serving stacks, and collectives: more work never takes less time; and where the measurements are, how far off each file is.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
failures=0

complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# grows WORKLOAD SYMBOL OTHERS: on each GPU the call takes longer when the symbol is 8 times as large.
gpus='a100-sxm4-80gb l40s h100-sxm5-80gb b200 b300 gb200 rtx-pro-6000 mi300x t4'
: >wanted
echo 'id,hw,workload,set,strategy,l2,launch,time_s,source' >rows.csv
grows() {
    local gpu
    for gpu in $gpus; do
        printf '%s,%s,ops/%s,%s=%s;%s,eager,warm,graph,1,trtllm/1\n' "$1-$2-$gpu-1" "$gpu" "$1" "$2" "$3" "$5" "$1-$2-$gpu-2" "$gpu" "$1" "$2" "$4" "$5" >>rows.csv
        echo "$1-$2-$gpu" >>wanted
    done
}
for product in matmul_f8_token matmul_f8_tensor matmul_f8_static matmul_f8_block matmul_i8 matmul_w8 matmul_w4 matmul_nvfp4; do
    grows $product M 512 4096 'N=4096;K=4096'
    grows $product N 512 4096 'M=4096;K=4096'
    grows $product K 512 4096 'M=4096;N=4096'
done
grows quantize_static M 4096 32768 'K=4096'
grows quantize_token K 4096 32768 'M=4096'
grows decode_attention S 4096 32768 'B=64'
grows decode_attention B 16 128 'S=8192'
grows context_attention S 1024 8192 'B=4'
grows attention Sq 1024 8192 'Sk=8192;causal=1'
grows context_mla heads 16 128 'B=4'
grows decode_mla S 4096 32768 'B=64'
grows all_reduce elements 4096 32768 'ranks=8'
grows all_reduce elements 1048576 8388608 'ranks=8'
grows all_gather elements 1048576 8388608 'ranks=4'
grows all_to_all elements 1048576 8388608 'ranks=2'
for experts in moe moe_f8 moe_f8_block moe_nvfp4; do
    grows $experts T 1024 8192 'experts=64;active=64;rows=64'
    grows $experts F 1024 8192 'experts=64;active=64;rows=64'
    grows $experts alpha 0 120 'T=8192;experts=64;ep=8;active=8;rows=64' # the most loaded of 8 ranks
done
"$FUSESIM" validate --measurements rows.csv --json rows.json >out 2>&1 || complain "validate: $(cat out)"
tr '{' '\n' <rows.json | sed -n 's/.*"id": "\([^"]*\)".*"predicted_s": \([^,]*\),.*/\1 \2/p' >predicted
[ "$(wc -l <predicted)" = "$(($(wc -l <rows.csv) - 1))" ] || complain "$(wc -l <predicted) predictions of $(($(wc -l <rows.csv) - 1)) rows"
awk 'NR == FNR { of[$1] = $2; next } { if (!(of[$1 "-2"] > of[$1 "-1"] * 1.02)) print $1, of[$1 "-1"], of[$1 "-2"] }' predicted wanted >shrunk
[ -s shrunk ] && complain "more work takes less time: $(cat shrunk)"

# An all-reduce by a stated algorithm: few bytes go faster where steps are few, many where each GPU sends few; a wrong name is told, with those that there are.
by() { # ALGORITHM ELEMENTS: its femtoseconds on eight H100
    printf 'tensors: {x: {shape: [%s], dtype: f16}}\noperators: [{op: all_reduce, in: x, out: y, ranks: 8, algorithm: %s}]\n' "$2" "$1" >by.yaml
    "$FUSESIM" by.yaml --hw h100-sxm5-80gb --launch graph --json by.json >out 2>err || complain "$1: $(cat err)"
    tr -d '\n\t ' <by.json | sed -n 's/.*"name":"eager","kernels":1,"time_s":\([^,]*\),.*/\1/p' | awk '{ printf "%.0f\n", $1 * 1e15 }'
}
[ "$(by one_shot 4096)" -lt "$(by two_shot 4096)" ] && [ "$(by tree 4096)" -lt "$(by ring 4096)" ] && [ "$(by one_shot 4096)" -lt "$(by tree 4096)" ] || complain 'a small all-reduce'
[ "$(by two_shot 67108864)" -lt "$(by one_shot 67108864)" ] || complain 'a large all-reduce'
[ "$(by library 4096)" = "$(by one_shot 4096)" ] && [ "$(by library 67108864)" = "$(by two_shot 67108864)" ] || complain 'the library does not choose the faster one'
# 32 MiB of f16, one shot: each of the eight receives 7 x 32 MiB at 450 GB/s, 522 us.
[ "$(by one_shot 16777216)" -gt 521930000000 ] || complain 'a one-shot all-reduce beats its link'
by two_shot 4096 >/dev/null
sed 's/two_shot/rign/' by.yaml >wrong.yaml
"$FUSESIM" wrong.yaml --hw h100-sxm5-80gb >out 2>err
[ $? = 65 ] && grep -qF "'algorithm' is 'rign'; wants library|ring|tree|one_shot|two_shot" err || complain "rign: $(cat err)"

# Two to eight GPUs were measured, and what the library chose: of more GPUs, or by an algorithm that is asked for, times are assumed, and intervals wider.
from() { # RANKS ALGORITHM: where the kernel's figures are from, and how far eight of ten times lie off
    printf 'tensors: {x: {shape: [1048576], dtype: f16}}\noperators: [{op: all_reduce, in: x, out: y, ranks: %s, algorithm: %s}]\n' "$1" "$2" >from.yaml
    "$FUSESIM" from.yaml --hw h100-sxm5-80gb 2>err | awk '$NF == "y" { for (i = 1; i < NF; i++) if ($i == "measured" || $i == "assumed") print $i, $4 + 0 }'
}
[ "$(from 8 library)" = 'measured 14' ] || complain "eight GPUs: $(from 8 library)"
[ "$(from 16 library)" = 'assumed 54' ] || complain "sixteen GPUs: $(from 16 library)"
[ "$(from 8 two_shot)" = 'assumed 34' ] || complain "an algorithm that is asked for: $(from 8 two_shot)"

# One operator, one kernel, and another price for it: that is not "the kernels of eager".
for gpu in $gpus; do
    "$FUSESIM" ops/decode_attention --hw "$gpu" >one 2>/dev/null || complain "decode_attention on $gpu"
    grep -q "^  optimal " one || complain "no plans of $gpu"
    eager=$(awk '$1 == "eager" && $2 ~ /^[0-9]+$/ { print $7, $8; exit }' one) optimal=$(awk '$1 == "optimal" && $2 ~ /^[0-9]+$/ { print $7, $8; exit }' one)
    ! grep -q 'has the kernels of eager' one || [ "$eager" = "$optimal" ] || complain "$gpu: the kernels of eager ($eager) take $optimal"
done

# Shares of the data sheet's rates, of the units with all SMs at work and of DRAM, are none above 1: the numbers count on other GPUs of the design too.
awk -F'[(,] *' '/^FSIM_SERVING_PRODUCT/ { rows++; if ($4 > 1 || $9 > 1) print } /^FSIM_SERVING_EXPERTS/ { rows++; if ($5 > 1 || $8 > 1) print } END { if (rows < 20) print rows, "rows" }' \
    "$SOURCE_DIR/src/vendor/serving_fit.def" >beyond
[ -s beyond ] && complain "serving_fit.def has shares above 1: $(cat beyond)"

# No product is faster than the data sheet's peak: 16384^3 in 8 bits on an H100, 4 bits on GPUs without units for them,
# and both on GPUs of Blackwell's that nothing was measured on, where none takes three times as long either.
printf 'id,hw,workload,set,strategy,l2,launch,time_s,source\n' >rows.csv
for row in h100-sxm5-80gb,ops/matmul_f8_token h100-sxm5-80gb,ops/matmul_nvfp4 l40s,ops/matmul_nvfp4 a100-sxm4-80gb,ops/matmul_nvfp4 a100-sxm4-80gb,ops/matmul_w4 \
    b300,ops/matmul_nvfp4 gb200,ops/matmul_nvfp4 rtx-pro-6000,ops/matmul_nvfp4 b300,ops/matmul_f8_block gb200,ops/matmul_f8_block rtx-pro-6000,ops/matmul_f8_token; do
    echo "$row,$row,M=16384;N=16384;K=16384,eager,warm,graph,1,trtllm/1" | tr '/' '_' | sed 's/^\([^,]*\),ops_/\1-/; s/ops_/ops\//; s/trtllm_/trtllm\//' >>rows.csv
done
"$FUSESIM" validate --measurements rows.csv --json rows.json >out 2>&1 || complain "peaks: $(cat out)"
tr '{' '\n' <rows.json | sed -n 's/.*"id": "\([^"]*\)".*"predicted_s": \([^,]*\),.*/\1 \2/p' >predicted
[ "$(wc -l <predicted)" = 11 ] || complain "peaks: $(cat predicted)"
awk '{ peak = $1 ~ /^h100/ ? 1979e12 : $1 ~ /^l40s/ ? 733e12 : 312e12
    new = 1
    if ($1 ~ /^b300/) peak = $1 ~ /nvfp4/ ? 13125e12 : 4500e12
    else if ($1 ~ /^gb200/) peak = $1 ~ /nvfp4/ ? 10000e12 : 5000e12
    else if ($1 ~ /^rtx/) peak = $1 ~ /nvfp4/ ? 2000e12 : 1007.6e12
    else new = 0
    rate = 2 * 16384 ^ 3 / $2
    if (rate > peak || new && 3 * rate < peak) print $1, rate }' predicted >fast
[ -s fast ] && complain "faster than the peak, or far from it: $(cat fast)"

# Tiles of 128 rows in clusters of two: 1,025 to 1,280 rows are five clusters, 1,281 a sixth. By 28,672 columns a cluster more is 56 to 112 pairs of tiles, a round of its own on 132 SMs.
# Experts in 8 bits take a time for each that has rows: 64 with one row each, whose 6 MiB of weights fit L2, take more than 10 us longer than one.
printf 'id,hw,workload,set,strategy,l2,launch,time_s,source\n' >rows.csv
for rows in 1025 1280 1281; do echo "m$rows,h100-sxm5-80gb,ops/matmul_f8_token,M=$rows;N=28672;K=8192,eager,warm,graph,1,sglang/1" >>rows.csv; done
for experts in 1 64; do echo "e$experts,h100-sxm5-80gb,ops/moe_f8_block,T=$experts;H=256;F=128;experts=256;topk=1;active=$experts;rows=1,eager,warm,graph,1,trtllm/1" >>rows.csv; done
"$FUSESIM" validate --measurements rows.csv --json rows.json >out 2>&1 || complain "clusters: $(cat out)"
tr '{' '\n' <rows.json | sed -n 's/.*"id": "\([^"]*\)".*"predicted_s": \([^,]*\),.*/\1 \2/p' >predicted
awk '{ of[$1] = $2 } END { exit !(of["m1280"] < of["m1025"] * 1.02 && of["m1281"] > of["m1280"] * 1.1 && of["e64"] > of["e1"] + 10e-6) }' predicted || complain "clusters, or experts with rows: $(cat predicted)"

# Experts' 4-bit weights on a GPU that multiplies none are widened inside the product where few tokens read them, and by a kernel before it where many do.
widened() { # widened STEP: "gate_up" where that product widens its weights, "apart" where it does not
    "$FUSESIM" "llm/moe_$1" --hw h100-sxm5-80gb --strategy serving --launch graph --search-steps 1000 --set tp=2 --set weight_dtype=f4e2m1 --set weight_only=1 >out 2>&1 || complain "experts, $1: $(cat out)"
    grep -q ' w_gate_up_wide.0 + gate_up.0$' out && echo gate_up || { grep -q ' w_gate_up_wide.0$' out && echo apart; }
}
[ "$(widened decode) $(widened prefill)" = "gate_up apart" ] || complain "experts of 4 bits: $(widened decode) $(widened prefill)"

# A GPU that nothing was fitted to: 350 TFLOP/s in bf16 were measured on RTX PRO 6000 Workstation, 417 on Server (torch-performance-test-data, issues 160 and 162).
{ head -1 rows.csv; echo 'bf16,rtx-pro-6000,ops/matmul,M=8192;N=8192;K=8192;dtype=bf16,eager,unknown,graph,1,trtllm/1'; } >row.csv
"$FUSESIM" validate --measurements row.csv --json row.json >out 2>&1 || complain "bf16: $(cat out)"
tr '{' '\n' <row.json | sed -n 's/.*"predicted_s": \([^,]*\),.*/\1/p' | awk '{ rate = 2 * 8192 ^ 3 / $1; exit !(rate > 350e12 && rate < 417e12) }' || complain "bf16 on an RTX PRO 6000: $(cat row.json)"

# off_of FILE BOUND: the mean error of all of its rows, %; off NAME BOUND: of aiconfigurator_NAME.csv.
shared=${FUSESIM_SHARED:-$SOURCE_DIR/../shared}/data/measured
off() { off_of "aiconfigurator_$1.csv" "$2"; }
off_of() {
    "$FUSESIM" validate --measurements "$shared/$1" >out 2>err || complain "$1: $(cat err)"
    mean=$(sed -n '1s/.*mean error \([0-9.]*\) %.*/\1/p' out)
    awk -v mean="${mean:-999}" -v most="$2" 'BEGIN { exit !(mean <= most) }' || complain "$1 is ${mean:-?} % off, at most $2"
}
if [ -d "$shared" ]; then
    off_of collectives.csv 8.5
    off b200 7
    off gemm_f8 9
    off gemm_int 9.5
    off gemm_w4 11.5
    off gemm_nvfp4 9
    off quantize 6
    off decode_attention 7.5
    off context_attention 6.8
    off mla 9.5
    off moe 12.7
    off moe_nvfp4 15
else
    echo "skipped: measurements ($shared)"
fi
[ "$failures" = 0 ]
