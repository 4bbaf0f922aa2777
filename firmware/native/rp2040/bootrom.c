#include "bootrom.h"

#include "chip.h"

#define ROM_CODE(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)

#define CMD_UNIQUE_ID 0x4bu
#define UNIQUE_ID_DUMMY 4u
#define UNIQUE_ID_TOTAL (1u + UNIQUE_ID_DUMMY + 8u) /* fits the SSI's FIFOs of 16 */

/* Pointers of 16 bits, 2.8.3 */
#define FUNC_TABLE 0x14u
#define TABLE_LOOKUP 0x18u

typedef void *(*table_lookup)(const uint16_t *table, uint32_t code);

/* The pointers live at fixed addresses in page zero, which the compiler would take for null pointers plus offset. */
static uint16_t rom_pointer(uintptr_t address) {
    __asm volatile("" : "+r"(address));
    return *(const volatile uint16_t *)address;
}

static void *rom_function(uint32_t code) {
    const table_lookup lookup = (table_lookup)(uintptr_t)rom_pointer(TABLE_LOOKUP);
    return lookup((const uint16_t *)(uintptr_t)rom_pointer(FUNC_TABLE), code);
}

void bootrom_reset_usb_boot(uint32_t led_pin) {
    typedef void (*reset_usb_boot)(uint32_t activity_pin_mask, uint32_t disable_interface_mask);
    ((reset_usb_boot)rom_function(ROM_CODE('U', 'B')))(BIT(led_pin), 0);
    for (;;) {
    }
}

static void flash_select(uint32_t outover) {
    IO_QSPI_SS_CTRL = (IO_QSPI_SS_CTRL & ~IO_QSPI_OUTOVER_MASK) | outover;
    (void)IO_QSPI_SS_CTRL; /* the override has reached the pad when the read returns */
}

void bootrom_unique_id(uint8_t id[8]) {
    typedef void (*rom_void)(void);
    const rom_void connect_internal_flash = (rom_void)rom_function(ROM_CODE('I', 'F'));
    const rom_void flash_exit_xip = (rom_void)rom_function(ROM_CODE('E', 'X'));
    const rom_void flash_flush_cache = (rom_void)rom_function(ROM_CODE('F', 'C'));
    const rom_void flash_enter_cmd_xip = (rom_void)rom_function(ROM_CODE('C', 'X'));
    connect_internal_flash();
    flash_exit_xip();

    flash_select(IO_QSPI_OUTOVER_LOW);
    for (uint32_t i = 0; i < UNIQUE_ID_TOTAL; i++) {
        SSI_DR0 = i == 0 ? CMD_UNIQUE_ID : 0;
    }
    for (uint32_t i = 0; i < UNIQUE_ID_TOTAL; i++) {
        while (!(SSI_SR & SSI_SR_RFNE)) {
        }
        const uint32_t byte = SSI_DR0;
        if (i > UNIQUE_ID_DUMMY) {
            id[i - UNIQUE_ID_DUMMY - 1] = (uint8_t)byte;
        }
    }
    flash_select(IO_QSPI_OUTOVER_MASK); /* high */

    flash_flush_cache(); /* also takes the chip select override away */
    flash_enter_cmd_xip();
}
