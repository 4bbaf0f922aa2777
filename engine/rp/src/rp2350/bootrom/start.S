/* The header that programs know (RP2350 datasheet 5.4.1), and what no C can say: the start of both cores. */
        .syntax unified
        .cpu cortex-m33
        .thumb

        .equ    SIO_BASE, 0xd0000000    /* CPUID is its first register */
        .equ    SIO_FIFO_ST, 0x50
        .equ    SIO_FIFO_WR, 0x54
        .equ    SIO_FIFO_RD, 0x58
        .equ    FIFO_VLD, 1
        .equ    FIFO_RDY, 2
        .equ    CPACR, 0xe000ed88
        .equ    CPACR_CP7, 3 << 14
        .equ    VTOR, 0xe000ed08
        .equ    RCP_TRUE, 0xa500a500

        .section .header, "a"
        .word   __stack_top
        .word   reset
        .word   fault
        .word   fault
        .byte   'M', 'u', 2, 2          /* layout 2; revision of the chip that this is a boot ROM for */
        .hword  table
        .hword  table_lookup + 1
        .hword  table_lookup_entry + 1

        .text
        .global reset
        .thumb_func
reset:
        ldr     r0, =CPACR
        ldr     r1, [r0]
        orr     r1, CPACR_CP7
        str     r1, [r0]
        dsb
        isb
        ldr     r4, =SIO_BASE
        ldr     r0, [r4]
        cbnz    r0, core1
        bl      boot
        .thumb_func
fault:
        b       fault

/* Waits for the other core's words (5.3): 0, 0, 1, VTOR, stack pointer, entry. Each is echoed; one that is out of order
   starts over. */
core1:
        mrc     p7, #1, r0, c0, c0, #0  /* whether this core has its salt */
        ldr     r1, =RCP_TRUE
        cmp     r0, r1
        beq     salted
        wfe
        b       core1
salted:
        movs    r0, #0                  /* which the other core drains */
        bl      echo
        adr     r5, words
restart:
        movs    r6, #0
next:
        ldr     r0, [r4, SIO_FIFO_ST]
        tst     r0, FIFO_VLD
        itt     eq
        wfeeq
        beq     next
        ldr     r0, [r4, SIO_FIFO_RD]
        cmp     r6, #3
        bhs     wanted
        ldrb    r1, [r5, r6]
        cmp     r0, r1
        bne     other
wanted:
        mov     r1, r0
        bl      echo
        cmp     r6, #3
        it      eq
        moveq   r7, r1
        cmp     r6, #4
        it      eq
        moveq   r8, r1
        adds    r6, #1
        cmp     r6, #6
        bne     next
        ldr     r2, =VTOR
        str     r7, [r2]
        movs    r0, #0
        msr     msplim, r0
        msr     msp, r8
        blx     r1
        b       fault
other:  /* a 0 drains what came before */
        cbnz    r0, refused
        bl      echo
        movs    r6, #1
        b       next
refused:
        bl      echo
        b       restart
echo:
        ldr     r2, [r4, SIO_FIFO_ST]
        tst     r2, FIFO_RDY
        beq     echo
        str     r0, [r4, SIO_FIFO_WR]
        sev
        bx      lr
words:  .byte   0, 0, 1, 0
        .ltorg

/* const void *table_lookup(code, flags) */
        .balign 4
        .thumb_func
table_lookup:
        movs    r3, #8
1:      subs    r3, #1
        bne     1b
        nop.w
        ldr     r2, =table
1:      ldrh    r3, [r2], #8
        cmp     r3, r0
        beq     2f
        nop.w
        cmp     r3, #0
        bne     1b
        movs    r0, #0
        bx      lr
2:      ldrh    r3, [r2, #-6]
        tst     r3, r1
        beq     3f
        ldr     r0, [r2, #-4]
        bx      lr
3:      push    {r3, lr}
        bl      table_lookup_entry
        pop     {r3, pc}                /* 0 */

/* void pause(passes): of three cycles each */
        .global pause
        .balign 4
        .thumb_func
pause:
        nop.w
1:      subs    r0, #1
        bne     1b
        bx      lr

/* void enter(vector table, stack pointer, entry) */
        .global enter
        .thumb_func
enter:
        ldr     r3, =VTOR
        str     r0, [r3]
        movs    r0, #0
        msr     msplim, r0
        msr     msp, r1
        dsb
        isb
        bx      r2
        .ltorg

/* void call(stack pointer, entry): of a function that may return */
        .global call
        .thumb_func
call:
        push    {r4, lr}
        mov     r4, sp
        msr     msp, r0
        blx     r1
        msr     msp, r4
        pop     {r4, pc}

/* What restores the mode of flash reads, in boot RAM: position-independent. Its last words are changed there. */
        .section .rodata.xip_setup, "a"
        .global xip_setup, xip_setup_end
        .balign 4
xip_setup:
        ldr     r0, 1f
        ldr     r1, 2f
        ldr     r2, 3f
        bx      r2
1:      .word   0
2:      .word   0
3:      .word   select_xip_read_mode + 1
xip_setup_end:
