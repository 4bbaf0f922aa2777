//! A public driver as second opinion: embedded-sdmmc, with its FAT file system, on the card.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use embedded_hal::delay::DelayNs;
use embedded_hal::spi::{ErrorType, Operation, SpiDevice};
use embedded_sdmmc::sdcard::{AcquireOpts, CardType};
use embedded_sdmmc::{
    Block, BlockDevice, BlockIdx, Error, Mode, SdCard, SdCardError, TimeSource, Timestamp, VolumeIdx, VolumeManager,
};
use sd_card::{CardConfig, Wear};
use sim::SpiDevice as _;

use crate::host::{BLOCKS, Host, SDHC, SDSC, config};

#[derive(Clone)]
struct Bus(Rc<RefCell<Host>>);

impl ErrorType for Bus {
    type Error = Infallible;
}

impl SpiDevice for Bus {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Infallible> {
        let mut host = self.0.borrow_mut();
        let now = host.now;
        host.card.select(now, true);
        for operation in operations {
            match operation {
                Operation::Read(into) => into.iter_mut().for_each(|byte| *byte = host.byte(0xff)),
                Operation::Write(from) => from.iter().for_each(|&byte| _ = host.byte(byte)),
                Operation::Transfer(into, from) => {
                    let count = into.len().max(from.len());
                    for n in 0..count {
                        let miso = host.byte(from.get(n).copied().unwrap_or(0xff));
                        if let Some(byte) = into.get_mut(n) {
                            *byte = miso;
                        }
                    }
                }
                Operation::TransferInPlace(bytes) => bytes.iter_mut().for_each(|byte| *byte = host.byte(*byte)),
                Operation::DelayNs(ns) => host.wait(u64::from(*ns) * 1000),
            }
        }
        let now = host.now;
        host.card.select(now, false);
        Ok(())
    }
}

impl DelayNs for Bus {
    fn delay_ns(&mut self, ns: u32) {
        self.0.borrow_mut().wait(u64::from(ns) * 1000);
    }
}

struct NoClock;

impl TimeSource for NoClock {
    fn get_timestamp(&self) -> Timestamp {
        Timestamp { year_since_1970: 55, zero_indexed_month: 0, zero_indexed_day: 0, hours: 0, minutes: 0, seconds: 0 }
    }
}

fn driver(config: &CardConfig, use_crc: bool) -> SdCard<Bus, Bus> {
    let bus = Bus(Rc::new(RefCell::new(Host::new(config))));
    SdCard::new_with_options(bus.clone(), bus, AcquireOpts { use_crc, acquire_retries: 50 })
}

#[test]
fn it_detects_the_cards_kind_and_size() {
    for (kind, is) in [(SDHC, CardType::SDHC), (SDSC, CardType::SD2)] {
        for use_crc in [false, true] {
            let card = driver(&config(kind, Wear::default()), use_crc);
            assert_eq!(card.get_card_type(), Some(is));
            // It expects a CSD of version 2 from every card that answers CMD8, which an SDSC card does not have
            // (5.3.1).
            if is == CardType::SDHC {
                assert_eq!(card.num_bytes().unwrap(), BLOCKS * 512);
            }
            assert!(card.erase_single_block_enabled().unwrap());
        }
    }
}

#[test]
fn single_and_multiple_blocks_are_written_and_read_back() {
    for kind in [SDHC, SDSC] {
        let config = config(kind, Wear::default());
        let card = driver(&config, true);
        let mut blocks: Vec<Block> = (0..5).map(|_| Block::new()).collect();
        for (n, block) in blocks.iter_mut().enumerate() {
            block.contents.fill(n as u8 + 1);
        }
        card.write(&blocks, BlockIdx(1000)).unwrap();
        card.write(&blocks[4..], BlockIdx(1002)).unwrap();
        let mut back: Vec<Block> = (0..5).map(|_| Block::new()).collect();
        card.read(&mut back, BlockIdx(1000)).unwrap();
        assert_eq!(back.iter().map(|block| block.contents[511]).collect::<Vec<_>>(), [1, 2, 5, 4, 5]);
        let mut one = [Block::new()];
        card.read(&mut one, BlockIdx(1001)).unwrap();
        assert_eq!(one[0].contents, [2; 512]);
    }
}

#[test]
fn it_detects_every_fault() {
    let fault = |wear, write: bool| {
        let card = driver(&config(SDHC, wear), true);
        let mut block = [Block::new()];
        if write { card.write(&block, BlockIdx(1)).err() } else { card.read(&mut block, BlockIdx(1)).err() }
    };
    let protected = Wear { write_protected: true, ..Wear::default() };
    assert!(matches!(fault(protected, true), Some(SdCardError::WriteError)));
    let worn = Wear { good_writes: Some(0), ..Wear::default() };
    assert!(matches!(fault(worn, true), Some(SdCardError::WriteError)));
    let corrupt = Wear { corrupt_one_in: Some(1), ..Wear::default() };
    assert!(matches!(fault(corrupt, false), Some(SdCardError::CrcError(..))));
    assert!(fault(Wear::default(), false).is_none());
}

/// Puts a partition table in front of our volume: the driver's file system needs one, as bought cards have.
fn partitioned(config: &CardConfig) {
    const FIRST: u64 = 8192;
    let volume = sd_card::Medium::new(BLOCKS - FIRST);
    volume.format("CARD").unwrap();
    for (start, length) in volume.extents() {
        let mut bytes = vec![0; length as usize];
        volume.read(start, &mut bytes);
        config.medium.write(FIRST * 512 + start, &bytes);
    }
    let mut table = [0u8; 512];
    table[446 + 4] = 0x0c;
    table[446 + 8..446 + 12].copy_from_slice(&(FIRST as u32).to_le_bytes());
    table[446 + 12..446 + 16].copy_from_slice(&((BLOCKS - FIRST) as u32).to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    config.medium.write(0, &table);
}

#[test]
fn its_file_system_writes_and_reads_files() {
    let config = config(SDHC, Wear::default());
    partitioned(&config);
    let manager = VolumeManager::new(driver(&config, true), NoClock);
    let volume = manager.open_volume(VolumeIdx(0)).unwrap();
    let root = volume.open_root_dir().unwrap();
    let file = root.open_file_in_dir("DATA.BIN", Mode::ReadWriteCreate).unwrap();
    let data: Vec<u8> = (0..5000u32).map(|n| (n % 253) as u8).collect();
    file.write(&data).unwrap();
    file.close().unwrap();
    let file = root.open_file_in_dir("DATA.BIN", Mode::ReadOnly).unwrap();
    let mut back = vec![0; 6000];
    let mut taken = 0;
    while !file.is_eof() {
        taken += file.read(&mut back[taken..]).unwrap();
    }
    assert_eq!(back[..taken], data);
}

#[test]
fn its_file_system_detects_a_worn_card() {
    let config = config(SDHC, Wear { good_writes: Some(3), ..Wear::default() });
    partitioned(&config);
    let manager = VolumeManager::new(driver(&config, true), NoClock);
    let volume = manager.open_volume(VolumeIdx(0)).unwrap();
    let root = volume.open_root_dir().unwrap();
    let file = root.open_file_in_dir("DATA.BIN", Mode::ReadWriteCreate).unwrap();
    assert!(matches!(file.write(&[1; 40_000]), Err(Error::DeviceError(SdCardError::WriteError))));
}
