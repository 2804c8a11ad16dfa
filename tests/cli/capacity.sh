#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# capacity: the answer is composed of steps that validate --systems prices, memory adds up, goals hold with the copies and break with one fewer, more load needs no fewer GPUs; loads, traces, prices; what is wrong with them.
# depends: once cost: 5
. "${SOURCE_DIR:?}/tests/answers.sh"
run() { asks capacity "$@"; }
goals="--goal ttft=1s --goal tpot=40ms"
for rate in 5 40 160; do
    run rate$rate.json llama-3.1-8b --hw h100-sxm5-80gb,l40s --price h100=2,l40s=1 --load input=1000,output=200,rate=$rate $goals
done
run again.json llama-3.1-8b --hw h100-sxm5-80gb,l40s --price h100=2,l40s=1 --load input=1000,output=200,rate=300/min $goals --jobs 1
cmp -s rate5.json again.json || complain 'another unit or number of threads gives another answer'
run f16.json 'Llama 3 8B' --hw h100-sxm5-80gb --load input=2048,output=2048 --engine trtllm --weights bf16 --node 1
run moe.json gpt-oss-120b --hw h100-sxm5-80gb --load input=512,output=128,concurrency=16 --goal tpot_p50=30ms
run latent.json deepseek-v3 --hw h200-sxm-141gb --load input=1024,output=128,rate=4
"$FUSESIM" capacity llama-3.2-1b --hw l4 --load input=100,output=20,rate=4 --weights bf16 --node 1 --fused --search-steps 3000 --json fused.json >fused.out 2>err || complain "--fused: $(cat err)"
grep -q '^With the best fusion: ' fused.out || complain "--fused: $(cat fused.out)"
# Of a long prompt attention's products take most of the time, and they are counted among the products.
run long.json qwen3-8b --hw l4 --load input=200000,output=300,rate=1/s --node 2 --cache f8
grep -q '^A prompt: .* most of it is products; .* products [3-9][0-9] %' long.json.out || complain "a long prompt: $(grep '^A prompt' long.json.out)"
grep -q ': 1 request a second of ' long.json.out || complain 'one request a second'
# Requests that are always under way: what costs least a token is cheapest, not what costs least an hour and does little of them.
run under_way.json llama-3.1-8b --hw rtx-4090,t4 --load input=1000,output=200,concurrency=16
grep -q '^Cheapest: as Fewest' under_way.json.out && grep -q ' f16 weights, f16 cache' under_way.json.out || complain "requests under way: $(sed -n 2,4p under_way.json.out)"
# Products in 8 bits are no faster than the GPU was measured to be, nor is a share above the whole.
run amd.json llama-2-70b --hw mi300x --weights f8 --load input=1000,output=200
grep -q '^A prompt: .* most of it is products; .* products [1-6][0-9] %' amd.json.out || complain "8 bits on an MI300X: $(grep '^A prompt' amd.json.out)"
run beyond.json gpt2 --hw l4 --load input=800,output=400
grep -q 'warning: --load: a request has 1200 tokens, in and out; gpt2 was made for 1024' beyond.json.err || complain "more tokens than positions: $(cat beyond.json.err)"
for nothing in 'llama-3.1-8b --hw t4 --weights f8' 'llama-2-70b --hw mi300x --engine trtllm'; do
    # shellcheck disable=SC2086 # words
    "$FUSESIM" capacity $nothing --load input=1000,output=200 >out 2>err
    [ $? = 1 ] && grep -q '^No GPU asked about has units for the weights and caches' out || complain "nothing serves $nothing: $(cat out err)"
done
run system.json llama-3.1-8b --hw l40s --system aws-p5,dgx-h100 --load input=1000,output=200,rate=5 --weights f8 --cache f8
printf 'time,input,output\n1.5,100,20\n0.5,200,10\n2,300,30\n' >trace.csv
run trace.json llama-3.1-8b --hw l4 --load trace=trace.csv
cat >rows.csv <<'END'
id,source,model,precision,kv_precision,hw,gpus,tp,pp,dp,ep,mode,batch,input_len,output_len,metric,value,unit,notes
load,x (trtllm),Llama 3 8B,bf16,bf16,h100-sxm5-80gb,1,1,1,1,1,maximum load,,2048,2048,output tokens per second,1000,1/s,
END
"$FUSESIM" validate --systems rows.csv --json rows.json >/dev/null 2>err || complain "systems: $(cat err)"
of_schema capacity rate5.json rate40.json rate160.json f16.json moe.json latent.json trace.json fused.json system.json
"$python" - <<'END' || complain 'answers'
import json, math
docs = {n: json.load(open(n + ".json")) for n in ("rate5", "rate40", "rate160", "f16", "moe", "latent", "trace", "fused", "system")}
gpus = []
for rate in (5, 40, 160):
    d = docs["rate%d" % rate]
    served = [o for o in d["options"] if o["reason"] is None]
    best, cheap, cool = (d["options"][d[k]] for k in ("fewest", "cheapest", "least_energy"))
    assert best["gpus"] == min(o["gpus"] for o in served) and cheap["usd_per_h"] == min(o["usd_per_h"] for o in served)
    assert cool["joules_per_token"] == min(o["joules_per_token"] for o in served)
    gpus.append(best["gpus"])
    for o in served:
        assert o["ttft_s"]["p99"] <= 1 and o["tpot_s"]["p99"] <= 0.04, o
        assert o["ttft_s"]["p50"] <= o["ttft_s"]["p90"] <= o["ttft_s"]["p99"] and o["gpus"] == o["copies"] * max(o["tp"], o["ep"]) * o["pp"]
        assert 0.9 < o["tokens_per_s"] / (200 * rate) < 1.1, (rate, o)   # what comes is served
        assert o["usd_per_h"] == o["gpus"] * (2 if o["hardware"].startswith("h100") else 1)
        assert math.isclose(o["usd_per_million_tokens"], o["usd_per_h"] / 3600 / o["tokens_per_s"] * 1e6)
        assert math.isclose(o["joules_per_token"], o["watts"] / o["tokens_per_s"])
        m = o["memory"]
        # vLLM takes 0.9 of all memory, and the rest is not only the cache's
        others = m["weight_bytes"] + m["activation_bytes"] + m["framework_bytes"]
        assert math.isclose(m["cache_bytes"], 0.9 * m["capacity_bytes"] - others), m
    for name in ("fewest", "cheapest", "least_energy"):   # every figure of a choice is within its interval
        i, o = d["intervals"][name], d["options"][d[name]]
        for of, value in (("gpus", o["gpus"]), ("ttft_p99_s", o["ttft_s"]["p99"]), ("tpot_p99_s", o["tpot_s"]["p99"]), ("usd_per_h", o["usd_per_h"])):
            if of in i:
                assert i[of]["low"] <= value and (i[of]["high"] is None or value <= i[of]["high"]), (name, of, value, i)
        assert "usd_per_million_tokens" in i or i["gpus"]["high"] is None, i
    e = {e["figure"]: e for e in d["evidence"]}
    assert {k: v["rows"] for k, v in e.items()} == {"ttft": 179, "tpot": 179, "rate": 185}, e
    t = d["intervals"]["fewest"]["tpot_p99_s"]
    assert math.isclose(t["high"] / t["low"], e["tpot"]["factor"] ** 2), t
    assert (best["copies"] == 1) == (d["one_copy_fewer"] is None) and (d["one_copy_fewer_needs"] is None or 0.1 <= d["one_copy_fewer_needs"] < 1)
    # The front: faster for a user means fewer tokens a GPU.
    for hw in ("h100-sxm5-80gb", "l40s"):
        front = [p for p in d["front"] if d["options"][p["option"]]["hardware"] == hw]
        assert len(front) > 3
        for p, q in zip(front, front[1:]):
            assert q["tokens_per_s_per_user"] < p["tokens_per_s_per_user"] and q["tokens_per_s_per_gpu"] > p["tokens_per_s_per_gpu"]
assert gpus[0] <= gpus[1] <= gpus[2] and gpus[2] > gpus[0], gpus
# All requests wait, as in a measured maximum load of the same engine: the same memory, and about the same rate, though lengths are spread.
o, row = docs["f16"]["options"][docs["f16"]["fewest"]], json.load(open("rows.json"))["rows"][0]
assert o["memory"]["weight_bytes"] == 2 * 8030261248 and o["memory"]["token_bytes"] == 131072 and o["places"] == row["requests"]
assert abs(o["tokens_per_s"] / row["predicted"] - 1) < 0.15, (o["tokens_per_s"], row["predicted"])
m = docs["moe"]
assert {e["figure"]: e["rows"] for e in m["evidence"]} == {"ttft": 128, "tpot": 128, "rate": 104}, m["evidence"]
f = docs["f16"]["intervals"]["fewest"]   # all wait: as many tokens as the GPU makes
assert f["tokens_per_s"]["low"] < docs["f16"]["options"][docs["f16"]["fewest"]]["tokens_per_s"] < f["tokens_per_s"]["high"], f
assert m["options"][m["fewest"]]["tpot_s"]["p50"] <= 0.03 and all(x["weights"] == "f4" for x in m["options"])
assert any(x["ep"] > 1 for x in m["options"])
l = [x for x in docs["latent"]["options"] if x["pp"] == 1]
best = docs["latent"]["options"][docs["latent"]["fewest"]]
# 1/8 of the experts, all of the rest: 671 GB of parameters are 8 x 101 GB of weights; a token takes 576 elements in 61 layers.
assert (best["ep"], best["pp"]) == (8, 1) and {x["memory"]["token_bytes"] for x in l} == {576 * 61, 2 * 576 * 61}
assert not [x for x in l if x["ep"] < 8 and x["fits"]]
f = docs["fused"]
assert f["fused"]["gpus"] <= f["options"][f["fewest"]]["gpus"] and f["fused"]["tpot_s"]["mean"] < 1.2 * f["options"][f["fewest"]]["tpot_s"]["mean"], f["fused"]
assert docs["rate5"]["fused"] is None
s = docs["system"]
assert [(m["name"], m["hardware"], m["usd_per_h"]["value"]) for m in s["machines"]] == [("l40s", "l40s", 1.5), ("aws-p5", "h100-sxm5-80gb", 6.88), ("dgx-h100", "h100-sxm5-80gb", 3.99)]
assert all(m["usd_per_h"]["source"] for m in s["machines"]) and s["machines"][2]["node_watts"]["value"] == 10200 and s["machines"][0]["node_watts"]["value"] is None
by = {name: [o for o in s["options"] if o["system"] == name and o["reason"] is None] for name in (None, "aws-p5", "dgx-h100")}
for p, q in zip(by["aws-p5"], by["dgx-h100"]):   # the same GPUs at another price, and 10.2 kW around eight of them
    assert (p["gpus"], p["ttft_s"]) == (q["gpus"], q["ttft_s"]) and math.isclose(p["usd_per_h"] / q["usd_per_h"], 6.88 / 3.99)
    assert math.isclose(q["watts"] - p["watts"], q["gpus"] * (10200 / 8 - 700)), (p["watts"], q["watts"])
t = docs["trace"]
assert (t["load"]["input"], t["load"]["output"], t["load"]["trace_requests"]) == (200, 20, 3), t["load"]
END
# What intervals stand on is what bench/systems.sh found.
sed -n 's/^FSIM_EVIDENCE([A-Z_]*, *"\([^"]*\)", *\([0-9]*\), *\([0-9.]*\), *\([0-9.]*\))/\1 \2 \3 \4/p' "$SOURCE_DIR/src/serving/evidence.def" | sort >had
awk -F ' *[|] *' '/^## What intervals/ { on = 1 } /^## Groups/ { on = 0 } on && $3 ~ /^[0-9]+$/ { printf "%s %d %.3f %.2f\n", $2, $3, $4 / 100, $5 }' "$SOURCE_DIR/reports/systems.md" | sort >wanted
[ "$(wc -l <had)" = 9 ] && cmp -s had wanted || complain "evidence.def is not what reports/systems.md has: $(diff had wanted)"
grep -q '^Fewest GPUs: ' rate160.json.out && grep -q '^One copy fewer: with' rate160.json.out || complain "text: $(head -n 5 rate160.json.out)"
# Winners that are one say so, each is a row, the line below the table is true, and figures below 0.1 have three digits.
"$FUSESIM" capacity llama-3.2-1b --hw rtx-4090,rtx-5090,h100,b200 --pp 1 --load input=128,output=1000 --json many.json >many.out 2>err || complain "several GPUs: $(cat err)"
"$python" - <<'END' || complain "winners: $(head -n 30 many.out)"
import json, re
d, text = json.load(open("many.json")), open("many.out").read()
served = [o for o in d["options"] if o["reason"] is None]
best, cheap, cool = (d["options"][d[k]] for k in ("fewest", "cheapest", "least_energy"))
assert best is not cheap and best is cool and "Least energy: as Most tokens a GPU\n" in text
rows = text[text.index("\nGPU ") + 1:text.index("  stored:")].splitlines()[1:]
for o in (best, cheap):
    assert any(re.match(r"%s +%d +%d +tp %d +%s/%s " % (o["hardware"], o["gpus"], o["copies"], o["tp"], o["weights"], o["cache"]), r) for r in rows), o
more, least, most = map(int, re.search(r"\n(\d+) more ways serve the load, with (\d+) to (\d+) GPUs", text).groups())
assert more == len(served) - len(rows) and most == max(o["gpus"] for o in served)
assert least == min(o["gpus"] for o in served)   # more than ten of them have one GPU
joules = re.search(r"J/token +(\S+) +(\S+) to (\S+) ", text).groups()
for shown, value in ((joules[0], best["joules_per_token"]), (re.search(r"USD/M +(\S+) ", text[text.index("figure"):]).group(1), best["usd_per_million_tokens"])):
    assert value < 0.1 and len(shown.strip("0.")) == 3 and abs(float(shown) / value - 1) < 0.005, (shown, value)
END
# A tail of times per token is dearer over few tokens: said where that decides, and only there.
for output in 32 256; do
    "$FUSESIM" capacity llama-3.1-8b --hw h100-sxm5-80gb --load input=1000,output=$output,rate=50/s --goal ttft=1s --goal tpot=30ms --node 1 --pp 1 >answers$output.out 2>err || complain "$(cat err)"
done
grep -q '^Fewest GPUs: 2 .*' answers32.out && grep -q '^One copy fewer: with 1 GPU tpot is .*Half of the requests take .*longer answers may need fewer GPUs' answers32.out || complain "short answers: $(head -n 6 answers32.out)"
grep -q '^One copy fewer: with 1 GPU t[tp]' answers256.out && ! grep -q 'longer answers' answers256.out || complain "long answers: $(head -n 6 answers256.out)"
# On a narrow page a tail has the name of its figure, and "the figure before" is there where it is said.
for width in 50 60 72 120; do
    COLUMNS=$width "$FUSESIM" capacity llama-3.1-8b --hw l4,h100-sxm5-80gb --weights bf16 --load input=1000,output=200,rate=1 >narrow.out 2>&1
    head=$(grep '^GPU .*GPUs' narrow.out | head -n 1)
    grep -q 'ttft  *99% .*tpot  *99%' <<<"$head" || complain "at $width columns: $head"   # alone, or behind its figure
    if [ $width -le 60 ]; then tr '\n' ' ' <narrow.out | grep -q 'the figure before' && complain "at $width columns: $(head -n 24 narrow.out)"; fi
done
COLUMNS=80 "$FUSESIM" capacity llama-3.1-8b --hw l4 --load input=1000,output=200,rate=1 2>&1 | awk 'length > 80' | grep . && complain 'wider than 80 columns'
"$FUSESIM" capacity llama-3.1-405b --hw a100-sxm4-80gb --load input=2000,output=500,rate=1 >out 2>err
[ $? = 1 ] && grep -q 'does not fit' out && grep -q '16 GPUs that share each layer would hold it' out || complain "what does not fit: $(cat out err)"
# What fits and misses a goal is said before what does not fit: 405B in FP8 fits eight H100 and takes more than 5 ms for a token.
"$FUSESIM" capacity llama-3.1-405b --hw h100-sxm5-80gb --node 8 --load input=2048,output=256,rate=1/s --goal tpot=5ms >out 2>err
[ $? = 1 ] && sed -n '/ways do not serve the load/{n;p;}' out | grep -q 'tp 8.*tpot is [0-9.]* ms, not 5 ms' || complain "the nearest way is not the first: $(cat out err)"
"$FUSESIM" capacity llama-3.1-8b --hw l4 --node 1 --load input=1000,output=200,rate=1 --goal tpot=1ms >out 2>err
[ $? = 1 ] && grep -q 'tpot is .*, not 1 ms' out || complain "a goal that none meets: $(cat out err)"

refused() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2
    shift 2
    "$FUSESIM" capacity "$@" --json refused.json >out 2>err
    local got=$?
    [ $got = "$status" ] && grep -qF -- "$text" err || complain "capacity $*: exit $got, wanted $status and '$text': $(cat err)"
    [ -s out ] || [ -e refused.json ] && complain "capacity $*: output beside an error"
}
refused 2 'no model' --hw l4 --load input=1,output=1
refused 2 'no GPU' gpt2 --load input=1,output=1
refused 2 'no load' gpt2 --hw l4
refused 2 "there is no 'rat'; did you mean 'rate'" gpt2 --hw l4 --load input=1,output=1,rat=2
refused 2 'rate=2/d is no rate' gpt2 --hw l4 --load input=1,output=1,rate=2/d
refused 2 'both say how many' gpt2 --hw l4 --load input=1,output=1,rate=2,concurrency=3
refused 2 'input=0 is no whole number' gpt2 --hw l4 --load input=0,output=1
refused 2 "unknown metric 'tftt'; did you mean 'ttft'" gpt2 --hw l4 --load input=1,output=1 --goal tftt=1s
refused 2 "'l4' is no price" gpt2 --hw l4 --load input=1,output=1 --price l4
refused 2 "no GPU of --hw or --system is 'l5'" gpt2 --hw l4 --load input=1,output=1 --price l5=1
refused 2 "'f9' is not stored" gpt2 --hw l4 --load input=1,output=1 --weights f9
refused 2 'are of --train' gpt2 --hw l4 --load input=1,output=1 --tokens 1e9
refused 2 'is no decoder' bert-large-uncased --hw l4 --load input=1,output=1
refused 66 'no such file' gpt9 --hw l4 --load input=1,output=1
refused 66 'no such file' gpt2 --hw l4 --load trace=absent.csv
printf 'time,input\n1,2\n' >bad.csv
refused 65 "no column 'output'" gpt2 --hw l4 --load trace=bad.csv
printf 'time,input,output\n1,2,x\n' >bad.csv
refused 65 "bad.csv:2:5: error: 'x' is no whole number of tokens" gpt2 --hw l4 --load trace=bad.csv
exit $fail
