#include "crc32.h"

uint32_t crc32(const void *data, uint32_t length) {
    const uint8_t *byte = data;
    uint32_t crc = 0xffffffffu;
    for (uint32_t i = 0; i < length; i++) {
        crc ^= byte[i];
        for (uint32_t bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1u ? 0xedb88320u : 0u);
        }
    }
    return ~crc;
}
