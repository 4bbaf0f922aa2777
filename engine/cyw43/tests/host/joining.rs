use sim::{Bss, Device, Join, PS_PER_MS, RadioReport, RadioRequest, Security};

use crate::driver::{Host, MAC};

const BSSID: [u8; 6] = [2, 1, 2, 3, 4, 5];

fn bss(security: Security) -> Bss {
    Bss { ssid: b"net".to_vec(), bssid: BSSID, channel: 9, rssi_dbm: -61, security, beacon_tu: 100, dtim: 2 }
}

fn set_ssid(host: &mut Host) {
    let mut name = 3u32.to_le_bytes().to_vec();
    name.extend(b"net");
    name.resize(36, 0);
    host.ioctl(true, 26, &name).unwrap();
}

fn secured(host: &mut Host, passphrase: &[u8]) -> Result<Vec<u8>, i32> {
    host.ioctl(true, 134, &4u32.to_le_bytes()).unwrap();
    host.ioctl(true, 165, &0x80u32.to_le_bytes()).unwrap();
    let mut key = [(passphrase.len() as u16).to_le_bytes(), 1u16.to_le_bytes()].concat();
    key.extend(passphrase);
    key.resize(68, 0);
    host.ioctl(true, 268, &key)
}

fn joined(pm: u32) -> Host {
    let mut host = Host::running();
    host.ioctl(true, 86, &pm.to_le_bytes()).unwrap();
    set_ssid(&mut host);
    host.report(RadioReport::Authenticated(bss(Security::Open)));
    host.report(RadioReport::Associated(bss(Security::Open)));
    host.wait(30 * PS_PER_MS);
    host.events();
    host.requests();
    host
}

#[test]
fn a_scan_reports_each_network_and_its_end() {
    let mut host = Host::running();
    let mut scan = [1u32.to_le_bytes(), [1, 0, 0x34, 0x12]].concat();
    scan.extend([0; 64]);
    host.set("escan", &scan);
    assert_eq!(host.requests().last(), Some(&RadioRequest::Scan { ssid: Vec::new() }));
    host.report(RadioReport::Found(bss(Security::Wpa2)));
    host.report(RadioReport::ScanDone);
    let events = host.raw_events();
    assert_eq!(events.iter().map(|(event, _)| *event).collect::<Vec<_>>(), [(69, 0, 8, 0), (69, 0, 0, 0)]);
    let data = &events[0].1;
    let (info, length) = (&data[12..], u32::from_le_bytes(data[16..20].try_into().unwrap()) as usize);
    assert_eq!((info.len(), &info[8..14], info[18], &info[19..22]), (length, &BSSID[..], 3, &b"net"[..]));
    assert_eq!((info[72], i16::from_le_bytes([info[78], info[79]]), info[16] & 0x10), (9, -61, 0x10));
    let ies = usize::from(u16::from_le_bytes([info[116], info[117]]));
    assert_eq!(ies + u32::from_le_bytes(info[120..124].try_into().unwrap()) as usize, length);
    let mut rest = &info[ies..];
    let mut kinds = Vec::new();
    while let [kind, size, tail @ ..] = rest {
        kinds.push(*kind);
        rest = &tail[usize::from(*size)..];
    }
    assert!(kinds.contains(&48), "a robust secure network: {kinds:?}");
}

#[test]
fn wpa3_with_wpa2_joins_by_wpa2_and_wpa3_alone_is_unmodelled() {
    let mut host = Host::running();
    host.ioctl(true, 134, &4u32.to_le_bytes()).unwrap();
    host.ioctl(true, 165, &0x4_0000u32.to_le_bytes()).unwrap();
    let mut name = 3u32.to_le_bytes().to_vec();
    name.extend(b"net\0");
    assert_eq!(host.ioctl(true, 26, &name), Err(-2));
    assert_eq!(host.chip.take_unmodelled().as_deref(), Some("CYW43439 security with WSEC 0x4 and WPA_AUTH 0x40000"));
    secured(&mut host, b"long enough").unwrap();
    host.ioctl(true, 22, &3u32.to_le_bytes()).unwrap();
    host.set("sae_password", &[&11u16.to_le_bytes()[..], b"long enough", &[0; 117]].concat());
    host.ioctl(true, 165, &0x4_0000u32.to_le_bytes()).unwrap();
    set_ssid(&mut host);
    let Some(RadioRequest::Join(join)) = host.requests().pop() else { panic!("it does not join") };
    assert_eq!((join.security, &join.passphrase[..]), (Security::Wpa2, &b"long enough"[..]));
    assert_eq!(host.chip.take_unmodelled(), None);
}

#[test]
fn a_join_of_a_secured_network_ends_with_its_keys() {
    let mut host = Host::running();
    assert_eq!(secured(&mut host, b"short"), Err(-2));
    secured(&mut host, b"long enough").unwrap();
    set_ssid(&mut host);
    let (ssid, passphrase) = (b"net".to_vec(), b"long enough".to_vec());
    let wanted = Join { ssid, bssid: None, security: Security::Wpa2, passphrase };
    assert_eq!(host.requests().last(), Some(&RadioRequest::Join(wanted)));
    host.report(RadioReport::Authenticated(bss(Security::Wpa2)));
    host.report(RadioReport::Associated(bss(Security::Wpa2)));
    assert_eq!(host.events(), [(87, 0, 0, 0), (3, 0, 0, 0), (88, 0, 0, 0), (7, 0, 0, 0), (16, 1, 0, 0)]);
    assert!(!host.chip.link_up());
    host.report(RadioReport::Keyed);
    host.wait(30 * PS_PER_MS);
    assert_eq!(host.events(), [(46, 0, 6, 0), (1, 0, 0, 0), (0, 0, 0, 0)]);
    assert!(host.chip.link_up());
    assert_eq!(host.ioctl(false, 23, &[0; 6]).unwrap(), BSSID);
    assert_eq!(host.ioctl(false, 127, &[0; 4]).unwrap(), (-61i32).to_le_bytes());
    assert_eq!(host.ioctl(false, 25, &[0; 36]).unwrap()[..7], [3, 0, 0, 0, b'n', b'e', b't']);
    host.ioctl(true, 52, &[]).unwrap();
    assert_eq!(host.requests(), [RadioRequest::Leave]);
    assert!(!host.chip.link_up());
}

#[test]
fn a_refused_passphrase_is_reported_and_tried_three_times() {
    let mut host = Host::running();
    secured(&mut host, b"not that one").unwrap();
    set_ssid(&mut host);
    for again in [true, true, false] {
        host.requests();
        host.report(RadioReport::Associated(bss(Security::Wpa2)));
        host.events();
        host.report(RadioReport::ThrownOut(15));
        assert_eq!(host.events(), [(46, 0, 8, 14), (6, 0, 0, 15), (16, 0, 0, 2)]);
        assert_eq!(host.requests().iter().any(|request| matches!(request, RadioRequest::Join(_))), again);
    }
}

#[test]
fn a_network_that_is_absent_or_has_other_security() {
    let mut host = Host::running();
    set_ssid(&mut host);
    host.report(RadioReport::NoNetwork);
    assert_eq!(host.events(), [(0, 0, 3, 0)]);
    set_ssid(&mut host);
    host.report(RadioReport::OtherSecurity(bss(Security::Wpa2)));
    assert_eq!(host.events(), [(23, 0, 0, 1), (0, 0, 3, 0)]);
}

#[test]
fn lost_beacons_take_the_link_down_and_the_firmware_looks_again() {
    let mut host = joined(0);
    host.report(RadioReport::BeaconsLost);
    assert_eq!(host.events(), [(16, 0, 0, 1)]);
    assert!(matches!(host.requests()[..], [RadioRequest::Join(_)]));
    host.report(RadioReport::NoNetwork);
    assert_eq!(host.events(), [], "by itself it says nothing");
    assert!(host.requests().is_empty());
    host.wait(1100 * PS_PER_MS);
    assert!(matches!(host.requests()[..], [RadioRequest::Join(_)]));
}

#[test]
fn frames_pass_both_ways_and_the_filter_keeps_others_out() {
    let mut host = joined(0);
    let frame = [&[9u8; 6][..], &MAC, &[8, 0], &[0x5a; 46]].concat();
    host.send(2, 14, &[&[0x20, 0, 0, 0][..], &frame].concat());
    assert_eq!(host.requests(), [RadioRequest::Frame(frame)]);
    for (to, wanted) in [(MAC, true), ([0xff; 6], true), ([1, 0, 0x5e, 0, 0, 1], false), ([2; 6], false)] {
        let frame = [&to[..], &[9; 6], &[8, 0], &[0x66; 50]].concat();
        host.report(RadioReport::Frame(frame.clone()));
        let got = host.receive().map(|(channel, body)| (channel, body[4 + usize::from(body[3]) * 4..].to_vec()));
        assert_eq!(got, wanted.then_some((2, frame)), "{to:?}");
    }
}

#[test]
fn power_save_follows_its_variables() {
    let mut host = joined(2);
    host.set("pm2_sleep_ret", &50u32.to_le_bytes());
    host.set("bcn_li_dtim", &3u32.to_le_bytes());
    host.report(RadioReport::Frame([&MAC[..], &[9; 8], &[0; 46]].concat()));
    host.receive();
    host.wait(60 * PS_PER_MS);
    assert_eq!(host.requests(), [RadioRequest::Doze { beacons: 6 }], "three times the network's DTIM of 2");
    host.report(RadioReport::Kept);
    assert_eq!(host.requests(), [RadioRequest::Awake]);
    host.ioctl(true, 86, &1u32.to_le_bytes()).unwrap();
    assert_eq!(host.requests(), [RadioRequest::Doze { beacons: 6 }]);
    host.report(RadioReport::Kept);
    assert_eq!(host.requests(), [RadioRequest::Poll]);
}
