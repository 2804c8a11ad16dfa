#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 5
# sweep: each point is what `plan` says there; the same bytes from any number of threads, as a table, JSON and CSV; what is wrong is said before any work.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:=python3}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1: $(head -n 5 err)"; fail=1; }
sweep() { "$FUSESIM" sweep "$@" 2>err; }

sweep seeds/chain4 --hw t4,l4 --over N=1024:4096:x2 --over dtype=f16,f32 --over hw.dram_bandwidth=1x,2x --over launch=graph,eager \
    --jobs 1 --json one.json -o points.csv >one.txt && mv points.csv one.csv || complain 'a sweep'
sweep seeds/chain4 --hw t4,l4 --over N=1024:4096:x2 --over dtype=f16,f32 --over hw.dram_bandwidth=1x,2x --over launch=graph,eager \
    --jobs 4 --json four.json -o points.csv >four.txt && mv points.csv four.csv || complain 'a sweep in four threads'
for end in json csv txt; do cmp -s one.$end four.$end || complain "$end differs from four threads"; done
FUSESIM=$FUSESIM "$PYTHON" - <<'END' || complain 'the points are not those of plan'
import csv, json, os, subprocess
found = json.load(open("one.json"))
rows = list(csv.DictReader(open("one.csv")))
points = found["points"]
assert len(points) == len(rows) == 3 * 2 * 2 * 2 * 2, len(points)
assert [a["name"] for a in found["axes"]] == ["N", "dtype", "hw.dram_bandwidth", "launch"] and found["axes"][0]["values"] == ["1024", "2048", "4096"]
assert [p["hardware"] for p in points[:2]] == ["t4", "l4"] and points[0]["at"]["launch"] != points[2]["at"]["launch"]
for p, r in zip(points, rows):
    assert all(r[k] == v for k, v in p["at"].items()) and r["hardware"] == p["hardware"] and float(r["time_s"]) == p["time_s"] and int(r["plan"]) == p["plan"]
for p in points[::7]:
    at = p["at"]
    text = subprocess.run([os.environ["FUSESIM"], "seeds/chain4", "--hw", p["hardware"], "--set", f"N={at['N']}", "--set", f"dtype={at['dtype']}", "--hw-set",
                           f"dram_bandwidth={at['hw.dram_bandwidth']}", "--launch", at["launch"], "--json", "-"], check=True, capture_output=True, text=True).stdout
    plan = json.loads(text)["plans"][0]
    best = next(s for s in plan["strategies"] if s["name"] == "optimal")
    eager = next(s for s in plan["strategies"] if s["name"] == "eager")
    assert (p["time_s"], p["time_low_s"], p["time_high_s"], p["eager_s"], p["kernels"]) == (best["time_s"], best["time_low_s"], best["time_high_s"], eager["time_s"], best["kernels"]), p
END

# A value that the workload refuses is a row with its reason.
sweep bert_layer --hw l4 --over heads=16,7 --set S=128 --json bad.json >out || complain 'a value that the workload refuses'
grep -q "^No plan at 1 point: reshape 'q_split': cannot view" out || complain 'no reason in the text'
grep -q '"hardware": "l4", "reason": "reshape' bad.json || complain 'no reason in JSON'
[ "$(sweep mlp --hw t4 --over M=64:256:x2 --strategy eager --quiet)" = 'mlp on t4: 3 points, 1 distinct plan, 1.00x to 1.00x eager' ] || complain 'one line'
sweep models/tiny_cnn.onnx --hw t4 --over batch=1:4 --quiet >out && grep -q ': 4 points' out || complain 'a model'

# --find: the last value at which the limits hold, and what the next one breaks.
sweep mlp --hw l4,t4 --over H=512,1024 --over M=64:4096:x2 --find M --under time=100us --under fits --json found.json >out || complain '--find'
"$PYTHON" - <<'END' || complain 'what --find says is not so'
import json
d = json.load(open("found.json"))
assert len(d["found"]) == 4
for f in d["found"]:
    along = [p for p in d["points"] if p["hardware"] == f["hardware"] and p["at"]["H"] == f["at"]["H"]]
    held = [p["at"]["M"] for p in along if p["time_s"] <= 100e-6 and p["fits"]]
    assert (f["first"], f["last"], f["meeting"], f["values"]) == (held[0], held[-1], len(held), 7) and 0 < len(held) < 7, f
    after = along[[p["at"]["M"] for p in along].index(held[-1]) + 1]
    assert f["next"] == after["at"]["M"] and f["violates"] == "time" and f["value"] == after["time_s"] > 100e-6, f
END
grep -Eq '^H=512 on t4: M=[0-9]+ is the last that meets the limits, 64 the first; [0-9] of 7 do; at [0-9]+: .* wanted at most 100 us$' out || complain '--find in words'
sweep mlp --hw l4,t4 --over H=512,1024 --over M=64:4096:x2 --find M --under time=100us --under fits --quiet >quiet || complain '--find, quietly'
[ "$(wc -l <quiet)" = 5 ] && [ "$(tail -n 4 quiet)" = "$(grep ' the limits' out)" ] || complain "--quiet swallows what --find found: $(cat quiet)"
sweep mlp --hw t4 --over M=64:256:x2 --find M --under time=1ns >out && grep -q '^t4: no value of M meets the limits; at 64: ' out || complain 'limits that nothing meets'
sweep mlp --hw t4 --over M=64:256:x2 --find M --under speedup=0.5 >out && grep -q '^t4: all values of M meet the limits$' out || complain 'limits that all meet'
sweep mlp --hw t4 --over M=64:256:x2 --find M --under time=98us >out && grep -q '^t4: only M=64 meets the limits, of 3 values; at 128: ' out || complain 'limits that one value meets'

# A table of more than 60 points is cut, and says so and between which times all of them are; --verbose has them all.
sweep mlp --hw t4 --over M=64:6400:64 --json many.json >out || complain 'a hundred points'
[ "$(grep -c '^ *[0-9][0-9]* .* us\|^ *[0-9][0-9]* .* ms' out)" = 60 ] && grep -q '^  and 40 more points (--verbose; -o FILE.csv has all)$' out || complain "a long table: $(tail -n 5 out)"
"$PYTHON" - <<'END' || complain "what a long table leaves out: $(tail -n 3 out)"
import json, re
points = json.load(open("many.json"))["points"]
least, most = (f(points, key=lambda p: p["time_s"])["at"]["M"] for f in (min, max))
assert re.search(rf"\nOf all, the least is \S+ [mu]s at M={least}, the most \S+ [mu]?s at M={most}\.\n", open("out").read()), (least, most)
END
[ "$(sweep mlp --hw t4 --over M=64:6400:64 --verbose | grep -c '^ *[0-9][0-9]* .* us\|^ *[0-9][0-9]* .* ms')" = 100 ] || complain '--verbose'

# Axes that vary together, values that follow from others, and strategies.
sweep bert_layer --hw l4,t4 --over B=1:8:x2 --over strategy=eager,optimal --over S=1024,512,256,128 --over 'heads=max(B, 2)*4/2,16' --zip S,B --json zip.json -o zip.csv >zip.txt ||
    complain 'axes that vary together'
sweep bert_layer --hw l4,t4 --over B=1:8:x2 --over strategy=eager,optimal --over S=1024/B --over 'heads=max(B, 2)*4/2,16' -o computed.csv --quiet >out || complain 'computed values'
cmp -s zip.csv computed.csv || complain 'S=1024/B is not S=1024,512,256,128 beside B=1,2,4,8'
sweep mlp --hw t4 --over M=64:256:x2 --over strategy=eager,optimal -o points.jsonl >out || complain 'JSON lines'
FUSESIM=$FUSESIM "$PYTHON" - <<'END' || complain 'zipped points are not those of plan'
import csv, json, os, subprocess
d = json.load(open("zip.json"))
assert d["strategy"] is None and [a["along"] for a in d["axes"]] == [0, 1, 0, 2] and len(d["points"]) == 4 * 2 * 2 * 2
assert [(p["at"]["B"], p["at"]["S"], p["at"]["strategy"], p["at"]["heads"]) for p in d["points"][:16:2]] == [
    ("1", "1024", "eager", "4"), ("1", "1024", "eager", "16"), ("1", "1024", "optimal", "4"), ("1", "1024", "optimal", "16"),
    ("2", "512", "eager", "4"), ("2", "512", "eager", "16"), ("2", "512", "optimal", "4"), ("2", "512", "optimal", "16")]
for p in d["points"][::5]:
    at = p["at"]
    assert ("gap" in p) == (at["strategy"] == "optimal")
    text = subprocess.run([os.environ["FUSESIM"], "bert_layer", "--hw", p["hardware"], "--strategy", at["strategy"], "--json", "-"] +
                          [w for k in ("B", "S", "heads") for w in ("--set", f"{k}={at[k]}")], check=True, capture_output=True, text=True).stdout
    plan = next(s for s in json.loads(text)["plans"][0]["strategies"] if s["name"] == at["strategy"])
    assert (p["time_s"], p["kernels"]) == (plan["time_s"], plan["kernels"]), (p, plan)
lines = [json.loads(line) for line in open("points.jsonl")]
assert [(p["at"]["M"], p["at"]["strategy"]) for p in lines] == [(m, s) for m in ("64", "128", "256") for s in ("eager", "optimal")]
END
grep -q '^bert_layer: 32 points, ' zip.txt && ! grep -q 'the plan of' zip.txt || complain 'the head of strategies'
sweep mlp --hw t4 --over H=512:4096:x2 --over M=64,128,256,512 --zip H,M --find M --under time=200us >out && grep -Eq '^t4: M=[0-9]+ is the last' out || complain '--find along zipped axes'

# Killed and resumed: no point is lost or comes twice.
many() { "$FUSESIM" sweep mlp --hw l4,t4 --over M=1:150 --quiet "$@" >out 2>err; }
many -o whole.csv || complain 'a sweep with many points'
[ ! -e whole.csv.part ] || complain 'the kept points stay when all is done'
(exec "$FUSESIM" sweep mlp --hw l4,t4 --over M=1:150 --quiet -o killed.csv >out 2>err) & at=$!
for ((i = 0; i < 500; i++)); do [ -s killed.csv.part ] || [ -e killed.csv ] && break; sleep 0.01; done
many -o killed.csv --resume
[ $? = 70 ] && grep -q "another sweep is writing it" err || [ -e killed.csv ] || complain "two sweeps into one file"
for ((i = 0; i < 200; i++)); do
    [ -s killed.csv.part ] && [ "$(wc -l <killed.csv.part)" -gt 20 ] && break
    sleep 0.01
done
kill -9 $at 2>kill.err
wait $at 2>kill.err
if [ -e killed.csv ]; then echo 'too fast to be killed'; else
    printf '12,,0x1p' >>killed.csv.part
    cp killed.csv.part other.csv.part
    many -o killed.csv --resume || complain 'resume'
    cmp -s killed.csv whole.csv || complain 'what was killed and resumed differs'
    many -o other.csv --resume --set H=512
    [ $? = 65 ] && grep -q '^other.csv.part:1:1: error: of another sweep' err && [ ! -e other.csv ] || complain 'resume with other inputs'
    sed -i '12s/.*/7,,1/' other.csv.part
    many -o other.csv --resume
    [ $? = 65 ] && grep -q '^other.csv.part:12:1: error: no point of this sweep' err || complain 'resume from a damaged file'
    many -o other.csv || complain 'anew'
    cmp -s other.csv whole.csv || complain 'what begins anew differs'
fi

# refuses TEXT ARGUMENT...
refuses() {
    local text=$1
    shift
    rm -f none.json none.csv
    sweep "$@" --json none.json -o none.csv >out
    local status=$?
    { [ $status = 2 ] || [ $status = 65 ]; } && grep -q -- "$text" err && [ ! -s out ] && [ ! -e none.json ] && [ ! -e none.csv ] || complain "sweep $*: exit status $status"
}
refuses 'sweep wants --over NAME=VALUES' mlp --hw t4
refuses "has no symbol 'N'" mlp --hw t4 --over N=1,2
refuses "no symbol 'hads'; did you mean 'heads'" bert_layer --hw t4 --over hads=1,2
refuses "'1:x' is no range" mlp --hw t4 --over M=1:x
refuses "'8:1' is no range" mlp --hw t4 --over M=8:1
refuses "'1:8:x1' is no range" mlp --hw t4 --over M=1:8:x1
refuses 'the value 4 comes twice' mlp --hw t4 --over M=1:4,4
refuses 'a value is empty' mlp --hw t4 --over M=1,,2
refuses "names 'M' twice" mlp --hw t4 --over M=1 --over M=2
refuses 'more than 100000 values' mlp --hw t4 --over M=1:9000000000000000000
refuses 'more than 1000000 points' mlp --hw t4 --over M=1:5000 --over H=1:5000
refuses '--over and --set both say M' mlp --hw t4 --set M=8 --over M=1,2
refuses "'grap' is no way to launch.*did you mean 'graph'" mlp --hw t4 --over launch=grap
refuses "dram_bandwith" mlp --hw t4 --over hw.dram_bandwith=1x
refuses "no --over varies 'N'" mlp --hw t4 --over M=1,2 --over H=512,1024 --zip M,N
refuses "'H' has 3 values, 'M' has 2" mlp --hw t4 --over M=1,2 --over H=512,1024,2048 --zip M,H
refuses "'M' is zipped twice" mlp --hw t4 --over M=1,2 --over H=512,1024 --zip M,H --zip H,M
refuses 'wanted two names' mlp --hw t4 --over M=1,2 --zip M
refuses "expression '4/(M-1)': divides by zero" mlp --hw t4 --over M=1,2 --over 'H=4/(M-1)'
refuses "unknown symbol 'H'" mlp --hw t4 --over M=H*2 --over H=512,1024
refuses "'optimum' is no strategy.*did you mean 'optimal'" mlp --hw t4 --over strategy=optimum
refuses "'3/3': wanted I/N" mlp --hw t4 --over M=1,2 --shard 3/3
refuses "'a/3': wanted I/N" mlp --hw t4 --over M=1,2 --shard a/3
refuses "say it to 'fusesim merge'" mlp --hw t4 --over M=1,2 --shard 0/2 --find M --under fits
# Points without a plan are counted; a sweep of nothing else is bad input.
sweep bert_layer --hw l4 --over H=1024,1000 --quiet >out || complain "a point without a plan: $?"
grep -q ': 2 points, 1 without a plan, 1 distinct plan' out || complain "a point without a plan: $(cat out)"
sweep bert_layer --hw l4 --over H=1000,1001 --quiet >out
[ $? = 65 ] && grep -q ', 2 without a plan, 0 distinct plans' out || complain "no point with a plan: $(cat out)"
refuses_resume() { sweep mlp --hw t4 --over M=1,2 --resume >out; [ $? = 2 ] && grep -q -- '--resume belongs to -o' err || complain 'resume without -o'; }
refuses_resume
refuses "no --over varies 'N'" mlp --hw t4 --over M=1,2 --find N --under fits
refuses 'belong together' mlp --hw t4 --over M=1,2 --find M
refuses "--under 'tim=1ms': unknown metric 'tim'; did you mean 'time'" mlp --hw t4 --over M=1,2 --find M --under tim=1ms
refuses 'wanted a file, not stdin' - --hw t4 --over M=1,2
exit $fail
