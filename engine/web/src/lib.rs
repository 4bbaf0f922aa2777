//! The emulated board as a WebAssembly module, with numbers and bytes as its only types: `page/board.ts` has the typed
//! interface.
//!
//! There is one board. Bytes for it go to the memory that [`input`] returns, before the call that takes them. A call with
//! bytes as its result leaves them at [`output`] and returns their number. Times are microseconds of simulated time.

#![warn(missing_docs, unreachable_pub)]

mod app;
mod machines;
#[cfg(target_arch = "wasm32")]
mod memory;
mod page;
mod ping_pong;

use std::cell::RefCell;

use machines::Machines;
use page::Page;

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
    static MACHINES: RefCell<Machines> = RefCell::default();
}

fn with<T>(call: impl FnOnce(&mut Page) -> T) -> T {
    PAGE.with_borrow_mut(call)
}

/// Returns where `bytes` bytes for the next call go.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    with(|page| {
        page.input = vec![0; bytes];
        page.input.as_mut_ptr()
    })
}

/// Returns where the bytes of the last result are.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|page| page.output.as_ptr())
}

/// Takes the boot ROM of the next power-up from the input.
#[unsafe(no_mangle)]
pub extern "C" fn take_boot_rom() {
    with(|page| page.boot_rom = std::mem::take(&mut page.input));
}

/// Takes the settings of the next power-up from the input, as JSON: see `BoardConfig::from_settings`.
#[unsafe(no_mangle)]
pub extern "C" fn take_settings() {
    with(|page| page.settings = std::mem::take(&mut page.input));
}

/// Powers up the board with the UF2 file in the input; with no input it keeps its flash. Returns the length of the error,
/// 0: none.
#[unsafe(no_mangle)]
pub extern "C" fn power_up(bootsel: bool) -> usize {
    with(|page| {
        let failure = page.power_up(bootsel).err().unwrap_or_default();
        page.answer(failure.into_bytes())
    })
}

/// Runs for `us`. Returns the length of the reason where the board stopped: 0, it did not.
#[unsafe(no_mangle)]
pub extern "C" fn run(us: f64) -> usize {
    with(|page| {
        let reason = page.run(us);
        page.answer(reason.into_bytes())
    })
}

/// Returns the simulated time since power-up.
#[unsafe(no_mangle)]
pub extern "C" fn time_us() -> f64 {
    with(|page| page.time_us())
}

/// Returns the number of instructions that both cores have executed.
#[unsafe(no_mangle)]
pub extern "C" fn instructions() -> f64 {
    with(|page| page.instructions())
}

/// Types the input at the console; returns how many bytes were taken.
#[unsafe(no_mangle)]
pub extern "C" fn type_in() -> usize {
    with(Page::type_in)
}

/// Returns the length of what the console has printed since the last call.
#[unsafe(no_mangle)]
pub extern "C" fn printed() -> usize {
    with(|page| {
        let printed = page.printed();
        page.answer(printed)
    })
}

/// Returns the levels of GPIO0 to GPIO31 as bits.
#[unsafe(no_mangle)]
pub extern "C" fn levels() -> u32 {
    with(|page| page.pins().0 as u32)
}

/// Returns which of GPIO0 to GPIO31 the chip drives, as bits.
#[unsafe(no_mangle)]
pub extern "C" fn driven() -> u32 {
    with(|page| page.pins().1 as u32)
}

/// Plugs the Ethernet cable in, or pulls it out.
#[unsafe(no_mangle)]
pub extern "C" fn set_cable(plugged: bool) {
    with(|page| page.set_cable(plugged));
}

/// Returns which drive the PC has found on the board. 0: none; 1: its firmware's; 2: its boot loader's.
#[unsafe(no_mangle)]
pub extern "C" fn drive() -> u32 {
    with(Page::drive)
}

/// Returns the number of frames on the cable, in both directions.
#[unsafe(no_mangle)]
pub extern "C" fn frames() -> f64 {
    with(|page| page.frames())
}

/// Begins to record SPI, the cable and the pins for [`observed`], or ends that. A power cycle ends it, too.
#[unsafe(no_mangle)]
pub extern "C" fn watch(on: bool) {
    with(|page| page.watch(on));
}

/// Returns the length of the recording since the last call, as JSON: `page/board.ts` has its form.
#[unsafe(no_mangle)]
pub extern "C" fn observed() -> usize {
    with(|page| {
        let observed = page.observed();
        page.answer(observed)
    })
}

/// Returns the length of the file of that path on the board's drive, which is then the output; its contents begin
/// behind a zero byte, or an error stands before it.
#[unsafe(no_mangle)]
pub extern "C" fn read_file() -> usize {
    with(|page| {
        let read = match page.read_file() {
            Ok(contents) => [vec![0], contents].concat(),
            Err(error) => [error.into_bytes(), vec![0]].concat(),
        };
        page.answer(read)
    })
}

/// Returns the length of the last report of a client without a console, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn report() -> usize {
    with(|page| {
        let report = page.report();
        page.answer(report)
    })
}

/// Writes the input as a file onto the board's drive: its path, a zero byte, its contents. Returns the length of the
/// error, 0: none.
#[unsafe(no_mangle)]
pub extern "C" fn write_file() -> usize {
    with(|page| {
        let failure = page.write_file().err().unwrap_or_default();
        page.answer(failure.into_bytes())
    })
}

/// Returns the length of the drive's list of files, a line each; 0: there is no drive.
#[unsafe(no_mangle)]
pub extern "C" fn list_files() -> usize {
    with(|page| {
        let files = page.list_files();
        page.answer(files.into_bytes())
    })
}

/// Carries out the call in the input, a JSON text of `text_bytes` and data, on the boards of the page's Python. Leaves a
/// JSON text and data at [`output`]; returns the length of both, with that of the text in the upper half. 0: there was no
/// text, and nothing was done.
#[unsafe(no_mangle)]
pub extern "C" fn call(text_bytes: usize) -> u64 {
    let input = with(|page| std::mem::take(&mut page.input));
    let (text, data) = input.split_at(text_bytes.min(input.len()));
    if text.is_empty() {
        return 0;
    }
    let (answer, bytes) = MACHINES.with_borrow_mut(|machines| machines.call(text, data));
    let mut both = answer.to_string().into_bytes();
    let text_bytes = both.len() as u64;
    both.extend(bytes);
    with(|page| text_bytes << 32 | page.answer(both) as u64)
}

/// Returns where the page's answer of `bytes` bytes to an application's question goes, see `app.rs`.
#[unsafe(no_mangle)]
pub extern "C" fn reply(bytes: usize) -> *mut u8 {
    app::reply(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_its_text_does_nothing() {
        for (bytes, text_bytes) in [(0, 0), (0, 9), (9, 0)] {
            input(bytes);
            assert_eq!(call(text_bytes), 0);
        }
        input(9);
        assert_ne!(call(9), 0); // nine zero bytes are no JSON, which the answer says
    }
}
