/* A program for the RP2350 that calls what a boot ROM offers, and leaves what it found in SRAM: ../rp2350.rs reads it.
   It runs in SRAM, and counts its starts in a scratch register of the watchdog. */
#include <stddef.h>
#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(address))
#define CODE(first, second) ((first) | (second) << 8)
#define FUNCTION 0x04u
#define DATA 0x40u
#define STARTS REG32(0x400d800cu) /* WATCHDOG.SCRATCH0 */
#define SIO_FIFO_ST REG32(0xd0000050u)
#define SIO_FIFO_WR REG32(0xd0000054u)
#define SIO_FIFO_RD REG32(0xd0000058u)
#define FLASH 0x10000000u
#define CHANGED 0x100000u /* of the flash */
#define CHANGED_BYTES 0x11000u
#define PROGRAMMED 512u
#define DONE 0x600df00du

struct found {
    uint32_t info_words, info[12];
    uint32_t missing;
    uint32_t erased, programmed, beside;
    uint32_t modes[4], restored;
    uint32_t translated;
    uint32_t of_core1;
    uint32_t rebooted;
    uint32_t done;
};
#define FOUND ((volatile struct found *)0x20001000u)

typedef const void *(*lookup)(uint32_t code, uint32_t flags);
extern uint32_t vectors[], core1_stack[];
uint32_t core1_stack[64];
static uint32_t setup[64];
static uint8_t page[PROGRAMMED];

static const void *find(uint32_t code, uint32_t flags)
{
    return ((lookup)(uintptr_t)*(volatile uint16_t *)0x16)(code, flags);
}

static uint32_t sum(uint32_t address, uint32_t bytes)
{
    uint32_t total = 0;
    for (uint32_t at = 0; at < bytes; at += 4) {
        total = total * 31 + REG32(address + at);
    }
    return total;
}

static void flush(void)
{
    ((void (*)(void))find(CODE('F', 'C'), FUNCTION))();
}

static void change_flash(void)
{
    void (*const connect)(void) = find(CODE('I', 'F'), FUNCTION);
    void (*const exit_xip)(void) = find(CODE('E', 'X'), FUNCTION);
    void (*const erase)(uint32_t, uint32_t, uint32_t, uint32_t) = find(CODE('R', 'E'), FUNCTION);
    void (*const program)(uint32_t, const uint8_t *, uint32_t) = find(CODE('R', 'P'), FUNCTION);
    void (*const enter)(void) = find(CODE('C', 'X'), FUNCTION);
    connect();
    exit_xip();
    erase(CHANGED, CHANGED_BYTES, 0x10000, 0xd8);
    flush();
    FOUND->erased = sum(FLASH + CHANGED, CHANGED_BYTES);
    for (uint32_t i = 0; i < PROGRAMMED; i++) {
        page[i] = (uint8_t)(7 * i + (i >> 8));
    }
    program(CHANGED, page, PROGRAMMED);
    flush();
    enter();
    FOUND->programmed = sum(FLASH + CHANGED, PROGRAMMED);
    FOUND->beside = sum(FLASH + CHANGED + PROGRAMMED, PROGRAMMED);
}

static void read_in_all_modes(void)
{
    void (*const select)(uint32_t, uint32_t) = find(CODE('X', 'M'), FUNCTION);
    for (uint32_t mode = 0; mode < 4; mode++) {
        select(mode, 4);
        flush();
        FOUND->modes[mode] = sum(FLASH + CHANGED, PROGRAMMED);
    }
    for (uint32_t n = 0; n < 64; n++) {
        setup[n] = REG32(0x400e0000u + 4 * n);
    }
    ((void (*)(void))((uintptr_t)setup | 1))();
    flush();
    FOUND->restored = sum(FLASH + CHANGED, PROGRAMMED);
}

static void core1(void)
{
    FOUND->of_core1 = REG32(0xd0000000u) ? DONE : 0;
    SIO_FIFO_WR = DONE;
    __asm volatile("sev");
    for (;;) {
        __asm volatile("wfe");
    }
}

static uint32_t take(void)
{
    while (!(SIO_FIFO_ST & 1)) {
        __asm volatile("wfe");
    }
    return SIO_FIFO_RD;
}

static void launch_core1(void)
{
    const uint32_t words[] = { 0, 0, 1, (uint32_t)(uintptr_t)vectors, (uint32_t)(uintptr_t)(core1_stack + 64),
                               (uint32_t)(uintptr_t)core1 };
    for (uint32_t n = 0; n < 6;) {
        if (!words[n]) {
            while (SIO_FIFO_ST & 1) {
                (void)SIO_FIFO_RD;
            }
            __asm volatile("sev");
        }
        SIO_FIFO_WR = words[n];
        __asm volatile("sev");
        n = take() == words[n] ? n + 1 : 0;
    }
    while (take() != DONE) {
    }
}

void main(void)
{
    STARTS++;
    if (STARTS > 1) {
        FOUND->rebooted = STARTS;
        FOUND->done = DONE;
        int (*const flash_op)(uint32_t, uint32_t, uint32_t, uint8_t *) = find(CODE('F', 'O'), FUNCTION);
        flash_op(0x00020000, FLASH, 4, page);
        for (;;) {
        }
    }
    int (*const get_sys_info)(uint32_t *, uint32_t, uint32_t) = find(CODE('G', 'S'), FUNCTION);
    void (*const state_reset)(uint32_t) = find(CODE('S', 'R'), FUNCTION);
    int (*const reboot)(uint32_t, uint32_t, uint32_t, uint32_t) = find(CODE('R', 'B'), FUNCTION);
    int (*const translate)(uint32_t) = find(CODE('F', 'A'), FUNCTION);
    static uint32_t info[12];
    state_reset(7);
    FOUND->info_words = (uint32_t)get_sys_info(info, 12, 0x01 | 0x04 | 0x08);
    for (uint32_t n = 0; n < 12; n++) {
        FOUND->info[n] = info[n];
    }
    FOUND->missing = (uint32_t)(uintptr_t)find(CODE('?', '?'), FUNCTION);
    FOUND->translated = (uint32_t)translate(FLASH + 0x123456);
    change_flash();
    read_in_all_modes();
    launch_core1();
    reboot(0x100, 1, 0, 0);
}
