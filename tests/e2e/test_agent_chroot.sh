#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Instances from inside a chroot (a root that is no mount, as debootstrap makes it): the same hostile tenant there.
set -eu
if [ "$(id -u)" != 0 ]; then
    echo "ok 1 - leases run from a chroot # SKIP needs root"
    echo 1..1
    exit 0
fi
if [ -z "${CHROOT_AT:-}" ]; then
    CHROOT_AT=$(mktemp -d /tmp/starlease-chroot-XXXXXX)
    export CHROOT_AT
    # A private mount under which nothing spreads, whatever the root above it does: in a chroot that root is no
    # mount, and its propagation cannot be changed. The rest lives in a namespace that ends with the test.
    mount -t tmpfs -o size=1m,mode=755 chroot "$CHROOT_AT"
    trap 'umount "$CHROOT_AT" && rmdir "$CHROOT_AT"' EXIT
    mount --make-private "$CHROOT_AT"
    unshare -m --propagation unchanged bash "$0"
    exit
fi
mkdir "$CHROOT_AT/in"
cd "$CHROOT_AT/in"
for name in /*; do
    if [ -L "$name" ]; then
        cp -P "$name" .
    elif [ -d "$name" ] && [ "$name" != /lost+found ]; then
        mkdir ".$name"
        mount --rbind "$name" ".$name"
        mount --make-rprivate ".$name"
    fi
done
root=$OLDPWD
exec chroot "$CHROOT_AT/in" /bin/sh -c "cd '$root' && exec /usr/bin/python3 tests/e2e/test_agent_escape.py"
