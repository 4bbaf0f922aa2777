/* A program for the W5500-EVB-Pico2: it connects to port 7 of the PC, and sends numbers of which it awaits the echo. What
   it found is in SRAM for ../rp2350.rs. */
#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(address))
#define REG_CLR(address) REG32((address) + 0x3000u)
#define BIT(n) (1u << (n))
#define RESETS 0x40020000u
#define RESETS_DONE REG32(0x40020008u)
#define RELEASED (BIT(6) | BIT(9) | BIT(18)) /* IO_BANK0, PADS_BANK0, SPI0 */
#define CLK_PERI_CTRL REG32(0x40010048u)
#define IO_CTRL(pin) REG32(0x40028004u + 8u * (pin))
#define PAD(pin) REG32(0x40038004u + 4u * (pin))
#define PAD_OUTPUT (BIT(6) | BIT(4)) /* IE, 4 mA, and no ISO */
#define FUNCTION_SPI 1u
#define FUNCTION_SIO 5u
#define SIO_OUT_SET REG32(0xd0000018u)
#define SIO_OUT_CLR REG32(0xd0000020u)
#define SIO_OE_SET REG32(0xd0000038u)
#define SPI_CR0 REG32(0x40080000u)
#define SPI_CR1 REG32(0x40080004u)
#define SPI_DR REG32(0x40080008u)
#define SPI_SR REG32(0x4008000cu)
#define SPI_CPSR REG32(0x40080010u)
#define MISO 16u
#define CSN 17u
#define SCK 18u
#define MOSI 19u
#define RSTN 20u

/* Blocks and registers of the W5500 */
#define COMMON 0u
#define SOCKET 1u
#define TX 2u
#define RX 3u
#define GAR 0x01u
#define PHYCFGR 0x2eu
#define VERSIONR 0x39u
#define SN_MR 0x00u
#define SN_CR 0x01u
#define SN_SR 0x03u
#define SN_PORT 0x04u
#define SN_DIPR 0x0cu
#define SN_DPORT 0x10u
#define SN_TX_WR 0x24u
#define SN_RX_RSR 0x26u
#define SN_RX_RD 0x28u
#define OPEN 0x01u
#define CONNECT 0x04u
#define SEND 0x20u
#define RECEIVE 0x40u
#define ESTABLISHED 0x17u
#define MESSAGES 100u

#define FOUND ((volatile uint32_t *)0x20001000u) /* version, messages echoed, end */
#define DONE 0x600df00du

static uint32_t shift(uint32_t byte)
{
    SPI_DR = byte;
    while (!(SPI_SR & BIT(2))) {
    }
    return SPI_DR & 0xff;
}

/* Writes `bytes` of `value`, or reads as many, most significant first. */
static uint32_t frame(uint32_t block, uint32_t address, uint32_t write, uint32_t value, uint32_t bytes)
{
    uint32_t read = 0;
    SIO_OUT_CLR = BIT(CSN);
    shift(address >> 8);
    shift(address & 0xff);
    shift(block << 3 | write << 2);
    while (bytes-- > 0) {
        read = read << 8 | shift(value >> (8 * bytes) & 0xff);
    }
    SIO_OUT_SET = BIT(CSN);
    return read;
}

static uint32_t get(uint32_t block, uint32_t address, uint32_t bytes)
{
    return frame(block, address, 0, 0, bytes);
}

static void put(uint32_t block, uint32_t address, uint32_t value, uint32_t bytes)
{
    frame(block, address, 1, value, bytes);
}

static void command(uint32_t what)
{
    put(SOCKET, SN_CR, what, 1);
    while (get(SOCKET, SN_CR, 1)) {
    }
}

static void start_spi(void)
{
    REG_CLR(RESETS) = RELEASED;
    while (~RESETS_DONE & RELEASED) {
    }
    CLK_PERI_CTRL = BIT(11);
    SIO_OUT_SET = BIT(CSN);
    SIO_OE_SET = BIT(CSN) | BIT(RSTN);
    for (uint32_t pin = MISO; pin <= RSTN; pin++) {
        PAD(pin) = PAD_OUTPUT;
        IO_CTRL(pin) = pin == CSN || pin == RSTN ? FUNCTION_SIO : FUNCTION_SPI;
    }
    SPI_CPSR = 2;
    SPI_CR0 = 7;
    SPI_CR1 = 2;
    for (volatile uint32_t i = 0; i < 5000; i++) {
    }
    SIO_OUT_SET = BIT(RSTN);
    for (volatile uint32_t i = 0; i < 5000; i++) {
    }
}

void main(void)
{
    start_spi();
    FOUND[0] = get(COMMON, VERSIONR, 1);
    while (!(get(COMMON, PHYCFGR, 1) & 1)) {
    }
    const uint32_t setup[] = { 0xc0a83201, 0xffffff00, 0x02504200, 0x0007c0a8, 0x32630000 };
    for (uint32_t i = 0; i < 18; i++) { /* gateway, mask, MAC, address 192.168.50.99 */
        put(COMMON, GAR + i, setup[i / 4] >> (24 - 8 * (i % 4)) & 0xff, 1);
    }
    put(SOCKET, SN_MR, 1, 1);
    put(SOCKET, SN_PORT, 50000, 2);
    put(SOCKET, SN_DIPR, 0xc0a83201, 4);
    put(SOCKET, SN_DPORT, 7, 2);
    command(OPEN);
    command(CONNECT);
    while (get(SOCKET, SN_SR, 1) != ESTABLISHED) {
    }
    for (uint32_t message = 1; message <= MESSAGES; message++) {
        const uint32_t to = get(SOCKET, SN_TX_WR, 2);
        put(TX, to, message * 0x01010101u, 4);
        put(SOCKET, SN_TX_WR, (to + 4) & 0xffff, 2);
        command(SEND);
        while (get(SOCKET, SN_RX_RSR, 2) < 4) {
        }
        const uint32_t from = get(SOCKET, SN_RX_RD, 2);
        FOUND[1] += get(RX, from, 4) == message * 0x01010101u;
        put(SOCKET, SN_RX_RD, (from + 4) & 0xffff, 2);
        command(RECEIVE);
    }
    FOUND[2] = DONE;
    for (;;) {
    }
}
