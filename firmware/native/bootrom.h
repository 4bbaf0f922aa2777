/* Functions of the RP2040's bootrom (datasheet 2.8.3) and what needs them. */
#ifndef BOOTROM_H
#define BOOTROM_H

#include <stdint.h>

/* Restarts into the USB boot loader (RPI-RP2); GPIO `led_pin` shows its activity. */
_Noreturn void bootrom_reset_usb_boot(uint32_t led_pin);

/* The flash chip's 64-bit unique id (W25Q16JV datasheet 8.2.28, 4Bh). XIP is off meanwhile: call from SRAM only. */
void bootrom_flash_unique_id(uint8_t id[8]);

#endif
