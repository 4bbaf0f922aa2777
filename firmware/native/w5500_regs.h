/* W5500 register offsets and bits, named as in the W5500 datasheet 1.1.0, chapters 3 and 4. */
#ifndef W5500_REGS_H
#define W5500_REGS_H

/* Block select bits of the control phase (2.2.2) */
#define BLOCK_COMMON 0u
#define BLOCK_SOCKET(n) (4u * (n) + 1u)
#define BLOCK_TX(n) (4u * (n) + 2u)
#define BLOCK_RX(n) (4u * (n) + 3u)

/* Common registers, 4.1 */
#define MR 0x0000u
#define GAR 0x0001u
#define SUBR 0x0005u
#define SHAR 0x0009u
#define SIPR 0x000fu
#define INTLEVEL 0x0013u
#define IMR 0x0016u
#define SIR 0x0017u
#define SIMR 0x0018u
#define RTR 0x0019u
#define RCR 0x001bu
#define PHYCFGR 0x002eu
#define PHYCFGR_LNK 0x01u
#define VERSIONR 0x0039u
#define VERSIONR_W5500 0x04u

/* Socket registers, 4.2 */
#define Sn_MR 0x0000u
#define Sn_MR_TCP 0x01u
#define Sn_MR_UDP 0x02u
#define Sn_CR 0x0001u
#define Sn_CR_OPEN 0x01u
#define Sn_CR_LISTEN 0x02u
#define Sn_CR_CONNECT 0x04u
#define Sn_CR_DISCON 0x08u
#define Sn_CR_CLOSE 0x10u
#define Sn_CR_SEND 0x20u
#define Sn_CR_RECV 0x40u
#define Sn_IR 0x0002u
#define Sn_IR_CON 0x01u
#define Sn_IR_DISCON 0x02u
#define Sn_IR_RECV 0x04u
#define Sn_IR_TIMEOUT 0x08u
#define Sn_IR_SENDOK 0x10u
#define Sn_IR_ALL 0x1fu
#define Sn_SR 0x0003u
#define SOCK_CLOSED 0x00u
#define SOCK_INIT 0x13u
#define SOCK_LISTEN 0x14u
#define SOCK_ESTABLISHED 0x17u
#define SOCK_CLOSE_WAIT 0x1cu
#define SOCK_UDP 0x22u
#define Sn_PORT 0x0004u
#define Sn_DIPR 0x000cu
#define Sn_DPORT 0x0010u
#define Sn_RXBUF_SIZE 0x001eu
#define Sn_TXBUF_SIZE 0x001fu
#define Sn_TX_FSR 0x0020u
#define Sn_TX_WR 0x0024u
#define Sn_RX_RSR 0x0026u
#define Sn_RX_RD 0x0028u
#define Sn_IMR 0x002cu

#define SOCKETS 8u

#endif
