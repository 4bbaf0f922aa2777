//! Nonsense on the bus: it is answered or not, in bounded time, and never ends anything but the run that sent it.

use sim::{Device, PS_PER_US, RadioReport};

use crate::driver::{Host, command};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

#[test]
fn random_edges_on_all_wires() {
    let mut random = Random(1);
    let mut host = Host::running();
    for _ in 0..200_000 {
        host.now += PS_PER_US / 100;
        match random.next() % 64 {
            0 => host.chip.select(host.now, random.next() & 1 != 0),
            1 if random.next().is_multiple_of(512) => host.chip.set_power(host.now, random.next() & 1 != 0),
            _ => drop(host.chip.wires(host.now, random.next() & 1 != 0, random.next() & 1 != 0)),
        }
        host.chip.data_wire();
    }
}

#[test]
fn random_transfers_to_all_functions() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut host = Host::running();
        for _ in 0..300 {
            let function = (random.next() % 4) as u32;
            let address = (random.next() % 0x2_0000) as u32;
            let length = (random.next() % 80) as usize;
            let word =
                command(random.next() & 1 != 0, function, address, length) ^ (random.next() as u32 & 0x4000_0000);
            // What switches the wires makes the rest of a seed's run another one, which is as good.
            let count = (random.next() % 24) as usize;
            let data: Vec<u32> = (0..count).map(|_| random.next() as u32).collect();
            host.transfer(&[&[word][..], &data].concat(), (random.next() % 8) as usize);
            host.wait(random.next() % 1000 * PS_PER_US);
            host.chip.take_unmodelled();
            host.requests();
        }
    }
}

#[test]
fn random_frames_and_control_messages() {
    let mut random = Random(77);
    let mut host = Host::running();
    for round in 0..2000 {
        let channel = (random.next() % 4) as u8;
        let mut body = {
            let count = (random.next() % 200) as usize;
            random.bytes(count)
        };
        if channel == 0 && body.len() > 16 && round % 2 == 0 {
            let number = [2, 26, 52, 86, 134, 165, 262, 263, 268][(random.next() % 9) as usize];
            body[..4].copy_from_slice(&u32::to_le_bytes(number));
            body[8..12].copy_from_slice(&[2, 0, round as u8, 0]);
            let names = ["clmload", "country", "escan", "join", "mcast_list", "gpioout", "bsscfg:event_msgs", "bss"];
            let name = names[(random.next() % 8) as usize].as_bytes();
            let room = body.len() - 16;
            body[16..16 + room.min(name.len())].copy_from_slice(&name[..room.min(name.len())]);
        }
        let header = 12 + (random.next() % 4) as usize;
        host.send(channel, header, &body);
        if random.next().is_multiple_of(8) {
            host.report(RadioReport::Frame(body));
        }
        host.wait(100 * PS_PER_US);
        while host.receive().is_some() {}
        host.requests();
        host.chip.take_unmodelled();
    }
}
