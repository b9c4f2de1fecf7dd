//! Waiting for the thread of a store when the store is dropped.

use std::thread::{self, JoinHandle};

/// Waits until a thread has ended, unless it is this one: a request that was just written can be the last owner of its
/// store, and then the thread of the store drops it. It ends by itself.
pub(crate) fn wait_for_end(thread: JoinHandle<()>) {
    if thread.thread().id() != thread::current().id() {
        // If it panicked, there is nothing left to do for it.
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let (handle_sender, handle) = mpsc::channel();
        let (ended_sender, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            wait_for_end(handle.recv().unwrap());
            ended_sender.send(()).unwrap();
        });
        handle_sender.send(thread).unwrap();
        // An error if the thread panicked.
        ended.recv().unwrap();
    }

    #[test]
    fn another_thread_is_waited_for() {
        let (sender, receiver) = mpsc::channel();
        wait_for_end(thread::spawn(move || sender.send(()).unwrap()));
        receiver.try_recv().unwrap();
    }
}
