/* W5500-EVB-Pico: what is wired where (WIZnet's schematic) and the clocks this firmware chooses. */
#ifndef BOARD_H
#define BOARD_H

#define PIN_MISO 16u
#define PIN_CSN 17u
#define PIN_SCK 18u
#define PIN_MOSI 19u
#define PIN_RSTN 20u
#define PIN_INTN 21u
#define PIN_LED 25u

#define XOSC_HZ 12000000u

/* 12 MHz * 133 = 1596 MHz VCO (750 to 1600 allowed), / 6 / 2 = 133 MHz: the RP2040's rated maximum, and a quarter of
   it is 33.25 MHz, just below the 33.3 MHz that the W5500 guarantees. */
#define PLL_SYS_FBDIV 133u
#define PLL_SYS_POSTDIV1 6u
#define PLL_SYS_POSTDIV2 2u
#define CLK_SYS_HZ (XOSC_HZ * PLL_SYS_FBDIV / PLL_SYS_POSTDIV1 / PLL_SYS_POSTDIV2)
#define CLK_PERI_HZ CLK_SYS_HZ

#define FLASH_BASE 0x10000000u
#define CONFIG_ADDRESS 0x101ff000u /* last sector of the 2 MiB W25Q16JV */

#endif
