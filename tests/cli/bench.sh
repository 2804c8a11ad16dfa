#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every program of bench/ runs, on its smallest setting, and prints the table that it promises. One that is not named here fails: add it.
# depends: once cost: 16
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export FUSESIM LC_ALL=C
bench=$SOURCE_DIR/bench
toy=$SOURCE_DIR/tests/hw/toy.yaml
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
fail=0

# runs NAME PATTERN... -- COMMAND...: the command ends well and prints a line for each pattern.
runs() {
    local name=$1 patterns=()
    shift
    while [ "$1" != -- ]; do patterns+=("$1"); shift; done
    shift
    known="${known:-} $name"
    if ! "$@" >out 2>err; then
        echo "FAILED: $name: $(tail -n 5 err)"
        fail=1
        return
    fi
    for pattern in "${patterns[@]}"; do
        grep -Eq -- "$pattern" out || { echo "FAILED: $name prints no '$pattern': $(cat out)"; fail=1; }
    done
}

mkdir few
for name in chain4 two_consumers; do sed 's/M: 4096, N: 4096/M: 64, N: 512/' "$SOURCE_DIR/workloads/seeds/$name.yaml" >few/$name.yaml; done # the reference computes every element
runs program.sh '^few/chain4.yaml$' -- bash -c '. "$(dirname "$0")/program.sh"; workloads few' "$bench/graphs.sh"
runs graphs.sh '^2 workloads' -- "$bench/graphs.sh" "$toy" few
runs kernels.sh '^few: 2 workloads, [1-9][0-9]* kernels compared \(0 more whose results overflow\), 0 workloads wrong, 0 not compared$' -- env HW="$toy" "$bench/kernels.sh" few
runs host.sh '^chain_2 +1 +' '^median ratio error: run 1: ' -- env ROWS=64 CHAINS=2 OTHERS= STRATEGIES=unfused,optimal HW=l4 RUNS=1 BUDGET=0.2 "$bench/host.sh"
runs training.sh '^wrote step.md$' -- env HW=t4 "$bench/training.sh" step.md seeds/chain4 seeds/boundaries
grep -q '^| seeds/chain4 | ' step.md && grep -q 'seeds/boundaries. (custom' step.md || { echo "FAILED: training.sh: $(cat step.md)"; fail=1; }
runs llm.sh '^wrote layers.md$' -- env HW=h100-sxm5-80gb MODELS=llama-3-8b STEPS=decode "$bench/llm.sh" layers.md
grep -q '^| Llama 3 8B, decode, f8 | ' layers.md && grep -q '^| 1[0-9.]* us | ' layers.md || { echo "FAILED: llm.sh: $(cat layers.md)"; fail=1; }
runs regret.sh . -- "$bench/regret.sh" "$toy" few
runs bounds.sh '^--search-steps 100 +[0-9]+ +[0-9.]+%  0$' '^2 workloads on .*: 0 bounds above a plan$' -- env STEPS_LONG=30000 LIMITS='--time-limit 0.001,--search-steps 100' "$bench/bounds.sh" "$toy" few
# A bound that is above a plan is found: with a longest search that pretends to have found a faster one.
cat >cheats <<'END'
#!/usr/bin/env bash
"$REAL" "$@" | { case "$*" in *'--search-steps 30000'*) sed 's/"time_s":[[:space:]]*[0-9][0-9.e+-]*/"time_s": 1e-9/g' ;; *) cat ;; esac; }
END
chmod +x cheats
REAL=$FUSESIM FUSESIM=$PWD/cheats STEPS_LONG=30000 LIMITS='--search-steps 100' "$bench/bounds.sh" "$toy" few >out 2>err && { echo "FAILED: bounds.sh lets a bound above a plan pass: $(cat out err)"; fail=1; }
grep -q '^2 workloads on .*: [1-9][0-9]* bounds above a plan$' out || { echo "FAILED: bounds.sh: $(cat out err)"; fail=1; }
runs startup.sh '^chain_1000 +1000 ' -- env RUNS=1 "$bench/startup.sh" "$FUSESIM" "$toy"
runs stacks.sh '^mlp +1 +12 .* proven' '^mlp +2 +24 .* [0-9]+ +[0-9.]+ ms' -- env LAYERS=mlp COUNTS='1 2' "$bench/stacks.sh" a100-sxm4-40gb
runs losses.sh '^\| stacks/resnet, layers=1 \| 38 \| [0-9]+ \| [0-9.]+ us \| proven \| .*[0-9] \|$' '^- stacks/resnet, layers=1, \*inductor\*: .*: costs ' '^1 of 1 optima are proven' -- \
    env OUT=- NETWORKS=stacks/resnet,layers=1 "$bench/losses.sh" a100-sxm4-40gb
runs depth.sh '^resnet +1 +38 .* proven$' '^resnet +2 +63 ' '^resnet +a100-sxm4-40gb +1 to 2 .* (met|missed)$' '^2 of 2 proven, largest gap 0 %' -- \
    env FAMILIES=resnet COUNTS='1 2' RUNS=1 "$bench/depth.sh" a100-sxm4-40gb
runs growth.sh '^chain +10 ' '^rows +30 ' '^transformer +38 ' '^recurrence +30 ' '^chain +[0-9.-]+ +1.2 +[0-9.-]+ +[0-9.-]+ +- +-$' '^resnet +38 ' -- \
    env SIZES='10 30' FAMILIES='chain rows transformer recurrence resnet' FIT_FROM=10 MEMORY=0 OPTIONS='--search-steps 30000' "$bench/growth.sh" growth
grep -q '^10 ' growth/growth.dat || { echo "FAILED: growth.dat: $(cat growth/growth.dat)"; fail=1; }
! command -v gnuplot >/dev/null || [ -s growth/growth.png ] || { echo 'FAILED: no growth.png'; fail=1; }
runs limits.sh '^chain +30 +[0-9.]+ +20.000 +[0-9.]+ +0  yes +proven$' '^mlp +12 +[0-9.]+ +20.000 ' '^2 of 2 limits hold; 0 others' -- env FAMILIES=chain SIZES=30 WORKLOADS=mlp LIMITS=20 RUNS=1 \
    "$bench/limits.sh" a100-sxm4-40gb
runs growth.sh '^fork-join +30 +takes more than 0.001 s' 'nothing to draw' -- env SIZES='30 100' FAMILIES='chain fork-join' LIMIT=0.001 MEMORY=0 "$bench/growth.sh" none
if [ -x /usr/bin/time ]; then # GNU time
    runs extremes.sh '^\| 100 operators \| 0 \| [0-9.]+ s \| [0-9]+ MB \|' '^\| a file is full \| 70 \| .* error: cannot write ' '^0 of 8 rows ended as they must not' -- \
        env SCALE=1000 LIMIT=20 ONLY='operators$|^[0-9]+ tensors|CSV|^a file|eight|environment|jumps by a day$' "$bench/extremes.sh"
    FUSESIM=$(type -P false) SCALE=1000 ONLY=environment "$bench/extremes.sh" >out 2>err && { echo "FAILED: extremes.sh takes a program that always fails: $(cat out err)"; fail=1; }
    grep -Eq '^\| no HOME.* \| \*\*1\*\* \|' out && grep -q '^1 of 1 rows ended as they must not' out || { echo "FAILED: extremes.sh: $(cat out err)"; fail=1; }
fi
known="$known extremes.sh"
runs outputs.sh '^seeds/chain4 on .*: the report alone takes [0-9.]+ ms, ' '^\| --json .json \| -?[0-9]+ \| -?[0-9]+ \| [1-9][0-9]+ \|$' '^\| --chart .pdf .* [1-9][0-9]+ \|$' -- "$bench/outputs.sh" seeds/chain4 "$toy" 1
runs attention.sh 'fused DRAM bytes +1\.00' '^fused is faster than eager from ' 'reaches [0-9]+ % of 312 TFLOP/s' -- \
    env SEQUENCES='2048 4096' "$bench/attention.sh" a100-sxm4-40gb
runs jobs.sh '^what +jobs +wall +user +times$' '^several GPUs +1 ' '^several GPUs +2 +[0-9.]+ s +[0-9.]+ s +[0-9.]+$' '^rows of validate +2 ' -- env RUNS=1 WORKLOAD=seeds/chain4 GPUS="$toy,t4,l4" \
    ROWS="$SOURCE_DIR/tests/measured/toy.csv" FUSESIM_HWMODELS="$SOURCE_DIR/tests/hw" WORKLOADS="$SOURCE_DIR/tests/measured/workloads" "$bench/jobs.sh"
runs validate.sh '^toy +15 +[0-9.]+ s +[0-9]+ rows/s$' -- env FUSESIM_HWMODELS="$SOURCE_DIR/tests/hw" WORKLOADS="$SOURCE_DIR/tests/measured/workloads" "$bench/validate.sh" "$SOURCE_DIR/tests/measured/toy.csv"
runs sweep.sh '^bert_layer, B, 6 GPUs +12 points +[0-9.]+ s ' '^mlp, M +20 points .* ms a point$' -- env BATCHES=2 ROWS=20 "$bench/sweep.sh" 1
# A workload that a tuned compiler is made to run faster than predicted, and in graphs with its inputs copied.
mkdir -p tuned/measured tuned/workloads/kernelbench/v0/l1
cp "$SOURCE_DIR/workloads/seeds/chain4.yaml" tuned/workloads/kernelbench/v0/l1/002.yaml
header=id,hw,workload,set,strategy,l2,launch,time_s,dram_read_bytes,dram_write_bytes,source
row() { echo "$1,l40s,kernelbench/v0/l1/002,,$2,warm,$3,$4,,,KernelBench L40S_matx3 made up"; }
{ echo $header; row a inductor graph 1e-3; row b inductor eager 1e-9; } >tuned/measured/kernelbench_v0_autotune.csv
{ echo $header; row c eager eager 1e-3; row d inductor eager 1e-3; } >tuned/measured/kernelbench_v0.csv
{ echo $header; row e eager graph 2e-3; row f inductor graph 2e-3; } >tuned/measured/kernelbench_v0_graphs.csv
runs autotune.sh '^wrote tuned.md$' -- env DATA=tuned "$bench/autotune.sh" tuned.md
grep -Eq '^## Where the tuned compiler is faster than the predicted optimum: 1 of 1 rows$' tuned.md && grep -Eq '^\| l40s \| l1/002 \| 0.001 \| [0-9.]+ \(.*Triton' tuned.md || { echo "FAILED: autotune.sh: $(cat tuned.md)"; fail=1; }
# Two functions and their tests: one change that no input shows, the others fail.
mkdir -p small/bench small/src/hw small/tests
cp "$bench/mutate.sh" "$bench/mutate.py" small/bench
printf '%s\n' 'int clip(int x, int most); /* 1 < 2 */' 'int clip(int x, int most) { return x < most ? x + 3 : most + 3; }' >small/src/hw/clip.c
echo 'int clip(int x, int most); int main(void) { return clip(3, 9) != 6 || clip(9, 3) != 6; }' >small/tests/hw.c
echo 'int main(void) { return 77; }' >small/tests/basis.c
cat >small/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(small C)
add_library(fusesim_core STATIC src/hw/clip.c)
foreach(name hw basis)
    add_executable(${name}_test tests/${name}.c)
    target_link_libraries(${name}_test fusesim_core)
    set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
endforeach()
END
runs mutate.sh '^src/hw/clip.c:2: \+ to -: killed by hw$' '^src/hw/clip.c:2: < to <=: survived$' '^\| `src/hw` \| 3 \| 2 \| 0 \| 1 \| 67 % \|$' '^3 of 3 mutants in the time$' -- small/bench/mutate.sh src/hw
# An analyser's reports are lines; a fuzz target's runs are counted, here those of a program that is none.
printf '%s\n' '#include <stdlib.h>' 'int leak(void) { char *x = malloc(9); return x ? 1 : 0; }' >leak.c
runs analyse.sh '^gcc: .*leak.c:2:.* leak of' -- "$bench/analyse.sh" gcc "$PWD/leak.c"
mkdir -p small/tests/fuzz small/build/fuzz/tests
cp "$bench/fuzz.sh" "$bench/fuzz_lines.sh" small/bench
: >small/tests/fuzz/unit.c
printf '%s\n' '#!/bin/sh' 'echo stat::number_of_executed_units: 12' 'echo stat::average_exec_per_sec: 6' >small/build/fuzz/tests/fuzz_unit
chmod +x small/build/fuzz/tests/fuzz_unit
runs fuzz.sh '^unit: 12 inputs, 6 a second$' '^\| unit \| 12 \|$' '^\| all \| 12 \|$' -- small/bench/fuzz.sh unit=2
runs fuzz_lines.sh '^\| folder \| lines run \| of \|$' -- env BUILD=build/fuzz small/bench/fuzz_lines.sh
known="$known determinism.sh" # cli.determinism
# What mutate.py names is there.
PYTHONDONTWRITEBYTECODE=1 python3 - "$SOURCE_DIR" <<'END' || { echo 'FAILED: mutate.py names a folder or a test that is not there'; fail=1; }
import os, sys
root = sys.argv[1]
sys.path.insert(0, root + "/bench")
from mutate import FOLDERS, LEFT_OUT, OTHERS
lacking = [f for f in FOLDERS + OTHERS if not os.path.isdir(f"{root}/{f}")] + [t for t in LEFT_OUT if not os.path.exists(f"{root}/tests/unit/{t}_test.c")]
print(*lacking)
sys.exit(bool(lacking))
END
# One row of Liger's, as its benchmark writes them.
cat >raw.csv <<'END'
kernel_name,kernel_operation_mode,x_name,x_value,extra_benchmark_config_str,gpu_name,kernel_provider_unfused,unfused_ms,timestamp_unfused,kernel_provider_fused,fused_ms,timestamp_fused,speedup
rms_norm,forward,H,4096,"{""M"": 8192, ""dtype"": ""torch.bfloat16"", ""eps"": 1e-06}",NVIDIA A100-SXM4-80GB,huggingface,0.6,a day,liger,0.12,a day,5
END
runs liger.sh '2 rows' -- "$bench/liger.sh" raw.csv liger.csv
mkdir -p roof/measured
ln -s "$SOURCE_DIR/workloads" roof
cat >roof/measured/aiconfigurator_gemm_w4.csv <<'END'
id,hw,workload,set,strategy,l2,launch,time_s,dram_read_bytes,dram_write_bytes,source
w4/1,a100-sxm4-80gb,ops/matmul_w4,M=1024;N=10240;K=10240;dtype=f16,optimal,unknown,graph,0.000861184,,,one of three sizes
w4/2,a100-sxm4-80gb,ops/matmul_w4,M=16;N=8192;K=8192;dtype=f16,optimal,unknown,graph,0.00004,,,the same
w4/3,a100-sxm4-80gb,ops/matmul_w4,M=16;N=1024;K=1024;dtype=f16,optimal,unknown,graph,0.00001,,,the same
END
# By hand: the first is 2 x 1024 x 10240^2 operations at 312 TFLOP/s, 688 us, 20.1 % less than measured; the second 34 MB at 2.039 TB/s, 16.7 us, 58 % less; the third 0.59 MB, 0.29 us, 97 % less.
runs rooflines.sh '^\| matmul_w4 \| a100-sxm4-80gb \| 3 \| 58\.[0-9] \(58\.[0-9]\) \| [0-9.]+ \([0-9.]+\) \| [0-9.]+ \([0-9.]+\) \| - \| 15 \(10\) \| - \| - \| [0-9.]+; ' -- "$bench/rooflines.sh" roof
runs systems.sh '^wrote systems.md$' -- env ROWS="$SOURCE_DIR/validate/measured/systems.csv" "$bench/systems.sh" systems.md
grep -Eq '^\| static batch \| [0-9]+ \| [0-9.]+ % \| [0-9]+ % \| [0-9]+ % \|' systems.md || { echo "FAILED: systems.sh: $(cat systems.md)"; fail=1; }
# Ten copies that a GPU of 242 GB/s might take, on their way into its file.
mkdir -p few_rows/measured fitted
{
    echo id,hw,workload,set,strategy,l2,launch,time_s,dram_read_bytes,dram_write_bytes,source
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        awk -v i=$i 'BEGIN { printf "%d,t4,ops/relu,B=%d;H=4096,eager,cold,stream,%.9g,,,made up\n", i, 1000 * i, 20e-6 + 8 * 4096 * 1000 * i / 242e9 }'
    done
} >few_rows/measured/neusight.csv
for file in aiconfigurator_gemm aiconfigurator_attention kernelbench_v01 kernelbench_v0; do head -n 1 few_rows/measured/neusight.csv >few_rows/measured/$file.csv; done
if ldconfig -p 2>/dev/null | grep -q libnlopt.so.0 || /sbin/ldconfig -p | grep -q libnlopt.so.0; then
    runs calibrate.sh '^streaming +16 .* fitted$' '^dram_bandwidth +[0-9.]+ GB/s +24[0-9.]+ GB/s' -- env DATA="$PWD/few_rows" OUT="$PWD/fitted" "$bench/calibrate.sh" t4
    grep -q '^# Fitted by: fusesim calibrate --hw t4 --measurements neusight.csv --fresh' fitted/t4.yaml && "$FUSESIM" hw check "$PWD/fitted/t4.yaml" >/dev/null ||
        { echo "FAILED: calibrate.sh: $(head -n 5 fitted/t4.yaml)"; fail=1; }
fi
known="$known calibrate.sh"
# A few rows of the public measurements, where those are.
"$bench/accuracy.sh" /nowhere >out 2>err
[ $? = 77 ] || { echo "FAILED: accuracy.sh without data: $(cat out err)"; fail=1; }
data=$SOURCE_DIR/../shared/data
if [ -d "$data/measured" ]; then
    mkdir -p thin/measured && ln -s "$(cd "$data" && pwd)/workloads" thin/workloads
    for file in "$data"/measured/aiconfigurator_*.csv "$data"/measured/neusight.csv "$data"/measured/collectives.csv; do awk 'NR % 240 == 1' "$file" >"thin/measured/${file##*/}"; done
    for file in kernelbench_v01 kernelbench_v0; do awk -F/ 'NR == 1 || $4 % 12 == 0' "$data/measured/$file.csv" >thin/measured/$file.csv; done
    for file in llmcompass liger_pairs_raw; do awk 'NR % 5 == 1' "$data/measured/$file.csv" >thin/measured/$file.csv; done
    runs accuracy.sh 'lines in the summary$' -- env OUT="$PWD/thin_report" "$bench/accuracy.sh" thin
    for pattern in '^## Summary' '^\| neusight bmm FP32 ' '^\| \*\*all, each left out\*\* ' '^\| h100-sxm5-80gb \| ' '^!\[NeuSight' '^## What is still off'; do
        grep -Eq -- "$pattern" thin_report/accuracy.md || { echo "FAILED: accuracy.md has no '$pattern'"; fail=1; }
    done
    ! grep -q "$PWD\|$SOURCE_DIR\|/tmp/" thin_report/accuracy.md || { echo "FAILED: accuracy.md names folders"; fail=1; }
    cp thin_report/accuracy.md before.md
    OUT="$PWD/thin_report" "$bench/accuracy.sh" thin >/dev/null && cmp -s before.md thin_report/accuracy.md || { echo 'FAILED: accuracy.md differs from one run to the next'; fail=1; }
fi
known="$known accuracy.sh"
runs planning.sh '^a mixture of 256 experts on one kind +[0-9.]+ s +CPU +[0-9.]+ s$' -- env ONLY='experts on one kind' "$bench/planning.sh" 1
printf '%s\n' '<!-- output: fusesim hw list | head -n 1 -->' '```' old '```' '```sh' 'fusesim kept' '```' '```' '$ fusesim --version' old '```' >shown.md
runs readme.sh '^refreshed$' -- "$bench/readme.sh" shown.md
grep -q '^fusesim [0-9]' shown.md && grep -q '^fusesim kept$' shown.md && ! grep -q '^old$' shown.md || { echo "FAILED: readme.sh: $(cat shown.md)"; fail=1; }
runs readme.sh '^up to date$' -- "$bench/readme.sh" --check shown.md
# Minutes with NVRTC: here only that it is built, and says where there is none.
FUSESIM_NVRTC_LIB=/nowhere "$bench/compile.sh" >out 2>err
[ $? = 69 ] || { echo "FAILED: compile.sh without NVRTC: exit status, $(cat err)"; fail=1; }
known="$known compile.sh"
FUSESIM_NVRTC_LIB=/nowhere FOLDERS=few "$bench/registers.sh" >out 2>err
[ $? = 77 ] || { echo "FAILED: registers.sh without NVRTC: exit status, $(cat err)"; fail=1; }
known="$known registers.sh onnx_operators.sh inject.sh" # tests/cli/inject.sh has the last
mkdir exported && cp "$SOURCE_DIR/workloads/models/tiny_cnn.onnx" exported
runs models.sh '^\| tiny_cnn.onnx \| toy \| [0-9]+ \|.*\| (proven|gap [0-9.]+ %) \|' '^1 runs' -- env DIMS='--dim batch=2' "$bench/models.sh" "$toy" exported
# Two shipped models of torch.export, their FLOPs as PyTorch counts them, one that could not be exported; where runs are kept, nothing is planned again.
mkdir from_torch && cp "$SOURCE_DIR"/workloads/models/*.pt2 from_torch
echo '{"dims": {"b": 2}, "symbols": {"s40": {"dim": "b"}}, "versions": {"torch": "2.15.0"}, "flops_torch_flop_counter": 154535168}' >from_torch/tiny_cnn.pt2.expect.json
echo '{"dims": {"b": 2, "s": 64}, "symbols": {"s23": {"dim": "b"}, "s27": {"dim": "s"}}}' >from_torch/tiny_transformer.pt2.expect.json
echo '{"longformer": "GuardOnDataDependentSymNode: a | b"}' >from_torch/failed.json
runs exports.sh '^wrote .*exports.md$' -- env KEEP=kept_runs OUT="$PWD/exports.md" "$bench/exports.sh" --hw "$toy" from_torch
runs exports.sh . -- env KEEP=kept_runs OUT=- FUSESIM="$(type -P false)" "$bench/exports.sh" --hw "$toy" from_torch
for pattern in '^\| tiny_cnn \| .* \| 100 % \| .* \| (proven|gap [0-9.]+ %) \| equal \| ' '^\| tiny_transformer \| .* \| - \| ' '^\| imported and planned \| 2 \|$' 'Versions: torch 2.15.0\.' \
    '^\| longformer \| GuardOnDataDependentSymNode: a \\\| b \|$'; do
    grep -Eq -- "$pattern" exports.md || { echo "FAILED: exports.sh writes no '$pattern': $(cat exports.md)"; fail=1; }
done
cmp exports.md out || { echo 'FAILED: exports.sh writes something else of the runs that it kept'; fail=1; }
# What exports is read by Python, and runs where PyTorch is.
PYTHONDONTWRITEBYTECODE=1 python3 -c 'import ast, sys; [ast.parse(open(f).read()) for f in sys.argv[1:]]' "$bench/exports.py" "$bench/exports_table.py" || { echo 'FAILED: exports.py is no Python'; fail=1; }
if python3 -c 'import torch' 2>/dev/null; then
    PYTHONDONTWRITEBYTECODE=1 python3 "$bench/exports.py" new --only '^(bags_of_words|wavenet)$' >out 2>err && grep -q '^bags_of_words: exported' out && "$FUSESIM" new/wavenet.pt2 --hw "$toy" --quiet >out ||
        { echo "FAILED: exports.py: $(cat out err)"; fail=1; }
fi
echo '{"dims": {"batch": 2}, "ort": {"ops": {"extended": {"Conv": 2, "Reshape": 1, "Shape": 1, "Gemm": 1}}}}' >exported/tiny_cnn.expect.json
runs onnx_runtime.sh '^\| tiny_cnn.onnx \| [0-9]+ \| [0-9]+ \| 5 \| 1 \| 1 \| 3 \| [+-][0-9]+ \|' -- "$bench/onnx_runtime.sh" "$toy" exported
corpus=$(dirname "$FUSESIM")/tests/onnx_corpus_test
if [ -d /usr/share/libonnx-testdata ] && [ -x "$corpus" ]; then
    runs onnx_operators.sh '^of [0-9]+ ' -- env TEST="$corpus" REPORT="$PWD/operators.md" LIST="$PWD/imported.txt" "$bench/onnx_operators.sh"
    cmp -s operators.md "$SOURCE_DIR/reports/onnx_operators.md" && cmp -s imported.txt "$SOURCE_DIR/tests/unit/onnx_imported.txt" ||
        { echo 'FAILED: reports/onnx_operators.md or tests/unit/onnx_imported.txt is not what bench/onnx_operators.sh writes'; fail=1; }
fi
FUSESIM_CACHE=$PWD/cache FOLDERS=few/chain4.yaml HW=h100-sxm5-80gb "$bench/registers.sh" >out 2>err
status=$?
[ $status = 77 ] || { [ $status = 0 ] && grep -q '^sm_90 *all ' out; } || { echo "FAILED: registers.sh: exit status $status, $(cat out err)"; fail=1; }
for script in "$bench"/*.sh; do
    case " $known " in *" ${script##*/} "*) ;; *) echo "FAILED: bench/${script##*/} has no test here"; fail=1 ;; esac
done
exit $fail
