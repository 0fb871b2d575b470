//! Clears registers at the end of every public function that works with a key.
//!
//! [`wipe_stack`](super::wipe_stack) and [`wipe_deep_stack`](super::wipe_deep_stack) also clear the
//! registers, after they have overwritten the stack. They run at the end of key set-up, when a mode is
//! dropped, and when a worker thread finishes its share of a job. Functions that do not wipe the stack, for
//! example those that encrypt a message, begin with `let _clear = ClearRegisters;`.

use super::clear_registers;

/// Clears the registers on drop. As the first local of a function it is dropped last, whichever way the
/// function returns.
pub(crate) struct ClearRegisters;

impl Drop for ClearRegisters {
    #[inline(always)]
    fn drop(&mut self) {
        clear_registers();
    }
}
