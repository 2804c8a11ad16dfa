#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# capacity with prompts on GPUs of their own: the cache's bytes and the time of its move, a request alone, both kinds' GPUs and memory, goals, links and network, a load that none serves with prompts and new tokens together.
# depends: once cost: 2
. "${SOURCE_DIR:?}/tests/answers.sh"
run() { asks capacity "$@"; }
eight='llama-3.1-8b --hw h100-sxm5-80gb --weights bf16 --cache bf16 --node 2'
# shellcheck disable=SC2086 # words
{
    run alone.json $eight --load input=2000,output=100,rate=0.01,arrivals=even --gpus 2 --goal tpot=100ms
    run busy.json $eight --load input=2000,output=100,rate=40/s --goal ttft=2s --goal tpot=20ms
    run busy1.json $eight --load input=2000,output=100,rate=40/s --goal ttft=2s --goal tpot=20ms --jobs 1
    run one.json $eight --load input=2000,output=100,rate=1 --gpus 1
    run under_way.json $eight --load input=2000,output=100,concurrency=8 --gpus 2 --goal tpot=100ms
    run offline.json $eight --load input=2000,output=100
    run strict.json ${eight/--node 2/} --pp 1 --load input=8000,output=100,rate=10 --goal tpot=7.5ms --gpus 16
}
cmp -s busy.json busy1.json || complain 'another number of threads gives another answer'
sed 's/50 GB/5 GB/; s/^name: .*/name: slow/' "$SOURCE_DIR/systems/dgx-h100.yaml" >slow.yaml
for system in dgx-h100 slow.yaml; do
    run "far.$system.json" llama-3.1-70b --system "$system" --weights bf16 --cache bf16 --pp 1 --load input=2000,output=100,rate=30 --goal tpot=30ms
done
of_schema capacity alone.json busy.json one.json under_way.json offline.json strict.json far.dgx-h100.json far.slow.yaml.json
"$python" - <<'END' || complain 'prompts apart'
import json, math
docs = {n: json.load(open(n + ".json")) for n in ("alone", "busy", "one", "under_way", "offline", "strict", "far.dgx-h100", "far.slow.yaml")}
apart = {n: d["disaggregated"] for n, d in docs.items()}
assert apart["one"] is None   # one GPU has both
a = apart["alone"]
assert (a["gpus"], a["prompts"]["copies"], a["new_tokens"]["copies"], a["move"]["by"]) == (2, 1, 1, "links"), a
assert a["move"]["bytes"] == 2000 * 131072 and a["move"]["bytes"] / a["move"]["s"] < 450e9, a["move"]   # 32 layers x 8 heads x 128 x 2 x 2 bytes
assert all(a[k]["memory"]["weight_bytes"] == 2 * 8030261248 for k in ("prompts", "new_tokens")), a
# A request alone: the way in (20 ms) and the host's 2 ms twice, its prompt, the move, a step of one; lengths are up to a fifth more or less.
one = next(o for o in docs["alone"]["options"] if o["tp"] == 1 and o["pp"] == 1)
prompt_s, step_s = 2e-3 / one["prefill"]["host"], 2e-3 / one["decode"]["host"]   # with the host's 2 ms
assert abs(a["ttft_s"]["mean"] - (2 * 20e-3 + prompt_s + a["move"]["s"] + step_s)) < 0.02 * prompt_s, (a["ttft_s"], prompt_s, step_s)
assert abs(a["waited_s"] - (20e-3 + prompt_s + a["move"]["s"])) < 0.02 * prompt_s and abs(a["tpot_s"]["mean"] / step_s - 1) < 1e-6, (a, step_s)
assert abs(a["latency_s"]["mean"] - (a["ttft_s"]["mean"] + 99 * a["tpot_s"]["mean"])) < 0.02 * a["latency_s"]["mean"], a
# Under load: GPUs add up, goals hold, what comes is served; a copy for prompts is so busy as its prompts make it.
b = apart["busy"]
for d, x in (("busy", b), ("far.dgx-h100", apart["far.dgx-h100"]), ("far.slow.yaml", apart["far.slow.yaml"])):
    sizes = {k: x[k]["copies"] * max(x[k]["tp"], x[k]["ep"]) * x[k]["pp"] for k in ("prompts", "new_tokens")}
    assert all(x[k]["gpus"] == sizes[k] for k in sizes) and x["gpus"] == sum(sizes.values()), x
    assert x["tokens_per_s"] == 100 * docs[d]["load"]["rate_per_s"], x
assert b["ttft_s"]["p99"] <= 2 and b["tpot_s"]["p99"] <= 0.02 and b["ttft_s"]["p50"] > b["waited_s"] / 3, b
by = {(o["tp"], o["pp"]): o for o in docs["busy"]["options"]}
alone_s = 2e-3 / by[b["prompts"]["tp"], b["prompts"]["pp"]]["prefill"]["host"] if by[b["prompts"]["tp"], b["prompts"]["pp"]]["reason"] is None else prompt_s
share = 1 if b["prompts"]["pp"] == 1 else 1 / b["prompts"]["pp"]
assert 0.5 < b["prompts"]["busy"] <= 1 and abs(b["prompts"]["busy"] / (40 / b["prompts"]["copies"] * alone_s * share) - 1) < 0.15, (b["prompts"], alone_s)
# Little: as many as are under way come at the rate at which they end.
u = apart["under_way"]
assert abs(u["rate_per_s"] * u["latency_s"]["mean"] / 8 - 1) < 0.1, u
# Where all wait, tokens a second are the lesser of what both kinds can do.
o = apart["offline"]
assert o["rate_per_s"] <= o["prompts"]["copies"] / prompt_s * 1.1 and o["prompts"]["busy"] > 0.5, o
# No number of GPUs has 7.5 ms a token for 99 of 100 where prompts of 8000 tokens are in the steps.
s = docs["strict"]
assert s["fewest"] is None and apart["strict"]["tpot_s"]["p99"] <= 0.0075, (s["fewest"], apart["strict"])
# Copies that do not share a node: a cache crosses the network, a part from each GPU of a copy.
for name, rate in (("far.dgx-h100", 50e9), ("far.slow.yaml", 5e9)):
    x = apart[name]
    assert x["move"]["bytes"] == 2000 * 327680, x
    if x["move"]["by"] == "network":
        parts = min(x["prompts"]["tp"], x["new_tokens"]["tp"])
        assert math.isclose(x["move"]["s"], 26e-6 + 2000 * 327680 / parts / (0.72 * rate)), x["move"]
assert any(apart[n]["move"]["by"] == "network" for n in ("far.dgx-h100", "far.slow.yaml")), apart
END
tr '\n' ' ' <busy.json.out | grep -q 'Prompts apart (disaggregated): [0-9]* x h100-sxm5-80gb (80 % interval: [0-9]* to [0-9]*), .* for prompts, .* for new tokens, .* moves in .* over the links of a node; none of the measured systems is of this kind: intervals are those of systems that have both on the same GPUs' || complain "in words: $(head -n 12 busy.json.out)"
grep -q 'Prompts apart (disaggregated): .* together no number of GPUs serves' strict.json.out || complain "where none serves together: $(cat strict.json.out)"
exit $fail
