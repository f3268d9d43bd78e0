# One Makefile, no recursion. The user's CFLAGS, CPPFLAGS and LDFLAGS come after ours. V=1 shows the commands.
MAKEFLAGS += -r
.DEFAULT_GOAL := all

PREFIX ?= /usr/local
DESTDIR ?=
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
DOCDIR ?= $(PREFIX)/share/doc/space-tools
STRIP ?= strip
PKG_CONFIG ?= pkg-config
ifeq ($(origin CC),default)
CC := gcc
endif
Q := $(if $(V),,@)

# SANITIZE=address,undefined builds beside the plain build.
BUILD := build$(if $(SANITIZE),/sanitize,)
VERSION := $(shell sed -n 's/^\#\# \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -n 1)

TOOLS := spacecap spaceid spacebridge spacestream spacerouted
SCRIPTS := node-api sbx-manager spaced-host spaced-guest netgtw sandbox space-keys space-doctor
# What space-doctor is made of, and what the scripts share.
PARTS := $(sort $(wildcard lib/doctor/*.bash lib/script/*.bash))
PARTSDIR = $(PREFIX)/share/space-tools
XTERM_FILES := xterm.js xterm.css addon-fit.js LICENSE
UNITS := $(patsubst lib/systemd/%,%,$(sort $(wildcard lib/systemd/*.service lib/systemd/*.socket lib/systemd/*.path \
	lib/systemd/*.timer lib/systemd/*.d/*.conf)))
EXAMPLES := space.ini link-control.conf link-worker.conf
PACKAGES := libsodium jansson inih

SP_CPPFLAGS := -D_GNU_SOURCE -DSP_VERSION='"$(VERSION)"' -Ilib -Isrc $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
SP_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wconversion -Wvla -Wstrict-prototypes -Wmissing-prototypes \
	-Wformat=2 -Werror=implicit -Werror=format-security -fno-strict-aliasing -fno-common \
	-fstack-protector-strong -fstack-clash-protection -fPIE -ffile-prefix-map=$(CURDIR)=.
ifneq ($(SANITIZE),)
SP_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
SP_LDFLAGS := -fsanitize=$(SANITIZE)
else
SP_CPPFLAGS += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
SP_LDFLAGS += -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
SP_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lev
LIBS_spacebridge := -lhttp_parser
LIBS_spacestream := -lhttp_parser -lwslay -lmd
COMPILE = $(CC) $(SP_CPPFLAGS) $(CPPFLAGS) $(SP_CFLAGS) $(CFLAGS) -MMD -MP

LIB_SOURCES := $(sort $(wildcard lib/*/*.c))
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/obj/%.o)

all: $(TOOLS:%=$(BUILD)/bin/%)

$(BUILD)/obj/%.o: %.c Makefile CHANGELOG.md
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c -o $@ $<

# What a file has taken in by .incbin.
$(BUILD)/obj/src/spacestream/serve_page.o: $(wildcard src/spacestream/page/*.*)
$(BUILD)/obj/src/spacestream/serve_openapi.o: src/spacestream/openapi.json

$(BUILD)/libspace.a: $(LIB_OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^

define tool
OBJECTS_$(1) := $$(patsubst %.c,$(BUILD)/obj/%.o,$$(sort $$(wildcard src/$(1)/*.c)))
$(BUILD)/bin/$(1): $$(OBJECTS_$(1)) $(BUILD)/libspace.a
	@mkdir -p $$(@D)
	$(Q)$$(CC) $$(SP_LDFLAGS) $$(LDFLAGS) -o $$@ $$(OBJECTS_$(1)) $(BUILD)/libspace.a $$(LIBS_$(1)) $$(SP_LIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool,$(t))))

# The agent for any Linux guest: no shared library (the sanitizers need theirs).
GUEST_STATIC := $(if $(SANITIZE),,$(BUILD)/bin/spaced-guest-static)
GUEST_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard src/spaced-guest/*.c)))
$(GUEST_STATIC): $(GUEST_OBJECTS) $(BUILD)/libspace.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -pie,$(SP_LDFLAGS)) $(LDFLAGS) -static-pie -Wl,--gc-sections -o $@ $(GUEST_OBJECTS) \
		$(BUILD)/libspace.a -larchive -lev -ljansson -lsodium -lm
all: $(GUEST_STATIC)

# tests/unit/test_WHAT.c: a cmocka program each.
UNIT_PROGRAMS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libspace.a
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(SP_LDFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libspace.a -lsqlite3 -lhttp_parser -lwslay -lmd $(SP_LIBS) -lcmocka
unit-programs: $(UNIT_PROGRAMS)
unit: $(UNIT_PROGRAMS)
	@for t in $(UNIT_PROGRAMS); do $$t || exit 1; done

# tests/fixtures/NAME/*.c: helper programs of the tests.
FIXTURES := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard tests/fixtures/*/*.c)))))
define fixture
FIXTURE_OBJECTS_$(1) := $$(patsubst %.c,$(BUILD)/obj/%.o,$$(sort $$(wildcard tests/fixtures/$(1)/*.c)))
$(BUILD)/fixtures/$(1): $$(FIXTURE_OBJECTS_$(1)) $(BUILD)/libspace.a
	@mkdir -p $$(@D)
	$(Q)$$(CC) $$(SP_LDFLAGS) $$(LDFLAGS) -o $$@ $$(FIXTURE_OBJECTS_$(1)) $(BUILD)/libspace.a $$(SP_LIBS)
endef
$(foreach f,$(FIXTURES),$(eval $(call fixture,$(f))))
# What runs in a guest has no shared library there.
$(BUILD)/fixtures/vsock: SP_LDFLAGS := $(filter-out -pie,$(SP_LDFLAGS)) $(if $(SANITIZE),-pie,-static-pie)

# tests/preload/NAME.c: what tests load into a program, to stop it at a point or to take something away from it.
PRELOADS := $(patsubst tests/%.c,$(BUILD)/%.so,$(sort $(wildcard tests/preload/*.c)))
$(BUILD)/preload/%.so: tests/preload/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(filter-out -fPIE -fsanitize=%,$(COMPILE)) -fPIC -shared -Wl,-z,now -o $@ $< -ldl
fixtures: $(FIXTURES:%=$(BUILD)/fixtures/%) $(PRELOADS) $(BUILD)/lab $(BUILD)/soak $(BUILD)/soak-judge $(BUILD)/script-completions

# tests/bench/bench_WHAT.c: measuring programs; tests/bench/run prints the table (FORMAT=json: the lines), beside an
# earlier run with BASE=FILE (its lines), of some programs only with ONLY='store relay'.
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(sort $(wildcard tests/bench/bench_*.c)))
$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libspace.a
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(SP_LDFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libspace.a -lsqlite3 $(SP_LIBS)
bench: all fixtures $(BENCHES)
	@tests/bench/run $(if $(FORMAT),-o $(FORMAT)) $(if $(BASE),-b '$(BASE)') $(ONLY)

# tests/fuzz/fuzz_WHAT.c: a libFuzzer program each, by clang, with all of libspace.a under the sanitizers. It begins with
# tests/fuzz/corpus/WHAT; what it finds there is in build/fuzz/corpus/WHAT, and what breaks it in build/fuzz. The words
# of tests/fuzz/WHAT.dict are tried, where there are any. `make fuzz FUZZ=WHAT FUZZ_SECONDS=3600`: one of them, for long.
FUZZ ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_SECONDS ?= 30
FUZZ_CC ?= clang
FUZZ_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FUZZ_COMPILE = $(FUZZ_CC) $(SP_CPPFLAGS) -U_FORTIFY_SOURCE $(SP_CFLAGS) -Wno-format-nonliteral $(FUZZ_SANITIZE) -MMD -MP
FUZZ_OBJECTS := $(LIB_SOURCES:%.c=build/fuzz/obj/%.o)
build/fuzz/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(Q)$(FUZZ_COMPILE) -fsanitize=fuzzer-no-link -c -o $@ $<
build/fuzz/libspace.a: $(FUZZ_OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^
build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c build/fuzz/libspace.a
	@mkdir -p $(@D)
	$(Q)$(FUZZ_COMPILE) -Wno-missing-prototypes -fsanitize=fuzzer -o $@ $< build/fuzz/libspace.a -lhttp_parser -lwslay -lmd $(SP_LIBS)
fuzz: $(FUZZ:%=build/fuzz/fuzz_%)
	@for what in $(FUZZ); do \
		mkdir -p "build/fuzz/corpus/$$what" && \
		build/fuzz/fuzz_$$what -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -max_len=40000 \
			-verbosity=0 -print_final_stats=1 -artifact_prefix="build/fuzz/$$what-" \
			$$([ ! -e "tests/fuzz/$$what.dict" ] || echo "-dict=tests/fuzz/$$what.dict") \
			"build/fuzz/corpus/$$what" "tests/fuzz/corpus/$$what" || exit 1; done

# tests/lab: one trace of events under several rules of admission.
LAB_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/lab/*.c)))
$(BUILD)/lab: $(LAB_OBJECTS) $(BUILD)/libspace.a
	$(Q)$(CC) $(SP_LDFLAGS) $(LDFLAGS) -o $@ $(LAB_OBJECTS) $(BUILD)/libspace.a $(SP_LIBS)
lab: $(BUILD)/lab
	@$(BUILD)/lab run

# tests/soak: a world under faults, driven by a trace, and who judges what came of it, who shares nothing with the tools.
SOAK_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/soak/*.c)))
$(BUILD)/soak: $(SOAK_OBJECTS) $(BUILD)/libspace.a
	$(Q)$(CC) $(SP_LDFLAGS) $(LDFLAGS) -o $@ $(SOAK_OBJECTS) $(BUILD)/libspace.a $(SP_LIBS)
JUDGE_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/soak/judge/*.c)))
$(BUILD)/soak-judge: $(JUDGE_OBJECTS)
	$(Q)$(CC) $(SP_LDFLAGS) $(LDFLAGS) -o $@ $(JUDGE_OBJECTS)

# A soak, as long as COUNT operations and of this SEED; LONG=1: a million, among 300 sandboxes. What fails is made shorter
# by tests/soak/shrink.
SEED ?= 1
COUNT ?= $(if $(LONG),1000000,30000)
SOAK_OPTIONS = --seed $(SEED) --ops $(COUNT) $(if $(LONG),--sandboxes 300 --every 400 --streams 24)
soak: all fixtures
	@tests/soak/run $(SOAK_OPTIONS)

# tests/soak/mutants/NAME.sed: a fault put into one file of lib, whose name its first line has; the tools with it.
$(BUILD)/mutants/%: tests/soak/mutants/%.sed all
	$(Q)rm -rf $@ && mkdir -p $@
	$(Q)file=$$(sed -n '1s/^# //p' $<); sed -f $< $$file >$@/mutant.c; ! cmp -s $$file $@/mutant.c && \
		$(COMPILE) -w -I$$(dirname $$file) -c -o $@/mutant.o $@/mutant.c
	$(Q)$(foreach t,$(TOOLS),$(CC) $(SP_LDFLAGS) $(LDFLAGS) -o $@/$(t) $(OBJECTS_$(t)) $@/mutant.o $(BUILD)/libspace.a \
		$(LIBS_$(t)) $(SP_LIBS) &&) rm $@/mutant.*

# Those of scripts and of the guest's agent are made of their help.
SCRIPT_COMPLETIONS := $(BUILD)/script-completions
SCRIPT_COMPLETIONS_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard src/script-completions/*.c)))
$(SCRIPT_COMPLETIONS): $(SCRIPT_COMPLETIONS_OBJECTS) $(BUILD)/libspace.a
	$(Q)$(CC) $(SP_LDFLAGS) $(LDFLAGS) -o $@ $^ $(SP_LIBS)
# tests/model: every state of Spin models of what must never go wrong, and each of them without one of its guards.
model:
	@tests/model/run

# A bill of materials, CycloneDX: the programs as they were built, and the libraries that they run with here.
SBOM_OF = $(TOOLS:%=$(BUILD)/bin/%) $(GUEST_STATIC)
sbom: all
	@CC="$(CC)" lib/sbom/make $(VERSION) $(SBOM_OF) >$(BUILD)/sbom.json

completions: all $(SCRIPT_COMPLETIONS)
	$(Q)for t in $(TOOLS); do \
		$(BUILD)/bin/$$t completions bash >completions/$$t.bash && \
		$(BUILD)/bin/$$t completions zsh >completions/_$$t && \
		$(BUILD)/bin/$$t completions fish >completions/$$t.fish || exit 1; done
	$(Q)for p in $(SCRIPTS:%=bin/%) $(GUEST_STATIC); do \
		n=$${p##*/}; \
		$$p --help | $(SCRIPT_COMPLETIONS) $$n bash >completions/$$n.bash && \
		$$p --help | $(SCRIPT_COMPLETIONS) $$n zsh >completions/_$$n && \
		$$p --help | $(SCRIPT_COMPLETIONS) $$n fish >completions/$$n.fish || exit 1; done

# The README's pictures: what a terminal shows, of the demo's scenes 3 to 7 and of an `explain`.
captures: all fixtures
	$(Q)tests/captures/terminal 118 300 bin/demo >$(BUILD)/demo.screen
	$(Q)tests/captures/terminal 96 60 'bin/demo -- tests/captures/explain 2>/dev/null' >$(BUILD)/explain.screen
	$(Q)sed -n '/3\. Resume/,/8\. Another/{/8\. Another/!p;}' $(BUILD)/demo.screen | \
		tests/captures/svg 'bin/demo, scenes 3 to 7' >doc/demo.svg
	$(Q)tests/captures/svg 'spaceid explain' <$(BUILD)/explain.screen >doc/explain.svg

C_FILES := $(sort $(wildcard lib/*/*.[ch] src/*/*.[ch] tests/unit/*.[ch] tests/bench/*.[ch] tests/lab/*.[ch] tests/soak/*.[ch] tests/soak/judge/*.[ch] tests/fuzz/*.[ch] tests/fixtures/*.h tests/fixtures/*/*.[ch] tests/preload/*.c))
PRODUCT_C := $(sort $(wildcard lib/*/*.c src/*/*.c))
SHELL_FILES := $(sort $(wildcard bin/* lib/doctor/*.bash lib/script/*.bash .ci/run tests/bench/run tests/bench/*.sh tests/soak/run tests/soak/shrink tests/*.sh tests/bats/*.bats tests/bats/*.bash \
	tests/fault/*.sh tests/fault/*.bash tests/model/run lib/sbom/make tests/guest/* tests/captures/terminal tests/captures/explain tests/systemd/tree tests/systemd/boot debian/*.prerm debian/*.postrm))
COMMA := ,
TIDY_FLAGS := $(patsubst -DSP_VERSION=%,-DSP_VERSION=\"0\",$(SP_CPPFLAGS)) -std=gnu11
tidy = $(Q)printf '%s\n' $(PRODUCT_C) | xargs -P2 -n8 sh -c \
	'clang-tidy --quiet --checks="$(1)" --warnings-as-errors="*" "$$@" -- $(TIDY_FLAGS) 2>/dev/null' tidy
# cppcheck reads no system headers; the macros of <sys/queue.h> it must know.
QUEUE_H = $(firstword $(wildcard /usr/include/sys/queue.h /usr/include/*/sys/queue.h))
lint:
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(Q)shellcheck $(SHELL_FILES)
	$(Q)mandoc -Tlint -Wwarning man/*.[1-8]
	$(Q)tests/imports.sh
	@# bats counts a test's time in a child of its own, which a wait for all children would wait for.
	$(Q)! grep -nE '^[[:space:]]*wait[[:space:]]*(;|$$)' tests/bats/*
	@# An input of nothing fulfils every filter of jq 1.6: is_json (helper.bash) tells it apart.
	$(Q)! grep -nE 'jq -e[a-r]* ' tests/bats/* | grep -v 'helper.bash:.*said='
	$(Q)cppcheck -q --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 -D_GNU_SOURCE -Ilib -Isrc \
		--suppressions-list=tests/cppcheck.txt --include=$(QUEUE_H) -j2 lib src
	$(call tidy,-clang-analyzer-*)

# The path-sensitive part of clang-tidy, which takes minutes; without what .clang-tidy leaves out too.
ANALYZE_NOT := security.insecureAPI.DeprecatedOrUnsafeBufferHandling optin.performance.Padding valist.Uninitialized
analyze:
	$(call tidy,-*$(COMMA)clang-analyzer-*$(ANALYZE_NOT:%=$(COMMA)-clang-analyzer-%))

asan:
	$(Q)$(MAKE) SANITIZE=address,undefined all fixtures unit

# What `install` brings and `uninstall` takes away again, without the prefix.
COMPLETED = $(TOOLS) $(SCRIPTS) $(notdir $(GUEST_STATIC))
MAN_PAGES := $(sort $(wildcard man/*.[1-8]))
INSTALLED = $(addprefix $(PREFIX)/bin/,$(TOOLS) $(SCRIPTS) $(notdir $(GUEST_STATIC))) \
	$(foreach p,$(MAN_PAGES),$(PREFIX)/share/man/man$(subst .,,$(suffix $(p)))/$(notdir $(p))) \
	$(foreach t,$(COMPLETED),$(PREFIX)/share/bash-completion/completions/$(t) $(ZSHDIR)/_$(t) \
		$(PREFIX)/share/fish/vendor_completions.d/$(t).fish) \
	$(PARTS:lib/%=$(PARTSDIR)/%) \
	$(UNITS:%=$(UNITDIR)/%) $(SYSUSERSDIR)/space.conf $(SYSUSERSDIR)/space-guest.conf $(TMPFILESDIR)/space.conf \
	$(EXAMPLES:%=$(DOCDIR)/examples/%) $(if $(XTERM),$(XTERM_INSTALLED))
XTERM_INSTALLED = $(XTERM_FILES:%=$(PARTSDIR)/xterm/%)

install: all
	install -d $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	install -m 755 $(TOOLS:%=$(BUILD)/bin/%) $(SCRIPTS:%=bin/%) $(DESTDIR)$(PREFIX)/bin
	for p in $(PARTS:lib/%=%); do install -m 644 lib/$$p $(DESTDIR)$(PARTSDIR)/$$p || exit 1; done
	@# It goes into guests, so it is to be small.
	$(if $(GUEST_STATIC),install -m 755 -s --strip-program=$(STRIP) $(GUEST_STATIC) $(DESTDIR)$(PREFIX)/bin)
	for p in $(MAN_PAGES); do install -m 644 $$p $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/ || exit 1; done
	for t in $(COMPLETED); do \
		install -m 644 completions/$$t.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$t && \
		install -m 644 completions/_$$t $(DESTDIR)$(ZSHDIR)/_$$t && \
		install -m 644 completions/$$t.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/$$t.fish || exit 1; done
	for u in $(UNITS); do sed 's|@bindir@|$(PREFIX)/bin|' lib/systemd/$$u >$(DESTDIR)$(UNITDIR)/$$u && \
		chmod 644 $(DESTDIR)$(UNITDIR)/$$u || exit 1; done
	install -m 644 lib/systemd/sysusers.conf $(DESTDIR)$(SYSUSERSDIR)/space.conf
	install -m 644 lib/systemd/sysusers-guest.conf $(DESTDIR)$(SYSUSERSDIR)/space-guest.conf
	install -m 644 lib/systemd/tmpfiles.conf $(DESTDIR)$(TMPFILESDIR)/space.conf
	install -m 644 $(EXAMPLES:%=lib/systemd/%) $(DESTDIR)$(DOCDIR)/examples
	$(if $(XTERM),install -m 644 $(XTERM_FILES:%=$(XTERM)/%) $(DESTDIR)$(PARTSDIR)/xterm)

# xterm.js for the page of `spacestream serve`, from npm's registry, in the versions and with the checksums of the lock
# file; `make install XTERM=build/xterm` installs it.
xterm: build/xterm/xterm.js
build/xterm/xterm.js: src/spacestream/page/xterm/package-lock.json
	@mkdir -p build/xterm
	cp src/spacestream/page/xterm/*.json build/xterm
	npm ci --prefix build/xterm --ignore-scripts --no-audit --no-fund --silent
	cd build/xterm && cp node_modules/@xterm/xterm/css/xterm.css node_modules/@xterm/addon-fit/lib/addon-fit.js \
		node_modules/@xterm/xterm/LICENSE . && cp node_modules/@xterm/xterm/lib/xterm.js .

# Directories that nothing else lies in go too, from the lowest upwards; in a system, not those that any has.
KEPT = $(if $(DESTDIR),,$(PREFIX) $(addprefix $(PREFIX)/,bin lib share share/doc share/man))
uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED) $(XTERM_INSTALLED))
	@for d in $(sort $(patsubst %/,%,$(dir $(INSTALLED) $(XTERM_INSTALLED)))); do \
		while case " $(KEPT) " in *" $$d "*) false ;; esac && rmdir "$(DESTDIR)$$d" 2>/dev/null; do d=$${d%/*}; done; \
	done

demo: all fixtures
	bin/demo
check:
	bin/check
check-guest:
	bin/check tests/bats/vmm-device.bats tests/bats/realguest.bats tests/bats/unitguest.bats
deps:
	bin/deps test

# The files that git tracks, as they are now; in a tree without git, all. The same files make the same bytes, whoever
# packs them, and when: what is packed bears the time of the release.
NAME := space-tools-$(VERSION)
SOURCE_DATE_EPOCH ?= $(shell date -d "$$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s)
dist:
	@mkdir -p build
	if [ -e .git ]; then git -c safe.directory='*' ls-files -z; else \
		find . -path ./build -prune -o ! -type d -printf '%P\0'; fi | LC_ALL=C sort -z >build/$(NAME).files
	tar -cf build/$(NAME).tar --null --verbatim-files-from -T build/$(NAME).files --transform 's|^|$(NAME)/|S' \
		--format=ustar --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX
	gzip -nf9 build/$(NAME).tar
	@rm build/$(NAME).files

# Debian packages, in build/deb/, built from the tarball alone.
deb: dist
	rm -rf build/deb
	mkdir -p build/deb
	tar -xzf build/$(NAME).tar.gz -C build/deb
	cd build/deb/$(NAME) && dpkg-buildpackage -us -uc -b $(DEBFLAGS)
clean:
	rm -rf build

.PHONY: all xterm unit unit-programs fixtures bench fuzz lab soak model sbom completions captures lint analyze asan install uninstall demo check check-guest \
	deps dist deb clean
# The tests' machines lie in there too.
-include $(shell find $(BUILD) -path $(BUILD)/systemd -prune -o -path $(BUILD)/guest -prune -o -path $(BUILD)/deb -prune -o -type f -name '*.d' -print 2>/dev/null)
