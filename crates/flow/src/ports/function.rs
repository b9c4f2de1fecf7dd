//! Functions as units of work.

use std::sync::{Arc, Mutex, PoisonError};

use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;

use super::{Rows, Tasks, Work};

/// Runs a function in a writing transaction and returns its result.
pub(crate) async fn write<T, F>(tasks: &dyn Tasks, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, StoreError>> + Send + 'static,
{
    let (work, result) = Function::new(work);
    tasks.write(work).await?;
    result.take()
}

/// Runs a function that only reads, and returns its result.
pub(crate) async fn read<T, F>(tasks: &dyn Tasks, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, StoreError>> + Send + 'static,
{
    let (work, result) = Function::new(work);
    tasks.read(work).await?;
    result.take()
}

/// Runs a short function in a writing transaction that does not wait behind other work, and returns its result.
pub(crate) async fn write_at_once<T, F>(tasks: &dyn Tasks, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, StoreError>> + Send + 'static,
{
    let (work, result) = Function::new(work);
    tasks.write_at_once(work).await?;
    result.take()
}

/// Runs a short function that only reads and does not wait behind other work, and returns its result.
pub(crate) async fn read_at_once<T, F>(tasks: &dyn Tasks, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, StoreError>> + Send + 'static,
{
    let (work, result) = Function::new(work);
    tasks.read_at_once(work).await?;
    result.take()
}

/// A function as a unit of work.
struct Function<F, T> {
    work: F,
    result: Arc<ResultSlot<T>>,
}

struct ResultSlot<T>(Mutex<Option<T>>);

impl<F, T> Function<F, T> {
    fn new(work: F) -> (Box<Self>, Arc<ResultSlot<T>>) {
        let result = Arc::new(ResultSlot(Mutex::new(None)));
        let function = Self {
            work,
            result: result.clone(),
        };
        (Box::new(function), result)
    }
}

impl<T> ResultSlot<T> {
    /// The result of the last run. A store that reports success without a run is closed.
    fn take(&self) -> Result<T, StoreError> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.take().ok_or(StoreError::Closed)
    }
}

impl<F, T> Work for Function<F, T>
where
    T: Send,
    F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, StoreError>> + Send,
{
    fn run<'a>(&'a mut self, rows: &'a mut dyn Rows) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let result = (self.work)(rows).await?;
            let mut slot = self.result.0.lock().unwrap_or_else(PoisonError::into_inner);
            *slot = Some(result);
            Ok(())
        })
    }
}
