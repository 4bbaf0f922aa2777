#include "timer.h"

#include "watchdog.h"

/* The alarm's interrupt is enabled in the NVIC but PRIMASK keeps it from being taken: pending, it ends WFI, and one
   that became pending between the check and WFI makes WFI fall through. */
void sleep_until(uint32_t deadline_us) {
    watchdog_feed();
    TIMER_INTE = BIT(0);
    M0PLUS_NVIC_ISER = BIT(TIMER_IRQ_0);
    TIMER_ALARM0 = deadline_us;
    while (!time_reached(deadline_us)) {
        wait_for_interrupt();
    }
    TIMER_INTE = 0;
    TIMER_INTR = BIT(0);
    M0PLUS_NVIC_ICPR = BIT(TIMER_IRQ_0);
}
