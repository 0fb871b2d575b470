//! When registers are cleared: at the end of every public function that works with a key.
//!
//! [`wipe_stack`](super::wipe_stack) and [`wipe_deep_stack`](super::wipe_deep_stack) clear the registers too, after they have
//! overwritten the stack. They end key set-up, the drop of a mode, and the share of a job that a worker thread has done.
//! Functions that leave the stack alone, such as those that encrypt a message, begin with `let _clear = ClearRegisters;`.

use super::clear_registers;

/// Clears the registers when it is dropped. As the first local of a function it is dropped last, on every path out.
pub(crate) struct ClearRegisters;

impl Drop for ClearRegisters {
    #[inline(always)]
    fn drop(&mut self) {
        clear_registers();
    }
}
