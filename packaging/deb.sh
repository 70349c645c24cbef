#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes starlease_VERSION_ARCH.deb from a finished build: deb.sh BUILD OUTDIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: deb.sh BUILD OUTDIR}
out=${2:?usage: deb.sh BUILD OUTDIR}
version=$(sed -n 's/.*SL_VERSION "\([^"]*\)".*/\1/p' "$here/../src/base/core/version.h")
arch=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet
if [ -d "$root/usr/local" ]; then # built for /usr/local: the programs find their files from where they stand
    (cd "$root/usr/local" && tar -cf - .) | tar -xf - -C "$root/usr"
    rm -rf "$root/usr/local"
fi
sed -i 's|/usr/local/bin|/usr/bin|' "$root"/usr/lib/systemd/system/*.service
install -Dm644 "$here/sysusers/starlease.conf" "$root/usr/lib/sysusers.d/starlease.conf"
install -Dm644 "$here/tmpfiles/starlease.conf" "$root/usr/lib/tmpfiles.d/starlease.conf"
install -Dm644 "$here/deb/starleased.conf.example" "$root/usr/share/doc/starlease/starleased.conf.example"
install -Dm644 "$here/../LICENSE" "$root/usr/share/doc/starlease/copyright"
mkdir "$root/DEBIAN"
install -m755 "$here/deb/postinst" "$root/DEBIAN/postinst"
depends=$(grep -v '^#' "$here/deb/depends" | tr '\n' ',' | sed 's/,$//; s/,/, /g')
cat >"$root/DEBIAN/control" <<CONTROL
Package: starlease
Version: $version
Architecture: $arch
Maintainer: Starlease developers <starlease@example.org>
Section: admin
Priority: optional
Depends: $depends
Description: rent out GPU servers, and move CUDA code onto AMD cards
 The control plane (starleased), the agent of a GPU node (starlease-agentd), the
 command line (starlease) and the porting tool (starport).
CONTROL
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$root" "$out/starlease_${version}_$arch.deb" >/dev/null
echo "$out/starlease_${version}_$arch.deb"
