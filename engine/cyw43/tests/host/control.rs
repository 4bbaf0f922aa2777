use sim::Device;

use crate::driver::{Host, MAC};

#[test]
fn variables_are_stored_and_have_the_requested_length() {
    let mut host = Host::running();
    assert_eq!(host.get("cur_etheraddr", 6), MAC);
    host.set("cur_etheraddr", &[2, 0, 0, 0, 0, 9]);
    assert_eq!(host.get("cur_etheraddr", 6), [2, 0, 0, 0, 0, 9]);
    for name in ["bus:txglom", "apsta", "ampdu_ba_wsize", "mfp", "bcn_li_dtim", "bcn_li_bcn", "assoc_listen"] {
        host.set(name, &[7, 0, 0, 0]);
        assert_eq!(host.get(name, 4), [7, 0, 0, 0], "{name}");
    }
    host.set("pm2_sleep_ret", &5000u32.to_le_bytes());
    assert_eq!(host.get("pm2_sleep_ret", 4), 2000u32.to_le_bytes(), "at most");
    let groups = [&1u32.to_le_bytes()[..], &[1, 0, 0x5e, 0, 0, 251], &[0; 54]].concat();
    host.set("mcast_list", &groups);
    assert_eq!(host.get("mcast_list", 64), groups);
    assert_eq!(host.try_set("mcast_list", &[255, 255, 255, 255]), Err(-2));
    assert_eq!(host.chip.take_unmodelled(), None);
}

#[test]
fn the_chips_own_gpios_carry_led_and_vbus() {
    let mut host = Host::running();
    assert_eq!(host.get("ccgpioin", 4), [4, 0, 0, 0], "VBUS is there");
    host.set("gpioout", &[1, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!((host.get("ccgpioin", 4)[0], host.chip.gpios().level), (5, 1));
    host.set("gpioout", &[1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((host.chip.gpios().driven, host.chip.gpios().level), (1, 0));
}

#[test]
fn power_save_modes_are_three() {
    let mut host = Host::running();
    host.ioctl(true, 86, &2u32.to_le_bytes()).unwrap();
    assert_eq!(host.ioctl(false, 85, &[0; 4]).unwrap(), [2, 0, 0, 0]);
    assert_eq!(host.ioctl(true, 86, &3u32.to_le_bytes()), Err(-2));
}

#[test]
fn no_network_is_joined_at_first() {
    let mut host = Host::running();
    assert_eq!(host.ioctl(false, 23, &[0; 6]), Err(-17));
    assert_eq!(host.ioctl(false, 127, &[0; 4]).unwrap(), [0; 4]);
    assert_eq!(host.try_set("bss", &[1, 0, 0, 0, 0, 0, 0, 0]), Ok(vec![0; 12]), "an access point that is down");
}

#[test]
fn unmodelled_requests_are_named() {
    let mut host = Host::running();
    host.set("nonsense", &[1, 2, 3, 4]);
    assert_eq!(host.chip.take_unmodelled().as_deref(), Some("CYW43439 variable \"nonsense\""));
    host.ioctl(true, 999, &[]).unwrap();
    assert_eq!(host.chip.take_unmodelled().as_deref(), Some("CYW43439 ioctl 999"));
}

#[test]
fn credit_comes_with_every_frame_and_alone_before_the_host_stalls() {
    let mut host = Host::running();
    let before = host.credit;
    host.get("ver", 8);
    assert_eq!(host.credit, before.wrapping_add(1));
    // Frames are dropped at once, since no network is joined.
    let mut told = 0;
    for _ in 0..40 {
        assert_ne!(host.credit, host_sequence(&host), "a stall");
        host.send(2, 14, &[&[0x20, 0, 0, 0][..], &[0; 60]].concat());
        host.wait(1);
        while let Some((channel, body)) = host.receive() {
            assert_eq!((channel, body.len()), (2, 0));
            told += 1;
        }
    }
    assert!((5..=20).contains(&told), "{told}");
}

fn host_sequence(host: &Host) -> u8 {
    host.sequence()
}
