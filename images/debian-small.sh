#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A small Debian 12 root file system as a tar file that `starlease image import` takes:
#
#     images/debian-small.sh debian-small.tar
#
# MIRROR is the package source (default: mmdebstrap's); PACKAGES, with commas, are added to it: the other recipes
# are that. The image has no kernel, no init and no SSH server: an
# instance brings its own. It has no device nodes either, because an import refuses them.
set -eu
out=${1:?usage: debian-small.sh FILE.tar}
case $out in
*.tar) ;;
*)
    echo "debian-small.sh: $out: the name must end in .tar" >&2
    exit 2
    ;;
esac
packages=ca-certificates,less,openssh-sftp-server,procps${PACKAGES:+,$PACKAGES}
# shellcheck disable=SC2016,SC2086 # $1 is the hook's; an empty MIRROR must be no argument
mmdebstrap --quiet --variant=minbase --include=$packages --skip=output/dev \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='echo starlease >"$1/etc/hostname"' \
    bookworm "$out" ${MIRROR:-}
