#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# The tables of docs/GUIDE.md say what the program's tables say: which formats there are and what each shows; and the options that the documents name exist.
# GUIDE_WRITE=1 writes the column of what formats show.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
unset COLUMNS FUSESIM_HWMODELS
guide=$SOURCE_DIR/docs/GUIDE.md
failures=0
complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# shown FORMAT: what it shows, as the program says when it is asked for something else.
shown() {
    local said
    said=$({ "$FUSESIM" hw keys "--$1" x.svg; "$FUSESIM" regions mlp --hw t4 --over M=1:2 "--$1" x.svg; } 2>&1 >/dev/null | sed -n 's/.*: it shows //p' | head -n 1)
    [ "$said" ] || complain "--$1 shows everything, or the program does not say what"
    # Where it shows nearly all, the table names what is left.
    case $said in *generated\ kernels*) said='all but keys of hardware files' ;; esac
    echo "$said"
}

sed -n 's/^FSIM_FORMAT([A-Z_]*, *[a-z_]*, *"--\([a-z-]*\)",.*/\1/p' "$SOURCE_DIR/src/command/formats.def" >formats
sed -n 's/^| `--\([a-z-]*\) FILE` |.*/\1/p' "$guide" >rows
[ "$(wc -l <formats)" -ge 5 ] || complain 'formats.def was not read'
diff formats rows || complain 'the table of output formats has other rows than formats.def'
cp "$guide" wanted.md
while read -r format; do
    words=$(shown "$format")
    sed -i "s#^| \`--$format FILE\` | [^|]* |#| \`--$format FILE\` | $words |#" wanted.md
done <formats
if [ "${GUIDE_WRITE:-}" ]; then
    cp wanted.md "$guide"
elif ! diff "$guide" wanted.md; then
    complain 'the table of output formats says something else than the program'
fi

# Options in code spans of the documents. --kernel is the launcher's, --page is of ncu, --prefix of cmake, --fail-on and the like are not promised.
"$FUSESIM" --help >help || complain '--help'
sed -n '/^  help /q; s/^  \([a-z]*\)  *.*/\1/p' help >commands
while read -r command; do "$FUSESIM" "$command" --help || complain "$command --help"; done <commands >helps
sed -n 's/^ *\(--[a-z0-9-]*\|-o\) .*/\1/p' helps | sort -u >options
[ "$(wc -l <options)" -gt 40 ] || complain 'few options'
printf '%s\n' --kernel --page --prefix >>options
grep -oh -- '`--[a-z][a-z0-9-]*' "$SOURCE_DIR"/README.md "$SOURCE_DIR"/docs/*.md "$SOURCE_DIR"/validate/README.md | tr -d '`' | sort -u >named
[ "$(wc -l <named)" -gt 20 ] || complain 'the documents name few options'
while read -r option; do
    grep -qx -- "$option" options || complain "the documents name $option, which is no option"
done <named

# Every command is in the guide or in the README, as it is typed.
[ "$(wc -l <commands)" -ge 10 ] || complain 'few commands'
while read -r command; do
    [ "$command" = plan ] || grep -q "fusesim $command" "$guide" "$SOURCE_DIR/README.md" || complain "no document shows fusesim $command"
done <commands

# What the guide shows of a step of training is what the program prints.
sed -n '/^phases of optimal$/,/^```$/p' "$guide" | sed '$d' >told
COLUMNS=100 "$FUSESIM" seeds/fused_mlp --hw a100-sxm4-40gb --train | sed -n '/^phases of optimal$/,/^$/p' | sed '$d' >printed
[ -s told ] && diff told printed || complain 'the guide shows other phases than the program'

# The fields of training that FORMATS.md names are in the schema, and in the JSON of a step.
sed -n '/^<!-- fields of training/,/^<!-- end/s/^| \(`[^|]*`\) |.*/\1/p' "$SOURCE_DIR/docs/FORMATS.md" | tr -d '`' | sed 's/, /\n/g' >fields
[ "$(wc -l <fields)" -ge 14 ] || complain 'FORMATS.md has few fields of training'
"$FUSESIM" seeds/fused_mlp --hw a100-sxm4-40gb --train --optimizer sgd --micro-batches 2 --activation-memory-budget 0.5 --json step.json --quiet >/dev/null 2>&1
"${PYTHON:-python3}" - "$SOURCE_DIR/reports/schema/plan.schema.json" <<'EOF' || complain 'FORMATS.md names fields of training that the JSON lacks'
import json, sys
schema, plan, bad = open(sys.argv[1]).read(), json.load(open("step.json"))["plans"][0], 0
for field in open("fields").read().split():
    at = plan
    for word in field.split("."):
        at = at[0] if isinstance(at, list) else at
        at = at.get(word) if isinstance(at, dict) else None
        bad += f'"{word}"' not in schema
    if at is None:
        print(field)
        bad += 1
sys.exit(bad > 0)
EOF

# The guide says of each way to launch kernels what the head of a report says.
for launch in eager stream graph kernel; do
    "$FUSESIM" mlp --hw t4 --launch $launch >out || complain "--launch $launch"
    counts=$(sed -n "2s/^Counts \(.*\): .* (--launch $launch)\. .*/\1/p" out) says=$(sed -n "2s/^Counts .*: \(.*\) (--launch $launch)\. .*/\1/p" out)
    [ "$counts" ] && [ "$says" ] || complain "the head with --launch $launch: $(sed -n 2p out)"
    grep "^| \`$launch\`" "$guide" | grep -Fq "| $counts | $says |" || complain "the guide says of --launch $launch something else than the report"
done

[ $failures -eq 0 ]
