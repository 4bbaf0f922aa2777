#include "timer.h"

#include "watchdog.h"

void timer_alarm0(void);
void timer_alarm0(void) { TIMER_INTR = BIT(0); }

/* The interrupt only ends WFE: leaving its handler sets the event register, so one that came between the check and WFE
   makes WFE fall through. */
void sleep_until(uint32_t deadline_us) {
    watchdog_feed();
    TIMER_INTE = BIT(0);
    NVIC_ISER = BIT(TIMER_IRQ_0);
    for (;;) {
        TIMER_ALARM0 = deadline_us; /* armed before the check: a deadline that passes in between has already fired */
        if (time_reached(deadline_us)) {
            break;
        }
        wait_for_event();
    }
    NVIC_ICER = BIT(TIMER_IRQ_0);
    TIMER_ARMED = BIT(0); /* writing disarms: the alarm of a deadline that was over already would fire in 71 minutes */
    TIMER_INTR = BIT(0);
    NVIC_ICPR = BIT(TIMER_IRQ_0);
}
