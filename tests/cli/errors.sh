#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hostile and mistaken inputs: the right exit status, one clear message, nothing on stdout.
# depends: memory cost: 3
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset FUSESIM_HWMODELS
toy=$SOURCE_DIR/tests/hw/toy.yaml

complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 12 err | cut -c 1-300 >&2
    echo "$1" >>failures # a file, as callers may stand in a pipe
}

# expect STATUS PATTERN ARGUMENT...: one error, which matches PATTERN (extended regular expression).
expect() {
    local errors
    expect_some "$@"
    errors=$(grep -c 'error: ' err)
    [ "$errors" = 1 ] || complain "$errors errors, wanted 1: ${*:3}"
}

# The same where several checks may find the one mistake.
expect_some() {
    local want=$1 pattern=$2 status
    shift 2
    timeout 20 "$FUSESIM" "$@" </dev/null >out 2>err
    status=$?
    [ $status = "$want" ] || complain "exit status $status, wanted $want: $*"
    [ ! -s out ] || complain "something on stdout: $*"
    grep -Eq -- "$pattern" err || complain "no message like '$pattern': $*"
}

# workload STATUS PATTERN: the file on standard input, planned on the toy.
workload() {
    cat >bad.yaml
    expect "$1" "$2" bad.yaml --hw "$toy"
}

# operators PATTERN ['LINE'...]: a workload of x and w (250 x 1000) and these operators, one of which is wrong.
operators() {
    local pattern=$1
    shift
    {
        echo 'symbols: {B: 250}'
        echo 'tensors: {x: {shape: [B, 1000], dtype: f32}, w: {shape: [B, 1000], dtype: f32}}'
        echo 'operators:'
        printf '  - %s\n' '{op: add, in: [x, w], out: first}' "$@"
    } | workload 65 "$pattern"
}

# hardware PATTERN SED: the toy with an edit.
hardware() {
    sed -E "$2" "$toy" >bad-hw.yaml
    cmp -s "$toy" bad-hw.yaml && complain "the edit '$2' changes nothing"
    expect 65 "$1" "$SOURCE_DIR/workloads/mlp.yaml" --hw ./bad-hw.yaml
    expect 65 "$1" hw check bad-hw.yaml
}

# Bytes that are no workload.
awk 'BEGIN { srand(1); for (i = 0; i < 1048576; i++) printf "%c", int(rand() * 256) }' >random.yaml
expect 65 'random.yaml' random.yaml --hw "$toy"
awk 'BEGIN { srand(2); for (i = 0; i < 1048576; i++) printf "%c", 32 + int(rand() * 95) }' >printable.yaml
expect 65 'printable.yaml' printable.yaml --hw "$toy"
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "["; print "" }' | workload 65 'nest|deep|depth'
awk 'BEGIN { printf "operators: "; for (i = 0; i < 100000; i++) printf "["; print "" }' | workload 65 'nest|deep|depth'
: | workload 65 'empty'
printf '# only a comment\n' | workload 65 'empty'
printf 'a: 1\0b: 2\n' | workload 65 'NUL'
printf -- '- 1\n- 2\n' | workload 65 'wants a mapping'
printf 'just a sentence\n' | workload 65 'wants a mapping'
printf 'a: 1\n---\nb: 2\n' | workload 65 'second document|one document'

# Sizes.
operators_with() { printf 'tensors: {x: {shape: %s, dtype: f32}}\noperators: [{op: relu, in: x, out: y}]\n' "$1"; }
operators_with '[1099511627776]' | workload 65 'dimension 0 of .x. is 1099511627776'
operators_with '[1000000000, 1000000000, 1000000000]' | workload 65 'x.*(elements|overflow|too (large|many))'
operators_with '[0]' | workload 65 'dimension 0 of .x. is 0; dimensions are 1 to'
operators_with '[-5]' | workload 65 'is -5'
operators_with '[9223372036854775807 * 9]' | workload 65 'overflow|does not fit|too large'
operators_with '[4 / 0]' | workload 65 'divi.* by zero'
operators_with '[7 % 0]' | workload 65 'by zero'
operators_with '[4 * H]' | workload 65 "unknown symbol 'H'"
operators_with '[2 +]' | workload 65 'bad.yaml:1:'
operators_with '[1, 1, 1, 1, 1, 1, 1, 1, 1]' | workload 65 'at most 8 dimensions'

# What has no derivative, and wrong names in --grad.
mlp=$SOURCE_DIR/workloads/mlp.yaml
grad() { local pattern=$1; shift; expect 65 "$pattern" "$mlp" --hw "$toy" --train --grad "$@"; }
grad "^fusesim: error: --grad: no tensor 'w3'; did you mean 'w2'\?$" w3
grad "did you mean 'weights'\?$" weight
grad "name the tensor itself, 'w1', not its gradient" grad/w1
grad "'weights' stands alone, not in a list with names" weights,x
grad 'a name is empty: a comma too many\?' w1,
grad "'y' is an output that nothing else is computed from: its gradient is given" y
grad '^fusesim: error: --optimizer adamw: no weight has a gradient: --grad names none$' x --optimizer adamw
expect 65 "no tensor that is read is a float with 'role: weight'" "$SOURCE_DIR/workloads/seeds/chain4.yaml" --hw "$toy" --train --grad weights
printf 'tensors: {x: {shape: [8, 8], dtype: i64}}\noperators: [{op: add, in: [x, x], out: y}]\n' >whole.yaml
expect 65 '^fusesim: error: --train: nothing has a derivative: no input or weight that is read is a float$' whole.yaml --hw "$toy" --train
printf 'tensors: {x: {shape: [8, 8], dtype: f32}}\noperators: [{op: argmax, in: x, out: y, dim: 1}]\n' >place.yaml
expect 65 'nothing has a derivative: no output is a float$' place.yaml --hw "$toy" --train
expect 65 'nothing has a derivative: no output is a float$' place.yaml --hw "$toy" --jvp
printf 'tensors: {x: {shape: [8, 8], dtype: f32}}\noperators: [{op: custom, in: x, out: h}, {op: relu, in: h, out: y}]\n' >unknown.yaml
expect 65 "custom 'h': what it computes is not known.*'grad: false' at a tensor makes it a constant$" unknown.yaml --hw "$toy" --train
printf 'tensors: {x: {shape: [8, 8], dtype: f32}}\noperators: [{op: relu, in: x, out: h}, {op: round, in: h, out: r}, {op: exp, in: r, out: y}]\n' >stairs.yaml
expect 65 "no output depends on what is wanted in a way that has a derivative: it ends at round 'r'$" stairs.yaml --hw "$toy" --train
expect 2 "no operator 'grad/w1': gradients are there with --train" explain "$mlp" --hw "$toy" y grad/w1

# Names.
operators "unknown op(erator)? 'gelo'; did you mean 'gelu'" '{op: gelo, in: first, out: y}'
operators "unknown (key|attribute).*'dimm'; did you mean 'dim'" '{op: sum, in: first, out: y, dimm: 1}'
operators "no tensor 'fist'.*did you mean 'first'|'fist'; did you mean 'first'" '{op: relu, in: fist, out: y}'
operators "duplicate name 'first'" '{op: relu, in: x, out: first}'
operators "duplicate name 'x'" '{op: relu, in: first, out: x}'
operators 'cycle' '{op: add, in: [first, z], out: y}' '{op: relu, in: y, out: z}'
operators 'cycle' '{op: add, in: [first, y], out: y}'
operators 'relu.*(argument|input)' '{op: relu, in: [x, w], out: y}'
operators 'where.*(argument|input)' '{op: where, in: [x, w], out: y}'
operators '250.*1000|1000.*250' '{op: matmul, in: [x, w], out: y}'
operators 'dim' '{op: sum, in: first, out: y, dim: 2}'
workload 65 "duplicate key 'dtype'" <<'END'
tensors: {x: {shape: [4], dtype: f32, dtype: f16}}
operators: [{op: relu, in: x, out: y}]
END
workload 65 "unknown key 'shap'.*; did you mean 'shape'" <<'END'
tensors: {x: {shape: [4], dtype: f32, shap: [4]}}
operators: [{op: relu, in: x, out: y}]
END
workload 65 "unknown dtype 'torch.bfloat16'; did you mean 'bf16'" <<'END'
tensors: {x: {shape: [4], dtype: torch.bfloat16}}
operators: [{op: exp, in: x, out: y}]
END
workload 65 "1:24: error: unknown dtype 'float16'; did you mean 'f16'" <<'END'
symbols: {N: 4, dtype: float16}
tensors: {x: {shape: [N], dtype: dtype}}
operators: [{op: exp, in: x, out: y}]
END
workload 65 "unknown dtype 'complex64'; there are f64, f32, .*, bool, f4e2m1, i4$" <<'END'
tensors: {x: {shape: [4], dtype: complex64}}
operators: [{op: exp, in: x, out: y}]
END
expect 2 "dtype=tf32: no tensor has dtype 'tf32': a product of f32 takes 'compute: tf32'" mlp --hw "$toy" --set dtype=tf32
expect 2 "^fusesim: error: dtype=fp16: unknown dtype 'fp16'; did you mean 'f16'" mlp --hw "$toy" --set dtype=fp16
expect 2 "^fusesim: error: dtype=H: unknown dtype 'H'; there are f64" mlp --hw "$toy" --set dtype=H
workload 65 "unknown dtype 'f33'; did you mean 'f32'" <<'END'
tensors: {x: {shape: [4], dtype: f33}}
operators: [{op: relu, in: x, out: y}]
END
workload 65 'anchor' <<'END'
tensors: {x: &one {shape: [4], dtype: f32}}
operators: [{op: relu, in: x, out: y}]
END
workload 65 'alias' <<'END'
tensors: {x: {shape: [4], dtype: f32}, y: *one}
operators: [{op: relu, in: x, out: y}]
END
workload 65 'merge key' <<'END'
tensors: {x: {<<: {dtype: f32}, shape: [4]}}
operators: [{op: relu, in: x, out: y}]
END
workload 65 "no symbol 'C'|unknown symbol" <<'END'
symbols: {B: 4}
tensors: {x: {shape: [C], dtype: f32}}
operators: [{op: relu, in: x, out: y}]
END
workload 65 'wants .operators.' <<'END'
tensors: {x: {shape: [4], dtype: f32}}
END

# Many errors in one file: twenty are shown, by position, and the rest is counted.
{
    echo 'tensors: {x: {shape: [4], dtype: f32}}'
    echo 'operators:'
    for i in $(seq 60); do echo "  - {op: relu, in: missing$i, out: y$i}"; done
} >many.yaml
"$FUSESIM" many.yaml --hw "$toy" >out 2>err
[ $? = 65 ] || complain 'many errors: exit status'
[ ! -s out ] || complain 'many errors: something on stdout'
[ "$(grep -c 'error: ' err)" -le 20 ] || complain 'many errors: more than 20 shown'
[ "$(grep -c 'error: ' err)" -ge 10 ] || complain 'many errors: not all at once'
grep -o '^many.yaml:[0-9]*' err | cut -d: -f2 >lines
sort -nc lines 2>/dev/null || complain 'many errors: not sorted'

# Files.
workload_yaml=$SOURCE_DIR/workloads/mlp.yaml
mkdir -p folder
expect 66 "cannot read.*'nowhere.yaml': no such file" nowhere.yaml --hw "$toy"
expect 66 "'mlpp'.*no such file; did you mean 'mlp'" mlpp --hw "$toy"
expect 66 'is a directory' folder --hw "$toy"
expect 66 'no such (file|folder)' "$workload_yaml/x" --hw "$toy"
expect 66 "unknown hardware 'a100-sxm4-40bg'.*a100-sxm4-40gb" "$workload_yaml" --hw a100-sxm4-40bg
expect 66 'is a directory' "$workload_yaml" --hw ./folder
expect 66 "no hardware file './nowhere.yaml'; nearest: " "$workload_yaml" --hw ./nowhere.yaml
expect 66 "no hardware file './nowhere.yaml'; nearest: " hw check ./nowhere.yaml
cp "$workload_yaml" secret.yaml
chmod 000 secret.yaml
if ! cat secret.yaml >/dev/null 2>&1; then # root can read everything
    expect 66 'permission denied' secret.yaml --hw "$toy"
fi
for output in --json --markdown --chart --report --trace --dot; do
    expect 2 'no such (folder|file)' "$workload_yaml" --hw "$toy" $output nowhere/x.svg
    [ ! -e nowhere ] || complain "$output made a folder"
done
expect 2 'is a directory' "$workload_yaml" --hw "$toy" --json folder
# A file that was there stays as it was when another output fails, and no temporary files are left.
echo before >kept.json
expect 2 'no such folder' "$workload_yaml" --hw "$toy" --json kept.json --markdown nowhere/x.md
[ "$(cat kept.json)" = before ] || complain 'a failed run changed kept.json'
[ -z "$(find . -name '*.tmp')" ] || complain 'temporary files are left'
# The limit of file sizes is as a full disk.
(ulimit -f 4; "$FUSESIM" "$workload_yaml" --hw "$toy" --report kept.json) >out 2>err
[ $? = 70 ] && grep -q "cannot write 'kept.json': the file would be too large$" err || complain "a limit of file sizes: $(cat err)"
[ "$(cat kept.json)" = before ] && [ -z "$(find . -name '*.tmp')" ] || complain 'a limit of file sizes left something'
if [ -w /dev/full ]; then
    "$FUSESIM" "$workload_yaml" --hw "$toy" >/dev/full 2>err
    [ $? = 70 ] && grep -q 'cannot write the results: no space left on the disk$' err || complain 'a full disk behind stdout'
    "$FUSESIM" mlp --hw t4 --json - >/dev/full 2>err
    [ $? = 70 ] && grep -q 'cannot write the results: no space left on the disk$' err || complain 'a full disk behind --json -'
    "$FUSESIM" mlp --hw t4 --json /dev/full >out 2>err
    [ $? = 70 ] && grep -q "cannot write '/dev/full': no space left on the disk$" err || complain 'a full disk behind --json FILE'
fi

# Hardware files.
hardware 'bytes per second' 's/^dram_bandwidth: .*/dram_bandwidth: {peak: 1 GB, source: x}/'
hardware 'dram_bandwidth.*unit' 's/^dram_bandwidth: .*/dram_bandwidth: {peak: 1e9, source: x}/'
hardware 'dram_bandwidth.*(negative|-1)' 's/^dram_bandwidth: .*/dram_bandwidth: {peak: -1 GB\/s, source: x}/'
hardware 'dram_bandwidth.*(not a number|nan)' 's/^dram_bandwidth: .*/dram_bandwidth: {peak: nan GB\/s, source: x}/'
hardware 'dram_bandwidth.*inf' 's/^dram_bandwidth: .*/dram_bandwidth: {peak: inf GB\/s, source: x}/'
hardware "missing key 'l2_capacity': .*e.g. l2_capacity: .value: [0-9]* MiB, source: ...}; shipped GPUs have 2 MiB to 256 MiB" '/^l2_capacity/d'
hardware "dram_bandwidth is 'unknown'" 's/^dram_bandwidth: .*/dram_bandwidth: unknown/'
hardware "unknown key 'warp_sise'; did you mean 'warp_size'" '/^warp_size/{h;G;s/\nwarp_size/\nwarp_sise/}'
hardware "duplicate key 'sms'" '/^sms/{h;G}'
hardware "no 'source'" 's/^sms: .*/sms: {value: 1}/'
hardware 'not a whole number' 's/^sms: .*/sms: {value: 1.5, source: x}/'
hardware "unknown architecture 'volta'" 's/^architecture: .*/architecture: volta/'
hardware 'decimal.*MiB|powers of two' 's/^l2_capacity: .*/l2_capacity: {value: 6 MB, source: x}/'
hardware 'fp32_peak.*TFLOP' 's/^fp32_peak: .*/fp32_peak: {peak: 67 TFLOP\/s, source: x}/'
sed -E 's/(tensor_f16:.*peak: )989/\11979/' "$SOURCE_DIR/hwmodels/h100-sxm5-80gb.yaml" >sparse.yaml
expect 65 'tensor_f16.*sparse' "$workload_yaml" --hw sparse.yaml
expect 65 'tensor_f16.*sparse' hw check sparse.yaml
sed -E 's/^(dram_bandwidth:.*peak: )300 GB/\13350 GB/; s/^(dram_bandwidth:.*)achieved: [0-9.]+ GB.s, /\1/' "$SOURCE_DIR/hwmodels/l4.yaml" >l4-hbm.yaml
expect_some 65 'dram_bandwidth is 3350 GB/s' "$workload_yaml" --hw l4-hbm.yaml

# The command line.
expect 2 "unknown option '--hv'; did you mean '--hw'" "$workload_yaml" --hv "$toy"
expect 2 "unknown option '--objectiv'; did you mean '--objective'" "$workload_yaml" --hw "$toy" --objectiv time
expect 2 "unknown value 'gredy'; did you mean 'greedy'" "$workload_yaml" --hw "$toy" --strategy gredy
expect 2 "unknown value 'mem'.*wanted time, bytes, memory, pareto" "$workload_yaml" --hw "$toy" --objective mem
expect 2 "memory-limit: '3' has no unit" "$workload_yaml" --hw "$toy" --memory-limit 3
expect 2 "memory-limit: '3 GB/s' is bytes per second, wanted bytes" "$workload_yaml" --hw "$toy" --memory-limit '3 GB/s'
expect 2 "memory-limit: '0 B' is not from 1 B" "$workload_yaml" --hw "$toy" --memory-limit '0 B'
expect 2 'whole number' "$workload_yaml" --hw "$toy" --top 0
expect 2 'belongs to --compile-cost' "$workload_yaml" --hw "$toy" --compile-jobs 2
expect 2 'at most 1024' "$workload_yaml" --hw "$toy" --compile-cost --compile-jobs 1025
expect 2 'means nothing to .enumerate.' enumerate "$workload_yaml" --hw "$toy" --compile-cost
expect 2 'at most 1000' "$workload_yaml" --hw "$toy" --top 1001
expect 2 'means nothing to .enumerate.' enumerate "$workload_yaml" --hw "$toy" --top 3
expect 2 'plan of one GPU' "$workload_yaml" --hw "$toy,t4" --dot x.dot
expect 2 'both say which plan' "$workload_yaml" --hw "$toy" --plan x.json --strategy greedy
expect 2 'both be standard input' - --hw "$toy" --plan -
expect 2 'trace and --dot both write to stdout' "$workload_yaml" --hw "$toy" --trace - --dot -
expect 66 "cannot read plan 'nowhere.json': no such file" "$workload_yaml" --hw "$toy" --plan nowhere.json
expect 2 'needs a value' "$workload_yaml" --hw
expect 2 'needs a value' "$workload_yaml" --hw --quiet
expect 2 'takes no value' "$workload_yaml" --hw "$toy" --quiet=yes
expect 2 'empty value' "$workload_yaml" --hw=
expect 2 'no GPU' "$workload_yaml"
expect 2 'no workload' --hw "$toy"
expect 2 "'many.yaml'" "$workload_yaml" many.yaml --hw "$toy"
expect 2 "unknown command 'explan'; did you mean 'explain'" explan "$workload_yaml" --hw "$toy"
expect 2 "no GPU: .*, or is 'modles' the command 'models'\?" modles
expect 2 "hw list' shows them\)$" mlp
expect 66 'cannot read workload' model.onnx --hw "$toy"
for value in 0 -1 1.5 abc 99999999999999999999; do
    expect 2 'whole number' enumerate "$workload_yaml" --hw "$toy" --limit $value
done
for value in 0 -1 abc nan 1e99; do
    expect 2 'number of seconds' "$workload_yaml" --hw "$toy" --time-limit $value
done
expect 2 'means nothing to .plan.' "$workload_yaml" --hw "$toy" --limit 3
expect 2 'means nothing to .ops.' ops --chart x.svg
expect 2 'unknown stage .grpah.; did you mean .graph.' "$workload_yaml" --hw "$toy" --dump grpah
expect 2 'both write to stdout' "$workload_yaml" --hw "$toy" --dump graph --json -
expect 2 'both write to' "$workload_yaml" --hw "$toy" --json x --markdown x
expect 2 'ends in .svg' "$workload_yaml" --hw "$toy" --chart x.jpeg
expect 2 'wanted NAME=VALUE' "$workload_yaml" --hw "$toy" --set B
expect 65 "no symbol 'Q'; it has " "$workload_yaml" --hw "$toy" --set Q=3
expect 65 'is 0; dimensions are 1 to' "$SOURCE_DIR/workloads/ops/relu.yaml" --hw "$toy" --set B=0
expect 2 "unknown key 'dram_bandwith'; did you mean 'dram_bandwidth'" "$workload_yaml" --hw "$toy" --hw-set dram_bandwith=2x
expect 2 "unknown key 'clock' \\('fusesim hw keys' shows all\\)" "$workload_yaml" --hw "$toy" --hw-set clock=2x
expect 2 'sms' "$workload_yaml" --hw "$toy" --hw-set sms=-3
expect 66 "cannot read workload 'model.onnx'" import model.onnx
expect 2 'wanted --device cpu or cuda' validate "$workload_yaml"
expect 2 'validate wants --measurements' validate
header='id,hw,workload,set,strategy,l2,launch,time_s,dram_read_bytes,dram_write_bytes,source'
row='r1,h100-sxm5-80gb,ops/relu,B=64,eager,cold,stream,1e-5,,,somewhere'
rows() { printf '%s\n' "$header" "$@" >rows.csv; }
expect 66 "cannot read measurements 'nowhere.csv'" validate --measurements nowhere.csv
: >rows.csv
expect 65 'rows.csv:1:1: error: the file is empty' validate --measurements rows.csv
rows
# A division that leaves something is told where a name or number is divided by another, and nowhere else.
cat >parts.yaml <<'END'
symbols: {F: 28672, parts: 8}
tensors:
  x: {shape: [4, F / parts], dtype: f16}
  y: {shape: [(F + 127) / 128, ceil(F / parts), F / parts * 2], dtype: f16}
  z: {shape: [F / parts * parts, "max(F / parts, 1)"], dtype: f16}
operators:
  - {op: relu, in: x, out: a}
  - {op: relu, in: y, out: b}
  - {op: relu, in: z, out: c}
END
"$FUSESIM" parts.yaml --hw "$toy" >out 2>err || complain 'a whole division'
[ ! -s err ] || complain 'a whole division warns'
"$FUSESIM" parts.yaml --hw "$toy" --set parts=3 >out 2>err || complain 'a division that leaves something'
grep -q "parts.yaml:3:18: warning: expression 'F / parts': 28672 / 3 is not whole, and counts as 9557; ceil() rounds up" err && [ "$(grep -c 'is not whole' err)" = 2 ] || complain 'a division that leaves something'
expect_some 65 'overflows 64 bits' parts.yaml --hw "$toy" --set F=-9223372036854775807-1 --set parts=-1
expect 65 'rows.csv: error: no rows' validate --measurements rows.csv
printf 'id,hv,workload,strategy,launch,time_s\n' >rows.csv
expect 65 "rows.csv:1:1: error: no column 'hw'; is it 'hv'" validate --measurements rows.csv
rows "${row/eager/eagr}"
expect 65 "rows.csv:2:33: error: strategy: unknown 'eagr'; did you mean 'eager'" validate --measurements rows.csv
rows "${row/1e-5/-1}"
expect 65 "time_s: '-1' is no time above 0" validate --measurements rows.csv
rows "$row,more"
expect 65 '12 fields, the header has 11' validate --measurements rows.csv
rows "${row/relu/rel}"
expect 66 "rows.csv:2:1: warning: 1 row of workload 'ops/rel' left out: no such file" validate --measurements rows.csv
rows "${row/h100-sxm5/h100-sxm6}"
expect 66 "unknown hardware 'h100-sxm6-80gb'.*h100-sxm5-80gb" validate --measurements rows.csv
rows "${row/B=64/Q=64}"
expect 65 "no symbol 'Q'" validate --measurements rows.csv
expect 65 "no symbol 'Q'" calibrate --hw h100-sxm5-80gb --measurements rows.csv
rows "$row"
expect 2 "json 'rows.csv' would overwrite what is read from there" validate --measurements rows.csv --json rows.csv
expect 2 "'./rows.csv' would overwrite what is read from there" calibrate --hw "$toy" --measurements rows.csv -o ./rows.csv
expect 2 '-o and --json - both write to stdout' calibrate --hw "$toy" --measurements rows.csv -o - --json -
expect 65 'holds what --match says' validate --measurements rows.csv --match nothing
expect 2 'calibrate wants --measurements' calibrate --hw "$toy"
expect 2 'it takes no workload, --measurements' calibrate --device cpu --measurements rows.csv
# A file that can't be opened is the command line's fault, said before any work: without a compiler, --device would end with 69.
expect 2 "^fusesim: error: -o: cannot write 'nowhere/x.yaml': no such folder" calibrate --hw h100-sxm5-80gb --measurements rows.csv -o nowhere/x.yaml
expect 2 "^fusesim: error: -o: cannot write 'nowhere/x.csv': no such folder" import --measurements "$SOURCE_DIR/tests/traces/ncu-mlp.csv" "$SOURCE_DIR/workloads/mlp.yaml" --hw h100-sxm5-80gb -o nowhere/x.csv
expect 2 "^fusesim: error: -o: cannot make folder 'nowhere/x': no such folder" codegen "$workload_yaml" --hw "$toy" -o nowhere/x
CC=no-such-compiler expect 2 "^fusesim: error: -o: cannot write 'nowhere/x.yaml': no such folder" calibrate --device cpu -o nowhere/x.yaml
CC=no-such-compiler expect 2 "^fusesim: error: --measured: cannot write 'nowhere/x.csv': no such folder" validate "$workload_yaml" --device cpu --measured nowhere/x.csv
expect 2 "^fusesim: error: --json: cannot write 'nowhere/x.json': no such folder" "$workload_yaml" --hw "$toy" --json nowhere/x.json
expect 2 "shipped hardware file's place" calibrate --device cpu -o "$SOURCE_DIR/hwmodels/own.yaml"
FUSESIM_CPU_CACHE=much expect 65 'FUSESIM_CPU_CACHE wants a size from 256KiB to 1TiB' validate "$workload_yaml" --device cpu --no-measure
expect 65 'is no CPU but sm_75' calibrate --device cpu --hw t4
expect 2 'wants the one GPU' calibrate --measurements rows.csv
expect 2 "no group 'streeming'; did you mean 'streaming'" calibrate --hw h100-sxm5-80gb --measurements rows.csv --fit streeming
expect 2 'wanted 2 to 20' calibrate --hw h100-sxm5-80gb --measurements rows.csv --folds 1
expect 65 'no row is of the GPUs of --hw' calibrate --hw t4 --measurements rows.csv
expect 65 'no row is of the GPUs of --hw; they are of [a-z0-9-]+(, [a-z0-9-]+)*$' validate --measurements rows.csv --hw t4
expect 66 "unknown hardware 't5'" validate --measurements rows.csv --hw t5
expect 2 "names 'rows.csv' twice" validate --measurements rows.csv --measurements=rows.csv
expect 2 "unknown key 'clas'; did you mean 'class'" validate --measurements rows.csv --by hw,clas
expect 2 "unknown metric 'mepe'; did you mean 'mape'" validate --measurements rows.csv --gate mepe=3%
expect 2 "unknown metric 'softmax' \(validate --measurements has mape=10%, " validate --measurements rows.csv --gate softmax
expect 2 "'5%%' is no limit" validate --measurements rows.csv --gate mape=5%%
expect 2 "'sofmax' is no GPU, class, strategy, workload or folder of these rows; did you mean 'softmax'" validate --measurements rows.csv --gate sofmax:mape=3%
expect 2 "unknown key 'smss'; did you mean 'sms'" validate --measurements rows.csv --hw-set smss=3
expect 2 '\.svg, \.png or \.pdf' validate --measurements rows.csv --chart x.gif
expect 2 '--gate means nothing to' enumerate "$workload_yaml" --hw "$toy" --gate mape=3%
expect 2 "chart does not show runs of kernels: it shows plans, points of a sweep and errors of predictions" validate "$workload_yaml" --device cpu --no-measure --chart x.svg
expect 2 "dot means nothing to 'ops': it shows plans" ops --dot x.dot
expect 2 '--junit means nothing to' enumerate "$workload_yaml" --hw "$toy" --junit x.xml
for option in --output=x --fail-on=3%; do
    expect 2 "${option%%=*} is not in this release" "$workload_yaml" --hw "$toy" $option
done
expect 2 "hw does not know 'lst'; did you mean 'list'" hw lst
expect 2 'hw wants list' hw
expect 2 'hw show wants' hw show
expect 2 "no operator 'hh'" explain "$SOURCE_DIR/workloads/seeds/chain4.yaml" --hw "$toy" a hh
expect 2 'is an input' explain "$SOURCE_DIR/workloads/seeds/chain4.yaml" --hw "$toy" x a
expect 2 'the same primitive' explain "$SOURCE_DIR/workloads/seeds/chain4.yaml" --hw "$toy" a a
expect 2 'names of two operators' explain "$SOURCE_DIR/workloads/seeds/chain4.yaml" --hw "$toy" a
expect 65 'enumerate goes up to 64' enumerate "$SOURCE_DIR/workloads/bert_12_layers.yaml" --hw "$toy"

"$FUSESIM" >out 2>err
[ $? = 2 ] && [ ! -s out ] && grep -q '^usage: fusesim' err || complain 'no arguments: usage on stderr, status 2'

[ ! -e failures ] || { echo "$(wc -l <failures) failures" >&2; exit 1; }
