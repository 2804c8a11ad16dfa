#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 22
# What the documents tell people to type works. Every command of the ```sh blocks of README.md and docs/GUIDE.md is run, one after the other, from a copy of the shipped data; a command that
# no rule below knows is an error. Of the other documents, the commands that start with `./run ` or `fusesim ` are run. What the documents show of the program's output is up to date.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
for folder in workloads hwmodels tests validate; do ln -s "$SOURCE_DIR/$folder" .; done
unset FUSESIM_HWMODELS MAKEFLAGS MAKELEVEL CFLAGS
# As typed; where a search would take seconds, by fewer steps: whether the command works is asked.
fusesim() {
    case " $* " in
    ' validate '*' --no-measure '*) set -- "$@" --scale-shapes 64 ;;
    ' validate '*' --device cpu '*) set -- "$@" --set M=64 --budget 0.1 --strategies optimal --hw l4 ;; # cli.validate_cpu measures this host, too
    *' stacks/'*' --set layers='*) set -- "$@" --set layers=1 --search-steps 1000 ;;
    *' --search-steps '* | *' --time-limit '*) ;;
    ' seeds/mlp_stack '*) set -- "$@" --set layers=5 --search-steps 1000 ;;
    *' --train '* | *' llm/'*) set -- "$@" --search-steps 20000 ;;
    esac
    "$FUSESIM" "$@"
}
failures=0 commands=0
failed() { echo "FAILED: $1" >&2; [ ! -s err ] || head -n 12 err >&2; failures=$((failures + 1)); }

# The commands of a document: lines of ```sh blocks, those that end in a backslash joined, a `$ ` in front left out.
commands_of() {
    awk '
        /^[ \t]*```/ { inside = !inside && $0 ~ /^[ \t]*```(sh|console|bash)[ \t]*$/; next }
        inside && more { command = command " " $0 }
        inside && !more { sub(/^[ \t]*(\$ )?/, ""); command = $0 }
        inside { more = sub(/\\$/, "", command); if (!more && command !~ /^(#.*)?$/) { sub(/^\.\/run /, "fusesim ", command); print command } }' "$1"
}

# type_it COMMAND: 2 where no rule knows it.
type_it() {
    local folder
    case $1 in
    'fusesim '* | *' | fusesim '*) (set -o pipefail; eval "$1") ;;
    'make -C '*)
        folder=${1#make -C }
        folder=${folder%% *}
        if [ -e "$folder/launcher.c" ]; then
            ${1/make/make -s} CFLAGS='-O1 -fopenmp-simd'
        else
            make -n -C "$folder" NVCC=nvcc | grep -q '^nvcc .* -o launcher ' # cli.codegen_cuda builds it, where there is nvcc
        fi
        ;;
    'cmake --install build/release' | 'cmake --install build/release --prefix prefix') ;; # cli.library
    'tools/wheel.py prefix dist' | 'pip install --no-index dist/fusesim-*.whl') ;;         # cli.wheel
    'python3 tools/host.py -o host.csv') # no torch here: it ends well with --help, and tests/measured/host.csv is such a file
        "${PYTHON:-python3}" "$SOURCE_DIR/tools/host.py" --help | grep -q -- ' -o ' && cp "$SOURCE_DIR/tests/measured/host.csv" host.csv
        ;;
    'python3 tests/check/proof_check.py '*) PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" ${1#python3 } ;;
    'cmake --preset package && '*' && cpack)') ;; # cli.packages
    'SHARDS='*'examples/slurm/submit.sh '* | 'kubectl apply -f examples/kubernetes/'*) # cli.slurm, cli.killed_sweep
        folder=${1##*examples/}
        [ -e "$SOURCE_DIR/examples/${folder%% *}" ]
        ;;
    *) return 2 ;;
    esac
}

# Commands whose output documents show, without what cuts it: bench/readme.sh runs them, below.
sed -n 's/^<!-- output: \(fusesim .*\) -->$/\1/p; s/^\$ \(fusesim .*\)$/\1/p' "$SOURCE_DIR/README.md" "$SOURCE_DIR"/docs/*.md | grep -v -e '[$]DATA' -e ' --registers' -e ' -o ' | sed 's/ [|>;].*//' >shown
[ "$(wc -l <shown)" -gt 10 ] || failed 'documents show output'

for document in "$SOURCE_DIR/README.md" "$SOURCE_DIR"/docs/*.md "$SOURCE_DIR/CONTRIBUTING.md"; do
    [ -e "$document" ] || continue
    case $document in */README.md | */GUIDE.md) strict=1 ;; *) strict= ;; esac
    while IFS= read -r line <&3; do
        ! grep -qxF -- "$line" shown || { commands=$((commands + 1)); continue; }
        type_it "$line" </dev/null >out 2>err
        case $? in
        0) commands=$((commands + 1)) ;;
        2) [ -z "$strict" ] && case $line in fusesim\ *) false ;; esac || failed "${document##*/}: $line" ;;
        *) failed "${document##*/}: $line" ;;
        esac
    done 3< <(commands_of "$document")
    # Links to files of the repository.
    while IFS= read -r link; do
        case $link in http*) continue ;; esac
        [ -e "$(dirname "$document")/$link" ] || { : >err; failed "${document##*/}: a link to $link, which is not there"; }
    done < <(grep -oE '\]\([^)#]+' "$document" | sed 's/^](//' | sort -u)
done
QUICK=1 "$SOURCE_DIR/bench/readme.sh" --check >out 2>err || { cat out; failed 'bench/readme.sh refreshes what the documents show'; }
[ "$(wc -l <"$SOURCE_DIR/README.md")" -lt 200 ] || failed 'README.md has 200 lines or more'

[ $commands -gt 40 ] || { echo "only $commands commands were found" >&2; exit 1; }
[ $failures = 0 ] || { echo "$failures failures" >&2; exit 1; }
echo "$commands commands"
