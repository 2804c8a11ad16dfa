#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What users do with models: --dim, import, --precision, coverage, layers, --summary.
# depends: once cost: 5
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C COLUMNS=80
unset FUSESIM_HWMODELS

complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 12 err | cut -c 1-300 >&2
    echo "$1" >>failures
}
# fusesim STATUS ARGUMENT...: out and err are what it prints.
fusesim() {
    local want=$1 status
    shift
    timeout 60 "$FUSESIM" "$@" </dev/null >out 2>err
    status=$?
    [ $status = "$want" ] || complain "exit status $status, wanted $want: $*"
}
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1"; }
rm -f failures

# --dim and --set mean the same, and the last one counts.
fusesim 0 mlp --hw t4 --set M=64 --quiet
mv out set
fusesim 0 mlp --hw t4 --dim M=64 --quiet
cmp -s out set || complain '--dim M=64 is not --set M=64'
fusesim 0 mlp --hw t4 --set M=32 --dim M=64 --quiet
cmp -s out set || complain '--dim M=64 does not replace --set M=32'
fusesim 2 mlp --hw t4 --dim M
has err "--dim 'M': wanted NAME=VALUE"
fusesim 0 workloads mlp --dim M=64
has out 'M=64'

# A model plans the same directly and as the workload that import writes, byte for byte but for its path: layers are repeat
# blocks, dimensions are symbols, so that both have the same answer at other values too.
# same MODEL BLOCKS NAME=VALUE... : written with the first values, planned at those and at others
same() {
    local model=$1 blocks=$2 first=() other=() value
    shift 2
    for value in "$@"; do
        first+=(--dim "$value")
        other+=(--dim "${value%=*}=$((3 * ${value#*=} + 1))")
    done
    fusesim 0 import "$model" "${first[@]}" -o written.yaml
    has out 'All operators are known'
    has out "Written to written.yaml: $blocks repeat block"
    fusesim 0 "$model" --hw h100-sxm5-80gb "${first[@]}" --json -
    sed "s|$SOURCE_DIR/workloads/||; s|$model[.a-z0-9]*|MODEL|; s|--dim|--set|" out >direct.json
    fusesim 0 written.yaml --hw h100-sxm5-80gb "${first[@]}" --json -
    ! grep 'warning' err || complain "$model as a workload warns"
    sed "s|written.yaml|MODEL|; s|--dim|--set|" out >through.json
    cmp -s direct.json through.json || complain "$model plans otherwise as a workload: $(diff direct.json through.json | head -4)"
    fusesim 0 "$model" --hw h100-sxm5-80gb "${other[@]}" --json -
    sed "s|$SOURCE_DIR/workloads/||; s|$model[.a-z0-9]*|MODEL|; s|--dim|--set|" out >direct.json
    fusesim 0 written.yaml --hw h100-sxm5-80gb "${other[@]}" --json -
    sed "s|written.yaml|MODEL|; s|--dim|--set|" out >through.json
    cmp -s direct.json through.json || complain "$model plans otherwise as a workload at ${other[*]}: $(diff direct.json through.json | head -4)"
}
same models/tiny_cnn.onnx 1 batch=4
same models/tiny_cnn.pt2 1 s40=4
same models/tiny_transformer.onnx 1 batch=4 seq=32
same models/tiny_transformer.pt2 1 s23=4 s27=32
grep -q '^symbols: {s23: 4, s27: 32}$' written.yaml && grep -q ' layer\.<i>\.qkv\.weight: ' written.yaml || complain 'the workload has no symbols, or no names of layers'

# By name, without its ending; a dimension without a value; one that it does not have.
fusesim 0 models/tiny_cnn --hw t4 --dim batch=8 --quiet
has out '^tiny_cnn on t4: optimal '
fusesim 65 models/tiny_transformer.onnx --hw t4
has err '2 dimensions are without a value: add --dim batch=8 --dim seq=128'
has err "seq    axis 1 of 'ids'"
fusesim 65 models/tiny_cnn.onnx --hw t4 --dim bach=8
has err "no dimension 'bach'; did you mean 'batch'"
fusesim 65 models/tiny_cnn.onnx --hw t4 --dim imge:0=8
has err "dim imge:0=8: the model has no input 'imge'; did you mean '"
fusesim 65 models/tiny_cnn.pt2 --hw t4 --dim image:1=8
has err "dim image:1=8: the model fixes axis 1 of 'image'"
fusesim 65 models/tiny_cnn.pt2 --hw t4 --dim image:4=8
has err "'image' has 4 axes, from 0 on"
fusesim 65 models/tiny_cnn.pt2 --hw t4 --dim s40=0
has err 'dim s40=0: the model takes 2 and more, as torch.export wrote into the file .range_constraints.; for another length export the model again'
[ "$(wc -l <err)" = 1 ] || complain 'a length of 0 is refused twice'
# Of a workload in YAML the message names the symbol, not an option that was not typed.
fusesim 65 mlp --hw t4 --dim HH=8
has err "^fusesim: error: HH=8: the workload has no symbol 'HH'; did you mean 'H'"
fusesim 2 mlp --hw t4 --dim M=width
has err '^ +in M=width$'
fusesim 0 workloads models
has out '^models/tiny_cnn.onnx \(14 operators, f32; batch=8\)$'
fusesim 0 import models/tiny_cnn.onnx --dim batch=8 --check
has out '^  conv2d +5 +yes$'
fusesim 0 import models/tiny_cnn.onnx --dim batch=8 -o -
has out '^name: tiny_cnn$'
fusesim 0 regions models/tiny_cnn.onnx --hw t4 --over batch=1:16
has out '^ +1 '
fusesim 2 import --measurements nothing.csv --check
has err '--check is of a model'

# Another dtype for all floats: of workloads, of models, of what is written.
fusesim 0 mlp --hw t4 --set dtype=f32 --quiet
mv out f32
fusesim 0 mlp --hw t4 --precision f32 --quiet
cmp -s out f32 || complain '--precision f32 is not --set dtype=f32'
fusesim 0 import models/tiny_cnn.onnx --dim batch=8 --precision f16 -o half.yaml
grep -q 'dtype: f16' half.yaml && ! grep -q f32 half.yaml || complain 'the workload is not in f16'
fusesim 0 import models/tiny_transformer.pt2 --dim s23=8 --dim s27=64 --precision f8 -o eight.yaml
has eight.yaml 'layer\.<i>\.qkv\.weight: .*f8e4m3'
has eight.yaml 'op: cast, in: \[?embedding|op: cast, in: layer_norm'
fusesim 0 eight.yaml --hw h100-sxm5-80gb --quiet
# Convolutions in f32 compute in TF32, as frameworks have it, unless f32 is asked for; tf32 is for all products.
arithmetic() { # MODEL DIM PRECISION CONVOLUTIONS PRODUCTS: how many operators have 'compute: tf32'
    fusesim 0 import "models/$1" --dim "$2" ${3:+--precision $3} -o arithmetic.yaml
    [ "$(grep 'op: conv' arithmetic.yaml | grep -c 'compute: tf32')" = "$4" ] && [ "$(grep 'op: linear' arithmetic.yaml | grep -c 'compute: tf32')" = "$5" ] ||
        complain "arithmetic of $1 with --precision $3: $(grep 'op: conv\|op: linear' arithmetic.yaml)"
}
for model in 'tiny_cnn.onnx batch=8' 'tiny_cnn.pt2 s40=8'; do
    arithmetic $model '' 3 0
    arithmetic $model f32 0 0
    arithmetic $model f16 0 0
    arithmetic $model tf32 3 1
done
fusesim 2 mlp --hw t4 --precision f16 --set dtype=f32
has err 'both say the dtype'
fusesim 2 mlp --hw t4 --precision f4

# Operators that are not known: in the verdict, and in one line.
cat >unknown.yaml <<'YAML'
tensors:
  x: {shape: [64, 64], dtype: f16}
operators:
  - {op: relu, in: x, out: y, layer: net.0}
  - {op: custom, in: y, out: z, from: 'com.foo:Bar', layer: net.1}
  - {op: custom, in: z, out: q, from: 'com.foo:Bar', layer: net.2}
YAML
fusesim 0 unknown.yaml --hw t4
has out '^33% of operators known: 2 x com.foo:Bar cost a copy each\.$'
fusesim 0 unknown.yaml --hw t4 --quiet
has out ', 33% of operators known: 2 x com.foo:Bar'
fusesim 0 unknown.yaml --hw t4 --json -
has out '"com.foo:Bar":[[:space:]]*2'
fusesim 0 import unknown.yaml
has out '^  com.foo:Bar +2 +no: costs a copy$'

# Layers: in the table of kernels where there is room, in JSON, in the timeline and the drawing; and what they are made of.
model='models/tiny_transformer.pt2 --dim s23=8 --dim s27=64'
COLUMNS=160 fusesim 0 $model --hw t4 --verbose
has out ' layer +computes'
has out ' layer\.1\.norm1 '
fusesim 0 $model --hw t4 --json -
has out '"layer":[[:space:]]*"layer\.1\.norm1"'
fusesim 0 $model --hw t4 --trace -
has out '"layer": "layer\.1\.norm1"'
fusesim 0 $model --hw t4 --dot -
has out '.nin layer\.1\.norm1"'
# Equal layers are drawn once, an operator whose primitives a kernel has all as one box, and each box that an edge names is there.
fusesim 0 bert_12_layers --hw a100-sxm4-40gb --dot -
has out ': pointwise\\n.* x 12"' && has out 'label="from turn 2 on: h_next\.0 6 MiB of 11"' && has out 'label="h_next\.11 6 MiB"'
[ "$(grep -c 'subgraph cluster_' out)" -le 14 ] || complain "clusters of equal layers: $(grep -c 'subgraph cluster_' out)"
has out 'label="probabilities\.0"' && grep -q 'probabilities\.0/' out && complain 'a primitive of an operator that is whole'
[ -z "$(comm -13 <(sed -n 's/^    \(k[0-9]*_n[0-9]*\) \[.*/\1/p' out | sort -u) <(grep -o 'k[0-9]*_n[0-9]*' out | sort -u))" ] || complain 'an edge of a box that is not there'
# A step of training, too, with the last turn, which ends early, and the backward pass of the last layer, whose norm reads a gradient that is given: 11 begin where layers do; no line goes from one phase to another, and what operators make for the user is a box each.
fusesim 0 bert_12_layers --hw a100-sxm4-40gb --train --search-steps 20000 --dot -
[ "$(grep -c 'subgraph cluster_' out)" -le 80 ] && [ "$(wc -l <out)" -le 930 ] || complain "twelve layers of training: $(grep -c 'subgraph cluster_' out) clusters, $(wc -l <out) lines"
has out 'label="grad/w1\.10 4\.50 MiB x 11"' && has out ' of 1[0-9]"' && has out 'label="[0-9]*: backward, library\\n.* x 11"'
if command -v dot >/dev/null; then
    size=$(dot -Tplain out | sed -n '1s/^graph [^ ]* \([0-9]*\).*/\1/p')
    [ "$size" -le 120 ] || complain "the picture of twelve layers of training is $size inches wide"
else
    echo 'no dot: the picture is not drawn'
fi
# Fusions with a name.
COLUMNS=400 fusesim 0 models/tiny_transformer.onnx --hw t4 --dim batch=8 --dim seq=64 --strategy eager
has out 'Fusions with a name, as pattern finds them: .*Gelu.* x 2'
fusesim 0 models/tiny_cnn.pt2 --hw t4 --dim s40=8 --json -
has out '"BatchNorm \+ ConvBn \+ ConvActivation":[[:space:]]*2'
has out '"BatchNorm \+ ConvBn \+ ConvAddActivation":[[:space:]]*2'

fusesim 0 workloads $model --summary
has out '^  layer\.0 +x 2 +[0-9]+ +198 k '
has out '^  total +[0-9]+ +65[0-9] k '

# Real exports, where they are: the workload that is written plans the same.
shared=${FUSESIM_SHARED:-$SOURCE_DIR/../shared}/models
through() {
    local model=$1 quick=(--hw h100-sxm5-80gb --strategy eager --search-steps 1000 --json -)
    shift
    fusesim 0 import "$shared/$model" "$@" -o written.yaml
    has out 'Written to written.yaml'
    fusesim 0 "$shared/$model" "${quick[@]}" "$@"
    sed "s|$shared/$model|MODEL|" out >direct.json
    fusesim 0 written.yaml "${quick[@]}" "$@"
    ! grep 'warning' err || complain "$model as a workload warns"
    sed "s|written.yaml|MODEL|" out >through.json
    cmp -s direct.json through.json || complain "$model plans otherwise as a workload: $(diff direct.json through.json | head -4)"
}
if [ -d "$shared" ]; then
    through bert_base.onnx --dim batch=8 --dim seq=128
    through resnet50.pt2 --dim s77=8
    through gpt2_decode.onnx --dim batch=3 --dim past=40
    through mixtral_small_bf16.pt2 --dim s72=2 --dim s70=40
    through resnet18_int8_qdq.onnx --dim batch=2
    through gpt2.pt2 --dim s72=2 --dim s70=64
    has out '"parameters":[[:space:]]+67736832' # those that have two names are one
else
    echo "no $shared: real exports are left out"
fi

[ ! -s failures ]
