#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 10
# validate/ci: check.sh passes on the mock GPU and on this CPU, finds a regression against the last good run, and fails closed: no step that fails, is skipped, is not reached or
# writes no report is a pass. The workflow and the job only call it.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:=python3}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS MOCK_FAIL GITHUB_STEP_SUMMARY FUSESIM_CI_ANNOTATE
ci=$SOURCE_DIR/validate/ci
fail=0
complain() { echo "FAILED: $1"; tail -n 12 out err; fail=1; }
bash -n "$ci/check.sh" || complain 'syntax'
! command -v shellcheck >found || shellcheck -S warning "$ci/check.sh" >out || complain 'shellcheck'

# A program that pretends: what FAKE_<command> says is its exit status, and WITHOUT what it does not write.
mkdir -p bin
cat >bin/program <<'END'
#!/bin/bash
command=$1
all=$*
workload=$2
while [ $# -gt 0 ]; do
    case $1 in
    -o | --json | --measured | --markdown | --junit)
        case " ${WITHOUT:-} " in *" $command$1 "*) ;; *)
            case $1 in
            --junit) printf '<?xml version="1.0"?>\n<testsuites>\n  <testsuite name="fusesim" tests="%s" failures="%s" errors="0" skipped="%s" time="0">\n  </testsuite>\n%s\n' \
                "${CASES:-1}" "${FAILURES:-0}" "${SKIPPED:-0}" "${END-</testsuites>}" >"$2" ;;
            *) echo "$command" >"$2" ;;
            esac ;;
        esac ;;
    esac
    shift
done
echo "$all" >>"$COMMANDS"
[ "${SLEEP:-}" != "$command" ] || { touch sleeping; sleep 20; }
[ "${ONLY:-$workload}" = "$workload" ] || exit 0
name=FAKE_${command#--}
exit "${!name:-0}"
END
chmod +x bin/program
export COMMANDS=$PWD/commands
# pretend STATUS TEXT ARGUMENT...: a run into out-ci; TEXT: in its summary or on stderr.
pretend() {
    local status=$1 text=$2
    shift 2
    FUSESIM=$PWD/bin/${PROGRAM:-program} "$ci/check.sh" --device cuda --hw t4 --workload mlp --workload 'seeds/a&b' -o out-ci "$@" >out 2>err
    local found=$?
    [ $found = "$status" ] || complain "$text: status $found, wanted $status"
    grep -q -- "$text" err out-ci/summary.md || complain "no '$text'"
    [ "$status" = 2 ] || [ $found = 0 ] || { [ ! -e out-ci/good ] && grep -q '^## fusesim on t4: failed$' out-ci/summary.md && grep -q '<failure ' out-ci/junit/steps.xml; } || complain "$text: it did not fail closed"
}
pretend 0 '^## fusesim on t4: passed$' --first-run
cp -r out-ci/good base
pretend 0 '^## fusesim on t4: passed$' --base base --diff-gate time=7% --validate-gate mape=9%
grep -q -- '^diff base/plans/mlp.json .* --gate time=7% ' commands && ! grep -q -- '--gate time=3%' commands && grep -q -- '^validate mlp seeds/a&b --device cuda --hw out-ci/hardware.yaml .*--gate mape=9% ' commands || complain 'commands'
grep -q -- '^diff base/trials.json out-ci/trials.json --gate time=10% ' commands || complain 'measurements are compared'
[ "$(grep -c '| passed |' out-ci/summary.md)" = 8 ] && "$PYTHON" -c 'import xml.etree.ElementTree as x, sys; s = x.parse("out-ci/junit/steps.xml").getroot()[0]; sys.exit(len(s) != 8 or s.get("failures") != "0")' || complain 'summary and JUnit of the steps'
GITHUB_STEP_SUMMARY=$PWD/step.md FUSESIM_CI_ANNOTATE=github pretend 0 passed --base base
cmp -s step.md out-ci/summary.md && grep -q '^plan .* --annotate github' commands || complain 'summary and annotations of GitHub'
FAKE_calibrate=69 pretend 1 '^| \*\*calibrate\*\* | \*\*failed: exit status 69' --base base
grep -q '^| validate | passed' out-ci/summary.md || complain 'what does not depend on a failed step is tried'
FAKE_validate=75 pretend 1 'no verdict, the measurements scatter' --base base
FAKE_diff=1 pretend 1 '^| \*\*compare mlp\*\* | \*\*failed: exit status 1' --base base
FAKE_plan=65 ONLY=mlp pretend 1 '^| \*\*compare mlp\*\* | \*\*not reached' --base base
WITHOUT=validate--json pretend 1 'failed: it wrote no trials.json' --base base
WITHOUT=calibrate-o pretend 1 'failed: it wrote no hardware.yaml' --base base
WITHOUT=diff--junit pretend 1 'failed: diff-mlp.xml lacks, or has a check' --base base
SKIPPED=1 pretend 1 'validate.xml lacks, or has a check that failed or was skipped' --base base
FAILURES=1 pretend 1 'validate.xml lacks' --base base
CASES=0 pretend 1 'validate.xml lacks' --base base
END='' pretend 1 'validate.xml lacks' --base base
pretend 1 'failed: the last good run has none' --base nowhere
rm base/plans/mlp.json
pretend 1 '^| \*\*compare mlp\*\* | \*\*failed: the last good run has none' --base base
cp out-ci/plans/mlp.json base/plans/
mv base/trials.json kept
pretend 1 '^| \*\*compare measurements\*\* | \*\*failed: the last good run has none' --base base
mv kept base/trials.json
rm -f sleeping
SLEEP=validate FUSESIM=$PWD/bin/program setsid "$ci/check.sh" --device cuda --hw t4 --workload mlp -o out-ci --base base >out 2>err & at=$!
for ((i = 0; i < 200; i++)); do [ -e sleeping ] && break; sleep 0.05; done
kill -TERM -- -$at # as CI ends a job: all of its processes
wait $at
[ $? = 1 ] && grep -q '^## fusesim on t4: failed$' out-ci/summary.md && grep -q 'not reached' out-ci/summary.md && [ ! -e out-ci/good ] || complain 'an interrupted run'
PROGRAM=none pretend 1 '^| \*\*build\*\* | \*\*failed' --base base
for bad in '--base out-ci/good' '--base base --first' '' '--base' '--base base --device tpu'; do
    FUSESIM=$PWD/bin/program "$ci/check.sh" --device cuda --hw t4 -o out-ci $bad >out 2>err
    [ $? = 2 ] && grep -q '^check.sh: ' err && grep -q -- '--device cuda|cpu --hw NAME' err || complain "usage: $bad"
done
mkdir -p precious && touch precious/file
FUSESIM=$PWD/bin/program "$ci/check.sh" --device cuda --hw t4 --first-run -o precious >out 2>err
[ $? = 2 ] && [ -e precious/file ] || complain 'a folder that is not its own is emptied'

# The real program on this CPU, then on the mock GPU; there against a good run whose plan was twice as fast.
cat >small.yaml <<'END'
tensors: {x: {shape: [64, 256], dtype: f32}, b: {shape: [256], dtype: f32}}
operators:
  - {op: add, in: [x, b], out: s}
  - {op: relu, in: s, out: y}
outputs: [y]
END
export FUSESIM_CACHE=$PWD/cache SOURCE_DATE_EPOCH=86400
cat >bin/single <<END # on one thread: it takes half as much of the processors, and no figure is asked for
#!/bin/bash
case \$1 in calibrate | validate) set -- "\$@" --threads 1 ;; esac
exec "$FUSESIM" "\$@"
END
chmod +x bin/single
FUSESIM=$PWD/bin/single "$ci/check.sh" --device cpu --hw host --workload small.yaml --budget 0.2 --validate-gate mape=100000% -o cpu --first-run >out 2>err
status=$?
if grep -q 'scatter too much' cpu/summary.md; then echo 'other processes have the CPU: no verdict'; else [ $status = 0 ] && [ -s cpu/good/plans/small.yaml.json ] && grep -q 'agree with the reference' cpu/summary.md || complain 'on the CPU'; fi
if [ -e "${MOCKGPU:-/nonexistent}" ]; then
    export FUSESIM_CUDA_LIB=$MOCKGPU FUSESIM_NVRTC_LIB=$MOCKGPU FUSESIM_CUPTI_LIB=$MOCKGPU FUSESIM_NVML_LIB=$MOCKGPU FUSESIM_CUBLAS_LIB=/nonexistent/libcublas.so
    export MOCK_SKIP_REPEATS=1 MOCK_MEMORY=130000000
    gpu() { "$ci/check.sh" --device cuda --hw h100-sxm5-80gb --workload small.yaml --budget 1 --validate-gate mape=100000% -o gpu "$@" >out 2>err; }
    gpu --first-run || complain 'on the mock GPU'
    cp -r gpu/good good
    "$PYTHON" - <<'END'
import json
d = json.load(open("good/plans/small.yaml.json"))
for k in d["plans"][0]["plan"]["kernels"]:
    k["time_s"] /= 2
json.dump(d, open("good/plans/small.yaml.json", "w"))
END
    gpu --base gpu/good --budget 4 2>err
    [ $? = 2 ] || complain 'a base in the folder that is emptied'
    gpu --base good --measured-gate time=100000%
    grep -q '^| compare measurements | passed' gpu/summary.md && grep -q '^| \*\*compare small.yaml\*\* | \*\*failed' gpu/summary.md || complain 'measurements against those of the last good run'
    MOCK_FAIL=nodev gpu --base good
    [ $? = 1 ] && grep -q '^| \*\*calibrate\*\* | \*\*failed: exit status 69' gpu/summary.md && grep -q '^| \*\*validate\*\* | \*\*failed: exit status 69' gpu/summary.md &&
        grep -q '^| \*\*compare small.yaml\*\* | \*\*failed: exit status 1' gpu/summary.md && grep -q '^- gate `time=3%` \*\*fails\*\*: 100 %' gpu/summary.md || complain 'no device, and a plan that became slower'
fi

# The workflow, the job and the image call the script that there is, with the options that it has.
for file in github.yml gitlab.yml; do
    grep -q 'validate/ci/check.sh --device cuda --hw "$FUSESIM_CI_HW" -o ci-out .*--first-run.*--base ci-base' "$ci/$file" && grep -q 'ci-out/good ci-base' "$ci/$file" || complain "$file"
done
grep -q '"/fusesim/validate/ci/check.sh"' "$ci/Dockerfile" || complain 'the entry of the image'
for package in $(sed -n 's/^ *needed="\(.*\)"$/\1/p' "$SOURCE_DIR/run"); do
    grep -q "[ ]$package\( \|$\)" "$ci/Dockerfile" || complain "the image lacks $package"
done
"$PYTHON" - "$ci" <<'END' || complain 'the YAML of the workflow or the job'
import sys
try:
    import yaml
except ImportError:
    sys.exit(0)
w = yaml.safe_load(open(sys.argv[1] + "/github.yml"))
steps = w["jobs"]["gpu"]["steps"]
check = next(i for i, s in enumerate(steps) if "check.sh" in s.get("run", ""))
assert not any("continue-on-error" in s for s in steps) and "if" not in steps[check]
assert any(s.get("uses", "").startswith("actions/upload-artifact") and s["if"] == "always()" for s in steps[check:])
assert all("success()" in s["if"] for s in steps if "cache/save" in s.get("uses", "") or "ci-out/good" in s.get("run", ""))
job = yaml.safe_load(open(sys.argv[1] + "/gitlab.yml"))["fusesim-gpu"]
assert "allow_failure" not in job and job["cache"]["when"] == "on_success" and job["artifacts"]["when"] == "always" and "check.sh" in job["script"][0]
END
exit $fail
