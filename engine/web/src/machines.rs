//! Boards for the page's Python: what `portbench_engine.Machine` does, asked for in JSON.
//!
//! A call is a JSON list: the operation's name, the board's number, arguments. Bytes go beside it. The answer is
//! `{"is": ...}`, or `{"failed": text}` with `"kind"` `value`, `engine` or `os`. `page/python/_native.py` is the other
//! side.

use std::collections::BTreeMap;

use attribution::{Clock, Sought};
use board::{Account, Clocks, Machine, Network, flash_of_image, mcu};
use parts::trace::{Record, kind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sim::{LogReader, PS_PER_US, Ps};

use crate::app::{PageApp, PageUdpApp};
use crate::page::{BOARDS, TCP_ANSWER};
use crate::settings::Settings;

pub(crate) fn us(at: Ps) -> f64 {
    at as f64 / PS_PER_US as f64
}

pub(crate) fn ps(us: f64) -> Ps {
    (us * PS_PER_US as f64) as Ps
}

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

struct Slot {
    machine: Machine,
    spi: Option<LogReader>,
    frames: Option<LogReader>,
}

/// The boards of the page's Python, by their numbers.
#[derive(Default)]
pub(crate) struct Machines {
    slots: BTreeMap<u64, Slot>,
    next: u64,
}

/// The arguments of a call, from its first.
struct Arguments<'a>(&'a [Value]);

impl Arguments<'_> {
    fn get<T: DeserializeOwned>(&self, index: usize) -> Result<T, Failure> {
        let value = self.0.get(index).cloned().unwrap_or_default();
        serde_json::from_value(value).map_err(|error| value_error(format!("argument {index}: {error}")))
    }
}

type Answer = Result<(Value, Vec<u8>), Failure>;

fn plain(value: impl Into<Value>) -> Answer {
    Ok((value.into(), Vec::new()))
}

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
        match name {
            "flash_of_image" => {
                let mcu = mcu::named(&arguments.get::<String>(0)?).ok_or_else(|| value_error("no such mcu"))?;
                return Ok((Value::Null, flash_of_image(mcu, data).map_err(value_error)?));
            }
            "new" => return plain(self.make(arguments, data)?),
            "drop" => {
                self.slots.remove(&number);
                return plain(Value::Null);
            }
            _ => {}
        }
        let slot = self.slots.get_mut(&number).ok_or_else(|| value_error(format!("there is no board {number}")))?;
        slot.answer(name, arguments, data)
    }

    /// Arguments: the board's id, settings, BOOTSEL, bytes of the boot ROM. Data: the boot ROM, then the flash.
    fn make(&mut self, arguments: &Arguments<'_>, data: &[u8]) -> Result<u64, Failure> {
        let id: String = arguments.get(0)?;
        let settings: Settings = arguments.get(1)?;
        let rom_bytes: usize = arguments.get(3)?;
        let (rom, flash) = data.split_at(rom_bytes.min(data.len()));
        let known = BOARDS.iter().find(|(known, _)| *known == id);
        let (_, make) = known.ok_or_else(|| value_error(format!("board {id}: the page has no such board")))?;
        let mut config = make(rom.to_vec());
        config.phy.tcp_answer = TCP_ANSWER;
        settings.apply(&mut config);
        let machine = Machine::new(config, flash, arguments.get(2)?).map_err(value_error)?;
        self.next += 1;
        self.slots.insert(self.next, Slot { machine, spi: None, frames: None });
        Ok(self.next)
    }
}

impl Slot {
    fn answer(&mut self, name: &str, arguments: &Arguments<'_>, data: &[u8]) -> Answer {
        let machine = &mut self.machine;
        let now = machine.now();
        match name {
            "run" => {
                let stop = machine.run(arguments.get(0)?).map_err(engine_error)?;
                let state = machine.usb().state();
                let printed = machine.usb().console_read();
                let told_at = us(machine.usb().console_received_at());
                let unsent = state.console_unsent;
                Ok((json!([stop.to_string(), machine.now(), told_at, unsent]), printed))
            }
            "console_write" => {
                let taken = machine.usb().console_write(data);
                machine.reschedule();
                plain(taken)
            }
            "usb_events" => plain(machine.take_usb_events().len()),
            "usb" => {
                let state = machine.usb().state();
                let ids = state.device.as_ref().map(|device| (device.descriptor.vid, device.descriptor.pid));
                plain(json!({
                    "attached": state.attached,
                    "configured": state.configured,
                    "port": format!("{:?}", state.port),
                    "trouble": state.trouble,
                    "vid": ids.map(|ids| ids.0),
                    "pid": ids.map(|ids| ids.1),
                }))
            }
            "flash" => Ok((Value::Null, machine.chip().flash().to_vec())),
            "stats" => plain(stats(machine)),
            "cpu_faults" => {
                let (reports, dropped) = machine.chip_mut().sys().faults.take();
                let told = reports.iter().map(|report| {
                    let text = report.to_string();
                    json!({ "t_us": us(report.at), "core": report.core, "locked_up": report.locked_up,
                        "pc": report.pc, "lr": report.lr, "exception": report.exception,
                        "cause": report.cause.to_string(), "text": text })
                });
                plain(json!([told.collect::<Vec<_>>(), dropped]))
            }
            "registers" => {
                let chip = machine.chip();
                let end = chip.facts().pc + 2;
                let cores = (0..chip.facts().cores).map(|core| chip.registers(core).into_iter().take(end));
                plain(cores.map(Vec::from_iter).collect::<Vec<_>>())
            }
            "leased_us" => {
                plain(machine.lan().ok().and_then(|lan| lan.leased_at()).map_or(Value::Null, |at| us(at).into()))
            }
            "board_address" => {
                let address = machine.lan().ok().and_then(|lan| lan.board_address());
                plain(address.map_or(Value::Null, |address| address.to_string().into()))
            }
            "link_up" => plain(machine.wiring().network.as_ref().is_some_and(|network| network.link_up(now))),
            "set_cable" => machine.set_cable(arguments.get(0)?).map_err(value_error).and_then(|()| plain(Value::Null)),
            "listen" => {
                let app = Box::new(PageApp(arguments.get(1)?));
                machine.listen(arguments.get(0)?, app).map_err(value_error)?;
                plain(Value::Null)
            }
            "unlisten" => plain(machine.lan().map_err(value_error)?.unlisten(arguments.get(0)?)),
            "udp_listen" => {
                let app = Box::new(PageUdpApp(arguments.get(1)?));
                machine.lan().map_err(value_error)?.udp_listen(arguments.get(0)?, app).map_err(value_error)?;
                plain(Value::Null)
            }
            "connect" => {
                let peer: String = arguments.get(0)?;
                let peer = peer.parse().map_err(|_| value_error(format!("{peer:?} is not ADDRESS:PORT")))?;
                let app = Box::new(PageApp(arguments.get(1)?));
                let lan = machine.lan().map_err(value_error)?;
                let conn = lan.connect(now, ps(arguments.get(2)?), peer, app).map_err(value_error)?;
                machine.reschedule();
                plain(conn)
            }
            "lan_send" => {
                let lan = machine.lan().map_err(value_error)?;
                let sent = lan.send_at(now, ps(arguments.get(1)?), arguments.get(0)?, data);
                machine.reschedule();
                plain(sent)
            }
            "ping" => {
                let to: String = arguments.get(0)?;
                let to = to.parse().map_err(|_| value_error(format!("to = {to:?} is no address")))?;
                let lan = machine.lan().map_err(value_error)?;
                let taken = lan.ping(now, ps(arguments.get(2)?), to, arguments.get(1)?, data);
                machine.reschedule();
                plain(taken)
            }
            "ping_replies" => {
                let replies = machine.lan().map_err(value_error)?.take_ping_replies();
                let told =
                    replies.iter().map(|r| json!([r.from.to_string(), r.sequence, r.data, us(r.sent), us(r.received)]));
                plain(told.collect::<Vec<_>>())
            }
            "log_frames" => {
                let (limit, lan) = (arguments.get(0)?, machine.lan().map_err(value_error)?);
                if let Some(reader) = self.frames.take() {
                    lan.end_log(reader);
                }
                self.frames = (limit > 0).then(|| lan.log_frames(limit));
                plain(Value::Null)
            }
            "lan_frames" => {
                let lan = machine.lan().map_err(value_error)?;
                let frames = self.frames.as_ref().map(|reader| lan.take_log(reader)).unwrap_or_default();
                let told = frames
                    .into_iter()
                    .map(|f| json!([us(f.start), us(f.arrival), f.to_board, format!("{:?}", f.fate), f.frame]));
                plain(told.collect::<Vec<_>>())
            }
            "volume_write" => {
                let volume = machine.volume(0).map_err(os_error)?;
                volume
                    .write_file(&arguments.get::<String>(0)?, data)
                    .and_then(|()| volume.flush())
                    .map_err(os_error)?;
                plain(Value::Null)
            }
            "volume_mkdir" => {
                let volume = machine.volume(0).map_err(os_error)?;
                volume.create_dir(&arguments.get::<String>(0)?).map_err(os_error)?;
                plain(Value::Null)
            }
            "attribution_start" => {
                machine.start_attribution(arguments.get(0)?);
                plain(Value::Null)
            }
            "attribution_stop" => {
                machine.stop_attribution();
                plain(Value::Null)
            }
            "attribution" => self.attribution(arguments),
            "spi_log" => {
                if let Some(reader) = self.spi.take() {
                    machine.wiring().end_spi_log(reader);
                }
                self.spi = arguments.get::<bool>(0)?.then(|| machine.wiring().log_spi());
                plain(Value::Null)
            }
            "spi_log_take" => {
                let frames = self.spi.as_ref().map(|reader| machine.wiring().take_spi_log(reader)).unwrap_or_default();
                let told = frames.into_iter().map(|(device, frame)| {
                    json!([
                        us(frame.start),
                        us(frame.end),
                        device,
                        frame.name,
                        frame.address,
                        frame.write,
                        frame.len,
                        frame.data,
                        frame.meaning,
                        frame.wire_bytes
                    ])
                });
                plain(told.collect::<Vec<_>>())
            }
            "trace_start" => {
                let chip = machine.chip_mut();
                chip.start_trace(kind::LAN | kind::PINS, arguments.get(0)?);
                plain(Value::Null)
            }
            "trace_stop" => {
                machine.chip_mut().sys().trace.stop();
                plain(Value::Null)
            }
            "trace_take" => {
                let (records, dropped) = machine.chip_mut().sys().trace.take();
                let told = records.iter().filter_map(|(at, record)| match *record {
                    Record::Lan { from_board, len } => {
                        Some(json!({ "t_us": us(*at), "kind": "lan", "from_board": from_board, "len": len }))
                    }
                    Record::Pins { level, output_enabled } => Some(json!({ "t_us": us(*at), "kind": "pins",
                        "level": level, "output_enabled": output_enabled })),
                    _ => None,
                });
                plain(json!([told.collect::<Vec<_>>(), dropped]))
            }
            other => Err(value_error(format!("{other} is not available in a page"))),
        }
    }

    fn attribution(&mut self, arguments: &Arguments<'_>) -> Answer {
        let within: Vec<f64> = arguments.get(1)?;
        let sought = Sought {
            intervals_us: arguments.get(0)?,
            clock: Clock::default(),
            within: within.into_iter().map(ps).collect(),
            ready_us: arguments.get(2)?,
            link_us: arguments.get(3)?,
        };
        let given: Option<Vec<(f64, f64)>> = arguments.get(4)?;
        let given = given.map(|each| each.into_iter().map(|(from, to)| (ps(from), ps(to))).collect());
        let chip = self.machine.chip_mut();
        let (clocks, base) = (Clocks::of(chip), chip.facts().flash_base);
        let Some(recorded) = self.machine.attribution() else { return plain(Value::Null) };
        let account = recorded.account(&sought, given);
        let mut told = json!({
            "clk_sys_hz": clocks.clk_sys_hz,
            "flash_hz": clocks.flash_hz,
            "miss_cycles": clocks.miss_cycles,
            "next_line_cycles": clocks.next_line_cycles,
        });
        told["spans"] = Value::Null;
        if let Some(Account { spans, names, stages }) = account {
            let lines: Vec<_> = spans.1.misses.iter().map(|(line, count)| json!([base + line, count])).collect();
            told["misses"] = lines.into();
            told["spans"] = columns(&spans);
            told["stages"] = columns(&stages);
            told["stages"]["names"] = json!(names);
        }
        told["lost"] = recorded.is_torn().into();
        plain(told)
    }
}

fn columns((spans, shares): &(Vec<attribution::Interval>, attribution::Shares)) -> Value {
    let mut causes = Map::new();
    for (cause, name) in attribution::Cause::ALL {
        let column: Vec<Ps> = shares.causes_ps.iter().map(|each| each[cause as usize]).collect();
        if column.iter().any(|&ps| ps != 0) {
            causes.insert(name.into(), json!(column));
        }
    }
    json!({
        "start_ps": spans.iter().map(|span| span.0).collect::<Vec<_>>(),
        "duration_ps": spans.iter().map(|span| span.1 - span.0).collect::<Vec<_>>(),
        "causes_ps": causes,
        "counts": shares.counts,
        "exceptions": shares.exceptions.iter().collect::<Vec<_>>(),
        "registers": shares.registers,
    })
}

/// As `Machine.stats` in engine/binding has them.
fn stats(machine: &mut Machine) -> Value {
    let network = machine.wiring().network.as_ref();
    let ethernet = network.map(Network::stats).unwrap_or_default();
    let dropped = network.map_or(0, Network::dropped);
    let spi = network.and_then(Network::spi);
    let chip = machine.chip_mut();
    let (sys_hz, peri_hz) = (chip.sys().freq.clk_sys_hz, chip.sys().freq.clk_peri_hz);
    let spi_hz = spi.map(|spi| chip.sck_hz(spi));
    let cores = 0..chip.facts().cores;
    json!({
        "spi_bytes": ethernet.bus_bytes,
        "chip_selects": ethernet.chip_selects,
        "frames_from_board": ethernet.frames_out,
        "frames_to_board": ethernet.frames_in,
        "frames_dropped": dropped,
        "clk_sys_hz": sys_hz,
        "clk_peri_hz": peri_hz,
        "spi_hz": spi_hz,
        "instructions": cores.clone().map(|core| chip.counts(core).0).sum::<u64>(),
        "cycles": cores.map(|core| chip.counts(core).1).collect::<Vec<_>>(),
        "flash_generation": chip.flash_generation(),
    })
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
        let make = |settings: Value| json!(["new", 0, "W5500_EVB_PICO", settings, false, rom.len()]);
        let failed = ask(&mut machines, make(json!({ "bridge": 1 })), &rom);
        assert!(failed["failed"].as_str().unwrap().contains("unknown field `bridge`"), "{failed}");
        assert_eq!(ask(&mut machines, make(json!({ "turnaround_us": 100 })), &rom), json!({ "is": 1 }));
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
