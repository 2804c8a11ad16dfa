#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Eager: the kernels that PyTorch launches for operators that it makes of several, with bytes worked by hand. All tensors are far larger than the L2 cache. One unit is the 128 MiB of an f32
# tensor of [8192, 4096]; PyTorch's sources: aten/src/ATen/native/{Loss,PadNd,Onehot,TensorAdvancedIndexing,TensorCompare}.cpp, TensorTransformations, torch/nn/functional.py.
# cost: 3
set -u
: "${FUSESIM:?}"
export LC_ALL=C
fail=0
complain() { echo "FAILED: $1"; fail=1; }
# kernels NAME OPERATOR KERNELS LAUNCHES READ WRITTEN [OPTION...]: of eager; bytes in MiB, rounded
kernels() {
    local name=$1 operator=$2 wanted="$3 $4 $5 $6"
    shift 6
    printf 'name: w\ntensors: {x: {shape: [8192, 4096], dtype: f32}, t: {shape: [8192, 4096], dtype: f32}, m: {shape: [8192, 4096], dtype: bool}, i: {shape: [16384], dtype: i64}}\noperators: [%s]\n' "$operator" >"$name.yaml"
    "$FUSESIM" "$name.yaml" --hw a100-sxm4-80gb --strategy eager --json "$name.json" --quiet "$@" >out 2>err || complain "$name: $(cat err)"
    local found
    found=$(python3 - "$name.json" <<'END'
import json, sys
plan = json.load(open(sys.argv[1]))["plans"][0]["plan"]
kernels = plan["kernels"]
print(len(kernels), sum(k["launches"] for k in kernels), *(round(sum(k[b] for k in kernels) / 2**20) for b in ("dram_read_bytes", "dram_write_bytes")))
END
    )
    [ "$found" = "$wanted" ] || complain "$name: kernels, launches, MiB read and written are $found; wanted $wanted"
}
command -v python3 >/dev/null || { echo 'needs Python'; exit 77; }
kernels l1_loss '{op: l1_loss, in: [x, t], out: y}' 3 4 512 256                     # sub 2 1, abs 1 1, mean 1 0: a mean of all has two launches
kernels bce '{op: binary_cross_entropy_with_logits, in: [x, t], out: y}' 5 6 896 512 # log_sigmoid 1 1, rsub 1 1, mul_ 2 1, sub_ 2 1, mean 1 0
kernels softsign '{op: softsign, in: x, out: y}' 3 3 512 384                        # abs 1 1, add 1 1, div 2 1
kernels tanhshrink '{op: tanhshrink, in: x, out: y}' 2 2 384 256                    # tanh 1 1, sub 2 1
kernels masked_fill '{op: masked_fill, in: [x, m], out: y}' 1 2 288 256             # clone 1 1, masked_fill_ 1 + 32 MiB of the mask, 1
kernels pad '{op: pad, in: x, out: y, padding: [0, 4096]}' 1 2 128 384              # fill 0 2, copy 1 1
kernels cut '{op: pad, in: x, out: y, padding: [0, -2048]}' 1 1 64 64               # a copy
kernels one_hot '{op: one_hot, in: i, out: y, num_classes: 2048}' 1 2 0 256         # zeros 0 2, scatter_ 0 and 16384 sectors, half a MiB
kernels roll '{op: roll, in: x, out: y, roll: [3, 5], dim: [0, 1]}' 1 2 256 256     # one for each dimension
kernels roll1 '{op: roll, in: x, out: y, roll: 3, dim: 0}' 1 1 128 128
kernels isinf '{op: isinf, in: x, out: y}' 1 2 256 160                              # abs 1 1, eq 1 and 32 MiB
kernels isfinite '{op: isfinite, in: x, out: y}' 1 4 448 224                        # eq 1 and 32 MiB, abs 1 1, ne 1 and 32, mul 64 and 32
kernels mse '{op: mse_loss, in: [x, t], out: y}' 2 3 384 128                        # as before: a pointwise kernel and a mean
kernels flip '{op: flip, in: x, out: f, dim: 1}, {op: relu, in: f, out: y}' 2 2 256 256 # a copy, unlike a permute
# autograd: of masked_fill, masked_fill
kernels masked_fill_back '{op: masked_fill, in: [x, m], out: y}' 2 4 576 512 --train
# of the logits, 4 kernels and 9 units, as PyTorch's sigmoid 1 1, sub 2 1, mul 1 1 (the gradient is one number), div 1 1
kernels bce_back '{op: binary_cross_entropy_with_logits, in: [x, t], out: y}' 9 10 1536 1024 --train --grad x

# torch.compile fuses them.
for name in l1_loss softsign tanhshrink masked_fill pad; do
    "$FUSESIM" $name.yaml --hw a100-sxm4-80gb --strategy inductor --json inductor.json --quiet >out 2>err || complain "inductor $name: $(cat err)"
    python3 -c 'import json; k = json.load(open("inductor.json"))["plans"][0]["plan"]["kernels"]; assert len(k) == 1 and k[0]["launches"] <= 2, k' || complain "inductor: $name is not one kernel"
done
exit $fail
