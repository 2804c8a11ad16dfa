#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --checkpoint: layers that are computed again save less, need less at their peak, and take longer.
# depends: once cost: 3
. "${SOURCE_DIR:?}/tests/answers.sh"
# Saved and peak are smaller, the time is longer.
layers="stacks/gpt2 --hw h100-sxm5-80gb --set layers=3 --set B=4 --train --strategy eager --search-steps 1"
# shellcheck disable=SC2086 # $layers is words
for again in "" --checkpoint; do "$FUSESIM" $layers $again --json layers$again.json >out 2>err || complain "layers: exit status $?: $(cat err)"; done
"$python" - <<'END' || complain "layers.json"
import json
kept, again = (next(s for s in json.load(open(f"layers{x}.json"))["plans"][0]["strategies"] if s["name"] == "eager") for x in ("", "--checkpoint"))
assert again["saved_bytes"] < 0.5 * kept["saved_bytes"] and again["peak_memory_bytes"] < kept["peak_memory_bytes"], (kept, again)
assert kept["backward_s"] < again["backward_s"] < kept["backward_s"] + kept["forward_s"], (kept, again)
assert json.load(open("layers--checkpoint.json"))["plans"][0]["training"]["checkpoint"] is True
END
# Attention is one call also where it is computed again, with fewer key heads, through views of a split or of a slice that are far from its gradient: a layer again is a third more.
cat >heads.yaml <<'END'
name: heads
symbols: {B: 2, S: 2048, Q: 32, KV: 8, D: 128, H: 4096}
tensors: {x: {shape: [B, S, H], dtype: bf16, role: input}}
operators:
  - repeat: 2
    carry: {x: y}
    tensors: {w_qkv: {shape: [(Q + 2 * KV) * D, H], dtype: bf16, role: weight}, w_o: {shape: [H, Q * D], dtype: bf16, role: weight}}
    operators:
      - {op: linear, in: [x, w_qkv], out: qkv}
      - {op: split, in: qkv, out: [q1, k1, v1], dim: -1, size: [Q * D, KV * D, KV * D]}
      - {op: reshape, in: q1, out: q2, shape: [B, S, Q, D]}
      - {op: reshape, in: k1, out: k2, shape: [B, S, KV, D]}
      - {op: reshape, in: v1, out: v2, shape: [B, S, KV, D]}
      - {op: permute, in: q2, out: q, dims: [0, 2, 1, 3]}
      - {op: permute, in: k2, out: k, dims: [0, 2, 1, 3]}
      - {op: permute, in: v2, out: v, dims: [0, 2, 1, 3]}
      - {op: attention, in: [q, k, v], out: mixed, causal: true}
      - {op: permute, in: mixed, out: merged, dims: [0, 2, 1, 3]}
      - {op: reshape, in: merged, out: context, shape: [B, S, Q * D]}
      - {op: linear, in: [context, w_o], out: attended}
      - {op: add, in: [x, attended], out: y}
outputs: [y]
END
for of in heads.yaml "llm/dense_train --set layers=2 --set B=2"; do
    # shellcheck disable=SC2086 # $of is words
    for again in "" --checkpoint; do "$FUSESIM" $of --hw h100-sxm5-80gb --train $again --strategy eager --search-steps 1 --json of$again.json >out 2>err || complain "$of $again: exit status $?: $(cat err)"; done
    "$python" - <<'END' || complain "$of: computed again"
import json
kept, again = ({s["name"]: s["time_s"] for s in json.load(open(f"of{x}.json"))["plans"][0]["strategies"]} for x in ("", "--checkpoint"))
assert 1.2 * kept["eager"] < again["eager"] < 1.45 * kept["eager"], (kept, again)
assert again["greedy"] < 0.8 * again["unfused"], again  # no copy of a view that is too far from its reader
END
done
exit $fail
