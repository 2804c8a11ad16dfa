#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 20
# The projects that codegen writes as CUDA build and link: 'make' for every architecture whose kernels differ, over every kind of kernel. Needs nvcc, and no GPU.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS NO_COLOR FUSESIM_HWMODELS MAKEFLAGS MAKELEVEL NVCC NVCCFLAGS ARCH LDFLAGS
[ ! -x /usr/local/cuda/bin/nvcc ] || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null && command -v make >/dev/null || { echo 'no nvcc or no make: the projects of codegen are not built'; exit 77; }
fail=0
complain() { echo "FAILED: $1"; fail=1; }
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1: $(head -n 40 "$1")"; }

brief='-O0 -Xcicc -O0 -Xptxas -O0' # whether it builds is asked, not how fast it is
# links FOLDER ARCH ARGUMENT...: what codegen writes for these arguments is a program, as the Makefile builds it.
links() {
    local folder=$1 arch=$2
    shift 2
    "$FUSESIM" codegen "$@" -o "$folder" >out 2>err || { complain "exit status $?: codegen $*: $(cat err)"; return; }
    has "$folder/Makefile" "^ARCH \\?= $arch\$"
    make -s -C "$folder" -j2 NVCCFLAGS="$brief" >make.log 2>&1 || { complain "'make' in $folder ($arch): $(grep -m 8 error make.log)"; return; }
    (cd "$folder" && ./launcher --list) >out || complain "$folder: launcher --list"
    has out '^y.*: output, b?f(16|32)'
    [ "$(ls "$folder"/k*.o | wc -l)" = "$(ls "$folder"/k*.cu | wc -l)" ] || complain "$folder: not every kernel is in the Makefile"
}

# As few kernels as have what differs: each takes a second and a half.
cat >eager.yaml <<'END'
tensors: {x: {shape: [256, 64], dtype: f32, role: input}, w: {shape: [128, 64], dtype: f32, role: weight}}
operators: [{op: linear, in: [x, w], out: h}, {op: softmax, in: h, out: y, dim: -1}]
outputs: [y]
END
links eager sm_75 eager.yaml --hw t4 --strategy eager
links linear sm_80 seeds/linear_gelu --hw a100-sxm4-40gb
cat >layers.yaml <<'END'
tensors:
  x: {shape: [256, 256], dtype: bf16, role: input}
  w: {shape: [256, 256], dtype: bf16, role: weight}
  u: {shape: [512, 256], dtype: bf16, role: weight}
  v: {shape: [256, 512], dtype: bf16, role: weight}
operators:
  - {op: linear, in: [x, w], out: q}
  - {op: linear, in: [q, u], out: m}
  - {op: gelu, in: m, out: a}
  - {op: linear, in: [a, v], out: y}
outputs: [y]
END
links layers sm_90a layers.yaml --hw h100-sxm5-80gb --strategy maximal
cat >kinds.yaml <<'END'
tensors:
  q: {shape: [1, 4, 256, 64], dtype: bf16, role: input}
  k: {shape: [1, 4, 256, 64], dtype: bf16, role: input}
  v: {shape: [1, 4, 256, 64], dtype: bf16, role: input}
  w: {shape: [128, 64], dtype: bf16, role: weight}
operators:
  - {op: attention, in: [q, k, v], out: o}
  - {op: linear, in: [o, w], out: y}
outputs: [y]
END
links kinds sm_100 kinds.yaml --hw b200 --strategy inductor
# Names that mean something to C, to a shell and to make; of a length that no file name may have.
"$python" - >names.yaml <<'END'
long = "y " + "and on " * 60
print('name: "ev*/il \\"q\\" ???/ \u00e9"\ntensors: {"x*/": {shape: [64, 32], dtype: f32}, "w?? $(\\"\\\\": {shape: [64, 32], dtype: f32}}')
print('operators:\n  - {op: add, in: ["x*/", "w?? $(\\"\\\\"], out: "%s"}' % long)
END
links names sm_89 names.yaml --hw l4

# What has been built covers the kinds of kernels.
"$python" - <<'END' || fail=1
import glob, json, sys
seen = {k["template"] for path in glob.glob("*/manifest.json") for k in json.load(open(path))["kernels"] if k["file"]}
lacking = {"pointwise", "row_reduction", "library", "contraction", "chained_contraction"} - seen
if lacking:
    print("FAILED: no kernel was built of", ", ".join(sorted(lacking)))
sys.exit(bool(lacking))
END

# 'make cubin' compiles the kernels alone.
make -s -C names -j2 cubin NVCCFLAGS="$brief" >make.log 2>&1 && [ "$(ls names/*.cubin | wc -l)" = "$(ls names/k*.cu | wc -l)" ] || complain "make cubin: $(grep -m 8 error make.log)"
echo "built by nvcc $(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
exit $fail
