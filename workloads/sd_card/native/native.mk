# The clock of the published measurements: 125 MHz, of which the card gets a quarter.
CFLAGS += -DPLL_SYS_FBDIV=125u
