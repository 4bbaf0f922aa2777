/* Start-up: copies the whole program from flash to SRAM and enters it there, so that nothing timed waits for XIP. */
        .syntax unified
        .thumb

        .section .flash_vectors, "a"
        .word   __stack_top
        .word   reset
        .word   fatal                   /* NMI */
        .word   fatal                   /* HardFault before the program is in SRAM */
#ifdef IMAGE_DEFINITION
        /* Where pico-sdk has them: a loop of two blocks, of which the first defines a program for Arm cores (RP2350
           datasheet 5.9). */
        .org    0x138
first_block:
        .word   0xffffded3, 0x10210142, 0x000001ff, last_block - first_block, 0xab123579
        .section .flash_end, "a"
last_block:
        .word   0xffffded3, 0x000001fe, 0x000001ff, first_block - last_block, 0xab123579
#endif

        .section .flash_text, "ax"
        .global reset
        .thumb_func
reset:
        cpsid   i
        ldr     r0, =__ram_image_start
        ldr     r1, =__ram_image_end
        ldr     r2, =__ram_image_source
        b       2f
1:      ldmia   r2!, {r3}
        stmia   r0!, {r3}
2:      cmp     r0, r1
        blo     1b

        ldr     r0, =__bss_start
        ldr     r1, =__bss_end
        movs    r2, #0
        b       4f
3:      stmia   r0!, {r2}
4:      cmp     r0, r1
        blo     3b

        ldr     r0, =ram_vectors
        ldr     r1, =0xe000ed08         /* VTOR */
        str     r0, [r1]
        ldr     r0, =__stack_top
        msr     msp, r0
        ldr     r0, =main
        blx     r0
        /* main does not return */
        .thumb_func
fatal:
        b       fatal
        .ltorg

        /* 16 exceptions and the chip's interrupts; aligned for VTOR. Only the sleep timer's is ever enabled. */
        .section .ram_vectors, "a"
        .balign TABLE_BYTES
        .global ram_vectors
ram_vectors:
        .word   __stack_top
        .word   reset
        .rept   14
        .word   hard_fault
        .endr
        .word   timer_alarm0            /* TIMER_IRQ_0 */
        .rept   INTERRUPTS - 1
        .word   hard_fault
        .endr
