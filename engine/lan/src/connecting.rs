//! What std's sockets cannot: connect without waiting, and end with a reset. Without the feature `host_sockets`, as in a
//! browser, no connection can be made.

#[cfg(feature = "host_sockets")]
pub(crate) use with::{Connecting, reset_at_close};
#[cfg(not(feature = "host_sockets"))]
pub(crate) use without::{Connecting, reset_at_close};

#[cfg(feature = "host_sockets")]
mod with {
    use std::io::{self, ErrorKind};
    use std::net::{SocketAddr, TcpStream};
    use std::time::Duration;

    use socket2::{Domain, SockRef, Socket, Type};

    /// A connect in progress.
    pub(crate) struct Connecting(Socket);

    impl Connecting {
        pub(crate) fn start(host: SocketAddr) -> io::Result<Self> {
            let socket = Socket::new(Domain::for_address(host), Type::STREAM, None)?;
            socket.set_nonblocking(true)?;
            match socket.connect(&host.into()) {
                Err(error) if !is_in_progress(&error) => Err(error),
                _ => Ok(Self(socket)),
            }
        }

        /// Returns the connection, or itself while the connect is in progress.
        pub(crate) fn poll(self) -> io::Result<Result<TcpStream, Self>> {
            match self.0.take_error()? {
                Some(error) => Err(error),
                None if self.0.peer_addr().is_ok() => Ok(Ok(self.0.into())),
                None => Ok(Err(self)),
            }
        }
    }

    /// Recognises the first result of a non-blocking connect: EINPROGRESS on Unix, WSAEWOULDBLOCK on Windows.
    fn is_in_progress(error: &io::Error) -> bool {
        const EINPROGRESS: [i32; 2] = [115, 36];
        error.kind() == ErrorKind::WouldBlock
            || (cfg!(unix) && error.raw_os_error().is_some_and(|code| EINPROGRESS.contains(&code)))
    }

    /// Without lingering, closing sends RST. On failure the host sees a FIN instead.
    pub(crate) fn reset_at_close(stream: &TcpStream) {
        let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
    }
}

#[cfg(not(feature = "host_sockets"))]
mod without {
    use std::io;
    use std::net::{SocketAddr, TcpStream};

    /// A connect in progress: there is none.
    pub(crate) enum Connecting {}

    impl Connecting {
        pub(crate) fn start(_: SocketAddr) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn poll(self) -> io::Result<Result<TcpStream, Self>> {
            match self {}
        }
    }

    pub(crate) fn reset_at_close(_: &TcpStream) {}
}
