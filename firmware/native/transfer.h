/* Transfers of many bytes: how each is announced, and how it ends; workloads/transfer.py has the PC's part. */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <stdint.h>

#include "stream.h"

/* `WAY SIZE TOTAL` and the line's end. Returns what went wrong, or NULL. */
const char *transfer_announce(struct stream *stream, const char *way, uint32_t size, uint32_t total);

/* The PC has all of it. */
const char *transfer_done(struct stream *stream, uint32_t wait_us);

/* A block of `size` bytes, as the PC expects it. */
void transfer_block(uint8_t *block, uint32_t size);

/* Bytes of a transfer in writes of `size`. */
uint32_t transfer_total(uint32_t transfer_bytes, uint32_t size);

#endif
