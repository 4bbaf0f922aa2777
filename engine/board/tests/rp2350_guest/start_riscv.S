/* The blocks (RP2350 datasheet 5.9) of a program for the RISC-V cores, and its copy to SRAM. */
        .section .flash, "ax"
        .option norvc
        j       reset
        .org    0x138
first:  .word   0xffffded3, 0x11010142, 0x00000344, reset, __stack_top, 0x000004ff, last - first, 0xab123579
        .option rvc
reset:
        la      a0, __ram
        la      a1, __ram_end
        la      a2, __ram_source
1:      lw      a3, 0(a2)
        addi    a2, a2, 4
        sw      a3, 0(a0)
        addi    a0, a0, 4
        bltu    a0, a1, 1b
        la      sp, __stack_top
        la      a0, main
        jr      a0

        .section .last, "a"
last:   .word   0xffffded3, 0x000001fe, 0x000001ff, first - last, 0xab123579

        /* The compiler's own use of it. */
        .text
        .global memcpy
memcpy: beqz    a2, 2f
        mv      a3, a0
1:      lbu     a4, 0(a1)
        addi    a1, a1, 1
        addi    a2, a2, -1
        sb      a4, 0(a3)
        addi    a3, a3, 1
        bnez    a2, 1b
2:      ret
