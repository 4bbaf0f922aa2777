/* Answers ARP requests and pings by MACRAW: no other stack. The whole frame is read, changed and written back. */
#include <string.h>

#include "console.h"
#include "older.h"

static const uint8_t mac[6] = {0x02, 0x08, 0xdc, 0x12, 0x84, 0x50};
static const uint8_t ip[4] = {192, 168, 50, 100};
static uint8_t frame[1514];

static uint16_t get16(uint16_t offset) {
    uint8_t bytes[2];
    read_bytes(SOCKET_BASE + offset, bytes, 2);
    return bytes[0] << 8 | bytes[1];
}

static void put16(uint16_t offset, uint16_t value) {
    uint8_t bytes[] = {value >> 8, value};
    write_bytes(SOCKET_BASE + offset, bytes, 2);
}

static void put(uint16_t offset, uint8_t value) {
    write_bytes(SOCKET_BASE + offset, &value, 1);
}

static uint8_t get(uint16_t offset) {
    uint8_t value;
    read_bytes(SOCKET_BASE + offset, &value, 1);
    return value;
}

static void command(uint8_t value) {
    put(SN_CR, value);
    while (get(SN_CR)) {
    }
}

/* Reads `length` bytes of the receive memory at `pointer`, which wraps. */
static void take(uint16_t pointer, uint8_t *data, uint16_t length) {
    uint16_t at = pointer & (RING_BYTES - 1);
    uint16_t first = RING_BYTES - at;
    if (first >= length) {
        read_bytes(RX_BASE + at, data, length);
    } else {
        read_bytes(RX_BASE + at, data, first);
        read_bytes(RX_BASE, data + first, length - first);
    }
}

static void give(uint16_t pointer, const uint8_t *data, uint16_t length) {
    uint16_t at = pointer & (RING_BYTES - 1);
    uint16_t first = RING_BYTES - at;
    if (first >= length) {
        write_bytes(TX_BASE + at, data, length);
    } else {
        write_bytes(TX_BASE + at, data, first);
        write_bytes(TX_BASE, data + first, length - first);
    }
}

/* Returns the length of the next frame; 0: there is none. */
static uint16_t receive(void) {
    if (!get16(SN_RX_RSR)) {
        return 0;
    }
    uint16_t pointer = get16(SN_RX_RD);
    uint8_t head[2];
    take(pointer, head, 2);
    uint16_t length = (head[0] << 8 | head[1]) - 2;
    if (length > sizeof frame) {
        length = sizeof frame;
    }
    take(pointer + 2, frame, length);
    put16(SN_RX_RD, pointer + (head[0] << 8 | head[1]));
    command(RECV);
    return length;
}

static void transmit(uint16_t length) {
    while (get16(SN_TX_FSR) < length) {
    }
    uint16_t pointer = get16(SN_TX_WR);
    give(pointer, frame, length);
    put16(SN_TX_WR, pointer + length);
    command(SEND);
    while (!(get(SN_IR) & IR_SEND_OK)) {
    }
    put(SN_IR, IR_SEND_OK);
}

/* The 16-bit one's complement sum of `length` bytes. */
static uint16_t sum(const uint8_t *data, uint16_t length) {
    uint16_t total = 0;
    for (; length > 1; length -= 2, data += 2) {
        uint16_t word = data[0] << 8 | data[1];
        total += word;
        if (total < word) {
            total++;
        }
    }
    if (length) {
        uint16_t word = data[0] << 8;
        total += word;
        if (total < word) {
            total++;
        }
    }
    return total;
}

/* Turns a request into its answer; returns 0 for a frame without one. */
static uint8_t answer(uint16_t length) {
    uint16_t type = frame[12] << 8 | frame[13];
    if (type == 0x0806 && frame[21] == 1 && !memcmp(frame + 38, ip, 4)) {
        frame[21] = 2;
        memcpy(frame + 32, frame + 22, 10);
        memcpy(frame + 22, mac, 6);
        memcpy(frame + 28, ip, 4);
    } else if (type == 0x0800 && frame[23] == 1 && frame[34] == 8 && !memcmp(frame + 30, ip, 4)) {
        uint16_t bytes = (frame[16] << 8 | frame[17]) - 20;
        if (bytes + 34 > length) {
            return 0;
        }
        memcpy(frame + 30, frame + 26, 4);
        memcpy(frame + 26, ip, 4);
        frame[34] = 0;
        frame[36] = frame[37] = 0;
        uint16_t check = ~sum(frame + 34, bytes);
        frame[36] = check >> 8;
        frame[37] = check;
    } else {
        return 0;
    }
    memcpy(frame, frame + 6, 6);
    memcpy(frame + 6, mac, 6);
    return 1;
}

int main(void) {
    console_start();
    chip_start();
    write_bytes(0x0009, mac, sizeof mac);
    put(SN_MR, MACRAW);
    command(OPEN);
    console_print("ready\r\n");
    for (;;) {
        uint16_t length = receive();
        if (length && answer(length)) {
            transmit(length);
        }
    }
}
