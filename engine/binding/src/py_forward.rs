//! Sockets of the host that Python hands over.

use lan::HostSocket;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The socket behind file descriptor `fd`, duplicated: the caller keeps its own.
#[cfg(unix)]
#[allow(unsafe_code)]
pub(crate) fn host_socket(fd: i32, udp: bool) -> PyResult<HostSocket> {
    use std::os::fd::BorrowedFd;

    if fd < 0 {
        return Err(PyOSError::new_err(format!("{fd} is no open socket")));
    }
    // SAFETY: the descriptor is only duplicated, before Python can close it: the interpreter waits for us.
    let owned = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
    Ok(if udp { HostSocket::Udp(owned.into()) } else { HostSocket::Tcp(owned.into()) })
}

#[cfg(not(unix))]
pub(crate) fn host_socket(_fd: i32, _udp: bool) -> PyResult<HostSocket> {
    Err(PyOSError::new_err("ports can be forwarded on Linux and macOS only"))
}
