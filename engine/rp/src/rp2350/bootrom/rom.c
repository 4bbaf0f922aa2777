/* A boot ROM for the emulated RP2350, written from the datasheet (chapter 5): it starts a program in flash and has the
   functions that programs call. Any other request ends the run by name. */
#include <stddef.h>
#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(address))
#define BIT(n) (1u << (n))
/* It and pause() make a call take the time that it takes in the chip's boot ROM, so that figures after it are the same. */
#define ONE_CYCLE __asm volatile("nop.w")
#define CODE(first, second) ((first) | (second) << 8)

/* Atomic aliases, 2.1.3 */
#define REG_SET(address) REG32((address) + 0x2000u)
#define REG_CLR(address) REG32((address) + 0x3000u)

/* A write here ends the run: the engine knows the address (../bootrom.rs). */
#define REFUSED REG32(0x7ffcu)
#define USB_BOOT_LOADER 0u
#define RAM_IMAGE 1u
#define NON_SECURE 2u
#define ROLLING_WINDOW 5u
#define RISCV 6u

#define SYSINFO_PACKAGE_SEL REG32(0x40000004u)
#define PSM_WDSEL REG32(0x40018008u)
#define PSM_REBOOT (0x1ffffffu & ~BIT(2) & ~BIT(3)) /* all but ROSC and XOSC */
#define RESETS 0x40020000u
#define RESETS_DONE REG32(0x40020008u)
#define RESETS_IO_QSPI BIT(7)
#define RESETS_PADS_QSPI BIT(10)
/* Beside these: SHA256, TIMER0, TRNG, USBCTRL, IO_BANK0 and PADS_BANK0, as programs find them. */
#define RESETS_RELEASED (BIT(17) | BIT(23) | BIT(25) | BIT(28) | BIT(6) | BIT(9))
#define IO_QSPI_CTRL(pin) REG32(0x40030004u + 8u * (pin))
#define IO_QSPI_SS 3u
#define IO_QSPI_OEOVER_DISABLE (2u << 14)
#define PADS_QSPI_PAD(pin) REG32(0x40040004u + 4u * (pin))
#define PADS_QSPI_ISO BIT(8)
#define QSPI_PADS 6u
#define SIO_GPIO_HI_IN REG32(0xd0000008u)
#define SIO_GPIO_HI_SS BIT(27)
#define WATCHDOG_CTRL REG32(0x400d8000u)
#define WATCHDOG_LOAD REG32(0x400d8004u)
#define WATCHDOG_SCRATCH(n) REG32(0x400d800cu + 4u * (n))
#define WATCHDOG_ENABLE BIT(30)
#define WATCHDOG_MOST 0xffffffu
#define TICKS_WATCHDOG_CTRL REG32(0x40108030u)
#define TICKS_WATCHDOG_CYCLES REG32(0x40108034u)
#define BOOTRAM 0x400e0000u
#define BOOTRAM_BOOTLOCK_STAT REG32(0x400e0808u)
#define TRNG_ISR REG32(0x400f0104u)
#define TRNG_EHR(n) REG32(0x400f0114u + 4u * (n))
#define TRNG_SOURCE_ENABLE REG32(0x400f012cu)
#define TRNG_SAMPLE_CNT1 REG32(0x400f0130u)
#define POWMAN_BOOT 0x401000d0u
#define OTP_CRITICAL REG32(0x40120148u)
#define OTP_CHIPID(word) REG32(0x40130000u + 4u * (word))
#define XIP_MAINTENANCE 0x18000000u
#define XIP_CACHE_BYTES 0x4000u
#define XIP_LINE_BYTES 8u
#define XIP_BASE 0x10000000u
#define XIP_NOCACHE_NOTRANSLATE 0x1c000000u

#define QMI 0x400d0000u
#define QMI_DIRECT_CSR REG32(QMI + 0x00u)
#define QMI_DIRECT_TX REG32(QMI + 0x04u)
#define QMI_DIRECT_RX REG32(QMI + 0x08u)
#define QMI_M_TIMING(window) REG32(QMI + 0x0cu + 0x14u * (window))
#define QMI_M_RFMT(window) REG32(QMI + 0x10u + 0x14u * (window))
#define QMI_M_RCMD(window) REG32(QMI + 0x14u + 0x14u * (window))
#define QMI_ATRANS(n) REG32(QMI + 0x34u + 4u * (n))
#define CSR_EN BIT(0)
#define CSR_BUSY BIT(1)
#define CSR_ASSERT_CS0N BIT(2)
#define CSR_RXEMPTY BIT(16)
#define CSR_CLKDIV(n) ((n) << 22)
#define TX_QUAD (2u << 16)
#define TX_OE BIT(19)
#define FIFO_DEPTH 4u
#define SECTOR_BYTES 4096u
#define PAGE_BYTES 256u

/* Boot RAM, 4.3: the first 256 bytes have the function that restores the mode of flash reads. */
#define XIP_SETUP_AT BOOTRAM
#define BOOT_RANDOM(n) REG32(BOOTRAM + 0x100u + 4u * (n))
#define BOOT_INFO(n) REG32(BOOTRAM + 0x110u + 4u * (n))
#define FLASH_DEVINFO (BOOTRAM + 0x120u)
#define PARTITION_TABLE (BOOTRAM + 0x124u) /* none */

#define BOOT_MAGIC 0xb007c0d3u
#define BOOT_NORMAL 0u
#define BOOT_BOOTSEL 2u
#define BOOT_RAM_IMAGE 3u
#define BOOT_FLASH_UPDATE 4u
#define BOOT_PC_SP 13u

#define ERROR_INVALID_ARG (-5)
#define ERROR_INVALID_ADDRESS (-10)
#define ERROR_BUFFER_TOO_SMALL (-13)

extern void enter(uint32_t vector_table, uint32_t stack_pointer, uint32_t entry) __attribute__((noreturn));
extern void pause(uint32_t passes);
extern void call(uint32_t stack_pointer, uint32_t entry);
extern const uint32_t xip_setup[], xip_setup_end[];

static __attribute__((noreturn)) void refuse(uint32_t what)
{
    REFUSED = what;
    for (;;) {
    }
}

/* Flash, 5.4.8 and 12.14 */

static void connect_internal_flash(void)
{
    REG_SET(RESETS) = RESETS_IO_QSPI | RESETS_PADS_QSPI;
    REG_CLR(RESETS) = RESETS_IO_QSPI | RESETS_PADS_QSPI;
    while (~RESETS_DONE & (RESETS_IO_QSPI | RESETS_PADS_QSPI)) {
    }
    for (uint32_t pin = 0; pin < QSPI_PADS; pin++) {
        IO_QSPI_CTRL(pin + 2) = 0; /* after USB's two pins */
        REG_CLR(0x40040004u + 4u * pin) = PADS_QSPI_ISO;
    }
}

/* Modes: 03h, 0Bh, BBh and EBh, each with its instruction. COOLDOWN 1, PAGEBREAK 1024, MIN_DESELECT 7, RXDELAY 2. */
void select_xip_read_mode(uint32_t mode, uint32_t clkdiv)
{
    static const uint32_t formats[] = { 0x1000, 0x21000, 0x9154, 0x492a8 };
    static const uint8_t instructions[] = { 0x03, 0x0b, 0xbb, 0xeb };
    for (uint32_t window = 0; window < 2; window++) {
        QMI_M_TIMING(window) = 0x60007200u | clkdiv;
        QMI_M_RFMT(window) = formats[mode & 3];
        QMI_M_RCMD(window) = instructions[mode & 3];
    }
    QMI_DIRECT_CSR = CSR_CLKDIV(clkdiv);
}

static void flash_enter_cmd_xip(void)
{
    select_xip_read_mode(0, 12);
}

static void direct_begin(void)
{
    REG_SET(QMI) = CSR_EN | CSR_ASSERT_CS0N;
}

static void direct_end(void)
{
    while (QMI_DIRECT_CSR & CSR_BUSY) {
    }
    REG_CLR(QMI) = CSR_EN | CSR_ASSERT_CS0N;
}

/* Sends records and takes as many, never more than the FIFOs hold. Returns the last that came. */
static uint32_t exchange(const uint8_t *data, uint32_t count, uint32_t flags)
{
    uint32_t taken = 0, last = 0;
    for (uint32_t sent = 0; taken < count;) {
        if (sent < count && sent < taken + FIFO_DEPTH) {
            QMI_DIRECT_TX = *data++ | flags;
            sent++;
        } else if (!(QMI_DIRECT_CSR & CSR_RXEMPTY)) {
            last = QMI_DIRECT_RX;
            taken++;
        }
    }
    return last;
}

/* Ends continuous reads: mode bits of 1 for a read by four lines and by two. */
static void flash_exit_xip(void)
{
    static const uint8_t ones[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    flash_enter_cmd_xip();
    direct_begin();
    exchange(ones, sizeof ones, TX_OE | TX_QUAD);
    direct_end();
}

static uint32_t read_status(void)
{
    static const uint8_t instruction[] = { 0x05, 0 };
    direct_begin();
    const uint32_t status = exchange(instruction, sizeof instruction, 0);
    direct_end();
    return status;
}

/* Changes a sector, block or page: write enable, the instruction with its data, then a wait for the flash. */
static void change(uint32_t opcode, uint32_t address, const uint8_t *data, uint32_t count)
{
    const uint8_t enable = 0x06;
    const uint8_t head[] = { opcode, address >> 16, address >> 8, address };
    direct_begin();
    exchange(&enable, 1, 0);
    direct_end();
    direct_begin();
    exchange(head, sizeof head, 0);
    exchange(data, count, 0);
    direct_end();
    while (read_status() & 1) {
    }
}

static void flash_range_erase(uint32_t address, uint32_t count, uint32_t block_size, uint32_t block_opcode)
{
    const uint32_t end = address + count;
    while (address < end) {
        const int block = block_size > SECTOR_BYTES && !(address & (block_size - 1)) && end - address >= block_size;
        change(block ? block_opcode : 0x20, address, NULL, 0);
        address += block ? block_size : SECTOR_BYTES;
    }
}

static void flash_range_program(uint32_t address, const uint8_t *data, uint32_t count)
{
    for (uint32_t at = 0; at < count; at += PAGE_BYTES) {
        change(0x02, address + at, data + at, PAGE_BYTES);
    }
}

static void flash_flush_cache(void)
{
    for (uint32_t at = 0; at < XIP_CACHE_BYTES; at += XIP_LINE_BYTES) {
        *(volatile uint8_t *)(XIP_MAINTENANCE + at) = 0;
    }
}

static void flash_reset_address_trans(void)
{
    for (uint32_t n = 0; n < 8; n++) {
        QMI_ATRANS(n) = 0x04000000u | (n & 3) << 10;
    }
}

/* SIZE and BASE count 4 KiB, and each of the eight registers has 4 MiB. */
static int32_t flash_runtime_to_storage_addr(uint32_t address)
{
    const uint32_t offset = address - XIP_BASE;
    if (offset >> 25) {
        return ERROR_INVALID_ADDRESS;
    }
    const uint32_t atrans = QMI_ATRANS(offset >> 22);
    const uint32_t page = offset >> 12 & 0x3ff;
    if (page >= atrans >> 16) {
        return ERROR_INVALID_ADDRESS;
    }
    const uint32_t storage = ((atrans & 0xfff) + page) << 12 & 0xffffffu;
    return (int32_t)(XIP_BASE | (offset & BIT(24)) | storage | (offset & 0xfff));
}

/* The others */

static void bootrom_state_reset(uint32_t flags)
{
    if (flags & 4) {
        BOOTRAM_BOOTLOCK_STAT = 0xff;
        pause(13);
        ONE_CYCLE;
    }
    ONE_CYCLE;
    ONE_CYCLE;
    pause(1);
}

static int32_t get_sys_info(uint32_t *out, uint32_t words, uint32_t flags)
{
    uint32_t found[14];
    uint32_t count = 1;
    found[0] = flags & 0x5f;
    if (flags & 0x01) {
        found[count++] = SYSINFO_PACKAGE_SEL;
        found[count++] = OTP_CHIPID(0);
        found[count++] = OTP_CHIPID(1);
    }
    if (flags & 0x02) {
        found[count++] = OTP_CRITICAL;
    }
    if (flags & 0x04) {
        found[count++] = 0; /* Arm */
    }
    if (flags & 0x08) {
        found[count++] = *(volatile uint16_t *)FLASH_DEVINFO;
    }
    if (flags & 0x10) {
        for (uint32_t n = 0; n < 4; n++) {
            found[count++] = BOOT_RANDOM(n);
        }
    }
    if (flags & 0x40) {
        for (uint32_t n = 0; n < 4; n++) {
            found[count++] = BOOT_INFO(n);
        }
    }
    if (words < count) {
        return ERROR_BUFFER_TOO_SMALL;
    }
    for (uint32_t n = 0; n < count; n++) {
        out[n] = found[n];
    }
    ONE_CYCLE;
    ONE_CYCLE;
    if (flags & 0x10) {
        ONE_CYCLE;
        ONE_CYCLE;
        ONE_CYCLE;
    }
    pause(flags & 0x01 ? 38 : 20);
    return (int32_t)count;
}

static int32_t reboot(uint32_t flags, uint32_t delay_ms, uint32_t p0, uint32_t p1)
{
    const uint32_t type = flags & 0xf;
    if (flags & 0x20) {
        refuse(CODE('R', 'B'));
    }
    WATCHDOG_CTRL = 0;
    switch (type) {
    case BOOT_NORMAL:
        WATCHDOG_SCRATCH(4) = 0;
        break;
    case BOOT_BOOTSEL:
    case BOOT_RAM_IMAGE:
    case BOOT_FLASH_UPDATE:
        WATCHDOG_SCRATCH(2) = p0;
        WATCHDOG_SCRATCH(3) = p1;
        WATCHDOG_SCRATCH(4) = BOOT_MAGIC;
        WATCHDOG_SCRATCH(5) = BOOT_MAGIC ^ -BOOT_MAGIC;
        WATCHDOG_SCRATCH(6) = type;
        WATCHDOG_SCRATCH(7) = BOOT_MAGIC;
        break;
    case BOOT_PC_SP:
        WATCHDOG_SCRATCH(4) = BOOT_MAGIC;
        WATCHDOG_SCRATCH(5) = p0 ^ -BOOT_MAGIC;
        WATCHDOG_SCRATCH(6) = p1;
        WATCHDOG_SCRATCH(7) = p0;
        break;
    default:
        return ERROR_INVALID_ARG;
    }
    if (!(TICKS_WATCHDOG_CTRL & 1)) {
        TICKS_WATCHDOG_CYCLES = 12;
        TICKS_WATCHDOG_CTRL = 1;
    }
    PSM_WDSEL = PSM_REBOOT;
    const uint32_t most_ms = WATCHDOG_MOST / 1000;
    WATCHDOG_LOAD = delay_ms ? 1000 * (delay_ms < most_ms ? delay_ms : most_ms) : 1;
    WATCHDOG_CTRL = WATCHDOG_ENABLE;
    while (flags & 0x100) {
    }
    return 0;
}

/* The table, 5.4.6: what this ROM does not have ends the run when it is called. */

#define REFUSE(name, first, second) \
    static void name(void) { refuse(CODE(first, second)); }
REFUSE(pick_ab_partition, 'A', 'B')
REFUSE(chain_image, 'C', 'I')
REFUSE(explicit_buy, 'E', 'B')
REFUSE(flash_op, 'F', 'O')
REFUSE(get_b_partition, 'G', 'B')
REFUSE(get_partition_table_info, 'G', 'P')
REFUSE(get_uf2_target_partition, 'G', 'U')
REFUSE(load_partition_table, 'L', 'P')
REFUSE(otp_access, 'O', 'A')
REFUSE(set_rom_callback, 'R', 'C')
REFUSE(set_ns_api_permission, 'S', 'P')
REFUSE(validate_ns_buffer, 'V', 'B')

#define FUNCTION 0x04u
#define NON_SECURE_FUNCTION 0x10u
#define DATA 0x40u

struct entry {
    uint16_t code;
    uint16_t flags;
    const void *value;
};

static const uint32_t git_revision = 0; /* of no published boot ROM */
static const uint32_t xip_setup_at = XIP_SETUP_AT + 1;
static const uint32_t partition_table_at = PARTITION_TABLE;

/* The first three take the time that they take in the chip's boot ROM. */
const struct entry table[] = {
    { CODE('S', 'R'), FUNCTION, bootrom_state_reset },
    { CODE('R', 'B'), FUNCTION, reboot },
    { CODE('G', 'S'), FUNCTION, get_sys_info },
    { CODE('I', 'F'), FUNCTION, connect_internal_flash },
    { CODE('E', 'X'), FUNCTION, flash_exit_xip },
    { CODE('R', 'E'), FUNCTION, flash_range_erase },
    { CODE('R', 'P'), FUNCTION, flash_range_program },
    { CODE('F', 'C'), FUNCTION, flash_flush_cache },
    { CODE('C', 'X'), FUNCTION, flash_enter_cmd_xip },
    { CODE('X', 'M'), FUNCTION, select_xip_read_mode },
    { CODE('R', 'A'), FUNCTION, flash_reset_address_trans },
    { CODE('F', 'A'), FUNCTION, flash_runtime_to_storage_addr },
    { CODE('A', 'B'), FUNCTION, pick_ab_partition },
    { CODE('C', 'I'), FUNCTION, chain_image },
    { CODE('E', 'B'), FUNCTION, explicit_buy },
    { CODE('F', 'O'), FUNCTION, flash_op },
    { CODE('G', 'B'), FUNCTION, get_b_partition },
    { CODE('G', 'P'), FUNCTION, get_partition_table_info },
    { CODE('G', 'U'), FUNCTION, get_uf2_target_partition },
    { CODE('L', 'P'), FUNCTION, load_partition_table },
    { CODE('O', 'A'), FUNCTION, otp_access },
    { CODE('R', 'C'), FUNCTION, set_rom_callback },
    { CODE('S', 'P'), FUNCTION, set_ns_api_permission },
    { CODE('V', 'B'), FUNCTION, validate_ns_buffer },
    { CODE('F', 'D'), DATA, (const void *)FLASH_DEVINFO },
    { CODE('G', 'R'), DATA, &git_revision },
    { CODE('P', 'T'), DATA, &partition_table_at },
    { CODE('X', 'F'), DATA, &xip_setup_at },
    { 0, 0, NULL },
};

const struct entry *table_lookup_entry(uint32_t code, uint32_t flags)
{
    if (flags & NON_SECURE_FUNCTION) {
        refuse(NON_SECURE);
    }
    for (const struct entry *entry = table; entry->code; entry++) {
        if (entry->code == code && (entry->flags & flags)) {
            return entry;
        }
    }
    return NULL;
}

/* The start, 5.2.2 */

/* Salts of both cores' RCP, and the number that is drawn at each boot. */
static void draw_random_numbers(void)
{
    uint32_t drawn[6];
    REG_CLR(RESETS) = RESETS_RELEASED;
    while (~RESETS_DONE & RESETS_RELEASED) {
    }
    TRNG_SAMPLE_CNT1 = 1;
    TRNG_SOURCE_ENABLE = 1;
    while (!(TRNG_ISR & 1)) {
    }
    for (uint32_t n = 0; n < 6; n++) {
        drawn[n] = TRNG_EHR(n);
    }
    TRNG_SOURCE_ENABLE = 0;
    for (uint32_t n = 0; n < 4; n++) {
        BOOT_RANDOM(n) = drawn[n];
    }
    __asm volatile("mrc p7, #1, r3, c0, c0, #0\n"
                   "cmp r3, %2\n"
                   "beq 1f\n"
                   "mcrr p7, #8, %0, %1, c0\n"
                   "mcrr p7, #8, %1, %0, c1\n"
                   "1: sev" : : "r"(drawn[4]), "r"(drawn[5]), "r"(0xa500a500u) : "r3", "cc");
}

/* What a program left in four registers before the reset. Returns the type of the boot; calls a vector, which may
   return. */
static uint32_t boot_vector(uint32_t words)
{
    if (REG32(words) != BOOT_MAGIC || (REG32(words + 4) ^ -BOOT_MAGIC) != REG32(words + 12)) {
        return BOOT_NORMAL;
    }
    REG32(words) = 0;
    const uint32_t stack_pointer = REG32(words + 8), entry = REG32(words + 12);
    if (entry == BOOT_MAGIC) {
        return stack_pointer;
    }
    call(stack_pointer, entry);
    return BOOT_PC_SP;
}

static int bootsel_is_pressed(void)
{
    IO_QSPI_CTRL(IO_QSPI_SS) = IO_QSPI_OEOVER_DISABLE;
    const int pressed = !(SIO_GPIO_HI_IN & SIO_GPIO_HI_SS);
    IO_QSPI_CTRL(IO_QSPI_SS) = 0;
    return pressed;
}

/* Blocks, 5.9 */
#define BLOCK_START 0xffffded3u
#define BLOCK_END 0xab123579u
#define BLOCK_WORDS 96u
#define MOST_BLOCKS 64u
#define NO_BLOCK 0xffffffffu
#define SEARCHED_BYTES 4096u
#define FLASH_BYTES 0x1000000u
#define ITEM_VECTOR_TABLE 0x03u
#define ITEM_ENTRY_POINT 0x44u
#define ITEM_IMAGE_TYPE 0x42u
#define ITEM_ROLLING_WINDOW_DELTA 0x05u
#define ITEM_LAST 0xffu
#define IMAGE_ARM_MASK 0x770fu
#define IMAGE_ARM 0x1001u /* executable, for Arm cores of the RP2350 */
#define IMAGE_RISCV 0x1101u

/* Passes of pause(): programs of pico-sdk, with a block at 0x138 and one beyond 4 KiB, start 86 198 cycles of clk_sys after
   the reset. That is the time of the chip's boot ROM of revision A2, which leaves the cache the same. */
#define PAUSE 22450u

/* An image definition; `entry` 0: the vector table has the entry. */
struct image {
    uint32_t vector_table, stack_pointer, entry;
    int found;
};

static uint32_t words_of(uint32_t item)
{
    return item & 0x80 ? item >> 8 & 0xffff : item >> 8 & 0xff;
}

/* Returns the offset of the next block; NO_BLOCK: this is none. The window without cache leaves no trace in it. Fills `image` from an image definition. */
static uint32_t read_block(uint32_t at, struct image *image)
{
    const uint32_t *const block = (const uint32_t *)(XIP_NOCACHE_NOTRANSLATE + at);
    if (block[0] != BLOCK_START) {
        return NO_BLOCK;
    }
    const uint32_t *item = block + 1;
    struct image found = { XIP_BASE, 0, 0, 1 };
    const int is_image = (*item & 0xff) == ITEM_IMAGE_TYPE && (*item >> 16 & IMAGE_ARM_MASK) == IMAGE_ARM;
    while ((*item & 0xff) != ITEM_LAST) {
        switch (*item & (is_image ? 0xff : 0)) {
        case ITEM_VECTOR_TABLE:
            found.vector_table = item[1];
            break;
        case ITEM_ENTRY_POINT:
            found.entry = item[1];
            found.stack_pointer = item[2];
            break;
        case ITEM_ROLLING_WINDOW_DELTA:
            refuse(ROLLING_WINDOW);
        }
        const uint32_t words = words_of(*item);
        if (!words || (uint32_t)(item - block) + words > BLOCK_WORDS) {
            return NO_BLOCK;
        }
        item += words;
    }
    if (words_of(*item) != (uint32_t)(item - block) - 1 || item[2] != BLOCK_END) {
        return NO_BLOCK;
    }
    if (is_image && !image->found) {
        *image = found;
    }
    const uint32_t next = at + item[1];
    return next < FLASH_BYTES && !(next & 3) ? next : NO_BLOCK;
}

/* Ends the run if the block at `at` has a program for the RISC-V cores. */
static void refuse_riscv(uint32_t at)
{
    const uint32_t item = REG32(XIP_NOCACHE_NOTRANSLATE + at + 4);
    if ((item & 0xff) == ITEM_IMAGE_TYPE && (item >> 16 & IMAGE_ARM_MASK) == IMAGE_RISCV) {
        refuse(RISCV);
    }
}

/* Follows the loop of blocks from its first one in the first 4 KiB. Returns whether it closes and has an image. */
static int find_image(struct image *image)
{
    for (uint32_t first = 0; first < SEARCHED_BYTES; first += 4) {
        if (REG32(XIP_NOCACHE_NOTRANSLATE + first) != BLOCK_START) {
            continue;
        }
        image->found = 0;
        uint32_t at = first;
        for (uint32_t blocks = 0; blocks < MOST_BLOCKS && at != NO_BLOCK; blocks++) {
            at = read_block(at, image);
            if (at == first && image->found) {
                return 1;
            }
            if (at == first) {
                refuse_riscv(first);
                return 0;
            }
        }
    }
    return 0;
}

static void write_xip_setup(uint32_t mode, uint32_t clkdiv)
{
    const uint32_t words = (uint32_t)(xip_setup_end - xip_setup);
    for (uint32_t n = 0; n < words; n++) {
        REG32(XIP_SETUP_AT + 4 * n) = xip_setup[n];
    }
    REG32(XIP_SETUP_AT + 4 * (words - 3)) = mode;
    REG32(XIP_SETUP_AT + 4 * (words - 2)) = clkdiv;
}

__attribute__((noreturn)) void boot(void)
{
    draw_random_numbers();
    REG32(FLASH_DEVINFO) = 0x0c00; /* 16 MB at the first chip select */
    REG32(PARTITION_TABLE) = 0;
    boot_vector(POWMAN_BOOT);
    const uint32_t type = boot_vector((uint32_t)(uintptr_t)&WATCHDOG_SCRATCH(4));
    if (type == BOOT_RAM_IMAGE) {
        refuse(RAM_IMAGE);
    }
    BOOT_INFO(0) = 0x00ff0000u | type << 8;
    BOOT_INFO(1) = 0;
    BOOT_INFO(2) = WATCHDOG_SCRATCH(2);
    BOOT_INFO(3) = WATCHDOG_SCRATCH(3);
    connect_internal_flash();
    if (type == BOOT_BOOTSEL || bootsel_is_pressed()) {
        refuse(USB_BOOT_LOADER);
    }
    struct image image = { 0, 0, 0, 0 };
    flash_exit_xip();
    for (uint32_t clkdiv = 3; clkdiv <= 24; clkdiv *= 2) {
        for (uint32_t mode = 4; mode-- > 0;) {
            select_xip_read_mode(mode, clkdiv);
            if (find_image(&image)) {
                write_xip_setup(mode, clkdiv);
                flash_flush_cache();
                if (!image.entry) {
                    image.stack_pointer = REG32(image.vector_table);
                    image.entry = REG32(image.vector_table + 4);
                }
                pause(PAUSE);
                __asm__ volatile("nop.w\n\tnop.w"); /* what is left of three cycles */
                enter(image.vector_table, image.stack_pointer, image.entry);
            }
        }
    }
    refuse(USB_BOOT_LOADER);
}
