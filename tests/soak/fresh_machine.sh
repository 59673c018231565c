#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fresh_machine.sh [RELEASE]: ./run demo, ./run test and the programs of the tutorial in a minimal Debian in which
# nothing is installed, made with debootstrap: bookworm (Debian 12) or another release. Its packages come from where
# this machine's apt takes them.
set -eu
cd "$(dirname "$0")/../.."
release=${1:-bookworm}

skip() {
  echo "fresh_machine: skipped: $1"
  exit 0
}
[ "$(id -u)" = 0 ] || skip "only root can make a fresh machine"
command -v debootstrap >/dev/null || skip "there is no debootstrap"
[ -e "/usr/share/debootstrap/scripts/$release" ] || skip "this debootstrap does not know $release"
# shellcheck disable=SC2016  # apt's own $()
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Codename: bookworm' | head -n 1)
[ -n "$mirror" ] || skip "this machine's apt knows no Debian 12, so where its packages come from is not known"

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
debootstrap --variant=minbase "$release" "$machine" "$mirror" >"$machine.log" 2>&1 || {
  cat "$machine.log" >&2
  exit 1
}
rm "$machine.log"
# apt's settings of this machine; another release has its own lists of packages, which debootstrap has written.
if [ "$release" = bookworm ]; then
  rm -f "$machine/etc/apt/sources.list"
  cp -R /etc/apt/. "$machine/etc/apt/"
else
  cp -R /etc/apt/apt.conf.d/. "$machine/etc/apt/apt.conf.d/"
fi
cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
mountpoint -q "$machine/proc" || mount -t proc proc "$machine/proc"

# A checkout that was downloaded, and one that git made: git itself is in neither.
mkdir "$machine/cairn" "$machine/cloned"
tar -cf - --exclude=./build --exclude=./.git . | tar -xf - -C "$machine/cairn"
tar -cf - --exclude=./build . | tar -xf - -C "$machine/cloned"
[ -e "$machine/cloned/.git" ] || mkdir "$machine/cloned/.git"

in_machine() {
  chroot "$machine" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
}
inside() {
  start=$(date +%s)
  folder=$1
  shift
  in_machine sh -c "cd /$folder && ./run \"\$@\" && times" sh "$@"
  echo "fresh_machine: $release: ./run $* in $folder took $(($(date +%s) - start)) s"
}
if in_machine sh -c 'command -v c++ || command -v cmake || command -v python3'; then
  echo "fresh_machine: the new machine is not bare" >&2
  exit 1
fi
inside cairn demo
inside cairn demo
inside cairn test
if in_machine sh -c 'command -v git'; then
  echo "fresh_machine: the tests install git" >&2
  exit 1
fi
inside cloned test
# The last program of the tutorial takes ADOL-C, whose installation the page names.
in_machine sh -c 'apt-get -q install -y --no-install-recommends libadolc-dev >/dev/null'
in_machine sh -c 'cd /cairn && python3 tests/scripts/snippets.py g++ docs/tutorial.md -O2 -Iinclude -ladolc'
echo "fresh_machine: $release: the programs of docs/tutorial.md print what the page says"
