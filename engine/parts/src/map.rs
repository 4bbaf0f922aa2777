//! The table of a chip's register blocks, from which decoding, resets and events are made.

/// Makes the methods of the chip's `Blocks` from a mask for addresses and the rows of the table: address, block, RESETS
/// bit, event with what its handler needs beside [`crate::Sys`], and use of pins ([`crate::batch::Use`]). Blocks enter
/// reset in this order.
#[macro_export]
macro_rules! register_map {
    ($mask:expr; $($address:tt $block:ident $([$index:literal])?, $reset:ident, $event:tt, $pins:ident;)*) => {
        impl Blocks {
            /// Returns the register block at `address` and the RESETS bit that holds it in reset (0: none).
            pub(crate) fn at(&mut self, address: u32) -> Option<(&mut dyn $crate::Peripheral, u32)> {
                Some(match address & $mask {
                    $($address => (&mut self.$block $([$index])?, bit::$reset),)*
                    _ => return None,
                })
            }

            /// Resets the blocks whose RESETS bit is in `entering`.
            pub(crate) fn enter_reset(&mut self, sys: &mut $crate::Sys, entering: u32) {
                $(if entering & bit::$reset != 0 {
                    $crate::Peripheral::reset(&mut self.$block $([$index])?, sys);
                })*
            }

            /// Returns what the block at `address` has to do with pins.
            pub(crate) fn pins_at(address: u32) -> $crate::batch::Use {
                match address & $mask {
                    $($address => $crate::batch::Use::$pins,)*
                    USB_DPRAM => $crate::batch::Use::None,
                    _ => $crate::batch::Use::Any,
                }
            }

            /// Returns what a block's event `id` has to do with pins.
            pub(crate) fn pins_of(id: $crate::wires::Event) -> $crate::batch::Use {
                $($crate::pins_of!($event, id, $pins);)*
                $crate::batch::Use::Any
            }

            /// Handles the event of a block that needs no more than the world. Returns whether `id` is one.
            pub(crate) fn event(
                &mut self,
                sys: &mut $crate::Sys,
                world: &mut dyn $crate::World,
                id: $crate::wires::Event,
            ) -> bool {
                $($crate::handle!($event, id, self.$block $([$index])?, sys, world);)*
                false
            }
        }
    };
}

/// Calls the event handler of `$block` if `$id` is its event.
#[doc(hidden)]
#[macro_export]
macro_rules! handle {
    ([], $id:ident, $block:expr, $sys:ident, $world:ident) => {};
    ([$event:ident], $id:ident, $block:expr, $sys:ident, $world:ident) => {
        if $id == event::$event {
            $block.event($sys);
            return true;
        }
    };
    ([$event:ident, world], $id:ident, $block:expr, $sys:ident, $world:ident) => {
        if $id == event::$event {
            $block.event($sys, $world);
            return true;
        }
    };
    ([$event:ident, bus], $id:ident, $block:expr, $sys:ident, $world:ident) => {};
}

/// Returns `$pins` if `$id` is the event of the row.
#[doc(hidden)]
#[macro_export]
macro_rules! pins_of {
    ([], $id:ident, $pins:ident) => {};
    ([$event:ident $(, $with:ident)?], $id:ident, $pins:ident) => {
        if $id == event::$event {
            return $crate::batch::Use::$pins;
        }
    };
}
