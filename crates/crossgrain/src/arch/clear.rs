//! Clears registers at the end of every public function that works with a key.
//!
//! [`wipe_stack`](super::wipe_stack) also clears the registers, after it has overwritten the stack. It runs at
//! the end of key set-up, when a mode is dropped, and when a worker thread finishes its share of a job. Functions that do not wipe the stack, for
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
