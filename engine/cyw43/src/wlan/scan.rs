//! The results of a scan in the format of its event (`wl_bss_info`, version 109).

use sim::{Bss, Security};

const VERSION: u32 = 109;
const FIXED: usize = 128;
const RESULT_HEADER: usize = 12;
const NOISE_DBM: i8 = -92;
/// 1, 2, 5.5 and 11 Mbit/s as basic rates, then those of OFDM, in units of 500 kbit/s.
const RATES: [u8; 12] = [0x82, 0x84, 0x8b, 0x96, 12, 18, 24, 36, 48, 72, 96, 108];
/// A robust secure network: group and pair cipher CCMP, a pre-shared key.
const RSN: [u8; 22] = [48, 20, 1, 0, 0x00, 0x0f, 0xac, 4, 1, 0, 0x00, 0x0f, 0xac, 4, 1, 0, 0x00, 0x0f, 0xac, 2, 0, 0];

/// Returns the event's data for one access point.
pub(crate) fn result(sync: u16, bss: &Bss) -> Vec<u8> {
    let ies = elements(bss);
    let mut info = vec![0u8; FIXED];
    let mut put = |at: usize, bytes: &[u8]| info[at..at + bytes.len()].copy_from_slice(bytes);
    let private = bss.security != Security::Open;
    put(0, &VERSION.to_le_bytes());
    put(4, &((FIXED + ies.len()) as u32).to_le_bytes());
    put(8, &bss.bssid);
    put(14, &bss.beacon_tu.to_le_bytes());
    put(16, &(0x0401u16 | u16::from(private) << 4).to_le_bytes());
    put(18, &[bss.ssid.len() as u8]);
    put(19, &bss.ssid);
    put(52, &(RATES.len() as u32).to_le_bytes());
    put(56, &RATES);
    // 20 MHz at 2.4 GHz.
    put(72, &(0x1000 | u16::from(bss.channel)).to_le_bytes());
    put(76, &[bss.dtim]);
    put(78, &bss.rssi_dbm.to_le_bytes());
    put(80, &NOISE_DBM.to_le_bytes());
    put(81, &[1]);
    put(88, &[bss.channel]);
    put(100, &[0xff]);
    put(116, &(FIXED as u16).to_le_bytes());
    put(120, &(ies.len() as u32).to_le_bytes());
    put(124, &(bss.rssi_dbm - i16::from(NOISE_DBM)).to_le_bytes());
    info.extend(ies);
    let mut data = end(sync);
    data[..4].copy_from_slice(&((RESULT_HEADER + info.len()) as u32).to_le_bytes());
    data[10] = 1;
    data.extend(info);
    data
}

/// Returns the event's data at the end of the scan.
pub(crate) fn end(sync: u16) -> Vec<u8> {
    let mut data = Vec::with_capacity(RESULT_HEADER);
    data.extend((RESULT_HEADER as u32).to_le_bytes());
    data.extend(VERSION.to_le_bytes());
    data.extend(sync.to_le_bytes());
    data.extend([0, 0]);
    data
}

fn elements(bss: &Bss) -> Vec<u8> {
    let mut ies = vec![0, bss.ssid.len() as u8];
    ies.extend(&bss.ssid);
    ies.extend([1, 8]);
    ies.extend(&RATES[..8]);
    ies.extend([3, 1, bss.channel]);
    if bss.security == Security::Wpa2 {
        ies.extend(RSN);
    }
    ies.extend([50, 4]);
    ies.extend(&RATES[8..]);
    ies
}
