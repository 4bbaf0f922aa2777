/* The same work for an Arm and for a RISC-V core, timed in cycles of clk_sys by the platform timer. What it took is in SRAM
   for ../rp2350.rs: cycles and a checksum of each. */
#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(address))
#define MTIME_CTRL REG32(0xd00001a4u)
#define MTIME REG32(0xd00001b0u)
#define MTIME_CYCLES 3u /* on, every cycle */

#define FOUND ((volatile uint32_t *)0x20003000u)
#define DONE 0x600df00du

#define WORDS 256u

static uint32_t from[WORDS], to[WORDS];

/* A stack machine, as an interpreter of bytecode is one: sums the products of two counters. */
enum { PUSH, LOAD, STORE, ADD, MULTIPLY, DECREMENT, LOOP, END };

static const uint8_t program[] = {
    PUSH, 0, STORE, 0, PUSH, 200, STORE, 1,
    LOAD, 0, LOAD, 1, LOAD, 1, MULTIPLY, ADD, STORE, 0,
    DECREMENT, 1, LOOP, 1, 8,
    LOAD, 0, END,
};

static uint32_t interpret(void)
{
    uint32_t stack[8], variables[2], *top = stack;
    const uint8_t *at = program;
    for (;;) {
        switch (*at++) {
        case PUSH:
            *top++ = *at++;
            break;
        case LOAD:
            *top++ = variables[*at++];
            break;
        case STORE:
            variables[*at++] = *--top;
            break;
        case ADD:
            top--;
            top[-1] += top[0];
            break;
        case MULTIPLY:
            top--;
            top[-1] *= top[0];
            break;
        case DECREMENT:
            variables[*at++]--;
            break;
        case LOOP:
            at = variables[at[0]] ? program + at[1] : at + 2;
            break;
        default:
            return top[-1];
        }
    }
}

static uint32_t copy(void)
{
    for (uint32_t n = 0; n < WORDS; n++) {
        to[n] = from[n];
    }
    return to[WORDS - 1];
}

static uint32_t copy_bytes(void)
{
    const uint8_t *source = (const uint8_t *)from;
    uint8_t *target = (uint8_t *)to;
    for (uint32_t n = 0; n < 4 * WORDS; n++) {
        target[n] = source[n] ^ 1;
    }
    return to[1];
}

static uint32_t multiply(void)
{
    uint32_t sum = 0;
    for (uint32_t n = 0; n < WORDS; n++) {
        sum += from[n] * (from[n] + n);
    }
    return sum;
}

static uint32_t divide(void)
{
    uint32_t sum = 0;
    for (uint32_t n = 1; n < WORDS; n++) {
        sum += from[n] / (from[n - 1] >> 12 | 1) + from[n] % n;
    }
    return sum;
}

static uint32_t sort(void)
{
    copy();
    for (uint32_t n = 1; n < WORDS; n++) {
        const uint32_t value = to[n];
        uint32_t place = n;
        while (place && to[place - 1] > value) {
            to[place] = to[place - 1];
            place--;
        }
        to[place] = value;
    }
    return to[0];
}

/* CRC-32, bit by bit. */
static uint32_t crc(void)
{
    const uint8_t *bytes = (const uint8_t *)from;
    uint32_t crc = 0xffffffffu;
    for (uint32_t n = 0; n < 64; n++) {
        crc ^= bytes[n];
        for (uint32_t bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

static uint32_t (*const work[])(void) = { interpret, copy, copy_bytes, multiply, divide, sort, crc };

int main(void)
{
    uint32_t seed = 1;
    for (uint32_t n = 0; n < WORDS; n++) {
        seed = seed * 1664525u + 1013904223u;
        from[n] = seed;
    }
    MTIME_CTRL = MTIME_CYCLES;
    for (uint32_t n = 0; n < sizeof work / sizeof *work; n++) {
        const uint32_t start = MTIME;
        FOUND[2 * n + 1] = work[n]();
        FOUND[2 * n] = MTIME - start;
    }
    FOUND[2 * (sizeof work / sizeof *work)] = DONE;
    for (;;) {
    }
}
