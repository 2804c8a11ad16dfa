#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --device cuda on a GPU that is none (tests/mock): which library ran which product, and why not; kernels of tiles, blocks of rows and totals of odd sizes. Faults: cli.validate_cuda.
# depends: once cost: 10
. "${SOURCE_DIR:?}/tests/trial.sh"

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
of_schema trials ran.json
sed 's/\[N\], dtype/[M, 1], dtype/' "$SOURCE_DIR/workloads/seeds/matmul_bias_relu.yaml" >rows.yaml # added along the rows
gpu 0 rows.yaml $dense
ran "by['unfused'] == [$blas] and by['optimal'] == []" # no library adds along the rows: the plan has a kernel of ours
sed 's/shape: \[M, K\]/shape: [3, M, K]/; s/shape: \[K, N\]/shape: [3, K, N]/; s/out: biased/out: ignored/; s/in: biased/in: product/' "$SOURCE_DIR/workloads/seeds/matmul_bias_relu.yaml" |
    sed '/ignored/d; /^  b:/d' >batch.yaml # a batch and no bias
gpu 0 batch.yaml $dense
ran "by['optimal'] == [$lt]"
sed 's/shape: \[M, K\]/shape: [3, M, K]/; s/shape: \[K, N\]/shape: [3, K, N]/; s/shape: \[N\]/shape: [3, N]/; s/product, b/product, row/' "$SOURCE_DIR/workloads/seeds/matmul_bias_relu.yaml" |
    sed 's/  - {op: matmul/  - {op: slice, in: b, out: row, dim: 0, start: 1, size: 1}\n&/' >second.yaml # a batch, and for all of it the second row of a matrix
gpu 0 second.yaml $dense
ran "by['optimal'] == [$lt]"
sed 's/\[N\], dtype/[M, N], dtype/' "$SOURCE_DIR/workloads/seeds/matmul_bias_relu.yaml" | awk '/^  b:/ { next } { print } /^tensors:/ { print "  b: {shape: [M, N], dtype: dtype}" }' >residual.yaml
for dtype in f32 bf16; do # what is added is as large as the result: the library's C; here the workload's first tensor
    gpu 0 residual.yaml ${dense/--no-check /} --set dtype=$dtype
    ran "by['unfused'] == [$blas] and by['optimal'] == [$lt]"
done
gpu 0 golden/gemm_gelu $dense # GELU by erf is not the library's
ran "by['eager'] == [$lt] and by['optimal'] == []"
# Without the library, or an algorithm, our own kernel runs, and that is said.
MOCK_FAIL=nolt gpu 0 seeds/linear_relu $dense
ran "by['optimal'][0][0] is None and 'starting cuBLASLt failed' in by['optimal'][0][1] and by['unfused'] == [$blas]"
has out 'by our own kernels? in its place'
MOCK_FAIL=noblas gpu 0 seeds/linear_relu $dense
ran "by['unfused'][0][0] is None and 'workspace' in by['unfused'][0][1]"
MOCK_FAIL=noalgo gpu 0 seeds/linear_relu $dense
ran "by['optimal'][0][0] is None and 'algorithm' in by['optimal'][0][1]"
FUSESIM_CUDA_LIB=$MOCKGPU FUSESIM_NVRTC_LIB=$MOCKGPU FUSESIM_CUPTI_LIB=$MOCKGPU FUSESIM_CUBLAS_LIB=$MOCKGPU FUSESIM_CUBLASLT_LIB=/nonexistent.so \
    exits 0 seeds/linear_relu $dense --device cuda --hw h100-sxm5-80gb --samples 3
ran "by['optimal'][0][0] is None and 'FUSESIM_CUBLASLT_LIB' in by['optimal'][0][1]"
exits 0 seeds/linear_relu ${dense/eager,/} --set M=64 --set N=64 --set K=64 --device cpu --hw l4 --samples 3 --budget 0.3 --threads 1
ran "by['unfused'] == by['optimal'] == [(None, 'there is no such library on a CPU')]"
# Blocks of rows, tiles and totals, by threads that have no element, too.
for set in '' '--set block=16 --set dtype=f32' '--set block=32 --set M=130 --set K=1024'; do
    gpu 0 "$trial/tiles.yaml" --strategies maximal --no-measure $set
    has out '^All 1 kernels of 1 plans agree with the reference'
done
for set in '' '--set dtype=bf16 --set M=130 --set N=128 --set K=1024'; do
    for file in totals totals_of_rows columns; do
        gpu 0 "$trial/$file.yaml" --strategies maximal --no-measure $set
        has out '^All 1 kernels of 1 plans agree with the reference'
    done
done
gpu 0 "$trial/stretches.yaml" --strategies eager,optimal --no-measure
has out '^All [0-9]+ kernels of 2 plans agree with the reference'

exit $fail
