#include "watchdog.h"

/* Scratch registers 4 to 7 belong to the bootrom; it writes 0 and 1 only on the way to its USB mode (2.8.1.1). */
#define SCRATCH_MAGIC WATCHDOG_SCRATCH(0)
#define SCRATCH_STAGE WATCHDOG_SCRATCH(1)
#define SCRATCH_COUNT WATCHDOG_SCRATCH(2)

#define MAGIC_RUNNING 0x50425255u /* "PBRU" */
#define MAGIC_FAULT 0x50424846u   /* "PBHF" */

void watchdog_tick_start(uint32_t cycles) { ticks_start(cycles); }

void watchdog_start(void) {
    REG_CLR(WATCHDOG_CTRL) = WATCHDOG_CTRL_ENABLE;
    /* Everything but the oscillators, so that a restart is a clean one (2.13.2) */
    PSM_WDSEL = PSM_ALL & ~(PSM_ROSC | PSM_XOSC);
    watchdog_feed();
    REG_SET(WATCHDOG_CTRL) = WATCHDOG_CTRL_ENABLE;
}

struct crash_record watchdog_take_crash(void) {
    struct crash_record record = {CRASH_NONE, SCRATCH_STAGE, 0};
    if (WATCHDOG_REASON != 0 && SCRATCH_MAGIC == MAGIC_RUNNING) {
        record.crash = CRASH_WATCHDOG;
    } else if (WATCHDOG_REASON != 0 && SCRATCH_MAGIC == MAGIC_FAULT) {
        record.crash = CRASH_HARD_FAULT;
    }
    record.count = record.crash == CRASH_NONE ? 0 : SCRATCH_COUNT + 1;
    SCRATCH_COUNT = record.count;
    SCRATCH_MAGIC = MAGIC_RUNNING;
    return record;
}

void watchdog_enter_stage(uint32_t stage) {
    SCRATCH_STAGE = stage;
    watchdog_feed();
}

void watchdog_disarm(void) {
    SCRATCH_MAGIC = 0;
    REG_CLR(WATCHDOG_CTRL) = WATCHDOG_CTRL_ENABLE;
}

void watchdog_restart_after_fault(void) {
    SCRATCH_MAGIC = MAGIC_FAULT;
    REG_SET(WATCHDOG_CTRL) = WATCHDOG_CTRL_TRIGGER;
    for (;;) {
    }
}
