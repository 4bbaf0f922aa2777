/* Functions of the bootrom (RP2040 datasheet 2.8.3, RP2350 datasheet 5.4.8) and what needs them. */
#ifndef BOOTROM_H
#define BOOTROM_H

#include <stdint.h>

/* Restarts into the USB boot loader; GPIO `led_pin` shows its activity. */
_Noreturn void bootrom_reset_usb_boot(uint32_t led_pin);

/* A 64-bit number of this board: the flash chip's (W25Q16JV datasheet 8.2.28, 4Bh), or the RP2350's own. XIP may be off
   meanwhile: call from SRAM only. */
void bootrom_unique_id(uint8_t id[8]);

#endif
