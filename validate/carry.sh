#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A folder with a program that runs on other Linux machines (x86-64 or as this one, glibc 2.34 and newer), its hardware files, workloads and gpu_session.sh, and the same as .tar.gz.
# It reads torch.export archives where that machine has libzip, which is opened at run time and not part of it.
#
#   carry.sh [-o DIR] [--from BUILD]        DIR: build/carry; needs cmake, a C compiler, libyaml (its .a is taken where there is one), cJSON, binutils
#
# --from: links the objects of this build, as in build/release, instead of compiling all again.
# NVIDIA's libraries are opened at run time and not part of it: the other machine has a driver and, to measure, NVRTC.
set -eu

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$tree/build/carry
newest_glibc=2.34
from=
while [ $# -gt 0 ]; do
    case $#:$1 in
    1:*) ;;
    *:-o) mkdir -p "$2" && out=$(cd "$2" && pwd) && shift 2 && continue ;;
    *:--from) [ ! -f "$2/libfusesim_core.a" ] || { from=$(cd "$2" && pwd) && shift 2 && continue; } ;;
    esac
    sed -n 's/^#   //p' "${BASH_SOURCE[0]}" >&2
    exit 2
done

fail() {
    echo "carry.sh: $*" >&2
    exit 1
}
note() { echo "carry.sh: $*"; }

# Build. A static libyaml where there is one; cJSON goes along where it is a shared object.
mkdir -p "$out"
log=$out/build.log
: >"$log"
logged() { "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "$1 fails; all it said is in $log"; }; }
flags="-static-libgcc -Wl,-rpath,'\$ORIGIN/lib' -Wl,--as-needed"
if [ "$(uname -m)" = x86_64 ]; then # glibc 2.35 has another hypot, without matherr; the older one is there too
    echo '__asm__(".symver older, hypot@GLIBC_2.2.5"); double older(double, double); double __wrap_hypot(double x, double y) { return older(x, y); }' >"$out/older_glibc.c"
    logged "${CC:-cc}" -O2 -c "$out/older_glibc.c" -o "$out/older_glibc.o"
    flags+=" -Wl,--wrap=hypot '$out/older_glibc.o' -lm"
fi
options=(-DCMAKE_BUILD_TYPE=Release -DFUSESIM_TESTS=OFF "-DCMAKE_EXE_LINKER_FLAGS=$flags")
for library in YAML:yaml-0.1:yaml CJSON:libcjson:cjson; do
    IFS=: read -r prefix module name <<<"$library"
    static=$(pkg-config --variable=libdir "$module")/lib$name.a
    [ ! -f "$static" ] || options+=("-Dpkgcfg_lib_${prefix}_$name=$static")
done
logged cmake -S "$tree" -B "$out/build" -G 'Unix Makefiles' "${options[@]}"
if [ "$from" ]; then # all of it but main.c
    cp "$from/libfusesim_core.a" "$out/build/"
    logged make -C "$out/build" fusesim/fast
else
    logged cmake --build "$out/build" -j "$(nproc)" --target fusesim
fi

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
cp "$tree/validate/gpu_session.sh" "$tree/validate/products.cu" "$tree/LICENSE" "$pack/"
if command -v nvcc >/dev/null; then # it links cuBLAS, which the other machine may have under another name: then gpu_session.sh goes on without
    # shellcheck disable=SC2086
    nvcc ${NVCCFLAGS:--O3} -std=c++17 -gencode=arch=compute_90a,code=sm_90a "$tree/validate/products.cu" -o "$pack/products" -lcublas >>"$out/build.log" 2>&1 || rm -f "$pack/products"
fi

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
        "${become[@]}" chroot "$root" /fusesim workloads/models/tiny_cnn.pt2 --hw hwmodels/l4.yaml >"$out/bare.log" 2>&1 || true
        grep -q 'libzip' "$out/bare.log" || fail "of a torch.export archive it says there: $(cat "$out/bare.log")"
        note 'starts and predicts in a root with libc alone'
    else
        cat "$out/bare.log" >&2
        fail 'it does not predict in a root with libc alone'
    fi
    rm -rf "$root"
}
starts_bare

tar -C "$out" -czf "$pack.tar.gz" "$version"
note 'it reads torch.export archives where that machine has libzip'
note "$pack and $pack.tar.gz, $(du -k "$pack.tar.gz" | cut -f 1) KiB"
