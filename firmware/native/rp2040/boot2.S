/* Second-stage boot loader: the bootrom copies these 256 bytes from the start of flash to SRAM, checks their CRC-32 and
   jumps to them with the SSI in slow 03h mode (RP2040 datasheet, 2.8.1). They put flash and SSI into EBh quad I/O
   continuous read (W25Q16JV datasheet, 8.2.14) and enter the vector table at flash + 256. A flash chip whose quad enable
   bit cannot be set is read with 03h instead. Position-independent. */
        .syntax unified
        .cpu cortex-m0plus
        .thumb

        .equ PADS_QSPI_BASE,    0x40020000
        .equ PAD_SCLK,          0x04
        .equ PAD_SD0,           0x08
        .equ PAD_SD1,           0x0c
        .equ PAD_SD2,           0x10
        .equ PAD_SD3,           0x14
        .equ SCLK_8MA_FAST,     0x21
        .equ SD_SCHMITT,        0x02

        .equ SSI_BASE,          0x18000000
        .equ CTRLR0,            0x00
        .equ CTRLR1,            0x04
        .equ SSIENR,            0x08
        .equ BAUDR,             0x14
        .equ SR,                0x28
        .equ DR0,               0x60
        .equ RX_SAMPLE_DLY,     0xf0
        .equ SPI_CTRLR0,        0xf4

        .equ BAUDR_QUAD,        2       /* 66.5 MHz at clk_sys 133 MHz; EBh is rated for 104 MHz and more */
        .equ BAUDR_SERIAL,      4       /* 33.25 MHz; 03h is rated for 50 MHz */

        /* DFS_32 = 8 bits, TMOD = transmit and receive */
        .equ CTRLR0_BYTES,      (7 << 16)
        /* SPI_FRF = quad, DFS_32 = 32 bits, TMOD = EEPROM read */
        .equ CTRLR0_QUAD,       (2 << 21) | (31 << 16) | (3 << 8)
        .equ CTRLR0_SERIAL,     (31 << 16) | (3 << 8)
        /* 24 address + 8 mode bits, 4 dummy clocks; first with the instruction sent serially, then without */
        .equ SPI_CTRLR0_ENTER,  (4 << 11) | (2 << 8) | (8 << 2) | 1
        .equ SPI_CTRLR0_QUAD,   (0xa0 << 24) | (4 << 11) | (0 << 8) | (8 << 2) | 2
        .equ SPI_CTRLR0_SERIAL, (0x03 << 24) | (2 << 8) | (6 << 2)

        .equ CMD_WRITE_STATUS,      0x01
        .equ CMD_READ_STATUS1,      0x05
        .equ CMD_READ_STATUS2,      0x35
        .equ CMD_VOLATILE_ENABLE,   0x50
        .equ CMD_FAST_READ_QUAD_IO, 0xeb
        .equ MODE_CONTINUOUS,       0xa0
        .equ STATUS2_QE,            0x02

        .section .text
        .global boot2
        .thumb_func
boot2:
        ldr     r0, =PADS_QSPI_BASE
        movs    r1, #SCLK_8MA_FAST
        str     r1, [r0, #PAD_SCLK]
        ldr     r1, [r0, #PAD_SD0]
        movs    r2, #SD_SCHMITT         /* without hysteresis the data arrive sooner */
        bics    r1, r2
        str     r1, [r0, #PAD_SD0]
        str     r1, [r0, #PAD_SD1]
        str     r1, [r0, #PAD_SD2]
        str     r1, [r0, #PAD_SD3]

        movs    r3, #(SSI_BASE >> 24)   /* r3 = SSI_BASE throughout */
        lsls    r3, r3, #24
        movs    r6, #0                  /* times that the quad enable bit has been written */
        str     r6, [r3, #SSIENR]
        movs    r0, #BAUDR_SERIAL
        str     r0, [r3, #BAUDR]
        movs    r0, #1
        movs    r1, #RX_SAMPLE_DLY
        str     r0, [r3, r1]
        movs    r1, #(CTRLR0_BYTES >> 16)
        lsls    r1, r1, #16
        str     r1, [r3, #CTRLR0]
        str     r0, [r3, #SSIENR]

check_quad:
        movs    r0, #CMD_READ_STATUS2
        bl      read_status
        mov     r5, r0
        lsrs    r0, r0, #2              /* STATUS2_QE, bit 1, into the carry */
        bcs     enter_quad
        cmp     r6, #0
        bne     stay_serial
        adds    r6, #1

        /* The volatile form of the status write keeps the flash's own setting and its block protection as they are,
           and takes effect at once (W25Q16JV datasheet, 7.1 and 8.2.3). */
        movs    r0, #CMD_READ_STATUS1
        bl      read_status
        mov     r4, r0
        movs    r0, #CMD_VOLATILE_ENABLE
        str     r0, [r3, #DR0]
        bl      wait_idle
        ldr     r0, [r3, #DR0]
        movs    r0, #CMD_WRITE_STATUS
        movs    r1, #STATUS2_QE
        orrs    r5, r1
        str     r0, [r3, #DR0]
        str     r4, [r3, #DR0]
        str     r5, [r3, #DR0]
        bl      wait_idle
        ldr     r0, [r3, #DR0]
        ldr     r0, [r3, #DR0]
        ldr     r0, [r3, #DR0]
        b       check_quad

stay_serial:
        movs    r0, #0
        str     r0, [r3, #SSIENR]
        ldr     r0, =CTRLR0_SERIAL
        ldr     r1, =SPI_CTRLR0_SERIAL
        b       configure_xip

        /* One EBh read whose mode bits tell the flash to take the next address without an instruction. */
enter_quad:
        movs    r0, #0
        str     r0, [r3, #SSIENR]
        movs    r1, #BAUDR_QUAD
        str     r1, [r3, #BAUDR]
        str     r0, [r3, #CTRLR1]
        ldr     r0, =CTRLR0_QUAD
        str     r0, [r3, #CTRLR0]
        ldr     r1, =SPI_CTRLR0_ENTER
        movs    r2, #SPI_CTRLR0
        str     r1, [r3, r2]
        movs    r1, #1
        str     r1, [r3, #SSIENR]
        movs    r1, #CMD_FAST_READ_QUAD_IO
        str     r1, [r3, #DR0]
        movs    r1, #MODE_CONTINUOUS    /* address 0, mode bits 1010xxxx */
        str     r1, [r3, #DR0]
        bl      wait_idle
        movs    r1, #0
        str     r1, [r3, #SSIENR]
        ldr     r1, =SPI_CTRLR0_QUAD

        /* r0 = CTRLR0, r1 = SPI_CTRLR0; the SSI is disabled */
configure_xip:
        str     r0, [r3, #CTRLR0]
        movs    r2, #SPI_CTRLR0
        str     r1, [r3, r2]
        movs    r0, #0
        str     r0, [r3, #CTRLR1]
        movs    r0, #1
        str     r0, [r3, #SSIENR]

        ldr     r0, =0x10000100
        ldr     r1, =0xe000ed08         /* VTOR */
        str     r0, [r1]
        ldmia   r0!, {r1, r2}
        msr     msp, r1
        bx      r2

        /* r0 = command in, status byte out. Clobbers r1, r2. */
        .thumb_func
read_status:
        push    {lr}
        str     r0, [r3, #DR0]
        str     r0, [r3, #DR0]
        bl      wait_idle
        ldr     r0, [r3, #DR0]
        ldr     r0, [r3, #DR0]
        pop     {pc}

        /* Until the transmit FIFO is empty and the SSI is idle. Clobbers r1, r2. */
        .thumb_func
wait_idle:
        ldr     r1, [r3, #SR]
        lsrs    r2, r1, #3              /* TFE, bit 2, into the carry */
        bcc     wait_idle
        lsrs    r2, r1, #1              /* BUSY, bit 0, into the carry */
        bcs     wait_idle
        bx      lr

        .ltorg
