#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian 12 with its HIP compiler (ROCm 5.2, LLVM 15) and a build environment: compiles for MI200 (gfx90a) and older.
# For MI300 and later take an image of the catalogue, whose ROCm is 6.0 or newer.
#
#     images/hipcc.sh hipcc.tar
set -eu
PACKAGES=hipcc,libamdhip64-dev,rocm-device-libs,rocminfo,make,g++,git
export PACKAGES
exec "$(dirname "$0")/debian-small.sh" "$@"
