//! The frames of function 2: an SDPCM header, then a control message, an event or an Ethernet frame.

pub(crate) const HEADER: usize = 12;
pub(crate) const CONTROL: u8 = 0;
pub(crate) const EVENT: u8 = 1;
pub(crate) const DATA: u8 = 2;
/// Offset of the payload from the start of the header, with the firmware's padding.
const PADDED: usize = 14;
const BDC_HEADER: usize = 4;
/// Flags of the BDC header: version 2 of the protocol.
const BDC_FLAGS: u8 = 0x20;

/// A frame from the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) sequence: u8,
    pub(crate) channel: u8,
    pub(crate) body: &'a [u8],
}

/// Decodes a frame. `None`: not a frame; the firmware discards it.
pub(crate) fn decode(bytes: &[u8]) -> Option<Frame<'_>> {
    let header = bytes.get(..HEADER)?;
    let length = u16::from_le_bytes([header[0], header[1]]);
    if length != !u16::from_le_bytes([header[2], header[3]]) {
        return None;
    }
    let frame = bytes.get(..usize::from(length))?;
    let body = frame.get(usize::from(header[7]).max(HEADER)..)?;
    Some(Frame { sequence: header[4], channel: header[5] & 0x0f, body })
}

/// Returns the interface of a data frame, and the Ethernet frame after its BDC header.
pub(crate) fn ethernet(body: &[u8]) -> Option<(u8, &[u8])> {
    let header = body.get(..BDC_HEADER)?;
    let frame = body.get(BDC_HEADER + usize::from(header[3]) * 4..)?;
    Some((header[2] & 0x0f, frame))
}

/// Encodes a frame for the host. `credit`: the first sequence number that the host may not use yet.
pub(crate) fn encode(sequence: u8, channel: u8, credit: u8, body: &[u8]) -> Vec<u8> {
    let offset = if channel == CONTROL || body.is_empty() { HEADER } else { PADDED };
    let length = (offset + body.len()) as u16;
    let mut frame = Vec::with_capacity(usize::from(length));
    frame.extend(length.to_le_bytes());
    frame.extend((!length).to_le_bytes());
    frame.extend([sequence, channel, 0, offset as u8, 0, credit, 0, 0]);
    frame.resize(offset, 0);
    frame.extend(body);
    frame
}

/// Puts a BDC header before an Ethernet frame; for events four more bytes follow it.
pub(crate) fn with_bdc(channel: u8, ethernet: &[u8]) -> Vec<u8> {
    let words = u8::from(channel == EVENT);
    let mut body = vec![BDC_FLAGS, 0, 0, words];
    body.resize(BDC_HEADER + usize::from(words) * 4, 0);
    body.extend(ethernet);
    body
}

/// A control message: the ioctl's number, flags with the request's id, and the argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    pub(crate) command: u32,
    pub(crate) flags: u32,
    pub(crate) argument: Vec<u8>,
}

const CONTROL_HEADER: usize = 16;
const FLAG_ERROR: u32 = 1;

impl Control {
    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(body.get(at..at + 4)?.try_into().ok()?));
        let (command, length, flags) = (word(0)?, word(4)? & 0xffff, word(8)?);
        let argument = body.get(CONTROL_HEADER..)?;
        // The host's buffer may be longer than the data it sends.
        let argument = &argument[..argument.len().min(length as usize)];
        Some(Self { command, flags, argument: argument.to_vec() })
    }

    pub(crate) fn interface(&self) -> u32 {
        self.flags >> 12 & 0x0f
    }

    /// Returns the answer, which is as long as the request.
    pub(crate) fn answer(&self, result: Result<Vec<u8>, i32>) -> Vec<u8> {
        let (mut argument, status) = match result {
            Ok(argument) => (argument, 0),
            Err(error) => (Vec::new(), error),
        };
        argument.resize(self.argument.len(), 0);
        let flags = if status == 0 { self.flags & !FLAG_ERROR } else { self.flags | FLAG_ERROR };
        let mut body = Vec::with_capacity(CONTROL_HEADER + argument.len());
        for word in [self.command, argument.len() as u32, flags, status as u32] {
            body.extend(word.to_le_bytes());
        }
        body.extend(argument);
        body
    }
}
