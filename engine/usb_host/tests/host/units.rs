//! A drive with two logical units, like a board with a flash drive and a card.

use crate::fake;

use fake::{Device, MS, complete, pattern, run_to, run_until};
use usb_host::{Event, HostConfig, StorageError, UsbHost};

fn with_card(configure: impl FnOnce(&mut HostConfig, &mut Device)) -> (UsbHost, Device) {
    let (mut config, mut device) = (HostConfig::default(), Device::new(64));
    config.storage.poll_interval_us = None;
    device.card = pattern(32 * 512, 7);
    configure(&mut config, &mut device);
    (UsbHost::new(config), device)
}

fn ready() -> (UsbHost, Device) {
    let (mut host, mut device) = with_card(|_, _| {});
    run_until(&mut host, &mut device, 400 * MS, "both units", |h, _| {
        let units = h.state().units;
        units.len() == 2 && units.iter().all(Option::is_some)
    });
    (host, device)
}

#[test]
fn each_unit_is_identified_by_its_own_commands() {
    let (mut host, device) = ready();
    let asked: Vec<(u8, u8)> = device.luns.iter().copied().zip(device.commands.iter().map(|c| c[0])).collect();
    let of = |lun| [(lun, 0x12), (lun, 0x00), (lun, 0x25), (lun, 0x1a)];
    assert_eq!(asked, [of(0), of(1)].concat());
    assert_eq!([0, 1, 2].map(|lun| host.drive_blocks(lun)), [64, 32, 0]);
    let events: Vec<Event> = host.take_events().into_iter().map(|e| e.event).collect();
    for (lun, blocks) in [(0, 64), (1, 32)] {
        assert!(events.contains(&Event::StorageReady { lun, blocks, block_size: 512, write_protected: false }));
    }
}

#[test]
fn requests_reach_the_unit_that_they_name_and_take_turns() {
    let (mut host, mut device) = ready();
    let data = pattern(20 * 512, 8);
    let card = device.card.clone();
    device.luns.clear();
    let writes: Vec<_> = (0..4).map(|_| host.request_write(0, 3, data.clone()).unwrap()).collect();
    let read = host.request_read(1, 0, 32).unwrap();
    let beyond = StorageError::OutOfRange { lba: 32, count: 1, blocks: 32 };
    assert_eq!(host.request_read(1, 32, 1), Err(beyond));
    assert_eq!(host.request_read(2, 0, 1), Err(StorageError::Disconnected));
    for id in writes {
        complete(&mut host, &mut device, id, 1000 * MS).unwrap();
    }
    assert_eq!(host.take_completion(read), Some(Ok(card.clone())), "a long queue of the other unit held it up");
    assert_eq!(device.luns.iter().filter(|&&lun| lun == 1).count(), 1);
    assert!(device.luns.iter().position(|&lun| lun == 1).unwrap() <= 1);
    assert_eq!((&device.blocks[3 * 512..][..data.len()], device.card), (&data[..], card));
}

#[test]
fn faults_of_one_unit_are_handled_and_the_other_keeps_its_data() {
    let (mut host, mut device) = ready();
    (device.faults.wrong_tags, device.faults.stalled_reads, device.faults.unit_attentions) = (1, 1, 1);
    let data = pattern(10 * 512, 9);
    let write = host.request_write(1, 0, data.clone()).unwrap();
    let read = host.request_read(0, 0, 64).unwrap();
    complete(&mut host, &mut device, write, 2000 * MS).unwrap();
    assert_eq!(complete(&mut host, &mut device, read, 2000 * MS), Ok(vec![0; 64 * 512]));
    assert_eq!(device.card[..data.len()], data);
}

#[test]
fn an_empty_card_reader_is_asked_again_and_does_not_hold_up_the_drive() {
    let (mut host, mut device) = with_card(|config, device| {
        config.storage.poll_interval_us = Some(100_000);
        device.no_card = true;
    });
    run_until(&mut host, &mut device, 400 * MS, "the drive", |h, _| h.state().storage.is_some());
    run_to(&mut host, &mut device, 600 * MS);
    assert_eq!(host.state().units.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    let id = host.request_read(0, 0, 1).unwrap();
    assert_eq!(complete(&mut host, &mut device, id, 100 * MS), Ok(vec![0; 512]));
    let id = host.request_read(1, 0, 1).unwrap();
    assert_eq!(complete(&mut host, &mut device, id, 100 * MS), Err(StorageError::NoMedium));
    device.no_card = false;
    run_until(&mut host, &mut device, 1000 * MS, "the card", |h, _| h.drive_blocks(1) == 32);
    let id = host.request_eject(1).unwrap();
    complete(&mut host, &mut device, id, 100 * MS).unwrap();
    assert!(device.no_card && !device.no_medium && host.drive_blocks(0) == 64 && host.drive_blocks(1) == 0);
}

#[test]
fn requests_to_either_unit_fail_with_the_device() {
    let (mut host, mut device) = ready();
    let ids = [host.request_read(0, 0, 64).unwrap(), host.request_read(1, 0, 32).unwrap()];
    device.pulled_up = false;
    let end = device.now + 5 * MS;
    run_to(&mut host, &mut device, end);
    assert_eq!(ids.map(|id| host.take_completion(id)), [(); 2].map(|()| Some(Err(StorageError::Disconnected))));
    assert!(host.state().units.is_empty());
}

#[test]
fn of_many_events_the_newest_1024_are_kept() {
    let (mut host, mut device) = ready();
    for _ in 0..1_100 {
        device.pulled_up ^= true;
        let end = device.now + MS;
        run_to(&mut host, &mut device, end);
    }
    let events = host.take_events();
    assert_eq!((events.len(), &events[1023].event), (1024, &Event::Attached));
}

#[test]
fn all_units_share_the_64_requests() {
    let (mut host, _) = ready();
    for request in 0..64 {
        host.request_read(request % 2, 0, 1).unwrap();
    }
    assert_eq!([0, 1].map(|lun| host.request_read(lun, 0, 1)), [(); 2].map(|()| Err(StorageError::QueueFull)));
}

#[test]
fn sixteen_units_are_the_most() {
    for (max_lun, units) in [(15, 16), (16, 1)] {
        let (mut host, mut device) = with_card(|_, device| device.max_lun = Some(max_lun));
        run_until(&mut host, &mut device, 400 * MS, "the drive", |h, _| h.state().storage.is_some());
        assert_eq!(host.state().units.len(), units);
    }
}
