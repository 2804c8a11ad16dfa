#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --report writes one HTML file: well-formed, with all that the JSON has, and nothing in it that loads or runs something else, whatever the names are.
# depends: once cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
unset COLUMNS FUSESIM_GNUPLOT
check=$SOURCE_DIR/tests/check
fail=0
complain() { echo "FAILED: $1"; fail=1; }
# page NAME...: what is to be found as text; the run's words are in `run`.
page() {
    "$FUSESIM" "${run[@]}" --report page.html --json plan.json >out 2>err || complain "${run[*]}: $(cat err)"
    "${PYTHON:-python3}" "$check/report_page.py" page.html plan.json "$@" || complain "the page of ${run[*]}"
}

cat >stack.yaml <<'EOF'
tensors: {x: {shape: [2048, 512], dtype: f16}}
operators:
  - repeat: 3
    carry: {x: y}
    tensors: {w: {shape: [512, 512], dtype: f16, role: weight}}
    operators: [{op: linear, in: [x, w], out: h}, {op: softmax, in: h, out: s, dim: 0}, {op: relu, in: s, out: r}, {op: cumsum, in: r, out: y, dim: 0}]
outputs: [y]
EOF
run=(bert_layer --hw a100-sxm4-40gb) && page probabilities 'Fusion helps' 'fusesim bert_layer --hw a100-sxm4-40gb' 'proven optimal'
run=(llama_block --hw h100-sxm5-80gb,l4) && page 'NVIDIA L4'
run=(bert_layer --hw t4 --strategy inductor) && page 'inductor against optimal'
run=(stack.yaml --hw t4) && page 'layer 3'
run=(seeds/fused_mlp --hw h100-sxm5-80gb --train --grad weights --optimizer sgd) && page backward 'Forward keeps'
run=(mlp --hw t4 --top 2 --compile-cost --objective pareto) && page 'The best plans' 'Fast compile or fast run' 'Time against memory'
run=("$check/hostile.yaml" --hw a100-sxm4-40gb) && page '</title><script>alert(1)</script>' 'x" onclick="alert(3)' '</script><script>alert(4)</script>' '<svg/onload=alert(5)>' \
    '</select><script>alert(6)</script>' '--><!-- ]]> &amp; %s%n <script>' 'y" onclick="alert(7)' '</template><img src=x onerror=alert(8)>' \
    "<img src=x onerror=alert(2)> & \"quoted\" 'single'"

# A strategy that takes far longer is cut, and the others stay wide enough to compare: eager's bar has a fifth of the width.
"$FUSESIM" mlp --hw a100-sxm4-40gb --report cut.html >out 2>err || complain "a bar that is cut: $(cat err)"
wide=$(sed -nE 's/.*<th scope="row">eager<.*<rect class="other" width="([0-9]+)[^"]*" height="20".*/\1/p' cut.html)
grep -q 'class="cut"' cut.html && grep -q 'A bar that is cut is longer' cut.html && [ "${wide:-0}" -ge 200 ] || complain "eager's bar is ${wide:-absent} of 1000 wide, or none is cut"

# Gates, passed and failed.
"$FUSESIM" mlp --hw t4 --gate time=1ns --gate kernels=100 --report gates.html >out 2>err
[ $? = 1 ] && grep -q '<li class="failed">failed time=1ns' gates.html && grep -q '<li class="passed">passed kernels=100' gates.html || complain "gates: $(cat err)"

# The same bytes with any number of threads, on stdout, and without gnuplot.
"$FUSESIM" bert_layer --hw t4 --report one.html --jobs 1 >out 2>err
FUSESIM_GNUPLOT=/absent "$FUSESIM" bert_layer --hw t4 --report two.html --jobs 3 >out 2>err || complain "without gnuplot: $(cat err)"
"$FUSESIM" bert_layer --hw t4 --report - >three.html 2>err || complain "on stdout: $(cat err)"
cmp one.html two.html && cmp one.html three.html || complain 'pages differ'

# Nothing but plans; and whole or absent.
"$FUSESIM" hw list --report list.html >out 2>err
[ $? = 2 ] && grep -q -- "--report means nothing to 'hw': it shows plans" err && [ ! -e list.html ] || complain "of other results: $(cat err)"
"$FUSESIM" mlp --hw t4 --report absent/page.html >out 2>err
[ $? != 0 ] && grep -q "cannot write 'absent/page.html'" err || complain "into a folder that is none: $(cat err)"

# Names reach the page through one function, which escapes them: no other file of the report writes by itself.
grep -nE '\b(fputs|fputc|putc|fprintf|fwrite)\(' "$SOURCE_DIR"/src/report/html*.c | grep -v '/html_write\.c:' && complain 'HTML that html_write.c does not write'
exit $fail
