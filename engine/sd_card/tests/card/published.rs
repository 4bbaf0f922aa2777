//! The published program's calls, byte by byte, take the published times.

use sd_card::Wear;
use sim::{PS_PER_NS, PS_PER_US, Ps, SpiDevice};

use crate::host::{Host, SDHC, config};

/// A byte amid a block, as a logic analyser saw it on silicon.
const DATA: Ps = 310 * PS_PER_NS;
/// The other times are those of the program on the emulated board: a byte alone, a look at the card (a byte and the
/// time), and FatFs between two calls.
const ALONE: Ps = 1_130 * PS_PER_NS;
const LOOK: Ps = 1_570 * PS_PER_NS;
const FATFS: Ps = 5_600 * PS_PER_NS;
const CALLS: u64 = 4000;

fn bytes(host: &mut Host, time: Ps, mosi: &[u8]) -> u8 {
    mosi.iter().fold(0xff, |_, &byte| {
        host.now += time;
        host.card.exchange(host.now, byte)
    })
}

fn look_until(host: &mut Host, wanted: u8) {
    while bytes(host, LOOK, &[0xff]) != wanted {}
}

fn select(host: &mut Host, low: bool) {
    host.card.select(host.now, low);
    bytes(host, ALONE, &[0xff]);
}

/// Sends a command to block `block` once the card is ready.
fn command(host: &mut Host, index: u8, block: u64) {
    select(host, false);
    select(host, true);
    look_until(host, 0xff);
    let [.., high, low] = block.to_be_bytes();
    bytes(host, ALONE, &[0x40 | index, 0, 0, high, low, 0x01]);
    while bytes(host, ALONE, &[0xff]) != 0 {}
}

fn read(host: &mut Host, block: u64) {
    command(host, 17, block);
    look_until(host, 0xfe);
    bytes(host, DATA, &[0xff; 512]);
    bytes(host, ALONE, &[0xff; 2]);
    select(host, false);
}

fn write(host: &mut Host, block: u64) {
    select(host, true);
    look_until(host, 0xff);
    command(host, 24, block);
    look_until(host, 0xff);
    bytes(host, ALONE, &[0xfe]);
    bytes(host, DATA, &[0; 512]);
    bytes(host, ALONE, &[0xff; 3]);
    select(host, false);
}

/// Returns the shortest and the mean time of a call in microseconds.
fn latency_us(call: fn(&mut Host, u64)) -> (f64, f64) {
    let mut host = Host::ready(&config(SDHC, Wear::default()));
    call(&mut host, 0);
    let times: Vec<Ps> = (0..CALLS)
        .map(|block| {
            let since = host.now;
            host.now += FATFS;
            call(&mut host, block);
            host.now - since
        })
        .collect();
    let us = |time: Ps| time as f64 / PS_PER_US as f64;
    (us(*times.iter().min().unwrap()), us(times.iter().sum()) / CALLS as f64)
}

#[test]
fn a_call_takes_the_published_time() {
    for (call, least_us, mean_us) in [(read as fn(&mut Host, u64), 402.0, 524.0), (write, 1007.0, 1142.0)] {
        let (least, mean) = latency_us(call);
        assert!((mean / mean_us - 1.0).abs() < 0.01, "{mean} us, published {mean_us}");
        assert!((least / least_us - 1.0).abs() < 0.01, "{least} us, published {least_us}");
    }
}
