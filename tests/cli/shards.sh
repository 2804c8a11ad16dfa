#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: memory
# cost: 5
# sweep --shard and merge: the result of one machine, to the byte; what is not all of one sweep is refused. (cli.killed_sweep has those that are killed.)
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1: $(head -n 5 err)"; fail=1; }
points=(mlp --hw l4,t4 --over M=1:12 --over H=M*16,7 --over strategy=eager,optimal)
run() { "$FUSESIM" "$@" >out 2>err; }

# One machine and several.
run sweep "${points[@]}" -o merged.csv --json whole.json --find M --under time=60us || complain 'a sweep'
mv out whole.txt
mv merged.csv whole.csv
run sweep "${points[@]}" -o whole.jsonl --quiet || complain 'JSON lines'
for n in 1 3 7; do
    for ((i = 0; i < n; i++)); do
        run sweep "${points[@]}" --shard $i/$n -o $n.$i --jobs $((1 + i % 2)) || complain "shard $i/$n"
    done
    files=$(ls $n.* | sort -R --random-source=<(yes))
    run merge $files -o merged.csv --json merged.json --find M --under time=60us || complain "merge of $n"
    cmp -s whole.csv merged.csv && cmp -s whole.json merged.json && cmp -s whole.txt out || complain "$n shards merged differ from one machine"
    run merge $files -o merged.csv --find M --under time=60us --quiet && [ "$(tail -n +2 out)" = "$(grep ' the limits' whole.txt)" ] && [ -n "$(tail -n +2 out)" ] || complain "merge --quiet swallows what --find found: $(cat out)"
    run merge $files -o merged.jsonl --quiet && cmp -s whole.jsonl merged.jsonl || complain "$n shards as JSON lines"
done
[ "$(cat 7.? | grep -c '^[0-9]')" = 96 ] || complain 'shards do not share the points out'
cp 3.1 again
run sweep "${points[@]}" --shard 1/3 -o 3.1 --jobs 4 --quiet && cmp -s 3.1 again || complain 'a shard from other threads'
touch -d yesterday again && cp -p again 3.1
run sweep "${points[@]}" --shard 1/3 -o 3.1 --resume --quiet && cmp -s 3.1 again && [ ! -e 3.1.part ] || complain 'a shard that is done'
run sweep mlp --hw t4 --over M=1,2 --shard 4/5 -o empty && grep -q ': 0 points' out || complain 'a shard without points'

# What was written, and that a table has a shard alone, is said; quietly in the same line as ever.
run sweep "${points[@]}" --shard 1/3 -o said && grep -q ', shard 1/3: ' out && [ "$(tail -n 1 out)" = "Written to said, for 'fusesim merge' with the other shards." ] && cmp -s said 3.1 || complain "of a shard: $(head -n 1 out; tail -n 1 out)"
run merge 3.0 3.1 3.2 -o said.csv && ! grep -q shard out && [ "$(tail -n 1 out)" = 'Written to said.csv.' ] || complain "of a merge: $(tail -n 1 out)"
run sweep "${points[@]}" -o said.csv && ! grep -q shard out && [ "$(tail -n 1 out)" = 'Written to said.csv.' ] || complain "of a sweep: $(tail -n 1 out)"
run sweep "${points[@]}" -o - && ! grep -q Written out || complain 'written to stdout'

# merge_refuses STATUS TEXT FILE...
merge_refuses() {
    local status=$1 text=$2
    shift 2
    rm -f none.csv
    run merge "$@" -o none.csv
    [ $? = "$status" ] && grep -q -- "$text" err && [ ! -s out ] && [ ! -e none.csv ] || complain "merge $*: wanted $status and '$text'"
}
merge_refuses 2 'merge wants the files'
merge_refuses 66 'no such file' absent
merge_refuses 65 '^3.0:1:1: error: of 3 shards these are missing: 1, 2' 3.0
merge_refuses 65 "^again:1:1: error: shard 1 of 3 again, as '3.1'" 3.0 3.1 3.2 again
merge_refuses 65 "^7.1:1:1: error: of another sweep than '3.0', or of another number" 3.0 7.1
run sweep "${points[@]}" --hw-set sms=20 --shard 1/3 -o other --quiet
merge_refuses 65 '^other:1:1: error: of another sweep' 3.0 other 3.2
merge_refuses 65 "^whole.csv:1:1: error: not written by 'fusesim sweep --shard'" whole.csv
head -n -1 3.1 >short && merge_refuses 65 '^short:.*the shard is not whole' 3.0 short 3.2
sed '15d' 3.1 >short && merge_refuses 65 '^short:.*not as many points as it says' 3.0 short 3.2
sed '15{p}' 3.1 >twice && merge_refuses 65 '^twice:16:1: error: no point of this shard, or one that comes twice' 3.0 twice 3.2
sed '15s/^[0-9]*/1/' 3.1 >moved && merge_refuses 65 '^moved:15:1: error: no point of this shard' 3.0 moved 3.2
sed '3d' 3.1 >headless && merge_refuses 65 '^headless:.*not written by' headless 3.0 3.2
sed 's/^strategy,.*/strategy,best/' 3.1 >odd && merge_refuses 65 'no such strategy' odd
for line in $(grep -n '^gpu,\|^over,' 3.1 | cut -d : -f 1); do sed "${line}d" 3.1 >headless && merge_refuses 65 '^headless:1:1: error: of another sweep' 3.0 headless 3.2; done
sed '0,/^gpu,/{/^gpu,/d}' 3.0 >headless && merge_refuses 65 'error' headless 3.1 3.2
head -n 2 3.1 >headless && merge_refuses 65 "not written by" headless
merge_refuses 2 "no --over varies 'N'" 3.0 3.1 3.2 --find N --under fits
exit $fail
