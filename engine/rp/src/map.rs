//! The tables of the chips' register blocks, and the addresses that both chips have.

use chip::{Event, Peripheral, Sys, World};
use parts::batch::Use;

use crate::blocks::Blocks;

pub(crate) const DMA: u32 = 0x5000_0000;
pub(crate) const PIO0: u32 = 0x5020_0000;
/// USB's memory, beside its registers.
pub(crate) const USB_DPRAM: u32 = 0x5010_0000;

/// All register blocks of a chip: those that both have, and its own.
pub struct All<'a, F> {
    /// Those that both have.
    pub(crate) blocks: &'a mut Blocks,
    /// Its own.
    pub(crate) own: &'a mut F,
}

/// A chip's table, from which decoding, resets and events are made; [`register_map`] implements it.
pub trait Table: Sized {
    /// Bits of an address that choose a block: all but those of its registers and their atomic aliases.
    const BLOCK: u32;

    /// Returns the register block at `address` and the RESETS bit that holds it in reset (0: none).
    fn at(all: All<'_, Self>, address: u32) -> Option<(&mut dyn Peripheral, u32)>;

    /// Resets the blocks whose RESETS bit is in `entering`.
    fn enter_reset(all: All<'_, Self>, sys: &mut Sys, entering: u32);

    /// Returns what the block at `address` has to do with pins.
    fn pins_at(address: u32) -> Use;

    /// Returns what a block's event `id` has to do with pins.
    fn pins_of(id: Event) -> Use;

    /// Handles the event of a block that needs no more than the world.
    fn block_event(all: All<'_, Self>, sys: &mut Sys, world: &mut dyn World, id: Event);
}

/// Implements [`Table`] for `$own` from the rows of the table: address, block, RESETS bit, event with what its handler
/// needs beside [`Sys`], and use of pins ([`Use`]). Blocks enter reset in this order.
macro_rules! register_map {
    (
        $own:ty, $mask:expr;
        $($address:tt $($block:ident).+ $([$index:literal])?, $reset:ident, $event:tt, $pins:ident;)*
    ) => {
        impl $crate::map::Table for $own {
            const BLOCK: u32 = $mask;

            fn at(all: $crate::map::All<'_, Self>, address: u32) -> Option<(&mut dyn chip::Peripheral, u32)> {
                Some(match address & $mask {
                    $($address => (&mut all.$($block).+ $([$index])?, bit::$reset),)*
                    _ => return None,
                })
            }

            fn enter_reset(all: $crate::map::All<'_, Self>, sys: &mut chip::Sys, entering: u32) {
                $(if entering & bit::$reset != 0 {
                    chip::Peripheral::reset(&mut all.$($block).+ $([$index])?, sys);
                })*
            }

            fn pins_at(address: u32) -> parts::batch::Use {
                match address & $mask {
                    $($address => parts::batch::Use::$pins,)*
                    $crate::map::USB_DPRAM => parts::batch::Use::None,
                    _ => parts::batch::Use::Any,
                }
            }

            fn pins_of(id: chip::Event) -> parts::batch::Use {
                $($crate::map::pins_of!($event, id, $pins);)*
                parts::batch::Use::Any
            }

            fn block_event(
                all: $crate::map::All<'_, Self>,
                sys: &mut chip::Sys,
                world: &mut dyn chip::World,
                id: chip::Event,
            ) {
                $($crate::map::handle!($event, id, all.$($block).+ $([$index])?, sys, world);)*
            }
        }
    };
}

/// Calls the event handler of `$block` if `$id` is its event.
macro_rules! handle {
    ([], $id:ident, $block:expr, $sys:ident, $world:ident) => {};
    ([$event:ident], $id:ident, $block:expr, $sys:ident, $world:ident) => {
        if $id == event::$event {
            return $block.event($sys);
        }
    };
    ([$event:ident, world], $id:ident, $block:expr, $sys:ident, $world:ident) => {
        if $id == event::$event {
            return $block.event($sys, $world);
        }
    };
    ([$event:ident, bus], $id:ident, $block:expr, $sys:ident, $world:ident) => {};
}

/// Returns `$pins` if `$id` is the event of the row.
macro_rules! pins_of {
    ([], $id:ident, $pins:ident) => {};
    ([$event:ident $(, $with:ident)?], $id:ident, $pins:ident) => {
        if $id == event::$event {
            return parts::batch::Use::$pins;
        }
    };
}

pub(crate) use {handle, pins_of, register_map};
