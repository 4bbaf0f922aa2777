//! The PHY: PHYSR0, PHYCR0 and PHYCR1 with their lock, and BMCR and BMSR as accessed by ioLibrary.

use wiznet::Config;

use super::host::Host;
use crate::support::*;

fn late() -> Host {
    Host::new(sim::with!(Config::default(), phy_link_delay: SECOND))
}

fn mdio_read(host: &mut Host, register: u8) -> u16 {
    host.write(0x003F, &[register]);
    host.write(0x0044, &[0x02]);
    assert_eq!(host.get(0x0044), 0);
    host.get16(0x0042)
}

fn mdio_write(host: &mut Host, register: u8, value: u16) {
    host.write(0x003F, &[register]);
    host.put16(0x0040, value);
    host.write(0x0044, &[0x01]);
}

#[test]
fn physr0_follows_link_and_cable() {
    let mut host = late();
    host.now = SECOND - 1;
    assert_eq!(host.get(0x003C), 0x00);
    host.now = SECOND;
    assert_eq!(host.get(0x003C), 0x01, "100 Mbit/s, full duplex");
    assert!(host.chip.link_up(host.now));
    host.chip.set_cable(host.now, false);
    assert_eq!(host.get(0x003C), 0x80, "CABOFF");
    host.chip.set_cable(host.now, true);
    assert_eq!(host.chip.link_up_at(), Some(2 * SECOND));
}

#[test]
fn phycr_needs_the_lock_and_a_reset_of_the_phy() {
    for (mode, status) in [(0, 0x01), (4, 0x21), (5, 0x2D), (6, 0x33), (7, 0x3F)] {
        let mut host = Host::up();
        host.write(0x0046, &[mode]);
        assert_eq!(host.get(0x0046), 0, "locked");
        host.write(0x0072, &[0x53]);
        host.write(0x0046, &[mode]);
        assert_eq!(host.get(0x003C), 0x01, "no effect before the reset");
        host.write(0x0047, &[0x40]);
        assert_eq!(host.get(0x0047), 0x41, "RST is 1 again");
        assert_eq!(host.get(0x003C), status, "mode {mode}");
        host.write(0x0072, &[0x00]);
        host.write(0x0046, &[0]);
        assert_eq!(host.get(0x0046), mode, "locked again");
    }
}

#[test]
fn a_reset_or_power_down_of_the_phy_takes_the_link() {
    let mut host = late();
    host.run(2 * SECOND);
    host.write(0x0072, &[0x53]);
    host.write(0x0047, &[0x40]);
    assert_eq!(host.get(0x003C), 0x00);
    host.run(SECOND);
    assert_eq!(host.get(0x003C), 0x01);
    host.write(0x0047, &[0x61]);
    assert_eq!((host.get(0x0047), host.get(0x003C)), (0x61, 0));
    host.run(9 * SECOND);
    assert!(!host.chip.link_up(host.now));
    host.write(0x0047, &[0x41]);
    host.run(SECOND);
    assert!(host.chip.link_up(host.now));
}

#[test]
fn bmcr_and_bmsr_as_iolibrary_uses_them() {
    let mut host = late();
    host.run(2 * SECOND);
    assert_eq!(mdio_read(&mut host, 0), 0x3100);
    assert_eq!(mdio_read(&mut host, 1), 0x782C);
    // wizphy_reset
    mdio_write(&mut host, 0, 0x3100 | 0x8000);
    assert_eq!(mdio_read(&mut host, 0), 0x3100, "RESET clears itself");
    assert_eq!(mdio_read(&mut host, 1), 0x7808);
    host.run(SECOND);
    // wizphy_setphyconf: 10 Mbit/s half duplex
    mdio_write(&mut host, 0, 0x0000);
    host.run(SECOND);
    assert_eq!((mdio_read(&mut host, 0), host.get(0x003C)), (0x0000, 0x3F));
    mdio_write(&mut host, 0, 0x0800);
    host.run(SECOND);
    assert!(!host.chip.link_up(host.now));
}

#[test]
fn software_reset_leaves_the_link_alone() {
    let mut host = Host::up();
    host.write(0x0000, &[0x80]);
    assert_eq!(host.get(0x003C), 0x01);
}
