//! A short description of a frame of function 2, for a trace.

use crate::sdpcm::{self, Control};

const GET_VAR: u32 = 262;
const SET_VAR: u32 = 263;

/// Control messages by Broadcom's names (WLC_...).
const IOCTLS: [(u32, &str); 21] = [
    (2, "UP"),
    (3, "DOWN"),
    (20, "SET_INFRA"),
    (22, "SET_AUTH"),
    (23, "GET_BSSID"),
    (25, "GET_SSID"),
    (26, "SET_SSID"),
    (29, "GET_CHANNEL"),
    (52, "DISASSOC"),
    (63, "GET_ANTDIV"),
    (64, "SET_ANTDIV"),
    (85, "GET_PM"),
    (86, "SET_PM"),
    (110, "SET_GMODE"),
    (127, "GET_RSSI"),
    (134, "SET_WSEC"),
    (142, "SET_BAND"),
    (165, "SET_WPA_AUTH"),
    (GET_VAR, "GET_VAR"),
    (SET_VAR, "SET_VAR"),
    (268, "SET_WSEC_PMK"),
];

/// Events by Broadcom's names (WLC_E_...).
const EVENTS: [(u32, &str); 12] = [
    (0, "SET_SSID"),
    (1, "JOIN"),
    (3, "AUTH"),
    (6, "DEAUTH_IND"),
    (7, "ASSOC"),
    (11, "DISASSOC"),
    (16, "LINK"),
    (23, "PRUNE"),
    (46, "PSK_SUP"),
    (69, "ESCAN_RESULT"),
    (87, "ASSOC_REQ_IE"),
    (88, "ASSOC_RESP_IE"),
];
/// Offset of an event's kind in its Ethernet frame.
const EVENT_AT: usize = 14 + 10;

/// Describes `frame` without the passphrase: the only arguments shown are variables' names.
pub(crate) fn meaning(frame: &[u8], from_host: bool) -> String {
    let Some(frame) = sdpcm::decode(frame) else { return String::new() };
    match frame.channel {
        sdpcm::CONTROL => control(frame.body, from_host),
        sdpcm::EVENT => sdpcm::ethernet(frame.body).and_then(|(_, data)| event(data)).unwrap_or_default(),
        sdpcm::DATA if frame.body.is_empty() => "credit".into(),
        sdpcm::DATA => sdpcm::ethernet(frame.body).map(|(_, data)| format!("{} bytes", data.len())).unwrap_or_default(),
        _ => String::new(),
    }
}

fn control(body: &[u8], from_host: bool) -> String {
    let Some(message) = Control::decode(body) else { return String::new() };
    let command = named(&IOCTLS, message.command, "ioctl");
    if !from_host {
        let status = body.get(12..16).and_then(|word| word.try_into().ok()).map_or(0, i32::from_le_bytes);
        return format!("{command}: {status}");
    }
    match message.command {
        GET_VAR | SET_VAR => {
            let name = message.argument.split(|&byte| byte == 0).next().unwrap_or_default();
            let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_:".contains(byte);
            let name: String = name.iter().take_while(plain).map(|&byte| char::from(byte)).collect();
            format!("{command} {name}")
        }
        _ => command,
    }
}

fn event(data: &[u8]) -> Option<String> {
    let at = |offset: usize| data.get(EVENT_AT + offset..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    let flags = data.get(EVENT_AT + 2..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))?;
    let (kind, status, reason) = (at(4)?, at(8)?, at(12)?);
    let mut said = format!("event {}", named(&EVENTS, kind, "number"));
    for (what, value) in [("flags", u32::from(flags)), ("status", status), ("reason", reason)] {
        if value != 0 {
            said += &format!(" {what} {value}");
        }
    }
    Some(said)
}

fn named(names: &[(u32, &str)], number: u32, what: &str) -> String {
    let name = names.iter().find(|each| each.0 == number).map(|each| each.1.to_string());
    name.unwrap_or_else(|| format!("{what} {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::events::Event;

    fn request(command: u32, argument: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        for word in [command, argument.len() as u32, 2, 0] {
            body.extend(word.to_le_bytes());
        }
        body.extend(argument);
        sdpcm::encode(1, sdpcm::CONTROL, 9, &body)
    }

    #[test]
    fn requests_and_answers_use_broadcoms_names() {
        assert_eq!(meaning(&request(86, &[2, 0, 0, 0]), true), "SET_PM");
        assert_eq!(meaning(&request(263, b"bus:txglom\0\0\0\0\0"), true), "SET_VAR bus:txglom");
        assert_eq!(meaning(&request(999, &[]), true), "ioctl 999");
        let message = Control { command: 52, flags: 2, argument: vec![0; 4] };
        let answer = sdpcm::encode(1, sdpcm::CONTROL, 9, &message.answer(Err(-17)));
        assert_eq!(meaning(&answer, false), "DISASSOC: -17");
    }

    #[test]
    fn a_passphrase_is_hidden() {
        let argument = [&[8, 0, 1, 0][..], b"password", &[0; 56]].concat();
        assert_eq!(meaning(&request(268, &argument), true), "SET_WSEC_PMK");
    }

    #[test]
    fn events_show_nonzero_fields() {
        let event = |kind, flags, status, reason| {
            let event = Event { kind, flags, status, reason, about: [0; 6] };
            let body = sdpcm::with_bdc(sdpcm::EVENT, &event.ethernet([2; 6], &[]));
            meaning(&sdpcm::encode(1, sdpcm::EVENT, 9, &body), false)
        };
        assert_eq!(event(16, 1, 0, 0), "event LINK flags 1");
        assert_eq!(event(46, 0, 8, 14), "event PSK_SUP status 8 reason 14");
        assert_eq!(event(200, 0, 0, 0), "event number 200");
    }

    #[test]
    fn frames_show_their_length() {
        let body = sdpcm::with_bdc(sdpcm::DATA, &[0; 60]);
        assert_eq!(meaning(&sdpcm::encode(1, sdpcm::DATA, 9, &body), true), "60 bytes");
        assert_eq!(meaning(&sdpcm::encode(1, sdpcm::DATA, 9, &[]), false), "credit");
        assert_eq!((meaning(&[0; 64], true), meaning(&[], false)), (String::new(), String::new()));
    }
}
