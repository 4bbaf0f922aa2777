//! Block requests over Bulk-Only Transport, and their failures.

use crate::fake;

use fake::{DISK_IN, DISK_OUT, Device, MS, complete, pattern, run_to, run_until, with_drive};
use usb_host::{BotError, Event, HostConfig, StorageError, TransferError, UsbHost};

const MIB: usize = 1 << 20;

#[test]
fn a_drive_is_identified() {
    let (mut host, device) = with_drive(2008);
    let drive = host.state().storage.unwrap();
    assert_eq!((drive.blocks, drive.block_size, drive.write_protected), (2008, 512, false));
    assert_eq!((drive.inquiry.vendor.as_str(), drive.inquiry.product.as_str()), ("Fake", "Mass Storage"));
    assert!(drive.inquiry.removable);
    let commands: Vec<u8> = device.commands.iter().map(|c| c[0]).collect();
    assert_eq!(commands, [0x12, 0x00, 0x25, 0x1a]);
    let ready = Event::StorageReady { lun: 0, blocks: 2008, block_size: 512, write_protected: false };
    assert!(host.take_events().iter().any(|e| e.event == ready));
}

#[test]
fn a_megabyte_is_written_and_read_back() {
    let (mut host, mut device) = with_drive(4096);
    let data = pattern(MIB, 1);
    let start = device.now;
    let id = host.request_write(0, 1000, data.clone()).unwrap();
    assert_eq!(complete(&mut host, &mut device, id, 2000 * MS), Ok(Vec::new()));
    let write_ms = (device.now - start) / MS;
    assert_eq!(device.blocks[1000 * 512..][..MIB], data);
    let start = device.now;
    let id = host.request_read(0, 1000, 2048).unwrap();
    assert_eq!(complete(&mut host, &mut device, id, 2000 * MS).unwrap(), data);
    let read_ms = (device.now - start) / MS;
    // 16384 packets at 19 per frame take 862 ms; commands and statuses take little more.
    assert!((862..900).contains(&write_ms), "{write_ms} ms");
    assert!((862..900).contains(&read_ms), "{read_ms} ms");
    assert_eq!(
        device.writes.iter().map(|w| w.0).collect::<Vec<_>>(),
        (0..16).map(|i| 1000 + i * 128).collect::<Vec<_>>()
    );
    assert_eq!(host.take_completion(id), None);
}

#[test]
fn slow_flash_is_waited_for() {
    let (mut host, mut device) = with_drive(64);
    device.faults.write_naks = 100;
    let data = pattern(32 * 512, 2);
    let id = host.request_write(0, 0, data.clone()).unwrap();
    complete(&mut host, &mut device, id, 1000 * MS).unwrap();
    assert_eq!(device.blocks[..data.len()], data);
}

/// Runs a write and a read of 40 blocks with faults and expects both to succeed.
fn survives(faults: impl FnOnce(&mut Device)) -> (UsbHost, Device) {
    let (mut host, mut device) = with_drive(128);
    let data = pattern(40 * 512, 3);
    faults(&mut device);
    let write = host.request_write(0, 7, data.clone()).unwrap();
    let read = host.request_read(0, 7, 40).unwrap();
    assert_eq!(complete(&mut host, &mut device, write, 100_000 * MS), Ok(Vec::new()));
    assert_eq!(complete(&mut host, &mut device, read, 100_000 * MS).as_deref(), Ok(&data[..]));
    assert_eq!(device.blocks[7 * 512..][..data.len()], data);
    (host, device)
}

fn resets(device: &Device) -> usize {
    device.setups.iter().filter(|s| s.2[..2] == [0x21, 0xff]).count()
}

fn cleared(device: &Device, endpoint: u8) -> usize {
    device.setups.iter().filter(|s| s.2[..2] == [0x02, 1] && s.2[4] == endpoint).count()
}

#[test]
fn naks_timeouts_and_repeated_packets_are_retried() {
    let (_, device) = survives(|d| (d.faults.nak_every, d.faults.timeouts, d.faults.lost_acks) = (2, 2, 30));
    assert_eq!(resets(&device), 0);
}

#[test]
fn a_stalled_data_stage_is_cleared_and_the_command_repeated() {
    let (_, device) = survives(|d| d.faults.stalled_reads = 2);
    assert_eq!(resets(&device), 0);
    // Once for MODE SENSE, twice for the reads.
    assert_eq!(cleared(&device, DISK_IN), 3);
}

#[test]
fn a_short_read_is_repeated() {
    survives(|d| d.faults.short_reads = 2);
}

#[test]
fn a_status_in_place_of_data_is_accepted() {
    let (_, device) = survives(|d| d.faults.status_for_data = 1);
    assert_eq!(resets(&device), 0);
}

#[test]
fn a_stalled_status_is_read_again() {
    let (_, device) = survives(|d| d.faults.stalled_statuses = 1);
    assert_eq!(resets(&device), 0);
}

#[test]
fn invalid_statuses_and_babble_lead_to_reset_recovery() {
    let faults: [fn(&mut Device); 6] = [
        |d| d.faults.wrong_tags = 1,
        |d| d.faults.wrong_signatures = 1,
        |d| d.faults.short_statuses = 1,
        |d| d.faults.phase_errors = 1,
        |d| d.faults.stalled_statuses = 2,
        |d| d.faults.babble = 1,
    ];
    for (n, fault) in faults.into_iter().enumerate() {
        let (_, device) = survives(fault);
        assert_eq!(resets(&device), 1, "fault {n}");
        assert!(cleared(&device, 0x03) >= 1 && cleared(&device, DISK_IN) >= 1, "fault {n}");
    }
}

#[test]
fn unit_attention_and_becoming_ready_are_waited_out() {
    survives(|d| (d.faults.unit_attentions, d.faults.becoming_ready) = (2, 3));
}

#[test]
fn a_transport_that_never_recovers_is_given_up_and_the_port_reset() {
    let (mut host, mut device) = with_drive(64);
    device.faults.wrong_tags = u32::MAX;
    let id = host.request_read(0, 0, 1).unwrap();
    let result = complete(&mut host, &mut device, id, 1000 * MS);
    assert_eq!(result, Err(StorageError::Transport(BotError::InvalidStatus("wrong tag".into()))));
    let end = device.now + 3000 * MS;
    run_to(&mut host, &mut device, end);
    // One reset of the port; after the second failure the console still works and the drive is ignored.
    assert_eq!(device.resets.len(), 3);
    let state = host.state();
    assert!(state.configured && state.console_open && !state.storage_present);
    assert_eq!(host.request_read(0, 0, 1), Err(StorageError::Disconnected));
}

#[test]
fn a_refused_reset_recovery_resets_the_port() {
    let (mut host, mut device) = with_drive(64);
    device.faults.phase_errors = 1;
    device.faults.refuse_resets = 1;
    let id = host.request_read(0, 0, 1).unwrap();
    assert!(complete(&mut host, &mut device, id, 1000 * MS).is_err());
    let deadline = device.now + 1000 * MS;
    run_until(&mut host, &mut device, deadline, "the drive again", |h, _| h.state().storage.is_some());
    assert_eq!(host.generation(), 2);
    let id = host.request_read(0, 0, 1).unwrap();
    assert!(complete(&mut host, &mut device, id, 1000 * MS).is_ok());
}

#[test]
fn a_device_that_disappears_fails_every_request_wherever_it_was() {
    for after in (0..400).step_by(7) {
        let (mut host, mut device) = with_drive(64);
        device.faults.vanish_after = Some(device.transactions + after);
        let write = host.request_write(0, 0, pattern(32 * 512, 4)).unwrap();
        let read = host.request_read(0, 0, 32).unwrap();
        for id in [write, read] {
            let result = complete(&mut host, &mut device, id, 100 * MS);
            assert!(matches!(result, Err(StorageError::Disconnected)) || id == write, "{result:?}");
        }
        run_until(&mut host, &mut device, 1000 * MS, "detachment", |h, _| !h.state().attached);
        assert_eq!(host.request_read(0, 0, 1), Err(StorageError::Disconnected));
    }
}

#[test]
fn a_device_that_turns_silent_is_a_transport_error() {
    let (mut host, mut device) = with_drive(64);
    let id = host.request_read(0, 0, 32).unwrap();
    device.faults.timeouts = u32::MAX;
    let result = complete(&mut host, &mut device, id, 100 * MS);
    let expected = StorageError::Transport(BotError::Transfer(TransferError::NoAnswer));
    assert!(result == Err(expected) || result == Err(StorageError::Disconnected), "{result:?}");
}

#[test]
fn a_command_that_is_never_answered_meets_its_deadline() {
    let mut config = HostConfig::default();
    config.storage.poll_interval_us = None;
    config.storage.command_timeout_us = 200_000;
    let (mut host, mut device) = (UsbHost::new(config), Device::new(64));
    run_until(&mut host, &mut device, 400 * MS, "the drive", |h, _| h.state().storage.is_some());
    device.faults.write_naks = u32::MAX;
    let id = host.request_write(0, 0, vec![1; 512]).unwrap();
    let start = device.now;
    let result = complete(&mut host, &mut device, id, 5000 * MS);
    assert_eq!(result, Err(StorageError::Transport(BotError::Deadline)));
    assert!((device.now - start).abs_diff(800 * MS) < 20 * MS, "four tries of 200 ms: {}", (device.now - start) / MS);
}

#[test]
fn write_protection_is_seen_and_reported() {
    let mut device = Device::new(64);
    device.write_protected = true;
    let mut host = UsbHost::new(HostConfig::default());
    run_until(&mut host, &mut device, 400 * MS, "the drive", |h, _| h.state().storage.is_some());
    assert!(host.state().storage.unwrap().write_protected);
    let ready = Event::StorageReady { lun: 0, blocks: 64, block_size: 512, write_protected: true };
    assert!(host.take_events().iter().any(|e| e.event == ready));
    let id = host.request_write(0, 0, vec![1; 512]).unwrap();
    assert_eq!(complete(&mut host, &mut device, id, 1000 * MS), Err(StorageError::WriteProtected));
    let id = host.request_read(0, 0, 1).unwrap();
    assert_eq!(complete(&mut host, &mut device, id, 1000 * MS), Ok(vec![0; 512]));
}

#[test]
fn ejecting_and_inserting_a_medium_are_noticed_by_polling() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(64));
    run_until(&mut host, &mut device, 400 * MS, "the drive", |h, _| h.state().storage.is_some());
    device.no_medium = true;
    run_until(&mut host, &mut device, 2000 * MS, "the medium's end", |h, _| h.state().storage.is_none());
    assert!(host.take_events().iter().any(|e| e.event == Event::MediumGone { lun: 0 }));
    let id = host.request_read(0, 0, 1).unwrap();
    assert_eq!(complete(&mut host, &mut device, id, 100 * MS), Err(StorageError::NoMedium));
    device.no_medium = false;
    run_until(&mut host, &mut device, 4000 * MS, "the medium", |h, _| h.state().storage.is_some());
    let id = host.request_eject(0).unwrap();
    complete(&mut host, &mut device, id, 100 * MS).unwrap();
    assert!(device.no_medium && host.state().storage.is_none());
}

#[test]
fn test_unit_ready_is_sent_at_its_interval_and_can_be_off() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(64));
    run_to(&mut host, &mut device, 5500 * MS);
    assert_eq!(device.commands.iter().filter(|c| c[0] == 0).count(), 1 + 5);
    let (mut host, mut device) = with_drive(64);
    run_to(&mut host, &mut device, 5500 * MS);
    assert_eq!(device.commands.iter().filter(|c| c[0] == 0).count(), 1);
}

#[test]
fn impossible_requests_are_refused_at_once() {
    let (mut host, mut device) = with_drive(64);
    let range = StorageError::OutOfRange { lba: 60, count: 5, blocks: 64 };
    assert_eq!(range.to_string(), "blocks 60 to 65 of a drive of 64 blocks");
    assert_eq!(host.request_read(0, 60, 5), Err(range));
    assert!(matches!(host.request_read(0, u64::MAX, 2), Err(StorageError::OutOfRange { .. })));
    assert!(matches!(host.request_read(0, 0, 0), Err(StorageError::Unaligned { .. })));
    assert!(matches!(host.request_write(0, 0, vec![0; 100]), Err(StorageError::Unaligned { .. })));
    assert_eq!(host.request_read(0, 0, u64::MAX), Err(StorageError::TooLarge));
    let most = 16 * MIB;
    assert!(matches!(host.request_write(0, 0, vec![0; most]), Err(StorageError::OutOfRange { .. })));
    assert_eq!(host.request_write(0, 0, vec![0; most + 512]), Err(StorageError::TooLarge));
    let [read, more] = [0, 1].map(|more| host.request_read(0, 0, (most / 512) as u64 + more));
    assert!(matches!(read, Err(StorageError::OutOfRange { .. })) && more == Err(StorageError::TooLarge));
    for _ in 0..64 {
        host.request_read(0, 0, 1).unwrap();
    }
    assert_eq!(host.request_read(0, 0, 1), Err(StorageError::QueueFull));
    let end = device.now + 500 * MS;
    run_to(&mut host, &mut device, end);
    assert_eq!(host.request_read(0, 0, 1), Err(StorageError::QueueFull), "completions not taken count");
}

#[test]
fn data_goes_in_packets_of_the_endpoints_size() {
    for size in [32, 64] {
        let mut configuration = fake::configuration();
        let at = configuration.windows(3).position(|w| w == [7, 5, DISK_OUT]).unwrap();
        configuration[at + 4] = size;
        let mut device = Device::with_configuration(configuration);
        device.blocks = vec![0; 512];
        let mut host = UsbHost::new(HostConfig::default());
        run_until(&mut host, &mut device, 400 * MS, "the drive", |h, _| h.state().storage.is_some());
        device.tokens.clear();
        let id = host.request_write(0, 0, pattern(512, 5)).unwrap();
        assert_eq!(complete(&mut host, &mut device, id, 1000 * MS), Ok(Vec::new()));
        let packets = device.tokens.iter().filter(|token| token.1 == DISK_OUT).count();
        assert_eq!(packets, 31usize.div_ceil(size.into()) + 512 / usize::from(size));
        assert_eq!(device.blocks, pattern(512, 5));
    }
}
