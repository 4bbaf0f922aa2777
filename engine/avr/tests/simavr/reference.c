/* simavr's core, one instruction at a time: reads programs from standard input, writes the states to standard output.
 *
 * argv[1]: the name of the chip. A program: bytes of flash (u32), flash, R0 to R31, SREG, SP (u16), RAMPZ, EIND, program
 * counter in bytes (u32), number of instructions (u32). A state: program counter in bytes (u32), cycles (u32), SREG, RAMPZ, EIND, a zero, SP (u16), R0 to
 * R31. After the last state of a program follows all data memory behind the I/O registers. Numbers are little endian. */
#include <simavr/sim_avr.h>
#include <simavr/sim_core.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take(void *to, size_t bytes) {
    if (fread(to, 1, bytes, stdin) != bytes) exit(0);
}

int main(int argc, char **argv) {
    avr_t *avr = argc == 2 ? avr_make_mcu_by_name(argv[1]) : NULL;
    if (!avr) return 1;
    avr_init(avr);
    avr->frequency = 16000000;
    for (;;) {
        uint32_t bytes, first, count;
        uint16_t sp;
        uint8_t sreg;
        take(&bytes, 4);
        memset(avr->flash, 0, avr->flashend + 1);
        take(avr->flash, bytes);
        memset(avr->data, 0, avr->ramend + 1);
        take(avr->data, 32);
        take(&sreg, 1);
        take(&sp, 2);
        for (int bit = 0; bit < 8; bit++) avr->sreg[bit] = sreg >> bit & 1;
        avr->data[R_SREG] = sreg;
        avr->data[R_SPL] = sp;
        avr->data[R_SPH] = sp >> 8;
        uint8_t banks[2];
        take(banks, 2);
        if (avr->rampz) avr->data[avr->rampz] = banks[0];
        if (avr->eind) avr->data[avr->eind] = banks[1];
        take(&first, 4);
        take(&count, 4);
        avr->pc = first;
        avr->state = cpu_Running;
        avr_cycle_count_t start = avr->cycle;
        for (uint32_t n = 0; n < count; n++) {
            struct __attribute__((packed)) {
                uint32_t pc, cycles;
                uint8_t sreg, rampz, eind, zero;
                uint16_t sp;
                uint8_t r[32];
            } state = {0};
            avr->interrupt_state = 0;
            avr->pc = avr_run_one(avr);
            state.pc = avr->pc;
            state.cycles = avr->cycle - start;
            for (int bit = 0; bit < 8; bit++) state.sreg |= (avr->sreg[bit] & 1) << bit;
            state.rampz = avr->rampz ? avr->data[avr->rampz] : 0;
            state.eind = avr->eind ? avr->data[avr->eind] : 0;
            state.sp = avr->data[R_SPL] | avr->data[R_SPH] << 8;
            memcpy(state.r, avr->data, 32);
            fwrite(&state, sizeof state, 1, stdout);
        }
        size_t io = avr->ioend + 1;
        fwrite(avr->data + io, 1, avr->ramend + 1 - io, stdout);
        fflush(stdout);
    }
}
