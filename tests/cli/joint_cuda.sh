#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 11
# Kernels of forward and backward together as CUDA: NVRTC compiles each without an error or a warning for the architectures whose kernels differ,
# and says as many blocks on an SM as predicted, one more or less. Needs no GPU.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C FUSESIM_CACHE=$PWD/cache
unset COLUMNS NO_COLOR FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1"; fail=1; }
cd "$SOURCE_DIR/workloads" || exit 1
out=$(dirname "$FUSESIM_CACHE")/out

# compiles ARCHITECTURE KERNELS ARGUMENT...: the best plan's kernels, at least so many.
compiles() {
    local arch=$1 least=$2 status=0
    shift 2
    "$FUSESIM" validate "$@" --registers --arch "$arch" --hw a100-sxm4-40gb --strategies optimal --search-steps 2000 --jobs 2 \
        --gate warnings=0 --gate disagree=0 --gate near=90% >"$out" 2>&1 || status=$?
    [ $status = 77 ] && { cat "$out"; exit $((fail ? 1 : 77)); }
    [ $status = 0 ] || complain "exit status $status: $*: $(grep -E 'error|warning|gate' "$out")"
    local kernels
    kernels=$(sed -n 's/^\([0-9]*\) kernels of .*/\1/p' "$out")
    [ "${kernels:-0}" -ge "$least" ] || complain "${kernels:-0} kernels of $*"
}

# Rows along the first dimension, which a block keeps in registers.
cat >"$out.yaml" <<'END'
tensors:
  x: {shape: [128, 512], dtype: f32, role: input}
operators:
  - {op: softmax, in: x, out: y, dim: 0}
END
compiles 80 10 --train seeds/softmax_ce.yaml seeds/layer_norm.yaml liger/embedding.yaml seeds/linear_gelu.yaml
compiles 90 14 --train "$out.yaml" liger/rms_norm.yaml liger/batch_norm.yaml seeds/conv_bn_relu.yaml ops/attention.yaml
compiles 100 6 --train --optimizer adamw --clip 1 seeds/mlp_stack.yaml
compiles 80 4 --train --autocast bf16 seeds/log_chain.yaml seeds/linear_relu.yaml
compiles 90 6 --jvp seeds/jvp_mul.yaml resnet50_block.yaml
rm -f "$out" "$out.yaml"

exit $fail
