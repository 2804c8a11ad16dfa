#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --device: plans run as real kernels, on this machine's threads and on a GPU that is none (tests/mock): what is checked, measured, written; each fault's message and exit status.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${MOCKGPU:?}"
python=${PYTHON:-python3}
export LC_ALL=C FUSESIM_CACHE=$PWD/cache
unset COLUMNS NO_COLOR
command -v "${CC:-cc}" >/dev/null || { echo "no C compiler: nothing can run"; exit 77; }
fail=0
complain() { echo "FAILED: $1"; fail=1; }
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1: $(head -n 60 "$1")"; }
hasnt() { ! grep -Eq -- "$2" "$1" || complain "'$2' in $1: $(head -n 60 "$1")"; }
# exits STATUS ARGUMENT...: of validate
exits() {
    local wanted=$1 status=0
    shift
    timeout 240 "$FUSESIM" validate "$@" >out 2>err || status=$?
    [ $status = "$wanted" ] || complain "exit status $status, wanted $wanted: $*: $(cat err)"
}
small="--scale-shapes 64 --strategies eager,unfused,optimal"

# On this machine: compared only.
exits 0 seeds/layer_norm seeds/linear_gelu seeds/attention_standard --device cpu --hw a100-sxm4-80gb $small --no-measure
[ "$(grep -c 'compute what the reference does' out)" = 3 ] || complain "three workloads compared: $(cat out)"
hasnt out 'measured'
exits 0 seeds/boundaries --device cpu --hw a100-sxm4-80gb $small --no-measure
has out 'are not generated'

# Eight exponentials of anything overflow: nothing is wrong, and nothing is known.
exits 0 golden/exp_chain_8 --device cpu --hw a100-sxm4-80gb --strategies optimal,eager --scale-shapes 64 --no-measure --json untold.json
has out '^All 3 kernels of 2 plans compute what the reference does. 7 are not compared'
has out 'optimal: not compared: k0_y: [0-9]+ of [0-9]+ elements of y can be compared, 0 of them finite'
"$python" - "$SOURCE_DIR/reports/schema/trials.schema.json" <<'PY' || complain "untold.json: $(head -c 600 untold.json)"
import json, sys
import jsonschema
d = json.load(open("untold.json"))
jsonschema.validate(d, json.load(open(sys.argv[1])))
plan = {p["strategy"]: p for p in d["workloads"][0]["plans"]}
assert plan["optimal"]["checked"] == 0 and plan["optimal"]["not_compared"] == len(plan["optimal"]["kernels"]) and plan["eager"]["checked"] == 3
assert all((k["not_compared"] is None) == (k["comparable"] > 0.9) for k in plan["eager"]["kernels"][:4])
PY

# Measured: the figures are this machine's, so that only their presence is asked for.
exits 0 seeds/tanh_axpb seeds/softmax_primitive --device cpu --set M=512 --strategies eager,optimal --samples 3 --measured rows.csv --json out.json --markdown out.md --junit out.xml
[ "$(grep -Ec '^(optimal|eager)( \*)? +[0-9]+ +[0-9.]+ [mun]s +[0-9.]+ [mun]s ' out)" = 4 ] || complain "plans: $(cat out)"
has out '^Regret [0-9.]+ %'
has out '^k0_y '
has out.md '^\| *plan'
has out.xml 'classname="fusesim.kernels" name="tanh_axpb/optimal"'
"$python" - <<'PY' || complain "JSON: $(head -c 600 out.json)"
import json
d = json.load(open("out.json"))
assert d["schema"] == 1 and d["device"]["kind"] == "cpu" and len(d["workloads"]) == 2
for w in d["workloads"]:
    assert w["checked_scale"] >= 1 and w["regret"] >= 0 and {p["strategy"] for p in w["plans"]} == {"eager", "optimal"}
    for p in w["plans"]:
        assert p["wrong"] == 0 and p["checked"] == len(p["kernels"]) and p["measured"]["samples"] >= 3 and p["predicted_s"] > 0 and p["differs"] is None
        assert all(k["measured"]["cold"]["median_s"] > 0 and k["predicted"]["cold_s"] > 0 for k in p["kernels"])
PY
"$python" - "$SOURCE_DIR/reports/schema/trials.schema.json" <<'PY' || complain "out.json is not of its schema"
import json, sys
import jsonschema
jsonschema.validate(json.load(open("out.json")), json.load(open(sys.argv[1])))
PY
# What was measured is predicted again without the device.
timeout 60 "$FUSESIM" validate --measurements rows.csv >again 2>err || complain "rows.csv is not read: $(cat err)"
has again '^host '
[ "$(grep -c ',kernel,' rows.csv)" -ge 8 ] || complain "rows of kernels: $(cat rows.csv)"
for width in 80 120; do
    COLUMNS=$width exits 0 seeds/exp_add_log --device cpu --set M=256 --strategies eager,optimal --samples 3 --no-check
    [ "$(awk 'length > n { n = length } END { print n }' out)" -le $width ] || complain "wider than $width: $(awk -v w=$width 'length > w' out)"
done

# Gates: nothing is that far off, and something is.
exits 0 seeds/tanh_axpb --device cpu --set M=256 --strategies eager,optimal --samples 3 --gate mape=1000000% --gate regret=100000%
has out 'gate mape=1000000% holds'
exits 1 seeds/tanh_axpb --device cpu --set M=256 --strategies eager,optimal --samples 3 --gate bytes=3%
has err 'gate bytes=3% failed'

# The command line.
exits 2 seeds/tanh_axpb
has err 'wanted --device cpu or cuda'
exits 2 --device cpu
has err 'wants a workload'
exits 2 seeds/tanh_axpb --device cpu --strategies eagre
has err "did you mean 'eager'"
exits 2 seeds/tanh_axpb --device cpu --gate mpae=3%
has err "did you mean 'mape'"
exits 2 seeds/tanh_axpb --device cpu --gate mape
exits 2 seeds/tanh_axpb --device cpu --no-check --no-measure
exits 2 seeds/tanh_axpb --device cpu --measured x.csv --scale-shapes 4
exits 2 seeds/tanh_axpb --device cuda
has err 'wants one --hw'
exits 66 seeds/tanh_axbp --device cpu
exits 2 seeds/tanh_axpb --device cuda --hw h100-sxm5-80gb --measurements rows.csv
CC=no-such-compiler exits 69 seeds/tanh_axpb --device cpu --no-measure
has err 'no C compiler'

# The GPU that is none.
gpu() { FUSESIM_CUDA_LIB=$MOCKGPU FUSESIM_NVRTC_LIB=$MOCKGPU FUSESIM_CUPTI_LIB=$MOCKGPU FUSESIM_CUBLAS_LIB=$MOCKGPU FUSESIM_CUBLASLT_LIB=$MOCKGPU MOCK_SKIP_REPEATS=1 exits "$@" --device cuda --hw h100-sxm5-80gb --samples 3; }
gpu 0 seeds/softmax_primitive seeds/linear_gelu $small --json gpu.json
has out '^Mock H100, sm_90, 132 SMs'
has out '^All [0-9]+ kernels of 3 plans compute what the reference does'
"$python" - <<'PY' || complain "JSON of the GPU: $(head -c 600 gpu.json)"
import json
d = json.load(open("gpu.json"))
for w in d["workloads"]:
    for p in w["plans"]:
        assert p["wrong"] == 0 and p["measured_graph"]["median_s"] > 0
        for k in p["kernels"]:
            m = k["measured"]
            assert k["template"] == "library" or m["registers_per_thread"] > 0
            assert m["dram_read_bytes"] > 0 and m["warm"]["median_s"] > 0
PY
for order in reverse random:7; do
    MOCK_ORDER=$order gpu 0 seeds/layer_norm seeds/transpose_elementwise seeds/attention_standard $small --no-measure
done
# Who ran the products that plans leave to the library, and why not it: told, in text and JSON. The mock complains of what cuBLASLt would refuse.
# ran PROGRAM: a condition on `by`, for each plan a list of its library kernels' (library, stand_in).
ran() {
    hasnt err '^mock:'
    "$python" - "$1" <<'PY' || complain "who ran: $1: $(grep -A 3 Products out)"
import json, sys
d = json.load(open("ran.json"))
by = {p["strategy"]: [(k["library"], k["stand_in"]) for k in p["kernels"] if k["template"] == "library"] for w in d["workloads"] for p in w["plans"]}
assert all((k["library"] is None) or k["template"] == "library" for w in d["workloads"] for p in w["plans"] for k in p["kernels"])
assert eval(sys.argv[1]), by
PY
}
dense="--scale-shapes 64 --strategies eager,unfused,optimal --no-check --json ran.json"
lt='("cuBLASLt", None)' blas='("cuBLAS", None)'
for set in '' '--set dtype=f16' '--set dtype=bf16'; do # --no-check: what the library makes is compared with our own kernel, whatever is checked
    gpu 0 seeds/linear_relu $dense $set
    ran "by['eager'] == [$lt] and by['unfused'] == [$blas] and by['optimal'] == [$lt]"
    has out '^Products that plans leave to a library: 2 by cuBLASLt, 1 by cuBLAS\.'
done
for w in matmul_bias_relu linear_gelu transpose_matmul_add_relu; do # a weight as it is, GELU, an operand transposed by a kernel of its own or by the call
    gpu 0 seeds/$w $dense
    ran "by['optimal'] == [$lt]"
done
"$python" - "$SOURCE_DIR/reports/schema/trials.schema.json" <<'PY' || complain "ran.json is not of its schema"
import json, sys
import jsonschema
jsonschema.validate(json.load(open("ran.json")), json.load(open(sys.argv[1])))
PY
sed 's/\[N\], dtype/[M, 1], dtype/' "$SOURCE_DIR/workloads/seeds/matmul_bias_relu.yaml" >rows.yaml # added along the rows
gpu 0 rows.yaml $dense
ran "by['unfused'] == [$blas] and by['optimal'][0][0] is None and 'along the columns' in by['optimal'][0][1]"
has out '1 by our own kernel in its place'
sed 's/shape: \[M, K\]/shape: [3, M, K]/; s/shape: \[K, N\]/shape: [3, K, N]/; s/out: biased/out: ignored/; s/in: biased/in: product/' "$SOURCE_DIR/workloads/seeds/matmul_bias_relu.yaml" |
    sed '/ignored/d; /^  b:/d' >batch.yaml # a batch and no bias
gpu 0 batch.yaml $dense
ran "by['optimal'] == [$lt]"
sed 's/shape: \[M, K\]/shape: [3, M, K]/; s/shape: \[K, N\]/shape: [3, K, N]/; s/shape: \[N\]/shape: [3, N]/; s/product, b/product, row/' "$SOURCE_DIR/workloads/seeds/matmul_bias_relu.yaml" |
    sed 's/  - {op: matmul/  - {op: slice, in: b, out: row, dim: 0, start: 1, size: 1}\n&/' >second.yaml # a batch, and for all of it the second row of a matrix
gpu 0 second.yaml $dense
ran "by['optimal'] == [$lt]"
gpu 0 golden/gemm_gelu $dense # GELU by erf is not the library's
ran "by['eager'] == [$lt] and by['optimal'][0][0] is None and 'tanh GELU' in by['optimal'][0][1]"
# Without the library, or an algorithm, our own kernel runs, and that is said.
MOCK_FAIL=nolt gpu 0 seeds/linear_relu $dense
ran "by['optimal'][0][0] is None and 'starting cuBLASLt failed' in by['optimal'][0][1] and by['unfused'] == [$blas]"
MOCK_FAIL=noblas gpu 0 seeds/linear_relu $dense
ran "by['unfused'][0][0] is None and 'workspace' in by['unfused'][0][1]"
MOCK_FAIL=noalgo gpu 0 seeds/linear_relu $dense
ran "by['optimal'][0][0] is None and 'algorithm' in by['optimal'][0][1]"
FUSESIM_CUDA_LIB=$MOCKGPU FUSESIM_NVRTC_LIB=$MOCKGPU FUSESIM_CUPTI_LIB=$MOCKGPU FUSESIM_CUBLAS_LIB=$MOCKGPU FUSESIM_CUBLASLT_LIB=/nonexistent.so \
    exits 0 seeds/linear_relu $dense --device cuda --hw h100-sxm5-80gb --samples 3
ran "by['optimal'][0][0] is None and 'FUSESIM_CUBLASLT_LIB' in by['optimal'][0][1]"
exits 0 seeds/linear_relu $dense --device cpu --samples 3
ran "by['unfused'] == by['optimal'] == [(None, 'there is no such library on a CPU')]"
one="seeds/tanh_axpb --scale-shapes 64 --strategies optimal"
# fault STATUS WORD MESSAGE
fault() { MOCK_FAIL=$2 MOCK_FAIL_KERNEL=fs_entry_ MOCK_HANG_S=1 gpu "$1" $one --json gone.json; has "$4" "$3"; [ "$1" = 0 ] || [ ! -e gone.json ] || complain "$2: something was written"; rm -f gone.json; }
# ends STATUS WORD CONDITION: what is said of workloads w, plans p and kernels k where some failed; the rest is there
ends() {
    local status=$1 word=$2
    shift 2
    MOCK_FAIL=$word MOCK_HANG_S=${MOCK_HANG_S:-20} gpu "$status" $2 --json said.json --measured said.csv
    "$python" - "$1" "$SOURCE_DIR/reports/schema/trials.schema.json" <<'PY' || complain "$word: $1: $(head -c 900 said.json)"
import json, sys
import jsonschema
d = json.load(open("said.json"))
jsonschema.validate(d, json.load(open(sys.argv[2])))
w = d["workloads"]
p = [p for x in w for p in x["plans"]]
k = [k for x in p for k in x["kernels"]]
rows = open("said.csv").read().splitlines()[1:]
assert eval(sys.argv[1])
PY
}
two_rows="seeds/tanh_axpb seeds/softmax_primitive --set M=64 --strategies eager,optimal"
# A device that is lost ends the run: the report says so, the program does not wait for the driver.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 MOCK_FAIL_KERNEL=fs_entry_ MOCK_FAIL_AT=4 ends 69 launch 'len(w) == 1 and "k0_" in w[0]["unchecked"] and not rows' "$two_rows"
has err 'k0_'
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 MOCK_FAIL_KERNEL=fs_entry_ MOCK_FAIL_AT=300 ends 69 launch 'len(w) == 2 and not w[0]["failed"] and w[1]["failed"] and all(x["measured"] for x in w[0]["plans"]) and len(rows) >= 12' "$two_rows"
# One that hangs is given up, and the program does not wait for what the driver does when it ends.
from=$SECONDS
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 MOCK_FAIL_KERNEL=fs_entry_ MOCK_FAIL_AT=40 MOCK_HANG_S=200 ends 69 hang '"hangs" in w[0]["failed"]' "$two_rows --budget 6"
has err 'hangs'
[ $((SECONDS - from)) -lt 100 ] || complain 'a device that hangs is waited for'
# Sensors are read under load: the mock is idle before and after.
FUSESIM_NVML_LIB=$MOCKGPU gpu 0 seeds/tanh_axpb --set M=64 --strategies optimal --no-check
has out 'throttled by: power cap'
# Kernels whose records are no good are left out; plans are measured by events.
ends 69 badts 'any("records" in (x["not_run"] or "") for x in k) and all((x["not_run"] is None) == (x["measured"]["cold"] is not None) for x in k) and all(x["measured"] and not x["failed"] for x in p) and len(rows) == 8 + 2 * sum(1 for x in k if x["measured"]["cold"])' "$two_rows"
has err "records of 'k"
has out 'not measured: CUPTI.s records'
ends 0 late 'all(x["measured"]["cold"] for x in k)' "$two_rows" # forced out in the end
# A graph that can't be captured only costs the graph's figures.
ends 0 nograph 'all(x["measured"] and not x["measured_graph"] and "captur" in x["no_graph"] for x in p) and all(x["measured"]["cold"] for x in k)' "$two_rows"
has out 'optimal: not as a CUDA graph'
# Plans of the same kernels, and kernels that plans have alike, are measured once and shown for each.
gpu 0 seeds/copy_1gb --scale-shapes 4096 --strategies eager,unfused,greedy,maximal,optimal --json same.json
"$python" -c '
import json
p = json.load(open("same.json"))["workloads"][0]["plans"]
assert len(p) == 5 and len({json.dumps([x["measured"], x["measured_graph"], [k["measured"] for k in x["kernels"]]]) for x in p}) == 1' || complain 'plans of the same kernels'
# Time that is up: said, and no fault.
ends 75 none 'all("not reached" in x["left_out"] for x in w) and all("not reached" in x["left_out"] and not x["measured"] for x in p) and all("not reached" in x["not_run"] for x in k) and not rows' "$two_rows --budget 0.000001 --no-check"
has out 'of 2 plans, [0-9]+ of [0-9]+ kernels: not reached within --budget'
has err 'nothing was measured'
ends 0 none 'all(not x["left_out"] for x in w) and all(x["measured"] for x in p) and len(rows) > 8' "$two_rows --budget 100 --no-check"
# Plans as the run before left L2: what they are predicted for, and rows of.
ends 0 none 'all(x["l2"] == "warm" for x in w) and sum(",warm,stream," in r or ",warm,graph," in r for r in rows) == 8' "$two_rows --l2 warm"
"$python" -c '
import json
p = json.load(open("said.json"))["workloads"][0]["plans"][0]
assert p["measured"]["median_s"] < sum(k["measured"]["cold"]["median_s"] + 1e-6 for k in p["kernels"])' || complain 'warm plans are not flushed'
exits 2 seeds/tanh_axpb --device cpu --l2 warm
# DRAM writes: all that a kernel wrote, though it leaves them in L2.
ends 0 none 'all(abs(x["measured"]["dram_write_bytes"] / x["predicted"]["dram_write_bytes"] - 1) < 0.05 and x["measured"]["dram_write_by_end_bytes"] == 0 and x["measured"]["shared_bytes"] is not None and x["measured"]["l2_write_bytes"] > 0 for x in k)' "seeds/tanh_axpb seeds/softmax_primitive --set M=64 --strategies optimal --gate bytes=5%"
has out 'gate bytes=5% holds'
# Rows name the workload, not the folder it lay in.
mkdir -p pack/workloads/seeds && cp "$SOURCE_DIR/workloads/seeds/tanh_axpb.yaml" pack/workloads/seeds
ends 0 none 'len(rows) > 0 and all(",seeds/tanh_axpb," in r and "pack" not in r for r in rows)' "$PWD/pack/workloads/seeds/tanh_axpb.yaml --set M=64 --strategies optimal"
# What did not run as it is predicted is not compared with that.
ends 0 nolt 'all((x["unlike"] is not None) == any(y["stand_in"] for y in x["kernels"]) for x in p) and any(x["unlike"] and x["error"] is None and x["measured"] for x in p) and not any("optimal/stream" in r for r in rows)' \
    "seeds/linear_relu --set M=64 --set N=64 --set K=64 --strategies unfused,optimal"
has out 'optimal: not compared with its prediction: our own kernels ran'
gpu 0 seeds/boundaries --scale-shapes 64 --strategies eager
has out 'eager: not compared with its prediction: kernels that are not generated'
has out '^No plan that was measured is what was predicted'
fault 69 nodev 'finds no GPU' err
fault 69 stub 'is the stub' err
fault 0 perm 'No bytes were counted: .*(administrators|NVreg_RestrictProfilingToAdminUsers)' out
fault 0 busy 'No bytes were counted' out
fault 0 oldcupti 'No bytes were counted' out
fault 0 twopass 'k0_y' out
fault 0 gb202 'k0_y' out
MOCK_MEMORY=20000 fault 69 oom 'out of (device )?memory' err
FUSESIM_CUDA_LIB=/nonexistent.so exits 69 $one --device cuda --hw h100-sxm5-80gb
has err 'nonexistent|driver'

# The same under valgrind where it is, and where the program has no sanitizer of its own.
if command -v valgrind >/dev/null && ! grep -q __asan_init "$FUSESIM"; then
    for word in none perm busy badts lost twopass launch hang nodev; do
        status=0
        FUSESIM_CUDA_LIB=$MOCKGPU FUSESIM_NVRTC_LIB=$MOCKGPU FUSESIM_CUPTI_LIB=$MOCKGPU MOCK_SKIP_REPEATS=1 MOCK_FAIL=$word MOCK_FAIL_KERNEL=fs_entry_ MOCK_HANG_S=1 timeout 120 \
            valgrind -q --error-exitcode=99 "$FUSESIM" validate seeds/tanh_axpb --scale-shapes 256 --strategies optimal --samples 3 --device cuda --hw h100-sxm5-80gb >out 2>err || status=$?
        [ $status != 99 ] || complain "valgrind, $word: $(grep '^==' err | head -n 12)"
    done
fi

exit $fail
