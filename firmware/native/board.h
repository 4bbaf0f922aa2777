/* The board: what is wired where, and the clocks this firmware chooses. */
#ifndef BOARD_H
#define BOARD_H

#include "board_pins.h"

#define PIN_LED 25u

#define XOSC_HZ 12000000u

/* 12 MHz * 133 = 1596 MHz VCO (750 to 1600 allowed), / 6 / 2 = 133 MHz: the RP2040's rated maximum, and a quarter of
   it is 33.25 MHz, just below the 33.3 MHz that the W5500 guarantees. */
#ifndef PLL_SYS_FBDIV /* a workload's native.mk may have another */
#define PLL_SYS_FBDIV 133u
#endif
#define PLL_SYS_POSTDIV1 6u
#define PLL_SYS_POSTDIV2 2u
#define CLK_SYS_HZ (XOSC_HZ * PLL_SYS_FBDIV / PLL_SYS_POSTDIV1 / PLL_SYS_POSTDIV2)
#define CLK_PERI_HZ CLK_SYS_HZ

#define FLASH_BASE 0x10000000u
#define CONFIG_ADDRESS 0x101ff000u /* last sector of a 2 MiB flash; firmware/native_config.py writes there */

#endif
