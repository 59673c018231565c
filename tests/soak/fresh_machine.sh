#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./run demo and ./run test in a minimal Debian 12 in which nothing is installed, made with debootstrap. Its packages
# come from wherever this machine's apt takes them.
set -eu
cd "$(dirname "$0")/../.."

skip() {
  echo "fresh_machine: skipped: $1"
  exit 0
}
[ "$(id -u)" = 0 ] || skip "only root can make a fresh machine"
command -v debootstrap >/dev/null || skip "there is no debootstrap"
# shellcheck disable=SC2016  # apt's own $()
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Codename: bookworm' | head -n 1)
[ -n "$mirror" ] || skip "this machine's apt knows no Debian 12"

machine=$(mktemp -d "${TMPDIR:-/tmp}/cairn_fresh_machine.XXXXXX")
clean_up() {
  if mountpoint -q "$machine/proc"; then umount "$machine/proc"; fi
  rm -rf --one-file-system "$machine"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# debootstrap does not read apt's proxy settings.
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
export http_proxy https_proxy
debootstrap --variant=minbase bookworm "$machine" "$mirror" >"$machine.log" 2>&1 || {
  cat "$machine.log" >&2
  exit 1
}
rm "$machine.log"
rm -f "$machine/etc/apt/sources.list"
cp -R /etc/apt/. "$machine/etc/apt/"
cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
mountpoint -q "$machine/proc" || mount -t proc proc "$machine/proc"

mkdir "$machine/cairn"
tar -cf - --exclude=./build --exclude=./.git . | tar -xf - -C "$machine/cairn"

inside() {
  start=$(date +%s)
  chroot "$machine" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "/cairn/run" "$@"
  echo "fresh_machine: ./run $* took $(($(date +%s) - start)) s"
}
if chroot "$machine" sh -c 'command -v c++ || command -v cmake || command -v python3'; then
  echo "fresh_machine: the new machine is not bare" >&2
  exit 1
fi
inside demo
inside demo
inside test
