#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# calibrate --device cuda on the mock GPU: a hardware file that passes the checks; each fault has its message and status and leaves no file.
# depends: memory cost: 8
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

# fails NAME STATUS TEXT VARIABLE=VALUE...: in a folder of its own.
fails() {
    local name=$1 status=$2 text=$3 got
    shift 3
    mkdir -p "$name"
    (cd "$name" && env "$@" "$FUSESIM" calibrate --device cuda --hw h100-sxm5-80gb -o new.yaml --json probes.json >out 2>err)
    got=$?
    cp "$name/err" err
    [ $got = "$status" ] || complain "$name: status $got, wanted $status"
    grep -q "$text" err || complain "$name: no '$text'"
    [ ! -e "$name/new.yaml" ] || complain "$name: left a hardware file"
    [ "$status" = 75 ] || [ ! -e "$name/probes.json" ] || complain "$name: left probes.json"
    [ "$(find "$name" -type f | wc -l)" -le 3 ] || complain "$name: left something: $(ls "$name")"
}

# What is wrong with the command line.
"$FUSESIM" calibrate --device cuda --threads 2 -o new.yaml >out 2>err
[ $? = 2 ] && grep -q 'takes no workload' err || complain '--threads with cuda'
"$FUSESIM" calibrate --device cuda -o "$SOURCE_DIR/hwmodels/none.yaml" >out 2>err
[ $? = 2 ] && grep -q "a shipped hardware file's place" err || complain 'a shipped file is overwritten'
"$FUSESIM" calibrate --device cuda --hw mi300x -o new.yaml >out 2>err
[ $? = 65 ] && grep -q 'is no NVIDIA GPU but gfx942' err || complain 'an AMD GPU'
"$FUSESIM" calibrate --device cuda --hw no-such-gpu -o new.yaml >out 2>err
[ $? = 66 ] || complain 'an unknown GPU'
[ ! -e new.yaml ] || complain 'a file after an error'

# Nothing to measure with.
fails driver 69 'could not be loaded from' FUSESIM_CUDA_LIB=/nonexistent/libcuda.so
fails compiler 69 'could not be loaded from' FUSESIM_NVRTC_LIB=/nonexistent/libnvrtc.so
fails nodev 69 'finds no GPU' MOCK_FAIL=nodev
fails stub 69 'is the stub that programs are linked with' MOCK_FAIL=stub
fails oom 69 'out of device memory' MOCK_FAIL=oom MOCK_MEMORY=1000000
fails old 69 'sm_50\|does not compile for' MOCK_SM=50

# The device is lost on the way, and not torn down: what the driver held leaks, by design. One that hangs is waited for in the background.
(mkdir -p apart && cd apart && failures=0; fails hang 69 'hangs, and the device is given up' MOCK_FAIL=hang MOCK_FAIL_KERNEL=probe_scale; echo $failures >../hanging) & # its number may be another's by the time it is waited for
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 fails launch 69 'unspecified launch failure' MOCK_FAIL=launch MOCK_FAIL_KERNEL=probe_read
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 fails late 69 'unspecified launch failure' MOCK_FAIL=launch MOCK_FAIL_KERNEL=probe_mma_i8
fails noise 75 'figures scatter by more than 10 %' MOCK_FAIL=noise
grep -q '"noisy": true' noise/probes.json && grep -q 'scatters' noise/out || complain 'noise: the report'

# What works without: sensors, counters, a third of the records; without any records times are by events, and an empty kernel's is not known.
mkdir -p events
(cd events && MOCK_FAIL=profiler,perm,nonvml "$FUSESIM" calibrate --device cuda --hw h100-sxm5-80gb -o new.yaml >out 2>../err) || complain 'without records, counters and sensors'
grep -q '^not written: kernel_floor: CUDA events' events/out && grep -q '^power and temperature: NVML does not start' events/out || complain 'what is missing is said'
"$FUSESIM" hw check events/new.yaml >out 2>err || complain 'hw check without records'
mkdir -p bad
(cd bad && MOCK_FAIL=badts "$FUSESIM" calibrate --device cuda --hw h100-sxm5-80gb -o new.yaml >out 2>../err)
case $? in 0 | 75 | 69) ;; *) complain 'records without times' ;; esac

# All well: the shipped file of the device is found.
"$FUSESIM" calibrate --device cuda -o new.yaml --json probes.json >report 2>err || complain 'calibrate --device cuda'
[ ! -s err ] || complain 'something on stderr'
"$FUSESIM" hw check new.yaml >out 2>err || complain 'hw check'
grep -q '^# Measured by: fusesim calibrate --device cuda, Mock H100, driver 580.00.mock, CUDA 13.0, .* (1970-01-02)$' new.yaml || complain 'the head'
grep -q '^name: h100-sxm5-80gb$' new.yaml || complain 'the name'
grep -Eq '^dram_bandwidth: .*peak: 3352 GB/s, achieved: [0-9.]+ GB/s, spread: .*data sheet; achieved measured: fusesim calibrate --device cuda, copy of .*, 1970-01-02"' new.yaml || complain 'dram_bandwidth'
[ "$(grep '^launch_eager:' new.yaml)" = "$(grep '^launch_eager:' "$SOURCE_DIR/hwmodels/h100-sxm5-80gb.yaml")" ] || complain 'a key that is not measured changed'
grep -q 'written to new.yaml$' report && grep -q '^copy  ' report || complain 'the report'
SCHEMA=$SOURCE_DIR/reports/schema/probes.schema.json "$python" - <<'END' || complain 'probes.json'
import json, os
p = json.load(open("probes.json"))
try: import jsonschema
except ImportError: jsonschema = None
if jsonschema: jsonschema.Draft202012Validator(json.load(open(os.environ["SCHEMA"]))).validate(p)
of = {q["name"]: q for q in p["probes"]}
assert p["hardware"] == "h100-sxm5-80gb" and p["device"]["sms"] == 132 and "uuid" not in p["device"]
assert abs(of["FFMA"]["median"] - 128) < 1e-6 and abs(of["empty kernel"]["median"] / 2.01e-6 - 1) < 0.01
assert 2.9e-6 < of["launch in a stream"]["median"] < 3.1e-6 and of["FFMA, all SMs"]["samples"] == 0
assert all(q["low"] <= q["median"] <= q["high"] for q in p["probes"] + p["sizes"] if q["samples"])
size = {q["name"]: q for q in p["sizes"]}["copy 1 MiB, cold"]
assert abs(size["median"] * (2e-6 + 2 * size["bytes"] / 3e12) / (2 * size["bytes"]) - 1) < 0.02
assert [s["load"] for s in p["sensors"]] == [None, "multiply-adds", "tensor cores", "copies"] and p["sensors"][1]["power_w"] == 345
END
"$FUSESIM" "$SOURCE_DIR/workloads/seeds/chain4.yaml" --hw ./new.yaml >out 2>err || complain 'a prediction with it'

# A device that no file is of; the file on stdout.
MOCK_SM=100 "$FUSESIM" calibrate --device cuda -o - >fresh.yaml 2>report || complain 'a new file'
"$FUSESIM" hw check fresh.yaml >out 2>err || complain 'hw check of the new file'
grep -q '^name: mock-h100$' fresh.yaml && grep -q '^architecture: sm_100$' fresh.yaml || complain 'name and architecture of the new file'

wait
failures=$((failures + $(cat hanging)))
[ $failures = 0 ] || { echo "$failures failures" >&2; exit 1; }
