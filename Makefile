# SPDX-License-Identifier: Apache-2.0
# The front door. meson does the building; this file names the packages, once, and the ways to run.
BUILD ?= build
SAN   ?= build-san

# What each job needs on Debian 12. `make deps` installs all of it, `make deps-demo` the first three lists.
PKG_BUILD = gcc libc6-dev make meson ninja-build pkg-config python3 \
            libarchive-dev libcmocka-dev libcurl4-gnutls-dev libgnutls28-dev libjansson-dev \
            libmicrohttpd-dev libsodium-dev libsqlite3-dev nettle-dev
PKG_RUN   = ca-certificates crun g++ dropbear-bin e2fsprogs erofs-utils iproute2 kmod nftables openssh-client \
            procps util-linux xz-utils zstd
PKG_IMAGE = mmdebstrap debian-archive-keyring
PKG_TEST  = busybox-static sqlite3 gawk jq shellcheck clang clang-format-14 libclang-rt-14-dev man-db \
            debootstrap git file python3-torch buildah docker-registry binutils systemd
PKG_PORT  = hipcc libamdhip64-dev rocm-device-libs clang-19 lld-19 clang-tools-19 llvm-19
# The console's tests: a browser and fonts; node and npm only where there is no node of your own.
PKG_WEB   = chromium fonts-dejavu-core fonts-noto-cjk $(if $(shell command -v npm),,nodejs npm)
PKG_BENCH = nginx-light wrk postgresql-15 postgresql-contrib

.PHONY: deb images build console deps deps-demo demo demo-stop test san bench torture fuzz mutants man install clean help
build: $(BUILD)/build.ninja
	ninja -C $(BUILD)
$(BUILD)/build.ninja:
	meson setup $(BUILD)

help:
	@echo 'make              build everything into $(BUILD)/'
	@echo 'make deps         install all packages (Debian 12, root); deps-demo: what the demo needs'
	@echo 'make demo         the whole story on this machine: price, sign-up, instance, bill (root)'
	@echo 'make demo-stop    stop what the demo left running'
	@echo 'make test         every test; ends with "N passed, N failed"'
	@echo 'make bench torture fuzz mutants      see CONTRIBUTING.md'
	@echo 'make images       build the image recipes (RECIPES=hipcc for one) into $(IMAGES)/'
	@echo 'make man          regenerate man pages and shell completions'
	@echo 'make console      rebuild web/dist from web/src (node, npm)'
	@echo 'make install      DESTDIR= and PREFIX= are honoured; clean removes the build trees'

# apt only when something is missing, so that this is quick (and needs no network) the second time.
define install_packages
	@missing=; for p in $(1); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then echo "installing:$$missing"; \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	else echo "packages: all present"; fi
endef
deps:
	$(call install_packages,$(PKG_BUILD) $(PKG_RUN) $(PKG_IMAGE) $(PKG_TEST) $(PKG_PORT) $(PKG_WEB) $(PKG_BENCH))
deps-demo:
	$(call install_packages,$(PKG_BUILD) $(PKG_RUN) $(PKG_IMAGE))

demo: deps-demo
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) >/dev/null
	ninja -C $(BUILD) starlease starleased starlease-agentd starlease-agent starlease-init starport
	BUILD=$(BUILD) TORCH=$(TORCH) scripts/demo.sh
demo-stop:
	BUILD=$(BUILD) scripts/demo.sh stop

# Image recipes, one tar each in IMAGES; MIRROR is the package source. `make images RECIPES=hipcc` builds one.
IMAGES  ?= build-images
RECIPES ?= debian-small hipcc notebook torch-cpu
images:
	mkdir -p $(IMAGES)
	for r in $(RECIPES); do images/$$r.sh $(IMAGES)/$$r.tar || exit 1; done

test: deps build san
	BUILD=$(BUILD) SAN=$(SAN) tests/run
san:
	@test -f $(SAN)/build.ninja || meson setup $(SAN) -Db_sanitize=address,undefined >/dev/null
	ninja -C $(SAN)
bench torture fuzz mutants: build
	BUILD=$(BUILD) SAN=$(SAN) tests/run --$@

# The console is kept built in web/dist; this is for whoever changes web/src.
console:
	cd web && npm ci --ignore-scripts && node gen-types.mjs && node node_modules/typescript/bin/tsc --noEmit && node build.mjs

# Man pages and completions are printed by the programs and kept in the tree (tests/docs checks them).
man: build
	scripts/generate.sh $(BUILD)

deb: build
	packaging/deb.sh $(BUILD) $(BUILD)

PREFIX ?= /usr/local
install:
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix $(PREFIX)
	meson configure $(BUILD) --prefix $(PREFIX)
	meson install -C $(BUILD)
clean:
	rm -rf $(BUILD) $(SAN)
