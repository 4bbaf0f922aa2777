use cyw43::{Config, Cyw43439};
use sim::PS_PER_MS;

use crate::driver::{Host, command};

#[test]
fn the_test_register_answers_before_and_after_the_switch_to_32_bits() {
    let mut host = Host::new();
    assert_eq!(host.transfer(&[command(false, 0, 0x14, 4)], 1), [0xfeed_bead]);
    let mut host = Host::switched();
    assert_eq!(host.read_u32(0, 0x14), 0xfeed_bead);
    assert_eq!(host.read(0, 0, 4), [0xb3, 0x04, 0x02, 0x00]);
    host.write(0, 0x18, &[1, 2, 3, 4]);
    assert_eq!((host.read(0, 0x18, 2), host.read(0, 0x1a, 1)), (vec![1, 2], vec![3]));
    host.write(0, 0x14, &[0; 4]);
    assert_eq!(host.read_u32(0, 0x14), 0xfeed_bead, "read only");
}

#[test]
fn nothing_answers_without_power_or_before_its_time() {
    let mut host = Host::new();
    host.now = 50 * PS_PER_MS - 1;
    assert_eq!(host.transfer(&[command(false, 0, 0x14, 4)], 1), [0]);
    host.now = 50 * PS_PER_MS;
    assert_eq!(host.transfer(&[command(false, 0, 0x14, 4)], 1), [0xfeed_bead]);
    host.chip.set_power(host.now, false);
    assert_eq!(host.chip.data_wire(), None);
    assert_eq!(Cyw43439::new(Config::default()).data_wire(), None);
}

#[test]
fn a_transfer_that_ends_early_writes_nothing_and_is_an_error() {
    let mut host = Host::switched();
    host.write(0, 4, &[0xff, 0]);
    host.transfer(&[command(true, 0, 0x18, 8), 0xffff_ffff], 0);
    assert_eq!(host.read_u32(0, 0x18), 0);
    assert_eq!(host.read(0, 4, 1), [0x08], "COMMAND_ERROR");
    assert_eq!(host.chip.data_wire(), Some(true), "it interrupts");
    host.write(0, 4, &[0x08]);
    assert_eq!((host.read(0, 4, 1), host.chip.data_wire()), (vec![0], Some(false)), "ones clear the bits");
}

#[test]
fn reading_without_a_frame_is_an_underflow() {
    let mut host = Host::switched();
    assert_eq!(host.has_packet(), None);
    assert_eq!(host.read(2, 0, 8), [0; 8]);
    assert_eq!(host.read_u32(0, 8) & 0x7, 0x3);
    assert_eq!(host.read(0, 4, 2), [0x03, 0]);
    host.write(2, 0, &[1; 16]);
    assert_eq!(host.read(0, 4, 2), [0x07, 0], "and sending one before the firmware runs an overflow");
}

#[test]
fn a_status_word_follows_if_enabled() {
    let mut host = Host::switched();
    host.write(0, 2, &[1]);
    assert_eq!(host.transfer(&[command(false, 0, 0x14, 4)], 2), [0xfeed_bead, host_status()]);
    assert_eq!(host.transfer(&[command(true, 0, 0x18, 4), 5], 1), [host_status()]);
}

fn host_status() -> u32 {
    0
}

#[test]
fn clocks_start_some_time_after_a_request() {
    let mut host = Host::switched();
    host.write(1, 0x1_000e, &[0x08]);
    assert_eq!(host.read(1, 0x1_000e, 1), [0x08]);
    host.wait(PS_PER_MS);
    assert_eq!(host.read(1, 0x1_000e, 1), [0x48], "ALP");
    host.write(1, 0x1_000e, &[0x10]);
    host.wait(PS_PER_MS);
    assert_eq!(host.read(1, 0x1_000e, 1), [0x50], "no HT without a firmware");
    host.write(1, 0x1_001f, &[1]);
    assert_eq!(host.read(1, 0x1_001f, 1), [3], "kept on, and on");
}

#[test]
fn the_window_shows_the_backplane() {
    let mut host = Host::switched();
    assert_eq!(host.read_backplane(0x1800_0000) & 0xffff, 43439);
    assert_eq!(host.read_backplane(0x1810_3800) & 1, 1, "the processor starts in reset");
    assert_eq!(host.read_backplane(0x1810_4800) & 1, 1, "and so does RAM");
    host.write_backplane(0x100, &[1, 2, 3, 4]);
    assert_eq!(host.read_backplane(0x100), 0, "which then answers nothing");
    host.write_backplane(0x1810_4408, &[1]);
    host.write_backplane(0x1810_4800, &[0]);
    host.write_backplane(0x100, &[1, 2, 3, 4]);
    host.write_backplane(0x7_fffc, &[9; 4]);
    assert_eq!((host.read_backplane(0x100), host.read_backplane(0x7_fffc)), (0x0403_0201, 0x0909_0909));
}

#[test]
fn unmodelled_requests_are_named() {
    use sim::Device;
    let mut host = Host::switched();
    host.read_backplane(0x1800_0abc);
    // The underflow is reported as soon as any transfer follows.
    host.wait(1);
    assert_eq!(host.chip.take_unmodelled().as_deref(), Some("CYW43439 backplane read 0x18000abc"));
}

#[test]
fn bluetooth_is_absent() {
    let mut host = Host::switched();
    host.write_backplane(0x1900_0000, &[7; 64]);
    host.write_backplane(0x1800_0d6c, &[1, 0, 0, 0]);
    assert_eq!(host.read_backplane(0x1800_0d6c), 1);
    assert_eq!(host.read_backplane(0x1800_0c7c), 0, "never ready");
}
