#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tree builds with clang, too, without a warning (-Werror).
cd "$(dirname "$0")/../.." || exit 1
if ! command -v clang >/dev/null; then
    echo "ok 1 - clang builds the tree # SKIP clang is not installed"
    exit 0
fi
[ -f build-clang/build.ninja ] || CC=clang meson setup build-clang >/dev/null
if ninja -C build-clang >build-clang/log 2>&1; then
    echo "ok 1 - clang builds the tree without a warning"
else
    grep -E 'error|warning' build-clang/log | head -20 | sed 's/^/# /'
    echo "not ok 1 - clang builds the tree without a warning"
fi
echo 1..1
