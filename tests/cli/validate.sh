#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --measurements: text, JSON, Markdown, JUnit and charts of tests/measured/toy.csv, whose numbers are made up; gates; the same bytes from any number of threads.
# depends: memory cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C FUSESIM_HWMODELS=$SOURCE_DIR/tests/hw
unset COLUMNS NO_COLOR FUSESIM_GNUPLOT
fail=0
complain() { echo "FAILED: $1"; fail=1; }
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1: $(head -n 60 "$1")"; }
hasnt() { ! grep -Eq -- "$2" "$1" || complain "'$2' in $1"; }
measured=$SOURCE_DIR/tests/measured
validate() { "$FUSESIM" validate --measurements "$measured/toy.csv" --workload-root "$measured/workloads" "$@"; }
# exits STATUS ARGUMENT...
exits() {
    local wanted=$1 status=0
    shift
    validate "$@" >out 2>err || status=$?
    [ $status = "$wanted" ] || complain "exit status $status, wanted $wanted: $*: $(cat err)"
}

# Text.
exits 0
[ -s err ] && complain "something on stderr: $(cat err)"
has out '^.*toy\.csv: 13 rows \(and 2 excluded\), mean error [0-9.]+ %, median [0-9.]+ %, p90 [0-9.]+ %, bias [+-][0-9.]+ %; [0-9]+ % lie within the 80 % intervals$'
has out '^hw +class +strategy +rows +mean % +median +p90 +bias +in 80 % +excluded$'
has out '^toy +elementwise +eager +4 .* 1$'
has out '^t4 +matmul +inductor +1 '
has out '^toy +seeds +inductor +1 '
has out '^Furthest off'
has out '^relu/3, too fast +12 ms .*faster than the memory bus allows$'
has out '^many/host .*host-bound$'
has out '^toy\.csv +15 +2 +13\.3 +1 +1( +0){7}$'
has out '^helps +[0-9]+ +[0-9]+ +[0-9]+$'
hasnt out '^Gates'
exits 0 --no-exclude
has out 'toy\.csv: 15 rows, mean'
hasnt out '^Excluded'
exits 0 --by class,hw --top 2
has out '^class +hw +rows '
[ "$(sed -n '/^Furthest/,/^Excluded/p' out | grep -c ' %$')" = 2 ] || complain "--top 2: $(cat out)"
exits 0 --by all
has out '^all +13 '
for width in 80 120; do
    COLUMNS=$width exits 0 --gate mape=1000%
    [ "$(awk 'length > n { n = length } END { print n }' out)" -le $width ] || complain "wider than $width: $(awk -v w=$width 'length > w' out)"
done
exits 0 --match relu/ --match mlp
has out 'toy\.csv: 6 rows \(and 1 excluded\)'
exits 0 --class softmax
has out 'toy\.csv: [0-9]+ rows?( \(and [0-9]+ excluded\))?, mean'
hasnt out '^(toy|t4) +(elementwise|matmul|seeds|network) '
exits 0 --class elementwise,matmul --above 2ms --json above.json
"$python" -c 'import json; d = json.load(open("above.json"))["rows"]; assert d and all(r["measured_s"] > 2e-3 and r["class"] in ("elementwise", "matmul") for r in d)' || complain '--above 2ms lets others in'
exits 2 --class sofmax
has err "did you mean 'softmax'"
exits 2 --above 3
has err "^fusesim: error: --above: '3' has no unit"
exits 65 --above 1000s
has err 'no row is left by --class and --above'
exits 0 --hw t4
has out 'toy\.csv: 5 rows \(and 1 excluded\)'
hasnt out '^toy '
exits 0 --hw "$SOURCE_DIR/tests/hw/toy.yaml" --match relu/1
has out 'toy\.csv: 1 row, mean'
cp out before
exits 0 --hw "$SOURCE_DIR/tests/hw/toy.yaml" --match relu/1 --hw-set dram_bandwidth=0.5x
cmp -s out before && complain '--hw-set changed nothing'
cp out before
exits 0 --match relu/1 --hw-set dram_bandwidth=0.5x # of GPUs that only the rows name, too
cmp -s out before || complain "--hw-set without --hw: $(diff before out)"

# Files, all at once; several measurements at once.
head -n 3 "$measured/toy.csv" | sed 's/relu/again/; s/\r*$/\r/' >crlf.csv
exits 0 --measurements crlf.csv --json all.json --markdown all.md --junit all.xml --by hw --gate softmax:rows=2 --gate inductor:rank=0
has out '^2 files: 15 rows \(and 2 excluded\)'
has out '^crlf\.csv +2 +0 +0\.0( +0){9}$'
has all.md '^\| hw +\| rows \| mean % \| median \| p90 \| bias \| in 80 % \| excluded \|'
has all.md '^### Speedups over eager'
has all.md 'relu/3, too fast .*faster than the memory bus allows'
has all.md '^\| softmax:rows=2 \| passed \|'
exits 0 --json -
"$python" -c 'import json, sys; json.load(open("out"))' || complain '--json - is no JSON'
exits 0 --markdown -
has out '^## Predicted against measured'

# Gates.
exits 1 --gate mape=0.1% --gate toy/elementwise:mape=1000% --gate t4/seeds/chain4:median=5% --gate ops/softmax:p90=1e11% --json gates.json --junit gates.xml --markdown gates.md
has err '^fusesim: error: gate mape=0\.1% failed: [0-9.]+ % of 13 rows, wanted at most 0\.1 %$'
has err "^fusesim: error: gate t4/seeds/chain4:median=5% failed: meets no row$"
[ "$(wc -l <err)" = 2 ] || complain "more than the two gates on stderr: $(cat err)"
has out '^mape=0\.1% +FAILED +[0-9.]+ % of 13 rows, wanted at most 0\.1 %$'
has out '^toy/elementwise:mape=1000% +passed '
exits 1 --gate network:mape=100%
has err 'gate network:mape=100% failed: meets no row' # its one row is excluded
exits 1 --gate norm:bias=100%
exits 1 --gate xla:verdict=0
has err 'meets no pair'
exits 1 --gate rank=2 --json - --junit also.xml
exits 2 --gate sofmax:mape=1%
has err "did you mean 'softmax'"
exits 2 --gate softmax:maep=1%
has err "did you mean 'mape'"
exits 2 --by clas
exits 2 --junit x.xml --json x.xml
exits 2 --json nowhere/x.json
[ -s out ] && complain 'a report in spite of a file that cannot be written'

"$python" - <<'EOF' || fail=1
import csv, json, math, os, sys, xml.etree.ElementTree as xml
bad = 0
def complain(what):
    global bad
    bad += 1
    print("FAILED:", what)
def near(a, b): return (a is None and b is None) or (a is not None and b is not None and abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)))
def quantile(x, q):
    x = sorted(x); at = q * (len(x) - 1); i = int(at)
    return x[i] + (at - i) * (x[min(i + 1, len(x) - 1)] - x[i])
def stats(errors):
    if not errors: return [0, None, None, None, None]
    size = [abs(e) for e in errors]
    return [len(errors), sum(size) / len(size), quantile(size, .5), quantile(size, .9), sum(errors) / len(errors)]
def same(group, rows, what):
    errors, inside = [r["error"] for r in rows], [r["time_low_s"] <= r["measured_s"] <= r["time_high_s"] for r in rows]
    if not near(group["coverage"], sum(inside) / len(inside) if inside else None): complain(f"{what}: coverage is {group['coverage']}")
    for key, wanted in zip(("rows", "mape", "median", "p90", "bias"), stats(errors)):
        if not near(group[key], wanted): complain(f"{what}: {key} is {group[key]}, wanted {wanted}")
def ranks(x): return [sum(b < a for b in x) + (sum(b == a for b in x) - 1) / 2 for a in x]
def spearman(x, y):
    x, y = ranks(x), ranks(y); m = (len(x) - 1) / 2
    xx = sum((a - m) ** 2 for a in x); yy = sum((a - m) ** 2 for a in y)
    return sum((a - m) * (b - m) for a, b in zip(x, y)) / math.sqrt(xx * yy) if xx * yy else None

d = json.load(open("all.json"))
with open(os.environ["SOURCE_DIR"] + "/tests/measured/toy.csv", newline="") as file:
    rows = list(csv.DictReader(file))
if [r["id"] for r in d["rows"]] != [r["id"] for r in rows] + ["again/1", "again/2"]: complain("rows are missing, or in another order")
for r, wanted in zip(d["rows"], rows):
    if r["measured_s"] != float(wanted["time_s"]) or not near(r["error"], r["predicted_s"] / r["measured_s"] - 1): complain(f"{r['id']}: its times")
    if not near(sum(r["time"].values()), r["predicted_s"]) or r["time"][r["bound"]] != max(r["time"].values()): complain(f"{r['id']}: its terms")
kept = [r for r in d["rows"] if "excluded" not in r]
if {r["id"]: r["excluded"] for r in d["rows"] if "excluded" in r} != {"relu/3, too fast": "faster than the memory bus allows", "many/host": "host-bound"}: complain("other rows are excluded")
for name, keys in (("groups", ("hw", "workload")), ("classes", ("hw", "class", "strategy")), ("files", ("file",)), ("overall", ()), ("by", ("hw",))):
    for g in d[name]: same(g, [r for r in kept if all(r[k] == g[k] for k in keys)], name)
    if sum(g["rows"] for g in d[name]) != len(kept) or sum(g["excluded"] for g in d[name]) != 2: complain(f"{name} do not hold all rows")
by_id = {r["id"]: r for r in d["rows"]}
pairs = {p["other"]: p for p in d["pairs"]}
if {k: p["eager"] for k, p in pairs.items()} != {"chain/inductor": "chain/eager", "mlp/inductor": "mlp/eager", "relu/inductor": "relu/1", "linear/inductor": "linear/eager"}: complain(f"pairs: {pairs.keys()}")
for p in d["pairs"]:
    for key in ("measured", "predicted"):
        if not near(p[key], by_id[p["eager"]][key + "_s"] / by_id[p["other"]][key + "_s"]): complain(f"{p['other']}: {key} speedup")
x, y = [p["measured"] for p in d["pairs"]], [p["predicted"] for p in d["pairs"]]
all_pairs = d["speedup_overall"]
if not near(all_pairs["rank"], spearman(x, y)): complain("rank correlation")
if not near(all_pairs["mape"], sum(abs(b / a - 1) for a, b in zip(x, y)) / len(x)): complain("speedup error")
verdict = lambda s: "helps" if s > 1.05 else "hurts" if s * 1.05 < 1 else "neither"
if not near(all_pairs["right"], sum(verdict(a) == verdict(b) for a, b in zip(x, y)) / len(x)): complain("right verdicts")
if sum(sum(v.values()) for v in all_pairs["verdicts"].values()) != 4: complain("confusion matrix")
g = {g["gate"]: g for g in json.load(open("gates.json"))["gates"]}
if [v["passed"] for v in g.values()] != [False, True, False, True] or g["mape=0.1%"]["limit"] != 0.001 or g["t4/seeds/chain4:median=5%"]["value"] is not None: complain(f"gates: {g}")
for path, failures, cases in (("all.xml", 0, 2 + 2), ("gates.xml", 2, 4 + 8)):
    suite = xml.parse(path).getroot().find("testsuite")
    found = suite.findall("testcase")
    if len(found) != int(suite.get("tests")) or sum(c.find("failure") is not None for c in found) != failures or int(suite.get("failures")) != failures: complain(f"{path}: counts")
    if path == "all.xml" and len(found) != cases: complain(f"{path}: {len(found)} cases")
sys.exit(bad > 0)
EOF

# Intervals of rows that they were not fitted to.
exits 0 --folds 3 --json folds.json
has out '^The intervals of each row come from rows of other workloads and shapes, 3 folds\.'
exits 0 --json whole.json
"$python" - <<'EOF' || fail=1
import json, sys
whole, folds = (json.load(open(f)) for f in ("whole.json", "folds.json"))
same = lambda key: [r[key] for r in whole["rows"]] == [r[key] for r in folds["rows"]]
if not same("predicted_s"): sys.exit("FAILED: --folds moves predictions")
if folds["folds"]["count"] != 3 or len(folds["folds"]["common_errors"]) != 18 or "folds" in whole: sys.exit("FAILED: folds in the JSON")
called = [p for p in whole["pairs"] if p["called"]]
if any(p["predicted_low"] <= 1 <= p["predicted_high"] for p in called): sys.exit("FAILED: a speedup is called whose interval contains 1")
if abs(whole["speedup_overall"]["called"] - sum(not p["excluded"] for p in called) / whole["speedup_overall"]["pairs"]) > 1e-9: sys.exit("FAILED: share of pairs called")
EOF
exits 2 --folds 1
has err "^fusesim: error: --folds: wanted 2 to 20$"
exits 1 --gate coverage=99% --gate coverage_most=1%
has err 'gate coverage=99% failed: [0-9.]+ % of 13 rows, wanted at least 99 %'
has err 'gate coverage_most=1% failed: [0-9.]+ % of 13 rows, wanted at most 1 %'

# Threads change nothing.
for jobs in 1 2 5; do
    exits 1 --jobs $jobs --gate mape=1% --measurements crlf.csv --json jobs$jobs.json --markdown jobs$jobs.md --junit jobs$jobs.xml
    cp out jobs$jobs.out; cp err jobs$jobs.err
done
for kind in json md xml out err; do cmp -s jobs1.$kind jobs2.$kind && cmp -s jobs1.$kind jobs5.$kind || complain "--jobs changes the $kind"; done

# Rows of a GPU or a workload that is not here are left out: said, listed with the reason, counted; the others are what they were without them.
sed 's|^relu/1,toy,|absent/gpu,nope9000,|; s|^relu/2,toy,ops/relu,|absent/workload,toy,ops/rellu,|; 3q' "$measured/toy.csv" | cat "$measured/toy.csv" - | awk '!seen[$0]++' >more.csv
some() { "$FUSESIM" validate --measurements more.csv --workload-root "$measured/workloads" "$@" >out 2>err; }
some --json more.json || complain "exit status $? with rows of what is not here: $(cat err)"
has out 'more\.csv: 13 rows \(and 4 excluded\), mean'
has out '^absent/gpu .*its GPU is not known$'
has out '^absent/workload .*its workload is not here$'
has out '^more\.csv +17 +4 .* 1 +1( +0){4}$'
has err "^more.csv:18:1: warning: 1 row of GPU 'nope9000' left out: unknown hardware 'nope9000'; nearest: "
has err "^more.csv:19:1: warning: 1 row of workload 'ops/rellu' left out: no such file"
validate --json all.json >out 2>err
"$python" - <<'EOF' || complain 'rows that are left out change others'
import json
more, all = (json.load(open(n))["rows"] for n in ("more.json", "all.json"))
def told(rows): return {r["id"]: (r["predicted_s"], r.get("excluded")) for r in rows}
left_out = {"absent/gpu": (None, "its GPU is not known"), "absent/workload": (None, "its workload is not here")}
assert told(more) == {**told(all), **left_out}, told(more)
EOF
mkdir unread.yaml && sed 's|ops/rellu|unread|' more.csv >unread.csv
"$FUSESIM" validate --measurements unread.csv --workload-root "$measured/workloads" >out 2>err
[ $? = 66 ] && grep -q "cannot read workload 'unread'" err || complain "a workload that is there and can't be read: $(cat err)"
some --gate rows=80% 2>err && complain 'the rows that are left out count as predicted'
some --gate rows=70% || complain "13 of 17 rows are not 70 %: $(cat err)"
some --match absent/
[ $? = 66 ] || complain 'no row is left, and the exit status is not 66'
has err 'no row is left: none has both a GPU and a workload that were found'
some --no-exclude
has out 'more\.csv: 15 rows \(and 2 excluded\)'

# Charts.
exits 2 --chart plot.gif
if command -v gnuplot >/dev/null && gnuplot -e 'set terminal pngcairo; set terminal pdfcairo' 2>/dev/null; then
    for kind in svg png pdf; do
        exits 0 --chart plot.$kind
        [ -s plot.$kind ] || complain "no plot.$kind"
        [ -s err ] && complain "a chart that works said: $(cat err)"
    done
    has plot.svg 'elementwise'
    has plot.svg 'measured time'
    [ "$(head -c 8 plot.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || complain 'plot.png is no PNG'
    exits 0 --match relu/1 --chart one.svg
    exits 69 --match 'relu/3' --chart none.svg
    has err 'every row is excluded'
fi
FUSESIM_GNUPLOT=./missing exits 69 --chart failed.svg --json failed.json
[ -z "$(find . -name 'failed*')" ] || complain "left behind: $(find . -name 'failed*')"
exit $fail
