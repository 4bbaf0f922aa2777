/* The watchdog is the safety net under every wait: it restarts the chip if nothing feeds it for 8.3 s, and scratch
   registers tell the restarted firmware what happened, so that it can report it (RP2040 datasheet, 4.7). */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "chip.h"

enum crash { CRASH_NONE, CRASH_WATCHDOG, CRASH_HARD_FAULT };

struct crash_record {
    enum crash crash;
    uint32_t stage;  /* enum stage in which it happened */
    uint32_t count;  /* consecutive crashes */
};

/* `cycles` of clk_ref per tick; a tick must be 1 us for the timer to count microseconds */
void watchdog_tick_start(uint32_t cycles);
void watchdog_start(void);

static inline void watchdog_feed(void) { WATCHDOG_LOAD = WATCHDOG_LOAD_8S; }

/* What the previous run left behind. Also clears the record's crash kind, keeping its count for the next crash. */
struct crash_record watchdog_take_crash(void);

/* Marks the run as going on in `stage`, so that a restart by the watchdog can be told from one by the boot loader. */
void watchdog_enter_stage(uint32_t stage);

/* No run is going on any more: later restarts are somebody else's. */
void watchdog_disarm(void);

_Noreturn void watchdog_restart_after_fault(void);

#endif
