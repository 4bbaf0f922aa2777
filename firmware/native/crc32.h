#ifndef CRC32_H
#define CRC32_H

#include <stdint.h>

/* CRC-32 of IEEE 802.3, as in zlib */
uint32_t crc32(const void *data, uint32_t length);

#endif
