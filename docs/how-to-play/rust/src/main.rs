//! Plays the ping-pong: Rust (embassy) on a W5500-EVB-Pico or -Pico2, with TCP on the chip and the W5500 as a plain MAC.
#![no_std]
#![no_main]
use core::fmt::Write;
use embassy_futures::join::join3;
use embassy_net::{Ipv4Address, StackResources, tcp::TcpSocket};
use embassy_net_wiznet::{State, chip::W5500};
use embassy_rp::{bind_interrupts, dma, gpio::*, peripherals::*, spi};
use embassy_time::{Delay, Timer};
use embedded_hal_bus::spi::ExclusiveDevice;
use heapless::String;
use panic_halt as _;

const SERVER: (Ipv4Address, u16) = (Ipv4Address::new(192, 168, 50, 1), 5000);
bind_interrupts!(struct Irqs { DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>; });

#[embassy_executor::main(executor = "embassy_rp::executor::Executor", entry = "cortex_m_rt::entry")]
async fn main(_spawner: embassy_executor::Spawner) {
    let p = embassy_rp::init(Default::default());
    let mut config = spi::Config::default();
    config.frequency = 33_000_000;
    let bus = spi::Spi::new(p.SPI0, p.PIN_18, p.PIN_19, p.PIN_16, p.DMA_CH0, p.DMA_CH1, Irqs, config);
    let chip = ExclusiveDevice::new(bus, Output::new(p.PIN_17, Level::High), Delay).unwrap();
    let (int, reset) = (Input::new(p.PIN_21, Pull::Up), Output::new(p.PIN_20, Level::High));
    let mut state = State::<8, 8>::new();
    let new = embassy_net_wiznet::new::<8, 8, W5500, _, _, _>([2, 0, 0, 0, 0, 1], &mut state, chip, int, reset);
    let (device, driver) = new.await.unwrap();
    let (mut sockets, dhcp) = (StackResources::<3>::new(), embassy_net::Config::dhcpv4(Default::default()));
    let (stack, mut network) = embassy_net::new(device, dhcp, &mut sockets, 1);
    let games = async {
        stack.wait_config_up().await;
        let (mut receive, mut send) = ([0; 2048], [0; 2048]);
        loop {
            let mut socket = TcpSocket::new(stack, &mut receive, &mut send);
            if socket.connect(SERVER).await.is_ok() {
                play(&mut socket).await;
            }
            socket.abort();
            Timer::after_millis(100).await;
        }
    };
    join3(driver.run(), network.run(), games).await;
}

/// One game, until the PC closes or says something wrong.
async fn play(socket: &mut TcpSocket<'_>) -> Option<()> {
    let (mut text, mut answer) = (String::<10>::new(), [0; 10]);
    for number in (1u32..).step_by(2) {
        write!(text, "{number}").ok()?;
        socket.write(text.as_bytes()).await.ok()?;
        text.clear();
        write!(text, "{}", number + 1).ok()?;
        let mut got = 0;
        while got < text.len() {
            got += socket.read(&mut answer[got..]).await.ok().filter(|&size| size > 0)?;
        }
        (&answer[..got] == text.as_bytes()).then(|| text.clear())?;
    }
    None
}
