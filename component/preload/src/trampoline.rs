//! The exported names. Each is one jump through a slot. A slot begins at a stub that knows the slot's number, keeps the arguments,
//! asks [`resolve`] and goes on to where it says; once the slots are filled, a call costs that one jump.

use core::arch::naked_asm;
use core::ffi::c_void;
use core::sync::atomic::AtomicPtr;

use transom::base::fortran::Symbol;
use transom::base::functions::{COUNT, Index};

use crate::resolve::resolve;
use crate::slots::{FIRST_OF_FORTRAN, SLOT_COUNT, Slots, Stub};

macro_rules! trampolines {
    ($($name:ident $profiling:ident ($($argument:ident : $type:ty),*) $(-> $result:ty)?;)*) => {
        const STUBS: [Stub; FIRST_OF_FORTRAN] = [
            $(stub::<{ Index::$name as usize }>,)*
            $(stub::<{ COUNT + Index::$name as usize }>,)*
        ];
        $(
            trampolines!(@export $name, COUNT + Index::$name as usize);
            trampolines!(@export $profiling, Index::$name as usize);
        )*
    };
    (@export $name:ident, $slot:expr) => {
        #[doc = concat!("`", stringify!($name), "`, through its slot.")]
        ///
        /// # Safety
        /// That of the host's function of this name.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("jmp qword ptr [rip + {slots} + {offset}]", slots = sym SLOTS, offset = const ($slot) * size_of::<AtomicPtr<c_void>>());
            // The load is an acquire: a branch orders nothing on this machine, and whoever sees the engine's entry in the slot must
            // see what the engine wrote before it stored it. x16 and x17 are the linker's to spoil between caller and callee.
            #[cfg(target_arch = "aarch64")]
            naked_asm!(
                "adrp x16, {slots} + {offset}",
                "add x16, x16, :lo12:{slots} + {offset}",
                "ldar x17, [x16]",
                "br x17",
                slots = sym SLOTS,
                offset = const ($slot) * size_of::<AtomicPtr<c_void>>(),
            );
        }
    };
}
transom::mpi_functions!(trampolines);

macro_rules! fortran_trampolines {
    ($($entry:ident: $($symbol:ident)*;)*) => {
        const FORTRAN_STUBS: [Stub; SLOT_COUNT - FIRST_OF_FORTRAN] = [$($(stub::<{ FIRST_OF_FORTRAN + Symbol::$symbol as usize }>,)*)*];
        $($(trampolines!(@export $symbol, FIRST_OF_FORTRAN + Symbol::$symbol as usize);)*)*
    };
}
transom::fortran_functions!(fortran_trampolines);

static SLOTS: Slots = Slots::new({
    let mut stubs = [FORTRAN_STUBS[0]; SLOT_COUNT];
    let mut slot = 0;
    while slot < SLOT_COUNT {
        stubs[slot] = if slot < FIRST_OF_FORTRAN { STUBS[slot] } else { FORTRAN_STUBS[slot - FIRST_OF_FORTRAN] };
        slot += 1;
    }
    stubs
});

/// [`resolve`], as the stubs call it.
extern "C" fn ask(slot: usize) -> *mut c_void {
    resolve(&SLOTS, slot)
}

/// What a slot leads to before it is filled: hands the slot's number to [`first_call`] in a register that carries no argument.
#[unsafe(naked)]
unsafe extern "C" fn stub<const SLOT: usize>() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("mov r11d, {slot}", "jmp {first_call}", slot = const SLOT, first_call = sym first_call);
    #[cfg(target_arch = "aarch64")]
    naked_asm!("mov x16, {slot}", "b {first_call}", slot = const SLOT, first_call = sym first_call);
}

/// Keeps every register that may carry an argument, calls [`ask`], and goes where it says with the stack as the caller left it, so that
/// arguments on the stack are where the callee looks for them.
#[unsafe(naked)]
unsafe extern "C" fn first_call() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!(
        // The frame is described for whoever looks at the stack meanwhile: a debugger, or a profiler's signal.
        ".cfi_startproc",
        // The caller's call left the stack 8 off a multiple of 16: one push of rbp, six of arguments and 128 bytes align it.
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbp, 0",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 128",
        "movaps [rsp], xmm0",
        "movaps [rsp + 16], xmm1",
        "movaps [rsp + 32], xmm2",
        "movaps [rsp + 48], xmm3",
        "movaps [rsp + 64], xmm4",
        "movaps [rsp + 80], xmm5",
        "movaps [rsp + 96], xmm6",
        "movaps [rsp + 112], xmm7",
        "mov edi, r11d",
        "call {ask}",
        "mov r11, rax",
        "movaps xmm0, [rsp]",
        "movaps xmm1, [rsp + 16]",
        "movaps xmm2, [rsp + 32]",
        "movaps xmm3, [rsp + 48]",
        "movaps xmm4, [rsp + 64]",
        "movaps xmm5, [rsp + 80]",
        "movaps xmm6, [rsp + 96]",
        "movaps xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "jmp r11",
        ".cfi_endproc",
        ask = sym ask,
    );
    #[cfg(target_arch = "aarch64")]
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-224]!",
        ".cfi_adjust_cfa_offset 224",
        ".cfi_rel_offset x29, 0",
        ".cfi_rel_offset x30, 8",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "mov x0, x16",
        "bl {ask}",
        "mov x16, x0",
        "ldp q6, q7, [sp, #192]",
        "ldp q4, q5, [sp, #160]",
        "ldp q2, q3, [sp, #128]",
        "ldp q0, q1, [sp, #96]",
        "ldr x8, [sp, #80]",
        "ldp x6, x7, [sp, #64]",
        "ldp x4, x5, [sp, #48]",
        "ldp x2, x3, [sp, #32]",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #224",
        ".cfi_adjust_cfa_offset -224",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "br x16",
        ".cfi_endproc",
        ask = sym ask,
    );
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the trampolines are written for x86-64 and aarch64 only");
