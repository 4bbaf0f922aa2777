#include "transfer.h"

#include "decimal.h"
#include "mem.h"

#define WRITES 256u /* the most of a transfer; workloads/transfer.py has the same */
#define WAY_MAX 4u

const char *transfer_announce(struct stream *stream, const char *way, uint32_t size, uint32_t total) {
    char line[WAY_MAX + 2 * (1 + DECIMAL_MAX) + 1];
    uint32_t length = 0;
    while (way[length]) {
        line[length] = way[length];
        length++;
    }
    line[length++] = ' ';
    length += decimal_format(size, line + length);
    line[length++] = ' ';
    length += decimal_format(total, line + length);
    line[length++] = '\n';
    return stream_write(stream, line, length);
}

const char *transfer_done(struct stream *stream, uint32_t wait_us) {
    const char *error = stream_push(stream);
    return error ? error : stream_expect(stream, "done", 4, wait_us, "the server said something else than done");
}

void transfer_block(uint8_t *block, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) {
        block[i] = (uint8_t)i;
    }
}

uint32_t transfer_total(uint32_t transfer_bytes, uint32_t size) {
    uint32_t writes = 0;
    for (uint32_t left = transfer_bytes; left >= size && writes < WRITES; left -= size) { /* no divide instruction */
        writes++;
    }
    return (writes ? writes : 1) * size;
}
