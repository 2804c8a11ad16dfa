#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/fresh_root.sh [--worktree] [DIR]: do ./run and ./test work on a bare Debian 12? Not part of ctest: it needs root,
# debootstrap (apt-get install debootstrap), about 2 GiB and the network.
# tests/fresh_root.sh --packages [DIR]: are the Debian packages and the wheel installed there, used and removed without a trace? Takes
# those of build/package (cmake --preset package && cmake --build --preset package && (cd build/package && cpack)).
#
# Makes a minimal root in DIR/base (once; default ${TMPDIR:-/tmp}/fusesim-root), copies it to DIR/root, puts a `git clone` of
# this repository in (--worktree: the files as they are here, committed or not), and runs both there, printing wall times.
# DIR/root stays for a look; the next call replaces it.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm
worktree= packages=
case ${1-} in
--worktree) worktree=1; shift ;;
--packages) packages=1; shift ;;
esac
dir=${1:-${TMPDIR:-/tmp}/fusesim-root}
base=$dir/base root=$dir/root
[ "$(id -u)" = 0 ] || { echo "needs root, for chroot" >&2; exit 77; }
command -v debootstrap >/dev/null || { echo "needs debootstrap: apt-get install debootstrap" >&2; exit 77; }

if [ $packages ]; then
    debs=("$source_dir"/build/package/{fusesim,libfusesim0,libfusesim-dev}_*.deb)
    [ -e "${debs[0]}" ] && [ -e "${debs[1]}" ] && [ -e "${debs[2]}" ] || { echo "no packages in build/package: call cpack there" >&2; exit 77; }
fi

unmount() {
    for at in dev/null dev/zero dev/random dev/urandom proc; do
        ! mountpoint -q "$root/$at" || umount "$root/$at"
    done
}
trap unmount EXIT
seconds() { # label command...: runs it, says how long it took and how it ended
    local label=$1 start=${EPOCHREALTIME/[.,]/} status=0
    shift
    "$@" || status=$?
    printf '== %s: %d.%03d s, exit status %d\n' "$label" $((t = (${EPOCHREALTIME/[.,]/} - start) / 1000, t / 1000)) $((t % 1000)) $status
    return $status
}

# The machine's own mirror and its settings, so that what works here works in there.
host_suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
mirror=
[ "$host_suite" != $suite ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
if ! [ -e "$base/complete" ]; then
    rm -rf "$base"
    mkdir -p "$base"
    seconds debootstrap debootstrap --variant=minbase $suite "$base" ${mirror:+"$mirror"} >"$dir/debootstrap.log"
    touch "$base/complete"
fi
unmount # what an interrupted call may have left
rm -rf "$root"
cp -a "$base" "$root"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
into_root() { # paths, relative to /; those that are not here are skipped
    (cd / && for path in "$@"; do [ ! -e "$path" ] || printf '%s\0' "$path"; done | tar -c --null -T -) | tar -x -C "$root"
}
if [ "$host_suite" = $suite ]; then
    rm -f "$root/etc/apt/sources.list"
    into_root etc/apt/sources.list etc/apt/sources.list.d
fi
# Of apt's settings the way to the network only: the rest may concern what is installed here.
mapfile -t settings < <(cd / && grep -rlsE '^ *Acquire' etc/apt/apt.conf etc/apt/apt.conf.d)
into_root "${settings[@]}" etc/apt/trusted.gpg.d etc/apt/keyrings etc/apt/auth.conf.d etc/ssl/certs \
    usr/share/ca-certificates usr/local/share/ca-certificates

if [ $packages ]; then
    mkdir "$root/fusesim"
    cp "${debs[@]}" "$source_dir/examples/plan.c" "$root/fusesim/"
    prefix=$(mktemp -d "$dir/prefix.XXXXXX")
    cmake --install "$source_dir/build/package" --prefix "$prefix" >"$dir/install.log"
    python3 "$source_dir/tools/wheel.py" "$prefix" "$root/fusesim"
    rm -rf "$prefix"
elif [ $worktree ]; then
    mkdir "$root/fusesim"
    (cd "$source_dir" && git ls-files -z -co --exclude-standard | tar -c --null -T - --ignore-failed-read) | tar -x -C "$root/fusesim"
else
    git clone -q "$source_dir" "$root/fusesim"
fi

mount -t proc proc "$root/proc"
for node in null zero random urandom; do
    [ -e "$root/dev/$node" ] || : >"$root/dev/$node"
    mount --bind "/dev/$node" "$root/dev/$node"
done
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} sh -c "cd /fusesim && $1" </dev/null; }
failed=0
if [ $packages ]; then
    get='DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -y --no-install-recommends'
    # Names of files and folders that a package or the wheel could have left; /fusesim has what they are made from.
    left='find / -xdev \( -path /fusesim -o -path /proc -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune -o -iname "*fusesim*" -print'
    step() { seconds "$1" inside "$2" || failed=1; }
    step 'apt-get update' "$get update"
    step 'the program: installed' "$get install ./fusesim_*.deb >/dev/null"
    step 'used' "cd / && fusesim mlp --hw l4 --quiet && fusesim hw list --quiet | grep -q h100 && fusesim bert_layer --hw t4 --report /tmp/page.html --quiet && grep -q '</html>' /tmp/page.html
        for f in man/man1/fusesim.1.gz man/man5/fusesim-hw.5.gz man/man5/fusesim-workload.5.gz bash-completion/completions/fusesim zsh/vendor-completions/_fusesim fish/vendor_completions.d/fusesim.fish; do
            dpkg -S /usr/share/\$f || exit 1; done; dpkg --verify fusesim"
    step 'the library: installed' "$get install ./libfusesim0_*.deb ./libfusesim-dev_*.deb gcc libc6-dev pkg-config >/dev/null"
    step 'compiled with' 'cc -std=c11 plan.c $(pkg-config --cflags --libs fusesim) -o /tmp/plan && ldd /tmp/plan | grep libfusesim.so.0 && /tmp/plan mlp l4'
    step 'all removed' "$get purge fusesim libfusesim0 libfusesim-dev >/dev/null && rm -f /tmp/plan /tmp/page.html && ! command -v fusesim && ! dpkg -l | grep fusesim"
    step 'nothing left' "there=\$($left); echo \"\$there\"; [ -z \"\$there\" ]"
    step 'the wheel: installed' "$get install python3-venv >/dev/null && python3 -m venv /tmp/env && /tmp/env/bin/pip install -q --no-index --disable-pip-version-check ./fusesim-*.whl"
    step 'used' "cd / && /tmp/env/bin/fusesim mlp --hw l4 --quiet && /tmp/env/bin/python -c 'import fusesim; p = fusesim.plan(\"mlp\", \"l4\"); print(p.gpu, len(p.kernels), p.time_s)'"
    step 'removed' "/tmp/env/bin/pip uninstall -q -y --disable-pip-version-check fusesim"
    step 'nothing left' "there=\$($left); echo \"\$there\"; [ -z \"\$there\" ]"
    exit $failed
fi
plan='./run workloads/bert_layer.yaml --hw a100-sxm4-40gb'
seconds 'first ./run (installs and builds)' inside "$plan" || failed=1
seconds 'second ./run' inside "$plan >/dev/null" || failed=1
seconds './test (installs, builds and runs all)' inside ./test || failed=1
seconds 'second ./test' inside './test >/dev/null' || failed=1
exit $failed
