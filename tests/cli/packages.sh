#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 9
# The Debian packages of the preset "package", made of the programs and libraries of this build: cpack writes three, with what belongs in each and what each needs.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
built=$(dirname "$FUSESIM")
failures=0
complain() { echo "FAILED: $1" >&2; [ ! -s log ] || tail -n 15 log >&2; failures=$((failures + 1)); }
for tool in dpkg-deb dpkg-shlibdeps file cpack; do command -v $tool >/dev/null || { echo "no $tool"; exit 77; }; done
[ -x "$built/installed/fusesim" ] || { echo 'no installed program was built'; exit 77; }

# Of the workloads, GPUs and systems a few: cpack starts two programs for each file of a package.
mkdir -p source/{workloads,hwmodels,systems}
for file in "$SOURCE_DIR"/*; do
    case ${file##*/} in
    workloads | hwmodels | systems | build) ;;
    *) if [ -d "$file" ]; then ln -s "$file" source; else cp "$file" source; fi ;;
    esac
done
cp "$SOURCE_DIR"/workloads/{mlp,bert_layer}.yaml source/workloads
cp "$SOURCE_DIR"/hwmodels/l4.yaml source/hwmodels
cp "$SOURCE_DIR"/systems/dgx-h100.yaml source/systems
cmake -S source --preset package -B "$PWD/build" -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON >log 2>&1 || { complain 'cmake --preset package'; exit 1; }
cp "$built/installed/fusesim" build/installed/ && cp -P "$built"/libfusesim.so* build/ && cp "$built"/printed/* build/printed/ || exit 1
# Of the static library two objects: lintian starts programs for each.
mkdir objects && (cd objects && ar x "$built/libfusesim.a" $(ar t "$built/libfusesim.a" | head -n 2) && ar rcs ../build/libfusesim.a *.o) || exit 1
(cd build && cpack) >log 2>&1 || complain 'cpack'
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' build/CPackConfig.cmake)
[ "$version" ] || complain 'no version'

# holds PACKAGE PATTERN...: a file of the package, or a field of it.
holds() {
    local deb=(build/"$1"_"$version"-1_*.deb) pattern
    [ -e "${deb[0]}" ] || { complain "no $1_$version-1_*.deb: $(ls build)"; return; }
    { dpkg-deb -f "${deb[0]}" && dpkg-deb -c "${deb[0]}" | sed 's/.* \.\//\//'; } >"$1.txt"
    for pattern in "${@:2}"; do grep -Eq -- "$pattern" "$1.txt" || { : >log; complain "$1 has no '$pattern': $(cat "$1.txt")"; }; done
}
holds fusesim '^Depends: .*libc6' '^Depends: .*libyaml-0-2' '^Depends: .*libzip' '^Section: science$' '^/usr/bin/fusesim$' '^/usr/share/man/man1/fusesim\.1\.gz$' '^/usr/share/fusesim/hwmodels/l4\.yaml$' \
    '^/usr/share/doc/fusesim/changelog\.gz$' '^/usr/share/doc/fusesim/copyright$' '^/usr/share/zsh/vendor-completions/_fusesim$'
holds libfusesim0 '^Depends: .*libc6' '^Depends: .*libzip' '^Recommends: fusesim ' '/libfusesim\.so\.0 -> ' '^/usr/share/doc/libfusesim0/changelog\.Debian\.gz$'
holds libfusesim-dev "^Depends: libfusesim0 \\(= $version-1\\), libyaml-dev" '^/usr/include/fusesim\.h$' '/libfusesim\.a$' '/pkgconfig/fusesim\.pc$' '/libfusesim\.so -> '
dpkg-deb --ctrl-tarfile build/libfusesim0_*.deb | tar tf - | sed 's#^\./##' | sort >control
grep -qx symbols control && grep -qx shlibs control && grep -qx triggers control || complain "control of libfusesim0: $(cat control)"

# Every file has the release's date, not that of the build: two builds have the same bytes.
for deb in build/*.deb; do
    [ "$(dpkg-deb -c "$deb" | awk '{ print $4 }' | sort -u)" = "$(sed -n 's/^## [0-9.]* (\(.*\))$/\1/p' "$SOURCE_DIR/CHANGELOG.md" | head -n 1)" ] || complain "dates in $deb: $(dpkg-deb -c "$deb" | awk '{ print $4 }' | sort | uniq -c)"
done

# Debian's own check finds nothing. How programs are compiled is the preset's matter; these are another's.
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning --suppress-tags hardening-no-relro,hardening-no-pie,unstripped-binary-or-object,library-not-linked-against-libc build/*.deb >log 2>&1 || complain 'lintian'
else
    echo 'no lintian: the packages were not checked by it'
fi

# Unpacked, the program finds its data.
dpkg-deb -x build/fusesim_*.deb root && env -i PATH="$PATH" root/usr/bin/fusesim mlp --hw l4 --quiet >out 2>log && grep -q '^mlp on l4: optimal ' out || complain 'the packaged program does not find its data'
exit $((failures > 0))
