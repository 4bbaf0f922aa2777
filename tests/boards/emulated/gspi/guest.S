/* Moves words over a Pico W's gSPI by PIO, as the PC asks for it by a mailbox in SRAM: a whole guest that fits into the second
   stage of the boot, so that the bus is tried without any firmware. Rebuild guest.bin as test_gspi_guest.py says.

   0x20001000: words to send, 0 once the transfer is over; words to receive; the words to send.
   0x20003000: the words received. */
        .syntax unified
        .cpu cortex-m0plus
        .thumb

        .equ RESETS,    0x4000c000
        .equ CLEAR,     0x3000
        .equ RESET_DONE, 8
        .equ USED,      1 << 5 | 1 << 8 | 1 << 10      /* IO_BANK0, PADS_BANK0, PIO0 */
        .equ GPIO23_CTRL, 0x40014004 + 8 * 23
        .equ BY_SIO,    5
        .equ BY_PIO0,   6
        .equ SIO,       0xd0000000
        .equ OUT_SET,   0x14
        .equ OUT_CLR,   0x18
        .equ OE_SET,    0x24
        .equ ON_AND_CSN, 1 << 23 | 1 << 25
        .equ PIO0,      0x50200000
        .equ FSTAT,     0x04
        .equ TXF0,      0x10
        .equ RXF0,      0x20
        .equ INSTR_MEM, 0x48
        .equ SM0,       0xc8
        .equ SHIFTCTRL, 0x08
        .equ ADDR,      0x0c
        .equ INSTR,     0x10
        .equ PINCTRL,   0x14
        .equ AUTO,      1 << 17 | 1 << 16               /* pull and push, most significant bit first */
        /* Out, set and in: the data wire; side: the clock. */
        .equ PINS,      1 << 29 | 1 << 26 | 1 << 20 | 24 << 15 | 29 << 10 | 24 << 5 | 24
        .equ CLOCK_PINS, PINS ^ (24 ^ 29) << 5
        .equ SET_PINDIRS_1, 0xe081
        .equ MAILBOX,   0x20001000
        .equ RECEIVED,  0x2000

start:  cpsid   i
        ldr     r0, =RESETS + CLEAR
        ldr     r1, =USED
        str     r1, [r0]
        ldr     r0, =RESETS
1:      ldr     r2, [r0, #RESET_DONE]
        ands    r2, r1
        cmp     r2, r1
        bne     1b

        ldr     r0, =GPIO23_CTRL
        movs    r1, #BY_SIO
        movs    r2, #BY_PIO0
        str     r1, [r0]
        str     r2, [r0, #8]
        str     r1, [r0, #16]
        str     r2, [r0, #48]
        ldr     r7, =SIO
        ldr     r1, =ON_AND_CSN
        str     r1, [r7, #OUT_SET]
        str     r1, [r7, #OE_SET]

        ldr     r4, =PIO0
        adr     r0, program
        movs    r1, #0
2:      ldrh    r2, [r0, r1]
        lsls    r3, r1, #1
        adds    r3, #INSTR_MEM
        str     r2, [r4, r3]
        adds    r1, #2
        cmp     r1, #program_end - program
        bne     2b
        movs    r5, #SM0
        adds    r5, r5, r4
        ldr     r1, =AUTO
        str     r1, [r5, #SHIFTCTRL]
        ldr     r1, =CLOCK_PINS
        str     r1, [r5, #PINCTRL]
        ldr     r1, =SET_PINDIRS_1
        str     r1, [r5, #INSTR]
        ldr     r1, =PINS
        str     r1, [r5, #PINCTRL]
        movs    r1, #1
        str     r1, [r4]

        ldr     r6, =MAILBOX
over:   movs    r0, #0
        str     r0, [r6]
idle:   ldr     r0, [r6]
        cmp     r0, #0
        beq     idle
        movs    r1, #1
        lsls    r1, #25
        str     r1, [r7, #OUT_CLR]
        lsls    r2, r0, #5
        subs    r2, #1
        str     r2, [r4, #TXF0]
        ldr     r3, [r6, #4]
        lsls    r2, r3, #5
        str     r2, [r4, #TXF0]
        mov     r1, r6
        adds    r1, #8
send:   ldr     r2, [r4, #FSTAT]
        lsls    r2, #31 - 16                    /* TXFULL */
        bmi     send
        ldmia   r1!, {r2}
        str     r2, [r4, #TXF0]
        subs    r0, #1
        bne     send
        movs    r1, #RECEIVED >> 8
        lsls    r1, #8
        adds    r1, r1, r6
receive: cmp    r3, #0
        beq     drain
        ldr     r2, [r4, #FSTAT]
        lsls    r2, #31 - 8                     /* RXEMPTY */
        bmi     receive
        ldr     r2, [r4, #RXF0]
        stmia   r1!, {r2}
        subs    r3, #1
        b       receive
drain:  ldr     r2, [r4, #FSTAT]
        lsls    r2, #31 - 24                    /* TXEMPTY */
        bpl     drain
        ldr     r2, [r5, #ADDR]
        cmp     r2, #0
        bne     drain
        movs    r1, #1
        lsls    r1, #25
        str     r1, [r7, #OUT_SET]
        b       over

        /* The number of bits to send less one, the number to receive, then the bits. */
        .balign 4
program:
        .hword  0x6020                          /* 0: out x, 32         side 0 */
        .hword  0x6040                          /* 1: out y, 32         side 0 */
        .hword  0xe081                          /* 2: set pindirs, 1    side 0 */
        .hword  0x6001                          /* 3: out pins, 1       side 0 */
        .hword  0x1043                          /* 4: jmp x--, 3        side 1 */
        .hword  0xe080                          /* 5: set pindirs, 0    side 0 */
        .hword  0x0088                          /* 6: jmp y--, 8        side 0 */
        .hword  0x0000                          /* 7: jmp 0             side 0 */
        .hword  0xa342                          /* 8: nop               side 0 [3], for the pins' synchronisers */
        .hword  0x5001                          /* 9: in pins, 1        side 1: the edge that shifts the next bit out */
        .hword  0x0006                          /* 10: jmp 6            side 0 */
program_end:
        .balign 4
        .ltorg
