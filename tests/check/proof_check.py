# SPDX-License-Identifier: Apache-2.0
"""Checks a certificate of a lower bound (`--proof`) without fusesim's code.

    proof_check.py GRAPH PLAN HARDWARE PROOF
    proof_check.py --run FUSESIM CALLS [TABLE]

GRAPH, PLAN and HARDWARE are those of plan_check.py, from the same call as PROOF; the second form makes all of them, for each line of
CALLS, and writes a row for each to TABLE. Exit status 1 and a line for each rule that does not hold.

First, any plan launches kernels one after the other. Each kernel lies in one piece, because two primitives of different pieces
share no tensor, or no kernel. Of a piece, a state says what has run, and what of it is not in memory and still needed. From the
definitions alone this program finds every set of primitives that could be launched in a state (its producers have run and were stored,
or are in it; it is connected; what it computes is of use; what it computes again may be), with every choice of what it stores. The
certificate must give each of them a price, or say why it is no kernel, or it must cost too much by its bytes, its FLOPs and its launch
alone. The potential of a state may exceed that of the next one by at most the price. So the sum of the prices of any plan's kernels is
at least the potential of the start; and no price is above what the kernel takes in any plan.

Second (`followed`), where that sum stays below the plan's cost because each kernel was granted the best contents of L2: partial plans
are followed in launch order, L2 by its definition, until their cost and the potentials of what is left reach the bound. No plan may
end before.

What is taken on trust is in the file (`trusted`), and counted here: prices of kernels that the plan does not have; that a set is no
kernel, where the definitions here do not show it and the bound would be lower if it were one.
"""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from plan_check import ALONE, CHEAP, OWN, Graph, Report, full_nodes, input_bytes, ticks

INFINITE = float("inf")
FEMTO = 10 ** 15
CLONE_REACH = 64  # primitives between one and the last reader that may compute it again


class Hardware:
    """Peak rates, which no kernel exceeds."""

    def __init__(self, keys, regime, bytes_only):
        def rate(name):
            key = keys.get(name) or {}
            return max([key[x] for x in ("value", "achieved") if key.get(x)], default=0)

        def plan(name):
            key = keys.get(name) or {}
            return key.get("achieved") or key.get("value") or 0
        self.bytes_only = bytes_only
        self.capacity = plan("l2_capacity") * (plan("l2_effective") or 1)
        self.bandwidth = rate("dram_bandwidth") / min(1, plan("dram_write_cost") or 1)
        most = max(1, plan("attention_efficiency"))
        self.f16 = most * max(rate(x) for x in ("tensor_f16", "tensor_f32", "fp16_peak", "fp32_peak"))
        self.bf16 = most * max(rate(x) for x in ("tensor_bf16", "tensor_f32", "fp16_peak", "fp32_peak"))
        self.any = most * max(rate(x) for x in keys if x.startswith("tensor_") or x in ("fp16_peak", "fp32_peak", "fp64_peak"))
        stream, floor = plan("launch_stream"), plan("kernel_floor")
        self.launch = 0 if bytes_only else {"graph": plan("launch_graph"), "stream": stream, "eager": max(floor, stream),
                                            "kernel": min(floor, stream)}[regime]

    def product_s(self, n, masked):
        """Least seconds of a matrix product; faster ways to compute a convolution are known."""
        if self.bytes_only or not n.gemm or n.op.startswith("conv") or len(n.reads) < 2:
            return 0
        types = {r.tensor.dtype for r in n.reads[:2]}
        rate = self.f16 if types == {"f16"} else self.bf16 if types == {"bf16"} else self.any
        return (1 if masked else 2) * n.points * n.reduced / rate

    def dram(self, bytes_moved):
        return bytes_moved if self.bytes_only else bytes_moved / self.bandwidth

    def cost(self, launches, dram, products):
        """A lower bound in the objective's unit; a little less, for rounding."""
        return (launches * self.launch + max(dram, products)) * (1 if self.bytes_only else FEMTO) * (1 - 1e-9)


class Kernel:
    """A set of primitives, as plan_check.py's functions want it."""

    def __init__(self, piece, members, stored):
        self.nodes = [piece.node[i] for i in bits(members)]
        self.again = {piece.node[i].name for i in bits(members & ~stored)}  # stores nothing
        self.makes = {t for n in self.nodes for t in n.makes}
        self.stores = {t for i in bits(stored) for t in piece.node[i].makes}
        self.wants = {}
        for n in self.nodes:
            for read in n.reads:
                if read.tensor not in self.makes:
                    self.wants.setdefault(read.tensor, []).append((n, read))
        self.product = any(n.cls == "contraction" for n in self.nodes)
        self.full = full_nodes(self, self.stores)


def bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def subsets(mask):
    more = 0
    while True:
        yield more
        if more == mask:
            return
        more = (more - mask) & mask


class Piece:
    def __init__(self, g, row, hw, proof, say):
        self.g, self.row, self.hw, self.say = g, row, hw, say
        self.node = [g.node[name] for name in row["primitives"]]
        self.place = {n.name: i for i, n in enumerate(self.node)}
        count = len(self.node)
        self.all = (1 << count) - 1
        self.warm, self.recompute = proof["l2"] == "warm", proof["recompute"] == "on"
        self.pred, self.succ, self.near = [0] * count, [0] * count, [0] * count
        self.must, self.reads, self.readers, self.always = 0, [0] * count, [], 0
        self.look_at_tensors()
        self.again = int(row["again"], 16)
        self.kernel = {(int(k["set"], 16), int(k["stored"], 16), int(k["seen"], 16)): k for k in row["kernels"]}
        self.larger = [int(r["set"], 16) for r in row["refused"] if r["larger"]]
        self.refused = {(int(r["set"], 16), None if r["stored"] is None else int(r["stored"], 16)): r for r in row["refused"]}
        self.state = {(int(s["done"], 16), int(s["dropped"], 16)): s for s in row["states"]}
        self.known_live, self.known_floor, self.known_connected, self.known_larger = {}, {}, {}, {}
        self.floors, self.on_trust, self.met, self.moves, self.left_out, self.steps = {}, {}, set(), {}, {}, 0

    def look_at_tensors(self):
        touched = {t for n in self.node for t in n.makes + [r.tensor for r in n.reads]}
        readers = {t: [] for t in touched}
        for n in self.g.node.values():
            for t in {r.tensor for r in n.reads} & touched:
                readers[t].append(n.name)
        self.input = []
        for t in sorted(touched, key=lambda t: t.name):
            inside = sum(1 << self.place[name] for name in readers[t] if name in self.place)
            outside = any(name not in self.place for name in readers[t])
            maker = self.place.get(t.maker) if t.made else None
            for i in bits(inside):
                self.near[i] |= inside | (1 << maker if maker is not None else 0)
                self.pred[i] |= 1 << maker if maker is not None else 0
            if maker is not None:
                self.near[maker] |= inside
                self.succ[maker] |= inside
                self.must |= (1 << maker) if t.output or t.materialize or outside else 0
            elif not t.made and inside and t.bytes <= self.hw.capacity:
                self.input.append((t, inside, outside))
        for i, n in enumerate(self.node):
            if n.op == "update":
                self.must |= 1 << i

    # What the certificate says of the piece.

    def check_lists(self):
        listed = self.row["inputs"]
        if not self.say.need(sorted(t.name for t, _, _ in self.input) == sorted(listed), "inputs", listed):
            return False
        order = {name: k for k, name in enumerate(listed)}
        for t, inside, outside in self.input:
            for i in bits(inside):
                self.reads[i] |= 1 << order.get(t.name, 0)
        self.readers = [0] * len(listed)
        for t, inside, outside in self.input:
            self.readers[order.get(t.name, 0)] = inside
            self.always |= 1 << order.get(t.name, 0) if outside or self.warm else 0
        for i, n in enumerate(self.node):
            self.say.need(self.again >> i & 1 or self.is_computed_once(i, n), "again", n.name, "may be computed again")
        return True

    def is_computed_once(self, i, n):
        """Other kernels can't compute it, or need not."""
        readers = [self.g.order[m.name] for m in self.g.node.values() if any(r.tensor in n.makes for r in m.reads)]
        alone = not self.succ[i] & (self.succ[i] - 1) and not self.must >> i & 1 and not self.succ[i] & self.again
        return (not self.recompute or n.cls not in CHEAP or alone or not self.succ[i]
                or max(readers) - self.g.order[n.name] > CLONE_REACH)

    def check_rules(self):
        """Can the rule of each refusal apply at all?"""
        for r in self.row["refused"]:
            nodes = [self.node[i] for i in bits(int(r["set"], 16))]
            self.say.need(may_apply(r["rule"], nodes, self.g), "refusal", r["set"], "as rule", r["rule"])

    def check_prices(self):
        for (members, stored, seen), k in self.kernel.items():
            if not self.say.need(stored & ~members == 0 and members & ~self.all == 0, "kernel", k["set"], "stores", k["stored"]):
                continue
            floor, least, most = self.look_at_set(members, stored, seen)
            self.say.need(k["price"] >= floor, "price", k["set"], k["price"], "is below", floor)
            self.say.need(k["room"] or most > self.hw.capacity, "room", k["set"], "fits L2 with at most", most)
            self.say.need(not k["room"] or least <= self.hw.capacity, "room", k["set"], "does not fit L2 with", least)

    def look_at_set(self, members, stored, seen):
        """A lower bound of what the set costs as a kernel; least and most bytes that it touches."""
        key = members, stored, seen
        if key not in self.floors:
            k = Kernel(self, members, stored)
            may_hit = {self.row["inputs"][i] for i in bits(seen)}
            dram = sum(t.bytes for t in k.stores if t.output and not t.over)
            least = most = 0
            for t in k.wants:
                low, high = input_bytes(k, t, k.full)
                low = 0 if k.product and not t.made and t.role == "weight" else low  # it may be folded into the product's weights
                least, most = least + low, most + high
                dram += low if not t.made and t.name not in may_hit else 0
            least += sum(t.bytes for t in k.stores if not t.over and (t.readers or t.output))
            most += sum(t.bytes for t in k.stores)
            products = sum(self.hw.product_s(n, self.g.masked) for n in k.nodes if n.name in k.full)
            self.floors[key] = self.hw.cost(1, self.hw.dram(dram), products), least, most
        return self.floors[key]

    # States.

    def live(self, done):
        """What somebody may still read: one that has not run, or that may run again for such a one."""
        live = self.known_live.get(done)
        if live is None:
            live = 0
            for i in range(len(self.node) - 1, -1, -1):
                if self.succ[i] & (~done | (self.again & live)) & self.all:
                    live |= 1 << i
            self.known_live[done] = live
        return live

    def is_lost(self, done, dropped):
        """Something that has still to run needs what is neither in memory nor can be computed again."""
        wanted = 0
        for i in range(dropped.bit_length() - 1, -1, -1):
            if dropped >> i & 1 and (wanted >> i & 1 or self.succ[i] & ~done):
                if not self.again >> i & 1:
                    return True
                wanted |= self.pred[i]
        return False

    def seen(self, members, done):
        read = seen = 0
        for i in bits(members):
            read |= self.reads[i]
        for k in bits(read):
            if self.readers[k] & done or self.always >> k & 1:
                seen |= 1 << k
        return seen

    def after(self, done, dropped, members, stored):
        done_then = done | members
        return done_then, (dropped | (members & ~done & ~stored)) & self.live(done_then)

    def rest_floor(self, done):
        if done not in self.known_floor:
            self.known_floor[done] = floor_of([self.node[i] for i in bits(self.all & ~done)], self.g, self.hw)
        return self.known_floor[done]

    def connected(self, members):
        """The members that tensors connect with the lowest one."""
        if members not in self.known_connected:
            reached = fresh = members & -members
            while fresh:
                more = 0
                for i in bits(fresh):
                    more |= self.near[i]
                fresh = more & members & ~reached
                reached |= fresh
            self.known_connected[members] = reached
        return self.known_connected[members]

    def is_refused(self, members):
        """Does it contain a set of which no larger one is a kernel?"""
        if members not in self.known_larger:
            self.known_larger[members] = any(x & members == x for x in self.larger)
        return self.known_larger[members]

    def sets(self, done, dropped):
        """Every set that could be launched: what it lacks has lower numbers than the member that needs it."""
        ready, live, count = done & ~dropped, self.live(done), len(self.node)
        allowed = [not done >> i & 1 or (self.again & live) >> i & 1 for i in range(count)]

        def may_join(members, i):
            return allowed[i] and not self.pred[i] & ~(ready | members)

        def grow(members):
            top = members.bit_length()
            if self.is_refused(members):
                return
            if self.connected(members) == members:
                if members & ~done and all(self.succ[i] & members for i in bits(members & done)):
                    yield members
            else:  # can it become connected?
                most = members
                for i in range(top, count):
                    most |= 1 << i if may_join(most, i) else 0
                if members & ~self.connected(most):
                    return
            for i in range(top, count):
                if may_join(members, i):
                    yield from grow(members | 1 << i)
        for i in range(count):
            if may_join(0, i):
                yield from grow(1 << i)

    def stores(self, members, done):
        """Every choice of what the set stores, where that is not fixed."""
        own, then = members & ~done, done | members
        live, fixed, free = self.live(then), 0, 0
        for i in bits(own):
            outside = self.succ[i] & ~then
            if self.must >> i & 1 or not self.succ[i] & members or (outside and not self.again >> i & 1):
                fixed |= 1 << i
            elif live >> i & 1:
                free |= 1 << i
        return [fixed | more for more in subsets(free)]

    def potential(self, state):
        row = self.state.get(state)
        if not self.say.need(row is not None, "state", "no potential of", hex(state[0]), hex(state[1])):
            return 0
        return INFINITE if row["potential"] is None else row["potential"]

    def check_state(self, state):
        """Returns the states that follow."""
        done, dropped = state
        here, row = self.potential(state), self.state.get(state, {})
        if done == self.all:
            self.say.need(here == 0, "end", "has the potential", here)
            return []
        if row.get("cut"):
            floor = self.rest_floor(done)
            self.say.need(here <= floor, "cut", "the potential of", row["done"], "is", here, "above", floor)
            return []
        follow, self.moves[state], self.left_out[state] = [], [], []
        for members in self.sets(done, dropped):
            seen = self.seen(members, done)
            for stored in self.stores(members, done):
                then = self.after(done, dropped, members, stored)
                if self.is_lost(*then):
                    continue
                self.steps += 1
                k = self.kernel.get((members, stored, seen))
                if k:
                    rest = self.potential(then)
                    self.say.need(here <= k["price"] + rest, "potential", row.get("done"), row.get("dropped"), "falls by more than the price of",
                                  k["set"], here, ">", k["price"], "+", rest)
                    follow.append(then)
                    self.moves[state].append((members, stored, k, then))
                else:
                    self.check_no_kernel(state, here, members, stored, seen, then)
        self.left_out[state].sort(key=lambda x: x[2])
        return follow

    def check_no_kernel(self, state, here, members, stored, seen, then):
        """A set without a price: refused, or it costs too much whatever its price would be."""
        row = self.state.get(then)
        rest = self.rest_floor(then[0]) if row is None else INFINITE if row["potential"] is None else row["potential"]
        floor = self.look_at_set(members, stored, seen)[0]
        refused = self.refused.get((members, stored)) or self.refused.get((members, None))
        self.left_out[state].append((members, stored, floor + rest, refused["rule"] if refused else None))
        if here <= floor + rest:
            return
        if self.say.need(refused is not None, "candidates", "nothing is said of", hex(members), "that stores", hex(stored), "with seen",
                         hex(seen)):
            self.trust(refused["rule"], members, stored)

    def trust(self, rule, members, stored):
        """Notes that the bound rests on this refusal, where the definitions do not show it."""
        if (members, stored) not in self.on_trust.get(rule, ()) and not shows(rule, [self.node[i] for i in bits(members)], [self.node[i] for i in bits(stored)]):
            self.on_trust.setdefault(rule, set()).add((members, stored))

    def check(self):
        """The bound of the piece."""
        if not self.check_lists():
            return
        self.check_rules()
        self.check_prices()
        start = (0, 0)
        left, self.met = [start], {start}
        while left and len(self.say.faults) < 50:
            for then in self.check_state(left.pop()):
                if then not in self.met:
                    self.met.add(then)
                    left.append(then)
        self.say.need(self.potential(start) == self.row["bound"], "bound", "of a piece is", self.row["bound"], "not", self.potential(start))


class Access:
    """What a kernel of the second part reads and writes, as the certificate says it."""

    def __init__(self, piece, row):
        self.kernel = Kernel(piece, int(row["set"], 16), int(row["stored"], 16))
        self.reads = [(piece.g.tensor[r["tensor"]], r["bytes"], r["whole"]) for r in row["reads"]]
        self.writes = [piece.g.tensor[name] for name in row["writes"]]
        self.flight = sum(t.bytes for t in self.writes) + sum(t.bytes if whole else size for t, size, whole in self.reads)
        self.passing = {t for t in self.writes if not t.output and not t.materialize and t.readers}

    def check(self, say, name):
        k = self.kernel
        reads = {t for t, _, _ in self.reads}
        left = {t for t in k.wants if t not in reads}
        say.need(reads <= set(k.wants) and (not left or k.product), "access", name, "does not read", [t.name for t in left])
        for t, size, whole in self.reads:
            least, most = input_bytes(k, t, k.full)
            say.need((k.product or least <= size) and size <= most, "access", name, "reads", size, "bytes of", t.name)
            say.need(not whole or size == t.bytes, "access", name, "reads all of", t.name, "in", size, "bytes")
            say.need(whole or k.product or least < t.bytes, "access", name, "reads a part of", t.name)
        needed = {t for t in k.stores if t.readers or t.output or t.materialize}
        say.need(needed <= set(self.writes) <= k.stores, "access", name, "writes", [t.name for t in self.writes])


class Follower:
    """Partial plans in launch order, with what L2 really holds, until their cost and the potentials of what is left reach the bound."""

    def __init__(self, g, pieces, proof, hw, say):
        self.g, self.pieces, self.hw, self.say = g, pieces, hw, say
        self.bound = proof["followed"]["bound"]
        self.access, self.price, self.steps = {}, {}, 0
        for row in proof["followed"]["prices"]:
            key = row["piece"], int(row["set"], 16), int(row["stored"], 16)
            if key not in self.access:
                self.access[key] = Access(pieces[row["piece"]], row)
                self.access[key].check(say, row["set"])
            self.price[key + (frozenset(row["hits"]), frozenset(row["absorbed"]))] = row["price"]
        self.at = [(0, 0)] * len(pieces)
        self.sequence, self.ran_at = [], {}

    def in_order(self, piece, members, last):
        """Of the kernels that were ready since this one was, each has a lower last primitive."""
        ready = 0
        for i in bits(members):
            for read in piece.node[i].reads:
                t = read.tensor
                if not t.made or (t.maker in piece.place and members >> piece.place[t.maker] & 1):
                    continue
                if t.maker not in self.ran_at:
                    return False
                ready = max(ready, self.ran_at[t.maker] + 1)
        return all(x["last"] < last for x in self.sequence[ready:])

    def run_through(self, access, again, l2):
        """What the kernel finds in L2, and L2 after it: bytes that entered, and that count at each tensor's last use."""
        entered, last, missed = l2
        room = access.flight <= self.hw.capacity
        hits = {t for t, _, _ in access.reads if room and t in last and entered - last[t] <= self.hw.capacity}
        missed = missed | {t for t, _, _ in access.reads if t not in hits}
        missed |= {t for t in again if not (t in last and entered - last[t] <= self.hw.capacity)}
        entered += sum(t.bytes for t in access.writes) + sum(size for t, size, _ in access.reads if t not in hits)
        last = dict(last)
        for t in access.writes + [t for t, _, whole in access.reads if whole]:
            last[t] = max(last.get(t, -1e300), entered - access.flight)
        return hits, (entered, last, missed)

    def price_of(self, x, missed):
        access = x["access"]
        stays = access.passing - missed if access.flight <= self.hw.capacity else set()
        price = self.price.get(x["key"] + (x["hits"], frozenset(t.name for t in stays)))
        if not self.say.need(price is not None, "followed", "no price of", hex(x["key"][1]), "with", sorted(x["hits"]), "in L2"):
            return 0
        self.say.need(price >= x["least"], "followed", hex(x["key"][1]), "costs", price, "less than with the best contents of L2", x["least"])
        return price

    def launch(self, at, move, l2, spent, rest):
        """Launches one kernel more, and all that can follow."""
        members, stored, k, then = move
        piece, before = self.pieces[at], self.at[at]
        last = max(self.g.order[piece.node[i].name] for i in bits(members))
        after = piece.potential(then)
        if after == INFINITE or not self.in_order(piece, members, last):
            return
        key = at, members, stored
        if not self.say.need(key in self.access, "followed", "no price of", hex(members), "that stores", hex(stored)):
            return
        access, again = self.access[key], [t for i in bits(members & before[0]) for t in piece.node[i].makes]
        hits, l2_then = self.run_through(access, again, l2)
        x = {"last": last, "key": key, "access": access, "hits": frozenset(t.name for t in hits), "least": k["price"]}
        fresh = l2_then[2] - l2[2]
        spent_then = spent + self.price_of(x, l2_then[2])
        for y in self.sequence:
            if fresh & y["access"].passing:  # it was thought to stay in L2
                spent_then += self.price_of(y, l2_then[2]) - self.price_of(y, l2[2])
        self.steps += 1
        rest += after - piece.potential(before)
        if spent_then + rest >= self.bound:
            return
        names = [piece.node[i].name for i in bits(members & ~before[0])]
        self.ran_at.update((name, len(self.sequence)) for name in names)
        self.sequence.append(x)
        self.at[at] = then
        self.follow(l2_then, spent_then, rest)
        self.at[at] = before
        self.sequence.pop()
        for name in names:
            del self.ran_at[name]

    def check_left_out(self, at, state, spent, rest):
        """Sets without a price that could be launched here cost too much too, or are refused."""
        piece = self.pieces[at]
        for members, stored, least, rule in piece.left_out.get(state, []):
            if spent + rest - piece.potential(state) + least >= self.bound:
                break
            last = max(self.g.order[piece.node[i].name] for i in bits(members))
            if self.in_order(piece, members, last) and self.say.need(rule, "followed", "nothing is said of", hex(members)):
                piece.trust(rule, members, stored)

    def follow(self, l2, spent, rest):
        ended = True
        for at, piece in enumerate(self.pieces):
            state = self.at[at]
            ended = ended and state[0] == piece.all
            if not self.say.need(not piece.state.get(state, {}).get("cut"), "followed", "a state that was cut", hex(state[0])):
                return
            self.check_left_out(at, state, spent, rest)
            for move in piece.moves.get(state, []):
                if len(self.say.faults) < 50:
                    self.launch(at, move, l2, spent, rest)
        self.say.need(not ended, "followed", "a plan costs", spent, "less than", self.bound)

    def check(self):
        self.say.need(not any(t.over for t in self.g.tensor.values()), "followed", "something is written in place")
        self.follow((0, {}, set()), 0, sum(piece.potential((0, 0)) for piece in self.pieces))


def floor_of(nodes, g, hw):
    """What any kernels for these primitives take: a launch, and the longer of writing outputs and of products, at peak rates."""
    written = sum(hw.dram(t.bytes) for n in nodes for t in n.makes[:1] if t.output and not t.over)
    return hw.cost(1, written, sum(hw.product_s(n, g.masked) for n in nodes)) if nodes else 0


def shows(rule, nodes, stored):
    """Do the definitions alone show that the set is no kernel?"""
    if rule == "boundary":
        return len(nodes) > 1 and any(n.cls in ALONE for n in nodes)
    if rule == "user":  # what is materialized ends a kernel
        return any(t.materialize and any(r.tensor is t for m in nodes for r in m.reads) for n in nodes for t in n.makes)
    # A kernel that only computes points computes the same number of them for each result.
    return rule == "space" and all(n.cls in CHEAP for n in nodes) and len({n.points for n in stored}) > 1


def may_apply(rule, nodes, g):
    """What shows in the graph of a rule's conditions."""
    cls = [n.cls for n in nodes]
    products, reduces = cls.count("contraction"), sum(c in ("reduce", "scan", "window") for c in cls)
    return {"boundary": len(nodes) > 1 and bool(set(cls) & ALONE | set(cls) & {"scatter"}),
            "contractions": products >= 2,
            "reduced_epilogue": products >= 1 and reduces + products >= 2,
            "prologue": products >= 1,
            "window": "window" in cls or any(n.op.startswith("conv") for n in nodes),
            "grid_barrier": reduces + products >= 1,
            "in_place": any(t.over for n in nodes for t in n.makes) or any(t.over for t in g.tensor.values())
            }.get(rule, rule in ("space", "index_map", "assembly", "shared_memory", "parameters", "numerics", "user"))


def check_pieces(g, proof, say):
    """Every primitive is in one piece; a kernel can't connect two."""
    home = {}
    for p, piece in enumerate(proof["pieces"]):
        for name in piece["primitives"]:
            say.need(name in g.node and name not in home, "pieces", name, "is in two, or unknown")
            home[name] = p
        order = [g.order.get(name, -1) for name in piece["primitives"]]
        say.need(order == sorted(order), "pieces", "a list is not in order")
    say.need(set(home) == set(g.node), "pieces", "primitives are missing")
    apart = {frozenset((x["a"], x["b"])): x for x in proof["apart"]}
    for x in proof["apart"]:
        say.need(may_apply(x["rule"], [g.node[x["a"]], g.node[x["b"]]], g), "refusal", x["a"], x["b"], "as rule", x["rule"])
    access = {}
    for n in g.node.values():
        for t in set(n.makes) | {r.tensor for r in n.reads}:
            access.setdefault(t, []).append(n)
    for t, nodes in access.items():
        for i, a in enumerate(nodes):
            for b in nodes[:i]:
                if home.get(a.name) != home.get(b.name) and not {a.cls, b.cls} & ALONE:
                    say.need(frozenset((a.name, b.name)) in apart, "pieces", a.name, "and", b.name, "share", t.name)
    return home


def found_in_l2(piece, row, members, done, k):
    """Does the plan's kernel find in L2 what the certificate's price assumes?"""
    seen = piece.seen(members, done)
    names = {piece.row["inputs"][i] for i in bits(seen)}
    hits = {i["tensor"] for i in row["inputs"] if i["read_bytes"] == 0 and i["bytes"] > 0}
    may = {i["tensor"] for i in row["inputs"] if k["room"] and piece.g.tensor[i["tensor"]].bytes <= piece.hw.capacity
           and (piece.g.tensor[i["tensor"]].made or i["tensor"] in names)}
    kept = {o["tensor"] for o in row["outputs"] if o["write_bytes"] == 0}
    tensors = [piece.g.tensor[o["tensor"]] for o in row["outputs"]]
    stays = {t.name for t in tensors if k["room"] and not t.output and not t.materialize and t.readers and not t.over}
    return hits == may and kept == stays


def check_plan(g, pieces, home, plan, say):
    """The plan's kernels: each lies in one piece, in which it may be launched; its price is at most what it takes."""
    state = [(0, 0)] * len(pieces)
    for row in plan["kernels"]:
        where = {home.get(name) for name in row["operators"]}
        if not say.need(len(where) == 1 and None not in where, "plan", "kernel", row["id"], "lies in", len(where), "pieces"):
            continue
        at = where.pop()
        piece = pieces[at]
        if piece is None:
            continue
        done, dropped = state[at]
        members = sum(1 << piece.place[name] for name in row["operators"])
        stored = sum(1 << piece.place[name] for name in row["operators"] if name not in row["recomputed"]
                     and any(t.name in {o["tensor"] for o in row["outputs"]} for t in g.node[name].makes))
        k = piece.kernel.get((members, stored, piece.seen(members, done)))
        cut = piece.state.get((done, dropped), {}).get("cut")
        state[at] = piece.after(done, dropped, members, stored)
        if k is None and cut:
            continue
        if not say.need(k is not None, "plan", "kernel", row["id"], "has no price"):
            continue
        took = row["dram_read_bytes"] + row["dram_write_bytes"] if piece.hw.bytes_only else ticks(row["time_s"])
        say.need(k["price"] <= took, "plan", "kernel", row["id"], "takes", took, "less than its price", k["price"])
        if found_in_l2(piece, row, members, done, k):
            say.need(k["price"] == took, "plan", "kernel", row["id"], "takes", took, "not its price", k["price"])


def check_sums(proof, prediction, plan, rows, say):
    best = rows["optimal"]
    bytes_only = prediction["objective"] == "bytes"
    cost = best["dram_read_bytes"] + best["dram_write_bytes"] if bytes_only else ticks(best["time_s"])
    say.need(proof["plan"]["cost"] == cost, "sum", "the plan costs", cost, "not", proof["plan"]["cost"])
    say.need(proof["plan"]["proven"] == plan["proven"], "sum", "proven", proof["plan"]["proven"])
    if not bytes_only:
        bound = ticks(plan["lower_bound_s"])
        say.need(abs(proof["plan"]["lower_bound"] - bound) <= max(1, bound * 1e-15), "sum", "the plan's bound is", bound)
    pieces = sum(p["bound"] for p in proof["pieces"])
    say.need(proof["pieces_bound"] == pieces, "sum", "the bounds of the pieces do not add up to", proof["pieces_bound"])
    followed = proof["followed"]["bound"] if proof["followed"]["checked"] else pieces
    say.need(proof["bound"] == max(pieces, followed), "sum", "the bound is not", proof["bound"])
    say.need(proof["bound"] <= cost, "sum", "the bound", proof["bound"], "is above the plan's cost", cost)
    say.need(abs(proof["gap"] - (cost - proof["bound"]) / cost) <= 1e-12, "sum", "the gap is not", proof["gap"])
    say.need(proof["complete"] == (proof["bound"] == cost), "sum", "complete:", proof["complete"])


def check(graph_text, prediction, hardware, proof):
    """The report, and how many refusals the bound rests on, by rule."""
    say, g, trust = Report(), Graph(graph_text), {}
    g.masked = any(n.op == "causal_mask" for n in g.node.values())
    if not proof["pieces"]:
        say.need(proof["reason"] and proof["checked"] == "no" and not proof["complete"] and proof["bound"] is None, "reason",
                 "no certificate, and no reason")
        return say, trust
    given = sum(row["checked"] for row in proof["pieces"])
    say.need(proof["checked"] == ("all" if given == len(proof["pieces"]) else "part" if given else "no"), "reason", "checked:", proof["checked"])
    for key in ("objective", "launch", "l2"):
        say.need(proof[key] == prediction[key], "options", key, "is", proof[key])
    hw = Hardware(hardware["keys"], proof["launch"], proof["objective"] == "bytes")
    rows = {s["name"]: s for s in prediction["strategies"]}
    home = check_pieces(g, proof, say)
    if say.faults:
        return say, trust
    pieces = []
    for row in proof["pieces"]:
        pieces.append(Piece(g, row, hw, proof, say) if row["checked"] else None)
        if not row["checked"]:
            floor = floor_of([g.node[name] for name in row["primitives"]], g, hw)
            say.need(row["reason"] and row["bound"] <= floor, "reason", "a piece without potentials has the bound", row["bound"], "above", floor)
            continue
        pieces[-1].check()
    if proof["followed"]["checked"]:
        if say.need(None not in pieces and proof["l2"] == "cold", "followed", "without a certificate of each piece, or from a warm L2"):
            Follower(g, pieces, proof, hw, say).check()
    for x in proof["apart"]:
        if not shows(x["rule"], [g.node[x["a"]], g.node[x["b"]]], []):
            trust[x["rule"]] = trust.get(x["rule"], 0) + 1
    for piece in pieces:
        for rule, sets in piece.on_trust.items() if piece else ():
            trust[rule] = trust.get(rule, 0) + len(sets)
        for r in piece.row["refused"] if piece else ():
            nodes = [piece.node[i] for i in bits(int(r["set"], 16))]
            if r["larger"] and not shows(r["rule"], nodes, []):
                trust[r["rule"]] = trust.get(r["rule"], 0) + 1
    if prediction["plan"]["strategy"] in OWN:
        check_plan(g, pieces, home, prediction["plan"], say)
    check_sums(proof, prediction, prediction["plan"], rows, say)
    return say, trust


def made(program, call):
    """What a call writes: the graph, the plan and the certificate."""
    args = call.split()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        plan, proof = os.path.join(folder, "plan.json"), os.path.join(folder, "proof.json")
        done = subprocess.run([program] + args + ["--json", plan, "--proof", proof, "--dump", "graph"], stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.PIPE, encoding="utf-8", timeout=300)
        if done.returncode != 0:
            raise RuntimeError("exit status %d: %s" % (done.returncode, done.stderr.strip()))
        with open(plan, encoding="utf-8") as p, open(proof, encoding="utf-8") as q:
            return done.stdout, json.load(p)["plans"][0], json.load(q)["proofs"][0]


def confirmed(program, call):
    args = call.split()
    with open(args[args.index("--hw") + 1] + ".json", encoding="utf-8") as file:
        hardware = json.load(file)
    graph, plan, proof = made(program, call)
    said, trust = check(graph, plan, hardware, proof)
    return said, trust, proof


def run(program, path, table=None):
    with open(path, encoding="utf-8") as file:
        calls = [line.strip() for line in file if line.strip()]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda call: confirmed(program, call), calls))
    bad = complete = checks = 0
    rows = []
    for call, (said, trust, proof) in zip(calls, results):
        for fault in said.faults[:8]:
            print("fusesim %s\n    %s" % (call, fault[:300]))
        bad += bool(said.faults)
        complete += proof["complete"]
        checks += said.checks
        rows.append("%s\t%s\t%s\t%s\t%s\t%s" % (call, "refused" if said.faults else "confirmed", proof["checked"], proof["gap"],
                                              proof["reason"] or "", " ".join("%s=%d" % x for x in sorted(trust.items()))))
    if table:
        with open(table, "w", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
    print("%d certificates, %d of them complete, %d checks, %d certificates refused" % (len(calls), complete, checks, bad))
    return bad > 0 or not calls


def main(args):
    if args and args[0] == "--run" and len(args) in (3, 4):
        return 1 if run(*args[1:]) else 0
    if len(args) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    texts = []
    for name in args:
        with open(name, encoding="utf-8") as file:
            texts.append(file.read())
    said, trust = check(texts[0], json.loads(texts[1])["plans"][0], json.loads(texts[2]), json.loads(texts[3])["proofs"][0])
    for fault in said.faults:
        print(fault)
    print("taken on trust, by rule: %s" % (trust or "nothing"))
    return 1 if said.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
