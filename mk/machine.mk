# The machine: its processor and devices (also as a program of this computer), PID 1, and
# the image of Linux that runs in it.
# The machine: its core, which Wasm and this computer share, and what only the latter has.
VM_NATIVE  := $(foreach f,bare boot elf native offline outside,guest/vm/$f.c)
VM_TESTS   := $(wildcard guest/vm/*_test.c guest/vm/net/*_test.c)
VM_CORE    := $(filter-out $(VM_NATIVE) $(VM_TESTS) guest/vm/wasm.c,$(wildcard guest/vm/*.c guest/vm/net/*.c))
# Of lwIP its TCP, and what that is called by and calls.
VM_LWIP    := $(patsubst %,lwip/core/%.o,def inet_chksum init ip mem memp netif pbuf tcp tcp_in tcp_out timeouts \
              ipv4/ip4 ipv4/ip4_addr ipv6/icmp6 ipv6/inet6 ipv6/ip6 ipv6/ip6_addr ipv6/nd6)
VM_OBJ     := $(VM_CORE:%.c=$(OUT)/%.o) $(VM_LWIP:%=$(OUT)/%)
VM_WASM    := $(VM_CORE:%.c=build/%.o) build/guest/vm/wasm.o build/guest/script/memory.o $(VM_LWIP:%=build/%)
LWIP_INCLUDE := -Iguest/vm/net/lwip -isystem $(DEPS)/lwip/src/include

# --- the machine, as a program of this computer -----------------------------------------
# Its words are read and written as whatever they hold, and its floating point is held to
# the standard: no contraction, and square roots without errno are one instruction.
VM_FLAGS := -fno-strict-aliasing -fno-math-errno -ffp-contract=off
$(VM_OBJ) $(VM_NATIVE:%.c=$(OUT)/%.o) $(VM_TESTS:%.c=$(OUT)/%.o): mk/machine.mk
$(VM_OBJ) $(VM_NATIVE:%.c=$(OUT)/%.o) $(VM_TESTS:%.c=$(OUT)/%.o): CFLAGS += $(VM_FLAGS)
# Its headers are "vm/...", and so are those of the room src/sandbox/vm, which it never sees.
$(VM_OBJ) $(VM_NATIVE:%.c=$(OUT)/%.o) $(VM_TESTS:%.c=$(OUT)/%.o): CPPFLAGS := -D_GNU_SOURCE -Iguest $(LWIP_INCLUDE)
# Another's code: its warnings are not ours.
$(VM_LWIP:%=$(OUT)/%): $(OUT)/lwip/%.o: guest/vm/net/lwip/lwipopts.h guest/vm/net/lwip/arch/cc.h Makefile mk/machine.mk $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  cc    $(MODE) lwip/$*.c"
	@$(CC) -std=gnu17 -w $(FLAGS_$(MODE)) $(VM_FLAGS) -Iguest $(LWIP_INCLUDE) -c $(DEPS)/lwip/src/$*.c -o $@
$(OUT)/vm.a: $(VM_OBJ)
	@rm -f $@ && ar qcs $@ $^ # not r: names come twice
$(OUT)/vm-native: $(VM_NATIVE:%.c=$(OUT)/%.o) $(OUT)/vm.a
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE))
# Bare programs, that its tests run in it.
VM_BARE := $(foreach p,mmu traps devices hostile,build/guest/vm/test/$p.elf)
$(VM_BARE): build/%.elf: %.c $(wildcard guest/vm/test/*.h guest/vm/test/link.ld) \
        guest/vm/test/check.c guest/vm/test/queue.c Makefile mk/machine.mk $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  cc    bare $<"
	@$(ZIG) cc -target riscv64-freestanding-none -mcpu=generic_rv64+m+a+f+d+c+zicsr+zifencei \
	    -mcmodel=medany -std=gnu23 -O1 -g -Wall -Wextra -Werror -ffreestanding -fno-sanitize=all \
	    -fno-stack-protector -nostdlib -static -T guest/vm/test/link.ld \
	    $(filter %.c,$^) -o $@
$(VM_TESTS:%.c=$(OUT)/%): $(OUT)/%: $(OUT)/%.o $(OUT)/guest/vm/elf.o $(OUT)/vm.a | $(VM_BARE)
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE)) -lcmocka -lm
$(OUT)/guest/vm/exec_test: $(OUT)/guest/vm/outside.o $(OUT)/guest/vm/offline.o
$(OUT)/guest/vm/machine_test: $(OUT)/guest/vm/offline.o
# Of fuzz/, what has the machine's own parts in it.
VM_FUZZ := $(foreach f,frames border,$(OUT)/fuzz/$f)
$(VM_FUZZ:%=%.o): CPPFLAGS := -D_GNU_SOURCE -Iguest -Isrc/ground $(LWIP_INCLUDE)
$(VM_FUZZ): $(OUT)/vm.a
ifeq ($(MODE),release)
vm-native: build/vm-native ## the machine as a program for tests (build/vm-native --help)
build/vm-native: $(OUT)/vm-native
	@ln -f $< $@
else
vm-native: $(OUT)/vm-native
endif

# --- PID 1 of the machine, and what makes a session of its bash ---------------------------
# For the image; and as a program of this computer, which tests drive. What bash loads is
# never sanitized, as bash is not.
VM_INIT     := $(wildcard guest/vm/init/*.c)
VM_INIT_OBJ := $(VM_INIT:%.c=$(OUT)/%.o)
VM_SESSION  := guest/vm/session/session.c guest/vm/init/order.h
VM_GUEST    := -std=gnu17 -O2 -fno-sanitize=undefined $(WARN) -D_GNU_SOURCE -Iguest
$(OUT)/vm-session.so: $(VM_SESSION) Makefile mk/machine.mk
	@mkdir -p $(@D)
	@echo "  cc    $@"
	@$(CC) $(VM_GUEST) -fPIC -shared $< -o $@
$(VM_INIT_OBJ): CPPFLAGS := -D_GNU_SOURCE -Iguest -DSESSION_LIBRARY='"$(OUT)/vm-session.so"'
$(OUT)/guest/vm/init/main.o: $(OUT)/vm-session.so
$(OUT)/vm-init: $(VM_INIT_OBJ)
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE))
ifeq ($(MODE),release)
vm-init: build/vm-init    ## PID 1 of the machine, as a program for tests
build/vm-init: $(OUT)/vm-init
	@ln -f $< $@ && ln -f $(OUT)/vm-session.so build/vm-session.so
else
vm-init: $(OUT)/vm-init
endif

# The glibc is that of Debian 12 or later; PID 1 itself needs none.
build/guest/vm-init: $(VM_INIT) $(VM_SESSION) $(wildcard guest/vm/init/*.h) guest/abi/vm.h guest/abi/plan.h dev/kept \
                     Makefile mk/machine.mk $(DEPS)/build.ok
	@echo "  zig   $@"
	@mkdir -p $(@D)
	@dev/kept $@ deps/python-build.txt $(filter guest/%,$^) -- sh -ec '\
	    $(ZIG) cc -target riscv64-linux-gnu.2.36 $(VM_GUEST) -fPIC -shared -s guest/vm/session/session.c \
	        -o $@.session; \
	    $(ZIG) cc -target riscv64-linux-musl $(VM_GUEST) -Wno-shorten-64-to-32 -static -s \
	        -DSESSION_LIBRARY="\"$@.session\"" $(VM_INIT) -o $@; rm $@.session'

# What programs of the machine call the API by; static, as PID 1.
build/guest/cloche-guest: guest/vm/guest/cloche_guest.c guest/abi/callback.h dev/kept Makefile mk/machine.mk \
                          $(DEPS)/build.ok
	@echo "  zig   $@"
	@mkdir -p $(@D)
	@dev/kept $@ deps/python-build.txt $(filter guest/%,$^) -- \
	    $(ZIG) cc -target riscv64-linux-musl $(VM_GUEST) -static -s $< -o $@

# --- the machine in Wasm -----------------------------------------------------------------
# Static data lies below RAM, whose largest size the memory has room for
# (guest/abi/vm.h). No WASI and no C library, but the loops that take memory.copy's place.
VM_MEMORY := 1140850688
build/guest/vm.raw.wasm: $(VM_WASM)
	@echo "  link  $@"
	@$(GUEST_CC) $^ -o $@ -nostdlib -lcompiler_rt -mexec-model=reactor -Wl,--no-entry -Wl,--strip-debug \
	    -Wl,-z,stack-size=1048576 -Wl,--export=__stack_pointer \
	    -Wl,--initial-memory=$(VM_MEMORY) -Wl,--max-memory=$(VM_MEMORY)
$(filter build/guest/vm/%,$(VM_WASM)): build/%.o: %.c Makefile mk/machine.mk $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  wasm  $<"
	@$(GUEST_CC) -std=gnu23 -O3 -DNDEBUG -ffreestanding -fno-sanitize=undefined $(VM_FLAGS) \
	    $(WARN) -Wno-missing-prototypes -Iguest $(LWIP_INCLUDE) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

$(VM_LWIP:%=build/%): build/lwip/%.o: guest/vm/net/lwip/lwipopts.h guest/vm/net/lwip/arch/cc.h Makefile mk/machine.mk $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  wasm  lwip/$*.c"
	@$(GUEST_CC) -std=gnu23 -O3 -DNDEBUG -ffreestanding -fno-sanitize=undefined $(VM_FLAGS) -w \
	    -Iguest $(LWIP_INCLUDE) -c $(DEPS)/lwip/src/$*.c -o $@

# A kernel for tests, in the place of Linux.
build/probe/machine.Image: guest/vm/probe/kernel.c guest/vm/probe/link.ld guest/abi/vm.h $(DEPS)/build.ok
	@echo "  probe $@"
	@mkdir -p $(@D)
	@$(ZIG) cc -target riscv64-freestanding -mcmodel=medany -mno-relax -std=gnu23 -O2 -ffreestanding \
	    -fno-sanitize=undefined -nostdlib -Wall -Wextra -Werror -Iguest $< \
	    -Wl,-T,guest/vm/probe/link.ld -o $@.elf
	@objcopy -I elf64-little -O binary $@.elf $@

# --- Linux -------------------------------------------------------------------------------
# The Linux machine: kernel, root and an empty disk, of Debian's packages (docs/machine-image.md),
# and its memory as it is once it has started, which is written beside them.
vm: build/vm/machine-512.mem  ## the Linux machine, ready in build/vm (minutes, once)
build/vm/Image: $(addprefix guest/vm/image/,kernel kernel.config) deps/debian-kernel.txt dev/kept $(DEPS)/vm.ok
	@echo "  linux $@"
	@mkdir -p $(@D)
	@dev/kept $@ $(filter-out %/kept %.ok,$^) -- guest/vm/image/kernel $@
build/vm/root.erofs: $(addprefix guest/vm/image/,root debian.py libraries.py pip_copy.py pip excluded.conf rare.hints) guest/abi/plan.h build/guest/vm-init build/guest/cloche-guest \
                     deps/debian-root.txt dev/kept $(DEPS)/vm.ok
	@echo "  root  $@"
	@mkdir -p $(@D)
	@dev/kept $@ $(filter-out %/kept %.ok,$^) -- guest/vm/image/root build/guest/vm-init $@
build/vm/disk.ext4: guest/vm/image/disk $(DEPS)/vm.ok
	@mkdir -p $(@D)
	@guest/vm/image/disk $@
ifeq ($(MODE),release)
build/vm/machine-512.mem: $(addprefix build/vm/,Image root.erofs disk.ext4) build/guest/vm.wasm build/cloche-vm-bake
	@echo "  bake  $@"
	@build/cloche-vm-bake build/vm
else
build/vm/machine-512.mem:
	$(again) MODE=release $@
endif

-include $(VM_WASM:.o=.d) $(VM_OBJ:.o=.d) $(VM_NATIVE:%.c=$(OUT)/%.d) $(VM_INIT_OBJ:.o=.d)
