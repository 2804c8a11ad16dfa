#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 11
# capacity --train: times and memory add up, more GPUs are never slower while they share sequences, a slower network is never faster, and trainings that were measured come out near; systems as files.
. "${SOURCE_DIR:?}/tests/answers.sh"
train() { asks capacity "$@" --train; }
train llama.json llama-3.1-8b --system dgx-h100,hgx-h200 --tokens 1e12 --deadline 30d
train again.json llama-3.1-8b --system dgx-h100,hgx-h200 --tokens 1e12 --deadline 720h --jobs 1
cmp -s llama.json again.json || complain 'other threads give another answer'
train large.json llama-3.1-405b --system dgx-h100 --tokens 1e13 --length 8192 --gpus 16384
sed 's/50 GB/5 GB/; s/^name: .*/name: slow/' "$SOURCE_DIR/systems/dgx-h100.yaml" >slow.yaml
train slow.json llama-3.1-405b --system slow.yaml --tokens 1e13 --length 8192 --gpus 16384
train one.json llama-3.2-1b --hw a100-sxm4-80gb --price a100=2 --tokens 1e9 --batch 64 --gpus 8
# MPT 7B and 13B as llm-foundry trained them (validate/measured/systems.csv; bf16, FSDP): tokens a second and GPU.
mpt() { # FILE LAYERS WIDTH HEADS SYSTEM LENGTH GPUS BATCH OPTION...
    printf '{"model_type": "gpt2", "n_embd": %s, "n_layer": %s, "n_head": %s, "vocab_size": 50368, "n_positions": 8192}' "$3" "$2" "$4" >config.json
    train "$1" config.json --system "$5" --length "$6" --gpus "$7" --batch "$8" --tokens 1e11 "${@:9}"
}
mpt a.json 32 4096 32 aws-p4d 2048 128 2304 --checkpoint
mpt b.json 40 5120 40 dgx-h100 4096 8 240 --checkpoint
mpt c.json 32 4096 32 dgx-h100 2048 8 48
of_schema trainings llama.json large.json slow.json one.json a.json b.json c.json
SYSTEMS=$SOURCE_DIR/systems "$python" - <<'END' || complain 'answers'
import glob, json, math, os
docs = {n: json.load(open(n + ".json")) for n in ("llama", "large", "slow", "one", "a", "b", "c")}
for d in docs.values():
    for r in d["rows"]:
        if "way" not in r:
            continue
        w, m = r["way"], r["memory_bytes"]
        assert r["gpus"] == w["tp"] * w["pp"] * w["dp"] and w["sequences_a_step"] % (w["dp"] * w["micro_batch"]) == 0 and abs(w["sequences_a_step"] / d["sequences_a_step"] - 1) <= 1 / 8
        assert math.isclose(m["all"], sum(v for k, v in m.items() if k not in ("all", "capacity")))
        if r["reason"]:
            assert r["reason"] == "does not fit" and m["all"] > 0.94 * m["capacity"]
            continue
        s = r["step_s"]
        assert math.isclose(s["all"], sum(v for k, v in s.items() if k != "all")) and m["all"] <= 0.94 * m["capacity"]
        assert math.isclose(r["tokens_per_s"] * s["all"], w["sequences_a_step"] * d["sequence_tokens"]) and math.isclose(r["train_s"] * r["tokens_per_s"], d["tokens"])
        assert (w["pp"] == 1) == (s["bubble"] == 0 and s["sends"] == 0) and (w["tp"] == 1) == (s["links"] == 0) and w["recompute"] == (s["recomputed"] > 0)
        assert 0.01 < r["mfu"] < 0.8, r
        price = next(x for x in d["machines"] if x["name"] == r["machine"])["usd_per_h"]["value"]
        assert math.isclose(r["usd"], price * r["gpus"] * r["train_s"] / 3600)
l = docs["llama"]
rows, fewest = l["rows"], l["rows"][l["fewest"]]
assert all(r["reason"] or r["in_time"] == (r["train_s"] <= 30 * 86400) for r in rows)
assert fewest["gpus"] == min(r["gpus"] for r in rows if not r["reason"] and r["in_time"]) and fewest["in_time"]
assert l["rows"][l["cheapest"]]["usd"] == min(r["usd"] for r in rows if not r["reason"] and r["in_time"])
# Memory by hand: 8.03e9 parameters, 16-bit weights, 32-bit gradients, 12 bytes of state, on one GPU.
first = rows[0]
assert first["gpus"] == 1 and first["reason"] and math.isclose(first["memory_bytes"]["weights"], 2 * 8030261248) and math.isclose(first["memory_bytes"]["gradients"], 4 * 8030261248)
assert math.isclose(first["memory_bytes"]["state"], 12 * 8030261248)
for name in ("dgx-h100", "hgx-h200"):   # once it fits without computing again, and up to a sequence for each copy, twice the GPUs take half the time or a bit more
    own = [r for r in rows if r["machine"] == name and not r["reason"] and 8 <= r["gpus"] <= 1024 and r["gpus"] & (r["gpus"] - 1) == 0]
    assert all(0.45 < q["train_s"] / p["train_s"] < 0.8 for p, q in zip(own, own[1:])), name
for p, q in zip(docs["large"]["rows"], docs["slow"]["rows"]):
    assert p["gpus"] == q["gpus"] and (p["reason"] is None) == (q["reason"] is None)
    assert p["reason"] or p["step_s"]["all"] <= q["step_s"]["all"]
pairs = [(p, q) for p, q in zip(docs["large"]["rows"], docs["slow"]["rows"]) if not p["reason"]]
assert len(pairs) >= 3 and any(p["step_s"]["all"] < 0.99 * q["step_s"]["all"] for p, q in pairs), "the network has no effect"
assert all(r["gpus"] <= 8 for r in docs["one"]["rows"])   # no network is known
# Measured: 3623 (A100-40, 128 GPUs), 4717 (13B, H100), 10643 (7B, H100, nothing computed again).
for name, measured in (("a", 3623), ("b", 4717), ("c", 10643)):
    r = docs[name]["rows"][-1]
    got = r["tokens_per_s"] / r["gpus"]
    assert abs(got / measured - 1) < 0.25, (name, got, measured)
    assert r["way"]["recompute"] == (name != "c")
for path in glob.glob(os.environ["SYSTEMS"] + "/*.yaml"):
    text = open(path).read()
    assert f"name: {os.path.basename(path)[:-5]}\n" in text and text.count("source:") >= 2, path
END
# Whole nodes between powers of 2: work and exchange are shared out as evenly by 232 GPUs as by 256, in 256/232 of the time; a batch that was asked for stays, and what it rules out is said.
train seven.json llama-2-7b --system dgx-h100 --tokens 2e12 --deadline 10d
train fixed.json llama-2-7b --system dgx-h100 --tokens 2e12 --deadline 10d --batch 1000
"$python" - <<'END' || complain 'numbers of GPUs between powers of 2'
import json, math
d = json.load(open("seven.json"))
best, power = d["rows"][d["fewest"]], next(r for r in d["rows"] if r["gpus"] == 256)
least = 256 * power["train_s"] / (10 * 86400)   # about 226 would do
assert best["in_time"] and best["gpus"] % 8 == 0 and 0 <= best["gpus"] - least < 8, (best["gpus"], least)
assert math.isclose(best["train_s"] * best["gpus"], 256 * power["train_s"], rel_tol=0.01) and best["way"]["sequences_a_step"] == 928 == 4 * best["gpus"]
d = json.load(open("fixed.json"))
assert all(r["way"]["sequences_a_step"] == 1000 for r in d["rows"] if "way" in r) and 256 < d["rows"][d["fewest"]]["gpus"] < 512, d["rows"][d["fewest"]]
END
grep -q '^Copies have to share out 1000 sequences a step (--batch) evenly: .* have 8 copies at most; 1024 sequences' fixed.json.out || complain "a batch that copies do not divide: $(head -n 6 fixed.json.out)"
# Without a deadline the answer comes first all the same, in hours where it takes no days; the row of each reason is shown; one node is all that --hw has.
"$FUSESIM" capacity gpt2 --system l40s-8 --train --tokens 10e9 >small.out 2>err
[ "$(sed -n '2p' small.out | grep -c '^Fewest GPUs: 1 x l40s: .* hours, .* (80 % interval: .* to .* hours)$')" = 1 ] && grep -q '^Fastest: 16384 x l40s: [0-9.]* \(minutes\|seconds\), ' small.out && grep -q ' hours ' small.out || complain "a small training: $(head -n 6 small.out)"
"$FUSESIM" capacity llama-3.1-8b --system dgx-h100,hgx-h200 --train --tokens 1e12 >open.out 2>err
sed -n '2p' open.out | grep -q '^Cheapest: [0-9]' && ! grep -q 'as Fewest GPUs' open.out || complain "no deadline: $(head -n 5 open.out)"
grep -q '^[0-9]* GPUs* of \(dgx-h100\|hgx-h200\), tp ' open.out || complain "GPUs are counted, not systems: $(grep ', dp .*:$' open.out)"
"$FUSESIM" capacity llama-3.1-8b --system dgx-h100,hgx-h200 --train --tokens 1e12 --quiet | grep -qF "$(sed -n '2s/^Cheapest: \(.*\) (80.*/\1/p' open.out)" || complain 'no deadline, quietly'
"$FUSESIM" capacity llama-3.1-8b --hw h100-sxm5-80gb --train --tokens 1e12 --deadline 10d --gpus 512 >hw.out 2>err
[ $? = 1 ] && grep -q 'More than one node needs --system' hw.out && ! grep -q 'More GPUs' hw.out || complain "a node alone: $(head -n 3 hw.out)"
"$FUSESIM" capacity llama-3.1-8b --system dgx-h100 --train --tokens 1e12 --length 1000000 >length.out 2>err
[ $? = 1 ] && grep -q '^dgx-h100 *1 .*priced' length.out && grep -q '^dgx-h100 *1024 *does not fit' length.out && grep -q '^dgx-h100 *16384 *no way to share' length.out && grep -q 'shorter sequences (--length) or more of them (--batch)' length.out ||
    complain "long sequences: $(cat length.out)"
grep -q '^Fewest GPUs: .* days, .* MFU, tp 1, dp ' llama.json.out && grep -q '^Prices from dgx-h100: Lambda' llama.json.out || complain "text: $(head -n 5 llama.json.out)"
for width in 80 120; do COLUMNS=$width "$FUSESIM" capacity llama-3.1-70b --system dgx-h100 --train --tokens 2e12 --deadline 60d 2>&1 | awk -v w=$width 'length > w' | grep . && complain "wider than $width columns"; done
"$FUSESIM" capacity llama-3.1-405b --hw a100-sxm4-80gb --train --tokens 1e12 >out 2>err
[ $? = 1 ] && grep -q 'It does not fit: on 8 x a100-sxm4-80gb' out && grep -q 'needs --system' out || complain "what does not fit: $(cat out err)"
"$FUSESIM" capacity llama-3.1-70b --system dgx-h100 --train --tokens 1e14 --deadline 1d >out 2>err
[ $? = 1 ] && grep -q '^The fastest: ' out || complain "a deadline that none meets: $(cat out err)"
# Each system that is shipped trains a model on one GPU and, where its network is needed, on 16.
train shipped.json gpt2 --system "$(printf '%s,' "$SOURCE_DIR"/systems/*.yaml | sed 's/,$//')" --tokens 1e9 --gpus 16
"$python" - "$SOURCE_DIR"/systems/*.yaml <<'END' || complain "systems: $(head -n 60 shipped.json.out)"
import json, os, sys
rows = json.load(open("shipped.json"))["rows"]
for path in sys.argv[1:]:
    own = {r["gpus"]: r for r in rows if r["machine"] == os.path.basename(path)[:-5]}
    assert all(own[n]["reason"] is None and 0.01 < own[n]["mfu"] < 0.8 for n in (1, 16)), (path, own)
    assert 12 < own[1]["train_s"] / own[16]["train_s"] <= 16.01, (path, own)
END

refused() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2
    shift 2
    "$FUSESIM" capacity "$@" --train --json refused.json >out 2>err
    local got=$?
    [ $got = "$status" ] && grep -qF -- "$text" err || complain "capacity $*: exit $got, wanted $status and '$text': $(cat err)"
    [ -s out ] || [ -e refused.json ] && complain "capacity $*: output beside an error"
}
refused 2 'no GPU: say --hw NAME' gpt2 --tokens 1e9
refused 2 'wants --tokens N' gpt2 --hw l4
refused 2 'wants --tokens N: of the whole training, e.g. 1e12, and not 1x' gpt2 --hw l4 --tokens 1x
refused 2 "--deadline '3w': wanted days or hours" gpt2 --hw l4 --tokens 1e9 --deadline 3w
refused 2 'are of serving, not of --train' gpt2 --hw l4 --tokens 1e9 --load input=1,output=1
refused 2 'has experts' mixtral-8x7b --hw l4 --tokens 1e9
refused 2 'is no decoder' bert-large-uncased --hw l4 --tokens 1e9
refused 66 "no system 'dgx-h10': no such file; did you mean 'dgx-h100'" gpt2 --system dgx-h10 --tokens 1e9
"$FUSESIM" hw systems >systems.out 2>err || complain "hw systems: $(cat err)"
[ "$(tail -n +2 systems.out | awk '{ print $1 }')" = "$(cd "$SOURCE_DIR/systems" && ls *.yaml | sed 's/\.yaml$//')" ] && grep -Eq '^dgx-h100 +h100-sxm5-80gb +8 +450 GB/s +50 GB/s +10200 W +3.99$' systems.out || complain "hw systems: $(cat systems.out)"
grep -Eq '^gb200-nvl72 .* 10\.50$' systems.out || complain 'GB200 has no price'
refused 66 "shipped are $(cd "$SOURCE_DIR/systems" && printf '%s, ' *.yaml | sed 's/\.yaml//g; s/, $//')" gpt2 --system list --tokens 1e9
system() { printf '%s\n' "$@" >bad.yaml; }
system 'name: x' 'gpu: l4' 'gpus: {value: 0.5, source: s}'
refused 65 "'gpus' is missing, or no whole number" gpt2 --system bad.yaml --tokens 1e9
system 'name: x' 'gpu: l4' 'gpus: {value: 8, source: s}' 'network: {value: 8 GB, source: s}'
refused 65 "bad.yaml:4:18: error: the value of 'network' is bytes" gpt2 --system bad.yaml --tokens 1e9
system 'name: x' 'gpu: l4' 'gpus: {value: 8, source: s}' 'netwok: {value: 8 GB/s, source: s}'
refused 65 "unknown key 'netwok' in a system; did you mean 'network'" gpt2 --system bad.yaml --tokens 1e9
system 'name: x' 'gpu: l4' 'gpus: {value: 8}'
refused 65 "'source' is missing" gpt2 --system bad.yaml --tokens 1e9
system 'name: x' 'gpu: l4' 'gpus: 8'
refused 65 "'gpus' is a mapping" gpt2 --system bad.yaml --tokens 1e9
refused 65 "a system is a mapping" gpt2 --system <(echo '[1]') --tokens 1e9
exit $fail
