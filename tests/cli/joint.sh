#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kernels of forward and backward together, and of values and tangents, generated as C, run and compared with the
# reference; on shapes that are shortened by themselves too.
# depends: once cost: 10
. "${SOURCE_DIR:?}/tests/trial.sh"
export CC="${CC:-cc} -O0" # what kernels compute is asked, not how fast

agrees() {
    exits 0 --search-steps 100000 "$@" --device cpu --hw a100-sxm4-80gb --no-measure
    has out '^All [0-9]+ kernels of [0-9]+ plans? agree with the reference'
}
agrees mlp --train --strategies eager,optimal --scale-shapes 256
agrees bert_layer --train --strategies optimal --scale-shapes 256
agrees resnet50_block --train --strategies optimal --scale-shapes 256
agrees stacks/gpt2 --set layers=2 --set B=2 --train --checkpoint --strategies eager --scale-shapes 256 --search-steps 1000 # eager needs none
agrees seeds/softmax_ce --train --strategies eager,optimal --scale-shapes 64
agrees llama_block --jvp --strategies optimal --scale-shapes 256
agrees seeds/jvp_mul --jvp --strategies eager,optimal
exit $fail
