# SPDX-License-Identifier: Apache-2.0
"""Shows that proof_check.py can refuse: changes a good certificate in one place at a time, and asks for the rule that must notice.

    proof_spoil.py FUSESIM HARDWARE

HARDWARE is what `fusesim hw show t4 --json` writes. Exit status 1 and a line for each change that goes unnoticed.
"""
import copy
import json
import sys

from proof_check import check, made


def largest(p):
    return max(p["pieces"], key=lambda piece: len(piece["states"]))


def start(p):
    return next(s for s in largest(p)["states"] if s["done"] == "0x0")


def on_the_way(p):
    """A state between the start and the end, and the one kernel that leads from it to the end at its potential."""
    piece = largest(p)
    for s in piece["states"]:
        for k in piece["kernels"]:
            left = int(s["done"], 16) ^ (1 << len(piece["primitives"])) - 1
            if s["done"] != "0x0" and not s.get("cut") and int(k["set"], 16) == left and k["price"] == s["potential"]:
                return s, k
    raise LookupError("no state with one kernel left")


def raise_start(p, plan):
    largest(p)["bound"] += 1
    start(p)["potential"] += 1
    p["bound"] += 1


def raise_bound(p, plan):
    largest(p)["bound"] -= 1
    p["bound"] -= 1


def raise_sum(p, plan):
    p["bound"] -= 1


def raise_state(p, plan):
    on_the_way(p)[0]["potential"] += 1


def raise_end(p, plan):
    next(s for s in largest(p)["states"] if s["potential"] == 0)["potential"] = 1


def lower_price(p, plan):
    on_the_way(p)[1]["price"] -= 1


def price_of_nothing(p, plan):
    on_the_way(p)[1]["price"] = 1


def forget_kernel(p, plan):
    largest(p)["kernels"].remove(on_the_way(p)[1])


def refuse_kernel(p, plan):
    """A kernel of the plan, refused for a rule that can't apply."""
    piece = largest(p)
    members = sum(1 << piece["primitives"].index(name) for name in plan["plan"]["kernels"][-1]["operators"])
    for k in [k for k in piece["kernels"] if int(k["set"], 16) == members]:
        piece["kernels"].remove(k)
        piece["refused"].append({"set": k["set"], "stored": k["stored"], "larger": False, "rule": "in_place"})


def refuse_plan(p, plan):
    """A kernel of the plan, refused for a rule that might apply."""
    refuse_kernel(p, plan)
    for r in largest(p)["refused"]:
        r["rule"] = "space" if r["rule"] == "in_place" else r["rule"]


def forget_state(p, plan):
    largest(p)["states"].remove(on_the_way(p)[0])


def forget_refusals(p, plan):
    largest(p)["refused"] = []


def cut_state(p, plan):
    on_the_way(p)[0]["cut"] = True


def no_room(p, plan):
    for k in largest(p)["kernels"]:
        k["room"] = True


def lose_primitive(p, plan):
    largest(p)["primitives"].pop()


def lose_piece(p, plan):
    p["pieces"].remove(largest(p))


def split_piece(p, plan):
    """The bound of two halves, though kernels may connect them."""
    piece = largest(p)
    half = copy.deepcopy(piece)
    piece["primitives"], half["primitives"] = piece["primitives"][:1], piece["primitives"][1:]
    p["pieces"].append(half)


def cheaper_plan(p, plan):
    """The certificate of a better plan than the one that was written."""
    row = next(s for s in plan["strategies"] if s["name"] == "optimal")
    row["time_s"] *= 0.99


def slower_kernel(p, plan):
    plan["plan"]["kernels"][-1]["time_s"] *= 0.9


def no_copies(p, plan):
    largest(p)["again"] = "0x0"


def no_inputs(p, plan):
    largest(p)["inputs"] = []


def claim_complete(p, plan):
    p["complete"] = not p["complete"]


def claim_gap(p, plan):
    p["gap"] = p["gap"] + 1e-6


def real(p):
    return p["followed"]["prices"]


def forget_real_price(p, plan):
    real(p).pop()


def lower_real_prices(p, plan):
    for x in real(p):
        x["price"] -= 1


def find_more(p, plan):
    """A kernel as if L2 had all that it reads, at that price."""
    for x in real(p):
        x["hits"] = [r["tensor"] for r in x["reads"]]


def read_less(p, plan):
    for x in real(p):
        for r in x["reads"]:
            r["bytes"] //= 2


def write_less(p, plan):
    for x in real(p):
        x["writes"] = []


def omit_dear_kernel(p, plan):
    """No kernel whose bytes cost too much for the potentials alone."""
    piece = largest(p)
    for k in [k for k in piece["kernels"] if k["set"] == "0x2"]:
        piece["kernels"].remove(k)


def claim_l2(p, plan):
    """The bound of contents of L2 that nobody followed."""
    p["followed"]["checked"] = False


CASES = {
    "ops/attention": [
        (raise_start, "potential"), (raise_bound, "bound"), (raise_sum, "sum"), (raise_state, "potential"), (raise_end, "end"),
        (lower_price, "potential"), (price_of_nothing, "price"), (forget_kernel, "candidates"), (refuse_kernel, "refusal"),
        (refuse_plan, "plan"), (forget_state, "state"), (forget_refusals, "candidates"), (cut_state, "cut"), (no_room, "room"),
        (lose_primitive, "pieces"), (lose_piece, "reason"), (split_piece, "pieces"), (cheaper_plan, "sum"), (slower_kernel, "plan"),
        (no_copies, "again"), (claim_complete, "sum"), (claim_gap, "sum")],
    "seeds/cycle": [(forget_real_price, "followed"), (lower_real_prices, "followed"), (find_more, "followed"), (read_less, "access"),
                    (write_less, "access"), (claim_l2, "sum"), (omit_dear_kernel, "candidates")],
    "mlp": [(raise_start, "potential"), (forget_kernel, "candidates"), (no_inputs, "inputs"), (lower_price, "potential")],
}


def main(program, hardware):
    with open(hardware, encoding="utf-8") as file:
        hw = json.load(file)
    missed = tried = 0
    for call, changes in CASES.items():
        graph, plan, proof = made(program, call + " --hw t4")
        for change, rule in [(None, None)] + changes:
            bad, other = copy.deepcopy(proof), copy.deepcopy(plan)
            if change:
                change(bad, other)
            faults = check(graph, other, hw, bad)[0].faults
            tried += 1
            if not (any(f.startswith(rule + ":") for f in faults) if rule else not faults):
                missed += 1
                print("%s, %s: wanted %s, found: %s" % (call, change.__name__ if change else "good", rule or "no fault",
                                                       "; ".join(faults[:3])[:400] or "nothing"))
    print("%d certificates, changed in one place each or in none; %d judged wrongly" % (tried, missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
