#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 7
# A tarball of what is installed, unpacked in another folder: the program finds its data, the manual pages say all that there is and mandoc finds no fault
# in them, and bash, zsh and fish complete what the tables have.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
build=$(dirname "$FUSESIM")
failures=0
complain() { echo "FAILED: $1" >&2; [ ! -s err ] || head -n 5 err >&2; failures=$((failures + 1)); }
[ -x "$build/installed/fusesim" ] || { echo 'no installed program was built'; exit 77; }

cpack -G TGZ --config "$build/CPackConfig.cmake" -B "$PWD" >log 2>&1 || { cat log; complain 'cpack'; }
tar xzf fusesim-*.tar.gz || complain 'the tarball'
mv fusesim-*/ 'second place'
[ -s 'second place/share/doc/fusesim/CHANGELOG.md' ] && [ -s 'second place/include/fusesim.h' ] || complain 'the tarball has no documents or no header'
root="$PWD/second place"
fusesim() { env -i PATH="$PATH" "$root/bin/fusesim" "$@"; }
mkdir empty && cd empty || exit 1
: >../err
fusesim mlp --hw l4 --quiet >out 2>../err && grep -q '^mlp on l4: optimal ' out || complain 'the installed program does not find its data'
for list in workloads 'hw list' ops models; do
    # shellcheck disable=SC2086
    fusesim $list >out 2>../err && "$FUSESIM" $list >../wanted && cmp -s out ../wanted || complain "fusesim $list is not that of the tree"
done
cd ..

# Manual pages: those that the program prints; each option, command, variable and operator is in them.
pages=$(find "$root" -name 'fusesim*.[15]' -o -name 'fusesim*.[15].gz' | sort)
[ "$(echo "$pages" | wc -l)" = 3 ] || complain "manual pages: $pages"
echo "$pages" | while IFS= read -r page; do case $page in *.gz) zcat "$page" ;; *) cat "$page" ;; esac; done >installed
for page in hw workload fusesim; do fusesim manual $page >$page.mdoc 2>err || complain "manual $page"; done
cat fusesim.mdoc hw.mdoc workload.mdoc | cmp -s - installed || complain 'the pages that are installed are not those that the program prints'
sed 's/\\-/-/g' fusesim.mdoc >page
while read -r command; do
    fusesim "$command" --help | sed -n 's/^  \(-[-a-z0-9]*\) .*/\1/p' >>options
    grep -q "^\.It Cm $command " page || complain "fusesim(1) has no command $command"
done < <(fusesim --help | sed -n '/^  help /q; s/^  \([a-z]*\) .*/\1/p')
[ "$(sort -u options | wc -l)" -gt 60 ] || complain 'few options'
# items PAGE KIND: the names that head its lists. lacks FILE MESSAGE: a name on stdin that is not in FILE is said.
items() { sed -n "s/^\.It $2 \"\([^\"]*\)\".*/\1/p" "$1" | tr ', ' '\n\n' | sort -u; }
lacks() { comm -23 <(sort -u) "$1" >lacking; [ ! -s lacking ] || complain "$2: $(tr '\n' ' ' <lacking)"; }
items page Fl >its_options
sed 's/^-//' options | lacks its_options 'fusesim(1) has not the options'
grep -rhoE 'getenv\("[A-Z_]+"|environment = "[A-Z_]+"' "$SOURCE_DIR/src/main.c" "$SOURCE_DIR/validate" | grep -oE '"[A-Z_]+' | tr -d '"' | sort -u >variables
[ "$(wc -l <variables)" -gt 15 ] || complain "few variables: $(cat variables)"
items page Sy >its_variables
lacks its_variables 'fusesim(1) does not say what these variables are' <variables
items workload.mdoc Sy >its_operators
fusesim completion ops | tr ' ' '\n' | lacks its_operators 'fusesim-workload(5) has not the operators' # other names of operators are in the same list
items hw.mdoc Sy >its_keys
fusesim hw keys | sed 1d | cut -d' ' -f1 | lacks its_keys 'fusesim-hw(5) has not the keys'
# The keys of a workload are those that the program offers where one is wrong.
printf 'nonsense: 1\n' >wrong.yaml
fusesim wrong.yaml --hw l4 2>message
keys=$(sed -n "s/.*unknown key 'nonsense'.*its keys are //p" message | tr -d ,)
[ "$(echo "$keys" | wc -w)" -gt 9 ] || complain "an unknown key: $(cat message)"
for name in $keys; do
    grep -Eq "^\.It Sy \"(.*, )?${name}[\",]" workload.mdoc || complain "fusesim-workload(5) has no key '$name'"
done
if command -v mandoc >/dev/null; then
    for page in fusesim workload hw; do
        mandoc -T lint -W all $page.mdoc | grep -v 'referenced manual not found' >lint && complain "mandoc on $page: $(head -n 5 lint)"
    done
else
    echo 'no mandoc: the pages were not checked'
fi
fusesim manual worload 2>message >out
[ $? = 2 ] && grep -q "did you mean 'workload'" message || complain 'an unknown page'
fusesim completion tcsh 2>message >out
[ $? = 2 ] && grep -q "wanted bash, zsh or fish" message || complain 'an unknown shell'

# What each shell offers: LINE|WORDS. In ./workloads is a name that a shell would run.
mkdir -p workloads bin
ln -s "$root/bin/fusesim" bin/fusesim
PATH=$PWD/bin:$PATH
echo 'operators: 3' >'workloads/$(touch hacked).yaml'
cat >lines <<'END'
fusesim swe|sweep
fusesim mlp --launch |eager stream graph kernel
fusesim mlp --launch=gr|graph
fusesim mlp --hw t4,l4|t4,l4 t4,l40s
fusesim hw show l4|l4 l40s
fusesim hw |list show check new keys systems
fusesim ops conv2d_|conv2d_weight
fusesim validate --strategies eager,op|eager,optimal
fusesim --hw t4 regi|regions
fusesim mlp --quiet --l2 w|warm
fusesim models llama-3.1-7|llama-3.1-70b
END
cat >ask.bash <<'END'
source "$1"
while IFS='|' read -r line wanted; do
    read -ra COMP_WORDS <<<"${line//=/ = }"
    [[ $line != *' ' ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _fusesim fusesim
    [ "${COMPREPLY[*]}" = "$wanted" ] || echo "$line: ${COMPREPLY[*]}, wanted $wanted"
done <lines
END
script=$root/share/bash-completion/completions/fusesim
bash ask.bash "$script" >out 2>&1
[ ! -s out ] || complain "bash: $(cat out)"
if command -v fish >/dev/null; then
    cat >ask.fish <<'END'
source $argv[1]
while read -l line
    set -l parts (string split '|' -- $line)
    set -l got (complete -C $parts[1] | string replace -r '\t.*' '' | string replace -- '--launch=' '' | sort)
    set -l wanted (string split ' ' -- $parts[2] | sort)
    test "$got" = "$wanted"; or echo "$parts[1]: $got, wanted $wanted"
end <lines
END
    HOME=$PWD fish ask.fish "$root/share/fish/vendor_completions.d/fusesim.fish" >out 2>&1
    [ ! -s out ] || complain "fish: $(cat out)"
else
    echo 'no fish: its completion was not tried'
fi
if command -v zsh >/dev/null; then
    cat >ask.zsh <<'END'
zmodload zsh/zpty
zpty z 'TERM=dumb zsh -f -i'
zpty -w z "stty -echo rows 99 cols 200; PS1=; fpath=(${(q)1:h} \$fpath); autoload -Uz compinit; compinit -D -u; print RE\"\"ADY"
zpty -r -m z x '*READY*'
for line in 'fusesim swe' 'fusesim mlp --launch=gr' 'fusesim mlp --hw t4,l40' 'fusesim ops conv2d_' 'fusesim hw sh'; do
    zpty -w -n z $line$'\t'
    sleep 0.7
    zpty -w -n z $'\x15'"print DO\"\"NE"$'\n'
    zpty -r -m z out '*DONE*'
    print -r -- $out
done
zpty -d z
END
    HOME=$PWD timeout 60 zsh -f ask.zsh "$root/share/zsh/site-functions/_fusesim" 2>&1 | tr -d '\a' >out
    for line in 'fusesim sweep' 'fusesim mlp --launch=graph' 'fusesim mlp --hw t4,l40s' 'fusesim ops conv2d_weight' 'fusesim hw show'; do
        grep -q -- "$line" out || complain "zsh does not complete to '$line': $(cat -v out | tr -s ' \n' | tail -c 600)"
    done
else
    echo 'no zsh: its completion was not tried'
fi
[ ! -e hacked ] || complain 'a completion ran a name'
exit $((failures > 0))
