# docs.mk - make docs writes docs/ops.md and docs/metrics.md anew, make docs-check
# says whether one is stale.  Included by Makefile.

OPS_PAGE := $(BUILD)/tools/ops_page
METRICS_PAGE := $(BUILD)/tools/metrics_page

$(OPS_PAGE) $(METRICS_PAGE): $(BUILD)/tools/%: tools/%.c $(BUILD)/libtfd.a
	@mkdir -p $(@D)
	@echo "  TOOL    $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/libtfd.a $(LIBS) -o $@

# The same whether or not there is nvcc: gpu_rows reads the sources.
$(BUILD)/tools/ops.md: $(OPS_PAGE) tools/gpu_rows tools/gpu_rows.awk \
    tools/unchecked_ops $(call found,cuda,*.cu) $(call found,cuda,*.cuh)
	@tools/gpu_rows >$(@D)/gpu_rows
	@$(OPS_PAGE) $(@D)/gpu_rows tools/unchecked_ops >$@

$(BUILD)/tools/metrics.md: $(METRICS_PAGE)
	@$(METRICS_PAGE) >$@

PAGES := ops metrics

docs: $(PAGES:%=$(BUILD)/tools/%.md)
	@cp $^ docs

docs-check: $(PAGES:%=$(BUILD)/tools/%.md)
	@for page in $(PAGES); do \
	    cmp -s $(BUILD)/tools/$$page.md docs/$$page.md && continue; \
	    diff docs/$$page.md $(BUILD)/tools/$$page.md | head -n 20; \
	    echo "docs/$$page.md is stale: make docs"; exit 1; \
	done

.PHONY: docs docs-check
-include $(OPS_PAGE:=.d) $(METRICS_PAGE:=.d)
