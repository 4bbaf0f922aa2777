//! Names of the W5100S's registers and their values, for traces.

use super::phy;
use super::registers::*;
use super::socketless::*;
use crate::map::{common, socket};
use crate::names::{self, Bits, Register, register, register_at};
use crate::socket::{MR_MULTI, MR_ND_MC_MMB};

/// The common registers beside those of all chips.
const COMMON_REGISTERS: &[Register] = &[
    register("INTPTMR", INTPTMR, 2),
    register("RTR", RTR, 2),
    register("RCR", RCR, 1),
    register("RMSR", RMSR, 1),
    register("TMSR", TMSR, 1),
    register("IR2", IR2, 1),
    register("IMR2", IMR2, 1),
    register("PTIMER", PTIMER, 1),
    register("PMAGIC", PMAGIC, 1),
    register("UIPR", UIPR, 4),
    register("UPORTR", UPORTR, 2),
    register("MR2", MR2, 1),
    register("PHAR", PHAR, 6),
    register("PSIDR", PSIDR, 2),
    register("PMRUR", PMRUR, 2),
    register("PHYSR0", PHYSR0, 1),
    register("PHYSR1", 0x3D, 1),
    register("PHYAR", 0x3E, 1),
    register("PHYRAR", 0x3F, 1),
    register("PHYDIR", 0x40, 2),
    register("PHYDOR", 0x42, 2),
    register("PHYACR", 0x44, 1),
    register("PHYDIVR", 0x45, 1),
    register("PHYCR0", 0x46, 1),
    register("PHYCR1", PHYCR1, 1),
    register("SLCR", SLCR, 1),
    register("SLRTR", SLRTR, 2),
    register("SLRCR", SLRCR, 1),
    register("SLPIPR", SLPIPR, 4),
    register("SLPHAR", SLPHAR, 6),
    register("PINGSEQR", PINGSEQR, 2),
    register("PINGIDR", PINGIDR, 2),
    register("SLIMR", SLIMR, 1),
    register("SLIR", SLIR, 1),
    register("CHPLCKR", CHPLCKR, 1),
    register("NETLCKR", NETLCKR, 1),
    register("PHYLCKR", PHYLCKR, 1),
    register("VERR", VERR, 1),
    register("TCNTR", TCNTR, 2),
    register("TCNTCLR", TCNTCLR, 1),
];

/// The registers of a socket beside those of all chips.
const SOCKET_REGISTERS: &[Register] = &[
    register("PORTR", socket::PORT, 2),
    register("DPORTR", socket::DPORT, 2),
    register("PROTOR", socket::PROTO, 1),
    register("RXBUF_SIZE", socket::RXBUF_SIZE, 1),
    register("TXBUF_SIZE", socket::TXBUF_SIZE, 1),
    register("FRAGR", socket::FRAG, 2),
    register("MR2", SN_MR2, 1),
    register("KPALVTR", SN_KPALVTR, 1),
    register("RTR", SN_RTR, 2),
    register("RCR", SN_RCR, 1),
];

/// IR and IMR.
const INTERRUPTS: &Bits =
    &[(0x80, "CONFLICT"), (0x40, "UNREACH"), (0x20, "PPPoE"), (0x08, "S3"), (0x04, "S2"), (0x02, "S1"), (0x01, "S0")];

const MODE: &Bits = &[(0x80, "RST"), (0x10, "PB"), (0x08, "PPPoE"), (0x02, "AI"), (0x01, "IND")];

/// SLCR, SLIMR and SLIR.
const SOCKETLESS: &Bits = &[(TIMEOUT, "TIMEOUT"), (ARP, "ARP"), (PING, "PING")];

/// Sn_MR: `UDP MULTI`.
fn socket_mode(value: u8) -> String {
    let flags: &Bits = match value & 0x0F {
        1 => &[(MR_ND_MC_MMB, "ND")],
        2 => &[(MR_MULTI, "MULTI"), (MR_ND_MC_MMB, "MC")],
        4 => &[(SN_MR_MF, "MF")],
        _ => &[],
    };
    let protocol = names::socket_mode(value & 0x0F);
    if value & 0xF0 == 0 { protocol } else { format!("{protocol} {}", names::bits(flags, value & 0xF0)) }
}

/// Returns `PHYSR0`, `S0_TX_WR+1`, `TX buffer` for any socket, or `reserved 0x0031`.
pub(crate) fn register_name(address: u16) -> String {
    match place(address) {
        Place::Common(offset) => register_at(&[COMMON_REGISTERS, names::COMMON_REGISTERS], "", offset),
        Place::Socket(n, offset) => {
            register_at(&[SOCKET_REGISTERS, names::SOCKET_REGISTERS], &format!("S{n}_"), offset)
        }
        Place::Tx(_) => "TX buffer".into(),
        Place::Rx(_) => "RX buffer".into(),
    }
}

/// Describes the data at an address, as far as possible.
pub(crate) fn meaning(address: u16, data: &[u8]) -> String {
    let &[value] = data else {
        return match place(address) {
            Place::Tx(_) | Place::Rx(_) => names::text(data),
            _ => names::number(data),
        };
    };
    match place(address) {
        Place::Tx(_) | Place::Rx(_) => names::text(data),
        Place::Socket(_, socket::CR) => match value {
            CR_IGMP_JOIN => "IGMP_JOIN".into(),
            CR_IGMP_LEAVE => "IGMP_LEAVE".into(),
            _ => names::command(value),
        },
        Place::Socket(_, socket::MR) => socket_mode(value),
        Place::Socket(_, socket::SR) => names::state(value),
        Place::Socket(_, socket::IR | socket::IMR) => names::bits(names::SOCKET_INTERRUPTS, value),
        Place::Common(common::MR) => names::bits(MODE, value),
        Place::Common(IR | IMR) => names::bits(INTERRUPTS, value),
        Place::Common(PHYSR0) => phy::meaning(value),
        Place::Common(SLCR | SLIMR | SLIR) => names::bits(SOCKETLESS, value),
        _ => names::number(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(register_name(0x003C), "PHYSR0");
        assert_eq!(register_name(0x0424), "S0_TX_WR");
        assert_eq!(register_name(0x0725), "S3_TX_WR+1");
        assert_eq!(register_name(0x5000), "TX buffer");
        assert_eq!(register_name(0x6001), "RX buffer");
        assert_eq!(register_name(0x0031), "reserved 0x0031");
    }

    #[test]
    fn meanings() {
        assert_eq!(meaning(0x0401, &[0x20]), "SEND");
        assert_eq!(meaning(0x0401, &[0x23]), "IGMP_JOIN");
        assert_eq!(meaning(0x0400, &[0x21]), "TCP ND");
        assert_eq!(meaning(0x0400, &[0x44]), "MACRAW MF");
        assert_eq!(meaning(0x0400, &[0x82]), "UDP MULTI");
        assert_eq!(meaning(0x0400, &[0x00]), "closed");
        assert_eq!(meaning(0x0503, &[0x17]), "SOCK_ESTABLISHED");
        assert_eq!(meaning(0x0502, &[0x05]), "RECV CON");
        assert_eq!(meaning(0x0015, &[0x81]), "CONFLICT S0");
        assert_eq!(meaning(0x0000, &[0x13]), "PB AI IND");
        assert_eq!(meaning(0x003C, &[0x01]), "link, 100 Mbit/s full duplex");
        assert_eq!(meaning(0x003C, &[0x37]), "link, 10 Mbit/s half duplex");
        assert_eq!(meaning(0x003C, &[0x80]), "no cable");
        assert_eq!(meaning(0x003C, &[0x00]), "no link");
        assert_eq!(meaning(0x005F, &[0x06]), "TIMEOUT ARP");
        assert_eq!(meaning(0x4000, b"1999"), "'1999'");
        assert_eq!(meaning(0x0424, &[1, 2]), "258");
        assert_eq!(meaning(0x000F, &[192, 168, 50, 100]), "");
    }

    #[test]
    fn registers_do_not_overlap() {
        for tables in [[COMMON_REGISTERS, names::COMMON_REGISTERS], [SOCKET_REGISTERS, names::SOCKET_REGISTERS]] {
            let mut table: Vec<_> = tables.into_iter().flatten().collect();
            table.sort_by_key(|register| register.address);
            for pair in table.windows(2) {
                assert!(pair[0].address + pair[0].width <= pair[1].address, "{}", pair[1].name);
            }
        }
    }
}
