#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libfusesim as others use it: the names that it exports and needs, its header as C11 and C++17, and an install into a folder of its own, where
# examples/plan.c is built by pkg-config and by find_package and gives what the program predicts.
# depends: once cost: 2
set -u
build=$(dirname "${FUSESIM:?}")
src=${SOURCE_DIR:?}
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# Of the shared library, only what fusesim.h declares can be seen from outside; of the static one, every name is ours.
declared=$(grep -oE '\bfsim_[a-z_]+\(' "$src/include/fusesim.h" | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$build/libfusesim.so" | awk '$2 != "A" {sub("@@FUSESIM_[0-9.]*$", "", $3); print $3}' | grep -v '^__\(odr\|asan\|ubsan\|sanitizer\)' | sort -u)
[ "$declared" = "$exported" ] || fail "exported and declared names differ: $(diff <(echo "$declared") <(echo "$exported"))"
stray=$(nm -g --defined-only "$build/libfusesim.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^(fsim_|__odr_asan|__asan|_?_?DW[.]ref)/ {print $3}')
[ -z "$stray" ] || fail "names of libfusesim.a without fsim_: $stray"

# It ends no process and reads no environment.
case $(nm -D "$build/libfusesim.so") in *__asan_*|*__ubsan_*|*__tsan_*) sanitized=yes ;; *) sanitized= ;; esac
unwanted=$(nm -D --undefined-only "$build/libfusesim.so" | awk '{print $2}' | sed 's/@.*//' |
    grep -xE '_?exit|_Exit|quick_exit|abort|(secure_)?getenv|environ|setenv|putenv|signal|sigaction|setlocale|system|fork|printf|puts|perror|stderr')
[ -z "$unwanted" ] || fail "libfusesim calls $unwanted"

echo '#include <fusesim.h>' >header.c
cp header.c header.cpp
${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$src/include" -fsyntax-only header.c || fail "the header as C11"
if command -v g++ >/dev/null; then
    g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$src/include" -fsyntax-only header.cpp || fail "the header as C++17"
else
    echo "no g++: the header was not compiled as C++"
fi

# Against the build tree.
if [ -z "$sanitized" ]; then
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$src/include" "$src/examples/plan.c" -L"$build" -lfusesim -o tree || fail "the example does not build"
    LD_LIBRARY_PATH=$build ./tree mlp a100-sxm4-40gb "$src" >tree.out || fail "the example ends with $?"
    "$FUSESIM" mlp --hw a100-sxm4-40gb --json program.json >/dev/null || fail "the program ends with $?"
    # Kernels and time of every strategy are those of the program.
    "${PYTHON:-python3}" - program.json tree.out <<'EOF' || fail "the example and the program differ"
import json, sys
plan = json.load(open(sys.argv[1]))
plan = plan.get("plans", [plan])[0]
want = [f"{s['name']:<10} {s['kernels']:3d} kernels {1e6 * s['time_s']:8.3f} us" for s in plan["strategies"]]
have = [line.replace("  proven optimal", "").rstrip("\n") for line in open(sys.argv[2])][:len(want)]
if sorted(want) != sorted(have):
    sys.exit(f"{want}\n{have}")
EOF
    grep -q '^optimal.*proven optimal$' tree.out || fail "the example does not say that optimal is proven"
    LD_LIBRARY_PATH=$build ./tree mlpp a100-sxm4-40gb "$src" 2>err
    grep -q "did you mean 'mlp'" err && grep -q '^plan: no input' err || fail "an unknown workload: $(cat err)"
fi

# Installed elsewhere, then moved: the program, the example by pkg-config and by find_package find the shipped data.
[ -x "$build/installed/fusesim" ] || { echo "no installed program was built: the install was not tested"; exit $((failed ? 1 : 77)); }
cmake --install "$build" --prefix "$PWD/first" >install.log || { cat install.log; fail "cmake --install"; }
mv first prefix
(cd / && "$OLDPWD/prefix/bin/fusesim" mlp --hw a100-sxm4-40gb >/dev/null) || fail "the installed program does not find its data"
pc=$(dirname "$(find prefix -name fusesim.pc)")
export PKG_CONFIG_PATH=$PWD/$pc
[ "$(pkg-config --modversion fusesim)" = "$("$FUSESIM" --version | cut -d' ' -f2)" ] || fail "pkg-config names another version than the program"
if [ -z "$sanitized" ]; then
    lib=$PWD/$(dirname "$pc")
    # shellcheck disable=SC2046
    ${CC:-cc} "$src/examples/plan.c" $(pkg-config --cflags --libs fusesim) -o installed || fail "the example by pkg-config"
    (cd / && LD_LIBRARY_PATH=$lib "$OLDPWD/installed" mlp a100-sxm4-40gb) >installed.out || fail "the installed example ends with $?"
    cmp tree.out installed.out || fail "the installed library predicts something else"
    # What the guide shows, as it stands there.
    {
        printf '#include <fusesim.h>\n#include <stdio.h>\nint main(void)\n{\n'
        awk '/^```/ {inside = 0} /^fsim_session \*session;/ {inside = 1} inside' "$src/docs/GUIDE.md"
        printf 'return 0;\n}\n'
    } >guide.c
    # shellcheck disable=SC2046
    ${CC:-cc} -Wall -Wextra -Werror guide.c $(pkg-config --cflags --libs fusesim) -o guide && LD_LIBRARY_PATH=$lib ./guide | grep -q '^[1-9][0-9]* kernels, ' ||
        fail "the program of docs/GUIDE.md"
    mkdir package
    cat >package/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C)
find_package(fusesim REQUIRED)
add_executable(shared $src/examples/plan.c)
target_link_libraries(shared PRIVATE fusesim::fusesim)
add_executable(static $src/examples/plan.c)
target_link_libraries(static PRIVATE fusesim::static)
EOF
    { cmake -S package -B package/build -DCMAKE_PREFIX_PATH="$PWD/prefix" && cmake --build package/build; } >package.log 2>&1 ||
        { cat package.log; fail "the example by find_package"; }
    package/build/shared mlp a100-sxm4-40gb >shared.out && cmp tree.out shared.out || fail "fusesim::fusesim"
    package/build/static mlp a100-sxm4-40gb prefix/share/fusesim >static.out && cmp tree.out static.out || fail "fusesim::static"
fi
exit $failed
