#ifndef STAGE_H
#define STAGE_H

/* Where a run is; the number is also the LED's blink code after a failure. */
enum stage {
    STAGE_BOOT = 1,
    STAGE_W5500 = 2,
    STAGE_LINK = 3,
    STAGE_ADDRESS = 4,
    STAGE_CONNECT = 5,
    STAGE_EXCHANGE = 6,
    STAGE_REPORT = 7,
};

const char *stage_name(enum stage stage);

#endif
