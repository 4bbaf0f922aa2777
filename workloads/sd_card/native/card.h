/* An SD card on SPI1, block by block (SD Physical Layer Simplified Specification, chapter 7). */
#ifndef CARD_H
#define CARD_H

#include <stdint.h>

#define CARD_BLOCK 512u

/* Brings the card up; its clock from then on is the fastest that is not above `spi_hz`, which *actual_hz says. Returns
   what went wrong, or NULL. */
const char *card_start(uint32_t spi_hz, uint32_t *actual_hz);

/* One block with one command, as FatFs does for calls of 512 bytes. Returns what went wrong, or NULL. */
const char *card_write(uint32_t block, const uint8_t data[CARD_BLOCK]);
const char *card_read(uint32_t block, uint8_t data[CARD_BLOCK]);

#endif
