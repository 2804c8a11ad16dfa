#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rows of Liger's benchmarks: what its kernels move, what PyTorch launches beside, and the host that do_bench measures with them.
# depends: memory cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
fail=0
complain() { echo "FAILED: $1"; fail=1; }
cat >rows.csv <<'END'
id,hw,workload,set,mode,strategy,time_s,source
short,h100-sxm5-80gb,ops/softmax,B=128;H=128;dtype=f32,full,optimal,1e-4,Liger softmax liger
short/eager,h100-sxm5-80gb,ops/softmax,B=128;H=128;dtype=f32,full,eager,1e-5,Liger softmax huggingface
short/other,h100-sxm5-80gb,ops/softmax,B=128;H=128;dtype=f32,full,optimal,1e-5,made up softmax liger
short/slow,rtx-3090,ops/softmax,B=128;H=128;dtype=f32,full,optimal,1e-4,Liger softmax liger
long,h100-sxm5-80gb,ops/softmax,B=16384;H=4096;dtype=f32,full,optimal,1e-3,Liger softmax liger
table,a100-sxm4-80gb,liger/embedding,M=16384;D=768;V=1024,full,optimal,1e-3,Liger embedding liger
loss,a100-sxm4-80gb,liger/linear_cross_entropy,M=4096;H=4096;V=128256;dtype=bf16,full,optimal,1e-1,Liger fused_linear_cross_entropy liger
norm/back,h100-sxm5-80gb,liger/batch_norm,M=4096;N=4096,backward,optimal,1e-3,Liger batch_norm liger
norm,h100-sxm5-80gb,liger/batch_norm,M=4096;N=4096,full,optimal,1e-3,Liger batch_norm liger
norm/wide,h100-sxm5-80gb,liger/batch_norm,M=4096;N=8192,full,optimal,1e-3,Liger batch_norm liger
tvd,h100-sxm5-80gb,liger/tvd,M=4096;V=16384;dtype=f32,full,optimal,1e-3,Liger tvd liger
END
"$FUSESIM" validate --measurements rows.csv --json rows.json >out 2>err || complain "exit status $?: $(cat err)"
[ -s err ] && complain "something on stderr: $(cat err)"
"$python" - <<'END' || complain "rows.json"
import json
row = {r["id"]: r for r in json.load(open("rows.json"))["rows"]}
moved = {i: (r["dram_read_bytes"], r["dram_write_bytes"]) for i, r in row.items()}
s = {i: r["predicted_s"] for i, r in row.items()}
assert {i for i, r in row.items() if r.get("software") == "liger"} == set(row) - {"short/eager", "short/other"}, row
# The host: a call of backward, two kernels from Python with 6 and 8 arguments; less the time in which 256 MB are overwritten, 84 us.
host = 25e-6 + 2 * 30e-6 + 14 * 6.5e-6
assert 0.8 < s["short"] / (host - 256e6 / 3040e9) < 1.2, s["short"]
assert s["short/slow"] > s["short"] and s["short/eager"] < 1e-5 and s["short/other"] < 3e-5, s
# x read and y written; dy and y read and dx written.
t = 16384 * 4096 * 4
assert moved["long"] == (3 * t, 2 * t), moved
# The rows found in the table, written; the gradient drawn and read, the table's zeros written, and what is added to `.grad`.
y, w = 16384 * 768 * 4, 1024 * 768 * 4
assert moved["table"] == (w + y + 2 * w, y + y + w + w), moved
# 32 parts of 128 rows: each reads the weight twice, and its gradient, which it writes; logits are read twice, their gradient is written in their place.
w, x, logits = 128256 * 4096 * 2, 4096 * 4096 * 2, 4096 * 128256 * 2
assert moved["loss"] == (96 * w + 2 * logits + 2 * w + 2 * x, 32 * w + logits + w + x), moved
# An access of a column is a sector: 5 of 8 accesses of each element are of the backward pass.
assert 0.9 < s["norm/back"] / s["norm"] / (5 / 8) < 1.1 and 1.9 < s["norm/wide"] / s["norm"] < 2.1, s
# p and q read, the gradient written; the gradient of the softmax that p comes from, in two kernels, and what is added to that of its input.
t = 4096 * 16384 * 4
assert moved["tvd"] == (2 * t + 2 * t + 2 * t + 2 * t, t + t + t + t), moved
END

# PyTorch's gradient of a square: x to the power of 1 is copied, doubled, multiplied; forward 4 passes, backward 2 + 2 + 3 + 3.
"$FUSESIM" liger/relu_squared --set M=8192 --hw a100-sxm4-80gb --train --strategy eager --json square.json >out 2>err || complain "exit status $?: $(cat err)"
# Of more than 3,072 indices the gradient of a table is summed up from sorted ones.
for m in 3072 3073; do
    "$FUSESIM" liger/embedding --set M=$m --set V=1024 --hw a100-sxm4-80gb --train --strategy eager --json table$m.json >out 2>err || complain "exit status $?: $(cat err)"
done
"$python" - <<'END' || complain "eager"
import json
def eager(file):
    return next(s for s in json.load(open(file))["plans"][0]["strategies"] if s["name"] == "eager")
square = eager("square.json")
assert square["dram_read_bytes"] + square["dram_write_bytes"] == 14 * 8192 * 4096 * 4, square
assert eager("table3073.json")["time_s"] - eager("table3072.json")["time_s"] > 150e-6
END

# Peaks of memory: of Liger's kernels, of the benchmark's process, of PyTorch.
t=$((1024 * 4096 * 2))
cat >peaks.csv <<'END'
id,hw,workload,set,mode,strategy,peak_bytes,source
soft,h100-sxm5-80gb,ops/softmax,B=1024;H=4096;dtype=bf16,full,optimal,41943040,"Liger softmax liger, max_memory_allocated"
soft/plan,h100-sxm5-80gb,ops/softmax,B=1024;H=4096;dtype=bf16,full,optimal,41943040,"made up softmax liger"
gated,a100-sxm4-80gb,liger/geglu,M=8192;H=4096;F=11008;dtype=bf16,full,optimal,1659009024,"Liger geglu liger, max_memory_allocated"
gated/eager,h100-sxm5-80gb,liger/geglu,M=8192;H=4096;F=11008;dtype=bf16,full,eager,1659009024,"Liger geglu huggingface, max_memory_allocated"
gated/plain,h100-sxm5-80gb,liger/geglu,M=8192;H=4096;F=11008;dtype=bf16,full,eager,1659009024,"made up"
loss,a100-sxm4-80gb,liger/linear_cross_entropy,M=8192;H=4096;V=128256;dtype=bf16,full,optimal,4683957248,"Liger fused_linear_cross_entropy liger, max_memory_allocated"
norm,a100-sxm4-80gb,liger/group_norm,M=128;C=256;H=512,forward,eager,336068608,"Liger group_norm huggingface, max_memory_allocated"
tvd,h100-sxm5-80gb,liger/tvd,M=4096;V=16384;dtype=f32,full,eager,1,"Liger tvd torch, max_memory_allocated"
END
"$FUSESIM" validate --measurements peaks.csv --json peaks.json >out 2>err || complain "exit status $?: $(cat err)"
"$python" - <<'END' || complain "peaks.json"
import json
row = {r["id"]: r["predicted_bytes"] for r in json.load(open("peaks.json"))["rows"]}
t = 1024 * 4096 * 2
assert row["soft"] == 5 * t and row["soft/plan"] < 5 * t, row  # x, y, both gradients, x.grad
# Weights, their gradients, a new one; x, y, dy, x.grad, both gradients of x and their sum; the two before the gate and h; a workspace of cuBLAS for each thread.
w, x, f = 4096 * 11008 * 2, 8192 * 4096 * 2, 8192 * 11008 * 2
assert row["gated"] == 7 * w + 7 * x + 3 * f + 2 * 8519680, row
assert row["gated/eager"] == row["gated/plain"] + 2 * 2**25, row
# The weight, that of the other module, two gradients; x and two of its; logits of 256 rows: in 16 bits, 32, and their gradient.
w = 128256 * 4096 * 2
assert row["loss"] == 4 * w + 3 * x + 4 * 256 * 128256 * 2 + 2 * 8519680, row
# Whatever the mode says, both passes ran: x, y, dy, dx, x.grad.
assert 0 <= row["norm"] - 5 * 128 * 256 * 512 * 4 < 2**20, row
# p, q, what p is made of, its gradient; p - q; half a gradient, the sign, their product.
assert 0 <= row["tvd"] - 8 * 4096 * 16384 * 4 < 100, row
END
exit $fail
