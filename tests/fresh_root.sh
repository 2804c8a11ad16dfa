#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/fresh_root.sh [--worktree] [DIR]: do ./run and ./test work on a bare Debian 12? Not part of ctest: it needs root,
# debootstrap (apt-get install debootstrap), about 2 GiB and the network.
#
# Makes a minimal root in DIR/base (once; default ${TMPDIR:-/tmp}/fusesim-root), copies it to DIR/root, puts a `git clone` of
# this repository in (--worktree: the files as they are here, committed or not), and runs both there, printing wall times.
# DIR/root stays for a look; the next call replaces it.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm
worktree=
[ "${1-}" != --worktree ] || { worktree=1; shift; }
dir=${1:-${TMPDIR:-/tmp}/fusesim-root}
base=$dir/base root=$dir/root
[ "$(id -u)" = 0 ] || { echo "needs root, for chroot" >&2; exit 77; }
command -v debootstrap >/dev/null || { echo "needs debootstrap: apt-get install debootstrap" >&2; exit 77; }

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

if [ $worktree ]; then
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
plan='./run workloads/bert_layer.yaml --hw a100-sxm4-40gb'
seconds 'first ./run (installs and builds)' inside "$plan" || failed=1
seconds 'second ./run' inside "$plan >/dev/null" || failed=1
seconds './test (installs, builds and runs all)' inside ./test || failed=1
seconds 'second ./test' inside './test >/dev/null' || failed=1
exit $failed
