#ifndef CLOCKS_H
#define CLOCKS_H

/* Brings every peripheral to its reset state, starts XOSC and PLL_SYS, and sets clk_ref = 12 MHz, clk_sys = clk_peri =
   CLK_SYS_HZ, the watchdog's 1 us tick and the timer. Call once, first. The watchdog guards its waits. */
void clocks_init(void);

/* Takes the peripherals of RESETS bits `blocks` out of reset and waits until they are ready. */
void resets_release(unsigned blocks);

#endif
