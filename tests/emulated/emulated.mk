# emulated.mk - build/emulated/tfd: the daemon with a GPU that g++ made of the
# .cu files (emulator.h), and the libraries that it opens.  Needs no nvcc.

EMU     := $(BUILD)/emulated
EMUCU   := $(filter-out cuda/device/driver_runtime.cu,$(call found,cuda,*.cu))
EMUCUH  := $(patsubst %,$(EMU)/gen/%,$(call found,cuda,*.cuh))
EMUCPP  := $(patsubst tests/emulated/%.cpp,$(EMU)/machine/%.o,$(wildcard tests/emulated/*.cpp))
EMUOBJ  := $(EMUCU:cuda/%.cu=$(EMU)/%.o) $(EMUCPP)
EMUHOST := $(sort $(filter-out $(CUOBJ) $(BUILD)/cuda/device/none.o,$(OBJ)) \
             $(BUILD)/cuda/device/all.o)
EMULIB  := $(EMU)/lib/libcublas.so.13 $(EMU)/lib/libcudnn.so.9
EMUFLAGS := -std=c++17 -O1 -Wall -Werror -Wno-unknown-pragmas -Wno-unused-function \
            -Wno-class-memaccess -Wno-maybe-uninitialized -I$(EMU)/gen -Itests/emulated/include -I. \
            -fno-math-errno -ffp-contract=off -MMD -MP
EMUCC   := $(or $(CCACHE),$(findstring ccache,$(CC))) g++

emulated: $(EMU)/tfd $(EMU)/test_capture $(EXAMPLES)
	@ln -sfn ../examples $(EMU)/

$(EMU)/tfd: $(MAINOBJ) $(EMUHOST) $(EMUOBJ) $(EMULIB)
	@echo "  LINK    $@"
	@g++ -rdynamic '-Wl,-rpath,$$ORIGIN/lib' -Wl,--disable-new-dtags $(filter %.o,$^) $(LIBS) -ldl -o $@

# What the archive has in the place of these is not linked.
$(EMU)/test_capture: tests/emulated/test_capture.c $(EMUOBJ) \
    $(BUILD)/cuda/device/all.o $(BUILD)/tests/rigs.a $(BUILD)/libtfd.a $(EMULIB)
	@echo "  TEST    $(@F)"
	@$(CC) $(CFLAGS) $(TESTOPT) -c $< -o $@.o
	@g++ -rdynamic '-Wl,-rpath,$$ORIGIN/lib' -Wl,--disable-new-dtags $@.o $(filter %.o %.a,$^) -lcmocka $(LIBS) -ldl -o $@

$(EMU)/gen/%: % tests/emulated/launches.py
	@mkdir -p $(@D)
	@python3 tests/emulated/launches.py $< $@

$(EMU)/%.o: $(EMU)/gen/cuda/%.cu $(EMUCUH) | $(GEN)
	@mkdir -p $(@D)
	@echo "  EMULATE cuda/$*.cu"
	@$(EMUCC) $(EMUFLAGS) -x c++ -c $< -o $@

$(EMU)/machine/%.o: tests/emulated/%.cpp
	@mkdir -p $(@D)
	@$(EMUCC) $(EMUFLAGS) -O2 -c $< -o $@

$(EMU)/lib/libcublas.so.13: tests/emulated/cublas.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -Itests/emulated/include -shared $< -o $@

$(EMU)/lib/libcudnn.so.9: $(wildcard tests/emulated/cudnn*.[ch])
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -shared $(filter %.c,$^) -o $@

-include $(wildcard $(EMU)/*.d $(EMU)/*/*.d $(BUILD)/cuda/all.d)
