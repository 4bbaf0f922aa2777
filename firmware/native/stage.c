#include "stage.h"

const char *stage_name(enum stage stage) {
    static const char *const names[] = {"boot", "w5500", "link", "address", "connect", "exchange", "report"};
    return stage >= STAGE_BOOT && stage <= STAGE_REPORT ? names[stage - STAGE_BOOT] : "unknown";
}
