#include "bootrom.h"

#include "chip.h"

#define ROM_CODE(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)

/* A pointer of 16 bits, 5.4.1 */
#define TABLE_LOOKUP 0x16u
#define FUNC_ARM_SEC 4u

#define REBOOT_TYPE_BOOTSEL 2u
#define REBOOT_NO_RETURN 0x100u
#define REBOOT_DELAY_MS 1u
#define BOOTSEL_GPIO_SPECIFIED 0x20u
#define SYS_INFO_CHIP_INFO 1u

typedef void *(*table_lookup)(uint32_t code, uint32_t mask);

/* The pointer lives in page zero, whose addresses the compiler would take for null pointers plus offset. */
static void *rom_function(uint32_t code) {
    uintptr_t address = TABLE_LOOKUP;
    __asm volatile("" : "+r"(address));
    const table_lookup lookup = (table_lookup)(uintptr_t) * (const volatile uint16_t *)address;
    return lookup(code, FUNC_ARM_SEC);
}

void bootrom_reset_usb_boot(uint32_t led_pin) {
    typedef int (*reboot)(uint32_t flags, uint32_t delay_ms, uint32_t p0, uint32_t p1);
    ((reboot)rom_function(ROM_CODE('R', 'B')))(REBOOT_TYPE_BOOTSEL | REBOOT_NO_RETURN, REBOOT_DELAY_MS,
                                               BOOTSEL_GPIO_SPECIFIED, led_pin);
    for (;;) {
    }
}

/* Flags, package, and the chip's number */
void bootrom_unique_id(uint8_t id[8]) {
    typedef int (*get_sys_info)(uint32_t *buffer, uint32_t words, uint32_t flags);
    uint32_t found[4] = {0};
    ((get_sys_info)rom_function(ROM_CODE('G', 'S')))(found, 4, SYS_INFO_CHIP_INFO);
    for (uint32_t i = 0; i < 8; i++) {
        id[i] = (uint8_t)(found[2 + i / 4] >> (8 * (i % 4)));
    }
}
