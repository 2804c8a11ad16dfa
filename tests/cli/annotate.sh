#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# --annotate github: errors with their place, failed gates and the result as GitHub's workflow commands, whatever characters they have.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1:"; cat err; fail=1; }

"$FUSESIM" plan mlp --hw t4,l4 --gate time=1ms --annotate github >out 2>err
[ $? = 1 ] || complain 'exit status of a failed gate'
grep -qx '::notice title=fusesim plan::mlp on t4: optimal 1.89 ms +-21%25, 2 kernels, 1.12x eager, proven' err && [ "$(grep -c '^::notice ' err)" = 2 ] || complain 'the result'
grep -q '^::error title=fusesim plan::t4: gate time=1ms failed: 1.89 ms, wanted at most 1 ms' err || complain 'a failed gate'
grep -q '^fusesim: error: t4: gate time=1ms failed' err || complain 'people read it too'
printf 'tensors:\n  x: {shape: [4], dtype: f16}\noperators:\n  - {op: gelo, in: x, out: y}\noutputs: [y]\n' >'a,b:c%.yaml'
"$FUSESIM" 'a,b:c%.yaml' --hw t4 --annotate github >out 2>err
[ $? = 65 ] && grep -q '^::error file=a%2Cb%3Ac%25.yaml,line=4,col=10,title=fusesim plan::unknown op' err || complain 'an error in a file'
"$FUSESIM" mlp --hw t4 --annotate github --json - >out 2>err && grep -q '^{' out && ! grep -q '^::' out || complain 'stdout is left alone'
"$FUSESIM" hw list --annotate github >out 2>err && [ ! -s err ] || complain 'a list has no line'
"$FUSESIM" mlp --hw t4 >out 2>err && [ ! -s err ] || complain 'without the option'
"$FUSESIM" mlp --hw t4 --annotate gitlab >out 2>err
[ $? = 2 ] && grep -q "'gitlab'\|gitlab is" err || complain 'another word'
exit $fail
