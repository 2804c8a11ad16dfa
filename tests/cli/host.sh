#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# calibrate --device cpu writes a hardware file that passes the checks and that predictions take; what it measures is not asserted.
# depends: once cost: 6
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C SOURCE_DATE_EPOCH=86400 FUSESIM_CACHE=${FUSESIM_CACHE:-$PWD/cache}
unset COLUMNS FUSESIM_HWMODELS
command -v "${CC:-cc}" >/dev/null || { echo "no C compiler"; exit 77; }
failures=0

complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 12 err >&2
    failures=$((failures + 1))
}

COLUMNS=80 "$FUSESIM" calibrate --device cpu -o mine.yaml >out 2>err || complain 'calibrate --device cpu'
grep -Eq '^copy +[0-9.]+ GB/s' out && grep -Eq '^[1-9][0-9]* keys measured; a new file, written to mine.yaml$' out || complain 'the report'
head -n 1 mine.yaml | grep -Eq '^# Measured by: fusesim calibrate --device cpu, .* \(1970-01-02\)$' || complain 'the head'
grep -Eq '^clock +[0-9]+ MHz +[0-9]+ MHz' out || complain 'a clock has a fraction of a MHz'
[ -z "$(awk 'length > 80 && !/written to/' out)" ] || complain "lines wider than 80: $(awk 'length > 80' out)"
"$FUSESIM" hw check mine.yaml >out 2>err || complain 'hw check of what was measured'
grep -q '^name: mine$' mine.yaml && grep -q '^architecture: host$' mine.yaml || complain 'name and architecture'
grep -q '^dram_bandwidth: .*measured: fusesim calibrate --device cpu, .*copy with plain stores.*, 1970-01-02, [0-9]* threads' mine.yaml || complain 'a source'
"$FUSESIM" "$SOURCE_DIR/workloads/seeds/chain4.yaml" --hw ./mine.yaml >out 2>err || complain 'a prediction with it'

# A file's own lines stay; those measured are replaced; fewer threads; the file on stdout, the report on stderr.
sed -i '/^sms:/d; s/^l2_latency.*//' mine.yaml
echo 'l2_latency: {value: 15 ns, source: "mine"}' >>mine.yaml
"$FUSESIM" calibrate --device cpu --hw mine.yaml --threads 1 -o - >again.yaml 2>err
[ $? = 65 ] || complain 'a file without sms is refused'
echo 'sms: {value: 7, source: "mine"}' >>mine.yaml
"$FUSESIM" calibrate --device cpu --hw mine.yaml --threads 1 --json probes.json -o - >again.yaml 2>err || complain 'calibrate --hw'
grep -q '^l2_latency: {value: 15 ns, source: "mine"}$' again.yaml || complain 'lines that are not measured stay'
grep -Eq '^sms: +\{value: 1,' again.yaml && [ "$(grep -c '^sms:' again.yaml)" = 1 ] || complain 'lines that are measured are replaced'
[ "$(grep -c '^# Measured by' again.yaml)" -le 2 ] || complain 'the head grows'
"$FUSESIM" hw check again.yaml >out 2>err || complain 'hw check of the changed file'
"$python" -c '
import json, os
p = json.load(open("probes.json"))
try: import jsonschema
except ImportError: jsonschema = None
if jsonschema: jsonschema.Draft202012Validator(json.load(open(os.environ["SOURCE_DIR"] + "/reports/schema/probes.schema.json"))).validate(p)
assert p["device"]["threads"] == 1 and p["hardware"] == "mine" and p["sizes"] and not p["sensors"] and {"copy", "exp", "dispatch"} <= {q["name"] for q in p["probes"]} and all(q["low"] <= q["median"] <= q["high"] for q in p["probes"])' || complain '--json'

# A machine that cannot compile.
CC=no-such-compiler "$FUSESIM" calibrate --device cpu -o none.yaml >out 2>err
[ $? = 69 ] && grep -q "no C compiler: tried 'no-such-compiler'" err && [ ! -e none.yaml ] || complain 'no compiler: status 69, no file'

[ $failures = 0 ] || { echo "$failures failures" >&2; exit 1; }
