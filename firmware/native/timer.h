/* Microseconds since start-up. 32 bits wrap after 71 minutes; differences up to 35 minutes are unambiguous, and every
   configurable wait is shorter (config.c). */
#ifndef TIMER_H
#define TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "chip.h"

static inline uint32_t time_us(void) { return TIMER_TIMERAWL; }
static inline bool time_reached(uint32_t deadline_us) { return (int32_t)(time_us() - deadline_us) >= 0; }

/* Sleeps (WFE) until `deadline_us`, at most a few seconds ahead: feeds the watchdog once. */
void sleep_until(uint32_t deadline_us);
static inline void sleep_us(uint32_t duration_us) { sleep_until(time_us() + duration_us); }

#endif
