//! Applications of the simulated PC that the page's Python has: the workloads' conversations.

use std::cell::RefCell;
use std::net::SocketAddrV4;

use lan::UdpApp;
use serde_json::{Value, json};
use sim::{AppReply, Ps, TcpApp, ps, us};

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Tells the page's application `app` of what the `told` bytes of JSON and the `data` bytes behind them say; its
    /// answer is in [`reply`]. It must not call the module otherwise.
    fn hear(app: u32, told: *const u8, told_bytes: usize, data_bytes: usize);
}

thread_local! {
    static REPLY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for the answer to [`hear`]: a JSON text, a zero byte, data.
pub(crate) fn reply(bytes: usize) -> *mut u8 {
    REPLY.with_borrow_mut(|reply| {
        *reply = vec![0; bytes];
        reply.as_mut_ptr()
    })
}

fn ask(app: u32, told: &Value, data: &[u8]) -> Vec<u8> {
    let mut text = told.to_string().into_bytes();
    let told_bytes = text.len();
    text.extend_from_slice(data);
    REPLY.with_borrow_mut(Vec::clear);
    #[cfg(target_arch = "wasm32")]
    // SAFETY: the page reads as many bytes as there are, and keeps none of them.
    unsafe {
        hear(app, text.as_ptr(), told_bytes, data.len());
    }
    #[cfg(not(target_arch = "wasm32"))]
    let _ = (app, told_bytes);
    REPLY.with_borrow_mut(std::mem::take)
}

/// As `server.simulated_pc.SimulatedServer` answers: whether to close, whether to reset, when to be asked again.
type Reply = (bool, bool, Option<f64>);

pub(crate) struct PageApp(pub(crate) u32);

impl PageApp {
    /// An answer that is none, as after an exception, resets the connection.
    fn ask(&self, told: &Value, data: &[u8]) -> AppReply {
        let answer = ask(self.0, told, data);
        let end = answer.iter().position(|&byte| byte == 0);
        match end.and_then(|end| Some((serde_json::from_slice::<Reply>(&answer[..end]).ok()?, end))) {
            Some(((close, reset, again), end)) => {
                AppReply { data: answer[end + 1..].to_vec(), close, reset, again: again.map(ps) }
            }
            None => AppReply { reset: true, ..AppReply::default() },
        }
    }
}

impl TcpApp for PageApp {
    fn accept(&mut self, conn: u64, peer: SocketAddrV4, now: Ps) -> AppReply {
        self.ask(&json!(["accept", conn, peer.to_string(), us(now)]), &[])
    }

    fn receive(&mut self, conn: u64, data: &[u8], now: Ps) -> AppReply {
        self.ask(&json!(["receive", conn, null, us(now)]), data)
    }

    fn closed(&mut self, conn: u64, reset: bool, now: Ps) -> AppReply {
        self.ask(&json!(["closed", conn, reset, us(now)]), &[])
    }
}

/// Its answers are in one text: for each the delay in microseconds and the number of its bytes.
pub(crate) struct PageUdpApp(pub(crate) u32);

impl UdpApp for PageUdpApp {
    fn receive(&mut self, _from: SocketAddrV4, _data: &[u8], _now: Ps) -> Option<Vec<u8>> {
        None
    }

    fn answers(&mut self, from: SocketAddrV4, data: &[u8], now: Ps) -> Vec<(Ps, Vec<u8>)> {
        let answer = ask(self.0, &json!(["datagram", null, from.to_string(), us(now)]), data);
        let Some(end) = answer.iter().position(|&byte| byte == 0) else { return Vec::new() };
        let parts: Vec<(f64, usize)> = serde_json::from_slice(&answer[..end]).unwrap_or_default();
        let mut rest = &answer[end + 1..];
        let mut answers = Vec::new();
        for (after_us, bytes) in parts {
            let (data, more) = rest.split_at(bytes.min(rest.len()));
            answers.push((ps(after_us), data.to_vec()));
            rest = more;
        }
        answers
    }
}
