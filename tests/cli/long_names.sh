#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: memory cost: 2
# Names of any length: the generated C of a chain, a row kernel and a pointwise kernel compiles and computes what the reference does;
# a measured row finds the kernel that it names.
set -u
long() { printf "%s%0${2}d" "$1" 0; }

for length in 10 2010; do
    o=$(long o "$length") y=$(long y "$length") z=$(long z "$length")
    cat >names.yaml <<END
name: names
symbols: {dtype: f32}
tensors:
  q: {shape: [1, 2, 40, 16], dtype: dtype, role: input}
  k: {shape: [1, 2, 40, 16], dtype: dtype, role: input}
  v: {shape: [1, 2, 40, 16], dtype: dtype, role: input}
operators:
  - {op: attention, in: [q, k, v], out: $o}
  - {op: softmax, in: $o, out: $y, dim: 3}
  - {op: exp, in: $y, out: $z}
outputs: [$z]
END
    if ! "$FUSESIM" validate names.yaml --hw host --device cpu --no-measure >out 2>err; then
        echo "names of $length characters:"
        cut -c1-300 err | head -5
        exit 1
    fi
    if grep -Eq 'skipped|wrong|does not compile' out err; then
        echo "names of $length characters: some kernel did not run:"
        grep -E 'skipped|wrong|does not compile' out err | cut -c1-300
        exit 1
    fi
    printf 'id,hw,workload,strategy,l2,launch,time_s,kernel\none,t4,names,optimal,cold,stream,1e-5,%s\n' "$z" >row.csv
    "$FUSESIM" validate --measurements row.csv --json row.json >out 2>err
    if ! grep -q '"predicted_s": [0-9]' row.json; then
        echo "names of $length characters: the row of a kernel has no prediction: $(cut -c1-300 err)"
        exit 1
    fi
done
