# ctl.mk - build/tfdctl, the tool of who runs a cluster.  Included by Makefile.

CTLMAIN := tools/ctl/main.c
CTLSRC  := $(filter-out $(CTLMAIN),$(wildcard tools/ctl/*.c tools/npy/*.c))
CTLOBJ  := $(CTLSRC:%.c=$(BUILD)/%.o)

$(OUT)/tfdctl: $(CTLMAIN:%.c=$(BUILD)/%.o) $(CTLOBJ) $(BUILD)/libtfd.a
	@mkdir -p $(@D)
	@echo "  LINK    $@"
	@$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

-include $(CTLOBJ:.o=.d) $(CTLMAIN:%.c=$(BUILD)/%.d)
