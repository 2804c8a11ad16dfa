#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# capacity, what holds whatever the load: a prompt takes no less beside others, no more answers come out than prompts can go in; of copies whose GPUs have requests of their own, figures are of the copy and shares of a GPU; a way without a price is a reason, and does not end the rest; bytes of 4-bit weights; copies that span nodes.
# depends: once cost: 3
. "${SOURCE_DIR:?}/tests/answers.sh"
run() { asks capacity "$@"; }
# Prompts of many steps: those behind the first look back at the keys of those before.
for load in concurrency=1 concurrency=2 concurrency=4 rate=0.01; do
    run long.$load.json llama-3.1-8b --hw h100-sxm5-80gb --weights bf16 --cache bf16 --node 1 --gpus 1 --load input=128000,output=50,$load
done
run long.all.json llama-3.1-8b --hw h100-sxm5-80gb --weights bf16 --cache bf16 --node 1 --gpus 1 --load input=128000,output=50
"$python" - <<'END' || complain 'long prompts'
import json
best = {}
for load in ("concurrency=1", "concurrency=2", "concurrency=4", "rate=0.01", "all"):
    d = json.load(open(f"long.{load}.json"))
    best[load] = d["options"][d["fewest"]]
alone = best["concurrency=1"]["ttft_s"]["p50"]
# lengths are up to a fifth from 128,000: half of them are not below 0.9 of it, say
for load, o in best.items():
    assert o["ttft_s"]["p50"] > 0.9 * alone, (load, o["ttft_s"], alone)
    assert o["tokens_per_s"] < 1.15 * 50 / alone, (load, o["tokens_per_s"], alone)
END
# 128 heads times 128,000 x 128,000 scores are 2.1e12 numbers that no kernel stores. Beyond 2^48 (8 heads times 4 x 3,000,000 x 3,000,000 are more, half of them fewer) one way has no price, and says so; the others have.
run scores.json deepseek-v3 --hw h200-sxm-141gb --load input=128000,output=500,rate=0.1/s
run beyond.json llama-3.2-1b --hw h200-sxm-141gb --weights f8 --cache f8 --load input=3000000,output=10
"$python" - <<'END' || complain "one way without a price: $(cat beyond.json.out)"
import json
d = json.load(open("beyond.json"))
assert [o["reason"] is None for o in d["options"]] == [o["tp"] > 1 for o in d["options"]] and d["options"][d["fewest"]]["tp"] == 2
one = next(o for o in d["options"] if o["tp"] == 1)
assert one["fits"] and one["reason"].startswith("a step can't be priced: tensor 'heads_mixed.0/qk' of shape [1, 8, 12000000, 3000000] has 2.88e+14 elements"), one
assert d["options"][d["fewest"]]["running"] >= 1   # a prompt in pieces is a request in a step, too
END
# A weight of 4 bits: with a scale of 8 bits each 16 where the GPU has units for NVFP4, each 32 where it has not, and where the model is published as MXFP4. Embedding and head have 16 bits.
run four.json llama-3.1-8b --hw b200,h100-sxm5-80gb --weights f4 --cache f8 --node 1 --load input=1000,output=200
run mxfp4.json gpt-oss-20b --hw b200,l40s --cache bf16 --node 1 --load input=1000,output=200
"$python" - <<'END' || complain 'weights of 4 bits'
import json
outer = 2 * 128256 * 4096
got = {o["hardware"]: o["memory"]["weight_bytes"] for o in json.load(open("four.json"))["options"]}
assert got == {"b200": (8030261248 - outer) * 4.5 / 8 + 2 * outer, "h100-sxm5-80gb": (8030261248 - outer) * 4.25 / 8 + 2 * outer}, got
mx = [o["memory"] for o in json.load(open("mxfp4.json"))["options"]]
assert len(mx) == 2 and mx[0]["weight_bytes"] == mx[1]["weight_bytes"] and mx[1]["capacity_bytes"] == 46068 * 2**20, mx
END
# A copy that spans nodes: what its GPUs add up crosses the network. 405B in 16 bits needs 16 GPUs, two DGX.
large() { run "$1" llama-3.1-405b --system "$2" --weights bf16 --cache bf16 --gpus 16 --node 16 --pp 1 --load input=2000,output=500,concurrency=8; }
sed 's/50 GB/5 GB/; s/^name: .*/name: slow/' "$SOURCE_DIR/systems/dgx-h100.yaml" >slow.yaml
sed '/^network:/,/^[a-z]*:/{/^network:/d}; s/^name: .*/name: apart/' "$SOURCE_DIR/systems/dgx-h100.yaml" | grep -v '^ .*GB/s' >apart.yaml
large fast.json dgx-h100
large slow.json slow.yaml
"$FUSESIM" capacity llama-3.1-405b --system apart.yaml --weights bf16 --cache bf16 --gpus 16 --node 16 --load input=2000,output=500,concurrency=8 >apart.out 2>apart.err
[ $? = 1 ] && grep -q 'tp 16, bf16 weights, bf16 cache: it spans nodes, and no network between them is known' apart.out || complain "nodes without a network: $(cat apart.out apart.err)"
"$FUSESIM" capacity llama-3.1-405b --system dgx-h100 --weights bf16 --pp 1 --load input=2000,output=500,rate=1/s >hint.out 2>hint.err
[ $? = 1 ] && tr '\n' ' ' <hint.out | grep -q 'would hold it, over 2 nodes of dgx-h100 and the network between them (--node 16)' || complain "what would hold it: $(cat hint.out)"
grep -q '^A copy spans 2 nodes: of these times, ' fast.json.out || complain 'what crosses the network is not said'
for node in 8 16; do run power$node.json qwen3-235b-a22b --system dgx-h100 --node $node --load input=2000,output=500,rate=20; done
"$python" - <<'END' || complain 'a copy that spans nodes'
import json
best = {n: (lambda d: d["options"][d["fewest"]])(json.load(open(n + ".json"))) for n in ("fast", "slow")}
assert all(o["tp"] == 16 and o["gpus"] == 16 for o in best.values())
prompt_s = {n: 2e-3 / o["prefill"]["host"] for n, o in best.items()}   # vLLM's host takes 2 ms
# 126 layers add up twice 2000 x 16384 numbers of 2 bytes, an eighth of them on each GPU of a node; 0.72 of the network's rate is reached.
sent = 2 * 126 * 2000 * 16384 * 2 / 8 / 0.72
assert abs((prompt_s["slow"] - prompt_s["fast"]) / (sent / 5e9 - sent / 50e9) - 1) < 1e-6, (prompt_s, sent)
# What a node takes beside its GPUs is the same, whatever may share a layer.
watts = [{(o["tp"], o["ep"], o["pp"], o["weights"], o["cache"]): o["watts"] for o in json.load(open(f"power{n}.json"))["options"] if o["reason"] is None} for n in (8, 16)]
same = watts[0].keys() & watts[1].keys()
assert len(same) > 3 and all(watts[0][k] == watts[1][k] for k in same), watts
END
# Two nodes as two stages: nothing crosses the network but hidden states and residuals, once. The last stage has the head, and so the fewest places.
stages() { run "$1" llama-3.1-405b --system "$2" --weights bf16 --cache bf16 --gpus 16 --pp 2 --load input=2000,output=500,concurrency=64; }
stages stages.fast.json dgx-h100
stages stages.slow.json slow.yaml
run searched.json llama-3.1-405b --system dgx-h100 --weights bf16 --cache bf16 --gpus 16 --load input=2000,output=500,rate=1/s
run card.json llama-3.1-8b --hw l40s --weights bf16 --cache bf16 --gpus 3 --pp 3 --load input=100,output=10,concurrency=3
"$FUSESIM" capacity llama-3.1-405b --system apart.yaml --weights bf16 --cache bf16 --gpus 16 --pp 2 --load input=2000,output=500,concurrency=8 >apart.out 2>apart.err
[ $? = 1 ] && grep -q 'tp 8 pp 2, bf16 weights, bf16 cache: it spans nodes, and no network between them is known' apart.out || complain "stages without a network: $(cat apart.out apart.err)"
grep -q 'each on tp 8 pp 2, bf16' stages.fast.json.out && tr '\n' ' ' <stages.fast.json.out | grep -q '2 stages have up to 63 layers each, .* none of the measured systems has stages' || complain "stages in words: $(cat stages.fast.json.out)"
"$python" - <<'END' || complain 'stages'
import json
docs = {n: json.load(open(n + ".json")) for n in ("stages.fast", "stages.slow", "searched", "card", "fast")}
best = {n: d["options"][d["fewest"]] for n, d in docs.items()}
o = best["stages.fast"]
assert {x["pp"] for x in docs["stages.fast"]["options"]} == {2} and (o["tp"], o["pp"], o["gpus"], o["copies"]) == (8, 2, 16, 1), o
# 63 of 126 layers with all heads of 16384 x 16384, 8 key heads of 128, and 3 x 16384 x 53248; half of the last norm; 128256 rows of the head; a GPU has an eighth
layer = 2 * 16384**2 + 2 * 16384 * 1024 + 3 * 16384 * 53248 + 2 * 16384
m = o["memory"]
assert m["weight_bytes"] == 2 * (63 * layer + 16384 / 2 + 128256 * 16384) / 8, m
assert m["token_bytes"] == 63 * 2 * 128 * 2 and o["places"] == int(m["cache_bytes"] / m["token_bytes"] / (2000 + 500 / 2)), m
# Two tensors of 2000 x 16384 numbers of 2 bytes, an eighth on each of the GPUs
prompt_s = {n: 2e-3 / best[n]["prefill"]["host"] for n in ("stages.fast", "stages.slow")}
sent = 2 * 2 * 2000 * 16384 / 8 / 0.72
assert abs((prompt_s["stages.slow"] - prompt_s["stages.fast"]) / (sent / 5e9 - sent / 50e9) - 1) < 1e-6, (prompt_s, sent)
# All layers one behind the other read all weights, an eighth a GPU: both stages together take that long at least, and the host.
read = 2 * (126 * layer + 16384 + 128256 * 16384) / 8 / 3.35e12
assert o["tpot_s"]["p50"] > read + 2e-3 and abs(o["decode"]["weights"] * 2e-3 / o["decode"]["host"] / read - 1) < 1e-3, (o["decode"], read)
assert 60 < o["running"] <= 64, o["running"]
# Searched without a word: nodes as stages, where a node is too small. No stage in a node has an embedding to spare it.
assert (best["searched"]["tp"], best["searched"]["pp"]) == (8, 2) and {x["tp"] * x["pp"] for x in docs["searched"]["options"]} == {1, 2, 4, 8, 16}
# 32 layers on three GPUs: 11 in the middle, and 10 beside the embedding and beside the head; the last stage has 1 norm's share and the head. Weights are least in the middle.
m, layer = best["card"]["memory"], 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096
assert best["card"]["gpus"] == 3 and m["token_bytes"] == 11 * 2 * 1024 * 2, best["card"]
END
for wrong in '--pp 127' '--pp 65'; do
    # shellcheck disable=SC2086 # words
    "$FUSESIM" capacity llama-3.1-405b --hw h100 --load input=9,output=9 $wrong >out 2>err
    [ $? = 2 ] && grep -q "^.*--pp: at most 64 stages, and no more than llama-3.1-405b's 126 layers" err || complain "$wrong: $(cat err)"
done
# Attention data parallel: a copy has the requests of its eight GPUs, and a GPU reads its eighth of the experts that all of them pick.
run latent.json deepseek-v3 --hw h200-sxm-141gb --load input=2000,output=500,concurrency=256
"$python" - <<'END' || complain "a copy whose GPUs have requests of their own: $(sed -n '/^A step/,/^That is/p' latent.json.out)"
import json, re
d, text = json.load(open("latent.json")), open("latent.json.out").read()
o = d["options"][d["fewest"]]
assert o["ep"] == 8 and o["copies"] == 1 and 240 < o["running"] <= 256, o["running"]
step_s = 2e-3 / o["decode"]["host"]                # vLLM's host takes 2 ms
# 256 experts of 3 x 7168 x 2048 in 58 layers; of the 37.55e9 parameters that a token meets, all but 8 experts a layer and the embedding are read by each GPU
experts, met, embedding = 58 * 256 * 3 * 7168 * 2048, 37.55e9, 129280 * 7168
read = experts / 8 + met - embedding - experts * 8 / 256
assert abs(o["decode"]["weights"] * step_s / (read / 4.8e12) - 1) < 0.02, (o["decode"], read)
assert o["decode"]["most"] == "reading weights", o["decode"]
# A prompt is one GPU's: 2 FLOPs a parameter and token in 8 bits, and attention in 16.
prompt_s = 2e-3 / o["prefill"]["host"]
flops_s = 2 * 2000 * (met - embedding) / 1979e12 + 2000 * 2 * 61 * 128 * (128 + 64 + 128) * 1000 / 989.5e12
assert abs(o["prefill"]["products"] * prompt_s / flops_s - 1) < 0.02, (o["prefill"], flops_s)
assert o["places"] % 8 == 0 and f"at once on each GPU, {o['places']} in a copy" in re.sub(r"\s+", " ", text)
assert all(p["requests"] % d["options"][p["option"]]["ep"] == 0 for p in d["front"]), d["front"]
END
# Of nine requests one of eight GPUs has two, and nine are under way, not sixteen; copies share them out so, too.
run nine.json deepseek-v3 --hw h200-sxm-141gb --gpus 8 --load input=1000,output=500,concurrency=9
run copies.json llama-3.1-8b --hw l40s --gpus 8 --goal tpot=30ms --load input=1000,output=500,concurrency=81
"$python" - <<'END' || complain "requests that GPUs can't share evenly: $(sed -n '/^A step/,/^That is/p' nine.json.out)"
import json, re
for name, requests in (("nine.json", 9), ("copies.json", 81)):
    served = [o for o in json.load(open(name))["options"] if o["reason"] is None]
    assert any(o["ep"] * o["copies"] > 1 for o in served)
    for o in served:
        assert o["running"] * o["copies"] <= 1.001 * requests, o
        assert o["tokens_per_s"] * o["tpot_s"]["mean"] <= 1.01 * requests, o
assert "at most 2.00 on each GPU" in re.sub(r"\s+", " ", open("nine.json.out").read())
END
# Prompts in parts of fewer tokens (chunked prefill) are tried where a goal is on the time per token, and kept where they save GPUs; a step's activations are fewer.
chunks() { run "$1" llama-3.1-70b --hw h100-sxm5-80gb --weights f8 --cache f8 --pp 1 --load input=2048,output=256,rate=20/s --goal ttft=2s "${@:2}"; }
chunks chunks.json --goal tpot=40ms
chunks whole.json
grep -q '^h100-sxm5-80gb .* tp 2 chunk 512 ' chunks.json.out || complain "chunks in the table: $(cat chunks.json.out)"
"$python" - <<'END' || complain 'chunks'
import json
d, w = (json.load(open(n))["options"] for n in ("chunks.json", "whole.json"))
assert {o["step_tokens"] for o in w} == {8192}
small = [o for o in d if o["step_tokens"] < 8192]
assert small and all(o["step_tokens"] in (512, 2048) for o in small)
for o in small:
    same = next(x for x in d if x["tp"] == o["tp"] and x["step_tokens"] == 8192)
    assert o["reason"] is None and o["tpot_s"]["p99"] <= 0.04 and (same["reason"] or o["gpus"] < same["gpus"]), (o, same)
    assert o["memory"]["activation_bytes"] == 12 * o["step_tokens"] * 8192 * 2 and o["ttft_s"]["p50"] > (0 if same["reason"] else same["ttft_s"]["p50"]), o
END
# Prompts apart have an interval by the rule of the others: times by what measured systems are off, the rest searched again with all times at its ends.
"$python" - <<'END' || complain "prompts apart: $(grep -A 6 '^Prompts apart' chunks.json.out)"
import json
d = json.load(open("chunks.json"))
x, off = d["disaggregated"], {e["figure"]: e["factor"] for e in d["evidence"]}
between = x["intervals"]
assert between["gpus"]["low"] < between["gpus"]["high"], between
assert all(r["low"] <= x[k] <= r["high"] for k, r in between.items() if k in x), (x, between)
for key, figure in (("ttft_p99_s", "ttft"), ("tpot_p99_s", "tpot")):
    p99 = x[key.replace("_p99", "")]["p99"]
    assert abs(between[key]["low"] * off[figure] / p99 - 1) < 1e-12 and abs(between[key]["high"] / off[figure] / p99 - 1) < 1e-12, (key, between)
END
# vLLM lets in whose prompt has place, and takes the cache from the last where answers fill it; TensorRT-LLM keeps a place for the whole answer.
full() { run "$1" llama-3.1-70b --hw h100-sxm5-80gb --weights f8 --cache bf16 --node 1 --gpus 1 --engine "$2" --load input=2048,output=256,concurrency=24; }
full full.json vllm
full kept.json trtllm
tr '\n' ' ' <full.json.out | grep -q 'on average it has place for [0-9]* such requests .* of 100 requests [0-9.]* lose theirs to older ones' || complain "a full cache: $(cat full.json.out)"
"$python" - <<'END' || complain 'a full cache'
import json
full, kept = (json.load(open(n))["options"][0] for n in ("full.json", "kept.json"))
assert 0.01 < full["preempted"] < 1 and kept["preempted"] == 0, (full["preempted"], kept["preempted"])
tail = [o["tpot_s"]["p99"] / o["tpot_s"]["p50"] for o in (full, kept)]
assert tail[0] > 1.5 and tail[1] < 1.2, tail
END
# Shared experts without latent attention: each token meets them. The same without them takes less by what they read at least; queries that are not compressed are two products of as many weights.
moe() { # FILE SHARED
    echo '{"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 5632, "vocab_size": 151936, "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": '"$2"', "tie_word_embeddings": false}' >"$1.config.json"
    run "$1.json" "$1.config.json" --hw h100-sxm5-80gb --weights bf16 --node 1 --load input=1000,output=200,concurrency=1
}
lite() { # FILE FIELDS
    echo '{"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16, "vocab_size": 102400, "n_routed_experts": 64, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, '"$2"'}' >"$1.config.json"
    run "$1.json" "$1.config.json" --hw h100-sxm5-80gb --weights bf16 --node 1 --load input=1000,output=200,concurrency=1
}
moe shared 5632
moe without 0
lite straight '"q_lora_rank": null, "n_shared_experts": 2'
lite compressed '"q_lora_rank": 1216, "n_shared_experts": 2'
lite lone '"q_lora_rank": null, "n_shared_experts": 1'
"$python" - <<'END' || complain 'shared experts'
import json
best = {n: (lambda d: d["options"][d["fewest"]])(json.load(open(n + ".json"))) for n in ("shared", "without", "straight", "compressed", "lone")}
step_s = {n: 2e-3 / o["decode"]["host"] for n, o in best.items()}
assert best["shared"]["memory"]["weight_bytes"] == 2 * 14315784192 and best["shared"]["memory"]["token_bytes"] == 24 * 2 * 16 * 128 * 2
assert best["straight"]["memory"]["weight_bytes"] == 2 * 15706484224 and best["straight"]["memory"]["token_bytes"] == 27 * 576 * 2
read_s = 24 * 3 * 2048 * 5632 * 2 / 3.35e12   # 24 shared experts, in 16 bits
assert read_s < step_s["shared"] - step_s["without"] < 3 * read_s, (step_s, read_s)
assert step_s["straight"] == step_s["compressed"] and best["straight"]["ttft_s"] == best["compressed"]["ttft_s"], step_s   # 2048 x 3072 / (2048 + 3072) is 1229, 19 tiles of 64
read_s = 27 * 3 * 2048 * 1408 * 2 / 3.35e12   # the second shared expert
assert 0.5 * read_s < step_s["straight"] - step_s["lone"] < 3 * read_s, (step_s, read_s)
END
exit $fail
