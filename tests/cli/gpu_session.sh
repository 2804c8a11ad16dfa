#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate/gpu_session.sh: its commands are of files that are there, a short run on the mock GPU, and what it makes of a program's status.
# depends: once cost: 5
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
[ -n "${MOCKGPU:-}" ] && [ -e "$MOCKGPU" ] || { echo 'no mock GPU'; exit 77; }
python=${PYTHON:-python3}
export LC_ALL=C SOURCE_DATE_EPOCH=86400 FUSESIM_CACHE=${FUSESIM_CACHE:-$PWD/cache}
export FUSESIM_CUDA_LIB=$MOCKGPU FUSESIM_NVRTC_LIB=$MOCKGPU FUSESIM_CUPTI_LIB=$MOCKGPU FUSESIM_NVML_LIB=$MOCKGPU FUSESIM_CUBLAS_LIB=/nonexistent/libcublas.so
export MOCK_SKIP_REPEATS=1 MOCK_MEMORY=130000000
unset COLUMNS FUSESIM_HWMODELS MOCK_FAIL
failures=0

complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 12 err >&2
    failures=$((failures + 1))
}

# The session: its commands are those of files that are there.
session=$SOURCE_DIR/validate/gpu_session.sh
mkdir -p bin
printf '#!/bin/sh\nexit 9\n' >bin/nvidia-smi # a real one would name another device
chmod +x bin/nvidia-smi
FUSESIM=$FUSESIM "$session" --dry-run -o session >plan 2>err || complain 'gpu_session.sh --dry-run'
[ ! -e session ] || complain '--dry-run writes'
head -n 1 plan | grep -q 'calibrate --device cuda' && [ "$(wc -l <plan)" -gt 100 ] || complain 'the plan'
cut -f 3 plan | grep -o '/[^ ]*[.]yaml' | grep /workloads/ | sort -u >paths
while read -r workload; do
    [ -f "$workload" ] || complain "no $workload"
done <paths
for workload in "$SOURCE_DIR"/workloads/seeds/*.yaml; do
    grep -q "^cold.*$workload.*--budget" plan || complain "$workload is not in the plan"
done
[ "$(grep -c '/train	.* --train ' plan)" -ge 8 ] || complain 'no workloads with their gradients in the plan'
PATH=$PWD/bin:$PATH "$session" -o session --budget 200 --only calibrate >out 2>err || true
for result in hardware.yaml probes.json facts.txt summary.tsv; do
    [ -s session/gpu/$result ] || complain "no $result of a session"
done
grep -q '^calibrate	0	' session/gpu/summary.tsv || complain 'summary.tsv'
# products.cu is built and run where it is asked for alone. (cli.carry has a real nvcc build it, where there is one.)
cat >bin/nvcc <<'END'
#!/bin/sh
echo "$*" >>nvcc.log
while [ $# -gt 1 ]; do [ "$1" != -o ] || program=$2; shift; done
printf '#!/bin/sh\necho m,n,k\n' >"$program"
chmod +x "$program"
END
chmod +x bin/nvcc
[ -z "$(grep -l products session/gpu/summary.tsv)" ] || complain 'products of a session that is to calibrate only'
PATH=$PWD/bin:$PATH "$session" -o tiles --hw h100-sxm5-80gb --only products >out 2>err || true
[ "$(cat tiles/*/products.csv)" = m,n,k ] && [ "$(grep -c 'arch=compute_90a.*/products.cu' nvcc.log)" = 1 ] && [ ! -e tiles/h100-sxm5-80gb/products ] || complain "products of a session: $(cat nvcc.log)"
MOCK_FAIL=nodev PATH=$PWD/bin:$PATH "$session" -o nothing >out 2>err
[ $? = 69 ] && grep -q 'no hardware file' err || complain 'a session without a device'
MOCK_FAIL=nodev PATH=$PWD/bin:$PATH "$session" -o nothing --hw h100-sxm5-80gb --only seeds/ >out 2>err
[ $? = 69 ] && grep -q 'three commands in a row found no device' err && [ "$(grep -c seeds/ out)" = 3 ] || complain 'a session that finds no device goes on'
# What a session makes of a program's status: $1, with a report unless that is empty.
cat >bin/program <<'END'
#!/bin/bash
while [ $# -gt 0 ]; do
    [ "$1" != --json ] || [ -z "$REPORT" ] || echo '{}' >"$2"
    [ "$1" != --measured ] || printf 'id,hw\na,b\n' >"$2"
    shift
done
exit "$STATUS"
END
chmod +x bin/program
# pretended STATUS REPORT SESSION-STATUS TEXT
pretended() {
    local status=0
    STATUS=$1 REPORT=$2 FUSESIM=$PWD/bin/program PATH=$PWD/bin:$PATH "$session" -o pretended --hw h100-sxm5-80gb --only cold/golden/ >out 2>err || status=$?
    [ $status = "$3" ] && grep -q "$4" out err || complain "a session of programs that end with $1 and report '$2': $status, $(tail -n 1 out)"
}
pretended 0 yes 0 ' 0 in part, 0 with wrong'
[ "$(wc -l <pretended/h100-sxm5-80gb/measured.csv)" = $(($(grep -c ' left$' out) + 1)) ] || complain 'rows of a session'
pretended 69 yes 0 ' 0 good, .* [1-9][0-9]* in part' # some kernels failed
pretended 69 '' 69 'given up'
pretended 1 yes 1 ' [1-9][0-9]* with wrong results'
pretended 75 yes 75 ' [1-9][0-9]* noisy'

[ $failures = 0 ] || { echo "$failures failures" >&2; exit 1; }
