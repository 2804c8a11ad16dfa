#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --help: each command says all that it takes and nothing else, in 80 columns, and its examples run; an option of another command is refused.
# depends: once cost: 7
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
for folder in workloads hwmodels tests validate; do ln -s "$SOURCE_DIR/$folder" .; done
fusesim() { "$FUSESIM" "$@"; }
failures=0
complain() { echo "FAILED: $1" >&2; [ ! -s err ] || head -n 5 err >&2; failures=$((failures + 1)); }

fusesim --help >short 2>err </dev/null || complain '--help'
fusesim help >again 2>err && cmp -s short again || complain 'help is --help'
fusesim -h >again 2>err && cmp -s short again || complain '-h is --help'
[ "$(wc -l <short)" -le 40 ] || complain '--help is not short'
[ "$(grep -c '^  -' short)" = 10 ] || complain '--help has other than ten options'
fusesim 2>again && complain 'no argument: exit status'
cmp -s short again || complain 'no argument: not the short help on stderr'
sed -n '/^  help /q; s/^  \([a-z]*\) .*/\1/p' short >commands
[ "$(wc -l <commands)" -ge 10 ] || complain 'few commands'

while read -r command; do
    fusesim "$command" --help >"help.$command" 2>err || complain "$command --help"
    fusesim help "$command" >again 2>err && cmp -s "help.$command" again || complain "help $command is $command --help"
    head -n 1 "help.$command" | grep -q "^usage: fusesim $command " || complain "$command --help has no usage"
    grep -q '^Exit status: 0 ok, ' "help.$command" || complain "$command --help has no exit statuses"
    [ "$(awk 'length > 80' "help.$command")" = '' ] || complain "$command --help is wider than 80: $(awk 'length > 80' "help.$command")"
    sed -n '/^options/,/^$/s/^  \(-[-a-z0-9]*\) .*/\1/p' "help.$command" | sort >"options.$command"
    [ -z "$(uniq -d "options.$command")" ] || complain "$command --help has an option twice"
    case $command in plan | diff | validate) grep -q '^gates' "help.$command" || complain "$command has no gates" ;; *) grep -q '^gates' "help.$command" && complain "$command has gates" ;; esac
    # Every example, as it is typed, in a folder where nothing else was.
    sed -n '/^examples/,/^$/s/^  //p' "help.$command" >examples
    [ "$(wc -l <examples)" -ge 2 ] || complain "$command --help has fewer than two examples"
    mkdir "of.$command"
    if grep -q "examples are in fusesim's source folder" <(tr -s ' \n' ' ' <"help.$command"); then
        for folder in validate tests; do ln -s "$SOURCE_DIR/$folder" "of.$command"; done
    fi
    while IFS= read -r line <&3; do
        case $line in
        'fusesim calibrate '*'--device cpu '*) # seconds, which cli.calibrate_host and cli.host take: here only that the line is understood
            (cd "of.$command" && CC=no-such-compiler eval "$line") </dev/null >out 2>err
            [ $? = 69 ] && grep -q 'no C compiler' err || complain "example: $line: $(cat err)"
            continue
            ;;
        esac
        (cd "of.$command" && eval "$line") </dev/null >out 2>err || complain "example: $line: $(cat err)"
        [ -s out ] || complain "example prints nothing: $line"
    done 3<examples
done <commands
awk 'length > 80 { exit 1 }' short || complain '--help is wider than 80'
fusesim plan --help >out
for dtype in f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u8 bool; do
    sed -n '/^dtypes/,/^$/p' out | grep -qw $dtype || complain "plan --help has no dtype $dtype"
done
fusesim mlp --help >again && cmp -s out again || complain 'a workload without a command: the help of plan'

# Every option of some command is refused by each command that does not list it: here a quarter of the pairs, other ones with another SEED.
RANDOM=${SEED:-1}
sort -u options.* >all
[ "$(wc -l <all)" -gt 45 ] || complain 'few options'
while read -r command; do
    mapfile -t takes <"options.$command"
    while read -r option; do
        [[ " ${takes[*]} " != *" $option "* ]] && ((RANDOM % 4 == 0)) || continue
        case $option in
        -o | --json | --markdown | --trace | --dot | --report | --chart-data | --proof | --junit | --measurements | --plan | --measured) value=x.out ;;
        --chart) value=x.svg ;;
        --theme) value=dark ;;
        --over) value=S=1:2 ;;
        --set | --dim | --hw-set) value=B=1 ;;
        --memory-limit | --search-memory) value=1GiB ;;
        --strategy) value=eager ;;
        --objective) value=time ;;
        --launch) value=graph ;;
        --l2) value=warm ;;
        --numerics) value=strict ;;
        --precision) value=f16 ;;
        --seed) value=ones ;;
        --optimizer) value=sgd ;;
        --autocast) value=bf16 ;;
        --recompute) value=off ;;
        --device) value=cpu ;;
        --target) value=c ;;
        --engine) value=vllm ;;
        --color) value=never ;;
        --compile-cost | --fused | --check | --summary | --train | --jvp | --no-* | --unseen | --fresh | --refit | --registers | --quiet | --verbose | --help | --version) value= ;;
        *) value=3 ;;
        esac
        "$FUSESIM" "$command" "$option" $value >out 2>err </dev/null
        status=$?
        mapfile -t told <err # no process: there are more than a thousand of these
        [ $status = 2 ] && [[ "${told[*]}" == *"$option means nothing to '$command'"* ]] || complain "$command takes $option"
    done <all
done <commands

# says TEXT ARGUMENT...: exit status 2, and the message.
says() {
    local text=$1
    shift
    fusesim "$@" >out 2>err </dev/null
    [ $? = 2 ] || complain "exit status: $*"
    grep -qF -- "$text" err || complain "no '$text': $*"
}
says "--top means nothing to 'enumerate'; it belongs to plan, validate" enumerate mlp --hw t4 --top 3
says "--strategy means nothing to 'validate'; did you mean '--strategies'?" validate mlp --hw t4 --strategy eager
says "'fusesim enumerate --help' shows how it is used" enumerate mlp --hw t4 --top 3
says "'fusesim --help' shows how it is used" mlp --hw t4 --tpo 3
says "help: unknown command 'validat'; did you mean 'validate'?" help validat
[ $failures = 0 ]
