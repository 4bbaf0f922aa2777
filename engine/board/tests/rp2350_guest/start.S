/* The blocks (RP2350 datasheet 5.9) where programs of pico-sdk have them, and the copy of the program to SRAM. */
        .syntax unified
        .cpu cortex-m33
        .thumb
        .section .flash, "ax"
        .word   __stack_top
        .word   reset + 1
        .org    0x138
first:  .word   0xffffded3, 0x10210142, 0x000001ff, last - first, 0xab123579
reset:
        ldr     r0, =__ram
        ldr     r1, =__ram_end
        ldr     r2, =__ram_source
1:      ldr     r3, [r2], #4
        str     r3, [r0], #4
        cmp     r0, r1
        blo     1b
        ldr     r0, =main
        bx      r0
        .ltorg

        .section .last, "a"
last:   .word   0xffffded3, 0x000001fe, 0x000001ff, first - last, 0xab123579

        .section .vectors, "a"
        .balign 128
        .global vectors
vectors:
        .word   __stack_top
        .rept   15
        .word   fault + 1
        .endr
        .text
fault:  b       fault
