#include "settings.h"

#include "board.h"
#include "config.h"
#include "crc32.h"
#include "mem.h"

#define SETTINGS_ADDRESS (CONFIG_ADDRESS + sizeof(struct config))

struct header {
    uint8_t magic[4];
    uint32_t count;
};

bool settings_read(const void *stored, struct settings *out) {
    static const uint8_t magic[4] = {'P', 'B', 'S', 'T'};
    struct header header;
    memcpy(&header, stored, sizeof header);
    if (memcmp(header.magic, magic, sizeof magic) != 0 || header.count == 0 || header.count > SETTINGS_MAX) {
        return false;
    }
    const uint32_t length = sizeof header + header.count * sizeof(uint32_t);
    const uint8_t *bytes = stored;
    uint32_t crc;
    memcpy(&crc, bytes + length, sizeof crc);
    if (crc != crc32(stored, length)) {
        return false;
    }
    out->count = header.count;
    memcpy(out->values, bytes + sizeof header, header.count * sizeof(uint32_t));
    return true;
}

void settings_load(struct settings *out) { settings_read((const void *)SETTINGS_ADDRESS, out); }
