# install.mk - make install DESTDIR=... PREFIX=..., included by Makefile.
#
# What names the prefix is made of a file that ends in .in.  The manual page and
# the completion are made from the table of options (manual.c).

VERSION := $(shell sed -n 's/.*TFD_VERSION "\(.*\)"/\1/p' config/version.h)
SOFILE  := libtfd.so.0.$(word 2,$(subst ., ,$(VERSION))).$(word \
           3,$(subst ., ,$(VERSION)))
LIBDIR  ?= $(PREFIX)/lib
UNITDIR ?= $(PREFIX)/lib/systemd/system
ROOT     = $(DESTDIR)$(PREFIX)
FILL     = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g' \
           -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|g'
MANUAL  := $(BUILD)/packaging/manual

$(MANUAL): packaging/manual.c packaging/roff.h $(BUILD)/libtfd.a
	@mkdir -p $(@D)
	@echo "  MANUAL  $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/libtfd.a $(LIBS) -o $@

$(BUILD)/packaging/tfd.8: $(MANUAL)
	@$(MANUAL) man >$@

$(BUILD)/packaging/tfd.conf.5: $(MANUAL)
	@$(MANUAL) conf >$@

$(BUILD)/packaging/tfd.bash: $(MANUAL)
	@$(MANUAL) bash >$@

# The same of the tool, from its tables.
CTLMANUAL := $(BUILD)/packaging/ctl_manual

$(CTLMANUAL): packaging/ctl_manual.c packaging/roff.h $(CTLOBJ) $(BUILD)/libtfd.a
	@mkdir -p $(@D)
	@echo "  MANUAL  $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $(filter-out %.h,$^) $(LIBS) -o $@

$(BUILD)/packaging/tfdctl.1: $(CTLMANUAL)
	@$(CTLMANUAL) man >$@

$(BUILD)/packaging/tfdctl.bash: $(CTLMANUAL)
	@$(CTLMANUAL) bash >$@

$(BUILD)/packaging/_tfdctl: $(CTLMANUAL)
	@$(CTLMANUAL) zsh >$@

# Their content depends on PREFIX.
$(BUILD)/packaging/tfd@.service: systemd/tfd@.service.in FORCE
	@mkdir -p $(@D)
	@$(FILL) $< >$@

$(BUILD)/packaging/tfd.pc: packaging/tfd.pc.in FORCE
	@mkdir -p $(@D)
	@$(FILL) $< >$@

# FROM=TO, below DESTDIR.
INSTALLED := $(BUILD)/packaging/tfd.8=$(PREFIX)/share/man/man8/tfd.8 \
    $(BUILD)/packaging/tfd.conf.5=$(PREFIX)/share/man/man5/tfd.conf.5 \
    $(BUILD)/packaging/tfd.bash=$(PREFIX)/share/bash-completion/completions/tfd \
    $(BUILD)/packaging/tfdctl.1=$(PREFIX)/share/man/man1/tfdctl.1 \
    $(BUILD)/packaging/tfdctl.bash=$(PREFIX)/share/bash-completion/completions/tfdctl \
    $(BUILD)/packaging/_tfdctl=$(PREFIX)/share/zsh/site-functions/_tfdctl \
    $(BUILD)/packaging/tfd.pc=$(LIBDIR)/pkgconfig/tfd.pc \
    $(BUILD)/packaging/tfd@.service=$(UNITDIR)/tfd@.service \
    systemd/tfd.slice=$(UNITDIR)/tfd.slice \
    systemd/tfd.target=$(UNITDIR)/tfd.target \
    systemd/tfd-shared.conf=$(PREFIX)/share/doc/tfd/tfd-shared.conf \
    systemd/tfd-onednn.conf=$(PREFIX)/share/doc/tfd/tfd-onednn.conf \
    systemd/tfd.env.example=$(PREFIX)/share/doc/tfd/tfd.env.example \
    systemd/tfd-gpu.conf=$(PREFIX)/share/doc/tfd/tfd-gpu.conf \
    $(BUILD)/libtfd.a=$(LIBDIR)/libtfd.a \
    client/include/tfd/train.h=$(PREFIX)/include/tfd/train.h \
    client/include/tensorflow/c/c_api.h=$(PREFIX)/include/tensorflow/c/c_api.h

install: all $(BUILD)/libtfd.so.0 $(foreach f,$(INSTALLED),$(firstword \
         $(subst =, ,$(f))))
	install -D -m 755 $(OUT)/tfd $(ROOT)/bin/tfd
	install -D -m 755 $(OUT)/tfdctl $(ROOT)/bin/tfdctl
	install -D -m 755 $(BUILD)/libtfd.so $(DESTDIR)$(LIBDIR)/$(SOFILE)
	ln -sfn $(SOFILE) $(DESTDIR)$(LIBDIR)/libtfd.so.0
	ln -sfn libtfd.so.0 $(DESTDIR)$(LIBDIR)/libtfd.so
	$(foreach f,$(INSTALLED),install -D -m 644 $(subst =, $(DESTDIR),$(f)) &&) :
	@# Else the loader does not know the library; a package does it itself.
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig || true

# An image of containers, of the static program: build/image, build/image.tar.
image:
	@$(MAKE) -s $(JOBS) STATIC=1 CUDA=0 build/static/tfd
	@packaging/image build/static/tfd build/image

# Debian's packages of what `make install` installs: build/deb.
deb:
	@$(MAKE) -s $(JOBS) CUDA=$(HOST_CUDA) all
	@CUDA=$(HOST_CUDA) packaging/deb build/deb

# The sources of the last commit.
dist:
	@packaging/dist build/dist

.PHONY: install image deb dist
