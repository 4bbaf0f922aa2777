//! A FAT volume whose blocks are transferred over the simulated USB.

use crate::fake;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use fake::{Device, MS, complete, pattern, with_drive};
use usb_host::{BlockDevice, RequestId, StorageError, UsbHost, Volume};

/// Works like the binding: queues a request and runs the machine until it is complete.
struct Drive(Rc<RefCell<(UsbHost, Device)>>);

impl Drive {
    fn run(&self, request: impl FnOnce(&mut UsbHost) -> Result<RequestId, StorageError>) -> io::Result<Vec<u8>> {
        let (host, device) = &mut *self.0.borrow_mut();
        let id = request(host).map_err(io::Error::other)?;
        complete(host, device, id, 60_000 * MS).map_err(io::Error::other)
    }
}

impl BlockDevice for Drive {
    fn read(&mut self, lba: u64, buf: &mut [u8]) -> io::Result<()> {
        let bytes = self.run(|h| h.request_read(0, lba, buf.len() as u64 / 512))?;
        buf.copy_from_slice(&bytes);
        Ok(())
    }

    fn write(&mut self, lba: u64, buf: &[u8]) -> io::Result<()> {
        self.run(|h| h.request_write(0, lba, buf.to_vec())).map(|_| ())
    }

    fn blocks(&self) -> u64 {
        self.0.borrow().0.state().storage.map_or(0, |s| s.blocks)
    }
}

fn formatted_drive() -> Rc<RefCell<(UsbHost, Device)>> {
    let (host, mut device) = with_drive(4000);
    let options = fatfs::FormatVolumeOptions::new().volume_label(*b"CIRCUITPY  ");
    fatfs::format_volume(io::Cursor::new(&mut device.blocks), options).unwrap();
    Rc::new(RefCell::new((host, device)))
}

#[test]
fn files_survive_naks_stalls_and_broken_statuses() {
    let machine = formatted_drive();
    let volume = Volume::mount(Drive(machine.clone())).unwrap();
    {
        let faults = &mut machine.borrow_mut().1.faults;
        (faults.nak_every, faults.stalled_reads, faults.wrong_tags, faults.lost_acks) = (5, 1, 1, 20);
    }
    let data = pattern(300_000, 1);
    volume.write_file("lib/adafruit_wiznet5k/adafruit_wiznet5k.mpy", &data).unwrap();
    volume.write_file("code.py", b"print('hello')\n").unwrap();
    let fresh = Volume::mount(Drive(machine.clone())).unwrap();
    assert_eq!(fresh.read_file("lib/adafruit_wiznet5k/adafruit_wiznet5k.mpy").unwrap(), data);
    assert_eq!(fresh.read_file("code.py").unwrap(), b"print('hello')\n");
    assert_eq!(fresh.label().unwrap(), "CIRCUITPY");
    // An independent reader of the RAM disk accepts the volume that the host wrote.
    let blocks = machine.borrow().1.blocks.clone();
    let fs = fatfs::FileSystem::new(io::Cursor::new(blocks), fatfs::FsOptions::new()).unwrap();
    let names: Vec<String> = fs.root_dir().iter().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["lib", "code.py"]);
}

#[test]
fn a_device_that_restarts_in_the_middle_ends_the_copy_with_an_error() {
    let machine = formatted_drive();
    let volume = Volume::mount(Drive(machine.clone())).unwrap();
    {
        let device = &mut machine.borrow_mut().1;
        device.faults.vanish_after = Some(device.transactions + 2000);
    }
    let error = volume.write_file("firmware.uf2", &pattern(500_000, 2)).unwrap_err();
    assert_eq!(error.stage, usb_host::Stage::Content);
    assert!(error.to_string().ends_with("the drive is not connected"), "{error}");
}
