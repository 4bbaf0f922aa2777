//! Boards for the page's Python: what `portbench_engine.Machine` does, asked for in JSON.
//!
//! A call is a JSON list: the operation's name, the board's number, arguments. Bytes go beside it. The answer is
//! `{"is": ...}`, or `{"failed": text}` with `"kind"` `value`, `engine` or `os`. `page/python/_native.py` is the other
//! side.

use std::collections::BTreeMap;

use board::{BoardConfig, Machine, flash_of_image, mcu};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sim::{ps, us};

use crate::app::{PageApp, PageUdpApp};

struct Failure {
    kind: &'static str,
    text: String,
}

fn value_error(error: impl std::fmt::Display) -> Failure {
    Failure { kind: "value", text: error.to_string() }
}

fn engine_error(error: impl std::fmt::Display) -> Failure {
    Failure { kind: "engine", text: error.to_string() }
}

fn os_error(error: impl std::fmt::Display) -> Failure {
    Failure { kind: "os", text: error.to_string() }
}

/// The boards of the page's Python, by their numbers.
#[derive(Default)]
pub(crate) struct Machines {
    machines: BTreeMap<u64, Machine>,
    next: u64,
}

/// The arguments of a call.
struct Arguments<'a>(&'a [Value]);

impl Arguments<'_> {
    /// Returns all of them, a tuple.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_value(self.0.into()).map_err(|error| value_error(format!("arguments: {error}")))
    }

    /// Returns the only one.
    fn only<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.read().map(|(only,)| only)
    }
}

type Answer = Result<(Value, Vec<u8>), Failure>;

impl Machines {
    /// Carries out the call in `text` with `data` beside it; returns the answer and the bytes beside that.
    pub(crate) fn call(&mut self, text: &[u8], data: &[u8]) -> (Value, Vec<u8>) {
        match self.carry_out(text, data) {
            Ok((value, bytes)) => (json!({ "is": value }), bytes),
            Err(Failure { kind, text }) => (json!({ "failed": text, "kind": kind }), Vec::new()),
        }
    }

    /// An unreadable call is an error with its text: Python's `json` writes what JSON does not have, such as NaN.
    fn carry_out(&mut self, text: &[u8], data: &[u8]) -> Answer {
        let bad = |why: String| engine_error(format!("{why}: {}", String::from_utf8_lossy(text)));
        let call: Vec<Value> = serde_json::from_slice(text).map_err(|error| bad(error.to_string()))?;
        let [Value::String(name), Value::Number(number), arguments @ ..] = &call[..] else {
            return Err(bad("a call needs a name and a number".into()));
        };
        self.answer(name, number.as_u64().unwrap_or_default(), &Arguments(arguments), data)
    }

    fn answer(&mut self, name: &str, number: u64, arguments: &Arguments<'_>, data: &[u8]) -> Answer {
        let value = match name {
            "flash_of_image" => {
                let mcu = mcu::named(&arguments.only::<String>()?).map_err(value_error)?;
                return Ok((Value::Null, flash_of_image(mcu, data).map_err(value_error)?));
            }
            "new" => {
                // The data are the boot ROM, then the flash.
                let (settings, bootsel, rom_bytes): (Value, bool, usize) = arguments.read()?;
                let (rom, flash) = data.split_at(rom_bytes.min(data.len()));
                let config = BoardConfig::from_settings(rom.to_vec(), settings).map_err(value_error)?;
                let machine = Machine::new(config, flash, bootsel).map_err(value_error)?;
                self.next += 1;
                self.machines.insert(self.next, machine);
                json!(self.next)
            }
            "drop" => json!(drop(self.machines.remove(&number))),
            _ => {
                let machine = self.machines.get_mut(&number);
                let machine = machine.ok_or_else(|| value_error(format!("there is no board {number}")))?;
                return answer(machine, name, arguments, data);
            }
        };
        Ok((value, Vec::new()))
    }
}

fn answer(machine: &mut Machine, name: &str, arguments: &Arguments<'_>, data: &[u8]) -> Answer {
    let value = match name {
        "run" => {
            let stop = machine.run(arguments.only()?).map_err(engine_error)?.to_string();
            let now = machine.now();
            let usb = machine.usb();
            let state = json!([stop, now, us(usb.console_received_at()), usb.state().console_unsent]);
            return Ok((state, usb.console_read()));
        }
        "console_write" => json!(machine.on_usb(|usb| usb.console_write(data))),
        "usb_events" => json!(machine.usb_events()),
        "usb" => json!(machine.usb_state()),
        "flash" => return Ok((Value::Null, machine.chip().flash().to_vec())),
        "stats" => json!(machine.stats()),
        "cpu_faults" => json!(machine.take_faults()),
        "registers" => json!(machine.registers()),
        "leased_us" => json!(machine.leased_us()),
        "board_address" => json!(machine.board_address()),
        "link_up" => json!(machine.link_up()),
        "set_cable" => json!(machine.set_cable(arguments.only()?).map_err(value_error)?),
        "listen" => {
            let (port, app) = arguments.read()?;
            json!(machine.listen(port, Box::new(PageApp(app))).map_err(value_error)?)
        }
        "unlisten" => {
            let port = arguments.only()?;
            json!(machine.on_lan(|lan, _| lan.unlisten(port)).map_err(value_error)?)
        }
        "udp_listen" => {
            let (port, app) = arguments.read()?;
            let app = Box::new(PageUdpApp(app));
            json!(machine.on_lan(|lan, _| lan.udp_listen(port, app)).flatten().map_err(value_error)?)
        }
        "connect" => {
            let (peer, app, at_us) = arguments.read()?;
            let app = Box::new(PageApp(app));
            json!(machine.on_lan(|lan, now| lan.connect(now, ps(at_us), peer, app)).flatten().map_err(value_error)?)
        }
        "lan_send" => {
            let (conn, at_us) = arguments.read()?;
            json!(machine.on_lan(|lan, now| lan.send_at(now, ps(at_us), conn, data)).map_err(value_error)?)
        }
        "ping" => {
            let (to, sequence, at_us) = arguments.read()?;
            json!(machine.on_lan(|lan, now| lan.ping(now, ps(at_us), to, sequence, data)).map_err(value_error)?)
        }
        "ping_replies" => json!(machine.take_ping_replies().map_err(value_error)?),
        "log_frames" => json!(machine.log_frames(arguments.only()?).map_err(value_error)?),
        "lan_frames" => json!(machine.take_frames().map_err(value_error)?),
        "volume_apply" => {
            let (action, path) = arguments.read()?;
            json!(machine.change_volume(&[(action, path, data.to_vec())], 0).map_err(os_error)?)
        }
        "attribution_start" => json!(machine.start_attribution(arguments.only()?)),
        "attribution_stop" => json!(machine.stop_attribution()),
        "attribution" => {
            let (spans_us, within_us, ready_us, link_us, windows_us) = arguments.read()?;
            json!(machine.attribution(spans_us, within_us, ready_us, link_us, windows_us))
        }
        "spi_log" => json!(machine.log_spi(arguments.only()?)),
        "spi_log_take" => json!(machine.take_spi()),
        "trace_start" => {
            let (kinds, limit, pc_sample_cycles): (Vec<_>, _, _) = arguments.read()?;
            json!(machine.trace_kinds(&kinds, limit, pc_sample_cycles).map_err(value_error)?)
        }
        "trace_stop" => json!(machine.stop_trace()),
        "trace_take" => json!(machine.take_trace()),
        other => return Err(value_error(format!("{other} is not available in a page"))),
    };
    Ok((value, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack pointer, a reset vector, and a branch to itself.
    fn rom() -> Vec<u8> {
        let mut rom = [0x2004_0000_u32, 0x0000_0009, 0xe7fe_e7fe].map(u32::to_le_bytes).concat();
        rom.resize(16 << 10, 0);
        rom
    }

    fn ask(machines: &mut Machines, call: Value, data: &[u8]) -> Value {
        machines.call(call.to_string().as_bytes(), data).0
    }

    #[test]
    fn boards_are_made_run_and_dropped_and_faults_are_told_by_name() {
        let mut machines = Machines::default();
        let rom = rom();
        let make = |settings: Value| json!(["new", 0, settings, false, rom.len()]);
        for (settings, why) in [
            (json!({ "bridges": [] }), "the board has no setting \"bridges\": remove it"),
            (json!({ "seed": "one" }), "seed: invalid type: string \"one\", expected u64"),
            (json!({ "attached": ["a device"] }), "attached: devices in Python are not available here; leave them out"),
        ] {
            assert_eq!(ask(&mut machines, make(settings), &rom), json!({ "failed": why, "kind": "value" }));
        }
        let chip =
            json!({ "chip": "W5500", "bus": "spi0", "sck_pin": 18, "mosi_pin": 19, "miso_pin": 16, "csn_pin": 17 });
        let settings = json!({ "turnaround_us": 100, "devices": [chip] });
        assert_eq!(ask(&mut machines, make(settings), &rom), json!({ "is": 1 }));
        assert_eq!(ask(&mut machines, json!(["attribution_start", 1, 1000]), &[]), json!({ "is": null }));
        let ran = ask(&mut machines, json!(["run", 1, 1_000_000_000_u64]), &[]);
        assert_eq!((ran["is"][0].as_str(), ran["is"][1].as_u64() >= Some(1_000_000_000)), (Some("time"), true));
        let stats = ask(&mut machines, json!(["stats", 1]), &[]);
        assert!(stats["is"]["instructions"].as_u64() > Some(1000), "{stats}");
        let registers = ask(&mut machines, json!(["registers", 1]), &[]);
        assert_eq!((&registers["is"][0][15], registers["is"][1].as_array().map(Vec::len)), (&json!(8), Some(17)));
        assert_eq!(ask(&mut machines, json!(["listen", 1, 5000, 1]), &[]), json!({ "is": null }));
        assert_eq!(ask(&mut machines, json!(["unlisten", 1, 5000]), &[]), json!({ "is": true }));
        assert_eq!(ask(&mut machines, json!(["link_up", 1]), &[]), json!({ "is": false }));
        assert_eq!(ask(&mut machines, json!(["log_frames", 1, 100]), &[]), json!({ "is": null }));
        let frames = ask(&mut machines, json!(["lan_frames", 1]), &[]);
        assert_eq!(frames, json!({ "is": [] }), "without a link the PC sends nothing");
        assert_eq!(ask(&mut machines, json!(["attribution_stop", 1]), &[]), json!({ "is": null }));
        let spans = ask(&mut machines, json!(["attribution", 1, [], [], null, null, [[100.0, 200.0]]]), &[]);
        assert_eq!(spans["is"]["spans"]["duration_ps"], json!([100_000_000]), "{spans}");
        let usb = ask(&mut machines, json!(["usb", 1]), &[]);
        assert_eq!(
            (&usb["is"]["attached"], &usb["is"]["port"], &usb["is"]["vid"]),
            (&json!(false), &json!("Detached"), &Value::Null)
        );
        let nonsense = ask(&mut machines, json!(["fly", 1]), &[]);
        assert_eq!(nonsense, json!({ "failed": "fly is not available in a page", "kind": "value" }));
        assert_eq!(ask(&mut machines, json!(["drop", 1]), &[]), json!({ "is": null }));
        assert_eq!(ask(&mut machines, json!(["stats", 1]), &[])["failed"], "there is no board 1");
        let (unreadable, _) = machines.call(b"[\"run\", 1, NaN]", b"");
        assert!(unreadable["failed"].as_str().unwrap().ends_with(": [\"run\", 1, NaN]"), "{unreadable}");
    }
}
