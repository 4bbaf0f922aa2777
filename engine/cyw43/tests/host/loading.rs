use sim::PS_PER_MS;

use crate::driver::{Host, clm, firmware, nvram, pieces, size_word};

fn clock(host: &mut Host) -> u8 {
    host.read(1, 0x1_000e, 1)[0]
}

fn refused(firmware: &[u8], nvram: &[u8], size: u32) -> String {
    let mut host = Host::switched();
    host.load(firmware, nvram, size);
    host.wait(1000 * PS_PER_MS);
    assert_eq!(clock(&mut host) & 0x80, 0, "no HT clock");
    assert_eq!(host.read_u32(0, 8) & 0x20, 0, "F2 takes nothing");
    host.chip.refused().expect("a reason").into()
}

#[test]
fn a_whole_download_runs() {
    let mut host = Host::switched();
    host.load(&firmware(), &nvram(), size_word(nvram().len()));
    assert_eq!(clock(&mut host) & 0x80, 0x80);
    assert_eq!(host.read_u32(0, 8), 0x20, "F2 is ready");
    assert!(host.get("ver", 32).starts_with(b"test-firmware Version: 1.2.3"));
}

#[test]
fn a_truncated_download_does_not_run() {
    let (firmware, nvram) = (firmware(), nvram());
    let size = size_word(nvram.len());
    let mut flipped = firmware.clone();
    flipped[1234] ^= 1;
    assert!(refused(&flipped, &nvram, size).contains("CRC"));
    assert!(refused(&firmware[..4096], &nvram, size).contains("no version line"));
    assert!(refused(&firmware, &nvram, size ^ 1).contains("size word"));
    assert!(refused(&firmware, &nvram, 0).contains("size word"));
    assert!(refused(&firmware, &[0; 16], size_word(16)).contains("NAME=VALUE"));
}

#[test]
fn a_gap_in_a_download_is_found() {
    let mut host = Host::switched();
    host.load(&[], &nvram(), size_word(nvram().len()));
    assert!(host.chip.refused().is_some());
    let firmware = firmware();
    host.write_backplane(0x1810_3800, &[1]);
    host.write_backplane(64, &firmware[64..]);
    host.write_backplane(0x1810_3800, &[0]);
    assert!(host.chip.refused().unwrap().contains("no version line"), "{:?}", host.chip.refused());
    host.write_backplane(0x1810_3800, &[1]);
    host.write_backplane(0, &firmware);
    host.write_backplane(0x1810_3800, &[0]);
    assert_eq!(host.chip.refused(), None);
}

#[test]
fn regulatory_data_is_loaded_in_pieces_and_checked() {
    let mut host = Host::running();
    let country = b"XX\0\0\xff\xff\xff\xffXX\0\0";
    assert_eq!(host.try_set("country", country), Err(-2), "none is loaded");
    for size in [1024, 24] {
        for piece in pieces(&clm(), size) {
            host.set("clmload", &piece);
        }
        assert_eq!(host.get("clmload_status", 4), [0; 4]);
    }
    assert!(host.get("clmver", 64).starts_with(b"API: 12.2 Data: Test.Board"));
    host.set("country", country);
    assert_eq!(host.get("country", 12), country);
    let mut bad = clm();
    *bad.last_mut().unwrap() ^= 1;
    for piece in pieces(&bad, 40) {
        host.set("clmload", &piece);
    }
    assert_eq!(host.get("clmload_status", 4), [1, 0, 0, 0]);
    assert_eq!(host.try_set("clmload", &[0; 5]), Err(-2));
}
