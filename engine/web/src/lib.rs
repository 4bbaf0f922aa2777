//! The emulated board as a WebAssembly module, with numbers and bytes as its only types: `page/board.ts` has the typed
//! interface.
//!
//! There is one board. Bytes for it go to the memory that [`input`] returns, before the call that takes them. A call with
//! bytes as its result leaves them at [`output`] and returns their number. Times are microseconds of simulated time.

#![warn(missing_docs, unreachable_pub)]

mod page;
mod ping_pong;

use std::cell::RefCell;

use page::Page;

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
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

/// Powers up the board of this number in `page::BOARDS` with the UF2 file in the input; with no input it keeps its
/// flash. Returns the length of the error, 0: none.
#[unsafe(no_mangle)]
pub extern "C" fn power_up(board: usize, bootsel: bool) -> usize {
    with(|page| {
        let failure = page.power_up(board, bootsel).err().unwrap_or_default();
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

/// Returns the number of frames on the cable, in both directions.
#[unsafe(no_mangle)]
pub extern "C" fn frames() -> f64 {
    with(|page| page.frames())
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
