#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A folder with a program that runs on other Linux machines (x86-64 or as this one, glibc 2.34 and newer), its hardware files, workloads and gpu_session.sh, and the same as .tar.gz.
#
#   carry.sh [-o DIR]        DIR: build/carry; needs cmake, a C compiler, libyaml (its .a is taken where there is one), cJSON, binutils
#
# NVIDIA's libraries are opened at run time and not part of it: the other machine has a driver and, to measure, NVRTC.
set -eu

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$tree/build/carry
newest_glibc=2.34
if [ $# = 2 ] && [ "$1" = -o ]; then
    mkdir -p "$2"
    out=$(cd "$2" && pwd)
elif [ $# -gt 0 ]; then
    sed -n '5p' "${BASH_SOURCE[0]}" | cut -c 5- >&2
    exit 2
fi

fail() {
    echo "carry.sh: $*" >&2
    exit 1
}
note() { echo "carry.sh: $*"; }

mkdir -p "$out"
# Build. A static libyaml where there is one; cJSON goes along where it is a shared object.
static_yaml=$(pkg-config --variable=libdir yaml-0.1)/libyaml.a
options=(-DCMAKE_BUILD_TYPE=Release -DFUSESIM_TESTS=OFF "-DCMAKE_EXE_LINKER_FLAGS=-static-libgcc -Wl,-rpath,'\$ORIGIN/lib' -Wl,--as-needed")
[ ! -f "$static_yaml" ] || options+=("-Dpkgcfg_lib_YAML_yaml=$static_yaml")
static_cjson=$(pkg-config --variable=libdir libcjson)/libcjson.a
[ ! -f "$static_cjson" ] || options+=("-Dpkgcfg_lib_CJSON_cjson=$static_cjson")
if [ "$(uname -m)" = x86_64 ]; then # glibc 2.35 has another hypot, without matherr; the older one is there too
    echo '__asm__(".symver hypot, hypot@GLIBC_2.2.5");' >"$out/older_glibc.h"
    options+=("-DCMAKE_C_FLAGS=-include $out/older_glibc.h")
fi
cmake -S "$tree" -B "$out/build" "${options[@]}" >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log" >&2; fail 'cmake'; }
cmake --build "$out/build" -j "$(nproc)" --target fusesim >>"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log" >&2; fail 'the build'; }

version=$("$out/build/fusesim" --version | sed 's/ /-/')
pack=$out/$version
rm -rf "$pack"
mkdir -p "$pack/lib"
cp "$out/build/fusesim" "$pack/fusesim"
strip "$pack/fusesim"

# What it needs of the other machine.
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
glibc_of() { objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | cut -c 7- | sort -uV | tail -n 1; }
for library in $(needed "$pack/fusesim"); do
    case $library in
    libc.so.* | libm.so.* | ld-linux*) ;;
    libyaml-0.so.* | libcjson.so.*)
        at=$(ldd "$out/build/fusesim" | sed -n "s/.*$library => \([^ ]*\) .*/\1/p")
        cp "$(readlink -f "$at")" "$pack/lib/$library"
        ;;
    *) fail "the program needs $library" ;;
    esac
done
for file in "$pack/fusesim" "$pack"/lib/*; do
    [ -f "$file" ] || continue
    newest=$(glibc_of "$file")
    [ "$(printf '%s\n%s\n' "$newest" "$newest_glibc" | sort -V | tail -n 1)" = "$newest_glibc" ] || fail "$(basename "$file") needs GLIBC_$newest, wanted $newest_glibc at most"
    note "$(basename "$file"): needs $(needed "$file" | tr '\n' ' ')and GLIBC_$newest"
done

cp -R "$tree/hwmodels" "$tree/workloads" "$pack/"
cp "$tree/validate/gpu_session.sh" "$tree/LICENSE" "$pack/"

# Does it start where there is nothing but libc?
starts_bare() {
    local root=$out/root library become=()
    rm -rf "$root"
    mkdir -p "$root"
    cp -R "$pack/." "$root/"
    for library in $(ldd "$pack/fusesim" | grep -o '/[^ ]*'); do
        case $library in *libc.so* | *libm.so* | *ld-linux*)
            mkdir -p "$root$(dirname "$library")"
            cp -L "$library" "$root$library"
            ;;
        esac
    done
    [ "$(id -u)" = 0 ] || become=(unshare -r)
    if ! "${become[@]}" chroot "$root" /fusesim --version >"$out/bare.log" 2>&1; then
        if grep -qi 'not permitted\|permission denied\|cannot change root' "$out/bare.log"; then
            note 'not tried in a bare root: chroot is not permitted here'
        else
            cat "$out/bare.log" >&2
            fail 'it does not start in a root with libc alone'
        fi
    elif "${become[@]}" chroot "$root" /fusesim workloads/seeds/chain4.yaml --hw hwmodels/h100-sxm5-80gb.yaml >"$out/bare.log" 2>&1; then
        note 'starts and predicts in a root with libc alone'
    else
        cat "$out/bare.log" >&2
        fail 'it does not predict in a root with libc alone'
    fi
    rm -rf "$root"
}
starts_bare

tar -C "$out" -czf "$pack.tar.gz" "$version"
note "$pack and $pack.tar.gz, $(du -k "$pack.tar.gz" | cut -f 1) KiB"
