#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 1
# --gate of plan: every metric holds and fails, for one GPU and for several, as text, JSON, JUnit and Markdown; the grammar, which all commands share, and what is no gate.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1"; fail=1; }
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1: $(head -n 40 "$1")"; }
# exits STATUS ARGUMENT...
exits() {
    local wanted=$1 status=0
    shift
    "$FUSESIM" "$@" >out 2>err </dev/null || status=$?
    [ $status = "$wanted" ] || complain "exit status $status, wanted $wanted: $*: $(cat err)"
}

# Each metric on both sides of what the JSON says.
exits 0 mlp --hw t4 --json -
"$python" - <<'END' >limits || complain 'no figures'
import json
p = json.load(open("out"))["plans"][0]
s = {x["name"]: x for x in p["strategies"]}
for group, name in (("", "optimal"), ("eager:", "eager"), ("t4/inductor:", "inductor")):
    x = s[name]
    figures = {"time": (x["time_s"] * 1e6, "us", -1), "speedup": (x["speedup"], "", 1), "memory": (x["peak_memory_bytes"], "B", -1),
               "bytes": (x["dram_read_bytes"] + x["dram_write_bytes"], "B", -1), "kernels": (x["kernels"], "", -1)}
    if name != "optimal":
        figures["over_optimum"] = (100 * x["over_optimum"], "%", -1)
        figures["gap"] = (100 * (1 - s["optimal"]["time_s"] / x["time_s"]), "%", -1)
    for metric, (value, unit, sign) in figures.items():
        held, failed = (value * (1 - sign * 1e-6), value * (1 + sign * 1e-6)) if unit != "B" and metric != "kernels" else (value, value - 1)
        if unit == "B":
            print(f"{group}{metric}={held:.0f}{unit} {group}{metric}={failed:.0f}{unit}")
        else:
            print(f"{group}{metric}={held:.9g}{unit} {group}{metric}={failed:.9g}{unit}")
print("proven eager:proven")
END
[ "$(wc -l <limits)" = 20 ] || complain "not every metric is tried: $(cat limits)"
while read -r held failed; do
    exits 0 mlp --hw t4 --gate "$held"
    has out "^gate $held holds: "
    exits 1 mlp --hw t4 --gate "$failed"
    has out "^gate $failed fails: "
    has err "^fusesim: error: gate $failed failed: "
done <limits

# Several GPUs: a gate means every one, or the one that it names. All forms of the report have each with its value.
exits 1 mlp --hw t4,l4 --gate time=1.5ms --gate l4:speedup=1.2x --gate t4/optimal:proven --json gates.json --junit gates.xml --markdown gates.md
has out '^t4: gate time=1.5ms fails: 1.89 ms, wanted at most 1.50 ms$'
has out '^l4: gate l4:speedup=1.2x holds: 1\.2[0-9]+x, wanted at least 1.2x; not sure: 1\.[01][0-9]x to 1\.[34][0-9]x in eight of ten cases$'
has err '^fusesim: error: t4: gate time=1.5ms failed: 1.89 ms, wanted at most 1.50 ms$'
[ "$(grep -c 'gate' err)" = 1 ] || complain "more than the one gate: $(cat err)"
has gates.md '^- t4: gate `time=1.5ms` \*\*fails\*\*: 1.89 ms, wanted at most 1.50 ms$'
"$python" - <<'END' || complain "gates.json or gates.xml: $(cat gates.xml)"
import json, xml.etree.ElementTree as xml
plans = json.load(open("gates.json"))["plans"]
assert [[(g["gate"], g["passed"]) for g in p["gates"]] for p in plans] == [[("time=1.5ms", False), ("t4/optimal:proven", True)], [("time=1.5ms", True), ("l4:speedup=1.2x", True)]]
assert all(g["value"] == p["strategies"][2]["time_s"] and g["limit"] == 1.5e-3 and g["metric"] == "time" for p in plans for g in p["gates"][:1])
suite = xml.parse("gates.xml").getroot()[0]
assert (suite.get("tests"), suite.get("failures")) == ("6", "1") and len(suite.findall("testcase")) == 6 and len(suite.findall("testcase/failure")) == 1
END
exits 0 mlp --hw t4 --junit -
has out '<testcase classname="fusesim.plan" name="mlp/t4" time="0"><system-out>optimal takes 1.89 ms in 2 kernels, '
exits 1 seeds/two_consumers --hw t4 --memory-limit 192MiB --strategy unfused --junit -
has out '<failure type="memory"'
has out '<testsuite [^>]*failures="1"'
exits 0 "$SOURCE_DIR/workloads/mlp.yaml" --hw "$SOURCE_DIR/tests/hw/toy.yaml" --gate toy:proven
exits 1 mlp --hw t4 --gate xla:time=1s
has out '^gate xla:time=1s fails: no plan of xla was made$'
exits 1 mlp --hw t4 --gate xla:proven
has out '^gate xla:proven fails: no plan of xla was made$'

# A gate names a GPU as --hw does, as the report does, or by its family, where --hw has one of it.
for group in l4 L4 nvidia-a100 a100 A100 a100-sxm4-80gb A100-80gb/optimal; do
    exits 0 mlp --hw NVIDIA-A100,l4 --gate $group:time=1s
    [ "$(grep -c "^\(l4\|a100-sxm4-80gb\): gate $group:time=1s holds" out)" = 1 ] || complain "--gate $group:time=1s: $(cat out err)"
done
exits 2 mlp --hw a100-sxm4-40gb,a100-sxm4-80gb --gate a100:time=1s
has err "'a100' is more than one GPU of --hw; --hw has a100-sxm4-40gb, a100-sxm4-80gb$"
exits 2 mlp --hw a100-sxm4-40gb,l4 --gate h100:time=1s
has err "'h100' is no strategy and no GPU of --hw; --hw has a100-sxm4-40gb, l4$"

# What is no gate, in every command by the same words.
for gate in "spedup=2 unknown metric 'spedup'; did you mean 'speedup'. .plan has time=5ms, " "time wants a limit: time=5ms" "time= wanted .GROUP:.METRIC=LIMIT; plan has" ":time=1s wanted .GROUP:.METRIC=LIMIT" \
    "=1 wanted .GROUP:.METRIC=LIMIT" "proven=1 proven has no limit" "time=5GB '5GB' is bytes, wanted a time" "time=5 has no unit" "memory=-3GiB '-3GiB' is negative" "gap=x 'x' is no limit, wanted e.g. 10%" "kernels=40x '40x' is no limit, wanted e.g. 40" \
    "speedup=10% '10%' is no limit, wanted e.g. 1.2" "gap=5 '5' is a share above 1: write 5%, or 500% if that is meant" "egaer:time=1s 'egaer' is no strategy and no GPU of --hw; did you mean 'eager'" "l4:time=1s 'l4' is no strategy and no GPU of --hw"; do
    exits 2 mlp --hw t4 --gate "${gate%% *}"
    has err "${gate#* }"
done
exits 2 validate --measurements "$SOURCE_DIR/tests/measured/toy.csv" --gate spedup=2
has err "unknown metric 'spedup'; did you mean 'speedup'. .validate --measurements has mape=10%, "
exits 2 validate mlp --device cpu --gate regert=2%
has err "unknown metric 'regert'; did you mean 'regret'. .validate --device has mape=10%, bytes=10%, regret=10%.$"
exits 2 validate mlp --device cpu --gate eager:regret=2%
has err 'limits of validate --device have no group; wanted e.g. regret=10%'
exits 2 validate mlp --hw t4 --registers --gate spils=2
has err "unknown metric 'spils'; did you mean 'spills'. .validate --registers has class=90%, "

# --help lists them.
exits 0 plan --help
for word in 'plan; GROUP: ' 'proven +no legal plan'; do has out "^ +$word"; done
! grep -q regret out || complain 'plan --help has gates of validate'
exits 0 validate --help
for word in 'validate --measurements; GROUP' 'regret=10% +at most' 'class=90% +at least'; do has out "^ +$word"; done
exit $fail
