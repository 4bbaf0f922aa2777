/* What a body can be told beside `count`: numbers in the configuration's sector, behind its block; the layout is in
   README.md, and firmware/native_config.py writes it. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define SETTINGS_MAX 45u

struct settings {
    uint32_t count;
    uint32_t values[SETTINGS_MAX];
};

/* Takes the numbers that are stored at `stored` (little-endian, readable for 192 bytes). False: there are none, or they
   are damaged; then `*out` is as it was, which is where a body's defaults are. */
bool settings_read(const void *stored, struct settings *out);

/* Those of this board. */
void settings_load(struct settings *out);

#endif
