//! Reads and writes of register and buffer bytes, and the effects of writes.

use crate::Wiznet;
use crate::chip::Model;
use crate::common::MR_RST;
use crate::map::{Block, common, socket};
use crate::socket::*;

impl<M: Model> Wiznet<M> {
    pub(crate) fn read_byte(&self, block: Block, address: u16) -> u8 {
        match block {
            Block::Common => M::read_common(self, address),
            Block::Socket(n) => self.sockets[n].read(address, self.tx.size(n), self.rx.size(n)),
            Block::Tx(n) => self.tx.read(n, address),
            Block::Rx(n) => self.rx.read(n, address),
            Block::Reserved => 0,
        }
    }

    pub(crate) fn write_byte(&mut self, block: Block, address: u16, value: u8) {
        match block {
            Block::Tx(n) => self.tx.write(n, address, value),
            Block::Rx(n) => self.rx.write(n, address, value),
            Block::Reserved => {}
            Block::Common => {
                M::write_common(self, address, value);
                self.refresh();
            }
            Block::Socket(n) => {
                self.write_socket(n, address, value);
                // The pointers have no effect before a command.
                if !(socket::TX_WR..socket::RX_WR).contains(&address) {
                    self.refresh();
                }
            }
        }
    }

    /// Writes MR, whose RST bit is the software reset.
    pub(crate) fn write_mode(&mut self, value: u8) {
        if value & MR_RST != 0 {
            self.software_reset();
        } else {
            self.common.write(common::MR, value);
            self.lcp_mode_changed();
        }
    }

    /// Writes IR, in which a host clears bits by writing 1.
    pub(crate) fn acknowledge(&mut self, value: u8) {
        if self.common.ir() & self.common.imr() & value != 0 {
            self.int_pin.acknowledged(self.now, M::interrupt_wait(self));
        }
        self.common.write(common::IR, value);
    }

    fn write_socket(&mut self, n: usize, address: u16, value: u8) {
        match address {
            socket::CR => self.command(n, value),
            socket::IR => {
                let s = &self.sockets[n];
                if s.ir & s.imr() & value != 0 && self.common.simr() & 1 << n != 0 {
                    self.int_pin.acknowledged(self.now, M::interrupt_wait(self));
                }
                self.sockets[n].write(address, value);
            }
            socket::RXBUF_SIZE | socket::TXBUF_SIZE => {
                self.sockets[n].write(address, value);
                self.divide_memory();
            }
            socket::KPALVTR => {
                self.sockets[n].write(address, value);
                self.tcp_restart_keep_alive(n);
            }
            _ => self.sockets[n].write(address, value),
        }
    }

    /// Writes Sn_CR. A command that the socket's state does not allow is ignored.
    fn command(&mut self, n: usize, command: u8) {
        let status = self.sockets[n].status;
        match command {
            CR_OPEN => self.open(n),
            CR_LISTEN if status == Status::Init => self.sockets[n].status = Status::Listen,
            CR_CONNECT if status == Status::Init => self.tcp_connect(n),
            CR_DISCON => self.tcp_disconnect(n),
            CR_CLOSE => self.close(n),
            CR_SEND => match status {
                Status::Established | Status::CloseWait => self.tcp_send(n),
                Status::Udp | Status::IpRaw => self.datagram_send(n, false),
                Status::MacRaw => self.macraw_send(n),
                _ => {}
            },
            CR_SEND_MAC if matches!(status, Status::Udp | Status::IpRaw) => self.datagram_send(n, true),
            CR_SEND_KEEP => self.tcp_send_keep(n),
            CR_RECV => {
                self.sockets[n].commit_rx();
                self.tcp_window_opened(n);
            }
            _ => M::command(self, n, command),
        }
    }

    fn open(&mut self, n: usize) {
        self.close(n);
        M::opening(self, n);
        let s = &mut self.sockets[n];
        s.status = match s.protocol() {
            Protocol::Tcp => Status::Init,
            Protocol::Udp => Status::Udp,
            Protocol::IpRaw => Status::IpRaw,
            Protocol::MacRaw if n == 0 => Status::MacRaw,
            _ => Status::Closed,
        };
        if s.status == Status::Closed {
            return;
        }
        s.set_tx_pointers(0);
        s.clear_rx_pointers();
        if s.status == Status::Udp && s.mr() & MR_MULTI != 0 {
            self.igmp_join(n);
        }
    }

    /// Executes CLOSE: Sn_SR becomes SOCK_CLOSED without a disconnect process (datasheet 4.2 "Sn_CR").
    fn close(&mut self, n: usize) {
        self.igmp_leave(n);
        self.sockets[n].release();
    }

    /// Sets bits in Sn_IR.
    pub(crate) fn raise(&mut self, n: usize, bits: u8) {
        self.sockets[n].ir |= bits;
    }
}
