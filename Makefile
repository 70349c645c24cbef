# SPDX-License-Identifier: Apache-2.0
# The front door. meson does the building; this file names the packages and the programs' ways to run.
BUILD ?= build

PKG_BUILD = gcc make meson ninja-build pkg-config libc6-dev
build: $(BUILD)/build.ninja
	ninja -C $(BUILD)
$(BUILD)/build.ninja:
	meson setup $(BUILD)
.PHONY: build
