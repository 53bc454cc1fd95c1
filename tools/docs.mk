# docs.mk - make docs writes docs/ops.md anew, make docs-check says whether it is
# stale.  Included by Makefile.

OPS_PAGE := $(BUILD)/tools/ops_page

$(OPS_PAGE): tools/ops_page.c $(BUILD)/libtfd.a
	@mkdir -p $(@D)
	@echo "  TOOL    $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/libtfd.a $(LIBS) -o $@

# The same whether or not there is nvcc: gpu_rows reads the sources.
$(BUILD)/tools/ops.md: $(OPS_PAGE) tools/gpu_rows tools/gpu_rows.awk \
    tools/unchecked_ops $(call found,cuda,*.cu) $(call found,cuda,*.cuh)
	@tools/gpu_rows >$(@D)/gpu_rows
	@$(OPS_PAGE) $(@D)/gpu_rows tools/unchecked_ops >$@

docs: $(BUILD)/tools/ops.md
	@cp $< docs/ops.md

docs-check: $(BUILD)/tools/ops.md
	@cmp -s $< docs/ops.md || { diff docs/ops.md $< | head -n 20; \
	    echo "docs/ops.md is stale: make docs"; exit 1; }

.PHONY: docs docs-check
-include $(OPS_PAGE:=.d)
